// SPDX-License-Identifier: Apache-2.0
// A sweep: a specification (YAML) spans a grid of independent points; each point is computed once,
// kept in a database (sq_sweep_db.h) under the digest of everything it depends on, and never
// computed again.
//
//   name: paper_grid
//   title: one line for people                      # optional
//   axes:                                           # what is left out has its default
//     bank: [4, 8, 16]                              # numbers, names,
//     m: [1..1024*2]                                # or ranges: A..B, A..B+STEP, A..B*FACTOR
//   constraints: ["high_lanes * 4 == low_lanes"]    # optional: term OP term
//   measures: [relative_error, cycles]
//
// A point multiplies a model's layers (`model`) or one GEMM (`n` and `k`) by m tokens, or takes the
// GEMMs of a table (`workload`). With both a model and a table, times are those of the table, and
// losses and errors, at m tokens, those of the model in the same options of its format. `machine`
// names a machine with buffers and DRAM (sq_machine.h). The axes rows, cols, low_lanes, high_lanes and
// gather change its core; the axes cores, clock, bandwidth, port and buffers change the rest of it.
// Several formats on machines get PEs of equal silicon (fair: [area]) where axis fair is left out.
// Without a machine, cycles are of one core with free streams, which only format sq_w has. Combinations
// that no legal format or core has (SPEC A.2, A.8) are dropped and counted. An axis that a format does
// not have (bank of dense) does not multiply its points.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/core/sq_config.h"
#include "models/sq_status.h"
#include "sim/block/flow/sq_cause.h"
#include "sim/energy/sq_energy_table.h"
#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_digest.h"
#include "sim/machine/sq_fair.h"
#include "sim/machine/sq_machine.h"
#include "sim/sweep/sq_sweep_db.h"

// ---- axes -----------------------------------------------------------------------------------

// The axes, slowest first, then what follows from them and may stand in a constraint.
enum sq_quantity {
    SQ_AXIS_MODEL,
    SQ_AXIS_WORKLOAD,
    SQ_AXIS_MACHINE,
    SQ_AXIS_M,
    SQ_AXIS_N,
    SQ_AXIS_K,
    SQ_AXIS_FORMAT,
    SQ_AXIS_WEIGHT_BITS,
    SQ_AXIS_PRECISION,
    SQ_AXIS_BANK,
    SQ_AXIS_HIGH_PER_BANK, // k: an axis of sq_b; of the others it follows
    SQ_AXIS_CODES,
    SQ_AXIS_SPARSITY,
    SQ_AXIS_GROUP,
    SQ_AXIS_ACT_BITS,
    SQ_AXIS_ALGORITHM,
    SQ_AXIS_TOPK,
    SQ_AXIS_GATHER,
    SQ_AXIS_ROWS,
    SQ_AXIS_COLS,
    SQ_AXIS_LOW_LANES,
    SQ_AXIS_HIGH_LANES,
    SQ_AXIS_CORES, // from here to the last: of a machine, in place of its own
    SQ_AXIS_CLOCK,
    SQ_AXIS_BANDWIDTH,
    SQ_AXIS_DEVICE, // of a DRAM that keeps time, in place of the machine's; the next three need it
    SQ_AXIS_CHANNELS,
    SQ_AXIS_MAP,
    SQ_AXIS_PAGE,
    SQ_AXIS_OUTPUT,
    SQ_AXIS_ACT_BUFFER,
    SQ_AXIS_WEIGHT_BUFFER,
    SQ_AXIS_OUT_BUFFER,
    SQ_AXIS_FAIR,
    SQ_AXIS_CONTEXT, // these three: of whole passes (sq_pass.h)
    SQ_AXIS_BATCH,
    SQ_AXIS_KV_BITS,
    SQ_N_AXES,
    SQ_HIGH_BITS = SQ_N_AXES,
    SQ_LOW_BITS,
    SQ_EQUIVALENT_BITS, // of a weight: codes and indices, no scales (SPEC A.5, E.5, F.6)
    SQ_LOW_STEPS,
    SQ_HIGH_STEPS,
    SQ_N_QUANTITIES,
};
const char *sq_quantity_name(enum sq_quantity q); // "model", "bank", ...

