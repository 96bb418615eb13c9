// SPDX-License-Identifier: Apache-2.0
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
    static const char *const names[SQ_GPU_N_SOURCES] = {"measured", "fitted", "published",
                                                        "expected"};
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

// Tiles (tokens x output channels). cuBLASLt offers all of them; the first N_SPARSE_TILES are those
// of the 2:4 kernels.
static const struct {
    unsigned m, n;
} tiles[] = {{256, 128}, {128, 256}, {128, 128}, {256, 64},  {64, 256},  {64, 128}, {128, 64},
             {64, 64},   {32, 128},  {128, 32},  {192, 128}, {128, 192}, {96, 128}, {128, 96},
             {160, 128}, {96, 192},  {64, 192},  {192, 64},  {64, 96}};
enum { N_TILES = sizeof tiles / sizeof tiles[0], N_SPARSE_TILES = 10 };
enum { MIN_SPLIT_K = 256 };
static const double full_area = 256 * 128;

// The one or two parts of K, one after the other in every tile.
struct part {
    const struct sq_gpu_kind *kind;
    double share, act, weight; // of K; bytes of an activation, of a weight
};
struct parts {
    unsigned n;
    struct part part[2];
};

// Bytes of a row of K activations, and of K weights: those of 2:4 are half the values, and metadata
// of 4 bits per 4 elements (SPEC E.5), or per 8 where an element has 4 bits: pairs are kept.
static double row_nbytes(const struct parts *parts, double k)
{
    double size = 0;
    for (unsigned i = 0; i < parts->n; i++)
        size += parts->part[i].share * parts->part[i].act;
    return k * size;
}

