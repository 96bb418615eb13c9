// SPDX-License-Identifier: Apache-2.0
// GPUs as machines: shipped files load and round-trip; the model's limits (launch, peak, bandwidth)
// and its monotony over random shapes; records in both forms with every kind of lie; the
// statistics against hand-made values; the calibration set is one shape in ten; a fit on times that
// the model itself made finds them again. Closed forms: V13, Table 10, mux counts of SPEC D.9, and
// the counts that SCALE-Sim printed. The law and leaving one GPU out: test_gpu_cross.c.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_rng.h"
#include "sim/format/core/sq_grid_recipe.h"
#include "sim/format/sq_format_ops.h"
#include "sim/gpu/sq_gpu_compare.h"
#include "sim/gpu/sq_gpu_fit.h"
#include "sim/gpu/sq_gpu_predict.h"
#include "sim/gpu/sq_gpu_roofline.h"
#include "sim/machine/sq_roofline.h"
#include "tests/unit/fixture.h"

static void load(const char *name, struct sq_gpu *gpu)
{
    char path[64];
    struct sq_error err = {.code = SQ_OK};
    snprintf(path, sizeof path, "sim/machines/%s.yaml", name);
    if (sq_gpu_load(path, gpu, &err) != SQ_OK)
        fail_msg("%s", err.text);
}

static double seconds(const struct sq_gpu *gpu, uint64_t m, uint64_t n, uint64_t k, bool is_sparse)
{
    const struct sq_gpu_gemm g = {
        .m = m, .n = n, .k = k, .dtype = SQ_GPU_INT8, .is_sparse = is_sparse, .out_nbytes = 2};
    struct sq_gpu_time t;
    assert_int_equal(sq_gpu_time_gemm(gpu, &g, &t, NULL), SQ_OK);
    return t.seconds;
}

SQ_TEST(test_shipped)
{
    static const char *const names[] = {"a100_pcie_80g", "a100_sxm",       "b200",     "gb10",
                                        "gb200",         "h100_pcie",      "h100_sxm", "h200",
                                        "l40s",          "rtx4060_mobile", "rtx4090",  "rtx5080",
                                        "rtx_pro_6000"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct sq_gpu gpu, again;
        char *text;
        size_t nbytes;
        load(names[i], &gpu);
        assert_string_equal(gpu.name, names[i]);
        FILE *f = open_memstream(&text, &nbytes);
        sq_gpu_write(&gpu, "# test\n", f);
        fclose(f);
        assert_int_equal(sq_gpu_parse(text, nbytes, "written", &again, NULL), SQ_OK);
        assert_int_equal(again.n_kinds, gpu.n_kinds);
        assert_true(gpu.dram_peak > gpu.dram_bytes_per_s);
        assert_true(fabs(again.dram_peak / gpu.dram_peak - 1) < 1e-3);
        assert_true(
            fabs(seconds(&again, 512, 4096, 4096, true) / seconds(&gpu, 512, 4096, 4096, true) -
                 1) < 1e-3);
        free(text);
    }
}

