// SPDX-License-Identifier: Apache-2.0
// Closed forms: what the papers and other tools state in one line (SPEC D.2, D.4, D.9, E.8), to set
// beside the cycle model. No fill, no drain, no stalls unless named. Sizes and rates 1..2^24;
// cycles that pass 2^63 are SQ_COUNT_OVER (sq_checked.h), from doubles: exact up to 2^53.
#pragma once

#include <stddef.h>
#include <stdint.h>

// SPEC D.2: SQ weights, both paths in parallel, rates in MAC per cycle; s = share of low elements.
// max(M N K / r_lo, M N K (1-s) / r_hi), rounded up.
uint64_t sq_roof_weight_cycles(uint64_t m, uint64_t n, uint64_t k, uint64_t r_lo, uint64_t r_hi,
                               double s);
// SPEC D.5: SQ activations, one part after the other: M N K ((1-s)/r_hi + s/r_lo).
uint64_t sq_roof_act_cycles(uint64_t m, uint64_t n, uint64_t k, uint64_t r_lo, uint64_t r_hi,
                            double s);
// M N K / rate.
uint64_t sq_roof_dense_cycles(uint64_t m, uint64_t n, uint64_t k, uint64_t rate);

// The paper's Table 10 (seconds of a prefill, gigabytes a second). Nothing of the rows that are predicted is used: r is
// that of the all-W4A8 and all-W4A4 rows.
struct sq_table10 {
    const char *model;
    double w4a8_s, w4a4_s;
    double sparsity[3], paper_speedup[3];
    double paper_s[3], paper_gb_per_s[3];
};
#define SQ_TABLE10_MODELS 2
extern const struct sq_table10 sq_table10[SQ_TABLE10_MODELS];
double sq_table10_speedup(const struct sq_table10 *t, unsigned row);

// Time of one GEMM in seconds on a peak and a bandwidth: max(2 M N K / ops, bytes / rate).
double sq_roof_seconds(double m, double n, double k, double ops_per_s, double nbytes,
                       double nbytes_per_s);

// SCALE-Sim v3, output-stationary, array of rows x cols with one MAC each:
// (K + R + C - 2) ceil(M/R) ceil(N/C) - 1. The -1 is an open question there (issue 125).
uint64_t sq_scalesim_os_cycles(uint64_t m, uint64_t n, uint64_t k, uint64_t rows, uint64_t cols);
