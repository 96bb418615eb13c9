// SPDX-License-Identifier: Apache-2.0
// Scores and prunes each group of four and encodes the rest, directly or by the column loop
// (sq_prune24.h).
#include "models/sp24/sq_prune24.h"

#include <math.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/number/sq_half.h"
#include "models/quant/sq_column_loop.h"

struct job {
    const struct sq_prune24 *options;
    const struct sq_sp24 *m;
    const double *norm;
    const struct sq_factor *factor;
    int8_t *codes; // [n][k_orig]
};

// ---- which stay -----------------------------------------------------------------------------

void sq_prune24_group(const double score[4], uint8_t is_kept[4])
{
    for (unsigned i = 0; i < 4; i++) {
        unsigned rank = 0; // among those that go first: smaller, or equal and before it
        for (unsigned j = 0; j < 4; j++)
            rank += score[j] < score[i] || (score[j] == score[i] && j < i);
        is_kept[i] = rank >= 2;
    }
}

static double score_of(const struct job *p, double w, size_t j)
{
    const double e = p->options->criterion == SQ_PRUNE_WANDA ? w * p->norm[j]
                     : p->options->criterion == SQ_PRUNE_SPARSEGPT
                         ? w / p->factor->u[j * p->factor->k + j]
                         : w;
    return fabs(e); // squaring orders alike, but for underflow
}

// Columns j..j+3 of a row, w[0..3], by the criterion.
static void choose(const struct job *p, const double *w, size_t j, uint8_t is_kept[4])
{
    double score[4];
    for (unsigned i = 0; i < 4; i++)
        score[i] = score_of(p, w[i], j + i);
    sq_prune24_group(score, is_kept);
}

// ---- what they become -----------------------------------------------------------------------

static float row_scale(const float *w, size_t k, unsigned bits)
{
    float amax = 0;
    for (size_t j = 0; j < k; j++)
        amax = fabsf(w[j]) > amax ? fabsf(w[j]) : amax; // NaN is refused where it is rounded
    return sq_scale_from_amax(amax, bits);
}

float sq_dense8_encode_row(const float *w, size_t k, int8_t *codes)
{
    const float scale = row_scale(w, k, 8);
    for (size_t j = 0; j < k; j++)
        codes[j] = (int8_t)sq_quantize(w[j], scale, 8);
    return scale;
}

// The patterns that do not wait for compensation: marks in the codes of the row, 1 = stays.
static void begin_row(void *context, size_t row, const double *w, void *scratch)
{
    const struct job *p = context;
    (void)scratch;
    if (p->options->criterion == SQ_PRUNE_SPARSEGPT)
        return;
    for (size_t j = 0; j < p->m->k_orig; j += 4)
        choose(p, w + j, j, (uint8_t *)p->codes + row * p->m->k_orig + j);
}

// Scale of the group whose columns [j, end) begin at w: of what the criterion keeps, or, with `mark`, of
// what is marked as kept.
static float group_scale(const struct job *p, const double *w, size_t j, size_t end,
                         const uint8_t *mark)
{
    float amax = 0;
    for (size_t i = j; i < end; i += 4) {
        uint8_t is_kept[4];
        if (mark)
            memcpy(is_kept, mark + i - j, sizeof is_kept);
        else
            choose(p, w + i - j, i, is_kept);
        for (unsigned c = 0; c < 4; c++)
            if (is_kept[c])
                amax = fmaxf(amax, fabsf((float)w[i + c - j]));
    }
    return sq_scale_from_amax(amax, sq_sp24_bits(p->m));
}

static size_t group_end(const struct sq_sp24 *m, size_t j)
{
    return j + m->group < m->k_orig ? j + m->group : m->k_orig;
}

// The scale of column j, NULL where there is none.
static float *scale_of(const struct sq_sp24 *m, size_t row, size_t j)
{
    const size_t n = sq_sp24_groups(m);
    return n ? &m->scale[row * n + (m->group ? j / m->group : 0)] : NULL;
}

static double do_column(void *context, size_t row, size_t j, const double *w, void *scratch)
{
    const struct job *p = context;
    const struct sq_sp24 *m = p->m;
    float *const scale = scale_of(m, row, j);
    int8_t *code = p->codes + row * p->m->k_orig + j;
    (void)scratch;
    const bool is_chosen_now = p->options->criterion == SQ_PRUNE_SPARSEGPT;
    if (m->group && scale && j % m->group == 0)
        *scale = group_scale(p, w + j, j, group_end(m, j), is_chosen_now ? NULL : (uint8_t *)code);
    if (is_chosen_now && j % 4 == 0)
        choose(p, w + j, j, (uint8_t *)code);
    if (!*code)
        return 0;
    if (m->half) {
        const size_t before = (size_t)(j % 4 > 0 && *(code - j % 4)) +
                              (size_t)(j % 4 > 1 && *(code - j % 4 + 1)) +
                              (size_t)(j % 4 > 2 && *(code - j % 4 + 2));
        uint16_t *half = &m->half[row * (m->k / 2) + j / 4 * 2 + before];
        *half = sq_f32_to_f16((float)w[j]);
        return p->options->is_joint ? (double)sq_half_to_float(*half) : w[j];
    }
    *code = (int8_t)sq_quantize((float)w[j], *scale, sq_sp24_bits(m));
    return p->options->is_joint ? (double)((float)*code * *scale) : w[j];
}