SQ_TEST(test_model)
{
    struct sq_rng r = {fixture_seed()};
    struct sq_gpu gpu;
    load("a100_pcie_80g", &gpu);
    // Nothing is faster than its launch, its nominal rate, or (2:4) half the dense work at best.
    for (unsigned i = 0; i < 3000; i++) {
        const uint64_t m = 1 + sq_rng_below(&r, 8192), n = 64 * (1 + sq_rng_below(&r, 300)),
                       k = 64 * (1 + sq_rng_below(&r, 200));
        const double dense = seconds(&gpu, m, n, k, false), sparse = seconds(&gpu, m, n, k, true);
        const double ideal =
            (double)m * (double)n * (double)k / (2048 * 108 * gpu.clock_hz); // at the nominal rate
        assert_true(dense > sq_gpu_find_kind(&gpu, SQ_GPU_INT8, false)->launch_s);
        assert_true(dense > ideal && sparse > ideal / 2);
        // More work never takes less time.
        assert_true(seconds(&gpu, m + 256, n, k, false) >= dense * (1 - 1e-12));
        assert_true(seconds(&gpu, m, n + 256, k, false) >= dense * (1 - 1e-12));
        assert_true(seconds(&gpu, m, n, 2 * k, false) >= dense * (1 - 1e-12));
    }
    const struct sq_gpu_gemm fp8 = {.m = 128, .n = 128, .k = 128, .dtype = SQ_GPU_FP8};
    const struct sq_gpu_gemm zero = {.m = 0, .n = 128, .k = 128, .dtype = SQ_GPU_INT8};
    struct sq_gpu_time t;
    assert_int_equal(sq_gpu_time_gemm(&gpu, &fp8, &t, NULL), SQ_ERR_UNSUPPORTED);
    assert_int_equal(sq_gpu_time_gemm(&gpu, &zero, &t, NULL), SQ_ERR_RANGE);
}

// The split of two data types lies between them. Compute and DRAM hide each other, but not wholly.
SQ_TEST(test_split)
{
    struct sq_rng r = {fixture_seed()};
    struct sq_gpu gpu;
    load("h200", &gpu);
    for (unsigned i = 0; i < 2000; i++) {
        struct sq_gpu_gemm g = {.m = 1 + sq_rng_below(&r, sq_rng_below(&r, 2) ? 16 : 8192),
                                .n = 64 * (1 + sq_rng_below(&r, 300)),
                                .k = 64 * (1 + sq_rng_below(&r, 200)),
                                .dtype = SQ_GPU_BF16,
                                .low_dtype = SQ_GPU_FP8,
                                .out_nbytes = 2};
        struct sq_gpu_time t;
        double before = INFINITY;
        for (unsigned s = 0; s <= 8; s++) {
            g.low_share = s / 8.;
            assert_int_equal(sq_gpu_time_gemm(&gpu, &g, &t, NULL), SQ_OK);
            assert_true(t.seconds <= before * (1 + 1e-12));
            before = t.seconds;
            assert_true(t.seconds >= t.launch_s + fmax(t.compute_s, t.dram_s) &&
                        t.seconds <= t.launch_s + t.compute_s + t.dram_s);
        }
        g.low_share = 0;
        g.dtype = SQ_GPU_FP8;
        assert_int_equal(sq_gpu_time_gemm(&gpu, &g, &t, NULL), SQ_OK);
        assert_true(t.seconds == before);
    }
    const struct sq_gpu_gemm bad = {
        .m = 1, .n = 1, .k = 1, .is_sparse = true, .low_share = 0.5, .dtype = SQ_GPU_INT8};
    struct sq_gpu_time t;
    assert_int_equal(sq_gpu_time_gemm(&gpu, &bad, &t, NULL), SQ_ERR_RANGE);
}

