// SPDX-License-Identifier: Apache-2.0
// The two parameter sets everything else is built from: the format (what is stored) and the core
// (what multiplies it). One definition each; RTL parameters, CLI options and file metadata are
// derived from these fields.
#pragma once

#include "models/sq_status.h"

#define SQ_BANK_MIN 4u
#define SQ_BANK_MAX 128u

// SQ(h_high, h_low, b, s) with scale group G: SPEC A.2, A.6.
struct sq_format {
    unsigned high_bits;     // 8 or 4: bits of a high code
    unsigned low_bits;      // 4, 3 or 2: bits of a low code, one of which is the mask code
    unsigned bank;          // b: elements per bank, 4, 8, 16, 32, 64 or 128
    unsigned high_per_bank; // k = b(1-s): high elements per bank, from s in {.5 .75 .875 .9375}
    unsigned group;         // G: elements per scale group, 32, 64 or 128; 0 = the whole row (G = K)
};

// SQ(8,4,32,.75), G = 128: the default of every command.
struct sq_format sq_format_default(void);

// Refuses every pair, bank and k that SPEC A.2 does not list, and G that is no multiple of b.
// (high, low) is one of (8,4) (8,3) (8,2) (4,2) (4,3).
enum sq_status sq_format_check(const struct sq_format *f, struct sq_error *err);

// k for a bank and a sparsity; refuses a sparsity outside {.5 .75 .875 .9375} and k < 1.
enum sq_status sq_format_high_per_bank(unsigned bank, double sparsity, unsigned *k,
                                       struct sq_error *err);

// s = 1 - k/b.
double sq_format_sparsity(const struct sq_format *f);

// SPEC A.5: h_low + (1-s) h_high bits per weight, scales not counted.
double sq_format_equivalent_bits(const struct sq_format *f);

enum sq_gather_arch {
    SQ_GATHER_CROSSBAR = 0, // one-hot AND-OR select per slot
    SQ_GATHER_LOG = 1,      // log2(b) compaction stages
};

// One core of Rows x Cols PEs, output-stationary (rtl/core/sq_core.sv). The scale group is not part of
// it: the core flushes its accumulators every `group_banks` banks, a run-time value of the job.
struct sq_core_config {
    unsigned rows;          // PE rows = tokens, 1..64
    unsigned cols;          // PE columns = output channels, 1..64
    unsigned low_lanes;     // L: low multipliers per PE, 1..128
    unsigned high_lanes;    // H: high multipliers per PE, 1..64, at most bank
    unsigned act_bits;      // 4 or 8
    unsigned high_bits;     // as struct sq_format
    unsigned low_bits;      //
    unsigned bank;          //
    unsigned high_per_bank; //
    enum sq_gather_arch gather;
};

// 32x32 PEs, L = 16, H = 4, INT8 activations, the default format, crossbar.
struct sq_core_config sq_core_config_default(void);
enum sq_status sq_core_config_check(const struct sq_core_config *c, struct sq_error *err);

// Cycles one bank occupies each path when nothing stalls: ceil(b/L) and ceil(k/H).
unsigned sq_core_low_steps(const struct sq_core_config *c);
unsigned sq_core_high_steps(const struct sq_core_config *c);
