// SPDX-License-Identifier: Apache-2.0
// ggml's block formats as values: what a GGUF file holds. (Q4_K has a header of its own, sq_q4k.h,
// since a format of this project is made of it.)
//
//   type  values bytes  a block                                              a value
//   Q8_0    32    34    d f16; 32 codes, two's complement                    q d
//   Q4_0    32    18    d f16; 16 bytes of nibbles                           d (q - 8)
//   Q4_1    32    20    d, m f16; 16 bytes of nibbles                        d q + m
//   Q5_0    32    22    d f16; 32 fifth bits; 16 bytes of nibbles            d (q - 16)
//   Q5_1    32    24    d, m f16; 32 fifth bits; 16 bytes of nibbles         d q + m
//   Q4_K   256   144    sq_q4k.h                                             D q - Mn
//   Q5_K   256   176    d, dmin, scales, minima as Q4_K; 32 bytes of fifth
//                       bits, bit j of byte l for value 32j + l; nibbles     D q - Mn
//   Q6_K   256   210    128 bytes of nibbles, 64 bytes of upper bits,
//                       16 scales of 8 bits, d f16                           (d sc) (q - 32)
//   Q2_K   256    84    16 bytes: scale below minimum; 64 bytes of codes of
//                       2 bits; d, dmin f16                                  (d sc) q - (dmin m)
//   Q3_K   256   110    32 bytes of third bits, 64 bytes of two bits, 12 of
//                       scales of 6 bits, d f16                              (d (sc - 32)) (q - 4)
//   TQ1_0  256    54    52 bytes of up to five digits of base 3, d f16       d (q - 1)
//   TQ2_0  256    66    64 bytes of codes of 2 bits, d f16                   d (q - 1)
//   IQ4_NL  32    18    d f16; 16 bytes of nibbles                           d table[q]
//   IQ4_XS 256   136    d f16; upper, lower bits of 8 scales; nibbles        (d (sc - 32)) table[q]
//   MXFP4   32    17    E8M0; 16 bytes of nibbles, E2M1                      2^(e - 128) (2 v)
//   NVFP4   64    36    4 scales of E4M3 without sign; of each block of 16
//                       8 bytes of nibbles, value 8 + l in the high one      (s / 2) (2 v)
//
// Nibbles of the blocks of 32: value l in the low nibble of byte l, value 16 + l in the high one.
// Each operation is one binary32 rounding, in the order written: equal to ggml and to the Python
// package gguf, bit by bit. All bits are free: a scale that is NaN or infinite gives such values.
// Nothing here allocates.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SQ_GGML_LEN = 32, SQ_GGML_K_LEN = 256, SQ_GGML_SUBS = 16 };
enum {
    SQ_GGML_Q8_0_NBYTES = 34,
    SQ_GGML_Q4_0_NBYTES = 18,
    SQ_GGML_Q4_1_NBYTES = 20,
    SQ_GGML_Q5_0_NBYTES = 22,
    SQ_GGML_Q5_1_NBYTES = 24,
    SQ_GGML_Q4_K_NBYTES = 144,
    SQ_GGML_Q5_K_NBYTES = 176,
    SQ_GGML_Q6_K_NBYTES = 210,
    SQ_GGML_Q2_K_NBYTES = 84,
    SQ_GGML_Q3_K_NBYTES = 110,
    SQ_GGML_TQ1_0_NBYTES = 54,
    SQ_GGML_TQ2_0_NBYTES = 66,
    SQ_GGML_IQ4_NL_NBYTES = 18,
    SQ_GGML_IQ4_XS_NBYTES = 136,
    SQ_GGML_MXFP4_NBYTES = 17,
    SQ_GGML_NVFP4_NBYTES = 36,
    SQ_GGML_NVFP4_LEN = 64,
};

// One block at `in` into its 32, 64 or 256 values.
typedef void sq_ggml_decode(const uint8_t *in, float *v);
sq_ggml_decode sq_ggml_tq1_0, sq_ggml_tq2_0, sq_ggml_iq4_nl, sq_ggml_iq4_xs;
sq_ggml_decode sq_ggml_mxfp4, sq_ggml_nvfp4;

// A type whose values are (code - middle) * d, with a minimum plus m; of superblocks d is multiplied by the scale of each
// `group` values less scale_middle, and m by their minimum, which is subtracted.
struct sq_ggml_block {
    uint16_t d, m;                                  // binary16; m only with a minimum
    uint8_t scale[SQ_GGML_SUBS], min[SQ_GGML_SUBS]; // of superblocks
    uint8_t code[SQ_GGML_K_LEN];
};
struct sq_ggml_type {
    unsigned length, group; // values of a block, and those that share a scale
    unsigned bits;          // of a code
    int middle;
    unsigned scale_bits; // of a scale or minimum of a superblock; 0: there is none
    int scale_middle;
    bool has_min;
    void (*unpack)(const struct sq_ggml_type *t, const uint8_t *in, struct sq_ggml_block *b);
};
extern const struct sq_ggml_type sq_ggml_as_q8_0, sq_ggml_as_q4_0, sq_ggml_as_q4_1, sq_ggml_as_q5_0,
    sq_ggml_as_q5_1, sq_ggml_as_q4_k, sq_ggml_as_q5_k, sq_ggml_as_q6_k, sq_ggml_as_q2_k,
    sq_ggml_as_q3_k;
// The t->length values of one block at `in`.
void sq_ggml_values(const struct sq_ggml_type *t, const uint8_t *in, float *v);

// Code i of a block whose nibbles are stored half a block apart, the first half in the low bits.
unsigned sq_ggml_nibble(const uint8_t *nibbles, unsigned length, unsigned i);
