// SPDX-License-Identifier: Apache-2.0
// Times of attention kernels: the law, its fit, the rows of others (sq_gpu_attention.h).
#include "sim/gpu/sq_gpu_attention.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/gpu/sq_gpu_search.h"
#include "sim/io/sq_csv_read.h"
#include "sim/io/sq_digest.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_grow.h"

enum { TILE = 128, LEAST_QUERIES = 16, MAX_ROW = 4096, MAX_ROWS = 1000000 };

// ---- the law ----------------------------------------------------------------------------------

bool sq_gpu_attention_same_kind(const struct sq_gpu_attention *a, const struct sq_gpu_attention *b)
{
    return a->is_decode == b->is_decode && a->is_fp8 == b->is_fp8 &&
           a->is_cache_fp8 == b->is_cache_fp8;
}

// Multiply-accumulates, of the SM that has the most.
static double macs_of_sm(const struct sq_gpu *gpu, const struct sq_gpu_attention *a)
{
    const double sms = gpu->sms, dim = 2 * (double)a->head_dim, keys = (double)a->keys;
    if (a->is_decode) {
        const double share = (double)a->heads / (double)a->kv_heads;
        return dim * keys * (double)(a->batch * a->kv_heads) * fmax(share, LEAST_QUERIES) / sms;
    }
    const double tiles = ceil(keys / TILE), one = dim * TILE * TILE;
    const double all = (double)(a->batch * a->heads) * tiles * (tiles + 1) / 2;
    return one * fmax(all / sms, tiles);
}

static double nbytes(const struct sq_gpu_attention *a)
{
    const double rows = (double)(a->batch * a->head_dim);
    const double queries = a->is_decode ? 1 : (double)a->keys;
    return rows * (2 * (double)(a->kv_heads * a->keys) * (a->is_cache_fp8 ? 1 : 2) +
                   2 * 2 * (double)a->heads * queries);
}

double sq_gpu_attention_time(const struct sq_gpu *gpu, const struct sq_gpu_attention_law *law,
                             const struct sq_gpu_attention *a)
{
    const struct sq_gpu_kind *kind =
        sq_gpu_find_kind(gpu, a->is_fp8 ? SQ_GPU_FP8 : SQ_GPU_BF16, false);
    if (!kind)
        return NAN;
    const double compute = macs_of_sm(gpu, a) / (kind->macs * gpu->clock_hz * law->sustained);
    const double dram = nbytes(a) / (gpu->dram_peak * law->dram);
    const double longest = fmax(compute, dram);
    return law->launch_s + law->head_s * (double)(a->batch * a->kv_heads) +
           longest * pow(pow(compute / longest, law->knee) + pow(dram / longest, law->knee),
                         1 / law->knee);
}

// ---- the fit ----------------------------------------------------------------------------------

struct fit {
    const struct sq_gpu *gpu;
    const struct sq_gpu_attention_records *g;
    const struct sq_gpu_attention *kind;
};

static void put_law(const double x[], struct sq_gpu_attention_law *law)
{
    *law = (struct sq_gpu_attention_law){.launch_s = exp(x[0]),
                                         .dram = exp(x[1]),
                                         .sustained = exp(x[2]),
                                         .knee = 1 + exp(x[3]),
                                         .head_s = exp(x[4])};
}

static double cost(const struct sq_gpu_search *s, const double x[])
{
    const struct fit *f = s->of;
    struct sq_gpu_attention_law law;
    double sum = 0, n = 0;
    put_law(x, &law);
    for (size_t i = 0; i < f->g->n; i++) {
        const struct sq_gpu_attention_record *r = &f->g->r[i];
        if (!r->is_calibration || !sq_gpu_attention_same_kind(&r->shape, f->kind))
            continue;
        sum += sq_gpu_loss(log(sq_gpu_attention_time(f->gpu, &law, &r->shape) / r->seconds));
        n++;
    }
    return n > 0 ? sum / n + .001 * sq_gpu_search_distance(s, x) : NAN;
}