// Formats: the product of their kernel and the stored bits of SPEC A.5, F.6, G.3, H.6.
SQ_TEST(test_formats)
{
    const struct sq_gemm size = {1, 4096, 4096};
    const struct {
        const char *format;
        unsigned weight_bits, act_bits; // 0: the default
        enum sq_gpu_dtype dtype;
        bool is_sparse;
        double bits;
    } row[] = {
        {"dense", 16, 16, SQ_GPU_BF16, false, 16},
        {"dense", 4, 8, SQ_GPU_INT8, false, 4.25},
        {"sp24", 0, 8, SQ_GPU_INT8, true, 5},
        {"sq_w", 0, 8, SQ_GPU_BF16, false, 6.5},
        {"gqsa", 0, 8, SQ_GPU_BF16, false, 3.125},
        // 32 bytes are the least that is fetched: 8 of 9 sectors hold one column, the last one two.
        {"spqt", 0, 16, SQ_GPU_BF16, false, 4.5 * (8 * 0.5 + 0.75) / 9},
        {"spqr", 0, 16, SQ_GPU_BF16, false, 4.25},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct sq_recipe r;
        if (sq_is_without(row[i].format))
            continue;
        assert_int_equal(sq_format_recipe(sq_format_find(row[i].format), SQ_IN_RUN, NULL, &r, NULL),
                         SQ_OK);
        r.is_act_f16 = row[i].act_bits == 16;
        r.act.low_bits = row[i].act_bits;
        if (strcmp(row[i].format, "spqr") == 0)
            sq_option_put(sq_option_find(r.format, SQ_IN_RUN, "outliers"), 1. / 128, &r);
        if (row[i].weight_bits)
            sq_grid_set(&r)->weight.low_bits = row[i].weight_bits;
        if (row[i].weight_bits == 16)
            r.group = 0;
        const struct sq_gpu_gemm g = sq_gpu_of_recipe(&r, &size);
        assert_true(g.dtype == row[i].dtype && g.is_sparse == row[i].is_sparse && g.is_cold);
        assert_true(g.is_gemv);                                // one token
        assert_true(fabs(g.weight_bits - row[i].bits) < 0.01); // and 32 bits a row
    }
}

// MX, NVFP4 and sq_b had the time of BF16: a format without a kernel in gpu/ is refused by name.
SQ_TEST(test_formats_without_a_kernel)
{
    const struct sq_workload_row row = {.gemm = {2048, 4096, 4096}, .count = 1};
    const struct sq_workload w = {.n = 1, .row = (struct sq_workload_row *)&row};
    struct sq_gpu gpu;
    unsigned refused = 0;
    assert_int_equal(sq_gpu_load("sim/machines/h200.yaml", &gpu, NULL), SQ_OK);
    for (size_t i = 0; sq_formats[i]; i++) {
        struct sq_recipe r;
        struct sq_gpu_total t;
        struct sq_error err;
        assert_int_equal(sq_format_recipe(sq_formats[i], SQ_IN_RUN, NULL, &r, NULL), SQ_OK);
        const enum sq_status status = sq_gpu_total_recipe(&gpu, &r, &w, NULL, &t, &err);
        if (sq_formats[i]->gpu) {
            assert_int_equal(status, SQ_OK);
            continue;
        }
        assert_int_equal(status, SQ_ERR_ARG);
        assert_non_null(strstr(err.text, sq_formats[i]->name));
        assert_non_null(strstr(err.text, "not modelled on a GPU"));
        refused++;
    }
    assert_int_equal(refused, 12); // mx*, nv*, if4, razer, sq_b
}

// ---- records --------------------------------------------------------------------------------

static enum sq_status parse(const char *text, struct sq_gpu_records *g, struct sq_error *err)
{
    return sq_gpu_records_parse(text, strlen(text), "test", "A100", g, err);
}

#define HEAD "gpu,backend,sparsity,dtype_in,dtype_out,model,M,N,K,lat_us\n"
#define JSON(device, source, format, dtype, m, us)                                                 \
    "{\"schema_version\":1,\"source\":\"" source "\",\"device\":{\"name\":\"" device               \
    "\"},\"problem\":{\"M\":" m ",\"N\":64,\"K\":32,\"format\":\"" format                          \
    "\",\"dtype_w\":\"" dtype "\",\"dtype_out\":\"s32\"},\"timing\":{\"median_us\":" us "}}\n"

