// SPDX-License-Identifier: Apache-2.0
// Computes the time of a GEMM from its bytes, its tiles and the constants of its kind (sq_gpu.h).
#include "sim/gpu/sq_gpu.h"

#include <math.h>
#include <string.h>

// Bytes of an activation and of a weight, scales included.
static const struct {
    const char *name;
    double act, weight;
} dtypes[SQ_GPU_N_DTYPES] = {
    [SQ_GPU_INT8] = {"INT8", 1, 1},
    [SQ_GPU_BF16] = {"BF16", 2, 2},
    [SQ_GPU_FP8] = {"FP8", 1, 1},
    [SQ_GPU_INT4] = {"INT4", 0.5, 0.5},
    [SQ_GPU_FP8B] = {"FP8B", 1 + 4. / 128, 1 + 4. / 128 / 128},
    [SQ_GPU_NVFP4] = {"NVFP4", 0.5 + 1. / 16, 0.5 + 1. / 16},
    [SQ_GPU_W8A16] = {"W8A16", 2, 1},
    [SQ_GPU_W4A16] = {"W4A16", 2, 0.5},
};

const char *sq_gpu_dtype_name(enum sq_gpu_dtype dtype)
{
    return dtypes[dtype].name;
}

const char *sq_gpu_timed_name(enum sq_gpu_timed timed)
{
    static const char *const names[SQ_GPU_N_TIMED] = {"kernel", "quantizing", "call"};
    return names[timed];
}

const char *sq_gpu_source_name(enum sq_gpu_source source)
{
    static const char *const names[SQ_GPU_N_SOURCES] = {"expected", "published", "fitted",
                                                        "measured"};
    return names[source];
}

double sq_gpu_ops_per_s(const struct sq_gpu *gpu, const struct sq_gpu_kind *kind)
{
    return 2 * kind->macs * gpu->clock_hz * gpu->sms * kind->sustained;
}

bool sq_gpu_is_w4a8(const struct sq_gpu_gemm *g)
{
    return g->dtype == SQ_GPU_INT8 && !g->is_sparse && g->low_share == 0 && g->weight_bits > 0 &&
           g->weight_bits < 8;
}

bool sq_gpu_is_speedup(const struct sq_gpu_gemm *fast, const struct sq_gpu_gemm *slow)
{
    if (fast->m != slow->m || fast->n != slow->n || fast->k != slow->k || slow->is_sparse ||
        slow->low_share > 0)
        return false;
    if (fast->is_sparse)
        return fast->dtype == slow->dtype;
    return slow->dtype == SQ_GPU_BF16 && (fast->dtype != SQ_GPU_BF16 || fast->low_share > 0);
}

// ---- bytes ----------------------------------------------------------------------------------

// A figure of an activation or a weight, where parts of K have two data types.
static double mixed(double high, double low, double low_share)
{
    return (1 - low_share) * high + low_share * low;
}

static double row_nbytes(const struct sq_gpu_gemm *g)
{
    return (double)g->k * mixed(dtypes[g->dtype].act, dtypes[g->low_dtype].act, g->low_share);
}

// Weights of 2:4 are half the values, and metadata of 4 bits per 4 elements (SPEC E.5), or per 8
// where an element has 4 bits: pairs are kept.
static double weight_row_nbytes(const struct sq_gpu_gemm *g)
{
    double size = mixed(dtypes[g->dtype].weight, dtypes[g->low_dtype].weight, g->low_share);
    if (g->weight_bits > 0)
        size = g->weight_bits / 8;
    else if (g->is_sparse)
        size = size / 2 + (size < 1 ? 0.0625 : 0.125);
    return (double)g->k * size;
}

double sq_gpu_gemm_nbytes(const struct sq_gpu_gemm *g)
{
    const double m = (double)g->m, n = (double)g->n;
    return n * weight_row_nbytes(g) + m * row_nbytes(g) + m * n * g->out_nbytes;
}