enum sq_status sq_gpu_attention_fit(const struct sq_gpu *gpu,
                                    const struct sq_gpu_attention_records *g,
                                    const struct sq_gpu_attention *kind,
                                    struct sq_gpu_attention_law *law, struct sq_error *err)
{
    // One search may end where no single constant helps: the best of several, from other starts.
    static const double knees[] = {-2.5, 0, 1.5}, head_ns[] = {.3, 5, 20}, drams[] = {.25, .8};
    const struct fit f = {gpu, g, kind};
    double best = INFINITY;
    for (unsigned i = 0; i < 18; i++) {
        const struct sq_gpu_search s = {.n = 5,
                                        .start = {log(8e-6), log(drams[i % 2]), log(.6),
                                                  knees[i / 2 % 3], log(1e-9 * head_ns[i / 6])},
                                        .cost = cost,
                                        .of = &f};
        double x[SQ_GPU_CONSTANTS_MAX];
        const double at = sq_gpu_search(&s, x);
        if (at < best) {
            best = at;
            put_law(x, law);
        }
    }
    return isfinite(best) ? SQ_OK
                          : SQ_FAIL(err, SQ_ERR_RANGE,
                                    "machine %.40s: no calibration row of attention with %s "
                                    "products and %s keys, or no rate of them",
                                    gpu->name, kind->is_fp8 ? "FP8" : "BF16",
                                    kind->is_cache_fp8 ? "FP8" : "BF16");
}

// ---- rows ---------------------------------------------------------------------------------------

enum column {
    DEVICE,
    BATCH,
    TOKENS,
    HEADS,
    KV_HEADS,
    HEAD_DIM,
    TYPE,
    CACHE,
    STEP,
    LATENCY,
    N_COLUMNS
};
static const char *const names[N_COLUMNS] = {
    "device",     "batch_size",     "isl",  "num_heads", "num_key_value_heads", "head_dim",
    "attn_dtype", "kv_cache_dtype", "step", "latency"};

struct reader {
    const char *what, *device;
    struct sq_csv_reader csv;
    unsigned at[N_COLUMNS];
    struct sq_gpu_attention_records *g;
    struct sq_error *err;
};

static enum sq_status refuse(struct reader *r, enum column c, const char *need)
{
    return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' line %u: %s = '%.32s', need %s",
                   sq_path_tail(r->what), r->csv.line, names[c], r->csv.cell[r->at[c]], need);
}

static enum sq_status read_head(struct reader *r)
{
    bool more;
    SQ_TRY(sq_csv_next(&r->csv, &more, r->err));
    for (unsigned c = 0; c < N_COLUMNS; c++)
        if (!more || !sq_csv_column(&r->csv, names[c], &r->at[c]))
            return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' has no column %s", sq_path_tail(r->what),
                           names[c]);
    return SQ_OK;
}

static enum sq_status read_uint(struct reader *r, enum column c, uint64_t min, uint64_t *v)
{
    const char *cell = r->csv.cell[r->at[c]];
    char *end;
    errno = 0;
    *v = strtoull(cell, &end, 10);
    if (*cell < '0' || *cell > '9' || *end || errno || *v < min || *v > 1 << 24)
        return refuse(r, c, min ? "1..16777216" : "0..16777216");
    return SQ_OK;
}

static enum sq_status read_type(struct reader *r, enum column c, bool *is_fp8)
{
    const char *cell = r->csv.cell[r->at[c]];
    *is_fp8 = strcasecmp(cell, "fp8") == 0;
    return *is_fp8 || strcasecmp(cell, "bfloat16") == 0 || strcasecmp(cell, "float16") == 0
               ? SQ_OK
               : refuse(r, c, "bfloat16, float16 or fp8");
}

