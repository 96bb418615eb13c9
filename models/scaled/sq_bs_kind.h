// SPDX-License-Identifier: Apache-2.0
// What a kind of block-scaled format (sq_bs.h) decides for itself. All other code of models/
// asks this table and knows no kind, so that a further kind is one file: its functions, and its table.
// tests/unit/scaled/test_bs_kind.c is an example of such a file (RaZeR, whose code of -0 stands for a
// fifth value that each block chooses).
//
// A member that is NULL or 0 is what its comment calls the default. Defaults are slow where they
// concern whole rows, never wrong.
#pragma once

#include "models/scaled/sq_bs.h"

// How the marks of a block are stored (sq_bs_pack.h).
enum sq_bs_marks {
    SQ_BS_UNMARKED, // no element of a block is marked
    SQ_BS_PLACED,   // one, by its place; none in a block of scale code 0
    SQ_BS_SENTINEL, // high_per_block, by code 8 in their place
    SQ_BS_MASKED,   // high_per_block, by a bit for each element
};

// Loops over a row, compiled for a level of the processor (sq_bs_tile.h).
struct sq_bs_loops {
    // Blocks j .. j + n, n <= 16, of a row of x[k_orig]: scales and codes, as choose and encode have
    // them. The marks of kinds with high codes or places are made.
    void (*tile)(struct sq_bs *c, size_t row, size_t j, size_t n, const float *x,
                 const float *global);
    // Marked elements of a kind of one part, in units of the element: x[n] is what their codes
    // would be without a mark. NULL: marks change nothing.
    void (*marked)(const uint8_t *code, const uint8_t *high, const uint8_t *is_high, size_t n,
                   int16_t *x);
    // The integers x[k] of a row of a kind whose values depend on the scale of their block, or on a
    // table. NULL: they are those of f->element.
    void (*scaled)(const struct sq_bs *c, size_t row, int16_t *x);
};
enum sq_bs_level { SQ_BS_PORTABLE, SQ_BS_AVX2, SQ_BS_AVX512, SQ_BS_LEVELS };
extern const struct sq_bs_loops sq_bs_table_loops[SQ_BS_LEVELS]; // TABLE
enum sq_bs_level sq_bs_level(void); // the highest that this processor has

struct sq_bs_kind {
    const char *name; // in messages
    // FOUR_SIX, IF4, RAZER: the table that says it (sq_bs_table.h); TABLE: that of the format; others: NULL
    const struct sq_bs_table *table;
    bool has_two_parts; // marked elements have a scale of their own, and only a code in `high`
    bool is_e8m0;       // scales of blocks, as is_power_of_two makes them too; default: E4M3
    enum sq_bs_marks marks;
    unsigned high_bits; // of what marked elements have in `high`; 0: nothing
    int offset;         // 8: elements are -136..119, and this makes them signed bytes

    // Fields of the format that are not checked for all kinds; NULL: they are good.
    enum sq_status (*check)(const struct sq_bs_format *f, struct sq_error *err);
    // The largest magnitudes that a scale of 1 above the blocks reaches, by part. With marks and one
    // part, limit[1] is that of marked elements; 0: they have no limit of their own. NULL: of part 0
    // the product of its largest element and scale. Not asked where scales are E8M0.
    void (*limits)(const struct sq_bs_format *f, float limit[SQ_BS_PARTS]);
    // Codes of the block's scales. The marks are there where marks are SENTINEL or MASKED; a kind that
    // is PLACED makes its own (sq_bs_mark). amax: the largest magnitudes of n elements, marked ones
    // in part 1.
    void (*choose)(const struct sq_bs_format *f, const float *x, size_t n,
                   const float amax[SQ_BS_PARTS], const float global[SQ_BS_PARTS],
                   struct sq_bs_block *b);
    // The code of x = q * step, step > 0.
    struct sq_bs_code (*encode)(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                                float x, float q);
    float (*element)(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                     struct sq_bs_code c);
    // NULL: c.code is the code of a value of f->element.
    bool (*is_legal)(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                     struct sq_bs_code c);
    // Scales of blocks; NULL: E8M0 or E4M3, without sign and NaN.
    float (*scale)(const struct sq_bs_format *f, unsigned part, uint32_t code);
    bool (*is_scale)(const struct sq_bs_format *f, unsigned part, uint32_t code);
    // The largest magnitude of an element in units of f->element; 0: that of any code of it.
    unsigned most;
    // By level; NULL: element by element.
    const struct sq_bs_loops *loops;
};

// The table of a format; NULL: its kind is code.
static inline const struct sq_bs_table *sq_bs_table_of(const struct sq_bs_format *f)
{
    return f->kind->table ? f->kind->table : f->table;
}

// ---- what kinds share -----------------------------------------------------------------------

// Largest magnitude of an element of the part.
float sq_bs_top(const struct sq_bs_format *f, unsigned part);
// Marks the elements of largest magnitude, sq_bs_n_marks of the n; ties: the lower place.
void sq_bs_mark(const struct sq_bs_format *f, const float *x, size_t n, uint8_t *is_high);
// 1 where x is not above 0.
float sq_bs_positive(float x);
// The exponent of the smallest power of two with most * 2^e >= amax > 0, exactly.
int sq_bs_ceil_exponent(float amax, float most);
// scale[0]: the candidate with the smallest squared error of the n elements, in binary64 by ascending
// index, or in integers (is_error_integer); ties: the first.
void sq_bs_least_error(const struct sq_bs_format *f, const float *x, size_t n,
                       const float global[SQ_BS_PARTS], const uint8_t *candidate,
                       size_t n_candidates, struct sq_bs_block *b);
// A code of SQ, where the pattern of -0 is no value.
uint8_t sq_bs_code_without_minus_zero(enum sq_element e, float x);
