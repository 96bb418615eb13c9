// SPDX-License-Identifier: Apache-2.0
#include "sim/cosim/sq_layer_cosim.h"

#include <string.h>

// Streams of one piece of a layer stay below this.
#define PIECE_NBYTES (64u << 20)

static enum sq_status run_piece(const struct sq_layer_run *r, const struct sq_core_config *config,
                                const struct sq_rtl_api *rtl, uint64_t seed, bool keep_failure,
                                uint32_t first, uint32_t n_tiles, struct sq_layer_cosim *out,
                                struct sq_error *err)
{
    struct sq_owned_case o;
    struct sq_core_cosim_result result;
    SQ_TRY(sq_layer_case(r, config, first, n_tiles, seed, &o, err));
    const uint64_t golden = sq_layer_case_check(r, &o, first);
    enum sq_status status = sq_core_cosim_run(&o.c, rtl, NULL, 0, &result, err);
    const enum sq_mismatch_kind kind = result.mismatch.kind;
    out->beats += result.beats;
    out->cycles += result.stats.cycles;
    out->value_mismatches += golden + (kind == SQ_MISMATCH_VALUE || kind == SQ_MISMATCH_MASK_ERROR);
    out->cycle_mismatches +=
        kind == SQ_MISMATCH_HANDSHAKE || kind == SQ_MISMATCH_COUNTER || kind == SQ_MISMATCH_HANG;
    if (status != SQ_OK || kind == SQ_MISMATCH_NONE || !keep_failure ||
        out->result.mismatch.kind != SQ_MISMATCH_NONE) {
        sq_owned_case_free(&o);
        return status;
    }
    out->failing_tile = first;
    out->failing = o;
    out->result = result;
    return sq_cosim_shrink(&out->failing, rtl, sq_core_cosim_run, &out->result, err);
}

enum sq_status sq_layer_cosim_run(const struct sq_layer_run *r, const struct sq_core_config *config,
                                  const struct sq_rtl_api *rtl, uint64_t seed, bool keep_failure,
                                  struct sq_layer_cosim *out, struct sq_error *err)
{
    const struct sq_format *f = &r->w.m.format;
    const uint32_t tiles = r->job.groups / (uint32_t)sq_n_groups(f, r->w.m.k);
    const size_t tile_nbytes =
        r->w.m.k * config->rows + (r->w.m.k + sq_hi_row_codes(f, r->w.m.k)) * config->cols;
    const size_t piece = tile_nbytes < PIECE_NBYTES ? PIECE_NBYTES / tile_nbytes : 1;
    memset(out, 0, sizeof *out);
    for (uint32_t first = 0; first < tiles;) {
        const uint32_t n_tiles = tiles - first < piece ? tiles - first : (uint32_t)piece;
        SQ_TRY(run_piece(r, config, rtl, seed, keep_failure, first, n_tiles, out, err));
        first += n_tiles;
    }
    // In one piece the RTL has run the very job that the fast engine timed.
    out->cycle_mismatches += tiles <= piece && out->cycles != r->stats.cycles;
    return SQ_OK;
}
