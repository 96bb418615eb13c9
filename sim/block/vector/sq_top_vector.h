// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_top_vector with its data: descriptors of kind vector (rtl/top/vector.md), passes of the vector
// unit over rows in memory. All its outputs follow from its state. Zero but for its sizes, it has no descriptor.
#pragma once

#include "models/vector/sq_vector.h"
#include "sim/block/top/sq_dma_sim.h"
#include "sim/block/top/sq_regs.h"

enum {
    SQ_TV_A,
    SQ_TV_B,
    SQ_TV_C,
    SQ_TV_OPERANDS,
    SQ_TV_Y = SQ_TV_OPERANDS,
    SQ_TV_RED,
    SQ_TV_PARTS
};
enum sq_tv_from { SQ_TV_CONSTANT, SQ_TV_ROW, SQ_TV_ONE, SQ_TV_FROM_A };
enum sq_tv_red { SQ_TV_NONE, SQ_TV_SUM, SQ_TV_LARGEST, SQ_TV_INDEX };
// SQ_TV_BYTE: the low 8 bits of binary32, an integer where 1.5 * 2^23 was added to it.
enum sq_tv_y { SQ_TV_NO_Y, SQ_TV_BINARY32, SQ_TV_BFLOAT16, SQ_TV_BINARY16, SQ_TV_BYTE };

// A pass: y = f(a b + c) of `rows` rows of n elements.
struct sq_tv_layer {
    enum sq_vector_func f;
    unsigned from[SQ_TV_OPERANDS]; // enum sq_tv_from; a is a row
    bool half[SQ_TV_OPERANDS];     // bfloat16
    enum sq_tv_red red;
    enum sq_tv_y y;
    bool all;                   // red goes over all rows
    uint64_t addr[SQ_TV_PARTS]; // of a constant its bits
    uint32_t stride[SQ_TV_RED]; // beats of the bus from a row to the next, below 2^16
    uint32_t rows, n;           // rows below 2^16
};
void sq_tv_encode(const struct sq_tv_layer *l, uint32_t word[SQ_DESC_WORDS]);
// Whether these words are a descriptor that such a chip runs; nbytes: of a beat of the bus.
bool sq_tv_decode(const uint32_t word[SQ_DESC_WORDS], uint32_t nbytes, struct sq_tv_layer *l);
bool sq_tv_uses(const struct sq_tv_layer *l, unsigned part); // memory
// Whether that word of a descriptor (SQ_DESC_ACT .. SQ_DESC_OUT) is an address, not a constant.
bool sq_tv_has_address(const uint32_t word[SQ_DESC_WORDS], unsigned low);
// Beats of a row of a part; of a whole region, gaps between its rows among them.
uint32_t sq_tv_row_beats(const struct sq_tv_layer *l, unsigned part, uint32_t nbytes);
uint64_t sq_tv_region_beats(const struct sq_tv_layer *l, unsigned part, uint32_t nbytes);

// By models/: what a pass makes of a memory. read: word i after a beat's address, as struct sq_axi_content has it; write: a beat.
struct sq_tv_memory {
    void *ctx;
    int32_t (*read)(void *ctx, uint64_t addr, unsigned i);
    void (*write)(void *ctx, uint64_t addr, const int32_t *word, unsigned n);
};
void sq_tv_golden(const struct sq_tv_layer *l, uint32_t nbytes, const struct sq_tv_memory *m);

enum { SQ_TV_LANES_MAX = 16, SQ_TV_CHUNK = 16, SQ_TV_STAGES_MAX = 34 };

struct sq_tv_sim {
    uint32_t lanes, nbytes; // lanes 0: the chip has no vector unit
    struct sq_task task;
    struct sq_tv_layer layer;

    // Transfers: the part that comes next, rows and elements that are left, chunks that the unit has not had.
    uint32_t part, rows, left, chunks;
    bool is_first; // chunk of its row
    uint64_t at[SQ_TV_PARTS], row[SQ_TV_PARTS];

    struct sq_tv_fifo {
        uint32_t n;
        bool upper; // the upper half of the first beat comes next
        int32_t word[2 * SQ_TV_CHUNK][SQ_DMA_WORDS_MAX];
    } fifo[SQ_TV_OPERANDS];
    uint32_t in_rows, in_left, in_beat; // beats to the unit

    struct sq_vector_unit unit;
    struct sq_tv_stage {
        bool valid, adds; // adds: to the beats before it
        uint32_t y[SQ_TV_LANES_MAX], red;
    } stage[SQ_TV_STAGES_MAX];
    bool waited; // the beat in front of the last stage, a cycle

    uint32_t out_rows, out_left, base, index, last_red; // results
    bool has_red, goes_on;                              // red waits; a span has begun
    uint32_t red, piece; // of a beat of narrow y; held: those before it
    int32_t held[SQ_TV_LANES_MAX];
};

void sq_tv_init(struct sq_tv_sim *s, uint32_t nbytes, bool is_there);
bool sq_tv_transfer(const struct sq_tv_sim *s, int32_t transfer[SQ_DMA_JOB_LEN], unsigned dest,
                    unsigned dest_bits);
bool sq_tv_word(const struct sq_tv_sim *s, int32_t word[SQ_DMA_WORDS_MAX]); // for memory
bool sq_tv_is_done(const struct sq_tv_sim *s);                              // in this cycle
bool sq_tv_has_operands(const struct sq_tv_sim *s);                         // none is missing
bool sq_tv_takes(const struct sq_tv_sim *s, bool out_ready);                // the unit takes a beat

void sq_tv_clock(struct sq_tv_sim *s, const struct sq_task_in *in);