// Times that a roofline made give its constants back, from one shape in ten: the other rows are
// predicted within a percent. A kind without rows is not fitted.
SQ_TEST(test_roofline)
{
    static const struct sq_gpu_roof made = {4e-6, 2e14, 1.5e12};
    static char text[1 << 16] = HEAD;
    struct sq_rng rng = {5};
    struct sq_gpu_records g;
    struct sq_gpu_roofline fit;
    size_t at = strlen(text);
    for (unsigned i = 0; i < 400; i++) {
        const struct sq_gpu_gemm gemm = {.m = UINT64_C(128) << sq_rng_below(&rng, 6),
                                         .n = 256 * (1 + sq_rng_below(&rng, 64)),
                                         .k = 256 * (1 + sq_rng_below(&rng, 64)),
                                         .dtype = SQ_GPU_INT8,
                                         .out_nbytes = 4};
        const double macs = (double)gemm.m * (double)gemm.n * (double)gemm.k;
        const double s =
            made.t0_s + fmax(macs / made.macs_per_s, sq_gpu_gemm_nbytes(&gemm) / made.bytes_per_s);
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "A100,x,dense,INT8,INT32,q,%llu,%llu,%llu,%.9g\n",
                               (unsigned long long)gemm.m, (unsigned long long)gemm.n,
                               (unsigned long long)gemm.k, 1e6 * s);
    }
    assert_int_equal(parse(text, &g, NULL), SQ_OK);
    sq_gpu_roofline_fit(&g, 1, &fit);
    unsigned checked = 0;
    for (size_t i = 0; i < g.n; i++) {
        const struct sq_gpu_record *r = &g.r[i];
        if (r->is_calibration)
            continue;
        const double s = sq_gpu_roofline_seconds(&fit, &r->gemm);
        if (fabs(s / r->seconds - 1) > 0.01)
            fail_msg("row %zu: %g s, want %g", i, s, r->seconds);
        checked++;
    }
    assert_true(checked > 300);
    const struct sq_gpu_gemm other = {.m = 1, .n = 1, .k = 1, .dtype = SQ_GPU_BF16};
    assert_true(sq_gpu_roofline_seconds(&fit, &other) == 0);
    sq_gpu_records_free(&g);
}

SQ_TEST(test_records)
{
    struct sq_gpu_records g;
    assert_int_equal(parse(HEAD "A100,x,2:4,BF16,BF16,q,64,128,256,12.5\n"
                                "RTX4090,x,dense,INT8,INT32,q,64,128,256,1\n"
                                "A100,x,dense,INT3,INT32,q,64,128,256,1\n",
                           &g, NULL),
                     SQ_OK);
    assert_int_equal(g.n, 1);
    assert_int_equal(g.other_device, 1);
    assert_int_equal(g.other_kind, 1);
    assert_true(g.r[0].gemm.is_sparse && g.r[0].gemm.dtype == SQ_GPU_BF16);
    assert_true(fabs(g.r[0].seconds - 12.5e-6) < 1e-12);
    sq_gpu_records_free(&g);
    assert_int_equal(parse(JSON("NVIDIA A100-PCIE", "measured", "dense", "s8", "7", "3.5")
                               JSON("NVIDIA A100-PCIE", "published", "dense", "s8", "7", "3.5")
                                   JSON("NVIDIA A100", "measured", "GQSA", "s4", "7", "3.5")
                                       JSON("H200", "measured", "dense", "s8", "7", "3.5")
                                           JSON("A100", "measured", "2:4", "s8", "7", "0"),
                           &g, NULL),
                     SQ_OK);
    assert_int_equal(g.n, 1);
    assert_int_equal(g.other_source, 1);
    assert_int_equal(g.other_kind, 1);
    assert_int_equal(g.other_device, 1);
    assert_int_equal(g.no_time, 1);
    assert_int_equal(g.r[0].gemm.out_nbytes, 4);
    sq_gpu_records_free(&g);
    // The model predicts the vendor's kernels, not ours.
#define IMPL(impl)                                                                                 \
    "{\"schema_version\":1,\"source\":\"measured\",\"device\":{\"name\":\"A100\"},\"kernel\":"     \
    "{\"impl\":\"" impl "\"},\"problem\":{\"M\":7,\"N\":64,\"K\":32,\"format\":\"dense\","         \
    "\"dtype_w\":\"s8\",\"dtype_out\":\"s32\"},\"timing\":{\"median_us\":2}}\n"
    assert_int_equal(parse(IMPL("cublaslt") IMPL("ours") IMPL("cusparselt"), &g, NULL), SQ_OK);
    assert_int_equal(g.n, 2);
    assert_int_equal(g.other_kind, 1);
    sq_gpu_records_free(&g);
}

