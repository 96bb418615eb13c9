// SPDX-License-Identifier: Apache-2.0
// An RTL block, described by one table: its ports and parameters, its random inputs, what it
// computes and in which cycle, and which rows of `sqsim area` it has. Everything that runs blocks
// (sim/cosim, sqsim cosim, sqsim area) goes over these tables. To add a block, write its table in
// sq_NAME_block.c and add a line to the list below.
//
// A beat is an array of 32-bit integers, its fields one after the other; a field is `count`
// elements of `width` bits each. Input comes in groups: what comes between two resets of the
// block's state (a bank, a tile, a vector, a job). Record i of a group holds, one after the other,
// the fields of beat i of every input stream; streams may have different numbers of beats.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "models/core/sq_config.h"
#include "models/number/sq_bits.h"
#include "models/sq_rng.h"
#include "models/sq_status.h"
#include "sim/block/core/sq_core_sim.h"
#include "sim/block/flow/sq_env.h"

enum { SQ_STREAMS_MAX = 5, SQ_FIELDS_MAX = 16, SQ_STATUS_MAX = 3, SQ_PARAMS_MAX = 34 };
enum { SQ_TABLE_WORDS = 32, SQ_POINT_VALUES = SQ_PARAMS_MAX + SQ_TABLE_WORDS };

struct sq_field {
    const char *name; // of the port: STREAM_name_i, out_name_o; of a status: name_o
    size_t count;
    unsigned width; // 1..32
    bool is_unsigned;
};

// What the parameters of a point make of a block: NAME_valid_i, NAME_ready_o and the fields of each
// input stream, out_valid_o, out_ready_i and the fields of the output.
struct sq_ports {
    struct sq_port {
        const char
            *name; // "in"; m_axi_... and s_axil_... have ports NAMEvalid, ..., as AXI has them
        size_t n_fields; // 0 from the first stream on that the block does not have
    } stream[SQ_STREAMS_MAX];
    struct sq_field in[SQ_FIELDS_MAX]; // of all input streams, in order
    size_t n_in;
    struct sq_field out[SQ_FIELDS_MAX];
    size_t n_out; // 0: there is no output; the environment brings the work and looks at what comes
    // Streams between the block and its environment (sq_env.h): asks leave the block, replies come to
    // it; up to the first without fields.
    struct sq_port ask[SQ_ASKS_MAX], reply[SQ_REPLIES_MAX];
    struct sq_field ask_field[SQ_FIELDS_MAX], reply_field[SQ_FIELDS_MAX];
    size_t n_ask, n_reply;                 // fields of all asks, of all replies
    struct sq_field status[SQ_STATUS_MAX]; // outputs without a handshake, read between groups
    size_t n_status;
    size_t records, outputs; // of a group, at most (0: 1); outputs that golden gives at a time
    uint64_t n_all;          // > 0: so many groups are all there are (SQ_STIMULUS_ALL)
    bool has_last;           // field 0 is set with the last beat of a group of 1 to 24
    bool has_jobs;           // stream 0 carries jobs, which are not counted as beats
    // Multiplications that a beat of stream mac_stream stands for, where the block multiplies matrices:
    // elements of K times rows times columns, those that are 0 or that the format leaves out among them; 0: none.
    double macs;
    unsigned mac_stream;
};

struct sq_point {
    const char *name;
    bool is_quick;
    // In the order of the block's parameters; from SQ_PARAMS_MAX on what is no parameter: the table of an element
    // (sq_scaled.h), which is in a source of its own.
    unsigned value[SQ_POINT_VALUES];
};

// A parameter of the RTL that a point of one's own may set, in place of that of a point of the
// table.
struct sq_free {
    const char *param;
    unsigned min, max;
    bool is_power; // of two
};

// How many faults `make mutants` puts into the netlist of a point, and how many cases each of them
// runs before it counts as not found.
struct sq_faults {
    const char *point;
    unsigned n, cases;
};

