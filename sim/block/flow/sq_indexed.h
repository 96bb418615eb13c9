// SPDX-License-Identifier: Apache-2.0
// Engines whose weights are found by an index, on the chip (sq_top): what stands between its buffers and their
// streams, and the table by which the chip finds such an engine and its values. Streams of the engine:
//
//   job     K/G groups of activations, rows of the matrix + 1 offsets, the scales of the tokens (from the row scales)
//   act     a group of all tokens                offset  where the kept groups of a row end (from the column scales)
//   kept    a kept group: its index, then what the engine multiplies (from the weights)
#pragma once

#include "sim/block/flow/sq_block.h"

enum { SQ_TOP_KEPT = 5 }; // the layout of sq_top, behind those of sq_array.h: sq_pkg::LAYOUT_KEPT
enum { SQ_INDEXED_JOB, SQ_INDEXED_ACT, SQ_INDEXED_OFFSET, SQ_INDEXED_KEPT };
enum {
    SQ_INDEXED_ROWS = 16,         // tokens, at most
    SQ_INDEXED_KEPT_MAX = 160,    // integers of a kept group, at most
    SQ_INDEXED_NBYTES = 600 << 10 // of the values of an engine, at most
};

// ---- time -------------------------------------------------------------------------------------------

struct sq_indexed_feed {
    uint32_t left;   // kept groups of the job that have not come
    uint32_t n_kept; // that it has
    bool owes_zero;  // the first offset
    uint32_t jobs;   // whose last outputs have not left
};
struct sq_indexed_in {
    bool job, row, act, kept, offset; // valid: the job, beats of the buffers
    uint32_t groups, rows, n_kept;    // of the job: K/G, rows of the matrix, beats of weights
    uint32_t at;                      // the offset
};
struct sq_indexed_out {
    bool job_ready, row_ready, act_ready, kept_ready, offset_ready;
    bool job_fires, offset_fires, kept_fires; // into the engine
};
// The offset that the engine gets of a job of n_kept groups: of those beyond them one alone is missing.
static inline uint32_t sq_indexed_end(uint32_t at, uint32_t n_kept)
{
    return at > n_kept ? n_kept + 1 : at;
}
// What the engine is offered; then, with what it says, who may go; the edge.
void sq_indexed_offer(const struct sq_indexed_feed *f, const struct sq_indexed_in *in,
                      struct sq_offer engine[SQ_STREAMS_MAX]);
void sq_indexed_take(const struct sq_indexed_feed *f, const struct sq_indexed_in *in,
                     const bool engine_ready[SQ_STREAMS_MAX], struct sq_indexed_out *out);
void sq_indexed_clock(struct sq_indexed_feed *f, const struct sq_indexed_in *in,
                      const struct sq_indexed_out *out, bool last_leaves);

// ---- the engine -------------------------------------------------------------------------------------

// A job as the buffers have it: act[limit] beats of activations, s_a of the tokens, end[n_rows], kept[n_kept] beats.
struct sq_indexed_job {
    const int32_t *act, *s_a, *end, *kept;
    uint32_t limit, n_rows, n_kept;
};

// Member `indexed` of the block (struct sq_block). Errors are field ENGINE of STATUS.
struct sq_indexed {
    unsigned layout; // parameter of sq_top
    // Parameters of the block for so many tokens, elements of a group, bits of an index.
    void (*engine)(unsigned rows, unsigned group, unsigned index_bits, unsigned *engine);
    // Values as operands come: plain data of nbytes, zeros before init.
    size_t nbytes;
    void (*init)(void *values, unsigned rows, unsigned group);
    void (*job)(void *values, uint32_t limit, uint32_t n_rows, const int32_t *s_a);
    void (*act)(void *values, const int32_t *code);
    // A kept group, an offset. True: the outputs of a row are in y, of all tokens, as binary32.
    bool (*kept)(void *values, const int32_t *kept, int32_t *y);
    bool (*offset)(void *values, uint32_t at, int32_t *y);
    bool (*ends)(const void *values, uint32_t *errors); // that was the last row; errors up to there
    // Outputs y[n_rows][tokens] by the golden model of its block; returns errors.
    uint32_t (*golden)(const struct sq_block *block, const unsigned *engine,
                       const struct sq_indexed_job *job, int32_t *y);
    // A beat of activations; of a kept group all but its index.
    void (*draw_act)(const unsigned *engine, struct sq_rng *rng, enum sq_stimulus kind,
                     int32_t *code);
    void (*draw_kept)(const unsigned *engine, struct sq_rng *rng, enum sq_stimulus kind,
                      int32_t *kept);
};
// The block whose engine has this layout; NULL: none.
const struct sq_block *sq_indexed_block(unsigned layout);