// One axis: numbers of a range, or one of a list of names (the value is then its index).
struct sq_axis {
    const char *name;
    double min, max;           // of a number
    bool is_integer;           //
    const char *const *choice; // names, NULL-terminated; NULL: numbers
    bool is_path;              // names of files instead, the specification's own
    const char *fallback; // the value where the specification leaves the axis out; "": the first
                          // of `choice`; NULL: none, or with `option` the default of the format
    const char *option;   // formats have it that take this option in a sweep; NULL: all
    bool is_optional;     // left out: no axis; with `option` the default of the format, too
};
extern const struct sq_axis sq_axes[SQ_N_AXES];

// Paths of models, workloads and machines that exist below the program's home stand for those, then
// those in the working directory, then those beside the specification.
#define SQ_EMBEDDED_MODEL "traces/tiny-llama"

// ---- measures -------------------------------------------------------------------------------

// Who computes: one pass of an engine yields all its measures of a point. Bits of a set.
enum sq_engine {
    SQ_ENGINE_TIMING = 1, // cycle model and storage arithmetic: microseconds
    SQ_ENGINE_VALUES = 2, // golden model on the model's own weights and activations
    SQ_ENGINE_PE = 4,     // synthesis of one PE, cached by content
    SQ_ENGINE_GATHER = 8, // synthesis of one gather unit (one token, all k slots)
    SQ_ENGINE_EVAL =
        16, // the whole model in bit-exact integers over its evaluation tokens: seconds
    SQ_ENGINE_MACHINE = 32, // what timing knows only on a machine; no engine of its own
    SQ_ENGINE_ARRAY =
        64, // synthesis of the PE of the format as the machine has it, with timing at its clock
    SQ_ENGINE_ENERGY = 256,   // the netlist of a core of one PE on drawn operands: seconds
    SQ_ENGINE_SIZE = 128,     // encodes a model in a format whose size its weights decide
    SQ_ENGINE_JOULES = 512,   // joules a MAC that were measured, with timing of whole passes
    SQ_ENGINE_KL = 1024,      // the whole model beside the model as it is: seconds, kept by format
    SQ_ENGINE_SHAPES = 2048,  // what timing knows without any PE; no engine of its own
    SQ_ENGINE_OUTPUTS = 4096, // with SQ_ENGINE_ARRAY: of output stage and vector unit, too
};

enum { SQ_NOTE_SIZE = 160 };

struct sq_sweep_result {
    // SQ_ENGINE_TIMING: sums over the layers, `count` times each. low and high slots:
    // multiplications there was room for. With a machine: clock, cycles without operands and
    // without knowing which, bytes from and to DRAM.
    double macs, weights, stored_nbits, low_slots, low_macs, high_slots, high_macs;
    double cycles, bound, low[SQ_N_UNIT_CAUSES], high[SQ_N_UNIT_CAUSES];
    double clock_hz, memory, index, nbytes;
    const char *clock_from; // on a machine: who says the clock
    struct sq_fair_pe pe;   // of the format, where it was made fair
    char unfair
        [SQ_NOTE_SIZE]; // why there is none: SQ_ENGINE_SHAPES alone has values; empty: there is
    struct sq_fair_silicon silicon; // SQ_ENGINE_ARRAY
    // A whole pass, a workload that is a config.json: its tokens, 0 of other workloads, -1: weights and
    // cache do not fit the DRAM; seconds of it, and
    // of one prompt as long as the context.
    double tokens, pass_s, first_s;
    double joules
        [SQ_N_ENDS]; // SQ_ENGINE_JOULES: of that pass, by end of the range; NAN: nobody measured the format
    bool has_vector_joules;
    // SQ_ENGINE_VALUES: sums of squares over the layers. One pass with SQ_ENGINE_EVAL, which
    // encodes once, whatever machine or m a point has
    double weight_signal, weight_noise, output_signal, output_noise;
    // SQ_ENGINE_PE, SQ_ENGINE_GATHER; NaN where OpenSTA is not installed
    double pe_area_um2, pe_critical_path_ns, gather_area_um2, gather_critical_path_ns;
    // SQ_ENGINE_ENERGY: inside of the PE, by enum sq_energy_mode
    double pe_fj_per_mac[2];
    // SQ_ENGINE_EVAL
    double loss, perplexity;
    // SQ_ENGINE_KL: mean and 95 % interval, nats a token
    double kl, kl_95[SQ_N_ENDS];
    // Any of VALUES, EVAL, SIZE: stored bits per weight of what was encoded; 0: nothing was
    double evaluated_bits;
};

