// SPDX-License-Identifier: Apache-2.0
// sq_array_scaled: block-scaled formats, a block of every line per cycle.
#include <stdlib.h>

#include "models/output/sq_combine.h"
#include "models/scaled/sq_bs_accumulate.h"
#include "models/scaled/sq_scaled.h"
#include "sim/block/flow/sq_case.h"
#include "sim/block/flow/sq_pipeline.h"
#include "sim/block/scaled/sq_array_scaled_draw.h"
#include "sim/block/scaled/sq_engine_scaled_golden.h"

#include "sim/block/scaled/sq_array_scaled.block.h"

// ---- output ---------------------------------------------------------------------------------

static void product_float(const unsigned *v, const struct sq_es_operand *x,
                          const struct sq_es_operand *w, int32_t *out)
{
    const size_t pes = (size_t)v[ROWS] * v[COLS];
    const struct sq_sum_rule r = sq_scaled_rule(v[ACC], v[ACC_W], v[BANK]);
    const bool is_aligned = v[ACC] >= SQ_SCALED_ALIGNED;
    double *const sum = calloc(pes, sizeof *sum);
    float *y = calloc(pes, sizeof *y);
    const struct sq_bs_product g = {.w = &w->c, .x = &x->c, .y = y};
    void *scratch = aligned_alloc(64, (sq_bs_gemm_scratch(&g) + 63) / 64 * 64);
    if (!y || !scratch || !sum || (is_aligned && !sq_bs_accumulate(&r, &w->c, &x->c, sum)))
        abort();
    if (!is_aligned)
        sq_bs_gemm(&g, scratch);
    for (size_t i = 0; i < pes; i++)
        out[i] = (int32_t)sq_combine_bits(is_aligned ? (float)sum[i] : y[i]);
    free(sum);
    free(y);
    free(scratch);
}

// A total as sq_acc_fixed has it after one more block: with carries that are saved, what stands in the segments
// and, above acc_w bits, in the carries.
static uint64_t add_fixed(uint64_t y, int64_t block, unsigned acc_w, unsigned carry)
{
    const unsigned segment = carry ? carry : acc_w;
    uint64_t to = 0;
    for (unsigned at = 0, n = 0; at < acc_w; at += segment, n++) {
        const uint64_t mask = UINT64_MAX >> (64 - (acc_w - at < segment ? acc_w - at : segment));
        const uint64_t carried = at > 0 ? y >> (acc_w + n - 1) & 1 : 0;
        const uint64_t sum = (y >> at & mask) + ((uint64_t)block >> at & mask) + carried;
        to |= (sum & mask) << at;
        if (at + segment < acc_w)
            to |= (sum > mask) * (UINT64_C(1) << (acc_w + n));
    }
    return to;
}

static void product_fixed(const unsigned *v, const struct sq_es_layout *l,
                          const struct sq_es_operand *x, const struct sq_es_operand *w,
                          int32_t *out)
{
    const size_t pes = (size_t)v[ROWS] * v[COLS], k = x->c.k;
    const size_t beat = (size_t)v[BANK] * l->act.per_line;
    int64_t *const a = sq_es_integers(x, &l->act), *const b = sq_es_integers(w, &l->weight);
    for (size_t pe = 0; pe < pes; pe++) {
        const size_t r = pe / v[COLS], c = pe % v[COLS];
        uint64_t y = 0;
        int64_t term = 0, y_high = 0;
        for (size_t i = 0; i < k; i++) {
            term += a[r * k + i] * b[c * k + i];
            if (v[OWN] && x->c.is_high[r * k + i])
                y_high += (int8_t)x->c.high[r * k + i] *
                          sq_scaled_integer(&w->c, l->weight.element, c, i);
            if ((i + 1) % beat != 0)
                continue;
            y = add_fixed(y, term, v[ACC_W], v[CARRY]);
            term = 0;
        }
        if (!v[CARRY]) // the sign
            y = (uint64_t)((int64_t)(y << (64 - v[ACC_W])) >> (64 - v[ACC_W]));
        out[pe] = (int32_t)(uint32_t)y;
        out[pes + pe] = (int32_t)(uint32_t)(y >> 32);
        out[2 * pes + pe] = (int32_t)(uint32_t)y_high;
    }
    free(a);
    free(b);
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    struct sq_ports p;
    const struct sq_es_layout l = sq_array_scaled_layout(v, &p);
    struct sq_es_operand x, w;
    sq_es_load(v, &l, &l.act, in->record, l.len, in->len[0], 1, &x);
    sq_es_load(v, &l, &l.weight, in->record, l.len, in->len[0], 1, &w);
    if (v[ACC] == SQ_SCALED_FIXED)
        product_fixed(v, &l, &x, &w, out);
    else
        product_float(v, &x, &w, out);
    out[3 * v[ROWS] * v[COLS]] = (int32_t)(x.errors | w.errors);
    sq_es_free(&x);
    sq_es_free(&w);
    return 1;
}

static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    struct sq_ports p;
    sq_array_scaled_ports(v, &p);
    return way == 0 && sq_cut_to_last(sq_field_offset(p.in, p.n_in), record, len);
}

static void init(const unsigned *v, void *state)
{
    struct sq_chain *c = state;
    sq_pipeline_init(&c->back, SQ_TIMING_ARRAY,
                     sq_array_scaled_stages(sq_scaled_tail_stages(v[ACC], v[CUT]), v[HIGH] > 0));
    c->back.in_place = sq_scaled_tail_stays(v[ACC], v[CARRY]);
}

static const char *source(const unsigned *v, FILE *out)
{
    return sq_scaled_write_source(v, v[ACT_ELEMENT], v[WEIGHT_ELEMENT], out);
}

// Exact sums are as wide as those of the largest layer.
static enum sq_status settle(unsigned *v, const unsigned *old, uint32_t given, struct sq_error *err)
{
    (void)given;
    if (v[TWO] && v[HIGH] > 0)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "HighPerBank = %u, need 0: two blocks a beat have no high elements",
                       v[HIGH]);
    if (v[BANK] == old[BANK] && v[HIGH] == old[HIGH])
        return SQ_OK;
    if (v[ACC] == SQ_SCALED_FIXED)
        v[ACC_W] = sq_scaled_sum_bits(
            sq_scaled_limit(v[ACT_ELEMENT], v[WEIGHT_ELEMENT], v[ACT_SCALE], v[WEIGHT_SCALE],
                            v[BANK], sq_array_scaled_has_mask(v) ? v[HIGH] : 0, SQ_K_MAX));
    if (v[OWN])
        v[HIGH_ACC_W] = sq_scaled_sum_bits((int64_t)SQ_K_MAX / v[BANK] * v[HIGH] * 128 *
                                           sq_scaled_element_max(v[WEIGHT_ELEMENT]));
    return SQ_OK;
}