static double weight_row_nbytes(const struct parts *parts, const struct sq_gpu_gemm *g, double k)
{
    double size = 0;
    if (g->weight_bits > 0)
        return k * g->weight_bits / 8;
    for (unsigned i = 0; i < parts->n; i++)
        size += parts->part[i].share * parts->part[i].weight;
    if (g->is_sparse)
        size = size / 2 + (size < 1 ? 0.0625 : 0.125);
    return k * size;
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

static double operand_nbytes(const struct parts *parts, const struct sq_gpu_gemm *g)
{
    const double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    return n * weight_row_nbytes(parts, g, k) + m * row_nbytes(parts, k) + m * n * g->out_nbytes;
}

double sq_gpu_gemm_nbytes(const struct sq_gpu_gemm *g)
{
    const double low = g->low_share;
    const struct parts parts = {
        2,
        {{NULL, 1 - low, dtypes[g->dtype].act, dtypes[g->dtype].weight},
         {NULL, low, dtypes[g->low_dtype].act, dtypes[g->low_dtype].weight}}};
    return operand_nbytes(&parts, g);
}

static double dram_seconds(const struct sq_gpu *gpu, const struct parts *parts,
                           const struct sq_gpu_gemm *g)
{
    const double size = parts->part[0].act, m = (double)g->m, n = (double)g->n;
    const double weights = n * weight_row_nbytes(parts, g, (double)g->k);
    const double all = operand_nbytes(parts, g);
    const double others = g->copies > 1 ? (g->copies - 1) * weights : 0;
    double nbytes = all * (g->is_cold ? 1 : miss_rate(gpu, all + others));
    if (g->is_sparse && gpu->rereads_24) {
        const double panels = ceil(m / (256 / size));              // 256 bytes of tokens each
        const double together = fmax(1, gpu->sms / ceil(n / 128)); // panels in work at a time
        nbytes += weights * miss_rate(gpu, weights) * fmax(0, panels / together - 1);
    }
    return nbytes / gpu->dram_bytes_per_s;
}

// Seconds of `rounds` tiles on one SM, two at a time; `work` seconds each at the full rate, of
// which no more than `most` is reached.
static double sm_seconds(double rounds, double work, double alone, double most)
{
    const double pairs = floor(rounds / 2), rest = rounds - 2 * pairs;
    return pairs * 2 * work / fmin(most, 2 * alone) + rest * work / fmin(most, alone);
}

// Seconds of `rounds` tiles of tm x tn outputs over k elements on one SM.
static double compute_seconds(const struct sq_gpu *gpu, const struct parts *parts, double rounds,
                              double tm, double tn, double k)
{
    const double area = tm * tn / full_area;
    double seconds = 0, round = 0;
    for (unsigned i = 0; i < parts->n; i++) {
        const struct sq_gpu_kind *kind = parts->part[i].kind;
        const double macs_per_s =
            kind->macs * gpu->clock_hz * kind->sustained * kind->boost * pow(area, kind->area);
        const double alone = kind->alone * pow(area, gpu->lone);
        const double most = area < 1 || rounds < 2 ? kind->few : 1;
        round = fmax(round, kind->round);
        seconds += sm_seconds(rounds, tm * tn * k * parts->part[i].share / macs_per_s, alone, most);
    }
    return seconds + ceil(rounds / 2) * gpu->round_s * round;
}

// Seconds of all work at the sustained rates, boosted as far as the call is short.
static double power_seconds(const struct sq_gpu *gpu, const struct parts *parts,
                            const struct sq_gpu_gemm *g)
{
    const double macs = (double)g->m * (double)g->n * (double)g->k;
    double seconds = 0;
    for (unsigned i = 0; i < parts->n; i++) {
        const struct sq_gpu_kind *kind = parts->part[i].kind;
        const double rate = kind->macs * gpu->clock_hz * kind->sustained * gpu->sms;
        const double full = macs * parts->part[i].share / rate, x = macs / rate / gpu->boost_s;
        seconds += full / (1 + (kind->boost - 1) / (1 + x * x));
    }
    return seconds;
}

static void keep_best(const struct sq_gpu *gpu, const struct sq_gpu_time *t, double more,
                      struct sq_gpu_time *best)
{
    const double seconds = gpu->launch_s + fmax(fmax(t->compute_s, t->l2_s), t->dram_s) + more;
    if (best->seconds > 0 && seconds >= best->seconds)
        return;
    *best = *t;
    best->seconds = seconds;
}

static void try_kernel(const struct sq_gpu *gpu, const struct parts *parts,
                       const struct sq_gpu_gemm *g, unsigned tile, unsigned split,
                       const struct sq_gpu_time *floors, struct sq_gpu_time *best)
{
    const double tm = tiles[tile].m, tn = tiles[tile].n;
    const double m = (double)g->m, n = (double)g->n, k = (double)g->k / split;
    const double n_tiles = ceil(m / tm) * ceil(n / tn) * split;
    const double rounds = ceil(n_tiles / gpu->sms);
    struct sq_gpu_time t = {.tile_m = tiles[tile].m, .tile_n = tiles[tile].n, .split = split};

    t.compute_s = fmax(floors->compute_s, compute_seconds(gpu, parts, rounds, tm, tn, k));
    const double partial = split > 1 ? 8.0 * split * m * n : m * n * g->out_nbytes;
    const double tile_nbytes = tm * row_nbytes(parts, k) + tn * weight_row_nbytes(parts, g, k);
    t.l2_s = (n_tiles * tile_nbytes + partial) / gpu->l2_bytes_per_s;
    t.dram_s = floors->dram_s;
    t.rounds = (uint64_t)rounds;
    t.fill = n_tiles / (gpu->sms * rounds);
    keep_best(gpu, &t, split > 1 ? gpu->split_s : 0, best);
}

const struct sq_gpu_kind *sq_gpu_find_kind(const struct sq_gpu *gpu, enum sq_gpu_dtype dtype,
                                           bool is_sparse)
{
    for (unsigned i = 0; i < gpu->n_kinds; i++)
        if (gpu->kind[i].dtype == dtype && gpu->kind[i].is_sparse == is_sparse)
            return &gpu->kind[i];
    return NULL;
}

static enum sq_status find_part(const struct sq_gpu *gpu, enum sq_gpu_dtype dtype, bool is_sparse,
                                double share, struct parts *parts, struct sq_error *err)
{
    const struct sq_gpu_kind *kind = sq_gpu_find_kind(gpu, dtype, is_sparse);
    if (share <= 0)
        return SQ_OK;
    if (!kind)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "machine %s has no %s %s", gpu->name,
                       is_sparse ? "2:4" : "dense", sq_gpu_dtype_name(dtype));
    parts->part[parts->n++] = (struct part){kind, share, dtypes[dtype].act, dtypes[dtype].weight};
    return SQ_OK;
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

// Of the kernel that reads activations of 16 bits and writes them as they are multiplied.
static double quantize_seconds(const struct sq_gpu *gpu, const struct parts *parts,
                               const struct sq_gpu_gemm *g)
{
    const double row = row_nbytes(parts, (double)g->k), wide = 2 * (double)g->k;
    if (g->timed == SQ_GPU_TIMED_KERNEL || row >= wide)
        return 0;
    return gpu->launch_s + (double)g->m * (wide + row) / gpu->dram_bytes_per_s;
}

enum sq_status sq_gpu_time_gemm(const struct sq_gpu *gpu, const struct sq_gpu_gemm *g,
                                struct sq_gpu_time *time, struct sq_error *err)
{
    struct parts parts = {.n = 0};
    SQ_TRY(find_part(gpu, g->dtype, g->is_sparse, 1 - g->low_share, &parts, err));
    SQ_TRY(find_part(gpu, g->low_dtype, g->is_sparse, g->low_share, &parts, err));
    SQ_TRY(check_gemm(g, err));
    const unsigned n_tiles = g->is_sparse ? N_SPARSE_TILES : N_TILES;
    const struct sq_gpu_time floors = {.compute_s = power_seconds(gpu, &parts, g),
                                       .dram_s = dram_seconds(gpu, &parts, g)};
    unsigned splits = parts.part[0].kind->splits;
    if (parts.n > 1 && parts.part[1].kind->splits < splits)
        splits = parts.part[1].kind->splits;
    memset(time, 0, sizeof *time);
    for (unsigned t = 0; t < n_tiles; t++)
        for (unsigned split = 1; split <= splits; split *= 2)
            if (split == 1 || g->k / split >= MIN_SPLIT_K)
                try_kernel(gpu, &parts, g, t, split, &floors, time);
    if (g->m <= SQ_GPU_GEMV_TOKENS) {
        const struct sq_gpu_time t = {.l2_s = operand_nbytes(&parts, g) / gpu->l2_bytes_per_s,
                                      .dram_s = floors.dram_s,
                                      .split = 1};
        keep_best(gpu, &t, 0, time);
    }
    time->quantize_s = quantize_seconds(gpu, &parts, g);
    time->seconds += time->quantize_s;
    return SQ_OK;
}
