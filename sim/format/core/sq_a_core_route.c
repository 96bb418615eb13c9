// SPDX-License-Identifier: Apache-2.0
// The whole layer is one job: tiles of tokens, each with all tiles of channels (passes).
#include "models/core/sq_topk.h"
#include "sim/format/core/sq_a_route.h"
#include "sim/format/sq_tile_route.h"

bool sq_a_has_ratios(const struct sq_product *p)
{
    return sq_product_count(p, "mul") != SIZE_MAX;
}

// The job, in tiles and what a tile holds.
struct job {
    size_t rows, cols, bank, lanes;      // of the engine
    size_t tiles, passes, groups, banks; // banks: of a scale group
    size_t steps;                        // of a bank, at the weights
};

static unsigned least(size_t a, size_t b)
{
    return (unsigned)(a < b ? a : b);
}

static enum sq_status job_of(struct sq_route_work *w, struct job *j, struct sq_error *err)
{
    SQ_TRY(sq_product_groups(w->p, &j->groups, err));
    j->rows = sq_route_get(w, "Rows");
    j->cols = sq_route_get(w, "Cols");
    j->bank = sq_route_get(w, "BankLen");
    j->lanes = sq_route_get(w, "LowLanes");
    j->tiles = (w->p->m + j->rows - 1) / j->rows;
    j->passes = (w->p->n + j->cols - 1) / j->cols;
    j->banks = w->p->k / j->bank / j->groups;
    j->steps = (j->bank + j->lanes - 1) / j->lanes;
    return SQ_OK;
}

static enum sq_status set_engine(struct sq_route_work *w, struct sq_error *err)
{
    enum { HIGH_W = 8, MUL_W = 16, PASS_W = 16, HOLD = 1 };
    static const char *const name[] = {
        "Rows",  "Cols", "LowLanes", "HighLanes", "BankLen",   "HighPerBank", "WeightW", "LowW",
        "HighW", "MulW", "Topk",     "Gather",    "TileBanks", "PassW",       NULL};
    unsigned bank, high;
    size_t weight_bits, low_bits;
    SQ_TRY(sq_product_bank(w->p, &bank, &high, err));
    SQ_TRY(sq_product_number(w->p, "weight_bits", 2, 8, &weight_bits, err));
    SQ_TRY(sq_product_number(w->p, "low_bits", 2, 4, &low_bits, err));
    const unsigned value[] = {w->array_rows,
                              w->array_cols,
                              least(w->core->low_lanes, bank),
                              least(w->core->high_lanes, high),
                              bank,
                              high,
                              weight_bits <= 4 ? 4 : 8, // ports of the core
                              (unsigned)low_bits,
                              HIGH_W,
                              MUL_W,
                              SQ_TOPK_RANK,
                              w->core->gather,
                              (unsigned)(w->p->k / bank),
                              PASS_W};
    sq_route_set_all(w, value, name);
    return sq_route_set_output(w, w->array_rows, w->array_cols, HOLD, err);
}

static void put_job(struct sq_route_work *w, const struct job *j)
{
    const size_t value[] = {j->banks, j->groups, j->passes, j->tiles,
                            j->groups * j->passes * j->tiles};
    static const char *const name[] = {"banks", "groups", "passes", "tiles", "sums"};
    for (size_t i = 0; i < SQ_LEN(name); i++)
        w->stream->beats[sq_route_field(w, name[i])] = (int32_t)value[i];
    uint32_t *const len = w->stream->len[0]; // job, activations, weights, scales
    len[0] = 1;
    len[1] = (uint32_t)(j->tiles * j->groups * j->banks);
    len[2] = (uint32_t)(value[4] * j->banks * j->steps);
    len[3] = (uint32_t)value[4];
}

