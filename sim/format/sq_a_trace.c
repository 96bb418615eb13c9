// SPDX-License-Identifier: Apache-2.0
// Kernel traces of sq_a_*: codes, masks and product. Routes: static, the array whose weights are
// stored in the order of the codes; dynamic, the mask by topk and the compact array.
#include <string.h>

#include "models/sq_codes.h"
#include "models/sq_mac.h"
#include "models/sq_topk.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_tile_route.h"

// Activation codes by the golden encoder into *c, compared with the file's.
static enum sq_status replay_act(struct sq_replay *r, const float *x, const uint8_t *mask,
                                 struct sq_codes *c, struct sq_error *err)
{
    float *score;
    int8_t *code;
    const size_t n = r->m * r->k;
    *c = (struct sq_codes){
        .grid = {SQ_GRID_OWN, 8, 4}, .n = r->m, .k = r->k, .k_orig = r->k, .group = r->k};
    SQ_TRY(sq_replay_bank(r, &c->bank, &c->high_per_bank, err));
    for (size_t i = 0; mask && i < r->k; i += c->bank) {
        unsigned n_high = 0;
        for (unsigned j = 0; j < c->bank; j++)
            n_high += mask[i + j] == 1 ? 1 : mask[i + j] == 0 ? 0 : c->bank;
        if (n_high != c->high_per_bank)
            return SQ_FAIL(err, SQ_ERR_MASK_COUNT, "%s: mask of bank %zu, need %u ones of %u",
                           sq_path_tail(r->path), i / c->bank, c->high_per_bank, c->bank);
    }
    SQ_REPLAY_KEEP(r, c->code, n);
    SQ_REPLAY_KEEP(r, c->is_high, n);
    SQ_REPLAY_KEEP(r, c->s_lo, r->m);
    SQ_REPLAY_KEEP(r, c->s_hi, r->m);
    SQ_REPLAY_KEEP(r, score, 2 * r->k);
    SQ_REPLAY_KEEP(r, code, n);
    SQ_TRY(sq_codes_encode_act(c, x, mask ? SQ_SELECT_STATIC : SQ_SELECT_DYNAMIC_FP, mask, score,
                               err));
    for (size_t i = 0; i < n; i++)
        code[i] = (int8_t)c->code[i];
    if (!mask)
        SQ_TRY(sq_replay_compare(r, "mask", SQ_U8, n, c->is_high, err));
    SQ_TRY(sq_replay_compare(r, "code", SQ_I8, n, code, err));
    SQ_TRY(sq_replay_compare(r, "s_lo", SQ_F32, r->m, c->s_lo, err));
    return sq_replay_compare(r, "s_hi", SQ_F32, r->m, c->s_hi, err);
}

static enum sq_status values(struct sq_replay *r, struct sq_error *err)
{
    const float *values, *s_w;
    const int8_t *w_code;
    const uint8_t *mask = NULL;
    struct sq_codes x,
        w = {.grid = {SQ_GRID_DENSE, 0, 4}, .n = r->n, .k = r->k, .k_orig = r->k, .group = r->k};
    SQ_REPLAY_INPUT(r, "x", SQ_F32, r->m * r->k, values);
    SQ_REPLAY_INPUT(r, "w", SQ_I8, r->n * r->k, w_code);
    SQ_REPLAY_INPUT(r, "s_w", SQ_F32, r->n, s_w);
    if (r->format == &sq_format_sq_a_static)
        SQ_REPLAY_INPUT(r, "mask", SQ_U8, r->k, mask);
    SQ_TRY(replay_act(r, values, mask, &x, err));
    SQ_REPLAY_KEEP(r, w.code, r->n * r->k);
    SQ_REPLAY_KEEP(r, w.s_lo, r->n);
    SQ_REPLAY_KEEP(r, w.s_hi, r->n);
    for (size_t i = 0; i < r->n * r->k; i++)
        w.code[i] = w_code[i];
    memcpy(w.s_lo, s_w, r->n * sizeof *s_w);
    memcpy(w.s_hi, s_w, r->n * sizeof *s_w);
    struct sq_gemm_codes g = {.x = &x, .w = &w};
    uint8_t *scratch;
    SQ_REPLAY_KEEP(r, g.y, r->m * r->n);
    SQ_REPLAY_KEEP(r, g.p_lo, r->m * r->n);
    SQ_REPLAY_KEEP(r, g.p_hi, r->m * r->n);
    SQ_TRY(sq_gemm_codes_check(&g, err));
    SQ_REPLAY_KEEP(r, scratch, sq_gemm_codes_scratch(&g));
    sq_gemm_codes(&g, 0, r->m, scratch);
    SQ_TRY(sq_replay_compare(r, "p_lo", SQ_I32, r->m * r->n, g.p_lo, err));
    SQ_TRY(sq_replay_compare(r, "p_hi", SQ_I32, r->m * r->n, g.p_hi, err));
    return sq_replay_compare(r, "y", SQ_F32, r->m * r->n, g.y, err);
}

