// SPDX-License-Identifier: Apache-2.0
// Cuts a product into pieces, and runs each piece in lock step (sq_layer_cosim.h).
#include "sim/cosim/sq_layer_cosim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// Codes of one piece of a layer stay below this.
#define PIECE_NBYTES (64u << 20)

// Operands of the tiles of a piece.
struct piece {
    const struct sq_layer_codes *x;
    const struct sq_core_config *g;
    uint32_t first, n_tiles;
    size_t tile_banks, tiles_m; // banks of a tile: a whole row of W
    int8_t *act, *lo, *hi;
};

// One column of one tile: its banks as stored, or legal banks of zeros beyond the last column.
static void put_column(struct piece *p, size_t column, size_t slot, unsigned c, int8_t *lo_row,
                       int8_t *hi_row)
{
    const unsigned b = p->g->bank, k = p->g->high_per_bank;
    if (column < p->x->w->n)
        sq_row_codes(p->x->w, column, lo_row, hi_row);
    for (size_t j = 0; j < p->tile_banks; j++) {
        int8_t *lo = p->lo + ((slot + j) * p->g->cols + c) * b;
        int8_t *hi = p->hi + ((slot + j) * p->g->cols + c) * k;
        if (column < p->x->w->n) {
            memcpy(lo, lo_row + j * b, b);
            memcpy(hi, hi_row + j * k, k);
        } else {
            memset(lo, sq_mask_code(p->g->low_bits), k);
        }
    }
}

static void put_tile(struct piece *p, uint32_t t, int8_t *lo_row, int8_t *hi_row)
{
    const struct sq_core_config *g = p->g;
    const size_t slot = t * p->tile_banks, tile = p->first + t;
    const size_t row0 = tile % p->tiles_m * g->rows, col0 = tile / p->tiles_m * g->cols;
    for (unsigned c = 0; c < g->cols; c++)
        put_column(p, col0 + c, slot, c, lo_row, hi_row);
    for (unsigned i = 0; i < g->rows && row0 + i < p->x->m; i++)
        for (size_t j = 0; j < p->tile_banks; j++)
            memcpy(p->act + ((slot + j) * g->rows + i) * g->bank,
                   p->x->act + (row0 + i) * p->x->w->k + j * g->bank, g->bank);
}

static bool fill_piece(struct piece *p)
{
    const size_t n = p->n_tiles * p->tile_banks, k = p->x->w->k;
    p->act = calloc(n, (size_t)p->g->rows * p->g->bank);
    p->lo = calloc(n, (size_t)p->g->cols * p->g->bank);
    p->hi = calloc(n, (size_t)p->g->cols * p->g->high_per_bank);
    SQ_FREED int8_t *lo_row = malloc(k), *hi_row = malloc(sq_hi_row_codes(&p->x->w->format, k));
    const bool ok = p->act && p->lo && p->hi && lo_row && hi_row;
    for (uint32_t t = 0; ok && t < p->n_tiles; t++)
        put_tile(p, t, lo_row, hi_row);
    return ok;
}

static uint64_t check_piece(const struct piece *p, const struct sq_core_operands *o)
{
    const struct sq_core_config *g = p->g;
    const struct sq_layer_codes *x = p->x;
    const uint32_t banks = x->job.group_banks;
    const size_t groups = sq_n_groups(&x->w->format, x->w->k);
    int32_t p_lo[64 * 64], p_hi[64 * 64]; // rows and cols are at most 64
    uint64_t bad = 0;
    assert(x->p_lo && x->p_hi && g->rows * g->cols <= 64 * 64);
    for (uint32_t i = 0; i < p->n_tiles * groups; i++) {
        const size_t tile = p->first + i / groups, group = i % groups;
        const size_t row0 = tile % p->tiles_m * g->rows, col0 = tile / p->tiles_m * g->cols;
        bad += sq_core_golden_tile(g, o, (uint64_t)i * banks, banks, p_lo, p_hi) != 0;
        for (size_t a = 0; a < g->rows && row0 + a < x->m; a++)
            for (size_t c = 0; c < g->cols && col0 + c < x->w->n; c++) {
                const size_t at = ((row0 + a) * x->w->n + col0 + c) * groups + group;
                bad += p_lo[a * g->cols + c] != x->p_lo[at] || p_hi[a * g->cols + c] != x->p_hi[at];
            }
    }
    return bad;
}

