// SPDX-License-Identifier: Apache-2.0
// Times of frameworks' layers: the columns of aiconfigurator, what each time holds, the kernel that
// quantizes, calls timed alone, and the kinds that only such files have.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/gpu/sq_gpu_records.h"

#define HEAD "version,device,kernel_source,gemm_dtype,m,n,k,latency\n"
#define PLUGIN "trt_flow_/x_L1/PLUGIN_V2_X_0"

static enum sq_status read(const char *text, struct sq_gpu_records *g, struct sq_error *err)
{
    return sq_gpu_records_parse(text, strlen(text), "test", "H200", g, err);
}

// What a time holds is a matter of the collector that made it.
static void test_layers(void **state)
{
    (void)state;
    static const struct {
        const char *source, *type;
        enum sq_gpu_dtype dtype;
        enum sq_gpu_timed timed;
        bool is_alone;
    } row[] = {
        {"torch_flow", "bfloat16", SQ_GPU_BF16, SQ_GPU_TIMED_KERNEL, false},
        {"torch_flow", "fp8", SQ_GPU_FP8, SQ_GPU_TIMED_QUANTIZING, false},
        {"torch_flow", "fp8_block", SQ_GPU_FP8B, SQ_GPU_TIMED_QUANTIZING, false},
        {"deepgemm", "fp8_block", SQ_GPU_FP8B, SQ_GPU_TIMED_QUANTIZING, false},
        {"torch_flow", "nvfp4", SQ_GPU_NVFP4, SQ_GPU_TIMED_QUANTIZING, false},
        {PLUGIN, "int8_wo", SQ_GPU_W8A16, SQ_GPU_TIMED_KERNEL, true},
        {PLUGIN, "int4_wo", SQ_GPU_W4A16, SQ_GPU_TIMED_KERNEL, true},
        {PLUGIN, "sq", SQ_GPU_INT8, SQ_GPU_TIMED_KERNEL, true},
        {"vllm_default", "bfloat16", SQ_GPU_BF16, SQ_GPU_TIMED_KERNEL, false},
        {"CutlassFP8ScaledMMLinearKernel", "fp8", SQ_GPU_FP8, SQ_GPU_TIMED_QUANTIZING, false},
        {"vllm_default", "fp8_block", SQ_GPU_FP8B, SQ_GPU_TIMED_CALL, false},
        {"FlashInferCuteDslNvFp4LinearKernel", "nvfp4", SQ_GPU_NVFP4, SQ_GPU_TIMED_QUANTIZING,
         false},
    };
    enum { N = sizeof row / sizeof row[0] };
    char text[4096];
    size_t at = (size_t)sprintf(text, HEAD);
    struct sq_gpu_records g;
    for (unsigned i = 0; i < N; i++)
        at += (size_t)sprintf(text + at, "1,NVIDIA H200,%s,%s,%u,2048,4096,0.0125\n", row[i].source,
                              row[i].type, i + 1);
    sprintf(text + at, "1,NVIDIA A100-SXM4-80GB,torch_flow,bfloat16,1,2,3,1\n"
                       "1,NVIDIA H200,torch_flow,mxfp6,1,2,3,1\n"
                       "1,NVIDIA H200,torch_flow,sq,1,2,3,1\n"
                       "1,NVIDIA H200,torch_flow,fp8,1,2,3,nan\n");
    assert_int_equal(read(text, &g, NULL), SQ_OK);
    assert_int_equal(g.n, N);
    for (unsigned i = 0; i < N; i++) {
        const struct sq_gpu_gemm *x = &g.r[i].gemm;
        assert_true(x->m == i + 1 && x->n == 2048 && x->k == 4096 && x->out_nbytes == 2);
        assert_true(fabs(g.r[i].seconds - 12.5e-6) < 1e-12 && g.r[i].line == i + 2);
        assert_int_equal(x->dtype, row[i].dtype);
        assert_int_equal(x->timed, row[i].timed);
        assert_true(x->is_alone == row[i].is_alone && x->is_cold == x->is_alone);
        assert_true(!x->is_sparse);
    }
    assert_true(g.other_device == 1 && g.other_kind == 2 && g.no_time == 1);
    assert_string_equal(g.left.item[0].reason, "mxfp6 of torch_flow: no kind of the model");
    sq_gpu_records_free(&g);
}

static void test_lies(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"device,gemm_dtype,m,n,k,latency\n", "no column kernel_source"},
        {HEAD "1,H200,torch_flow,fp8,0,1,1,1\n", "line 2: m = 0"},
        {HEAD "1,H200,torch_flow,fp8,1,1,1.5,1\n", "k = 1.5, need a whole number"},
        {HEAD "1,H200,torch_flow,fp8,1,1,1,-1\n", "latency = -1"},
        {HEAD "1,H200,torch_flow,fp8,1,1,1\n", "7 values, no latency"},
        {HEAD "1,H200,torch_flow,fp9,1,1,1,1\n", "1 of other kinds"},
        {HEAD "1,B200,torch_flow,fp8,1,1,1,1\n", "1 of other devices"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sq_gpu_records g;
        struct sq_error err = {.code = SQ_OK};
        assert_int_not_equal(read(cases[i].text, &g, &err), SQ_OK);
        if (!strstr(err.text, cases[i].want))
            fail_msg("'%s' gave '%s'", cases[i].text, err.text);
    }
}

