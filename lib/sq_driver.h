// SPDX-License-Identifier: Apache-2.0
// A driver of the chip sq_top: freestanding C99, without allocation, without an operating system. Its registers
// are those of sq_regs.h (docs/registers.md); what lies in memory is that of `sqsim image`.
//
//     struct sq_driver chip = {.ctx = base, .read = read32, .write = write32, .wait = sleep_until_irq};
//     struct sq_driver_done done;
//     if (sq_driver_probe(&chip, NULL) != SQ_DRIVER_OK || sq_driver_run(&chip, descriptor, &done) != SQ_DRIVER_OK)
//         puts(sq_driver_text(&done, text, sizeof text));
//
// One thread at a time calls it. Memory that the chip reads is written, and visible to it, before a start; what it
// has written is there behind sq_driver_finish.
#ifndef SQ_DRIVER_H
#define SQ_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// How the driver reaches the chip; the caller's.
struct sq_driver {
    void *ctx; // first argument of the three
    uint32_t (*read)(void *ctx, uint32_t offset);
    void (*write)(void *ctx, uint32_t offset, uint32_t value);
    // Lets time pass: until the interrupt, or a while where the caller polls. Returns 0 to wait no longer. NULL: the
    // driver asks STATUS again and again, and the interrupt stays off.
    int (*wait)(void *ctx);
};

enum sq_driver_result {
    SQ_DRIVER_OK,
    SQ_DRIVER_NO_CHIP, // ID is not that of sq_top
    SQ_DRIVER_VERSION, // registers of another version than this driver's
    SQ_DRIVER_BUSY,    // a layer runs
    SQ_DRIVER_TIMEOUT, // `wait` gave up; the layer still runs
    SQ_DRIVER_FAILED,  // the layer has ended with an error, which done.status says
};

// What the chip is.
struct sq_driver_chip {
    uint32_t rows, cols;              // of a tile: tokens, channels
    uint32_t bank;                    // elements of K in a beat
    uint32_t act_bits, weight_bits;   // of a code
    uint32_t out_kind;                // 0 binary32, 1 bfloat16, 2 INT8
    uint32_t act_beats, weight_beats; // of half a buffer
    uint32_t sum_tiles;               // of sums, between chunks of K
    uint32_t bus_nbytes;              // of a beat of memory
    uint32_t attend_queries; // that share a cache, at most; 0: no descriptor of kind attend runs
    uint32_t attend_size;    // elements of a head, at most
    uint32_t attend_bits;    // of a code of the cache: 16 binary16, 8 INT8 with a scale
};

// A layer that has ended.
struct sq_driver_done {
    enum sq_driver_result result;
    uint32_t status; // register STATUS
    // From the start to the last response; busy + wait + blocked = cycles.
    uint64_t cycles, busy, wait, blocked, read_beats, write_beats;
    // Registers of these names, after a layer by itself (docs/registers.md); 0 for one of a ring, whose record lacks them.
    uint64_t read_wait, read_full, write_wait;
};

// The words of a descriptor, in memory at a multiple of the bus: `sqsim image` writes them, and so may a program.
// Addresses are those that the chip sees. rows, cols: tiles; block_*: tiles of a block; chunk: scale groups.
struct sq_driver_layer {
    uint64_t act, weight, row_scale, col_scale, out;
    uint32_t rows, cols, block_rows, block_cols, beats, groups, chunk;
    int cols_outer;
};
enum { SQ_DRIVER_DESCRIPTOR_WORDS = 16 };
void sq_driver_describe(const struct sq_driver_layer *layer,
                        uint32_t word[SQ_DRIVER_DESCRIPTOR_WORDS]);

// The words of a descriptor of kind encode (docs/registers.md): INT8 activations of the bfloat16 outputs of a layer, on
// a chip whose CODES.ENCODE is 1. rows, cols: tiles of the outputs; beats: of the activations of a tile of rows. A ring
// runs it among layers.
struct sq_driver_encoder {
    uint64_t out, act, row_scale; // addresses: it reads the first, and writes the others
    uint32_t rows, cols, beats;
    int codes; // 1: outputs of INT8 (CODES.OUT is 2), which move as they are; row_scale is 0
};
void sq_driver_describe_encoder(const struct sq_driver_encoder *encoder,
                                uint32_t word[SQ_DRIVER_DESCRIPTOR_WORDS]);

// The words of a descriptor of kind vector (docs/registers.md), on a chip whose CODES.VECTOR is 1: y = f(a b + c) of each
// element of `rows` rows of n, and what these y are reduced to. Numbers as those of the fields of VECTOR; y_kind 4: Y_BYTE. a, b, c, y, red:
// addresses, of a constant b or c the bits of its binary32. Strides: beats of the bus from a row to the next, 0..65535.
struct sq_driver_vector {
    uint64_t a, b, c, y, red;
    uint32_t rows, n; // rows 1..65535
    uint32_t a_stride, b_stride, c_stride, y_stride;
    uint32_t f, b_from, c_from, red_kind, y_kind;
    int all;                    // red goes over all rows
    int a_half, b_half, c_half; // bfloat16
};
void sq_driver_describe_vector(const struct sq_driver_vector *vector,
                               uint32_t word[SQ_DRIVER_DESCRIPTOR_WORDS]);

