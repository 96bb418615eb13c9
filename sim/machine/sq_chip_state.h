// SPDX-License-Identifier: Apache-2.0
// The chip and its ideal memory without what no cycle depends on: values and addresses. A cycle is that of
// sq_top_sim.h and sq_axi_memory.h, in the same order; the parts that know no values (buffers, engine) are
// theirs. The state is small and plain, so that it can be compared with another one (sq_chip_fast.c).
#pragma once

#include "sim/block/flow/sq_engine.h"
#include "sim/block/top/sq_axi_memory.h"
#include "sim/block/top/sq_top_sim.h"
#include "sim/io/sq_memo.h"

// The counters of the chip, not cut at 32 bits. busy + wait + blocked = cycles.
struct sq_chip_stats {
    uint64_t cycles;
    uint64_t busy;    // the engine takes a beat of both operands
    uint64_t wait;    // there is none
    uint64_t blocked; // the engine takes none that is there
    uint64_t read_beats, write_beats;
    uint64_t read_wait, read_full, write_wait; // as the registers of these names
};

// A transfer by what its bursts depend on.
struct sq_chip_transfer {
    uint32_t kind;  // enum sq_top_part
    uint32_t tail;  // bytes that count of its last beat
    uint32_t beats; // of the bus; 0: there is none
    uint32_t room;  // beats up to the end of the page, 0: it cuts no burst short
};

// What a step loads and stores (sq_sequencer_sim.h), and its job.
struct sq_chip_load {
    struct sq_chip_transfer transfer[SQ_TOP_OPERANDS + 1];
};
struct sq_chip_job {
    uint32_t places[SQ_TOP_JOBS], keep[SQ_TOP_OPERANDS]; // of the buffers
    uint32_t tiles, groups, beats, carries, keeps;       // of the engine; beats of a group
};

enum { SQ_CHIP_BURST_MAX = 256 }; // beats

// What never changes in a run.
struct sq_chip_setup {
    uint32_t n_slots, n_writes, max_burst, page; // of the DMA; beats of a page
    uint32_t beat[SQ_TOP_OPERANDS];              // bytes of a beat of an operand
    uint32_t word, store_room;       // bytes of a word of outputs; beats in front of the DMA
    uint32_t tile_slots, tile_words; // beats of sums of a tile, words of outputs
    uint32_t fetch, checks,
        looks;            // beats of a descriptor; cycles in which it, a transfer is looked at
    uint32_t nbytes;      // of a beat
    int64_t latency, den; // of the memory (sq_axi_memory.h)
    int64_t occupies[SQ_CHIP_BURST_MAX + 1]; // it so many parts of a cycle, of beats of a burst
    uint32_t unit;                           // beats that are whole bursts of the memory
    struct {
        size_t at, n; // bytes of the state that are used, whatever happens
    } used[5];
    bool is_scaled; // the engine (sq_top_image.h)
    const struct sq_timing *engine;
};
// Arguments: sq_chip_run.h. checks and looks are left out.
void sq_chip_setup(const unsigned *value, const struct sq_env_choice *memory,
                   struct sq_chip_setup *c);

enum sq_chip_phase { SQ_CHIP_ASK, SQ_CHIP_FETCH, SQ_CHIP_CHECK, SQ_CHIP_RUN, SQ_CHIP_END };

// Zeroed before sq_chip_state_init.
struct sq_chip_state {
    // memory
    int64_t now, dram_free; // dram_free and start in parts of a cycle
    int64_t start[SQ_AXI_READS_MAX], due;
    uint32_t beats[SQ_AXI_READS_MAX], n_reads, beat;
    int64_t b_due[SQ_AXI_WRITES_MAX]; // of responses, those that have come among them
    uint32_t n_due, r_valid, b_valid;
    // sequencer
    uint32_t phase, checked, kind, looked, has_transfer, owed;
    uint32_t pending; // a bit for each part that has yet to take the posted job
    struct sq_chip_transfer shown;
    // DMA; beats of 0: there is no transfer, no address
    struct sq_chip_transfer next, to;
    uint32_t ar;
    struct {
        uint32_t left;
        uint8_t is_last, kind, tail, unused;
    } slot[SQ_DMA_SLOTS_MAX];
    uint32_t n_used;
    struct {
        uint32_t kind, last, tail;
    } out[2];
    uint32_t n_out, done, n_in;
    uint32_t burst, data_left; // beats of the burst that is written; that have not gone
    uint32_t
        ends; // a bit for each burst that is written, the oldest in the lowest: the last of its transfer
    // operands, sums, outputs
    struct sq_gear_time gear[SQ_TOP_OPERANDS], wide, carry;
    struct sq_operand_buffer_sim buffer[SQ_TOP_OPERANDS], sums;
    uint32_t kept[8], n_kept;   // beats of sums that jobs have yet to give, the oldest first
    uint32_t words[8], n_words; // of outputs, the same
    uint32_t n_store;
    _Alignas(16) unsigned char engine[SQ_TOP_ENGINE_NBYTES]; // last: as long as setup.engine says
};
void sq_chip_state_init(const unsigned *value, struct sq_chip_state *w);
// What takes a job that was posted.
static inline uint32_t sq_chip_takers(const struct sq_chip_job *job)
{
    return (1u << SQ_TOP_JOBS) - 1 - (job->carries ? 0 : 1u << SQ_TOP_SUMS);
}
// A settled state in few bytes, and back into one that was run on the same chip.
size_t sq_chip_state_nbytes(const struct sq_chip_setup *c);
void sq_chip_state_pack(const struct sq_chip_setup *c, const struct sq_chip_state *w,
                        unsigned char *to);