static enum sq_status read_shape(struct reader *r, struct sq_gpu_attention *a)
{
    uint64_t tokens, step;
    SQ_TRY(read_uint(r, BATCH, 1, &a->batch));
    SQ_TRY(read_uint(r, TOKENS, 1, &tokens));
    SQ_TRY(read_uint(r, HEADS, 1, &a->heads));
    SQ_TRY(read_uint(r, KV_HEADS, 0, &a->kv_heads));
    SQ_TRY(read_uint(r, HEAD_DIM, 1, &a->head_dim));
    SQ_TRY(read_uint(r, STEP, 0, &step));
    SQ_TRY(read_type(r, TYPE, &a->is_fp8));
    SQ_TRY(read_type(r, CACHE, &a->is_cache_fp8));
    a->kv_heads = a->kv_heads ? a->kv_heads : a->heads; // 0: every head has its own
    if (a->kv_heads > a->heads)
        return refuse(r, KV_HEADS, "at most num_heads");
    a->is_decode = step > 0;
    a->keys = tokens + step;
    return a->is_decode && tokens != 1 ? refuse(r, TOKENS, "1 where step is above 0") : SQ_OK;
}

// One shape in ten, whatever the order of the rows.
static bool is_calibration(const struct sq_gpu_attention *a)
{
    const uint64_t key[] = {a->is_decode, a->batch,    a->keys,   a->heads,
                            a->kv_heads,  a->head_dim, a->is_fp8, a->is_cache_fp8};
    return sq_digest_of(key, sizeof key).low % 10 == 3;
}

static enum sq_status read_row(struct reader *r)
{
    struct sq_gpu_attention_record one = {.line = r->csv.line};
    char *end;
    for (unsigned c = 0; c < N_COLUMNS; c++)
        if (r->at[c] >= r->csv.n)
            return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' line %u: no cell of column %s",
                           sq_path_tail(r->what), r->csv.line, names[c]);
    if (!strcasestr(r->csv.cell[r->at[DEVICE]], r->device)) {
        r->g->other_device++;
        return SQ_OK;
    }
    SQ_TRY(read_shape(r, &one.shape));
    one.seconds = 1e-3 * strtod(r->csv.cell[r->at[LATENCY]], &end);
    if (end == r->csv.cell[r->at[LATENCY]] || *end || !(one.seconds > 0) || one.seconds > 1e6)
        return refuse(r, LATENCY, "milliseconds above 0");
    one.is_calibration = is_calibration(&one.shape);
    if (r->g->n == MAX_ROWS)
        return SQ_FAIL(r->err, SQ_ERR_RANGE, "'%s' has more than %d rows", sq_path_tail(r->what),
                       MAX_ROWS);
    SQ_TRY(SQ_GROW(r->g->r, r->g->n, r->err, "%zu records", r->g->n));
    r->g->r[r->g->n++] = one;
    return SQ_OK;
}

static enum sq_status read_all(struct reader *r)
{
    bool more = true;
    SQ_TRY(read_head(r));
    while (more) {
        SQ_TRY(sq_csv_next(&r->csv, &more, r->err));
        if (more)
            SQ_TRY(read_row(r));
    }
    if (r->g->n == 0)
        return SQ_FAIL(r->err, SQ_ERR_DAMAGED,
                       "'%s' holds no measured row of device %.40s (%zu of other devices)",
                       sq_path_tail(r->what), r->device, r->g->other_device);
    return SQ_OK;
}

enum sq_status sq_gpu_attention_read(const char *path, const char *device,
                                     struct sq_gpu_attention_records *g, struct sq_error *err)
{
    struct reader r = {.what = path, .device = device, .g = g, .err = err};
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    *g = (struct sq_gpu_attention_records){0};
    SQ_TRY(sq_file_map(path, &map, err));
    enum sq_status status = sq_csv_reader_init(&r.csv, map.data ? (const char *)map.data : "",
                                               map.nbytes, path, MAX_ROW, err);
    SQ_THEN(status, read_all(&r));
    sq_csv_reader_free(&r.csv);
    if (status != SQ_OK)
        sq_gpu_attention_free(g);
    return status;
}

void sq_gpu_attention_free(struct sq_gpu_attention_records *g)
{
    free(g->r);
    *g = (struct sq_gpu_attention_records){0};
}
