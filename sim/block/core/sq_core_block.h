// SPDX-License-Identifier: Apache-2.0
// sq_core as operands in banks: the golden tile, and the beats of a job. A job is a group of the
// block; streams are job, act, lo, hi.
#pragma once

#include "sim/block/flow/sq_case.h"

enum { SQ_CORE_JOBS_MAX = 3 }; // of a drawn case

// Operands over all jobs of a case: a bank index counts their banks in order. The caller owns the
// arrays.
struct sq_core_operands {
    uint64_t n_banks;
    const int8_t *act; // [n_banks][rows][bank]
    const int8_t *lo;  // [n_banks][cols][bank], mask codes included
    const int8_t *hi;  // [n_banks][cols][high_per_bank]
};

// Integers of one tile by the golden model (sq_gather_bank, exact sums): banks [first, first + n),
// modulo n_banks, of the operands -> p_lo, p_hi [rows][cols]. Returns a bit per column: a bank of
// it does not hold exactly k mask codes.
uint64_t sq_core_golden_tile(const struct sq_core_config *config,
                             const struct sq_core_operands *operands, uint64_t first, uint32_t n,
                             int32_t *p_lo, int32_t *p_hi);

// A scale group of codes of floating point (SPEC A.9): the sums of its products, p_lo, p_hi
// [rows][cols]; E4M3 that is no number counts as 0. Of a job as a group of the block; returns the same.
// They are exact in binary64, and in the 48 bits of the RTL with up to SQ_CORE_FP_HIGH_MAX high codes, of
// which 448 * 448 * 2^18 is the largest product: 2^47 - 1 over that.
enum { SQ_CORE_FP_HIGH_MAX = 2674 };
uint64_t sq_core_golden_fp(const unsigned *value, const struct sq_group *in, uint64_t scale_group,
                           double *p_lo, double *p_hi);

// The point of a core, without a name.
struct sq_point sq_core_point(const struct sq_core_config *config);

// One job over all banks of the operands as *c, whose point is set: streams free. SQ_ERR_MEMORY.
enum sq_status sq_core_case(struct sq_case *c, const struct sq_job *job,
                            const struct sq_core_operands *operands, uint64_t seed,
                            struct sq_error *err);

// Case *core of sq_core as *c of sq_core_out, whose block and point are set: streams, stalls and
// operands the same, a beat of scales to come for each scale group of a job. c->max_outputs is set
// for one tile of outputs per `groups` of them. SQ_ERR_MEMORY.
enum sq_status sq_core_out_case(struct sq_case *c, const struct sq_case *core, uint32_t groups,
                                struct sq_error *err);

// Cycles and causes of the last job, from the status fields of a point whose counters start at 0.
struct sq_core_stats sq_core_stats_of(const int32_t *status);

// What is drawn for sq_core, and, over one column, for sq_gather; operands are owned.
struct sq_core_stimulus {
    unsigned n_jobs; // one after the other
    struct sq_job job[SQ_CORE_JOBS_MAX];
    struct sq_stall stall[4]; // act, lo, hi, out
    uint32_t job_gap;         // idle cycles before each job
    uint64_t max_cycles;      // > 0: more cycles than that are not run, operands come over and over
    uint64_t n_banks;
    int8_t *act, *lo, *hi;
};
enum sq_status sq_core_draw(const struct sq_core_config *config, struct sq_rng *rng,
                            struct sq_core_stimulus *s, struct sq_error *err);
// Legal operands of n banks, drawn uniformly; jobs and stalls stay zero.
enum sq_status sq_core_draw_banks(const struct sq_core_config *config, uint64_t n,
                                  struct sq_rng *rng, struct sq_core_stimulus *s,
                                  struct sq_error *err);
// Room for n banks, zeros, in the operands of *s; bank j: activations `act`, low codes `lo` with mask codes spread over the bank,
// high codes `hi`.
enum sq_status sq_core_alloc_banks(const struct sq_core_config *config, uint64_t n,
                                   struct sq_core_stimulus *s, struct sq_error *err);
void sq_core_put_bank(const struct sq_core_config *config, const struct sq_core_stimulus *s,
                      size_t j, int act, int lo, int hi);
void sq_core_stimulus_free(struct sq_core_stimulus *s);
// Jobs over the operands of *s, which it frees.
enum sq_status sq_core_take(struct sq_case *c, const struct sq_job *job, size_t n_jobs,
                            struct sq_core_stimulus *s, uint64_t wrap, struct sq_error *err);

// The ends of the ranges of sq_core: `limit` and `draw_directed` of struct sq_block.
enum { SQ_CORE_N_DIRECTED = 5 };
int64_t sq_core_limit(const unsigned *value, size_t f);
enum sq_status sq_core_draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                     struct sq_error *err);
enum sq_status sq_core_draw_tiles(struct sq_case *c, struct sq_rng *rng, struct sq_error *err);

// Parameters of the points of sq_core and sq_gather, in the order of reports.
enum {
    SQ_CORE_ROWS,
    SQ_CORE_COLS,
    SQ_CORE_LOW_LANES,
    SQ_CORE_HIGH_LANES,
    SQ_CORE_ACT_W,
    SQ_CORE_HIGH_W,
    SQ_CORE_LOW_W,
    SQ_CORE_BANK_LEN,
    SQ_CORE_HIGH_PER_BANK,
    SQ_CORE_GATHER,
    SQ_CORE_COUNT_START, // not of sq_gather
};
// Where the counters of a job start in points that test their carries: bit 31 is 128 cycles away.
#define SQ_CORE_COUNT_HIGH 0x7fffff80u
enum { SQ_CORE_N_POINTS = 19 };
extern const struct sq_point sq_core_points[SQ_CORE_N_POINTS];
void sq_core_get(const unsigned *value, struct sq_core_config *config);
void sq_core_set(unsigned *value, const struct sq_core_config *config);
