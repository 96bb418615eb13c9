// SPDX-License-Identifier: Apache-2.0
// Blocks of 16 at an E4M3 scale (SPEC Q.3): NV, whose largest element becomes the largest of its
// format, or whose scale is searched for (Q.5c).
#include <math.h>

#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_tile.h"

// Candidates of a search: the code by the largest element, then its neighbours by ascending code, held
// to 0 .. 448. With errors in integers those alone that are at most two below.
enum { BELOW = 6, ABOVE = 4, CANDIDATES = 1 + BELOW + ABOVE, BELOW_INTEGER = 2, LAST = 0x7e };

INLINE unsigned n_candidates(bool is_integer)
{
    return is_integer ? 1 + BELOW_INTEGER : CANDIDATES;
}

INLINE int32_t candidate_of(int32_t code, unsigned i, bool is_integer)
{
    const int32_t below = is_integer ? BELOW_INTEGER : BELOW;
    const int32_t to = i == 0 ? 0 : (int32_t)i - 1 - below, c = code + to + ((int32_t)i > below);
    return c < 0 ? 0 : c > LAST ? LAST : c;
}

static enum sq_status nv_check(const struct sq_bs_format *f, struct sq_error *err)
{
    if (f->is_searched && f->element != SQ_ELEMENT_E2M1 && f->element != SQ_ELEMENT_INT4 &&
        f->element != SQ_ELEMENT_INT5)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "element = %s, need e2m1, int4 or int5 to search",
                       sq_element_name(f->element));
    if (f->is_error_integer && f->element == SQ_ELEMENT_INT5)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "element = int5, need e2m1 or int4 for errors in integers");
    return SQ_OK;
}

static void nv_choose(const struct sq_bs_format *f, const float *x, size_t n,
                      const float amax[SQ_BS_PARTS], const float global[SQ_BS_PARTS],
                      struct sq_bs_block *b)
{
    uint8_t candidate[CANDIDATES];
    b->scale[0] = sq_e4m3_encode(amax[0] / sq_bs_top(f, 0) / global[0]);
    const unsigned tries = n_candidates(f->is_error_integer);
    for (unsigned i = 0; i < tries; i++)
        candidate[i] = (uint8_t)candidate_of((int32_t)b->scale[0], i, f->is_error_integer);
    if (f->is_searched)
        sq_bs_least_error(f, x, n, global, candidate, tries, b);
}

INLINE float nv_e2m1(const struct sq_bs_tile *t, unsigned i, unsigned l, float step)
{
    return sq_bs_e2m1_value(
        sq_bs_code_of(SQ_ELEMENT_E2M1, sq_bs_quotient(t->x[i][l], step), false));
}

INLINE float nearest_integer(float q, float most)
{
    const float r = rintf(q);
    return r > most ? most : r < -most ? -most : r;
}

INLINE float nv_int4(const struct sq_bs_tile *t, unsigned i, unsigned l, float step)
{
    return nearest_integer(sq_bs_quotient(t->x[i][l], step), 7);
}

INLINE float nv_int5(const struct sq_bs_tile *t, unsigned i, unsigned l, float step)
{
    return nearest_integer(sq_bs_quotient(t->x[i][l], step), 15);
}

INLINE void nv_search(enum sq_element e, bool is_integer, struct sq_bs_tile *t, unsigned block,
                      float global)
{
    struct sq_bs_least best = {{0}, {0}, {0}};
    int32_t by_maximum[LANES];
    memcpy(by_maximum, t->scale[0], sizeof by_maximum);
    for (unsigned i = 0; i < n_candidates(is_integer); i++) {
        int32_t scale[LANES];
        float step[LANES];
        for (unsigned l = 0; l < LANES; l++) {
            scale[l] = candidate_of(by_maximum[l], i, is_integer);
            step[l] = sq_bs_e4m3_value(scale[l]) * global;
        }
        sq_bs_least_start(&best, i, scale, step);
        if (is_integer)
            sq_bs_integer_try(t, block, e == SQ_ELEMENT_E2M1 ? SQ_BS_OF_E2M1 : SQ_BS_OF_INT4, scale,
                              step, ilogbf(global), &best);
        else if (e == SQ_ELEMENT_E2M1)
            sq_bs_least_try(t, block, nv_e2m1, scale, step, &best);
        else if (e == SQ_ELEMENT_INT4)
            sq_bs_least_try(t, block, nv_int4, scale, step, &best);
        else
            sq_bs_least_try(t, block, nv_int5, scale, step, &best);
    }
    sq_bs_least_take(t, &best);
}

INLINE void nv_tile(const struct sq_bs_format *f, struct sq_bs_tile *t, unsigned block,
                    const float *global)
{
    sq_bs_tile_amax(t, block, false);
    sq_bs_tile_scales(t, 0, sq_element_max(f->element), global[0]);
    if (f->is_searched && f->is_error_integer && f->element == SQ_ELEMENT_E2M1)
        nv_search(SQ_ELEMENT_E2M1, true, t, block, global[0]);
    else if (f->is_searched && f->is_error_integer)
        nv_search(SQ_ELEMENT_INT4, true, t, block, global[0]);
    else if (f->is_searched && f->element == SQ_ELEMENT_E2M1)
        nv_search(SQ_ELEMENT_E2M1, false, t, block, global[0]);
    else if (f->is_searched && f->element == SQ_ELEMENT_INT4)
        nv_search(SQ_ELEMENT_INT4, false, t, block, global[0]);
    else if (f->is_searched)
        nv_search(SQ_ELEMENT_INT5, false, t, block, global[0]);
    sq_bs_tile_elements(f->element, t, block);
}

SQ_BS_LOOPS(nv_loops, nv_tile)

const struct sq_bs_kind sq_bs_nv = {
    .name = "nv",
    .check = nv_check,
    .choose = nv_choose,
    .encode = sq_bs_plain_encode,
    .element = sq_bs_plain_element,
    .loops = nv_loops,
};