// A module of the block, or the block itself, as `sqsim area` prices it: parameters up to the first
// without a name.
struct sq_area_unit {
    const char *name, *top;
    unsigned weights; // per cycle, of one instance, or of one PE of an array
    bool is_array;    // has parameters Rows and Cols
    struct sq_area_param {
        const char *name;
        unsigned value;
    } param[SQ_PARAMS_MAX];
};

enum sq_stimulus {
    SQ_STIMULUS_UNIFORM,                  // legal, any value
    SQ_STIMULUS_EXTREME,                  // legal, largest magnitudes
    SQ_STIMULUS_FEW,                      // legal, few different values: ties, zeros
    SQ_STIMULUS_ILLEGAL,                  // any bits
    SQ_STIMULUS_RANDOM,                   // end of those drawn at random
    SQ_STIMULUS_ALL = SQ_STIMULUS_RANDOM, // group `number` of n_all
    SQ_STIMULUS_MIXED, // of a case: each beat or group has one of those drawn at random
};

struct sq_group {
    const int32_t *record;
    const uint32_t *len;  // [SQ_STREAMS_MAX] beats of each stream
    const uint32_t *wrap; // [SQ_STREAMS_MAX] > 0: the stream repeats its first `wrap` records
    uint64_t from;        // golden: the first output beat that is wanted
};

// ---- time -----------------------------------------------------------------------------------

// What is offered on an input stream in a cycle, as far as time depends on it.
struct sq_offer {
    bool valid, last;
    bool carry, keep; // of a job, of its scales: sums come in, sums leave (sq_output)
    uint32_t n;
    struct sq_job job;
    const int32_t *beat; // the fields of the stream, for blocks whose model passes data on
};

struct sq_handshake {
    bool in_ready[SQ_STREAMS_MAX], out_valid;
};

// The cycle model, in two calls per cycle: comb gives the handshake outputs, then clock is the
// rising edge with the same inputs. The state is plain data of `nbytes`, zeroed before the block's
// init.
struct sq_timing {
    size_t nbytes;
    void (*comb)(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out);
    void (*clock)(void *state, const struct sq_offer *in, bool out_ready);
};

// ---- the table ------------------------------------------------------------------------------

// A signal for the save file of a waveform, in reading order; without a path: a heading.
struct sq_wave {
    const char *label, *path; // path below the top module
};

struct sq_case;
struct sq_indexed;

struct sq_block {
    const char *name, *top;               // "topk", "sq_topk"
    const char *tied;                     // an input that stays 0 in its own runs; NULL: none
    const char *group;                    // what a group is: "bank", "job"
    const char *param[SQ_PARAMS_MAX + 1]; // RTL parameters, NULL at the end; "": not one of the RTL
    const struct sq_point *points;
    size_t n_points;
    // Up to a NULL name; NULL: the block has the points of its table and no others.
    const struct sq_free *free;
    // Completes a point in which the parameters of `given` (bit i: parameter i) replaced those of `old`: it
    // sets the others that follow from them, and refuses what the RTL refuses, in a sentence. May be NULL.
    enum sq_status (*settle)(unsigned *value, const unsigned *old, uint32_t given,
                             struct sq_error *err);
    // Writes the source of rtl/ that a point has in place of the one in the tree, and returns its name in files.f; NULL
    // where it has none such. NULL: no point has.
    const char *(*source)(const unsigned *value, FILE *out);
    const struct sq_area_unit *area;
    size_t n_area;
    unsigned coverage_cases;     // of `make coverage`, over its points
    const char *coverage_points; // their names; NULL: the quick ones
    const struct sq_faults *faults;
    size_t n_faults;
    void (*ports)(const unsigned *value, struct sq_ports *ports);