// The words of a descriptor of kind attend (docs/registers.md): attention of queries that share a cache, rows of `size`
// elements. q, k, v, y: addresses of the first rows, multiples of a beat of the bus; k and v of the first key that the queries
// see. Strides: beats of the bus from a row to the next, 0..65535. The scale of the scores stands in the queries.
struct sq_driver_attend {
    uint64_t q, k, v, y;
    uint32_t queries, size,
        keys; // 1..attend_queries; whole beats of codes, at most attend_size; 1..65536
    uint32_t q_stride, k_stride, v_stride, y_stride;
};
// NULL, or what the chip refuses, with the range; word is written in any case.
const char *sq_driver_describe_attend(const struct sq_driver_chip *chip,
                                      const struct sq_driver_attend *attend,
                                      uint32_t word[SQ_DRIVER_DESCRIPTOR_WORDS]);

// Looks whether the chip is there. chip may be NULL. OK, NO_CHIP, VERSION.
enum sq_driver_result sq_driver_probe(const struct sq_driver *d, struct sq_driver_chip *chip);
// Starts the layer whose descriptor lies at that address. OK, BUSY.
enum sq_driver_result sq_driver_start(const struct sq_driver *d, uint64_t descriptor);
// Waits for its end, reads status and counters, and takes the interrupt back. OK, TIMEOUT, FAILED.
enum sq_driver_result sq_driver_finish(const struct sq_driver *d, struct sq_driver_done *done);
// Both. done->result is what it returns. Errors shorten no layer: one whose reads all fail takes as long as another,
// and sq_driver_abort ends it sooner, of a ring its watchdog.
enum sq_driver_result sq_driver_run(const struct sq_driver *d, uint64_t descriptor,
                                    struct sq_driver_done *done);

// A ring of layers in memory: slots of SQ_SLOT_NBYTES bytes (sq_regs.h), a descriptor and the record of its layer each.
// The chip runs them one after the other, with one interrupt at the end.
struct sq_driver_ring {
    uint64_t base;           // address of slot 0 as the chip sees it, a multiple of a slot
    uint32_t size;           // slots, 2..65535
    volatile uint32_t *word; // the same memory as the caller sees it, in the chip's order of bytes
    uint32_t head,
        tail; // the first slot whose layer has not been finished; the slot that is free next
};
// Gives the chip the ring, empty: head and tail become 0. watchdog: cycles of a layer, at most; 0: any. OK, BUSY.
enum sq_driver_result sq_driver_ring_open(const struct sq_driver *d, struct sq_driver_ring *ring,
                                          uint32_t watchdog);
// Puts a descriptor (sq_driver_describe) into the next slot, whose number it returns, or -1: all but one are in use.
// notice: an interrupt behind this layer, too. The chip sees it with the next sq_driver_ring_start.
int32_t sq_driver_ring_add(struct sq_driver_ring *ring,
                           const uint32_t word[SQ_DRIVER_DESCRIPTOR_WORDS], int notice);
// Rings the doorbell for all that was added, also while the chip works.
void sq_driver_ring_start(const struct sq_driver *d, const struct sq_driver_ring *ring);
// Waits until nothing runs any more, and frees the slots of the layers that have ended. OK; FAILED: a layer has an
// error, or was not run behind an abort; TIMEOUT.
enum sq_driver_result sq_driver_ring_finish(const struct sq_driver *d, struct sq_driver_ring *ring);
// What the record of a slot says, once its layer has ended. OK, FAILED; BUSY: it has none yet.
enum sq_driver_result sq_driver_ring_done(const struct sq_driver_ring *ring, uint32_t slot,
                                          struct sq_driver_done *done);
// Ends what runs, a layer or a ring; its end is waited for as ever.
void sq_driver_abort(const struct sq_driver *d);

// The program of a token in memory, as `sqsim image --token` lays it out: a header of words, a ring, and what it reads and
// writes. Its words, little-endian; offsets are bytes from its begin.
enum {
    SQ_DRIVER_TOKEN_MAGIC,
    SQ_DRIVER_TOKEN_BASE, // where it lies as the chip sees it
    SQ_DRIVER_TOKEN_BASE_HIGH,
    SQ_DRIVER_TOKEN_VOCAB,     // tokens: numbers below it
    SQ_DRIVER_TOKEN_POSITIONS, // of a sequence
    SQ_DRIVER_TOKEN_RESULT,    // offset of the number of the next token
    SQ_DRIVER_TOKEN_PATCHES,   // offset of patches of four words: the word at offset [0] becomes
    SQ_DRIVER_TOKEN_NPATCHES,  // [1] + [2] x, x the token, or where [3] is 1 its position
    SQ_DRIVER_TOKEN_TAIL,      // descriptors of the ring
    SQ_DRIVER_TOKEN_RING_NBYTES = 128,       // offset of the ring
    SQ_DRIVER_TOKEN_MAGIC_VALUE = 0x4b545153 // "SQTK"
};
struct sq_driver_token {
    volatile uint32_t
        *word; // the caller's: the program as it sees it, in the chip's order of bytes
    struct sq_driver_ring ring;
    uint32_t failed; // the slot that ended with an error
};
// Writes what follows from token and position into the program, and sets t->ring.
enum sq_driver_result sq_driver_token_place(struct sq_driver_token *t, uint32_t id,
                                            uint32_t position);
// Runs the token at this position, after those at the positions before it; *next is the number of the largest logit. OK, TIMEOUT,
// BUSY; NO_CHIP: the magic, token or position is none of the program; FAILED: slot `failed` has an error.
enum sq_driver_result sq_driver_token(const struct sq_driver *d, struct sq_driver_token *t,
                                      uint32_t id, uint32_t position, uint32_t *next);

// One sentence that says how it ended, cut to size - 1 characters; returns text.
const char *sq_driver_text(const struct sq_driver_done *done, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