// Shapes are numbered in order of appearance and found by their index as a walk finds them: 5,000
// records of up to 300 shapes, each place sampled. A shape that repeats without end is refused:
// what looks at all records of a shape for each of them would be quadratic.
SQ_TEST(test_shapes)
{
    enum { N = 5000, LINE = 64 };
    char *text = malloc((size_t)N * LINE + sizeof HEAD);
    size_t at = (size_t)sprintf(text, HEAD), number[N], seen = 0;
    struct sq_gpu_records g;
    struct sq_error err;
    for (unsigned i = 0; i < N; i++) {
        const unsigned s = i * 2654435761u % 300;
        at += (size_t)sprintf(text + at, "A100,x,dense,INT8,INT32,q,%u,%u,%u,%u\n", 64 + s % 7,
                              64 + s % 6, 64 + s % 50, 1000 + i * 7919 % N);
    }
    assert_int_equal(parse(text, &g, NULL), SQ_OK);
    assert_int_equal(g.n, N);
    for (size_t i = 0; i < N; i++) {
        const struct sq_gpu_gemm *x = &g.r[i].gemm;
        const struct sq_gpu_record *fastest = NULL;
        number[i] = N;
        for (size_t j = 0; j < N; j++) {
            const struct sq_gpu_gemm *y = &g.r[j].gemm;
            if (x->m != y->m || x->n != y->n || x->k != y->k)
                continue;
            if (number[i] == N)
                number[i] = j == i ? seen++ : number[j];
            if (!fastest || g.r[j].seconds < fastest->seconds)
                fastest = &g.r[j];
        }
        assert_int_equal(g.r[i].is_calibration, number[i] % 10 == 3);
        assert_ptr_equal(sq_gpu_find_record(&g, x), fastest);
    }
    assert_true(seen > 200);
    const struct sq_gpu_gemm none = {.m = 64, .n = 64, .k = 63};
    assert_null(sq_gpu_find_record(&g, &none));
    sq_gpu_records_free(&g);
    at = (size_t)sprintf(text, HEAD);
    for (unsigned i = 0; i <= SQ_GPU_OF_SHAPE_MAX; i++)
        at += (size_t)sprintf(text + at, "A100,x,dense,INT8,INT32,q,64,128,256,%u\n", 1 + i);
    assert_int_equal(parse(text, &g, &err), SQ_ERR_RANGE);
    assert_string_equal(err.text, "more than 1024 records of shape 64 x 128 x 256, need fewer");
    free(text);
}

