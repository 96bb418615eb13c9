// SPDX-License-Identifier: Apache-2.0
// sq_top_gqsa: sq_engine_gqsa behind the buffers of the chip. What stands between them, the values of its
// outputs as operands come, and the golden model of a job.
#ifndef SQ_GQSA_CHIP_SIM_H
#define SQ_GQSA_CHIP_SIM_H

#include "sim/block/flow/sq_block.h"

enum {
    SQ_GQSA_CHIP_ACTS = 1 << 19, // codes of a job, at most
    SQ_GQSA_CHIP_ROWS = 16,      // tokens
    SQ_GQSA_CHIP_GROUP = 128,
    SQ_GQSA_CHIP_KEPT_FIELDS = 3 // of a kept group, beside the codes
};
// Parameters of the engine: tokens, G, bits of a group index, of an offset.
enum { SQ_GQSA_CHIP_AT_BITS = 16 };

// ---- time -------------------------------------------------------------------------------------------

// Streams of the engine; their beats come from the buffers of activations, of scales of columns, of weights.
enum { SQ_GQSA_CHIP_JOB, SQ_GQSA_CHIP_ACT, SQ_GQSA_CHIP_OFFSET, SQ_GQSA_CHIP_KEPT };
struct sq_gqsa_feed {
    uint32_t left;  // kept groups of the job that have not come
    bool owes_zero; // the first offset
    uint32_t jobs;  // whose last outputs have not left
};
struct sq_gqsa_feed_in {
    bool job, row, act, kept, offset; // valid: the job, beats of the buffers
    uint32_t groups, rows, n_kept;    // of the job: K/G, rows of the matrix, beats of weights
    uint32_t at;                      // the offset
};
struct sq_gqsa_feed_out {
    bool job_ready, row_ready, act_ready, kept_ready, offset_ready;
    bool job_fires, offset_fires, kept_fires; // into the engine
};
// What the engine is offered; then, with what it says, who may go.
void sq_gqsa_feed_offer(const struct sq_gqsa_feed *f, const struct sq_gqsa_feed_in *in,
                        struct sq_offer engine[SQ_STREAMS_MAX]);
void sq_gqsa_feed_take(const struct sq_gqsa_feed *f, const struct sq_gqsa_feed_in *in,
                       const bool engine_ready[SQ_STREAMS_MAX], struct sq_gqsa_feed_out *out);
void sq_gqsa_feed_clock(struct sq_gqsa_feed *f, const struct sq_gqsa_feed_in *in,
                        const struct sq_gqsa_feed_out *out, bool last_leaves);

// ---- values -----------------------------------------------------------------------------------------

// Plain data. rows, group: set once; the rest begins with a job.
struct sq_gqsa_values {
    unsigned rows, group;
    uint32_t limit, n_rows; // K/G; rows of the job
    uint32_t n_act, row;    // beats of activations that have come; rows that have begun
    uint32_t at, end;       // groups walked; where the row at hand ends
    bool has_start, is_first;
    int32_t before;  // index of the group before
    uint32_t errors; // enum sq_engine_error: up to here
    int32_t s_a[SQ_GQSA_CHIP_ROWS];
    float y[SQ_GQSA_CHIP_ROWS];
    int8_t act[SQ_GQSA_CHIP_ACTS];
};
void sq_gqsa_values_job(struct sq_gqsa_values *v, uint32_t limit, uint32_t n_rows,
                        const int32_t *s_a);
void sq_gqsa_values_act(struct sq_gqsa_values *v, const int32_t *code); // [rows][G]
// A kept group; an offset. True: the outputs of a row are in y[rows], as binary32.
bool sq_gqsa_values_kept(struct sq_gqsa_values *v, const int32_t *kept, int32_t *y);
bool sq_gqsa_values_offset(struct sq_gqsa_values *v, uint32_t at, int32_t *y);
bool sq_gqsa_values_ends(const struct sq_gqsa_values *v); // that was the last row of the job
// Field ENGINE of STATUS: what errors are in the chip, where a wrong index counts as a wrong mask.
uint32_t sq_gqsa_chip_errors(uint32_t errors);

bool sq_gqsa_chip_is_scale(int32_t bits); // a binary16 that is a positive number
// A kept group into the sum y of a token; x[G]: its activations, NULL: there are none. The arithmetic of the engine.
float sq_gqsa_chip_add(unsigned group, float y, const int32_t *kept, const int32_t *x);

// ---- operands ---------------------------------------------------------------------------------------

// Draws n codes of activations; codes, zero and scale of a kept group of G, not its index.
void sq_gqsa_chip_draw_act(size_t n, struct sq_rng *rng, enum sq_stimulus kind, int32_t *code);
void sq_gqsa_chip_draw_kept(unsigned group, struct sq_rng *rng, enum sq_stimulus kind,
                            int32_t *kept);

// ---- golden -----------------------------------------------------------------------------------------

// A job as the buffers have it: act[limit][rows][G], s_a[rows], end[n_rows], kept[n_kept]: index, codes [G], zero, scale.
struct sq_gqsa_chip_job {
    const int32_t *act, *s_a, *end, *kept;
    uint32_t limit, n_rows, n_kept;
};
// Outputs y[n_rows][rows] by the golden model of the engine; returns field ENGINE of STATUS.
uint32_t sq_gqsa_chip_golden(const unsigned *engine, const struct sq_gqsa_chip_job *job,
                             int32_t *y);

#endif