void sq_chip_state_unpack(const struct sq_chip_setup *c, const unsigned char *from,
                          struct sq_chip_state *w);

// What has moved, as counters go down with it.
struct sq_chip_moves {
    uint32_t reads, writes; // bursts
    uint32_t handed;        // transfers, on to the writes
    uint32_t shown;         // that were shown to the DMA, or taken by it
    uint32_t scales;        // of tiles
};

// Inputs of a cycle, and its outputs. Before the first job is posted, `job` is one of zeros.
struct sq_chip_feed {
    const struct sq_chip_load *load;       // of the step at hand; NULL: after the last
    const struct sq_chip_job *job, *ahead; // that is posted; that comes next, NULL: none
    bool loaded, posted; // in this cycle: the next `load` is due; `ahead` was posted, and is `job`
    bool asked;          // what `load` is was asked for; the caller resets it
    bool is_boundary;    // ... scales went, or data of the memory for which the engine waits
    struct sq_chip_moves moves; // since the begin
    struct sq_chip_stats stats;
};
void sq_chip_cycle(const struct sq_chip_setup *c, struct sq_chip_state *w, struct sq_chip_feed *f);

// As of cycle 0, and times that no longer matter alike.
void sq_chip_state_settle(const struct sq_chip_setup *c, struct sq_chip_state *w);

// Counters that go down to the end of a job, of a transfer, of the bursts at hand: what happens does not
// depend on one before it is near its end. split: each that is far from its end, in a settled state, becomes one that
// is near, and *counters says by how much; join: the other way round.
enum { SQ_CHIP_COUNTERS = SQ_TOP_OPERANDS + SQ_ENGINE_COUNTS + 12 };
struct sq_chip_counters {
    uint32_t n[SQ_CHIP_COUNTERS];
};
// Whether the memory has all beats of the first read, in a settled state.
bool sq_chip_state_has_come(const struct sq_chip_setup *c, const struct sq_chip_state *w);
// most: as far as counters can have gone down with those counts and moves; without end where what happened may
// depend on the counter. came: that changed meanwhile.
void sq_chip_most(const struct sq_chip_setup *c, const struct sq_chip_stats *stats,
                  const struct sq_chip_moves *moves, bool came, struct sq_chip_counters *most);
void sq_chip_state_split(const struct sq_chip_setup *c, struct sq_chip_state *w,
                         struct sq_chip_counters *counters);
void sq_chip_state_join(const struct sq_chip_setup *c, struct sq_chip_state *w,
                        const struct sq_chip_counters *counters);

// room as sq_chip_transfer has it, of a transfer that begins so many beats before the end of a page.
uint32_t sq_chip_room(const struct sq_chip_setup *c, uint32_t beats, uint32_t room);

// ---- from tile to tile (sq_chip_tiles.c) --------------------------------------------------------------
//
// What happens from one boundary to the next, of tiles or bursts between two jobs, is kept for each state without the counters
// that are far from their end, and looked up where that state comes back; whole periods are added at once.

// *to grows n times by *s.
static inline void sq_chip_stats_add(struct sq_chip_stats *to, const struct sq_chip_stats *s,
                                     uint64_t n)
{
    uint64_t *const sum = (uint64_t *)to;
    for (unsigned i = 0; i < sizeof *to / sizeof *sum; i++)
        sum[i] += n * ((const uint64_t *)s)[i];
}

static inline struct sq_chip_stats sq_chip_stats_since(const struct sq_chip_stats *now,
                                                       const struct sq_chip_stats *then)
{
    struct sq_chip_stats s = *now;
    sq_chip_stats_add(&s, then, UINT64_MAX); // less one times
    return s;
}

// The key of a settled state; 0: no memory.
uint32_t sq_chip_state_key(const struct sq_chip_setup *c, const struct sq_chip_state *w,
                           struct sq_memo *m);
// What follows from a state, a job and loads has these numbers as its key; next: the load after that.
struct sq_chip_key {
    uint32_t state, job, load, next;
};

// The key of the state without its counters, and those.
struct sq_chip_split {
    uint32_t state;
    struct sq_chip_counters counters;
};

// A way along boundaries. Zeroed at its begin and wherever a step begins to be loaded.
struct sq_chip_walk {
    // The boundary from which cycles are run.
    struct {
        bool valid;
        struct sq_chip_split at;
        struct sq_chip_stats stats;
        struct sq_chip_moves moves;
        bool has_come; // sq_chip_state_has_come
    } record;
    // The boundary to which later ones are compared; it moves on as that of sq_skip.h.
    struct sq_chip_period {
        bool valid;
        uint64_t until, seen;
        struct sq_chip_split at;
        struct sq_chip_stats stats;
        uint32_t exact; // counters that came near their end since then
    } period;
};

// Keys of the posted job, and of the step that is loaded or 0.
struct sq_chip_given {
    uint32_t job, load;
    bool is_last; // no job is left to be posted
};

// At a boundary: goes on along entries as far as they are known, and leaves the state at their end. False: no memory.
bool sq_chip_tiles_go(const struct sq_chip_setup *c, struct sq_memo *m, struct sq_chip_walk *walk,
                      const struct sq_chip_given *given, struct sq_chip_state *w,
                      struct sq_chip_feed *f);
