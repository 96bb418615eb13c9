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
// A point multiplies either a model's layers (`model`) or one GEMM (`n` and `k`) by m tokens.
// Combinations that no legal format or core has (SPEC A.2, A.8) are dropped and counted.
#ifndef SQ_SWEEP_H
#define SQ_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sq_cause.h"
#include "sq_config.h"
#include "sq_status.h"
#include "sq_sweep_db.h"

// ---- axes -----------------------------------------------------------------------------------

// The axes, slowest first, then what follows from them and may stand in a constraint.
enum sq_quantity {
    SQ_AXIS_MODEL,
    SQ_AXIS_M,
    SQ_AXIS_N,
    SQ_AXIS_K,
    SQ_AXIS_PRECISION,
    SQ_AXIS_BANK,
    SQ_AXIS_SPARSITY,
    SQ_AXIS_GROUP,
    SQ_AXIS_ACT_BITS,
    SQ_AXIS_ALGORITHM,
    SQ_AXIS_GATHER,
    SQ_AXIS_ROWS,
    SQ_AXIS_COLS,
    SQ_AXIS_LOW_LANES,
    SQ_AXIS_HIGH_LANES,
    SQ_N_AXES,
    SQ_HIGH_BITS = SQ_N_AXES,
    SQ_LOW_BITS,
    SQ_HIGH_PER_BANK,
    SQ_EQUIVALENT_BITS, // SPEC A.5
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
    const char *fallback;      // the value where the specification leaves the axis out; NULL: none
};
extern const struct sq_axis sq_axes[SQ_N_AXES];

#define SQ_EMBEDDED_MODEL "traces/tiny-llama" // stands for the one below the program's home

// ---- measures -------------------------------------------------------------------------------

// Who computes: one pass of an engine yields all its measures of a point. Bits of a set.
enum sq_engine {
    SQ_ENGINE_TIMING = 1, // cycle model and storage arithmetic: microseconds
    SQ_ENGINE_VALUES = 2, // golden model on the model's own weights and activations
    SQ_ENGINE_PE = 4,     // synthesis of one PE, cached by content
    SQ_ENGINE_GATHER = 8, // synthesis of one gather unit (one token, all k slots)
    SQ_ENGINE_EVAL =
        16, // the whole model in bit-exact integers over its evaluation tokens: seconds
};

struct sq_sweep_result {
    // SQ_ENGINE_TIMING: sums over the layers
    double macs, weights, stored_nbits;
    uint64_t cycles, bound, low[SQ_N_CAUSES], high[SQ_N_CAUSES];
    // SQ_ENGINE_VALUES: sums of squares over the layers
    double weight_signal, weight_noise, output_signal, output_noise;
    // SQ_ENGINE_PE, SQ_ENGINE_GATHER; NaN where OpenSTA is not installed
    double pe_area_um2, pe_critical_path_ns, gather_area_um2, gather_critical_path_ns;
    // SQ_ENGINE_EVAL
    double loss, perplexity;
};

struct sq_sweep_point;
struct sq_measure {
    const char *name, *unit;
    const char *basis; // measured or modelled, by what
    unsigned engines;  // bits of enum sq_engine
    double (*get)(const struct sq_sweep_point *p, const struct sq_sweep_result *r, unsigned index);
    unsigned index; // handed to get
};
// Every measure there is. "causes" in a specification stands for low_busy .. high_draining.
extern const struct sq_measure sq_measures[];
extern const size_t sq_n_measures;
enum { SQ_MEASURES_MAX = 64 };

// ---- specification --------------------------------------------------------------------------

#define SQ_SWEEP_POINTS_MAX 10000000u // of the whole grid, before constraints

struct sq_sweep_spec {
    char *name, *title, *text; // text: the file as it was
    struct {
        size_t n;
        double *value;
    } axis[SQ_N_AXES];
    char **model; // names of the model axis
    bool is_gemm; // n and k in place of a model
    size_t n_constraints;
    struct sq_constraint *constraint;
    size_t n_measures;
    const struct sq_measure *measure[SQ_MEASURES_MAX];
    unsigned engines;
    // the points that are legal and satisfy the constraints, as indices into the whole grid
    size_t n_points;
    uint32_t *point;
    size_t n_illegal, n_excluded;
};

// Everything is checked before any work: SQ_ERR_ARG, SQ_ERR_RANGE or SQ_ERR_IO with one sentence
// for unknown keys and names (with the nearest), empty axes, values out of range or given twice,
// more than SQ_SWEEP_POINTS_MAX points, and where no point is left.
enum sq_status sq_sweep_spec_load(struct sq_sweep_spec *s, const char *path, struct sq_error *err);
enum sq_status sq_sweep_spec_parse(struct sq_sweep_spec *s, const char *text, size_t nbytes,
                                   const char *what, struct sq_error *err);
void sq_sweep_spec_free(struct sq_sweep_spec *s); // harmless after a failure

struct sq_sweep_point {
    double quantity[SQ_N_QUANTITIES];
    struct sq_format format;
    struct sq_core_config config;
    const char *model; // NULL for a GEMM
    size_t m, n, k;
};
// Point i < s->n_points, in the order of the axes, the last one fastest.
void sq_sweep_spec_point(const struct sq_sweep_spec *s, size_t i, struct sq_sweep_point *p);

// The point's parameters as one JSON object: what identifies its row in the database.
enum { SQ_PARAMETERS_SIZE = 768 };
void sq_sweep_parameters(const struct sq_sweep_point *p, char text[SQ_PARAMETERS_SIZE]);

// ---- running --------------------------------------------------------------------------------

struct sq_sweep_options {
    const char *db;         // file of the database, created where missing, once all inputs are open
    const char *home;       // where traces/, rtl/ live
    const char *cache;      // directory of the synthesis cache
    const char *liberty;    // standard cells of the synthesis
    const char *code;       // digest of the program's sources: part of every key
    const char *provenance; // JSON members "tool", "revision", ... without braces
    unsigned jobs;          // threads, >= 1; the rows do not depend on it
    size_t shard, n_shards; // points i with i % n_shards == shard
    void (*progress)(void *context, uint64_t done,
                     uint64_t total); // NULL: none; one call at a time
    void *context;
};

struct sq_sweep_count {
    uint64_t total, computed, cached;
};

// Computes what the database lacks. Each point is one transaction: a kill at any moment loses at
// most the points being computed. Models are opened, and tools asked for, before the first point.
// After an error the points finished before are kept.
enum sq_status sq_sweep_run(const struct sq_sweep_spec *s, const struct sq_sweep_options *o,
                            struct sq_sweep_count *count, struct sq_error *err);

// The rows of this specification (and shard), in its order; SQ_ERR_RANGE where one is missing.
enum sq_status sq_sweep_rows(const struct sq_sweep_spec *s, size_t shard, size_t n_shards,
                             struct sq_sweep_db *db, sq_sweep_db_visit *each, void *context,
                             struct sq_error *err);

#endif
