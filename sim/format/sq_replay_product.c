// SPDX-License-Identifier: Apache-2.0
// Replay of the integer products: SQ on weights and on activations, dense, 2:4.
#include <string.h>

#include "models/sq_codes.h"
#include "models/sq_mac.h"
#include "models/sq_meta24.h"
#include "sim/format/sq_replay.h"

enum sq_status sq_replay_bank(const struct sq_replay *r, unsigned *bank, unsigned *high,
                              struct sq_error *err)
{
    size_t b, h;
    SQ_TRY(sq_replay_number(r, "bank", 2, SQ_BANK_MAX, &b, err));
    SQ_TRY(sq_replay_number(r, "k", 1, b - 1, &h, err));
    if (r->k % b != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s: metadata K = %zu, need a multiple of bank = %zu",
                       sq_path_tail(r->path), r->k, b);
    *bank = (unsigned)b;
    *high = (unsigned)h;
    return SQ_OK;
}

enum sq_status sq_replay_format(const struct sq_replay *r, struct sq_format *f,
                                struct sq_error *err)
{
    size_t group;
    *f = (struct sq_format){.high_bits = 8, .low_bits = 4};
    SQ_TRY(sq_replay_bank(r, &f->bank, &f->high_per_bank, err));
    SQ_TRY(sq_replay_number(r, "group", f->bank, r->k, &group, err));
    f->group = (unsigned)group;
    if (sq_k_padded(f, r->k) != r->k)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s: metadata K = %zu, need a multiple of group = %zu",
                       sq_path_tail(r->path), r->k, group);
    return sq_format_check(f, err);
}

enum sq_status sq_replay_sq_w(struct sq_replay *r, struct sq_error *err)
{
    const float *w, *s_x;
    const int8_t *x;
    struct sq_matrix m = {.n = r->n, .k = r->k, .k_orig = r->k};
    SQ_TRY(sq_replay_format(r, &m.format, err));
    SQ_REPLAY_INPUT(r, "w", SQ_F32, r->n * r->k, w);
    SQ_REPLAY_INPUT(r, "x", SQ_I8, r->m * r->k, x);
    SQ_REPLAY_INPUT(r, "s_x", SQ_F32, r->m, s_x);
    const size_t n_lo = r->n * sq_lo_row_nbytes(&m.format, r->k);
    const size_t n_hi = r->n * sq_hi_row_nbytes(&m.format, r->k);
    const size_t n_groups = sq_n_groups(&m.format, r->k), n_p = r->m * r->n * n_groups;
    SQ_REPLAY_KEEP(r, m.lo, n_lo);
    SQ_REPLAY_KEEP(r, m.hi, n_hi);
    SQ_REPLAY_KEEP(r, m.s_lo, r->n * n_groups);
    SQ_REPLAY_KEEP(r, m.s_hi, r->n * n_groups);
    SQ_TRY(sq_encode_rtn(w, &m, err));
    SQ_TRY(sq_replay_compare(r, "lo", SQ_U8, n_lo, m.lo, err));
    SQ_TRY(sq_replay_compare(r, "hi", SQ_U8, n_hi, m.hi, err));
    SQ_TRY(sq_replay_compare(r, "s_lo", SQ_F32, r->n * n_groups, m.s_lo, err));
    SQ_TRY(sq_replay_compare(r, "s_hi", SQ_F32, r->n * n_groups, m.s_hi, err));
    uint8_t *scratch;
    float *y;
    int32_t *p_lo, *p_hi;
    SQ_REPLAY_KEEP(r, scratch, sq_gemm_scratch_nbytes(&m));
    SQ_REPLAY_KEEP(r, y, r->m * r->n);
    SQ_REPLAY_KEEP(r, p_lo, n_p);
    SQ_REPLAY_KEEP(r, p_hi, n_p);
    sq_gemm_sq_w(&m, x, s_x, r->m, 0, r->n, y, p_lo, p_hi, scratch);
    SQ_TRY(sq_replay_compare(r, "p_lo", SQ_I32, n_p, p_lo, err));
    SQ_TRY(sq_replay_compare(r, "p_hi", SQ_I32, n_p, p_hi, err));
    return sq_replay_compare(r, "y", SQ_F32, r->m * r->n, y, err);
}

