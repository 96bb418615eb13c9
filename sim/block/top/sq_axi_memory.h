// SPDX-License-Identifier: Apache-2.0
// A memory behind AXI4, as the environment of a block that is its manager (sq_env.h). Streams of the
// block: asks axi_ar, axi_aw, axi_w, replies axi_r, axi_b, in this order, with the fields below.
//
//   kind 0  takes and answers everything at once; no errors but those of the map
//   kind 1  ideal: one DRAM for reads and writes, first come first served. A burst of n bytes occupies
//           it for ceil(n / burst) * num / den cycles; a beat comes `latency` cycles after its part, a response
//           as long after its burst
//           n[0] latency, n[1] num, n[2] den, n[3] burst in bytes
//   kind 2  random: any wait states on every channel, n[0] = 0 few .. 3 many; between two beats that
//           are read at most SQ_AXI_WAIT_MAX; it takes 1, 4 or 16 writes before their responses, which some memories
//           give late; one good answer in eight is EXOKAY
//   kind SQ_AXI_TIMED  a DRAM that keeps time (sim/dram/): reads and writes go to its front in the order in which they
//           come, a write with its last beat. A beat comes when the last burst that it lies in is over. Clock 0
//           of the DRAM, from which refreshes are counted, is that of the first transfer
//           dram, clock; n[0..3] as of an ideal one of the same peak, for plans
//   kind SQ_AXI_LAZY  as kind 0, but of a write it takes a beat only every n[0] cycles; in directed cases alone
//
// What memory holds, and how it fails, is said by its content (struct sq_axi_content). The block sq_dma has a
// map for it: what a beat holds, and how it fails, follows from its address alone, so that a golden model
// can say what comes.
//
//   47..32  any
//   31..28  0: a good address; else enum sq_axi_fault
//   27..20  number modulo 256 of the beat that fails, counted in beats from address 0
//   19..0   place
#pragma once

#include "sim/block/flow/sq_block.h"
#include "sim/block/top/sq_regs.h"

enum { SQ_AXI_WAIT_MAX = 32, SQ_AXI_WORDS_MAX = 16 }; // cycles; words of 32 bits in a beat
enum { SQ_AXI_LAZY = 3, SQ_AXI_TIMED = 4 };
enum { SQ_AXI_PAGE = 4096 };      // bytes; no burst goes over the end of one
enum { SQ_AXI_BURSTS_MAX = 256 }; // of the DRAM in a page: of 16 bytes or more
enum { SQ_AXI_ASKS = 3, SQ_AXI_REPLIES = 2, SQ_AXI_READS_MAX = 32, SQ_AXI_WRITES_MAX = 16 };
// Words of ar and aw in the pins. A word has at most 32 bits, so an address comes in two halves.
enum sq_axi_address {
    SQ_AXI_ADDR,
    SQ_AXI_ADDR_HIGH,
    SQ_AXI_LEN,
    SQ_AXI_SIZE,
    SQ_AXI_BURST,
    SQ_AXI_ADDRESS
};
static inline uint64_t sq_axi_addr(const int32_t half[2])
{
    return (uint64_t)(uint32_t)half[1] << SQ_ADDR_BITS / 2 | (uint32_t)half[0];
}
static inline void sq_axi_put_addr(int32_t half[2], uint64_t addr)
{
    half[0] = (int32_t)(addr & ((1u << SQ_ADDR_BITS / 2) - 1));
    half[1] = (int32_t)(addr >> SQ_ADDR_BITS / 2 & ((1u << SQ_ADDR_BITS / 2) - 1));
}
// Behind those streams the ones of registers, where a block has them, and where their words begin in the pins: those of ar
// and aw, data, strb, last of w; data, resp, last of r, resp of b.
enum { SQ_LITE_B = SQ_AXI_ASKS, SQ_LITE_R };
enum { SQ_LITE_AW = SQ_AXI_REPLIES, SQ_LITE_W, SQ_LITE_AR };
static inline size_t sq_lite_ask(unsigned data_w)
{
    return 2 * SQ_AXI_ADDRESS + 2 * data_w / 32 + 1;
}
static inline size_t sq_lite_reply(unsigned data_w)
{
    return data_w / 32 + 3;
}

