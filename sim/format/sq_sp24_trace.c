// SPDX-License-Identifier: Apache-2.0
// Kernel traces of sp24: metadata and product. Routes: meta24, the array.
#include <string.h>

#include "models/sq_meta24.h"
#include "sim/format/sq_tile_route.h"

static enum sq_status values(struct sq_replay *r, struct sq_error *err)
{
    const int8_t *w, *x;
    const float *s_x, *s_w;
    int8_t *values;
    uint8_t *meta, *nibble;
    uint16_t *word;
    if (r->k % 16 != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s: metadata K = %zu, need a multiple of 16",
                       sq_path_tail(r->path), r->k);
    SQ_REPLAY_INPUT(r, "w", SQ_I8, r->n * r->k, w);
    SQ_REPLAY_INPUT(r, "x", SQ_I8, r->m * r->k, x);
    SQ_REPLAY_INPUT(r, "s_x", SQ_F32, r->m, s_x);
    SQ_REPLAY_INPUT(r, "s_w", SQ_F32, r->n, s_w);
    SQ_REPLAY_KEEP(r, values, r->n * r->k / 2);
    SQ_REPLAY_KEEP(r, meta, r->n * r->k / 8);
    SQ_REPLAY_KEEP(r, nibble, r->k / 4);
    SQ_REPLAY_KEEP(r, word, r->k / 16);
    for (size_t row = 0; row < r->n; row++) {
        const size_t at = row * r->k;
        SQ_TRY(sq_meta24_encode(w + at, r->k, values + at / 2, nibble, err));
        sq_meta24_words(nibble, r->k, word);
        memcpy(meta + at / 8, word, r->k / 8); // little-endian words, as the trace has them
    }
    SQ_TRY(sq_replay_compare(r, "values", SQ_I8, r->n * r->k / 2, values, err));
    SQ_TRY(sq_replay_compare(r, "meta", SQ_U8, r->n * r->k / 8, meta, err));
    return sq_replay_product(r, x, s_x, w, s_w, err);
}

// ---- meta24 ------------------------------------------------------------------------------------

enum { META_ROWS = 2, META_GROUPS = 4, META_COLUMNS = 4 * META_GROUPS }; // a word: SPEC E.3

// Beats: for (channel) for (tile of tokens) for (word of the row).
static enum sq_status make_meta24(struct sq_route_work *w, struct sq_error *err)
{
    const size_t m = w->r->m, n = w->r->n, k = w->r->k, words = k / META_COLUMNS;
    const size_t tiles_m = (m + META_ROWS - 1) / META_ROWS;
    const int8_t *x;
    const uint8_t *meta;
    SQ_REPLAY_TENSOR(w->r, "x", SQ_I8, m * k, x);
    SQ_REPLAY_TENSOR(w->r, "meta", SQ_U8, n * k / 8, meta);
    sq_route_set(w, "Rows", META_ROWS);
    sq_route_set(w, "Groups", META_GROUPS);
    sq_route_set(w, "ActW", 8);
    SQ_TRY(sq_route_begin(w, n * tiles_m * words, n * tiles_m * words, err));
    int32_t *beat = w->stream->beats;
    for (size_t c = 0; c < n; c++)
        for (size_t tile = 0; tile < tiles_m; tile++)
            for (size_t word = 0; word < words; word++, beat += w->len) {
                for (size_t i = 0; i < META_GROUPS; i++)
                    beat[i] = meta[(c * k + word * META_COLUMNS) / 8 + i / 2] >> (4 * (i % 2)) & 15;
                for (size_t row = 0; row < META_ROWS && tile * META_ROWS + row < m; row++)
                    for (size_t i = 0; i < META_COLUMNS; i++)
                        beat[META_GROUPS + row * META_COLUMNS + i] =
                            x[(tile * META_ROWS + row) * k + word * META_COLUMNS + i];
            }
    for (size_t g = 0; g < w->stream->n_groups; g++)
        w->stream->len[g][0] = 1;
    return SQ_OK;
}

// What is selected, times the stored values, is the kernel's product.
static enum sq_status check_meta24(struct sq_route_work *w, struct sq_error *err)
{
    const size_t m = w->r->m, n = w->r->n, k = w->r->k, words = k / META_COLUMNS;
    const size_t tiles_m = (m + META_ROWS - 1) / META_ROWS, kept = META_COLUMNS / 2;
    const int8_t *values;
    const int32_t *p_lo;
    size_t g = 0;
    SQ_REPLAY_TENSOR(w->r, "values", SQ_I8, n * k / 2, values);
    SQ_REPLAY_TENSOR(w->r, "p_lo", SQ_I32, m * n, p_lo);
    for (size_t c = 0; c < n; c++)
        for (size_t tile = 0; tile < tiles_m; tile++) {
            int32_t sum[META_ROWS] = {0};
            for (size_t word = 0; word < words; word++, g++) {
                (void)sq_route_golden(w, g, g);
                for (size_t i = 0; i < META_ROWS * kept; i++)
                    sum[i / kept] += w->golden[i] * values[c * k / 2 + word * kept + i % kept];
            }
            for (size_t row = 0; row < META_ROWS && tile * META_ROWS + row < m; row++) {
                const size_t at = (tile * META_ROWS + row) * n + c;
                sq_route_expect(w, "p_lo", at, p_lo[at], sum[row]);
            }
        }
    return SQ_OK;
}

// ---- array -------------------------------------------------------------------------------------

enum { BANK = 16, NIBBLES = BANK / 4, FIRST_TWO = 0x4 }; // of a bank; SPEC E.2

static enum sq_status make_sp24(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_tiles t;
    const size_t k = w->r->k, half = BANK / 2;
    const int8_t *x, *values;
    const uint8_t *meta;
    SQ_REPLAY_TENSOR(w->r, "x", SQ_I8, w->r->m * k, x);
    SQ_REPLAY_TENSOR(w->r, "values", SQ_I8, w->r->n * k / 2, values);
    SQ_REPLAY_TENSOR(w->r, "meta", SQ_U8, w->r->n * k / 8, meta);
    sq_route_set_array(w, SQ_ARRAY_SP24, BANK, 1, false, 8, 8, 8);
    SQ_TRY(sq_tiles_begin(w, &t, err));
    const size_t low = sq_route_field(w, "low"), mask = sq_route_field(w, "mask");
    for (size_t g = 0; g < t.m * t.n; g++)
        for (size_t b = 0; b < t.banks; b++) {
            int32_t *beat = sq_tiles_beat(w, &t, g, b);
            sq_tiles_put(w, &t, g, b, x, beat + sq_route_field(w, "plain"), NULL, NULL);
            for (size_t c = 0; c < t.cols; c++) {
                const size_t channel = sq_tiles_channel(&t, g, c);
                const bool is_there = channel < w->r->n;
                if (is_there)
                    sq_route_copy(beat + low + c * half, values + channel * k / 2 + b * half, half);
                for (size_t i = 0; i < NIBBLES; i++) {
                    const size_t at = (channel * k + b * BANK) / 4 + i;
                    beat[mask + c * NIBBLES + i] =
                        is_there ? meta[at / 2] >> (4 * (at % 2)) & 15 : FIRST_TWO;
                }
            }
        }
    return SQ_OK;
}

static const struct sq_route routes[] = {
    {&sq_meta24_block, make_meta24, check_meta24},
    {&sq_array_block, make_sp24, sq_tiles_check},
};

const struct sq_format_trace sq_sp24_trace = {NULL, NULL, values, routes, 2};
