// SPDX-License-Identifier: Apache-2.0
// Kinds of GPU kernels beside test_gpu.c: INT4, W4A8 and their records; every part of a time by hand;
// rows left aside, each with its reason.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/gpu/sq_gpu_compare.h"
#include "sim/gpu/sq_gpu_fit.h"
#include "sim/gpu/sq_gpu_predict.h"
#include "tests/test.h"

static void load(const char *name, struct sq_gpu *gpu)
{
    char path[64];
    struct sq_error err = {.code = SQ_OK};
    snprintf(path, sizeof path, "sim/machines/%s.yaml", name);
    if (sq_gpu_load(path, gpu, &err) != SQ_OK)
        fail_msg("%s", err.text);
}

static enum sq_status parse(const char *text, struct sq_gpu_records *g, struct sq_error *err)
{
    return sq_gpu_records_parse(text, strlen(text), "test", "A100", g, err);
}

// INT4 on a GPU that has it: its rate, bytes of half the size, the split (INT8, INT4) between the
// two, and W4A8 at INT8's rate with the weights of INT4.
SQ_TEST(test_int4)
{
    struct sq_gpu gpu;
    struct sq_gpu_time t4, t8, mixed, w4a8;
    load("a100_pcie_80g", &gpu);
    const double launch = sq_gpu_law.launch_s; // constants of INT8 and INT4 alike
    sq_gpu_law_apply(&sq_gpu_law, &gpu);
    struct sq_gpu_kind *int4 =
        (struct sq_gpu_kind *)(uintptr_t)sq_gpu_find_kind(&gpu, SQ_GPU_INT4, false);
    int4->sustained = sq_gpu_find_kind(&gpu, SQ_GPU_INT8, false)->sustained;
    struct sq_gpu_gemm g = {.m = 16384, .n = 16384, .k = 16384, .out_nbytes = 2};
    for (unsigned i = 0; i < 2; i++) { // compute-bound, then bound by bytes
        g.dtype = SQ_GPU_INT8;
        assert_ok(sq_gpu_time_gemm(&gpu, &g, &t8, NULL));
        g.low_dtype = SQ_GPU_INT4;
        g.low_share = 0.5;
        assert_ok(sq_gpu_time_gemm(&gpu, &g, &mixed, NULL));
        g.low_share = 0;
        g.weight_bits = 4;
        assert_ok(sq_gpu_time_gemm(&gpu, &g, &w4a8, NULL));
        g.weight_bits = 0;
        g.dtype = SQ_GPU_INT4;
        assert_ok(sq_gpu_time_gemm(&gpu, &g, &t4, NULL));
        const double r = (t8.seconds - launch) / (t4.seconds - launch);
        const double half = (t8.seconds - launch) / (mixed.seconds - launch);
        assert_true(r > 1.9 && r < 2.1);
        assert_true(half > 1.25 && half < 1.4); // SPEC D.4: 4 / 3
        const double w = i == 0 ? t8.seconds : t4.seconds;
        assert_true(fabs(w4a8.seconds / w - 1) < 0.01);
        g.m = 1;
    }
    char text[4096];
    FILE *f = fmemopen(text, sizeof text, "w");
    gpu.kind[0] = (struct sq_gpu_kind){.dtype = SQ_GPU_INT4,
                                       .is_sparse = true,
                                       .macs = 4096,
                                       .sustained = .5,
                                       .launch_s = 1e-6,
                                       .dram = .8};
    sq_gpu_write(&gpu, "", f);
    fclose(f);
    struct sq_error err;
    assert_int_equal(sq_gpu_parse(text, strlen(text), "sparse", &gpu, &err), SQ_ERR_ARG);
    assert_non_null(strstr(err.text, "kinds has 2:4 INT4"));
}

