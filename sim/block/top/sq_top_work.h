// SPDX-License-Identifier: Apache-2.0
// Layers that the host of sq_top (sq_top_host.h) runs, one after the other: some with a fault of the bus, illegal
// operands or a descriptor that must be refused. Each is drawn from seed and number; its memory, which complains of
// what is written wrong; the status that must come.
#pragma once

#include "sim/block/top/sq_axi_memory.h"
#include "sim/block/top/sq_top_draw.h"

// Descriptors that sq_top must refuse: each way in which one can be wrong (sq_top_spoil.c).
enum { SQ_SPOIL_CHANGES = 13, SQ_SPOIL_FIXED_BITS = 126 + 16 };
enum sq_spoil {
    SQ_SPOIL_WIDE_ROWS =
        SQ_SPOIL_CHANGES, // a block that does not fit; before it one field is wrong
    SQ_SPOIL_WIDE_COLS,
    SQ_SPOIL_MANY_SUMS, // more tiles than sums have room for, or than blocks of an indexed chip have
    SQ_SPOIL_LONG_CHUNK,  // longer than K
    SQ_SPOIL_PART_OF_TWO, // a part of two groups
    SQ_SPOIL_WHOLE_PART,  // ... of all beats
    SQ_SPOIL_MANY_PARTS,  // ... of a layer of more groups than integers have room for
    SQ_SPOIL_MANY_SCALES, // scales of columns that do not fit; of rows
    SQ_SPOIL_MANY_ROWS,
    SQ_SPOIL_WRAPS_TILE, // a product whose low 16 bits would fit: beats of a tile, of a block
    SQ_SPOIL_WRAPS_BLOCK,
    SQ_SPOIL_FULL_SUMS, // more tiles of a block than sums have room for, by rows and columns; than the buffers have
    SQ_SPOIL_FULL_BUFFERS,
    SQ_SPOIL_CROOKED, // address of the descriptor: the caller's to spoil, as the next, and PAST_END
    SQ_SPOIL_ASTRIDE, // the descriptor lies across 2^48
    // outputs of 2^32 beats and a few; operands, by their beats or by the high half of those of a tile: near 2^48
    SQ_SPOIL_MANY_OUT,
    SQ_SPOIL_MANY_ACT,
    SQ_SPOIL_FAR_ACT, // that and 2^48 beats, or what is nearest
    SQ_SPOIL_LONG_ACT,
    SQ_SPOIL_LONG_WEIGHT,
    SQ_SPOIL_PAST_END, // a region ends a beat beyond 2^48: the four operands, the outputs
    SQ_SPOIL_FIXED =
        SQ_SPOIL_PAST_END + SQ_TOP_OPERANDS + 1, // a bit without a name is 1, or one of KIND wrong
    SQ_SPOILS = SQ_SPOIL_FIXED + SQ_SPOIL_FIXED_BITS
};

static inline bool sq_spoil_is_past_end(enum sq_spoil way)
{
    return way >= SQ_SPOIL_PAST_END && way < SQ_SPOIL_FIXED;
}
// One of the fixed bits comes as often as any other way.
enum sq_spoil sq_spoil_draw(struct sq_rng *rng);
// Spoils the words of a sound descriptor of a chip with that room.
void sq_spoil_descriptor(uint32_t word[SQ_DESC_WORDS], enum sq_spoil way,
                         const struct sq_top_room *room);
// Spoils those of an encoder of a chip with these parameters: one field is wrong, or a bit of KIND, or a region ends a
// beat beyond 2^48, of short tiles and of those of more than 64 KiB. `number`: of these ways, in turn.
void sq_spoil_encoder(uint32_t word[SQ_DESC_WORDS], uint32_t number, const unsigned *value);
// The same of kind vector, of kind attend.
void sq_spoil_vector(uint32_t word[SQ_DESC_WORDS], uint32_t number, const unsigned *value);
void sq_spoil_attend(uint32_t word[SQ_DESC_WORDS], uint32_t number, const unsigned *value);

enum sq_host_what {
    SQ_HOST_ANY,   // layers of any shape, order and blocks
    SQ_HOST_WRONG, // the same, half of them with a fault of the bus, illegal operands or a descriptor
                   // that must be refused
    SQ_HOST_FAULTS, // a short layer with every fault of the bus in every beat, a good one behind each
    SQ_HOST_REFUSED, // every way in which a descriptor can be wrong, a good one behind each
    SQ_HOST_LATE, // a short layer again and again; behind reset number n the host waits n cycles, so
                  // that resets at equal distances come in every cycle of a layer
    SQ_HOST_KEPT, // blocks of as many tiles as sums have room for, in two chunks; the first chunk of the last
                  // block, whose sums are kept, has an error
    SQ_HOST_DEEP, // the longest transfers: a tile of as many beats as half a buffer holds, a block of as many tiles; a
    // block of as many tiles as a job has
    SQ_HOST_CLEARS, // a short layer again and again, then one with a fault. During number n of either, n cycles before
    // the interrupt, the host begins a write that clears DONE, or of those with a fault ERROR
    SQ_HOST_RINGS // from here on rings (sq_ring_host.h), in the order of enum sq_ring_what
};
// Layers of FAULTS and of REFUSED.
uint32_t sq_host_n_faults(const unsigned *value);
enum {
    SQ_HOST_N_REFUSED = 2 * SQ_SPOILS, // each way, and a good layer behind it
    SQ_HOST_N_KEPT = 12,
    SQ_HOST_N_DEEP = 3,
    SQ_HOST_N_CLEARS = 18
};

// Plain data: value, choice are the caller's to set. A layer of the caller's (choice.given) is run as it is.
struct sq_top_work {
    const unsigned *value;
    struct sq_env_choice choice;
    uint32_t number; // of the layer
    uint64_t base;   // address of word 0 of the image
    // The layer at hand.
    struct sq_top_piece {
        struct sq_top_given image;
        enum sq_axi_fault fault;
        uint64_t fault_at; // address of the beat
        uint32_t n_read;   // beats that a layer without faults reads; 0: not known
        bool is_refused;   // the descriptor is wrong, in this way
        enum sq_spoil way;
        struct sq_top_moved {
            uint64_t from, to, nbytes;
        } moved[SQ_TOP_OPERANDS + 1]; // regions that lie elsewhere than the image has them
        uint32_t n_written;           // words of outputs
        bool has_wrong;               // a word differed
    } at;
    struct sq_top_drawn drawn;
    bool written[SQ_DRAWN_OUT_WORDS];
};

// The shape of a layer of the caller's.
struct sq_top_layer sq_top_work_given(const unsigned *value, const struct sq_top_given *given);
void sq_top_work_begin(struct sq_top_work *w, uint32_t number);
// What STATUS.READ or STATUS.WRITTEN says of a fault.
uint32_t sq_host_fault_status(enum sq_axi_fault fault);
// A complaint of what STATUS says behind the layer at hand, and of outputs that have not come; or NULL.
const char *sq_top_work_status(const struct sq_top_work *w, uint32_t status);
// Memory, whose ctx is a struct sq_top_work.
extern const struct sq_axi_content sq_top_work_content;