enum sq_axi_fault {
    SQ_AXI_GOOD,
    SQ_AXI_SLVERR,
    SQ_AXI_DECERR,
    SQ_AXI_EARLY,   // a read: LAST with this beat, which ends its burst
    SQ_AXI_LATE,    // a read that ends with this beat: more beats come, LAST with the last of them
    SQ_AXI_MISSING, // the same: LAST does not come at all
    SQ_AXI_TWO,     // SLVERR, and DECERR with the beat behind it
    SQ_AXI_FAULTS
};

struct sq_axi_content {
    int32_t (*read)(void *ctx, uint64_t addr, unsigned i); // word i of the beat that lies there
    // n words of a beat that is written; a complaint, or NULL.
    const char *(*write)(void *ctx, uint64_t addr, const int32_t *word, unsigned n);
    enum sq_axi_fault (*fault)(void *ctx, uint64_t addr, unsigned nbytes); // of that beat
};

// The memory: plain data, zeroed before init. Its streams are the first ones of the pins.
struct sq_axi_memory {
    struct sq_env_choice choice;
    const struct sq_axi_content *content;
    void *ctx;
    struct sq_rng rng;
    unsigned words, nbytes;
    uint64_t now, dram_free; // dram_free: in parts of a cycle, n[2] of them
    bool ready[SQ_AXI_ASKS]; // of this cycle

    struct sq_axi_read {
        uint64_t addr;
        uint32_t beats;
        uint64_t start; // ideal: as dram_free
    } read[SQ_AXI_READS_MAX];
    unsigned n_reads;
    uint32_t beat;            // of the first of them
    uint32_t extra;           // beats behind its end
    uint32_t w_wait;          // cycles before a beat of a write is taken again
    uint32_t r_wait, ar_wait; // cycles before the next beat; before an address is taken again
    bool r_valid, r_ends;     // offered; the burst ends with it
    int32_t r[SQ_AXI_WORDS_MAX + 2];

    bool may_be_void; // beats without strobes may be written, which change nothing
    struct sq_axi_write {
        uint64_t addr;
        uint32_t beats, wait;    // wait: cycles before the response, behind `due`
        uint64_t due;            // the cycle from which a response may come
        uint32_t left;           // timed: bursts that have not gone
    } write[SQ_AXI_WRITES_MAX];  // without their responses
    uint32_t n_aw, n_w, n_whole; // whose address has come; whose beats have; both
    uint32_t room;               // for so many
    uint32_t w_beats;            // of the burst whose beats come
    bool b_valid;

    // timed: of each read, by its number, the cycle in which a burst is over (0: not known)
    uint64_t over[SQ_AXI_READS_MAX][SQ_AXI_BURSTS_MAX];
    uint64_t
        began; // the cycle that is clock 0 of the DRAM: of the first transfer; 0: none has come
    uint32_t first_read, first_write;
    struct sq_dram dram;
};

// As struct sq_env has them, for environments that are a memory and more.
void sq_axi_memory_draw(struct sq_rng *rng, struct sq_env_choice *choice);
void sq_axi_memory_init(struct sq_axi_memory *m, unsigned data_bits,
                        const struct sq_env_choice *choice, const struct sq_axi_content *content,
                        void *ctx);
void sq_axi_memory_drive(const struct sq_axi_memory *m, struct sq_pins *pins);
const char *sq_axi_memory_clock(struct sq_axi_memory *m, const struct sq_pins *pins);
bool sq_axi_memory_is_busy(const struct sq_axi_memory *m);

extern const struct sq_env sq_axi_memory;

// The first parameter of the block sq_dma is the width of a beat in bits, of whole words of 32 bits.
// SQ_AXI_TWO is told as what its beats respond.
enum sq_axi_fault sq_axi_fault_at(uint64_t addr, unsigned nbytes);
// Word i of the beat that is read there; of the one that must be written there.
int32_t sq_axi_read_word(uint64_t addr, unsigned i);
int32_t sq_axi_write_word(uint64_t addr, unsigned i);