struct sq_sweep_point;
struct sq_measure {
    const char *name, *unit;
    const char *basis; // measured or modelled, by what
    unsigned engines;  // bits of enum sq_engine
    size_t field;      // offset of a double in struct sq_sweep_result
    // The measure by the value of the field; NULL: that value.
    double (*get)(const struct sq_sweep_point *p, const struct sq_sweep_result *r, double value);
    const char *no_value; // what a reader must know where the value is no finite number; or:
    // What a reader must know of this value: why there is none, or that it is an expectation; into
    // text, which is empty. NULL: nothing ever, but for no_value.
    void (*note)(const struct sq_sweep_point *p, const struct sq_sweep_result *r, double value,
                 char text[SQ_NOTE_SIZE]);
};
// Every measure there is. "causes" in a specification stands for low_busy .. high_draining.
extern const struct sq_measure sq_measures[];
extern const size_t sq_n_measures;
enum { SQ_MEASURES_MAX = 64 };

// ---- specification --------------------------------------------------------------------------

#define SQ_SWEEP_POINTS_MAX 10000000u // of the whole grid, before constraints

struct sq_sweep_format {
    uint64_t axes;                                             // bits
    const struct sq_format_option *option[SQ_N_AXES], *second; // NULL; second: of precision
};

struct sq_sweep_grid {
    char *name, *title, *text; // text: the file as it was
    char *folder;              // of the file; NULL: there is none
    const char *home;          // the caller's, while the file is read
    struct {
        size_t n;
        double *value; // of names: the index
        char **name;   // of paths
    } axis[SQ_N_AXES];
    struct sq_sweep_format *of_format; // [sq_n_formats()], which axes each has
    bool is_gemm, is_workload;         // n and k, or a table, in place of a model ...
    bool is_join;                      // ... or a table beside one, which has the values
    bool is_fair_usual; // several formats on machines, of equal silicon as axis fair was left out
    struct sq_machine *machine;       // one per value of the machine axis, NULL without
    struct sq_digest *machine_digest; // of the files
    size_t n_constraints;
    struct sq_constraint *constraint;
    size_t n_measures;
    const struct sq_measure *measure[SQ_MEASURES_MAX];
    unsigned engines;
    // the points that are legal and satisfy the constraints, as indices into the whole grid
    size_t n_points;
    uint32_t *point;
    uint32_t
        *last; // of `point`, as long as the grid: combinations that are not legal, from here down
    size_t n_illegal, n_excluded; // dropped: see above
};

// Everything is checked before any work: SQ_ERR_ARG, SQ_ERR_RANGE or SQ_ERR_IO with one sentence
// for unknown keys and names (with the nearest), empty axes, values out of range or given twice,
// more than SQ_SWEEP_POINTS_MAX points, and where no point is left.
// Machines are read from below `home`.
enum sq_status sq_sweep_grid_load(struct sq_sweep_grid *s, const char *path, const char *home,
                                  struct sq_error *err);
enum sq_status sq_sweep_grid_parse(struct sq_sweep_grid *s, const char *text, size_t nbytes,
                                   const char *what, const char *home, struct sq_error *err);
void sq_sweep_grid_free(struct sq_sweep_grid *s); // harmless after a failure

