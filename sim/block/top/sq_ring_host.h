// SPDX-License-Identifier: Apache-2.0
// The environment of sq_top for programs: a memory behind AXI4 with a ring of descriptors, and a host that runs ring
// after ring, each of one to four layers, or one layer by START. It rings the doorbell once or twice, waits for
// interrupts or asks STATUS, and aborts some of them. Beside that it reads registers, and writes what is refused or
// means nothing. Layers may be refused, have a fault of the bus in their
// descriptor, or end by the watchdog. It complains of what sq_top_host.h complains of, of a record that is not written
// in its turn or does not hold what must stand there, of a slot that does not end, and of an interrupt that nothing
// has raised. Or the caller brings the layers (SQ_RING_GIVEN).
#pragma once

#include "sim/block/top/sq_lite_host.h"
#include "sim/block/top/sq_top_draw.h"

enum sq_ring_what {
    SQ_RING_ANY,    // all of it
    SQ_RING_ABORTS, // two short layers; ring number n is aborted n cycles after its doorbell; behind a memory that takes
    // writes slowly 4 n cycles, and the layers are longer, so that all buffers are full. From SQ_RING_N_CLEAN on there are
    // pairs: an abort around an error of the bus in a descriptor, and another error in the next descriptor
    SQ_RING_EXPIRES, // two short layers, each ended after n + 1 cycles; the last two after more than 2^16, while a
    // memory that takes longer reads their descriptors
    SQ_RING_LATE, // two short layers; behind reset number n the host waits n cycles
    SQ_RING_GIVEN, // the program of choice->given, again and again; behind a random memory each even number has a
    // fault of the bus in its last descriptor
    SQ_RING_LONG, // layers that are refused, in a ring of so many slots that its end is passed once; a ring beyond 2^48 before it
    SQ_RING_ENCODES, // four encoders, passes of the vector unit, or attentions, of which two are refused; or two short layers on a chip without all
    SQ_RING_WHATS
};
enum {
    SQ_RING_N_CLEAN = 320,
    SQ_RING_N_ABORTS = SQ_RING_N_CLEAN + 2 * 64,
    SQ_RING_N_SLOW = 160,
    SQ_RING_N_EXPIRES = 160,
    SQ_RING_N_LONG = 70,
    SQ_RING_N_ENCODES = 64,
    SQ_RING_LAYERS = 4
};

// Rings of which each descriptor is of the encoder, the vector unit or attention: so many for each that the chip has.
uint32_t sq_ring_n_encodes(const unsigned *value);

// A program of the caller's: layers that one ring runs, with one interrupt behind the last. Each has its image
// somewhere in memory, its descriptor first. What a layer writes, those behind it may read.
enum { SQ_PROGRAM_MAX = 63 };
struct sq_top_program {
    uint64_t base; // of the ring, whose slots follow
    uint32_t size;
    uint32_t n; // layers, fewer than slots and at most SQ_PROGRAM_MAX
    const struct sq_top_given *layer;
};

// A layer of the ring at hand.
struct sq_ring_layer {
    struct sq_top_given image; // addresses from 0 on; word and want lie in the host
    uint64_t base;
    uint32_t descriptor[SQ_DESC_WORDS];
    bool is_refused, wants_notice;
    uint32_t n_written;
    bool has_wrong; // a word differed
    uint32_t record[SQ_RECORD_WORDS], n_record;
};

struct sq_ring_host {
    struct sq_axi_memory memory;
    const unsigned *value;
    struct sq_env_choice choice;
    struct sq_rng rng;
    uint32_t number, idle; // of the ring; cycles before its first access
    uint32_t n_sound;      // layers whose record has no error
    unsigned step;         // of enum step in its source
    struct sq_lite_access access;
    uint64_t waited, still; // cycles since the first doorbell; since a beat moved
    uint32_t ran;           // since the answer to the last one
    // Accesses beside those of the driver, which change nothing.
    struct sq_rng extra;
    bool is_extra, has_looked;
    uint32_t want_resp;

    // The ring, which goes on from work to work unless it is set up anew.
    uint64_t base;
    uint32_t size, head; // head: of the first layer of this work
    bool is_set_up;
    bool keeps_size, keeps_base; // only RING_BASE, or only RING_SIZE, is written anew
    // The work.
    bool has_end;               // an image ends at 2^48
    uint32_t n, n_rung, n_done; // layers; up to the last doorbell; with a record
    bool is_single;             // by START
    bool has_irq, may_irq;
    int32_t abort_at;                 // cycles after the doorbell
    bool was_aborted, has_rung_again; // the write was done; a doorbell right behind it
    uint32_t watchdog;
    bool is_lowered,
        has_lowered; // it is written while a layer runs: lower_at cycles behind the doorbell; it was
    uint32_t lower_at;
    // At the first beat of a descriptor, or of its record; a wrong LAST at the end of its first burst.
    enum sq_axi_fault fault;
    bool fault_in_record;
    uint32_t fault_of;
    struct sq_ring_layer layer[SQ_PROGRAM_MAX];
    uint32_t n_words, n_out;
    struct sq_top_drawn drawn;
    int32_t word[SQ_DRAWN_WORDS], want[SQ_DRAWN_OUT_WORDS];
};

// As struct sq_env has them; choice->what is that of enum sq_ring_what. disturb is for GIVEN.
uint64_t sq_ring_host_disturb(struct sq_rng *rng, uint32_t lost, struct sq_env_choice *choice);
void sq_ring_host_init(const unsigned *value, const struct sq_env_choice *choice, void *env);
void sq_ring_host_drive(const void *env, struct sq_pins *pins);
const char *sq_ring_host_clock(void *env, const struct sq_pins *pins);
bool sq_ring_host_is_busy(const void *env);