// The split of two data types is modelled; our other kernels are kept by their format.
SQ_TEST(test_format_records)
{
    struct sq_gpu_records g;
    struct sq_gpu gpu;
    struct sq_gpu_gap gap;
#define OURS(format, dtype)                                                                        \
    "{\"schema_version\":1,\"source\":\"measured\",\"device\":{\"name\":\"A100\"},\"kernel\":"     \
    "{\"impl\":\"ours\"},\"problem\":{\"M\":4096,\"N\":4096,\"K\":4096,\"format\":\"" format       \
    "\",\"dtype_w\":\"" dtype                                                                      \
    "\",\"dtype_out\":\"bf16\",\"sparsity\":0.5},\"timing\":{\"median_us\":200,"                   \
    "\"l2\":\"cold_rotated\",\"t0_fit_us\":4.5},\"ceilings\":{\"bf16_tflops\":700,"                \
    "\"copy_gbps\":4000}}\n"
    assert_int_equal(
        parse(OURS("sq_a_static", "bf16+e4m3") OURS("gqsa", "s4") OURS("none", "s8"), &g, NULL),
        SQ_OK);
    assert_true(g.n == 1 && g.n_formats == 1 && g.other_kind == 2);
    assert_string_equal(g.format[0].format, "gqsa");
    assert_true(g.format[0].m == 4096 && g.format[0].sparsity == 0.5);
    const struct sq_gpu_record *r = &g.r[0];
    assert_true(r->gemm.is_cold && r->gemm.low_share == 0.5 && r->gemm.low_dtype == SQ_GPU_FP8);
    assert_true(r->ceilings.launch_s == 4.5e-6 && r->ceilings.copy_bytes_per_s == 4e12);
    load("h200", &gpu);
    assert_int_equal(sq_gpu_explain(&gpu, r, &gap, NULL), SQ_OK);
    assert_true(fabs(gap.predicted_s + gap.launch_s + gap.dram_s + gap.rate_s + gap.rest_s -
                     r->seconds) < 1e-12);
    assert_true(fabs(gap.launch_s - (4.5e-6 - sq_gpu_law.launch_s)) < 1e-12);
    assert_true(gap.dram_s > 0 && gap.rate_s > 0); // 4 in place of 4.3 TB/s, 700 of 788 TFLOP/s
    const struct sq_gpu_gemm other = {.m = 4096,
                                      .n = 4096,
                                      .k = 4096,
                                      .dtype = SQ_GPU_BF16,
                                      .low_dtype = SQ_GPU_FP8,
                                      .low_share = 0.75};
    assert_ptr_equal(sq_gpu_find_record(&g, &r->gemm), r);
    assert_null(sq_gpu_find_record(&g, &other));
    sq_gpu_records_free(&g);
}

SQ_TEST(test_lies)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "no measured row"},
        {HEAD, "no measured row"},
        {HEAD "H100,x,dense,INT8,INT32,q,64,1,1,1\n", "1 of other devices"},
        {"gpu,M,N,K\nA100,1,1,1\n", "no column sparsity"},
        {HEAD "A100,x,dense,INT8,INT32,q,0,1,1,1\n", "line 2: M = 0"},
        {HEAD "A100,x,dense,INT8,INT32,q,1,1,1099511627776,1\n", "K = 1099511627776"},
        {HEAD "A100,x,dense,INT8,INT32,q,1,1.5,1,1\n", "N = 1.5, need a whole number"},
        {HEAD "A100,x,dense,INT8,INT32,q,1,1,1,-3\n", "lat_us = -3"},
        {HEAD "A100,x,dense,INT8,INT32,q,1,1,1,0\n", "lat_us = 0"},
        {HEAD "A100,x,dense,INT8,INT32,q,1,1,1,nan\n", "lat_us = nan"},
        {HEAD "A100,x,dense,INT8,INT32,q,1,1,1\n", "9 values, no lat_us"},
        {HEAD "\"A100, 80G\",\"x\ny\",dense,INT8,INT32,q,1,1,1,1\n"
              "A100,x,dense,INT8,INT32,q,1,1,1,x\n",
         "line 4: lat_us = x"},
        {HEAD "\"A100,x,dense,INT8,INT32,q,1,1,1,1\n", "a quote does not end"},
        {"{\n", "bad JSON"},
        {"{\"schema_version\":2}\n", "schema_version is not 1"},
        {"{\"schema_version\":1}\n", "no source"},
        {JSON("A100", "measured", "dense", "s8", "0", "1"), "M = 0"},
        {JSON("A100", "measured", "dense", "s8", "1", "-1"), "median_us = -1"},
        {JSON("A100", "measured", "dense", "s8", "\"1\"", "1"), "M"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sq_gpu_records g;
        struct sq_error err = {.code = SQ_OK};
        if (parse(cases[i].text, &g, &err) == SQ_OK)
            fail_msg("accepted: %s", cases[i].text);
        if (!strstr(err.text, cases[i].want))
            fail_msg("'%s' gave '%s'", cases[i].text, err.text);
        assert_null(g.r);
    }
}

