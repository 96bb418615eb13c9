// SPDX-License-Identifier: Apache-2.0
// Kernel traces of sq_w: encoding and product; the core takes its operands.
#include <string.h>

#include "models/sq_mac.h"
#include "sim/format/sq_kernel_trace.h"

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

static enum sq_status values(struct sq_replay *r, struct sq_error *err)
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

static const struct sq_route routes[] = {
    {NULL, NULL, NULL},
};

const struct sq_format_trace sq_w_trace = {NULL, NULL, values, routes, 1};