// Without a loop: drop, round what is left. Packing refuses a third non-zero of PRUNE_NONE.
static enum sq_status encode_directly(const struct job *p, const float *w, struct sq_error *err)
{
    const struct sq_sp24 *m = p->m;
    const size_t k = m->k_orig, length = m->group ? m->group : k;
    for (size_t i = 0; i < m->n * k; i++)
        SQ_FAIL_IF(!isfinite(w[i]), err, SQ_ERR_NON_FINITE,
                   "w[%zu][%zu] = %g, need a finite number", i / k, i % k, (double)w[i]);
    for (size_t row = 0; row < m->n; row++)
        for (size_t j = 0; j < k; j += length) {
            const size_t end = j + length < k ? j + length : k;
            int8_t *code = p->codes + row * k;
            float *const scale = scale_of(m, row, j);
            double amax = 0;
            for (size_t i = j; i < end; i++) {
                const float *v = w + row * k + i - i % 4;
                const double four[4] = {v[0], v[1], v[2], v[3]};
                if (i % 4 == 0)
                    choose(p, four, i, (uint8_t *)code + i);
                if (p->options->criterion == SQ_PRUNE_NONE)
                    code[i] = four[i % 4] != 0;
                if (code[i])
                    amax = fmax(amax, fabs(four[i % 4]));
            }
            if (m->group && scale)
                *scale = sq_scale_from_amax((float)amax, sq_sp24_bits(m));
            for (size_t i = j; scale && i < end; i++)
                if (code[i])
                    code[i] = (int8_t)sq_quantize(w[row * k + i], *scale, sq_sp24_bits(m));
        }
    return SQ_OK;
}

// Packs a row; for binary16 also its values, where no loop has put them there.
static enum sq_status pack(struct sq_sp24 *m, size_t row, const int8_t *codes, const float *w,
                           struct sq_error *err)
{
    SQ_TRY(sq_sp24_pack_row(m, row, codes, err));
    for (size_t i = 0; m->half && i < m->k / 2; i++) {
        uint16_t *const half = &m->half[row * (m->k / 2) + i];
        unsigned at[2] = {0, 1};
        sq_meta24_decode((unsigned)m->meta[row * (m->k / 8) + i / 4] >> (i / 2 % 2 * 4), &at[0],
                         &at[1]);
        const size_t j = i / 2 * 4 + at[i % 2];
        if (w)
            *half = sq_f32_to_f16(j < m->k_orig ? w[j] : 0);
        SQ_FAIL_IF(!sq_half_is_finite(*half), err, SQ_ERR_OVERFLOW,
                   "row %zu, column %zu: need at most 65504", row, j);
    }
    return SQ_OK;
}

// ---- entry ----------------------------------------------------------------------------------

bool sq_prune24_needs_norm(const struct sq_prune24 *o)
{
    return o->criterion == SQ_PRUNE_WANDA;
}

bool sq_prune24_needs_factor(const struct sq_prune24 *o)
{
    return o->is_joint || o->criterion == SQ_PRUNE_SPARSEGPT;
}

static enum sq_status check(const struct job *p, struct sq_error *err)
{
    const struct sq_prune24 *o = p->options;
    SQ_TRY(sq_sp24_check_shape(p->m, err));
    SQ_FAIL_IF((unsigned)o->criterion >= SQ_PRUNES || o->block % 4 != 0, err, SQ_ERR_ARG,
               "criterion = %u, block = %u, need 0..%d and a multiple of 4", (unsigned)o->criterion,
               o->block, SQ_PRUNES - 1);
    SQ_FAIL_IF((sq_prune24_needs_norm(o) && !p->norm) || (sq_prune24_needs_factor(o) && !p->factor),
               err, SQ_ERR_ARG, "this criterion needs calibration");
    SQ_FAIL_IF(o->criterion == SQ_PRUNE_NONE && o->is_joint, err, SQ_ERR_ARG,
               "weights that are 2:4 already leave nothing to compensate");
    SQ_FAIL_IF(p->factor && p->factor->k != p->m->k_orig, err, SQ_ERR_SHAPE,
               "K = %zu of the weights, %zu of the Hessian", p->m->k_orig, p->factor->k);
    return SQ_OK;
}

enum sq_status sq_prune24_encode(struct sq_sp24 *m, const float *w,
                                 const struct sq_prune24 *options, const double *norm,
                                 const struct sq_factor *factor, int8_t *codes, double *sum_e2,
                                 struct sq_error *err)
{
    struct job p = {options, m, norm, factor, codes};
    SQ_TRY(check(&p, err));
    const size_t scales = sq_sp24_groups(m);
    const unsigned bits = sq_sp24_bits(m);
    for (size_t i = 0; i < m->n * scales; i++) // of groups of padding alone: that of zeros
        m->scale[i] =
            m->group ? sq_scale_from_amax(0, bits) : row_scale(w + i * m->k_orig, m->k_orig, bits);
    if (m->half)
        memset(m->half, 0, m->n * m->k / 2 * sizeof *m->half);
    if (sq_prune24_needs_factor(options)) {
        const struct sq_column_loop loop = {.factor = factor,
                                            .n = m->n,
                                            .block =
                                                options->block ? options->block : SQ_COLUMN_BLOCK,
                                            .begin_row = begin_row,
                                            .column = do_column,
                                            .context = &p};
        SQ_TRY(sq_column_loop_run(&loop, w, sum_e2, err));
    } else {
        if (sum_e2)
            *sum_e2 = NAN;
        SQ_TRY(encode_directly(&p, w, err));
    }
    for (size_t row = 0; row < m->n; row++)
        SQ_TRY(pack(m, row, codes + row * m->k_orig,
                    sq_prune24_needs_factor(options) ? NULL : w + row * m->k_orig, err));
    return SQ_OK;
}