// ---- topk --------------------------------------------------------------------------------------

enum { BF16_MAG_BITS = 15 };

static enum sq_status make_topk(struct sq_route_work *w, struct sq_error *err)
{
    const size_t n = w->r->m * w->r->k;
    const uint32_t *x; // bits of binary32
    unsigned bank, high;
    SQ_TRY(sq_replay_bank(w->r, &bank, &high, err));
    SQ_REPLAY_TENSOR(w->r, "x", SQ_F32, n, x);
    sq_route_set(w, "BankLen", bank);
    sq_route_set(w, "HighPerBank", high);
    sq_route_set(w, "MagW", BF16_MAG_BITS);
    sq_route_set(w, "Topk", SQ_TOPK_RADIX);
    SQ_TRY(sq_route_begin(w, n / bank, n / bank, err));
    for (size_t i = 0; i < n; i++) {
        if (x[i] & 0xffff)
            return SQ_FAIL(err, SQ_ERR_RANGE, "%s: x[%zu] = 0x%x, need a BF16 number",
                           sq_path_tail(w->r->path), i, x[i]);
        w->stream->beats[i] = sq_magnitude_fp((uint16_t)(x[i] >> 16));
    }
    for (size_t g = 0; g < n / bank; g++)
        w->stream->len[g][0] = 1;
    return SQ_OK;
}

static enum sq_status check_topk(struct sq_route_work *w, struct sq_error *err)
{
    const size_t bank = sq_route_get(w, "BankLen"), n_groups = w->stream->n_groups;
    const uint8_t *mask;
    SQ_REPLAY_TENSOR(w->r, "mask", SQ_U8, w->r->m * w->r->k, mask);
    for (size_t g = 0; g < n_groups; g++) {
        (void)sq_route_golden(w, g, g);
        for (size_t i = 0; i < bank; i++)
            sq_route_expect(w, "mask", g * bank + i, mask[g * bank + i], w->golden[i]);
    }
    return SQ_OK;
}

// ---- arrays ------------------------------------------------------------------------------------

// Low and high codes of one token's bank, in order; what is high says the mask.
static void split(const int8_t *code, const uint8_t *mask, unsigned bank, int32_t *low,
                  int32_t *high)
{
    for (unsigned i = 0; i < bank; i++)
        *(mask[i] ? high++ : low++) = code[i];
}