static const char machine[] =
    "{name: g, device: G, calibration: '', sms: 132, clock: 1.83 GHz, watts: 700, dram: {peak: 5 "
    "TB/s, bandwidth: 4 TB/s, source: measured}, kinds: ["
    "{dtype: BF16, sparsity: dense, macs: 2048, sustained: 0.8, launch: 2 us, source: measured}, "
    "{dtype: FP8, sparsity: dense, macs: 4096, sustained: 0.8, launch: 2 us, source: measured}, "
    "{dtype: NVFP4, sparsity: dense, macs: 8192, sustained: 0.8, launch: 2 us, source: measured}, "
    "{dtype: W4A16, sparsity: dense, macs: 2048, sustained: 0.8, launch: 2 us, source: "
    "measured}]}\n";

static struct sq_gpu_time time_of(const struct sq_gpu *gpu, const struct sq_gpu_gemm *g)
{
    struct sq_gpu_time t;
    assert_int_equal(sq_gpu_time_gemm(gpu, g, &t, NULL), SQ_OK);
    return t;
}

// Activations of 16 bits are read, those of 8 bits or of 4 and their scales written, after a launch,
// `quantize` times as long as these bytes take.
static void test_quantizing(void **state)
{
    (void)state;
    struct sq_gpu gpu;
    assert_int_equal(sq_gpu_parse(machine, sizeof machine - 1, "g", &gpu, NULL), SQ_OK);
    static const struct {
        enum sq_gpu_dtype dtype;
        double nbytes; // of an activation, read and written; 0: none is quantized
    } kind[] = {{SQ_GPU_BF16, 0}, {SQ_GPU_W4A16, 0}, {SQ_GPU_FP8, 3}, {SQ_GPU_NVFP4, 2.5625}};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned timed = SQ_GPU_TIMED_QUANTIZING; timed < SQ_GPU_N_TIMED; timed++) {
            struct sq_gpu_gemm g = {
                .m = 1024, .n = 4096, .k = 8192, .dtype = kind[i].dtype, .out_nbytes = 2};
            const double alone = time_of(&gpu, &g).seconds;
            g.timed = (enum sq_gpu_timed)timed;
            const double want =
                kind[i].nbytes > 0 ? 2e-6 + gpu.quantize * 1024 * 8192. * kind[i].nbytes / 4e12 : 0;
            assert_true(fabs(time_of(&gpu, &g).quantize_s - want) < 1e-12);
            assert_true(fabs(time_of(&gpu, &g).seconds - alone - want) < 1e-12);
        }
}

// One token waits for the stored weights, whether they are in the L2 or not; a call by itself starts
// later by what a row of calls hides.
static void test_calls(void **state)
{
    (void)state;
    struct sq_gpu gpu;
    assert_int_equal(sq_gpu_parse(machine, sizeof machine - 1, "g", &gpu, NULL), SQ_OK);
    struct sq_gpu_gemm g = {.m = 1, .n = 4096, .k = 4096, .dtype = SQ_GPU_W4A16, .out_nbytes = 2};
    const double weights = 4096. * 4096 / 2, others = 2. * (4096 + 4096);
    const double warm = time_of(&gpu, &g).seconds;
    assert_true(fabs(time_of(&gpu, &g).dram_s - (weights + others) / 4e12) < 1e-12);
    g.is_cold = true;
    assert_true(time_of(&gpu, &g).seconds == warm);
    g.is_alone = true;
    assert_true(fabs(time_of(&gpu, &g).seconds - warm - 2e-6 * (gpu.alone - 1)) < 1e-12);
}

// Weights that are widened, and scales of blocks, have no 2:4.
static void test_dense_only(void **state)
{
    (void)state;
    static const char *const names[] = {"W4A16", "W8A16", "FP8B"};
    for (unsigned i = 0; i < 3; i++) {
        struct sq_gpu gpu;
        struct sq_error err;
        char text[sizeof machine + 256], want[40];
        const char *kinds = strstr(machine, "kinds: [") + 8;
        snprintf(text, sizeof text,
                 "%.*s{dtype: %s, sparsity: '2:4', macs: 1, source: measured}, %s",
                 (int)(kinds - machine), machine, names[i], kinds);
        snprintf(want, sizeof want, "kinds has 2:4 %s", names[i]);
        assert_int_equal(sq_gpu_parse(text, strlen(text), "g", &gpu, &err), SQ_ERR_ARG);
        assert_non_null(strstr(err.text, want));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),     cmocka_unit_test(test_lies),
        cmocka_unit_test(test_quantizing), cmocka_unit_test(test_calls),
        cmocka_unit_test(test_dense_only),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
