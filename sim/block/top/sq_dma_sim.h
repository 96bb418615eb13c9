// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_dma: in which cycle it sends which request to memory, takes a beat or gives
// one. All its outputs follow from its state. The data of the beats pass through unchanged.
#pragma once

#include "sim/block/flow/sq_block.h"

// Fields of a transfer, as they come in.
enum sq_dma_field {
    SQ_DMA_FIRST,
    SQ_DMA_WRITE,
    SQ_DMA_ADDR, // in two halves (sq_axi_memory.h)
    SQ_DMA_ADDR_HIGH,
    SQ_DMA_BEATS,
    SQ_DMA_DEST,
    SQ_DMA_JOB_LEN
};

// What a transfer ended with; the first two as AXI responds.
enum sq_dma_status { SQ_DMA_SLVERR = 2, SQ_DMA_DECERR = 3, SQ_DMA_EARLY = 4, SQ_DMA_LATE = 5 };

enum { SQ_DMA_SLOTS_MAX = 32, SQ_DMA_WRITES_MAX = 16, SQ_DMA_WORDS_MAX = 16 };

struct sq_dma_sim {
    struct sq_pins pins; // first: of this cycle
    uint32_t nbytes, max_burst, n_slots, n_writes, silence;

    // The transfer whose bursts come next.
    struct sq_dma_transfer {
        bool is_there, first, write;
        uint64_t addr;
        uint32_t left;
        int32_t dest;
    } next;
    struct sq_dma_address { // that is shown
        bool valid;
        uint64_t addr;
        uint32_t beats;
    } ar, aw;

    // Reads: bursts asked for whose beats have not all come.
    struct sq_dma_slot {
        uint32_t left; // beats
        bool is_last;  // burst of its transfer
        int32_t dest;
    } slot[SQ_DMA_SLOTS_MAX];
    uint32_t n_used, out; // slots; beats in the register behind them
    struct sq_dma_beat {
        int32_t word[SQ_DMA_WORDS_MAX];
        int32_t dest, status;
        bool poison, last;
    } beat[2];
    int32_t status;        // first error of the transfer whose beats come
    bool broken;           // LAST came at a wrong time
    int32_t broken_status; // ... at which
    uint32_t quiet;        // cycles of silence since

    // Writes: a transfer with bursts that have not begun, and bursts without their response, of which the last may have
    // beats to give.
    struct sq_dma_transfer to;
    uint32_t data_left, n_open;
    bool ends[SQ_DMA_WRITES_MAX]; // the last burst of its transfer
    int32_t write_status;
    bool done;                       // in this cycle
    int32_t in[2][SQ_DMA_WORDS_MAX]; // beats in the register in front
    uint32_t n_in;

    bool abort;   // of this cycle: nothing begins, what has begun comes to its end
    bool is_void; // beats are written without data
};

void sq_dma_init(struct sq_dma_sim *s, uint32_t nbytes, uint32_t max_burst, uint32_t outstanding,
                 uint32_t writes, uint32_t quiet);
// As struct sq_timing and struct sq_block have them.
void sq_dma_comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out);
void sq_dma_ask(const void *state, struct sq_pins *pins);
void sq_dma_clock(void *state, const struct sq_offer *in, bool out_ready);
bool sq_dma_is_idle(const struct sq_dma_sim *s); // while abort is set: nothing is under way
void sq_dma_status(const struct sq_dma_sim *s, int32_t status[2]);
// A transfer as the DMA is offered it.
void sq_dma_put_transfer(int32_t transfer[SQ_DMA_JOB_LEN], bool first, bool write, uint64_t addr,
                         uint64_t beats, uint32_t dest);

// Outside of its struct, since C++ reads this header, too.
enum sq_task_state { SQ_TASK_IDLE, SQ_TASK_CHECK, SQ_TASK_RUN };
// A unit of the chip that the sequencer hands a descriptor (encoder, vector unit, attention): it checks it, moves data and
// waits for the responses to its writes.
struct sq_task {
    enum sq_task_state state;
    uint32_t checks; // cycles of the check that are left
    bool is_good;
    uint32_t owed; // writes without their response
};
struct sq_task_in {
    bool start, sound;
    const uint32_t *word; // of the descriptor
    bool dma_ready, write_done, out_ready;
    const struct sq_dma_beat *beat; // for this unit, or NULL
    unsigned part;                  // of the vector unit's operands, which it is of
};
static inline bool sq_task_refuses(const struct sq_task *t) // in this cycle
{
    return t->state == SQ_TASK_CHECK && t->checks == 0 && !t->is_good;
}
void sq_task_start(struct sq_task *t, uint32_t checks, bool is_good);
// The rising edge of a cycle without a start; is_done: of one that runs.
void sq_task_clock(struct sq_task *t, bool is_done);
