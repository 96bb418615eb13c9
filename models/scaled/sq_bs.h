// SPDX-License-Identifier: Apache-2.0
// Block-scaled formats (SPEC Q): a row of K is blocks of 16 or 32 consecutive elements, and a block
// has a scale of 8 bits of its own. Weights [N][K] and activations [M][K] alike.
//
//   kind   element             block  scale of a block           scale above it
//   MX     E2M1..E5M2, MXINT8  32     E8M0, rule ocp or ceil      none                         Q.2
//   PLUS   E2M1                32     E8M0, ocp; the largest      none                     [R] Q.4
//                                     element is 1.3 fixed point
//   NV     E2M1, INT4, INT5    16     E4M3, times the global      one of the tensor or token   Q.3
//   SQ     INT4 with INT8 or   16, 32 E4M3 of the low part;       the same; high part `own`:   Q.5
//          E2M1 with E4M3             high part own or of the     one of the row or token
//                                     block
//   SPLIT  16 H + L, -136..119 16, 32 one step for both, E4M3     the same; power of two: none
//                                     or a power of two
//   46     E2M1                16     as NV, for 6 or for 4, by   the same                     Q.3
//                                     squared error
//   IF4    E2M1 or INT4, of    16     E4M3; its sign says which   the same                 [R] Q.5c
//          each block
//   RAZER  E2M1 and a fifth    16     E4M3; its sign is that of   the same                 [R] Q.5c
//          value, +5 or -5            the fifth value
//   TABLE  what sq_bs_table.h says: grids, lengths of 8 to 256, exponents of sub-blocks          Q.9
//
// What a kind decides about a block is a table of functions (sq_bs_kind.h): all else is the same
// for all kinds. So a further kind is one file.
//
// A part is what shares a scale: part 0 is all elements or the low ones, part 1 the high ones of
// SQ. A block's step is (float)scale * global, rounded once; an element's
// value is (float)element * step, rounded once.
//
// Nothing here allocates: the caller owns the buffers.
#pragma once

#include <stddef.h>

#include "models/scaled/sq_element.h"
#include "models/sq_status.h"

struct sq_bs_kind;
extern const struct sq_bs_kind sq_bs_mx, sq_bs_plus, sq_bs_nv, sq_bs_four_six, sq_bs_sq,
    sq_bs_split, sq_bs_if4, sq_bs_razer, sq_bs_of_table;
#define SQ_BS_MX (&sq_bs_mx)
#define SQ_BS_PLUS (&sq_bs_plus)
#define SQ_BS_NV (&sq_bs_nv)
#define SQ_BS_FOUR_SIX (&sq_bs_four_six)
#define SQ_BS_SQ (&sq_bs_sq)
#define SQ_BS_SPLIT (&sq_bs_split)
#define SQ_BS_IF4 (&sq_bs_if4)
#define SQ_BS_RAZER (&sq_bs_razer)
#define SQ_BS_TABLE (&sq_bs_of_table)

enum sq_bs_rule { SQ_BS_OCP, SQ_BS_CEIL };
enum { SQ_BS_BLOCK_MAX = 256, SQ_BS_PARTS = 2, SQ_BS_SUBS = 64, SQ_BS_APART = 4 };

struct sq_bs_format {
    const struct sq_bs_kind *kind;
    const struct sq_bs_table *table; // TABLE: settled; the caller's
    enum sq_element element;         // SQ, SPLIT: the low one; not of TABLE
    unsigned block;                  // 16 or 32; TABLE: its length
    enum sq_bs_rule rule;            // MX
    unsigned high_per_block;         // SQ, SPLIT: 1..block/2
    bool is_high_block;              // SQ: high elements at a scale of their block, else of the row
    bool is_power_of_two;            // SPLIT: the step
    bool is_by_maximum; // SPLIT: the smallest step at which nothing clips, else by error
    bool is_searched;   // NV: the scale of a block by squared error, Q.5c; else by its largest
    // Scales above the blocks are powers of two (Q.5b, token2), so that an encoder subtracts
    // exponents where it would divide.
    bool is_global_power_of_two;
    // NV with is_searched, 46, IF4, RAZER: squared errors are compared in integers (Q.5d), as the encoder
    // in hardware does it. Needs scales above the blocks that are powers of two.
    bool is_error_integer;
    bool is_apart; // TABLE: minima stand in blocks of their own (sq_bs_take_apart)
};

