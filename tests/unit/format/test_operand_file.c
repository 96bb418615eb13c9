// SPDX-License-Identifier: Apache-2.0
// Encoded operands on disk (SPEC O.1, A.8).
//
// Exhausted: every legal format (360) round-trips through a file, alone and three in one, with a
// width that needs padding; every metadata field with a wrong value; every refusal of SPEC A.8 that
// a stored operand can carry. Sampled: single-bit damage of a small file (SQ_SEED): what still
// loads must decode without NaN.
#include <math.h>

#include "sim/format/file/sq_operand_file.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_quantize.h"
#include "tests/unit/tmpdir.h"

static struct sq_operand encoded(struct sq_format f, size_t n, size_t k, unsigned jobs)
{
    struct sq_rng r = {fixture_seed()};
    float *w = fixture_exact(n * k * sizeof *w);
    random_weights(&r, w, n * k);
    struct sq_operand o;
    assert_ok(sq_operand_alloc(&o, &f, n, k, NULL));
    assert_ok(sq_operand_encode(&o, w, jobs, NULL));
    return o;
}

static void check_same(const struct sq_operand *a, const struct sq_operand *b)
{
    assert_int_equal(a->lo_nbytes, b->lo_nbytes);
    assert_int_equal(a->hi_nbytes, b->hi_nbytes);
    assert_int_equal(a->n_scales, b->n_scales);
    assert_memory_equal(a->m.lo, b->m.lo, a->lo_nbytes);
    assert_memory_equal(a->m.hi, b->m.hi, a->hi_nbytes);
    assert_memory_equal(a->m.s_lo, b->m.s_lo, a->n_scales * sizeof(float));
    assert_memory_equal(a->m.s_hi, b->m.s_hi, a->n_scales * sizeof(float));
}

static void write_trace(const char *path, struct sq_format f, const struct sq_operand *o,
                        const struct sq_operand_file_item *item, size_t n)
{
    struct sq_operand_file_writer w;
    struct sq_error err = {.text = ""};
    const struct sq_operand_file_info info = {
        .format = f, .producer = "golden", .source = "synthetic"};
    if (sq_operand_file_begin(&w, path, &info, item, n, &err) != SQ_OK)
        fail_msg("%s", err.text);
    for (size_t i = n; i-- > 0;) // any order
        assert_ok(sq_operand_file_put(&w, i, &o[i], NULL));
    assert_ok(sq_operand_file_commit(&w, NULL));
}

// ---- round trip -----------------------------------------------------------------------------

static void round_trip(struct sq_format f, void *context)
{
    const char *path = context;
    const struct sq_operand_file_item item[] = {
        {"a.b", 5, 172, {0, 1}}, {"a.c", 3, 128, {0, 2}}, {"lo", 1, 7, {0, 3}}};
    const struct sq_operand_file_item alone = {"", 5, 172, {0, 1}};
    struct sq_operand o[3], back;
    for (size_t i = 0; i < 3; i++)
        o[i] = encoded(f, item[i].n, item[i].k_orig, 1);
    struct sq_operand_file t;
    struct sq_error err = {.text = ""};
    for (size_t pass = 0; pass < 2; pass++) {
        size_t n = pass == 0 ? 3 : 1;
        write_trace(path, f, o, n == 1 ? &alone : item, n);
        if (sq_operand_file_open(&t, path, &err) != SQ_OK)
            fail_msg("%s", err.text);
        assert_int_equal(t.n_operands, n);
        assert_memory_equal(&t.format, &f, sizeof f);
        for (size_t i = 0; i < n; i++) {
            assert_string_equal(t.entry[i].name, n == 1 ? "" : item[i].name);
            assert_int_equal(t.entry[i].k_orig, item[i].k_orig);
            assert_int_equal((size_t)t.entry[i].s_lo->data % 4, 0); // aligned for other tools
            if (sq_operand_file_load(&t, i, &back, &err) != SQ_OK)
                fail_msg("%s", err.text);
            check_same(&o[i], &back);
            sq_operand_free(&back);
        }
        sq_operand_file_close(&t);
    }
    for (size_t i = 0; i < 3; i++)
        sq_operand_free(&o[i]);
}

SQ_TEST(every_format_round_trips)
{
    char dir[64];
    assert_int_equal(for_each_format(round_trip, tmpdir_path(tmpdir_make(dir), "t")), N_FORMATS);
    tmpdir_remove(dir);
}