// ---- statistics and fit ---------------------------------------------------------------------

SQ_TEST(test_statistics)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
    assert_true(sq_median(odd, 3) == 2 && sq_median(even, 4) == 2.5 && isnan(sq_median(odd, 0)));
    const double x[] = {1, 2, 3, 4, 5}, up[] = {2, 3, 5, 8, 13}, down[] = {9, 7, 5, 3, 1};
    const double ties[] = {1, 1, 2, 2, 3}, one[] = {7, 7, 7, 7, 7};
    assert_true(fabs(sq_spearman(x, up, 5) - 1) < 1e-12);
    assert_true(fabs(sq_spearman(x, down, 5) + 1) < 1e-12);
    // Ranks .5 .5 2.5 2.5 4 against 0..4: 9 / sqrt(10 * 9).
    assert_true(fabs(sq_spearman(x, ties, 5) - 9 / sqrt(90)) < 1e-12);
    assert_true(isnan(sq_spearman(x, one, 5)) && isnan(sq_spearman(x, up, 1)));
}

// 44 shapes x the kinds of the machine, timed by the model, as records.
static void make_records(const struct sq_gpu *gpu, struct sq_gpu_records *g)
{
    memset(g, 0, sizeof *g);
    g->r = calloc((size_t)44 * gpu->n_kinds, sizeof *g->r);
    for (unsigned i = 0; i < 44; i++)
        for (unsigned k = 0; k < gpu->n_kinds; k++) {
            struct sq_gpu_time t;
            struct sq_gpu_record *r = &g->r[g->n++];
            r->gemm = (struct sq_gpu_gemm){.m = UINT64_C(64) << (i / 4),
                                           .n = (const uint64_t[]){3584, 4608, 37888, 3584}[i % 4],
                                           .k = i % 4 == 3 ? 18944 : 3584,
                                           .dtype = gpu->kind[k].dtype,
                                           .is_sparse = gpu->kind[k].is_sparse,
                                           .out_nbytes = 2};
            assert_int_equal(sq_gpu_time_gemm(gpu, &r->gemm, &t, NULL), SQ_OK);
            r->seconds = t.seconds;
            r->is_calibration = i % 10 == 3;
            r->low_s = (const double[]){0, 1.1, 0.5, 0.9}[(i + k) % 4] *
                       t.seconds; // no spread, above, below, around
            r->high_s = (const double[]){0, 1.3, 0.9, 1.1}[(i + k) % 4] * t.seconds;
        }
}

