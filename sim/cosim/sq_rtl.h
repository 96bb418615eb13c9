// SPDX-License-Identifier: Apache-2.0
// C view of a verilated block. sim/cosim/bridge/sq_<block>_bridge.cpp implements it over the class
// that Verilator generates and is compiled with it into one shared object per parameter point;
// sq_rtl_build.h makes and loads these objects.
//
// A cycle is   comb()   drives the inputs of this cycle and returns the handshake outputs,
//              clock()  the rising edge.
// Data ports are arrays of 32-bit words, bit 0 of word 0 first, as long as the port needs.
#ifndef SQ_RTL_H
#define SQ_RTL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Cycles of reset before cycle 0; in a dump, cycle c rises at time 2*(c + SQ_RTL_RESET_CYCLES) + 1.
#define SQ_RTL_RESET_CYCLES 2u

#define SQ_RTL_ONCE 1u
#define SQ_RTL_TWICE 0x100000u

struct sq_rtl_core_in {
    uint8_t job_valid, act_valid, lo_valid, hi_valid, out_ready;
    uint32_t group_banks, groups;
    const uint32_t *act, *lo, *hi; // data of the offered beats; read only where valid
};

struct sq_rtl_core_out {
    uint8_t job_ready, act_ready, lo_ready, hi_ready, out_valid;
};

struct sq_rtl_gather_in {
    uint8_t in_valid, out_ready;
    const uint32_t *code, *act;
};

struct sq_rtl_gather_out {
    uint8_t in_ready, out_valid, error;
};

// Blocks of sq_stream_block.h: one array of words per field of a beat.
struct sq_rtl_stream_in {
    uint8_t in_valid, out_ready;
    const uint32_t *const *field; // read only where valid
    uint8_t second_valid;         // second and third input stream, where there are such
    uint8_t third_valid;
};

struct sq_rtl_stream_out {
    uint8_t in_ready, out_valid, second_ready, third_ready;
};

// One table per shared object, returned by sq_rtl_entry().
struct sq_rtl_api {
    // A model in reset-released state; registers without reset start random from `seed`. With a
    // path, the cycles from `fst_from` on are dumped there (objects built with tracing only).
    // Returns NULL if the trace file cannot be opened or tracing was not compiled in.
    void *(*create)(uint64_t seed, const char *fst_path, uint64_t fst_from);
    void (*destroy)(void *model);
    void (*clock)(void *model);

    // sq_core; NULL in a gather object.
    void (*core_comb)(void *model, const struct sq_rtl_core_in *in, struct sq_rtl_core_out *out);
    // The offered tile: rows*cols words each.
    void (*core_tile)(void *model, uint32_t *p_lo, uint32_t *p_hi);
    // SQ_N_CAUSES words each; mask_error: one bit per column.
    void (*core_status)(void *model, uint32_t *low, uint32_t *high, uint32_t *mask_error);

    // sq_gather; NULL in a core object.
    void (*gather_comb)(void *model, const struct sq_rtl_gather_in *in,
                        struct sq_rtl_gather_out *out);
    void (*gather_beat)(void *model, uint32_t *clean, uint32_t *act);

    // The blocks of sq_stream_block.h; NULL in the others.
    void (*stream_comb)(void *model, const struct sq_rtl_stream_in *in,
                        struct sq_rtl_stream_out *out);
    void (*stream_beat)(void *model, uint32_t *const *field);

    // Models that this thread creates from now on have fault `mutant` (0: none); objects without
    // faults ignore it.
    void (*select_mutant)(uint32_t mutant);
    // Writes line and toggle coverage of all models destroyed so far (objects built with coverage;
    // one thread at a time). The count of a point is SQ_RTL_ONCE where a model counted it, plus
    // SQ_RTL_TWICE where one model counted it twice or more after reset: a bit that did has risen
    // and fallen, and did not only leave its random initial value. Sums over files keep that
    // apart. Returns 0, or -1 in an object without coverage.
    int (*write_coverage)(const char *path);
};

// The only exported symbol of the object.
#define SQ_RTL_EXPORT __attribute__((visibility("default")))
SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void);

#ifdef __cplusplus
}
#endif

#endif