// Banks of all tokens of a tile, tile by tile; zeros behind the last token.
static enum sq_status put_tokens(struct sq_route_work *w, const struct job *j, struct sq_error *err)
{
    const size_t m = w->p->m, k = w->p->k, banks = j->groups * j->banks;
    const size_t mul_at = sq_route_field(w, "mul"), shift_at = sq_route_field(w, "shift"),
                 code_at = sq_route_field(w, "code");
    const int32_t *mul, *shift;
    const int8_t *code;
    SQ_PRODUCT_TENSOR(w->p, "mul", SQ_I32, m, mul);
    SQ_PRODUCT_TENSOR(w->p, "shift", SQ_I32, m, shift);
    SQ_PRODUCT_TENSOR(w->p, "x8", SQ_I8, m * k, code);
    for (size_t i = 0; i < j->tiles * banks; i++)
        for (size_t r = 0; r < j->rows && i / banks * j->rows + r < m; r++) {
            const size_t token = i / banks * j->rows + r;
            int32_t *const beat = w->stream->beats + i * w->len;
            beat[mul_at + r] = mul[token];
            beat[shift_at + r] = shift[token];
            sq_route_copy(beat + code_at + r * j->bank, code + token * k + i % banks * j->bank,
                          j->bank);
        }
    return SQ_OK;
}

// All steps of all channels, for each tile of tokens again; zeros behind the last channel.
static enum sq_status put_weights(struct sq_route_work *w, const struct job *j,
                                  struct sq_error *err)
{
    const size_t n = w->p->n, k = w->p->k, banks = j->groups * j->banks;
    const size_t at = sq_route_field(w, "code") + j->rows * j->bank;
    const int8_t *weight;
    int32_t *beat = w->stream->beats;
    SQ_PRODUCT_TENSOR(w->p, "w", SQ_I8, n * k, weight);
    for (size_t i = 0; i < j->tiles * j->passes * banks * j->steps; i++, beat += w->len) {
        const size_t step = i % j->steps, first = step * j->lanes;
        const size_t bank = i / j->steps % banks, pass = i / j->steps / banks % j->passes;
        for (size_t c = 0; c < j->cols && pass * j->cols + c < n; c++)
            sq_route_copy(beat + at + c * j->lanes,
                          weight + (pass * j->cols + c) * k + bank * j->bank + first,
                          least(j->lanes, j->bank - first));
    }
    return SQ_OK;
}

static enum sq_status put_scales(struct sq_route_work *w, const struct job *j, struct sq_error *err)
{
    const size_t at = sq_route_field(w, "col_lo");
    struct sq_tile_scales s;
    SQ_TRY(sq_tile_scales_of(w->p, &s, err));
    for (size_t i = 0; i < j->tiles * j->passes * j->groups; i++) {
        const size_t tile = i / j->groups / j->passes, pass = i / j->groups % j->passes;
        sq_tile_scales_put(&s, w->p, tile * j->rows, j->rows, pass * j->cols, j->cols,
                           i % j->groups, w->stream->beats + i * w->len + at);
    }
    return SQ_OK;
}

enum sq_status sq_a_make_core_act(struct sq_route_work *w, struct sq_error *err)
{
    enum { COUNT_MAX = 65535 };
    struct job j;
    SQ_TRY(set_engine(w, err));
    SQ_TRY(job_of(w, &j, err));
    if (j.tiles > COUNT_MAX || j.passes > COUNT_MAX || j.banks > COUNT_MAX)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "%s: %zu tiles of tokens, %zu of channels, %zu banks in a job of %s, need "
                       "at most %d each",
                       sq_path_tail(w->p->source), j.tiles, j.passes, j.banks,
                       w->stream->block->name, COUNT_MAX);
    w->stream->max_outputs = j.tiles * j.passes * j.rows;
    SQ_TRY(sq_route_begin(w, 1, j.tiles * j.passes * j.groups * j.banks * j.steps, err));
    put_job(w, &j);
    SQ_TRY(put_tokens(w, &j, err));
    SQ_TRY(put_weights(w, &j, err));
    return put_scales(w, &j, err);
}

enum sq_status sq_a_check_core_act(struct sq_route_work *w, struct sq_error *err)
{
    struct job j;
    const float *y;
    SQ_TRY(job_of(w, &j, err));
    SQ_PRODUCT_TENSOR(w->p, "y", SQ_F32, w->p->m * w->p->n, y);
    (void)sq_route_golden(w, 0, 0);
    for (size_t t = 0; t < j.tiles * j.passes; t++)
        sq_tiles_expect_words(w, y, t / j.passes * j.rows, j.rows, t % j.passes * j.cols, j.cols,
                              w->golden +
                                  t * (j.rows * j.cols / w->shape.out[0].count) * w->out_len);
    return SQ_OK;
}