// SQ_ERR_UNSUPPORTED, SQ_ERR_RANGE with the field.
enum sq_status sq_bs_check(const struct sq_bs_format *f, struct sq_error *err);
unsigned sq_bs_n_parts(const struct sq_bs_format *f);   // 1 or 2
unsigned sq_bs_n_marks(const struct sq_bs_format *f);   // marked elements of a block, is_high
unsigned sq_bs_code_bits(const struct sq_bs_format *f); // of an element in the dense plane
unsigned sq_bs_sub_bits(const struct sq_bs_format *f);  // of a block beside codes and scale; TABLE
unsigned
sq_bs_n_subs(const struct sq_bs_format *f); // bytes of sub[] of a block, 0 without sub bits
unsigned sq_bs_high_bits(const struct sq_bs_format *f); // of what a marked one has in `high`, or 0
enum sq_element sq_bs_high_element(const struct sq_bs_format *f); // SQ: INT8 or E4M3
bool sq_bs_is_e8m0(const struct sq_bs_format *f);                 // the scale of a block; else E4M3
// Whether part p has a scale above that of its blocks, and whether a block has one of part p.
bool sq_bs_has_global(const struct sq_bs_format *f, unsigned part);
bool sq_bs_has_scale(const struct sq_bs_format *f, unsigned part);
// What a code of a block's scale stands for, and whether it stands for something.
float sq_bs_scale(const struct sq_bs_format *f, unsigned part, uint32_t code);
bool sq_bs_is_scale(const struct sq_bs_format *f, unsigned part, uint32_t code);
unsigned sq_bs_scale_nbytes(const struct sq_bs_format *f); // of a code: 1, 2 or 4
// Whether the code of a block's scale says what its elements stand for as well (IF4, RAZER), by the
// bit SQ_BS_SCALE_SIGN.
enum { SQ_BS_SCALE_SIGN = 0x80 };
bool sq_bs_has_scale_sign(const struct sq_bs_format *f);
// Stored bits of an element without what is above the blocks: 4.25 of mxfp4, SPEC Q.5 of SQ.
double sq_bs_bits(const struct sq_bs_format *f);

// ---- one block ------------------------------------------------------------------------------

// What is chosen before its elements are rounded.
struct sq_bs_block {
    uint32_t scale[SQ_BS_PARTS]; // codes
    float step[SQ_BS_PARTS];     // 0: all elements of the part are 0
    float offset;                // TABLE: added to the values (sq_bs_table.h), else 0
    uint8_t is_high
        [SQ_BS_BLOCK_MAX]; // SQ, SPLIT: k of them; PLUS: the largest; TABLE, as chosen: those not kept
    uint8_t sub[SQ_BS_SUBS]; // TABLE: of each smallest sub-block (sq_bs_table.h)
};

// The scales above the blocks from the largest magnitudes by part (those of the k highest of a
// block in part 1, which split codes have as well); 1 where there is none, or all is 0.
void sq_bs_globals_of(const struct sq_bs_format *f, const float amax[SQ_BS_PARTS],
                      float global[SQ_BS_PARTS]);
// Chooses the scales and the high elements of a block whose real elements are x[n], finite; the others
// are 0 and never chosen as high while a real one is left.
void sq_bs_choose(const struct sq_bs_format *f, const float *x, size_t n,
                  const float global[SQ_BS_PARTS], struct sq_bs_block *b);
// The step again, from the codes of the scales.
void sq_bs_steps(const struct sq_bs_format *f, const float global[SQ_BS_PARTS],
                 struct sq_bs_block *b);

// An element of it: `code` as stored in the dense plane, 0 for a high one of two parts; `high` for
// high elements, 0 otherwise.
struct sq_bs_code {
    uint8_t code, high;
};
struct sq_bs_code sq_bs_encode(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                               float x);
// What is multiplied, exact: E2M1 5.0, INT4 -7, split 16 H + L. Of element i of the block, whose
// scales and marks may matter, but no steps. And whether an encoder may write it.
float sq_bs_element(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                    struct sq_bs_code c);
bool sq_bs_is_legal(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                    struct sq_bs_code c);
// The same times the step.
float sq_bs_value(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                  struct sq_bs_code c);

// ---- rows -----------------------------------------------------------------------------------

struct sq_bs {
    struct sq_bs_format f;
    size_t n, k, k_orig; // rows; columns, whole blocks; those of them that are real
    uint8_t *code;       // [n][k]
    uint8_t *high;       // [n][k]; NULL without high bits
    uint8_t *is_high;    // [n][k]; NULL without marks
    uint8_t *sub;        // [n][k / block][sq_bs_n_subs]; NULL without sub bits
    // [n][k / block] codes of sq_bs_scale_nbytes, little-endian; part 1: NULL unless of the block
    uint8_t *scale[SQ_BS_PARTS];
    float *global[SQ_BS_PARTS]; // [n]; part 1: NULL where there is one part
};

size_t sq_bs_padded(const struct sq_bs_format *f, size_t k_orig);
uint32_t sq_bs_scale_at(const struct sq_bs *c, unsigned part, size_t i); // of block i of all rows