static enum sq_status make_compact(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_tiles t;
    unsigned bank, high;
    const size_t k = w->r->k;
    const int8_t *code, *weight;
    const uint8_t *mask;
    SQ_TRY(sq_replay_bank(w->r, &bank, &high, err));
    SQ_REPLAY_TENSOR(w->r, "code", SQ_I8, w->r->m * k, code);
    SQ_REPLAY_TENSOR(w->r, "mask", SQ_U8, w->r->m * k, mask);
    SQ_REPLAY_TENSOR(w->r, "w", SQ_I8, w->r->n * k, weight);
    sq_route_set_array(w, SQ_ARRAY_COMPACT, bank, high, true, 4, 4, 8);
    SQ_TRY(sq_tiles_begin(w, &t, err));
    const size_t low_at = sq_route_field(w, "low"), high_at = sq_route_field(w, "high"),
                 mask_at = sq_route_field(w, "mask");
    for (size_t g = 0; g < t.m * t.n; g++)
        for (size_t b = 0; b < t.banks; b++) {
            int32_t *beat = sq_tiles_beat(w, &t, g, b);
            sq_tiles_put(w, &t, g, b, NULL, NULL, weight, beat + sq_route_field(w, "plain"));
            for (size_t row = 0; row < t.rows; row++) {
                const size_t token = sq_tiles_token(&t, g, row), at = token * k + b * bank;
                for (unsigned i = 0; i < bank; i++)
                    beat[mask_at + row * bank + i] = token < w->r->m ? mask[at + i] : i < high;
                if (token < w->r->m)
                    split(code + at, mask + at, bank, beat + low_at + row * (bank - high),
                          beat + high_at + row * high);
            }
        }
    return SQ_OK;
}

static enum sq_status make_static(struct sq_route_work *w, struct sq_error *err)
{
    static const char *const name[] = {"Rows",   "Cols",    "Banks", "BankLen", "HighPerBank",
                                       "OneAcc", "WeightW", "LowW",  "HighW",   NULL};
    struct sq_tiles t;
    unsigned bank, high;
    const size_t k = w->r->k;
    const int8_t *code, *weight;
    const uint8_t *mask;
    SQ_TRY(sq_replay_bank(w->r, &bank, &high, err));
    SQ_REPLAY_TENSOR(w->r, "code", SQ_I8, w->r->m * k, code);
    SQ_REPLAY_TENSOR(w->r, "mask", SQ_U8, k, mask);
    SQ_REPLAY_TENSOR(w->r, "w", SQ_I8, w->r->n * k, weight);
    sq_route_set_all(w, (const unsigned[]){w->array_rows, w->array_cols, 1, bank, high, 0, 4, 4, 8},
                     name);
    SQ_TRY(sq_tiles_begin(w, &t, err));
    const size_t low_at = sq_route_field(w, "low"), high_at = sq_route_field(w, "high"),
                 weight_at = sq_route_field(w, "weight"), low = bank - high;
    for (size_t g = 0; g < t.m * t.n; g++)
        for (size_t b = 0; b < t.banks; b++) {
            int32_t *beat = sq_tiles_beat(w, &t, g, b);
            const uint8_t *const m = mask + b * bank;
            for (size_t row = 0; row < t.rows; row++)
                if (sq_tiles_token(&t, g, row) < w->r->m)
                    split(code + sq_tiles_token(&t, g, row) * k + b * bank, m, bank,
                          beat + low_at + row * low, beat + high_at + row * high);
            for (size_t c = 0; c < t.cols; c++) // the weights in the order of the codes
                if (sq_tiles_channel(&t, g, c) < w->r->n)
                    split(weight + sq_tiles_channel(&t, g, c) * k + b * bank, m, bank,
                          beat + weight_at + c * bank, beat + weight_at + c * bank + low);
        }
    return SQ_OK;
}

static const struct sq_route static_routes[] = {
    {&sq_array_static_block, make_static, sq_tiles_check}};
static const struct sq_route dynamic_routes[] = {{&sq_topk_block, make_topk, check_topk},
                                                 {&sq_array_block, make_compact, sq_tiles_check}};

const struct sq_format_trace sq_a_static_trace = {"sq_a", "static", values, static_routes, 1};
const struct sq_format_trace sq_a_dynamic_trace = {"sq_a", "dynamic", values, dynamic_routes, 2};