    // Random input, by one of three functions: draw_beat fills one beat of a group of one beat (or,
    // with has_last, of several); draw_group fills a group, whose records and len are zero before,
    // and sets len[0] >= 1; draw_case fills a whole case (sq_case.h).
    void (*draw_beat)(const unsigned *value, struct sq_rng *rng, enum sq_stimulus kind,
                      uint64_t number, int32_t *beat);
    void (*draw_group)(const unsigned *value, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len);
    enum sq_status (*draw_case)(struct sq_case *c, struct sq_rng *rng, struct sq_error *err);
    // For a block with draw_case: *c, zero but for block, point and seed, gets n_groups groups of
    // legal operands, each value equally likely, without stalls. NULL: draw_case is the only
    // source.
    enum sq_status (*draw_uniform)(struct sq_case *c, size_t n_groups, struct sq_rng *rng,
                                   struct sq_error *err);
    // Cases that every campaign begins with, whatever its seed: the ends of ranges that random ones
    // do not come near. Number 0..n_directed-1; the case is all zero but for its block, point and
    // seeds.
    unsigned n_directed;
    enum sq_status (*draw_directed)(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err);
    // The largest |sum| that output field f must hold (SQ_K_MAX), 0: it is no sum. NULL: none is.
    int64_t (*limit)(const unsigned *value, size_t f);
    // Makes a group smaller in place, in the way number `way` = 0, 1, ...; false where this way
    // does not apply. NULL: groups stay whole.
    bool (*cut)(const unsigned *value, unsigned way, int32_t *record, uint32_t *len);
    // The same for a group that repeats its beats (wrap): it changes numbers and lengths, and
    // leaves the beats alone. NULL: such groups stay whole.
    bool (*cut_wrapped)(const unsigned *value, unsigned way, int32_t *record, uint32_t *len);

    // Output beats of a group, zero before: from in->from on, at most `outputs` of sq_ports.
    // Returns how many the group has in all, >= 1.
    uint64_t (*golden)(const unsigned *value, const struct sq_group *in, int32_t *out);

    const struct sq_timing *timing;
    // NULL: no engine whose weights an index finds on the chip (sq_indexed.h).
    const struct sq_indexed *indexed;
    // NULL: the block has no environment. Else the state of its model begins with struct sq_pins:
    // the runner puts the pins of the cycle there, the environment's side before comb and ask, all
    // of them before clock. ask: the block's side.
    const struct sq_env *env;
    void (*ask)(const void *state, struct sq_pins *pins);
    void (*init)(const unsigned *value, void *state); // a zeroed state
    // Picks from a beat what the cycle model needs to know of it; the caller sets `valid`. NULL:
    // the cycle model needs no more than has_last.
    void (*offer)(const unsigned *value, unsigned stream, const int32_t *record,
                  struct sq_offer *offer);

    // Status fields (outputs without a handshake). `status` holds the previous cycle's values on
    // entry, zero after reset; update it in place from the state before the edge. `due` is the
    // group whose output comes next; behind the last group it has no records. NULL: the
    // block has no status.
    void (*status)(const unsigned *value, const void *state, const struct sq_group *due,
                   int32_t *status);

    const struct sq_wave *waves; // besides the ports; NULL: none
    // Elements of a row of output field f, 0: it has no rows. NULL: those of Rows x Cols elements.
    size_t (*row_len)(const unsigned *value, size_t f);
    // The core that a point describes, and the point of a core; NULL: core options do not apply.
    void (*get_core)(const unsigned *value, struct sq_core_config *config);
    void (*set_core)(unsigned *value, const struct sq_core_config *config);
};

// The most columns of a layer, for which INT32 sums are made (SPEC 0.6). Sums of |sum| >=
// SQ_SUM_FULL need all 32 bits: directed cases go there where that takes few cycles.
enum { SQ_K_MAX = 28672, SQ_SUM_FULL = 1 << 30 };

// The largest matrix that gqsa_walk, and the most columns that spqt_idx takes as given operands.
enum { SQ_WALK_ROWS_MAX = 4096, SQ_WALK_GROUPS_MAX = 16384, SQ_SPQT_COLUMNS_MAX = 16384 };