// Every part by hand: 100 SMs of 1000 MACs at 1 GHz, half of which is kept; 1 TB/s, of which 0.8.
SQ_TEST(test_parts)
{
    static const char text[] =
        "{name: g, device: G, calibration: '', sms: 100, clock: 1 GHz, watts: 300, dram: {peak: 1 "
        "TB/s}, kinds: [{dtype: INT8, sparsity: dense, macs: 1000, sustained: 0.5, launch: 3 us, "
        "dram: 0.8, tail: 500}]}\n";
    struct sq_gpu gpu;
    struct sq_gpu_time t;
    assert_ok(sq_gpu_parse(text, sizeof text - 1, "g", &gpu, NULL));
    struct sq_gpu_gemm g = {.m = 500, .n = 2000, .k = 4000, .dtype = SQ_GPU_INT8, .out_nbytes = 2};
    assert_ok(sq_gpu_time_gemm(&gpu, &g, &t, NULL));
    // 10000 outputs an SM and 500 more, 4000 products each, 500 a nanosecond.
    assert_true(fabs(t.compute_s - 84e-6) < 1e-12 && fabs(t.tail_s - 4e-6) < 1e-12);
    // 2 MB of activations, 8 MB of weights, 2 MB of outputs at 0.8 MB a microsecond.
    assert_true(fabs(t.dram_s - 15e-6) < 1e-12 && t.launch_s == 3e-6);
    gpu.knee = 2; // a right triangle
    assert_ok(sq_gpu_time_gemm(&gpu, &g, &t, NULL));
    assert_true(fabs(t.seconds - 3e-6 - hypot(84e-6, 15e-6)) < 1e-12);
    g.is_alone = true; // nothing hides the start of a call
    gpu.alone = 2;
    assert_ok(sq_gpu_time_gemm(&gpu, &g, &t, NULL));
    assert_true(fabs(t.seconds - 6e-6 - hypot(84e-6, 15e-6)) < 1e-12);
    char reason[64];
    sq_gpu_reason(&t, reason);
    assert_string_equal(reason, "sustained rate");
    g.m = 1;
    assert_ok(sq_gpu_time_gemm(&gpu, &g, &t, NULL));
    sq_gpu_reason(&t, reason);
    assert_string_equal(reason, "launch cost is 36 %"); // 6 of 6 + hypot(4.16, 10.01)
}

// INT4 and W4A8 are kinds of their own: a record of one is never found for the other.
SQ_TEST(test_int4_records)
{
    struct sq_gpu_records g;
#define LIBRARY(a, w)                                                                              \
    "{\"schema_version\":1,\"source\":\"measured\",\"device\":{\"name\":\"A100\"},\"kernel\":"     \
    "{\"impl\":\"cublaslt\"},\"problem\":{\"M\":7,\"N\":64,\"K\":32,\"format\":\"dense\","         \
    "\"dtype_a\":\"" a "\",\"dtype_w\":\"" w                                                       \
    "\",\"dtype_out\":\"s32\"},\"timing\":{\"median_us\":2}}\n"
    assert_ok(parse(LIBRARY("s4", "s4") LIBRARY("s8", "s4") LIBRARY("s8", "s8"), &g, NULL));
    assert_int_equal(g.n, 3);
    assert_true(g.r[0].gemm.dtype == SQ_GPU_INT4 && !sq_gpu_is_w4a8(&g.r[0].gemm));
    assert_true(g.r[1].gemm.dtype == SQ_GPU_INT8 && sq_gpu_is_w4a8(&g.r[1].gemm));
    for (unsigned i = 0; i < 3; i++)
        assert_ptr_equal(sq_gpu_find_record(&g, &g.r[i].gemm), &g.r[i]);
    sq_gpu_records_free(&g);
}

// The fastest of repeats counts, the first of equal ones; what is left aside has reason and line.
SQ_TEST(test_left)
{
    struct sq_gpu_records g;
    const char *text = "gpu,sparsity,dtype_in,dtype_out,M,N,K,lat_us,p10_us,p90_us,kernel\n"
                       "A100,2:4,BF16,BF16,64,128,256,5,4,6,slow\n"
                       "A100,2:4,BF16,BF16,64,128,256,3,2,4,first\n"
                       "A100,2:4,BF16,BF16,64,128,256,3,,,second\n"
                       "A100,dense,BF16,BF16,64,128,256,7\n"
                       "A100,dense,BF16,BF16,65,128,256,NaN\n"
                       "A100,dense,MXFP6,BF16,64,128,256,7\n"
                       "A100,dense,MXFP6,BF16,64,128,257,7\n";
    assert_ok(parse(text, &g, NULL));
    assert_int_equal(g.n, 4);
    assert_true(g.r[0].is_repeat && !g.r[1].is_repeat && g.r[2].is_repeat && !g.r[3].is_repeat);
    assert_string_equal(g.r[1].name, "first");
    assert_true(g.r[1].line == 3 && fabs(g.r[1].low_s - 2e-6) < 1e-12 &&
                fabs(g.r[1].high_s - 4e-6) < 1e-12 && g.r[2].high_s == 0 && g.r[3].high_s == 0);
    assert_int_equal(g.left.n, 3);
    assert_string_equal(g.left.item[0].reason, "no time (lat_us = NaN)");
    assert_int_equal(g.left.item[0].line, 6);
    assert_string_equal(g.left.item[1].reason, "MXFP6 dense to BF16: no kind of the model");
    assert_true(g.left.item[1].n == 2 && g.left.item[1].line == 7 && g.left.item[2].n == 2);
    sq_gpu_records_free(&g);
}
