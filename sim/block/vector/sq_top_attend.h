// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_top_attend with its data: descriptors of kind attend (rtl/top/attend.md), attention of queries that
// share a cache in memory. All its outputs follow from its state. Zero but for its sizes, it has no descriptor.
#pragma once

#include <stddef.h>

#include "models/vector/sq_attend.h"
#include "sim/block/vector/sq_top_vector.h"

// The parameter Attend of sq_top, and the register: 0 where there is no unit.
struct sq_ta_unit {
    uint32_t heads; // queries that share a cache, 1..8
    bool is_int8;   // INT8 with a scale in binary16, else binary16
    uint32_t
        size; // elements of the largest head, a power of two up to 256, at least those of a beat of the cache
};
extern const char *const sq_ta_cache_names[]; // by is_int8, up to NULL
unsigned sq_ta_param(const struct sq_ta_unit *u);
struct sq_ta_unit sq_ta_unit_of(unsigned attend);

enum { SQ_TA_Q, SQ_TA_K, SQ_TA_V, SQ_TA_Y, SQ_TA_PARTS };
struct sq_ta_layer {
    uint32_t queries, size,
        keys;                   // 1..heads; elements of a head, whole beats of the cache; 1..65536
    uint64_t addr[SQ_TA_PARTS]; // of the first rows
    uint32_t stride[SQ_TA_PARTS]; // beats of the bus from a row to the next, below 2^16
};
void sq_ta_encode(const struct sq_ta_layer *l, uint32_t word[SQ_DESC_WORDS]);
// Whether these words are a descriptor that a chip with this unit runs; nbytes: of a beat of the bus.
bool sq_ta_decode(const uint32_t word[SQ_DESC_WORDS], uint32_t nbytes, unsigned attend,
                  struct sq_ta_layer *l);
// Elements of a beat of the cache.
uint32_t sq_ta_lanes(unsigned attend, uint32_t nbytes);
// Beats of a row of a part; of a whole region, gaps between its rows among them.
uint32_t sq_ta_row_beats(const struct sq_ta_layer *l, unsigned part, uint32_t nbytes,
                         unsigned attend);
uint64_t sq_ta_region_beats(const struct sq_ta_layer *l, unsigned part, uint32_t nbytes,
                            unsigned attend);

// By models/: what it makes of a memory.
void sq_ta_golden(const struct sq_ta_layer *l, uint32_t nbytes, unsigned attend,
                  const struct sq_tv_memory *m);

enum { SQ_TA_AHEAD = 8, SQ_TA_CHUNK = 16, SQ_TA_DEPTH = 64, SQ_TA_HEADS_MAX = 8 };

struct sq_ta_sim {
    unsigned attend; // 0: the chip has no such unit
    struct sq_ta_unit unit;
    uint32_t nbytes, lanes;
    struct sq_task task;
    struct sq_ta_layer layer;

    // Transfers: the part that comes next, rows that are left of each, keys ahead of their values, beats of the row that were
    // asked for, places of the queue for which nothing was.
    bool is_active;
    uint32_t part, rows[SQ_TA_PARTS], ahead, asked, free;
    uint64_t row[SQ_TA_PARTS];

    struct {
        uint32_t n;
        int32_t word[SQ_TA_DEPTH][SQ_DMA_WORDS_MAX];
    } queue;
    bool is_told, has_scale; // the unit has its job; the row has had its scale
    uint32_t word, code,
        out_word;         // beats of a beat of queries, of the row's codes, of a beat of outputs
    max_align_t time[16]; // of sq_attend_block

    // Values. The beats of a query, of a key or a value that have come; outputs that have left.
    uint32_t query, n_row, out_query, n_out, n_weights, values; // values that are to come
    float q[SQ_TA_HEADS_MAX][SQ_ATTEND_HEAD_MAX], y[SQ_TA_HEADS_MAX][SQ_ATTEND_HEAD_MAX];
    float x[SQ_ATTEND_HEAD_MAX];
    uint16_t scale;
    struct sq_attend_sum sum[SQ_TA_HEADS_MAX];
    struct sq_attend_weight weight[SQ_TA_AHEAD][SQ_TA_HEADS_MAX];
};

void sq_ta_init(struct sq_ta_sim *s, uint32_t nbytes, unsigned attend);
bool sq_ta_transfer(const struct sq_ta_sim *s, int32_t transfer[SQ_DMA_JOB_LEN], unsigned dest);
bool sq_ta_word(const struct sq_ta_sim *s, int32_t word[SQ_DMA_WORDS_MAX]); // for memory
bool sq_ta_is_done(const struct sq_ta_sim *s);                              // in this cycle
bool sq_ta_has_beat(const struct sq_ta_sim *s);                             // in the queue
bool sq_ta_takes(const struct sq_ta_sim *s);                                // one leaves it
void sq_ta_clock(struct sq_ta_sim *s, const struct sq_task_in *in);