// ---- SQ on activations ----------------------------------------------------------------------

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

enum sq_status sq_replay_sq_a(struct sq_replay *r, struct sq_error *err)
{
    const float *values, *s_w;
    const int8_t *w_code;
    const uint8_t *mask = NULL;
    struct sq_codes x,
        w = {.grid = {SQ_GRID_DENSE, 0, 4}, .n = r->n, .k = r->k, .k_orig = r->k, .group = r->k};
    SQ_REPLAY_INPUT(r, "x", SQ_F32, r->m * r->k, values);
    SQ_REPLAY_INPUT(r, "w", SQ_I8, r->n * r->k, w_code);
    SQ_REPLAY_INPUT(r, "s_w", SQ_F32, r->n, s_w);
    if (r->system == SQ_REPLAY_SQ_A_STATIC)
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

// ---- one plane ------------------------------------------------------------------------------

// p_lo and y of x[m][k], w[n][k] with a scale per token and per channel.
static enum sq_status replay_product(struct sq_replay *r, const int8_t *x, const float *s_x,
                                     const int8_t *w, const float *s_w, struct sq_error *err)
{
    int32_t *p;
    float *y;
    SQ_REPLAY_KEEP(r, p, r->m * r->n);
    SQ_REPLAY_KEEP(r, y, r->m * r->n);
    for (size_t t = 0; t < r->m; t++)
        for (size_t c = 0; c < r->n; c++) {
            int32_t *const sum = &p[t * r->n + c];
            for (size_t i = 0; i < r->k; i++)
                *sum += w[c * r->k + i] * x[t * r->k + i];
            y[t * r->n + c] = (0.0f + (float)*sum * s_w[c]) * s_x[t] + 0.0f;
        }
    SQ_TRY(sq_replay_compare(r, "p_lo", SQ_I32, r->m * r->n, p, err));
    return sq_replay_compare(r, "y", SQ_F32, r->m * r->n, y, err);
}

enum sq_status sq_replay_dense(struct sq_replay *r, struct sq_error *err)
{
    const float *x, *s_w;
    const int8_t *w;
    int8_t *code;
    float *s_x;
    size_t act_bits, weight_bits;
    SQ_TRY(sq_replay_number(r, "act_bits", 4, 8, &act_bits, err));
    SQ_TRY(sq_replay_number(r, "weight_bits", 4, 8, &weight_bits, err));
    if (act_bits % 4 != 0 || weight_bits % 4 != 0)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "%s: metadata act_bits = %zu, weight_bits = %zu, need 4 or 8",
                       sq_path_tail(r->path), act_bits, weight_bits);
    SQ_REPLAY_INPUT(r, "x", SQ_F32, r->m * r->k, x);
    SQ_REPLAY_INPUT(r, "w", SQ_I8, r->n * r->k, w);
    SQ_REPLAY_INPUT(r, "s_w", SQ_F32, r->n, s_w);
    for (size_t i = 0; i < r->n * r->k; i++)
        if (w[i] < -sq_qmax((unsigned)weight_bits) || w[i] > sq_qmax((unsigned)weight_bits))
            return SQ_FAIL(err, SQ_ERR_CODE, "%s: w[%zu] = %d, need %d..%d", sq_path_tail(r->path),
                           i, w[i], -sq_qmax((unsigned)weight_bits),
                           sq_qmax((unsigned)weight_bits));
    SQ_REPLAY_KEEP(r, code, r->m * r->k);
    SQ_REPLAY_KEEP(r, s_x, r->m);
    SQ_TRY(sq_act_quantize(x, r->m, r->k, r->k, (unsigned)act_bits, code, s_x, err));
    SQ_TRY(sq_replay_compare(r, "code", SQ_I8, r->m * r->k, code, err));
    SQ_TRY(sq_replay_compare(r, "s_x", SQ_F32, r->m, s_x, err));
    return replay_product(r, code, s_x, w, s_w, err);
}

enum sq_status sq_replay_sp24(struct sq_replay *r, struct sq_error *err)
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
    return replay_product(r, x, s_x, w, s_w, err);
}