SQ_TEST(jobs_do_not_change_bytes)
{
    struct sq_operand a = encoded(sq_format_default(), 77, 300, 1);
    struct sq_operand b = encoded(sq_format_default(), 77, 300, 5);
    check_same(&a, &b);
    sq_operand_free(&a);
    sq_operand_free(&b);
}

static void decode_row(const void *state, size_t row, float *out)
{
    sq_decode_row(&((const struct sq_operand *)state)->m, row, out);
}

// SPEC J.2 by a second formula: -20 log10 of the relative Frobenius error.
SQ_TEST(sqnr_of_known_errors)
{
    struct sq_format f = {8, 4, 8, 2, 0};
    const float w[] = {0.5f, -3.5f, 0.25f, 1.75f, -31.75f, 0, -1, 15.875f}; // SPEC A.10 V1
    const float w_hat[] = {0.5f, -3.5f, 0, 2, -31.75f, 0, -1, 16};
    struct sq_operand o;
    const struct sq_format_values values = {.decode_row = decode_row};
    const struct sq_format_ops ops = {.values = &values};
    const struct sq_quant_layer q = {.format = &ops, .state = &o, .n = 1, .k_orig = 8};
    float row[8];
    struct sq_sqnr s = {0};
    assert_ok(sq_operand_alloc(&o, &f, 1, 8, NULL));
    assert_ok(sq_operand_encode(&o, w, 1, NULL));
    decode_row(&o, 0, row);
    assert_ok(sq_quant_layer_sqnr(&q, w, &s, NULL));
    double e = 0, y = 0;
    for (size_t i = 0; i < 8; i++) {
        assert_true(row[i] == w_hat[i]);
        e += pow((double)(w[i] - w_hat[i]), 2);
        y += pow((double)w[i], 2);
    }
    assert_true(fabs(sq_sqnr_db(&s) + 20 * log10(sqrt(e) / sqrt(y))) < 1e-12);
    assert_true(isnan(sq_sqnr_db(&(struct sq_sqnr){0, 0})));
    assert_true(isinf(sq_sqnr_db(&(struct sq_sqnr){1, 0})));
    sq_operand_free(&o);
}

// ---- refusals -------------------------------------------------------------------------------

// One encoded row of SPEC A.10 V1 as a file that a test may spoil before it is written.
struct spoiled {
    uint8_t lo[4], hi[2];
    float s_lo, s_hi;
    struct sq_tensor t[5];
    struct sq_metadata md[11];
    size_t n_tensors, n_metadata;
};

static void vector_v1(struct spoiled *s)
{
    *s = (struct spoiled){.lo = {0x91, 0x40, 0x08, 0x8e},
                          .hi = {0x81, 0x40},
                          .s_lo = 0.5f,
                          .s_hi = 0.25f,
                          .n_tensors = 4,
                          .n_metadata = 11};
    const struct sq_metadata md[] = {{"system", "sq_w"},    {"version", "1"}, {"h_high", "8"},
                                     {"h_low", "4"},        {"bank", "8"},    {"k", "2"},
                                     {"group", "row"},      {"N", "1"},       {"K", "8"},
                                     {"scale_type", "f32"}, {"k_orig", "8"}};
    memcpy(s->md, md, sizeof md);
    s->t[0] = (struct sq_tensor){.name = "s_lo", .dtype = SQ_F32, .n_dims = 2, .dim = {1, 1}};
    s->t[1] = s->t[0];
    s->t[1].name = "s_hi";
    s->t[2] = (struct sq_tensor){.name = "lo", .dtype = SQ_U8, .n_dims = 2, .dim = {1, 4}};
    s->t[3] = (struct sq_tensor){.name = "hi", .dtype = SQ_U8, .n_dims = 2, .dim = {1, 2}};
    s->t[4] = (struct sq_tensor){.name = "x", .dtype = SQ_U8, .n_dims = 1, .dim = {0}};
    s->t[0].data = (uint8_t *)&s->s_lo;
    s->t[1].data = (uint8_t *)&s->s_hi;
    s->t[2].data = s->lo;
    s->t[3].data = s->hi;
}

