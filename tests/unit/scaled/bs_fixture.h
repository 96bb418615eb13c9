// SPDX-License-Identifier: Apache-2.0
// Block-scaled operands with memory of their own, and every format there is of them.
#pragma once

#include "models/scaled/sq_bs_pack.h"
#include "tests/unit/fixture.h"

#define MX(element_, rule_)                                                                        \
    {                                                                                              \
        .kind = SQ_BS_MX, .element = SQ_ELEMENT_##element_, .block = 32, .rule = SQ_BS_##rule_     \
    }
#define INTEGER(kind_, element_, ...)                                                              \
    {                                                                                              \
        .kind = SQ_BS_##kind_, .element = SQ_ELEMENT_##element_, .block = 16,                      \
        .is_global_power_of_two = true, .is_error_integer = true, __VA_ARGS__                      \
    }
#define NV(element_)                                                                               \
    {                                                                                              \
        .kind = SQ_BS_NV, .element = SQ_ELEMENT_##element_, .block = 16                            \
    }
#define SQ(kind_, element_, block_, k_, ...)                                                       \
    {                                                                                              \
        .kind = SQ_BS_##kind_, .element = SQ_ELEMENT_##element_, .block = (block_),                \
        .high_per_block = (k_), __VA_ARGS__                                                        \
    }
static const struct sq_bs_format bs_formats[] = {
    MX(E2M1, OCP),
    MX(E2M1, CEIL),
    MX(E2M3, OCP),
    MX(E2M3, CEIL),
    MX(E3M2, OCP),
    MX(E3M2, CEIL),
    MX(E4M3, OCP),
    MX(E4M3, CEIL),
    MX(E5M2, OCP),
    MX(E5M2, CEIL),
    MX(MXINT8, OCP),
    MX(MXINT8, CEIL),
    {.kind = SQ_BS_PLUS, .element = SQ_ELEMENT_E2M1, .block = 32},
    NV(E2M1),
    {.kind = SQ_BS_FOUR_SIX, .element = SQ_ELEMENT_E2M1, .block = 16},
    NV(INT4),
    NV(INT5),
    SQ(SQ, INT4, 32, 1, .is_high_block = false),
    SQ(SQ, INT4, 16, 2, .is_high_block = true),
    SQ(SQ, E2M1, 32, 4, .is_high_block = false),
    SQ(SQ, E2M1, 16, 1, .is_high_block = true),
    SQ(SQ, E2M1, 32, 16, .is_high_block = true), // block sums of more than 24 bits
    SQ(SPLIT, INT4, 32, 4, .is_by_maximum = false),
    SQ(SPLIT, INT4, 16, 2, .is_by_maximum = true),
    SQ(SPLIT, INT4, 16, 1, .is_power_of_two = true),
    SQ(SPLIT, INT4, 32, 8, .is_power_of_two = true, .is_by_maximum = true),
    {.kind = SQ_BS_NV, .element = SQ_ELEMENT_E2M1, .block = 16, .is_searched = true},
    {.kind = SQ_BS_NV, .element = SQ_ELEMENT_INT4, .block = 16, .is_searched = true},
    {.kind = SQ_BS_NV, .element = SQ_ELEMENT_INT5, .block = 32, .is_searched = true},
    {.kind = SQ_BS_NV, .element = SQ_ELEMENT_E2M1, .block = 16, .is_global_power_of_two = true},
    INTEGER(NV, E2M1, .is_searched = true),
    INTEGER(NV, INT4, .is_searched = true),
    INTEGER(FOUR_SIX, E2M1, .is_searched = false),
    INTEGER(IF4, E2M1, .is_searched = false),
    INTEGER(RAZER, E2M1, .is_searched = false),
    {.kind = SQ_BS_RAZER, .element = SQ_ELEMENT_E2M1, .block = 16},
    {.kind = SQ_BS_IF4, .element = SQ_ELEMENT_E2M1, .block = 16},
    SQ(SQ, INT4, 32, 1, .is_global_power_of_two = true),
    SQ(SQ, INT4, 16, 2, .is_high_block = true, .is_global_power_of_two = true),
    SQ(SPLIT, INT4, 16, 2, .is_global_power_of_two = true),
};
#undef INTEGER
#undef MX
#undef NV
#undef SQ

// All bytes 0.
static inline struct sq_bs bs_alloc(const struct sq_bs_format *f, size_t n, size_t k_orig)
{
    struct sq_bs c = {.f = *f, .n = n, .k = sq_bs_padded(f, k_orig), .k_orig = k_orig};
    const size_t blocks = c.k / f->block;
    c.code = fixture_zeros(n, c.k);
    c.high = sq_bs_high_bits(f) > 0 ? fixture_zeros(n, c.k) : NULL;
    c.is_high = sq_bs_n_marks(f) > 0 ? fixture_zeros(n, c.k) : NULL;
    for (unsigned p = 0; p < SQ_BS_PARTS; p++) {
        c.scale[p] = sq_bs_has_scale(f, p) ? fixture_zeros(n, blocks) : NULL;
        c.global[p] = p < sq_bs_n_parts(f) ? fixture_zeros(n, sizeof(float)) : NULL;
    }
    return c;
}

static inline void bs_encode(struct sq_bs *c, const float *x, bool is_tensor)
{
    assert_ok(sq_bs_check(&c->f, NULL));
    assert_ok(sq_bs_globals(c, x, is_tensor, NULL));
    for (size_t row = 0; row < c->n; row++)
        sq_bs_encode_row(c, row, x + row * c->k_orig);
}
