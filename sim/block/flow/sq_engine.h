// SPDX-License-Identifier: Apache-2.0
// What engines share: rtl/sq_engine_*.sv, a module for each way in which formats are stored. An engine
// takes jobs and streams whose beats hold what is stored (codes, mask bits, scales, metadata,
// indices), and gives words of outputs. With each word it says whether it is the last of the job, and
// what was wrong in the job up to there.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "models/scaled/sq_scaled.h"
#include "sim/block/flow/sq_block.h"
#include "sim/block/output/sq_output_sim.h"

// The fields of every word behind its outputs: last, error (enum sq_scaled_error, a bit each).
enum { SQ_ENGINE_WORD_FIELDS = 2 };
void sq_engine_word_fields(struct sq_field *field);

// Whether scales of a tile (sq_output_scale_fields behind `last`) that its form reads hold one that is no
// scale; a factor of the rows is read with the last scale group of an output (sq_engine_scales.sv).
bool sq_engine_wrong_scale(const struct sq_output_config *c, const int32_t *scale, bool is_last);

// sq_output_end, those fields behind the outputs of each word: out [words][port_len + 2]; ends_job: of
// the last word. Returns the words.
size_t sq_engine_end(const struct sq_output_config *c, const int32_t *scale, float *y,
                     bool ends_job, int32_t error, int32_t *out);

// The sums of a scale group as a golden product has them, both planes and whether a mask is malformed: tile [2 * rows *
// cols + 1]; scales with `last` in front; the outputs so far. Zeros at first; ends the process where memory does.
struct sq_engine_sums {
    int32_t *tile, *scale;
    float *y;
};
struct sq_engine_sums sq_engine_sums(const struct sq_output_config *c);
void sq_engine_sums_free(const struct sq_engine_sums *s);

// Engines whose operands are found by indices have one more kind.
enum { SQ_ENGINE_ERROR_INDEX = SQ_SCALED_ERRORS, SQ_ENGINE_INDEX_ERRORS };

// A scale is a positive number (SPEC A.8): of its binary32 bits.
static inline bool sq_engine_is_scale(int32_t bits)
{
    return bits > 0 && bits < 0x7f800000;
}

// ---- time of sq_engine_count.sv -------------------------------------------------------------

struct sq_engine_count {
    bool is_busy;
    uint32_t at[3], n[3]; // inner, middle, outer
};

// The beat that goes next is the last of `level` 0 (inner), 1 (and the inner ones are the last of
// middle), 2 (of the job).
static inline bool sq_engine_count_last(const struct sq_engine_count *c, unsigned level)
{
    bool is_last = true;
    for (unsigned i = 0; i <= level; i++)
        is_last = is_last && c->at[i] + 1 == c->n[i];
    return is_last;
}

static inline bool sq_engine_count_ready(const struct sq_engine_count *c, bool step)
{
    return !c->is_busy || (step && sq_engine_count_last(c, 2));
}

// The rising edge: `job` has come (NULL: none was offered), a beat goes.
static inline void sq_engine_count_clock(struct sq_engine_count *c, const uint32_t job[3],
                                         bool step)
{
    if (sq_engine_count_ready(c, step)) {
        *c = (struct sq_engine_count){.is_busy = job != NULL};
        if (job)
            memcpy(c->n, job, sizeof c->n);
        return;
    }
    for (unsigned i = 0; step && i < 3; i++) {
        if (++c->at[i] < c->n[i])
            return;
        c->at[i] = 0;
    }
}

// ---- a queue of two jobs (sq_fifo.sv) -------------------------------------------------------

enum { SQ_ENGINE_JOBS = 2 };
struct sq_engine_jobs {
    unsigned n;
    uint32_t job[SQ_ENGINE_JOBS][3];
};
static inline void sq_engine_jobs_clock(struct sq_engine_jobs *q, const uint32_t job[3],
                                        bool is_taken)
{
    assert(q->n > 0 || !is_taken);
    assert(q->n < SQ_ENGINE_JOBS || !job);
    q->n -= is_taken;
    if (is_taken)
        memmove(q->job, q->job + 1, q->n * sizeof *q->job);
    if (job)
        memcpy(q->job[q->n++], job, sizeof *q->job);
}

// ---- sums between jobs (Sums of sq_engine_array.sv and sq_engine_scaled.sv) -----------------

// Carries come on stream SQ_ENGINE_CARRY of the engine's model: a beat of sums for each slot of the
// output stage; a beat for each whole tile. A beat of sums leaves in this cycle:
enum { SQ_ENGINE_CARRY = 4 };
bool sq_engine_array_keeps(const void *state);
bool sq_engine_scaled_keeps(const void *state);

// ---- for who runs very many cycles (sim/machine/sq_chip_state.h) -----------------------------

// What an engine is offered in a cycle: of each stream whether there is a beat, and the job that is.
struct sq_engine_in {
    bool valid[SQ_STREAMS_MAX];
    const struct sq_offer *job;
};
// comb and clock of the engine's model at once. Of the scaled one without an encoder.
void sq_engine_array_cycle(void *state, const struct sq_engine_in *in, bool out_ready,
                           struct sq_handshake *out);
void sq_engine_scaled_cycle(void *state, const struct sq_engine_in *in, bool out_ready,
                            struct sq_handshake *out);
static inline struct sq_engine_in sq_engine_in_of(const struct sq_offer *offer)
{
    struct sq_engine_in in = {.job = &offer[0]};
    for (unsigned i = 0; i < SQ_STREAMS_MAX; i++)
        in.valid[i] = offer[i].valid;
    return in;
}
// What counts the beats of operands, of scales of the jobs at hand.
enum { SQ_ENGINE_COUNTS = 2 };
void sq_engine_array_counts(void *state, struct sq_engine_count *count[SQ_ENGINE_COUNTS]);
void sq_engine_scaled_counts(void *state, struct sq_engine_count *count[SQ_ENGINE_COUNTS]);