enum sq_status sq_layer_case(const struct sq_layer_codes *x, const struct sq_core_config *config,
                             uint32_t first, uint32_t n_tiles, uint64_t seed, struct sq_case *c,
                             uint64_t *differences, struct sq_error *err)
{
    const size_t groups = sq_n_groups(&x->w->format, x->w->k);
    struct piece p = {.x = x,
                      .g = config,
                      .first = first,
                      .n_tiles = n_tiles,
                      .tile_banks = groups * x->job.group_banks,
                      .tiles_m = (x->m + config->rows - 1) / config->rows};
    const struct sq_job job = {x->job.group_banks, (uint32_t)(n_tiles * groups)};
    enum sq_status status = SQ_OK;
    if (!fill_piece(&p))
        status = SQ_NO_MEMORY(err, "the streams of a layer");
    const struct sq_core_operands o = {p.n_tiles * p.tile_banks, p.act, p.lo, p.hi};
    if (status == SQ_OK) {
        *differences = check_piece(&p, &o);
        status = sq_core_case(c, &job, &o, seed, err);
    }
    free(p.act);
    free(p.lo);
    free(p.hi);
    return status;
}

static enum sq_status run_piece(const struct sq_layer_codes *x, const struct sq_core_config *config,
                                const struct sq_rtl_api *rtl, uint64_t seed, bool is_free,
                                bool keep_failure, uint32_t first, uint32_t n_tiles,
                                struct sq_layer_cosim *out, struct sq_error *err)
{
    struct sq_case c = {.point = &out->point};
    struct sq_result result;
    uint64_t golden = 0;
    SQ_TRY(sq_layer_case(x, config, first, n_tiles, seed, &c, &golden, err));
    enum sq_status status = is_free ? SQ_OK : sq_case_disturb(&c, seed + first, err);
    SQ_THEN(status, sq_lockstep_run(&c, rtl, NULL, &result, err));
    if (status != SQ_OK) {
        sq_case_free(&c);
        return status;
    }
    const bool is_wrong = result.mismatch.kind != SQ_MISMATCH_NONE;
    const bool is_value = sq_mismatch_is_value(&result.mismatch);
    sq_compared_add(&out->compared, &result.compared);
    out->cycles += sq_core_stats_of(result.status).cycles;
    out->value_mismatches += golden + is_value;
    out->cycle_mismatches += is_wrong && !is_value;
    if (!is_wrong || !keep_failure || out->result.mismatch.kind != SQ_MISMATCH_NONE) {
        sq_case_free(&c);
        return SQ_OK;
    }
    out->failing_tile = first;
    out->failing = c;
    out->result = result;
    return sq_shrink(&out->failing, rtl, &out->result, err);
}

enum sq_status sq_layer_cosim_run(const struct sq_layer_codes *x,
                                  const struct sq_core_config *config, const struct sq_rtl_api *rtl,
                                  uint64_t seed, bool is_free, bool keep_failure,
                                  struct sq_layer_cosim *out, struct sq_error *err)
{
    const struct sq_format *f = &x->w->format;
    const size_t k = x->w->k;
    const uint32_t tiles = x->job.groups / (uint32_t)sq_n_groups(f, k);
    const size_t tile_nbytes = k * config->rows + (k + sq_hi_row_codes(f, k)) * config->cols;
    const size_t piece = tile_nbytes < PIECE_NBYTES ? PIECE_NBYTES / tile_nbytes : 1;
    memset(out, 0, sizeof *out);
    out->point = sq_core_point(config);
    for (uint32_t first = 0; first < tiles;) {
        const uint32_t n_tiles = tiles - first < piece ? tiles - first : (uint32_t)piece;
        SQ_TRY(run_piece(x, config, rtl, seed, is_free, keep_failure, first, n_tiles, out, err));
        first += n_tiles;
    }
    // In one piece the RTL has run the very job that the cycle model timed.
    out->cycle_mismatches += is_free && tiles <= piece && out->cycles != x->cycles;
    return SQ_OK;
}
