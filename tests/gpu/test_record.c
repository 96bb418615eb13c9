// SPDX-License-Identifier: Apache-2.0
// gpu/measure/sq_record.c: a record that is written is accepted; one in which any derived number, claim or
// required field was changed is refused. Directed: every rule of sq_record.h, one change each.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/measure/sq_record.h"
#include "tests/test.h"

static const struct sq_record_run run = {.ts_utc = "2026-11-20T15:30:00Z",
                                         .revision = "abc",
                                         .device = "Test GPU",
                                         .cc = "9.0",
                                         .driver = "1",
                                         .nvcc = "13.0",
                                         .flags = "-O3",
                                         .cublaslt = "1",
                                         .cusparselt = "none",
                                         .binary_sha256 = "00",
                                         .copy_gbps = 4000,
                                         .read_gbps = 4200,
                                         .int8_tops = 1400};

static struct sq_record record(void)
{
    return (struct sq_record){.name = "k",
                              .variant = "v",
                              .impl = "ours",
                              .path = "gpu/k.cu",
                              .mma = "mma.s8",
                              .int4_mode = "emulated_unpack",
                              .op = "gemm",
                              .model = "m",
                              .layer = "l",
                              .format = "sq_a_static",
                              .m = 16,
                              .n = 4096,
                              .k = 4096,
                              .dtype_x = "s8+s4",
                              .dtype_w = "s4",
                              .dtype_acc = "s32",
                              .dtype_out = "f32",
                              .includes = "gemm",
                              .samples = 50,
                              .buffers = 16,
                              .median_us = 10,
                              .p10_us = 9,
                              .p90_us = 12,
                              .min_us = 8,
                              .bytes_counted = 8e6,
                              .macs_dense = 16.0 * 4096 * 4096,
                              .macs_executed = 16.0 * 4096 * 4096,
                              .peak_tops = 1400,
                              .baseline = {{"bf16_cublaslt", 20}},
                              .n_baselines = 1,
                              .is_exact = true,
                              .notes = ""};
}

static json_t *make(void)
{
    const struct sq_record r = record();
    json_t *json = sq_record_json(&run, &r);
    assert_non_null(json);
    return json;
}

SQ_TEST(written_record_is_accepted)
{
    json_t *json = make();
    struct sq_error err = {0};
    if (sq_record_check(json, "record", &err) != SQ_OK)
        fail_msg("%s", err.text);
    const json_t *d = json_object_get(json, "derived");
    assert_true(json_number_value(json_object_get(d, "gbps")) == 800);
    assert_true(json_number_value(json_object_get(d, "pct_of_copy")) == 20);
    assert_true(json_number_value(json_object_get(d, "floor_us")) == 2);
    assert_true(json_number_value(json_object_get(d, "pct_of_read")) == 100 * 800.0 / 4200);
    const json_t *s = json_object_get(d, "speedup_vs");
    assert_true(json_number_value(json_object_get(s, "bf16_cublaslt")) == 2);
    json_decref(json);
}

// Sets object.key and wants the record refused.
static void refuse(const char *object, const char *key, json_t *value, enum sq_status want)
{
    json_t *json = make();
    json_t *at = object ? json_object_get(json, object) : json;
    struct sq_error err = {0};
    if (value)
        json_object_set_new(at, key, value);
    else
        json_object_del(at, key);
    const enum sq_status got = sq_record_check(json, "record", &err);
    if (got != want)
        fail_msg("%s.%s: %s, want %s", object ? object : "", key, sq_status_str(got),
                 sq_status_str(want));
    json_decref(json);
}

SQ_TEST(derived_numbers_are_recomputed)
{
    static const char *const derived[] = {
        "gbps", "pct_of_copy", "pct_of_read", "tops_dense_equiv", "tops_executed", "floor_us"};
    for (int i = 0; i < 6; i++) {
        refuse("derived", derived[i], json_real(1.2345), SQ_ERR_DAMAGED);
        refuse("derived", derived[i], NULL, SQ_ERR_DAMAGED);
    }
    refuse("timing", "baselines_us", json_pack("{s:f}", "bf16_cublaslt", 21.0), SQ_ERR_DAMAGED);
    refuse("timing", "baselines_us", json_object(), SQ_ERR_DAMAGED);
    refuse("work", "bytes_counted", json_real(8000001), SQ_ERR_DAMAGED);
}

SQ_TEST(claims_are_checked)
{
    refuse(NULL, "source", json_string("guessed"), SQ_ERR_DAMAGED);
    refuse(NULL, "source", json_string("published"), SQ_ERR_DAMAGED); // no citation
    refuse("check", "status", json_string("fail"), SQ_ERR_DAMAGED);
    refuse("kernel", "native", json_pack("{s:s}", "int4_mode", "native"), SQ_ERR_DAMAGED);
    refuse("kernel", "native", json_pack("{s:s}", "int4_mode", "fast"), SQ_ERR_DAMAGED);
    refuse(NULL, "schema_version", json_integer(2), SQ_ERR_RANGE);
    refuse("device", "name", NULL, SQ_ERR_DAMAGED);
    refuse("timing", "p10_us", json_real(10.5), SQ_ERR_RANGE);
    refuse("timing", "p90_us", json_real(9.5), SQ_ERR_RANGE);
    refuse("timing", "min_us", json_real(0), SQ_ERR_RANGE);
    refuse("timing", "warm_us", json_real(-1), SQ_ERR_RANGE);
    refuse("timing", "single_us", NULL, SQ_ERR_DAMAGED);
    refuse("timing", "t0_fit_us", json_string("2"), SQ_ERR_DAMAGED);
    refuse("ceilings", "read_gbps", json_real(-1), SQ_ERR_RANGE);
    refuse("ceilings", "read_gbps", json_real(0), SQ_ERR_DAMAGED); // not measured: no share of it
    refuse("check", "ref", json_string("golden_traces"), SQ_ERR_DAMAGED); // and exact
    json_t *json = make();                                                // native INT4 where it is
    json_object_set_new(json_object_get(json, "device"), "cc", json_string("8.0"));
    json_object_set_new(json_object_get(json, "kernel"), "native",
                        json_pack("{s:s}", "int4_mode", "native"));
    assert_int_equal(sq_record_check(json, "record", NULL), SQ_OK);
    json_decref(json);
}

SQ_TEST(files_line_by_line)
{
    char path[] = "/tmp/sq-record-XXXXXX";
    const int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    assert_non_null(f);
    struct sq_record r = record();
    for (r.m = 1; r.m <= 3; r.m++) {
        json_t *json = sq_record_json(&run, &r);
        char *text = json_dumps(json, JSON_COMPACT);
        fprintf(f, "%s\n", text);
        free(text);
        json_decref(json);
    }
    fflush(f);
    size_t n;
    struct sq_error err = {0};
    assert_int_equal(sq_record_check_file(path, &n, &err), SQ_OK);
    assert_int_equal(n, 3);
    json_t *json = make();
    json_object_set_new(json, "record_id", json_string("twice"));
    char *text = json_dumps(json, JSON_COMPACT);
    fprintf(f, "%s\n%s\n", text, text);
    fflush(f);
    assert_int_equal(sq_record_check_file(path, &n, &err), SQ_ERR_DAMAGED);
    assert_int_equal(n, 4);
    fprintf(f, "{\n");
    free(text);
    json_decref(json);
    fclose(f);
    unlink(path);
}
