// SPDX-License-Identifier: Apache-2.0
#include "sq_gpu.h"

#include <math.h>
#include <string.h>

const char *sq_gpu_dtype_name(enum sq_gpu_dtype dtype)
{
    static const char *const names[SQ_GPU_N_DTYPES] = {"INT8", "BF16", "FP8"};
    return names[dtype];
}

bool sq_gpu_is_speedup(const struct sq_gpu_gemm *fast, const struct sq_gpu_gemm *slow)
{
    if (fast->m != slow->m || fast->n != slow->n || fast->k != slow->k || slow->is_sparse)
        return false;
    return fast->is_sparse ? fast->dtype == slow->dtype
                           : slow->dtype == SQ_GPU_BF16 && fast->dtype != SQ_GPU_BF16;
}

// Tiles (tokens x output channels). cuBLASLt offers all of them; the first N_SPARSE_TILES are those
// of the 2:4 kernels.
static const struct {
    unsigned m, n;
} tiles[] = {{256, 128}, {128, 256}, {128, 128}, {256, 64},  {64, 256},  {64, 128},  {128, 64},
             {64, 64},   {32, 128},  {128, 32},  {192, 128}, {128, 192}, {256, 192}, {96, 128},
             {128, 96},  {160, 128}, {96, 192},  {64, 192},  {192, 64},  {64, 96}};
enum { N_TILES = sizeof tiles / sizeof tiles[0], N_SPARSE_TILES = 10 };
enum { MAX_SPLIT = 16, MAX_SPARSE_SPLIT = 2, MIN_SPLIT_K = 256 };
static const double full_area = 256 * 128;

static double element_nbytes(enum sq_gpu_dtype dtype)
{
    return dtype == SQ_GPU_BF16 ? 2 : 1;
}

// Stored share of a 2:4 weight: half the values, and metadata of 4 bits per 4 elements (SPEC E.5).
static double stored_share(const struct sq_gpu_gemm *g)
{
    return g->is_sparse ? 0.5 + 0.125 / element_nbytes(g->dtype) : 1;
}

static double clamp01(double v)
{
    return v < 0 ? 0 : v > 1 ? 1 : v;
}

// Share of a repeatedly read working set that misses the L2.
static double miss_rate(const struct sq_gpu *gpu, double nbytes)
{
    return clamp01((nbytes / (gpu->l2_usable * gpu->l2_nbytes) - 1) / gpu->l2_soft);
}

static double dram_seconds(const struct sq_gpu *gpu, const struct sq_gpu_gemm *g)
{
    const double size = element_nbytes(g->dtype);
    const double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    const double weights = n * k * size * stored_share(g);
    const double all = weights + m * k * size + m * n * g->out_nbytes;
    double nbytes = all * miss_rate(gpu, all);
    if (g->is_sparse) {
        const double panels = ceil(m / (256 / size));              // 256 bytes of tokens each
        const double together = fmax(1, gpu->sms / ceil(n / 128)); // panels in work at a time
        nbytes += weights * miss_rate(gpu, weights) * fmax(0, panels / together - 1);
    }
    return nbytes / gpu->dram_bytes_per_s;
}

// Seconds of `rounds` tiles on one SM, two at a time; `work` seconds each at the full rate.
static double sm_seconds(double rounds, double work, double alone, double overhead)
{
    const double pairs = floor(rounds / 2), rest = rounds - 2 * pairs;
    const double pair_rate = clamp01(2 * alone), lone_rate = clamp01(alone);
    return pairs * (2 * work / pair_rate + overhead) + rest * (work / lone_rate + overhead);
}

static void try_kernel(const struct sq_gpu *gpu, const struct sq_gpu_kind *kind,
                       const struct sq_gpu_gemm *g, unsigned tile, unsigned split, double dram_s,
                       struct sq_gpu_time *best)
{
    const double size = element_nbytes(g->dtype), tm = tiles[tile].m, tn = tiles[tile].n;
    const double m = (double)g->m, n = (double)g->n, k = (double)g->k / split;
    const double area = tm * tn / full_area;
    const double macs_per_s = kind->macs * gpu->clock_hz * kind->sustained * pow(area, kind->area);
    const double n_tiles = ceil(m / tm) * ceil(n / tn) * split;
    const double rounds = ceil(n_tiles / gpu->sms);
    const double alone = clamp01(kind->alone * pow(area, gpu->lone));
    struct sq_gpu_time t = {.tile_m = tiles[tile].m, .tile_n = tiles[tile].n, .split = split};

    t.compute_s = sm_seconds(rounds, tm * tn * k / macs_per_s, alone, gpu->round_s * kind->round);
    const double partial = split > 1 ? 8.0 * split * m * n : m * n * g->out_nbytes;
    const double l2_nbytes = n_tiles * (tm + tn * stored_share(g)) * k * size + partial;
    t.l2_s = l2_nbytes / gpu->l2_bytes_per_s;
    t.dram_s = dram_s;
    t.rounds = (uint64_t)rounds;
    t.fill = n_tiles / (gpu->sms * rounds);
    t.seconds =
        gpu->launch_s + fmax(fmax(t.compute_s, t.l2_s), t.dram_s) + (split > 1 ? gpu->split_s : 0);
    if (best->seconds == 0 || t.seconds < best->seconds)
        *best = t;
}

const struct sq_gpu_kind *sq_gpu_find_kind(const struct sq_gpu *gpu, enum sq_gpu_dtype dtype,
                                           bool is_sparse)
{
    for (unsigned i = 0; i < gpu->n_kinds; i++)
        if (gpu->kind[i].dtype == dtype && gpu->kind[i].is_sparse == is_sparse)
            return &gpu->kind[i];
    return NULL;
}

enum sq_status sq_gpu_time_gemm(const struct sq_gpu *gpu, const struct sq_gpu_gemm *g,
                                struct sq_gpu_time *time, struct sq_error *err)
{
    const struct sq_gpu_kind *kind = sq_gpu_find_kind(gpu, g->dtype, g->is_sparse);
    const uint64_t size[3] = {g->m, g->n, g->k};
    if (!kind)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "machine %s has no %s %s", gpu->name,
                       g->is_sparse ? "2:4" : "dense", sq_gpu_dtype_name(g->dtype));
    for (unsigned i = 0; i < 3; i++)
        if (size[i] < 1 || size[i] > 1 << 24)
            return SQ_FAIL(err, SQ_ERR_RANGE, "%c = %llu, need 1..16777216", "MNK"[i],
                           (unsigned long long)size[i]);
    const unsigned n_tiles = g->is_sparse ? N_SPARSE_TILES : N_TILES;
    const unsigned max_split = g->is_sparse ? MAX_SPARSE_SPLIT : MAX_SPLIT;
    const double dram_s = dram_seconds(gpu, g);
    memset(time, 0, sizeof *time);
    for (unsigned t = 0; t < n_tiles; t++)
        for (unsigned split = 1; split <= max_split; split *= 2)
            if (split == 1 || g->k / split >= MIN_SPLIT_K)
                try_kernel(gpu, kind, g, t, split, dram_s, time);
    return SQ_OK;
}