static enum sq_status write_and_load(const char *path, const struct spoiled *s, float w[8],
                                     struct sq_error *err)
{
    struct sq_operand_file t;
    struct sq_operand o;
    assert_ok(sq_safetensors_write(path, s->t, s->n_tensors, s->md, s->n_metadata, NULL));
    SQ_TRY(sq_operand_file_open(&t, path, err));
    enum sq_status status = sq_operand_file_load(&t, 0, &o, err);
    if (status == SQ_OK)
        sq_decode_row(&o.m, 0, w);
    sq_operand_free(&o);
    sq_operand_file_close(&t);
    return status;
}

SQ_TEST(metadata_lies)
{
    static const struct {
        const char *key, *value;
        enum sq_status status;
        const char *part;
    } cases[] = {
        {"system", "gqsa", SQ_ERR_UNSUPPORTED, "system = gqsa"},
        {"version", "2", SQ_ERR_UNSUPPORTED, "version = 2"},
        {"scale_type", "f16", SQ_ERR_UNSUPPORTED, "scale_type = f16"},
        {"h_high", "4", SQ_ERR_UNSUPPORTED, "4/4"},
        {"h_low", "3", SQ_ERR_STREAM_LEN, "lo of operand"},
        {"h_low", "-4", SQ_ERR_DAMAGED, "no number"},
        {"bank", "6", SQ_ERR_UNSUPPORTED, "bank = 6"},
        {"bank", "4", SQ_ERR_STREAM_LEN, "hi of operand"},
        {"k", "3", SQ_ERR_UNSUPPORTED, "high codes per bank = 3"},
        {"k", "4", SQ_ERR_STREAM_LEN, "hi of operand"},
        {"group", "8", SQ_ERR_UNSUPPORTED, "group = 8"},
        {"group", "Row", SQ_ERR_DAMAGED, "no number"},
        {"group", "128", SQ_ERR_SHAPE, "padded to 128"},
        {"N", "2", SQ_ERR_STREAM_LEN, "need 2 x 4"},
        {"N", "0", SQ_ERR_DAMAGED, "no number"},
        {"N", "", SQ_ERR_DAMAGED, "no number"},
        {"N", "1 ", SQ_ERR_DAMAGED, "no number"},
        {"N", "99999999999999999999", SQ_ERR_DAMAGED, "no number"},
        {"K", "16", SQ_ERR_SHAPE, "padded to 8"},
        {"k_orig", "9", SQ_ERR_SHAPE, "padded to 16"},
        {"k_orig", "2147483649", SQ_ERR_DAMAGED, "no number"},
    };
    char dir[64];
    const char *path = tmpdir_path(tmpdir_make(dir), "t");
    struct spoiled s;
    struct sq_error err;
    float w[8];
    vector_v1(&s);
    assert_ok(write_and_load(path, &s, w, &err));
    assert_true(w[4] == -31.75f && w[7] == 16.0f && w[3] == 2.0f);
    for (size_t i = 0; i < LEN(cases); i++) {
        vector_v1(&s);
        for (size_t j = 0; j < s.n_metadata; j++)
            if (strcmp(s.md[j].key, cases[i].key) == 0)
                s.md[j].value = cases[i].value;
        check_refused(write_and_load(path, &s, w, &err), cases[i].status, &err, cases[i].part);
    }
    for (size_t missing = 0; missing < LEN(s.md); missing++) {
        vector_v1(&s);
        s.md[missing] = s.md[--s.n_metadata];
        assert_int_not_equal(write_and_load(path, &s, w, &err), SQ_OK);
    }
    tmpdir_remove(dir);
}