// Globals of rows [0, n) of x[n][k_orig]. `is_tensor`: those of the low part, and of high ones with
// a scale of the block, are of all rows together. Marks high elements. SQ_ERR_NON_FINITE with the
// place.
enum sq_status sq_bs_globals(struct sq_bs *c, const float *x, bool is_tensor, struct sq_error *err);
// Row `row` of x[k_orig], by the globals in *c. In two steps: the marks of high elements, which are
// those of sq_bs_globals too, and all that follows from them.
void sq_bs_encode_row(struct sq_bs *c, size_t row, const float *x);
void sq_bs_mark_row(struct sq_bs *c, size_t row, const float *x);
void sq_bs_encode_marked(struct sq_bs *c, size_t row, const float *x);
// Block j of a row, without its steps; block and elements back into it.
void sq_bs_get_block(const struct sq_bs *c, size_t row, size_t j, struct sq_bs_block *b);
void sq_bs_put_block(struct sq_bs *c, size_t row, size_t j, const struct sq_bs_block *b);
struct sq_bs_code sq_bs_get(const struct sq_bs *c, size_t row, size_t i);
// Elements of block j, f.block floats, as they are multiplied; behind the last real one 0 where a table has
// codes of no 0 there.
void sq_bs_elements(const struct sq_bs *c, size_t row, size_t j, float *out);
void sq_bs_put(struct sq_bs *c, size_t row, size_t i, struct sq_bs_code code);
// Block j of a row as values, f.block floats; one row, k floats.
void sq_bs_decode_block(const struct sq_bs *c, size_t row, size_t j, float *out);
void sq_bs_decode_row(const struct sq_bs *c, size_t row, float *out);

// Rows with minima as products of codes take them: four blocks without a minimum in place of each (SPEC Q.9). *to has the
// memory and the format of c with is_apart; n rows of 4 k columns.
void sq_bs_take_apart(const struct sq_bs *c, bool is_weight, struct sq_bs *to);

// Hadamard rotation (SPEC Q.6): every n elements of x[k] times H / sqrt(n); n = 16 or 32 divides k.
// Butterflies of distance 1, 2, .. n/2, each sum rounded; then one product with (float)(1/sqrt(n)).
void sq_bs_rotate(float *x, size_t k, unsigned n);
// The same in integers with one exponent, as a unit in front of an encoder does it; n = 4 or 16, bits
// 9..16. Of every n elements, e the exponent of the largest, and at least bits - 126, so that no
// result is subnormal:
//
//   step = 2^(e - bits + 2)
//   q    = x / step to the nearest, halves away from zero, |q| < 2^(bits-1)
//   y    = (sum of +-q) * step / sqrt(n), exact
//
// An element that is not finite makes all n of them not a number.
enum { SQ_BS_ROTATE_BITS = 10 }; // those of the formats, and of the unit that areas are of
void sq_bs_rotate_integer(float *x, size_t k, unsigned n, unsigned bits);

// ---- products (SPEC Q.7) --------------------------------------------------------------------

// Y[m][n] = X W^T, for pairs (p, q) of parts of w and x, (0,0), (1,0), (0,1), (1,1), in this order:
//
//   P[j]  = sum over block j of element products of the parts: exact
//   A[pq] = fl(A[pq] + fl((float)P[j] * fl(s_w[j] * s_x[j])))   blocks ascending, binary32
//   Y     = fl(Y + fl(A[pq] * fl(g_w * g_x)))
//
// (float)P is rounded to nearest even. Products of E4M3 scales are exact; of E8M0 scales exponents
// are added, whatever binary32 could hold. fl(g_w * g_x) has the significand of binary32 and an
// exponent of any size: it neither overflows nor underflows. A scale that a part does not have is
// 1. Operands of one block, number of parts and k (asserted).
struct sq_bs_product {
    const struct sq_bs *w, *x;
    const void *panels; // what sq_bs_load made of all of w; NULL: of each panel in turn, in scratch
    float *y;           // [x->n][w->n]
    unsigned kernel; // enum sq_gemm_kernel: 0, the fastest of this processor; all have one result
};

// The weights of a layer as the loops take them, once for many products: sq_bs_panels bytes for
// all, and each panel of SQ_BS_PANEL rows by a call, in any order and thread; sq_bs_load_scratch
// bytes each. Of x the format is read; NULL: that of w. Memory is 64-byte aligned.
enum { SQ_BS_PANEL = 32 };
size_t sq_bs_panels(const struct sq_bs_product *g);
size_t sq_bs_load_scratch(const struct sq_bs_product *g);
void sq_bs_load(const struct sq_bs_product *g, size_t panel, void *panels, void *scratch);

// Y of all tokens of x. What a benchmark calls: the panels once a layer, then this, which lays out
// the codes of the tokens itself. Scratch: sq_bs_gemm_scratch bytes, 64-byte aligned.
size_t sq_bs_gemm_scratch(const struct sq_bs_product *g);
void sq_bs_gemm(const struct sq_bs_product *g, void *scratch);