// ---- time -----------------------------------------------------------------------------------

const struct sq_gpu_kind *sq_gpu_find_kind(const struct sq_gpu *gpu, enum sq_gpu_dtype dtype,
                                           bool is_sparse)
{
    for (unsigned i = 0; i < gpu->n_kinds; i++)
        if (gpu->kind[i].dtype == dtype && gpu->kind[i].is_sparse == is_sparse)
            return &gpu->kind[i];
    return NULL;
}

static enum sq_status check_gemm(const struct sq_gpu_gemm *g, struct sq_error *err)
{
    const uint64_t size[3] = {g->m, g->n, g->k};
    for (unsigned i = 0; i < 3; i++)
        if (size[i] < 1 || size[i] > 1 << 24)
            return SQ_FAIL(err, SQ_ERR_RANGE, "%c = %llu, need 1..16777216", "MNK"[i],
                           (unsigned long long)size[i]);
    if (!(g->low_share >= 0 && g->low_share <= (g->is_sparse ? 0 : 1)))
        return SQ_FAIL(err, SQ_ERR_RANGE, "low share = %g, need 0..1, 0 for 2:4", g->low_share);
    return SQ_OK;
}

// Adds the products of a share of K in one data type.
static enum sq_status add_part(const struct sq_gpu *gpu, const struct sq_gpu_gemm *g,
                               enum sq_gpu_dtype dtype, double share, struct sq_gpu_time *t,
                               double *dram, struct sq_error *err)
{
    const struct sq_gpu_kind *kind = sq_gpu_find_kind(gpu, dtype, g->is_sparse);
    if (share <= 0)
        return SQ_OK;
    if (!kind)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "machine %s has no %s %s", gpu->name,
                       g->is_sparse ? "2:4" : "dense", sq_gpu_dtype_name(dtype));
    const double per_output = share * (double)g->k / (kind->macs * gpu->clock_hz * kind->sustained);
    const double tail = g->is_gemv ? 0 : kind->tail;
    t->compute_s += per_output * ((double)g->m * (double)g->n / gpu->sms + tail);
    t->tail_s += per_output * tail;
    t->launch_s += share * kind->launch_s * (g->is_alone ? gpu->alone : 1);
    *dram += share * kind->dram;
    return SQ_OK;
}

// Seconds of the kernel that reads activations of 16 bits and writes them as they are multiplied.
static double quantize_seconds(const struct sq_gpu *gpu, const struct sq_gpu_gemm *g,
                               const struct sq_gpu_time *t)
{
    const double row = row_nbytes(g), wide = 2 * (double)g->k;
    if (g->timed == SQ_GPU_TIMED_KERNEL || row >= wide)
        return 0;
    return t->launch_s + gpu->quantize * (double)g->m * (wide + row) / gpu->dram_bytes_per_s;
}

static double joined(double a, double b, double knee)
{
    const double most = fmax(a, b);
    return most * pow(1 + pow(fmin(a, b) / most, knee), 1 / knee);
}

enum sq_status sq_gpu_time_gemm(const struct sq_gpu *gpu, const struct sq_gpu_gemm *g,
                                struct sq_gpu_time *time, struct sq_error *err)
{
    double dram = 0;
    memset(time, 0, sizeof *time);
    SQ_TRY(check_gemm(g, err));
    SQ_TRY(add_part(gpu, g, g->dtype, 1 - g->low_share, time, &dram, err));
    SQ_TRY(add_part(gpu, g, g->low_dtype, g->low_share, time, &dram, err));
    time->dram_s = sq_gpu_gemm_nbytes(g) / (dram * gpu->dram_peak);
    time->quantize_s = quantize_seconds(gpu, g, time);
    time->seconds =
        time->launch_s + joined(time->compute_s, time->dram_s, gpu->knee) + time->quantize_s;
    return SQ_OK;
}