SQ_TEST(tensor_lies)
{
    char dir[64];
    const char *path = tmpdir_path(tmpdir_make(dir), "t");
    struct spoiled s;
    struct sq_error err;
    float w[8];
    vector_v1(&s);
    s.n_tensors = 5;
    check_refused(write_and_load(path, &s, w, &err), SQ_ERR_DAMAGED, &err, "5 tensors for 1");
    vector_v1(&s);
    s.n_tensors = 3;
    check_refused(write_and_load(path, &s, w, &err), SQ_ERR_DAMAGED, &err, "hi of operand");
    vector_v1(&s);
    s.t[2].dtype = SQ_I8;
    check_refused(write_and_load(path, &s, w, &err), SQ_ERR_SHAPE, &err, "no U8 matrix");
    vector_v1(&s);
    s.t[3].dim[1] = 1;
    check_refused(write_and_load(path, &s, w, &err), SQ_ERR_STREAM_LEN, &err, "1 x 1");
    vector_v1(&s);
    s.t[0].name = "s_low";
    check_refused(write_and_load(path, &s, w, &err), SQ_ERR_DAMAGED, &err, "s_lo of operand");
    // Contents: SPEC A.8.
    vector_v1(&s);
    s.lo[0] = 0x81; // a third mask code
    check_refused(write_and_load(path, &s, w, &err), SQ_ERR_MASK_COUNT, &err, "");
    vector_v1(&s);
    s.hi[0] = 0x80; // -128
    check_refused(write_and_load(path, &s, w, &err), SQ_ERR_CODE, &err, "");
    static const float bad[] = {0.0f, -1.0f, NAN, INFINITY};
    for (size_t i = 0; i < LEN(bad); i++) {
        vector_v1(&s);
        s.s_hi = bad[i];
        check_refused(write_and_load(path, &s, w, &err), SQ_ERR_SCALE, &err, "");
    }
    tmpdir_remove(dir);
}

SQ_TEST(single_bit_damage)
{
    char dir[64];
    const char *path = tmpdir_path(tmpdir_make(dir), "t");
    struct spoiled s;
    struct sq_error err;
    float w[8];
    vector_v1(&s);
    assert_ok(write_and_load(path, &s, w, &err));
    size_t n, loaded = 0;
    uint8_t *bytes = read_bytes(path, &n);
    drop_digest(bytes, n); // nothing passes it, see test_safetensors.c
    for (size_t bit = 0; bit < 8 * n; bit++) {
        struct sq_operand_file t;
        struct sq_operand o;
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        write_bytes(path, bytes, n);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (sq_operand_file_open(&t, path, &err) != SQ_OK)
            continue;
        if (sq_operand_file_load(&t, 0, &o, &err) == SQ_OK) {
            loaded++;
            sq_decode_row(&o.m, 0, w);
            for (size_t i = 0; i < o.m.k_orig; i++)
                assert_true(!isnan(w[i]));
            sq_operand_free(&o);
        }
        sq_operand_file_close(&t);
    }
    print_message("# %zu of %zu single-bit errors are other valid files\n", loaded, 8 * n);
    assert_in_range(loaded, 1, 2 * n);
    tmpdir_remove(dir);
}

SQ_TEST(writer_refuses)
{
    char dir[64];
    const char *path = tmpdir_path(tmpdir_make(dir), "t");
    struct sq_operand_file_info info = {sq_format_default(), "golden", "real", 0};
    struct sq_operand_file_writer w;
    struct sq_error err;
    struct sq_operand_file_item item[] = {{"a", 2, 128, {0, 0}}, {"a", 2, 128, {0, 0}}};
    check_refused(sq_operand_file_begin(&w, path, &info, item, 2, &err), SQ_ERR_ARG, &err, "twice");
    check_refused(sq_operand_file_begin(&w, path, &info, item, 0, &err), SQ_ERR_ARG, &err,
                  "no operand");
    item[1].name = "";
    check_refused(sq_operand_file_begin(&w, path, &info, item, 2, &err), SQ_ERR_ARG, &err,
                  "no name");
    item[0].n = 0;
    check_refused(sq_operand_file_begin(&w, path, &info, item, 1, &err), SQ_ERR_SHAPE, &err,
                  "0 x 128");
    item[0].n = 2;
    info.format.bank = 5;
    check_refused(sq_operand_file_begin(&w, path, &info, item, 1, &err), SQ_ERR_UNSUPPORTED, &err,
                  "bank = 5");
    info.format.bank = 32;
    assert_ok(sq_operand_file_begin(&w, path, &info, item, 1, &err));
    struct sq_operand o = encoded(info.format, 3, 128, 1);
    check_refused(sq_operand_file_put(&w, 0, &o, &err), SQ_ERR_ARG, &err, "not the one declared");
    sq_operand_file_abort(&w);
    sq_operand_free(&o);
    assert_int_equal(sq_operand_alloc(&o, &info.format, 0, 1, &err), SQ_ERR_SHAPE);
    assert_int_equal(sq_operand_alloc(&o, &info.format, 1, SIZE_MAX, &err), SQ_ERR_SHAPE);
    assert_int_equal(count_files(dir), 0);
    tmpdir_remove(dir);
}
