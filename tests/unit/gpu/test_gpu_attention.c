// SPDX-License-Identifier: Apache-2.0
// Attention kernels of GPUs (sim/gpu/sq_gpu_attention.h): terms of the law by hand; a fit of times that a law made
// finds that law's times again, on the points that it has not seen; rows of files.
#include <math.h>
#include <unistd.h>

#include "sim/gpu/sq_gpu_attention.h"
#include "tests/unit/fixture.h"

static const struct sq_gpu gpu = {.name = "g",
                                  .device = "H200",
                                  .sms = 100,
                                  .clock_hz = 1e9,
                                  .dram_peak = 4e12,
                                  .n_kinds = 1,
                                  .kind = {{.dtype = SQ_GPU_BF16, .macs = 1000}}};

#define CHECK_NEAR(got, want) assert_true(fabs((got) / (want)-1) < 1e-9)

SQ_TEST(terms)
{
    struct sq_gpu_attention_law law = {1e-5, 1, 1, 1, 0};
    // 8 heads of keys, 4 queries each, counted as 16: 2 x 128 products a key and query.
    struct sq_gpu_attention a = {true, 2, 1000, 32, 8, 128, false, false};
    const double products = 256. * 1000 * 2 * 8 * 16 / 1e14;
    const double stored = 2. * 128 * (2 * 8 * 1000 * 2 + 2 * 2 * 32) / 4e12;
    CHECK_NEAR(sq_gpu_attention_time(&gpu, &law, &a), 1e-5 + products + stored);
    a.is_cache_fp8 = true;
    CHECK_NEAR(sq_gpu_attention_time(&gpu, &law, &a),
               1e-5 + products + 2. * 128 * (2 * 8 * 1000 + 2 * 2 * 32) / 4e12);
    law.head_s = 1e-8;
    CHECK_NEAR(sq_gpu_attention_time(&gpu, &law, &a),
               1e-5 + products + 2. * 128 * (2 * 8 * 1000 + 2 * 2 * 32) / 4e12 + 16e-8);
    // 3 tiles of 128 queries: 1 + 2 + 3 tiles of keys for each head; one SM has at least 3.
    a = (struct sq_gpu_attention){false, 1, 300, 1, 1, 128, false, false};
    law = (struct sq_gpu_attention_law){0, INFINITY, 1, 1, 0};
    CHECK_NEAR(sq_gpu_attention_time(&gpu, &law, &a), 256. * 128 * 128 * 3 / 1e12);
    a.heads = a.kv_heads = 200;
    CHECK_NEAR(sq_gpu_attention_time(&gpu, &law, &a), 256. * 128 * 128 * 6 * 200 / 1e14);
    a.is_fp8 = true;
    assert_true(isnan(sq_gpu_attention_time(&gpu, &law, &a)));
}

#define HEAD                                                                                       \
    "version,device,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,attn_"     \
    "dtype,kv_cache_dtype,step,latency\n"

static enum sq_status read_rows(const char *rows, struct sq_gpu_attention_records *g,
                                struct sq_error *err)
{
    char path[] = "/tmp/sq-attention-XXXXXX";
    const int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    fputs(HEAD, f);
    fputs(rows, f);
    fclose(f);
    const enum sq_status status = sq_gpu_attention_read(path, "H200", g, err);
    unlink(path);
    return status;
}

SQ_TEST(a_law_is_found_again)
{
    static char rows[1 << 18];
    const struct sq_gpu_attention_law law = {9e-6, .7, .5, 1.8, 8e-9};
    struct sq_gpu_attention_law found;
    struct sq_gpu_attention_records g;
    size_t at = 0, fitted = 0;
    for (uint64_t batch = 1; batch <= 256; batch *= 2)
        for (uint64_t keys = 2; keys <= 65536; keys *= 2)
            for (uint64_t heads = 8; heads <= 64; heads *= 2) {
                const struct sq_gpu_attention a = {true, batch, keys, heads, 8, 128, false, false};
                at += (size_t)snprintf(rows + at, sizeof rows - at,
                                       "1,NVIDIA H200,x,%u,1,%u,8,128,bfloat16,bfloat16,%u,%.9g\n",
                                       (unsigned)batch, (unsigned)heads, (unsigned)keys - 1,
                                       1e3 * sq_gpu_attention_time(&gpu, &law, &a));
            }
    assert_ok(read_rows(rows, &g, NULL));
    assert_int_equal(g.n, 9 * 16 * 4);
    assert_ok(sq_gpu_attention_fit(&gpu, &g, &g.r[0].shape, &found, NULL));
    for (size_t i = 0; i < g.n; i++) {
        fitted += g.r[i].is_calibration;
        const double t = sq_gpu_attention_time(&gpu, &found, &g.r[i].shape);
        assert_true(fabs(t / g.r[i].seconds - 1) < .1);
    }
    assert_true(fitted > g.n / 20 && fitted < g.n / 5);
    sq_gpu_attention_free(&g);
}

SQ_TEST(rows)
{
    static const struct {
        const char *row, *says;
    } bad[] = {{"", "no measured row of device H200 (0 of other devices)"},
               {"1,A100,x,1,1,8,8,128,bfloat16,bfloat16,5,1\n", "(1 of other devices)"},
               {"1,H200,x,0,1,8,8,128,bfloat16,bfloat16,5,1\n", "line 2: batch_size = '0'"},
               {"1,H200,x,1,1,8,9,128,bfloat16,bfloat16,5,1\n", "num_key_value_heads = '9'"},
               {"1,H200,x,1,1,8,8,128,int8,bfloat16,5,1\n", "attn_dtype = 'int8', need bfloat16"},
               {"1,H200,x,1,2,8,8,128,fp8,fp8,5,1\n", "isl = '2', need 1 where step"},
               {"1,H200,x,1,1,8,8,128,fp8,fp8,5,0\n", "latency = '0'"},
               {"1,H200,x,1,1,8,8,128,fp8,fp8,5\n", "no cell of column latency"}};
    struct sq_gpu_attention_records g;
    struct sq_error err;
    for (size_t i = 0; i < LEN(bad); i++) {
        check_refused(read_rows(bad[i].row, &g, &err), SQ_ERR_DAMAGED, &err, bad[i].says);
    }
    static const unsigned good[][2] = {{128, 0}, {1, 0}, {1, 1}, {1, 2}, {1, 4095}}; // isl, step
    for (size_t i = 0; i < LEN(good); i++) {
        char row[64];
        snprintf(row, sizeof row, "1,H200,x,4,%u,8,0,64,float16,fp8,%u,.5\n", good[i][0],
                 good[i][1]);
        assert_ok(read_rows(row, &g, &err));
        const struct sq_gpu_attention *a = &g.r[0].shape;
        assert_true(a->is_decode == (good[i][1] > 0) && !a->is_fp8 && a->is_cache_fp8);
        assert_true(a->batch == 4 && a->heads == 8 && a->kv_heads == 8 && a->head_dim == 64);
        CHECK_EQ(a->keys, good[i][0] + good[i][1], "%s", row);
        sq_gpu_attention_free(&g);
    }
}
