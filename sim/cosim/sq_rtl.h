// SPDX-License-Identifier: Apache-2.0
// C view of a verilated block. The bridge that sq_rtl_bridge.h writes implements it over the class
// that Verilator generates and is compiled with it into one shared object per parameter point;
// sq_rtl_build.h makes and loads these objects.
//
// A cycle is   comb()   drives the inputs of this cycle and returns the handshake outputs,
//              clock()  the rising edge.
// An assertion of the RTL that fails is told by clock(); it stops nothing and prints nothing.
// Data ports are arrays of 32-bit words, bit 0 of word 0 first, as long as the port needs; one
// array per field, in the order of struct sq_ports (sim/block/flow/sq_block.h).
#pragma once

#include <stdint.h>

// Included first in every file of an object, Verilator's own ones as well: what they would print,
// and $stop, come to the bridge.
#ifdef SQ_RTL_OBJECT
#define VL_USER_STOP
#define VL_PRINTF sq_bridge_printf
int sq_bridge_printf(const char *format, ...);
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Cycles of reset before cycle 0, with edges of the clock or without. In a dump cycle c begins with
// its rising edge at time c (in ns), and all signals hold their values of that cycle until c + 1.
#define SQ_RTL_RESET_CYCLES 2u

#define SQ_RTL_ONCE 1u
#define SQ_RTL_TWICE 0x100000u

// One table per shared object, returned by sq_rtl_entry().
struct sq_rtl_api {
    // A model in reset-released state; registers without reset start random from `seed`. With a
    // path, cycles `from` up to `to` - 1 are dumped there (objects built with tracing only).
    // Returns NULL if the trace file cannot be opened or tracing was not compiled in.
    void *(*create)(uint64_t seed, const char *fst_path, uint64_t from, uint64_t to);
    void (*destroy)(void *model);

    // valid: of each input stream. answer: ready of each input stream, then valid of the output.
    void (*comb)(void *model, const uint8_t *valid, uint8_t out_ready, const uint32_t *const *in,
                 uint8_t *answer);
    // Blocks with an environment only, else NULL. drive_env, before comb: ready of each ask, then
    // valid of each reply; fields of the replies. read_env, after it: valid of each ask, then ready
    // of each reply; fields of the asks. show_env: as show, what the model says of the latter.
    void (*drive_env)(void *model, const uint8_t *side, const uint32_t *const *reply);
    void (*read_env)(void *model, uint8_t *side, uint32_t *const *ask);
    void (*show_env)(void *model, const uint8_t *side, const uint32_t *const *ask);
    // NULL, or the first assertion that failed at this edge, by its path below the top; valid until
    // the next call of the thread.
    const char *(*clock)(void *model);
    // SQ_RTL_RESET_CYCLES of reset, with the inputs of the last comb(). Every other one, and the
    // first one of an even seed, has no edge of the clock: what is reset is reset asynchronously.
    void (*reset)(void *model);
    // Objects built with tracing only, else NULL: what the models say of this cycle, for the dump;
    // before comb(). `answer` as there, `out` noise where no beat is due; element number `element`
    // of each field is shown apart.
    void (*show)(void *model, const uint8_t *answer, const uint32_t *const *out,
                 const uint32_t *const *status, uint32_t element);
    // Fields of the output beat that is offered; of the status.
    void (*beat)(void *model, uint32_t *const *out);
    void (*status)(void *model, uint32_t *const *status);

    // The assertions of the RTL are off from here on: a model that went wrong may run into them.
    void (*no_assertions)(void *model);

    // Models that this thread creates from now on have fault `mutant` (0: none); objects without
    // faults ignore it.
    void (*select_mutant)(uint32_t mutant);
    // Writes line and toggle coverage of all models destroyed so far (objects built with coverage;
    // one thread at a time). The count of a point is SQ_RTL_ONCE where a model counted it, plus
    // SQ_RTL_TWICE where one model counted it twice or more after reset: a bit that did has risen
    // and fallen, and did not only leave its random initial value. Sums over files keep that
    // apart. The clock counts 0: Verilator 5.006 gives its counter, the first one, to bits that
    // are tied to a literal, and but for -fno-gate to many that gates drive. Returns 0, or -1 in
    // an object without coverage.
    int (*write_coverage)(const char *path);
};

// The only exported symbol of the object.
#define SQ_RTL_EXPORT __attribute__((visibility("default")))
SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void);

#ifdef __cplusplus
}
#endif