// One design in place of a grid, as YAML or JSON: a value of each axis that it names, and `measures`.
//   {"machine": "default", "workload": "llama-3-8b", "format": "nvfp4", "batch": 8, "measures": ["tokens_per_second"]}
// *s has one point. Errors as of a grid.
enum sq_status sq_sweep_design_parse(struct sq_sweep_grid *s, const char *text, size_t nbytes,
                                     const char *what, const char *home, struct sq_error *err);

struct sq_sweep_point {
    double quantity[SQ_N_QUANTITIES];
    uint64_t absent;  // bit per axis: not one of this specification
    uint64_t foreign; // bit per axis: not one of this format; null in the row
    struct sq_recipe recipe;
    struct sq_core_config config; // of a recipe that a core alone can run: that core
    const char *model, *workload; // NULL where the source is another; both: a join
    const char *machine_name;     // NULL: one core with free streams
    struct sq_machine machine;    // as the axes changed it
    size_t machine_index, m, n, k;
};
// Point i < s->n_points, in the order of the axes, the last one fastest.
void sq_sweep_grid_point(const struct sq_sweep_grid *s, size_t i, struct sq_sweep_point *p);
// Combination i < s->n_illegal without legal format or core, for a list of them.
void sq_sweep_grid_illegal(const struct sq_sweep_grid *s, size_t i, struct sq_sweep_point *p);

// The point's parameters as one flat JSON object, with the same keys for every point of a sweep:
// what identifies its row in the database.
enum { SQ_PARAMETERS_SIZE = 1536 };
void sq_sweep_parameters(const struct sq_sweep_point *p, char text[SQ_PARAMETERS_SIZE]);

// ---- running --------------------------------------------------------------------------------

struct sq_sweep_count {
    uint64_t total, computed, cached; // cached: found up to date in the database
    uint64_t damaged;                 // found, but not as they were written: computed anew
    uint64_t encoded; // models encoded: once each for all that only machines and m tell apart
};

struct sq_sweep_options {
    const char *db;        // file of the database, created where missing, once all inputs are open
    const char *home;      // where traces/, rtl/ live
    const char *cache;     // directory of the synthesis cache
    const char *liberty;   // standard cells of the synthesis
    const char *kept;      // directory of what models lose, by format (sq_cache.h)
    const char *reference; // directory of states of models as they are (sq_reference.h)
    // Prices: Liberty files of memories for buffers, joules a MAC (sq_energy_table.h), of memory (a file, and a type
    // of DRAM in it). NULL: areas have no buffers; there are no joules; the file's first type.
    const char *sram_area, *energy, *memory, *dram;
    const char *code;       // digest of the program's sources: part of every key
    const char *provenance; // JSON members "tool", "revision", ... without braces
    unsigned jobs;          // threads, >= 1; the rows do not depend on it
    bool is_dry_run;        // counts what the database, which must exist, has; computes nothing
    size_t shard, n_shards; // points i with i % n_shards == shard
    // NULL: none; one call at a time. stage: what is done before the first point, until the first
    // progress, which comes when it is known what the database has; from then on, from any thread and beside
    // progress, what is synthesized.
    void (*stage)(void *context, const char *text);
    void (*progress)(void *context, const struct sq_sweep_count *count);
    void *context;
};

// Computes what the database lacks. Each point is one transaction: a kill at any moment loses at
// most the points being computed. Models are opened, and tools asked for, before the first point.
// After an error the points finished before are kept.
enum sq_status sq_sweep_run(const struct sq_sweep_grid *s, const struct sq_sweep_options *o,
                            struct sq_sweep_count *count, struct sq_error *err);

// The row of the first point, computed without a database: `db` and the shard of *o have no use.
enum sq_status sq_sweep_one(const struct sq_sweep_grid *s, const struct sq_sweep_options *o,
                            sq_sweep_db_visit *each, void *context, struct sq_error *err);

// The rows of this specification (and shard), in its order; SQ_ERR_RANGE where one is missing.
enum sq_status sq_sweep_rows(const struct sq_sweep_grid *s, size_t shard, size_t n_shards,
                             struct sq_sweep_db *db, sq_sweep_db_visit *each, void *context,
                             struct sq_error *err);