SQ_TEST(test_fit)
{
    struct sq_gpu truth, gpu;
    struct sq_gpu_records g;
    struct sq_gpu_comparison before, after;
    double error;
    load("a100_pcie_80g", &truth);
    make_records(&truth, &g);
    gpu = truth; // a wrong start
    for (unsigned k = 0; k < gpu.n_kinds; k++) {
        gpu.kind[k].sustained *= 0.8;
        gpu.kind[k].launch_s *= 3;
        gpu.kind[k].dram *= 0.5;
    }
    assert_int_equal(sq_gpu_compare(&truth, &g, true, 128, &before, NULL), SQ_OK);
    assert_true(before.median_abs_error < 1e-12 && before.n_calibration > 0);
    assert_true(before.n + before.n_calibration + before.n_below == g.n);
    assert_true(fabs(before.spearman - 1) < 1e-9);
    size_t n[3] = {0}; // without a spread, inside of it, outside
    for (const struct sq_gpu_point *p = before.point; p < before.point + before.n; p++)
        n[p->high_s == 0 ? 0 : fabs(p->low_s / p->measured_s - 0.9) < 1e-9 ? 1 : 2]++;
    assert_true(n[0] > 0 && n[1] > 0 && n[2] > n[1] && before.n_inside == n[1]);
    assert_int_equal(before.n_spread, n[1] + n[2]);
    sq_gpu_comparison_free(&before);
    assert_int_equal(sq_gpu_compare(&gpu, &g, true, 128, &before, NULL), SQ_OK);
    assert_int_equal(sq_gpu_fit(&g, &gpu, &error, NULL), SQ_OK);
    assert_int_equal(sq_gpu_compare(&gpu, &g, true, 128, &after, NULL), SQ_OK);
    assert_true(after.mean_abs_error < 0.06 && after.mean_abs_error < before.mean_abs_error / 2);
    // Rows outside the calibration set do not matter to the fit.
    struct sq_gpu other = truth, same = truth;
    for (size_t i = 0; i < g.n; i++)
        g.r[i].seconds *= g.r[i].is_calibration ? 1 : 10;
    assert_int_equal(sq_gpu_fit(&g, &other, &error, NULL), SQ_OK);
    for (size_t i = 0; i < g.n; i++)
        g.r[i].seconds *= g.r[i].is_calibration ? 1 : 0.1;
    assert_int_equal(sq_gpu_fit(&g, &same, &error, NULL), SQ_OK);
    assert_memory_equal(&other.kind, &same.kind, sizeof same.kind);
    sq_gpu_comparison_free(&before);
    sq_gpu_comparison_free(&after);
    sq_gpu_records_free(&g);
}

// ---- closed forms ---------------------------------------------------------------------------

SQ_TEST(test_closed_forms)
{
    static const double s[] = {.5, .75, .875, .9375};
    static const uint64_t weight[] = {16777216, 8388608, 8388608, 8388608},
                          act[] = {20971520, 14680064, 11534336, 9961472};
    assert_int_equal(sq_roof_dense_cycles(2048, 4096, 4096, 1024), 33554432);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(sq_roof_weight_cycles(2048, 4096, 4096, 4096, 1024, s[i]), weight[i]);
        assert_int_equal(sq_roof_act_cycles(2048, 4096, 4096, 4096, 1024, s[i]), act[i]);
    }
    for (unsigned i = 0; i < SQ_TABLE10_MODELS; i++)
        for (unsigned j = 0; j < 3; j++)
            assert_true(fabs(sq_table10_speedup(&sq_table10[i], j) -
                             sq_table10[i].paper_speedup[j]) <= (i == 0 ? 0.02 : 0.06));
    assert_int_equal(sq_scalesim_os_cycles(128, 128, 128, 32, 32), 3039); // a run of SCALE-Sim v3
}

// Bits of an element with all that is stored beside it; of 2:4 half of them and an index of 2 bits for each that is left,
// or for each pair of 4 bits.
SQ_TEST(bytes_by_hand)
{
    static const struct {
        enum sq_gpu_dtype dtype;
        double act, weight, sparse;
    } bits[] = {{SQ_GPU_BF16, 16, 16, 9}, {SQ_GPU_INT8, 8, 8, 5},   {SQ_GPU_FP8, 8, 8, 5},
                {SQ_GPU_INT4, 4, 4, 2.5}, {SQ_GPU_W4A16, 16, 4, 0}, {SQ_GPU_NVFP4, 4.5, 4.5, 2.75},
                {SQ_GPU_W8A16, 16, 8, 0}};
    for (size_t i = 0; i < LEN(bits); i++)
        for (unsigned sparse = 0; sparse <= (bits[i].sparse > 0); sparse++) {
            const struct sq_gpu_gemm g = {.m = 3,
                                          .n = 5,
                                          .k = 256,
                                          .dtype = bits[i].dtype,
                                          .is_sparse = sparse,
                                          .out_nbytes = 2};
            const double weight = sparse ? bits[i].sparse : bits[i].weight;
            assert_true(sq_gpu_gemm_nbytes(&g) ==
                        256 * (3 * bits[i].act + 5 * weight) / 8 + 2 * 3 * 5);
        }
}