// clang-format off
// All blocks, a line each; NAME is sq_NAME_block of sq_NAME_block.c.
#define SQ_BLOCKS(X)    \
    X(core)          \
    X(gather)        \
    X(topk)          \
    X(meta24)        \
    X(array)         \
    X(spqr_dec)      \
    X(spqt_idx)      \
    X(q4k_dec)       \
    X(gqsa_walk)     \
    X(requant)       \
    X(act_buffer)    \
    X(array_static)  \
    X(core_act)      \
    X(array_scaled)  \
    X(act_scale)     \
    X(hadamard)      \
    X(combine)       \
    X(output)        \
    X(core_out)      \
    X(gqsa_scale)    \
    X(spqr_scale)    \
    X(fp_mac)        \
    X(q4k_weight)    \
    X(vector)        \
    X(attend)        \
    X(operand_buffer) \
    X(dma)           \
    X(top)           \
    X(engine_array)   \
    X(engine_static)  \
    X(engine_dynamic) \
    X(engine_core_act) \
    X(engine_gqsa)    \
    X(engine_spqt)    \
    X(engine_spqr)    \
    X(engine_scaled)
// clang-format on
extern const struct sq_block *const sq_blocks[];
extern const size_t sq_n_blocks;
#define SQ_DECLARE_BLOCK(name) extern const struct sq_block sq_##name##_block;
SQ_BLOCKS(SQ_DECLARE_BLOCK)
// Row i of the area tables of all blocks; NULL behind the last.
const struct sq_area_unit *sq_area_unit(size_t i);

// The point `base` with the parameters of `given` (bit i: parameter i) as in `value`. Banks keep
// their share of high elements where only their length is given. Refuses what is outside its range
// or what the RTL does not build, with parameter, value and range.
enum sq_status sq_point_own(const struct sq_block *block, const struct sq_point *base,
                            const unsigned *value, uint32_t given, struct sq_point *own,
                            struct sq_error *err);
// The number of a parameter of a block by its name; SQ_PARAMS_MAX where the block has none.
size_t sq_param_find(const struct sq_block *block, const char *name);

// ports() with the defaults of records and outputs.
struct sq_ports sq_ports_of(const struct sq_block *block, const unsigned *value);

// Number of elements of a beat before field f; with f = n the length of the beat.
size_t sq_field_offset(const struct sq_field *field, size_t f);

// Where element i of output field f is: ", row 1, lane 3"; nothing where it is the only one.
void sq_element_place(const struct sq_block *block, const unsigned *value, size_t f, size_t i,
                      char text[48]);

// What a beat offers: the block's offer(), valid.
struct sq_offer sq_offer_of(const struct sq_block *block, const struct sq_ports *ports,
                            const unsigned *value, unsigned stream, const int32_t *record);

// A word of a beat that is a number in binary32.
static inline float sq_word_float(int32_t word)
{
    return sq_float_of((uint32_t)word);
}

static inline int32_t sq_float_word(float x)
{
    return (int32_t)sq_bits_of(x);
}

// The bits of a number below n.
static inline unsigned sq_bits_below(unsigned n)
{
    unsigned bits = 0;
    while (bits < 32 && 1u << bits < n)
        bits++;
    return bits;
}

// The low `width` bits (1..32) of v as a field of an unsigned beat.
static inline int32_t sq_field_unsigned(uint32_t v, unsigned width)
{
    return (int32_t)(v & (UINT32_MAX >> (32 - width)));
}

// Uniform signed or unsigned value of `width` bits.
int32_t sq_draw_bits(struct sq_rng *rng, unsigned width, bool is_unsigned);
// A code of 0.3 (no mask code), by flavour.
int32_t sq_draw_code(struct sq_rng *rng, unsigned width, enum sq_stimulus kind);
// n of them, at times all the same; of ILLEGAL then -2^(width-1).
void sq_draw_codes(struct sq_rng *rng, unsigned width, enum sq_stimulus kind, size_t n, int32_t *x);

#define SQ_LEN(array) (sizeof(array) / sizeof(array)[0])
// In the table of a block: the member of this name and its length, from the array of this name.
#define SQ_ROWS(name) .name = (name), .n_##name = SQ_LEN(name)
