// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of a sweep (sq_sweep_*.c) and their tests; users include sq_sweep.h.
#pragma once

#include "sim/format/sq_recipe.h"
#include "sim/llm/sq_checkpoint.h"
#include "sim/sweep/sq_sweep.h"

// ---- axes (sq_sweep_axis.c) -------------------------------------------------------------------

// s->of_format.
enum sq_status sq_sweep_resolve_formats(struct sq_sweep_grid *s, struct sq_error *err);
// The values of the axes at one index of the whole grid; false where another point is the same
// because its format does not have an axis that differs.
bool sq_sweep_point_at(const struct sq_sweep_grid *s, uint64_t at, struct sq_sweep_point *p);
// What follows from them; an error where no legal format or core has these values.
enum sq_status sq_sweep_point_settle(const struct sq_sweep_grid *s, struct sq_sweep_point *p,
                                     struct sq_error *err);

// ---- points (sq_sweep_points.c) ---------------------------------------------------------------

// s->point and the counts of those that were dropped, once all else of *s is there.
enum sq_status sq_sweep_collect_points(struct sq_sweep_grid *s, struct sq_error *err);

// ---- files (sq_sweep_machine.c) ---------------------------------------------------------------

// `name` below `home` where such a file exists, else as it is, else, where no such file exists, below
// `folder` (NULL: none) if there is one, else by its short name (sq_home_find), in path[SQ_SWEEP_PATH_SIZE].
enum { SQ_SWEEP_PATH_SIZE = 1024 };
void sq_sweep_path(const char *name, const char *home, const char *folder, const char *pattern,
                   char path[SQ_SWEEP_PATH_SIZE]);
// s->machine and their digests, by the names of the axis.
enum sq_status sq_sweep_read_machines(struct sq_sweep_grid *s, const char *home,
                                      struct sq_error *err);

// ---- constraints (sq_sweep_constraint.c) ------------------------------------------------------

// "bank <= 64", "high_lanes * 4 == low_lanes", "gather == log", "precision != 8/2". A term is a
// quantity, a number or a name, times or divided by numbers or quantities.
enum { SQ_FACTORS_MAX = 4 };
struct sq_term {
    unsigned n;
    struct {
        bool is_quantity, is_divisor;
        unsigned quantity; // from SQ_N_QUANTITIES on: a measure, by its place in sq_measures
        unsigned names;    // the axis whose name this is or holds; SQ_N_AXES: a number
        double number;
    } factor[SQ_FACTORS_MAX];
};
struct sq_constraint {
    struct sq_term left, right;
    unsigned op;
    bool is_measured; // has a measure, so that a point must be computed first
    char text[80];    // as it was read
};
enum { SQ_CONSTRAINT_VALUES = SQ_N_QUANTITIES + SQ_MEASURES_MAX };
// "area_mm2 <= 50": a measure is a quantity, too. A comparison with what has no value fails.
// Refuses what it cannot read, with the nearest name. Names of `model` are not allowed. value: quantities, then
// measures in the order of sq_measures, which may be left out where the constraint has none.
enum sq_status sq_constraint_parse(const char *text, struct sq_constraint *c, struct sq_error *err);
bool sq_constraint_holds(const struct sq_constraint *c, const double *value);

// ---- measures (sq_sweep_measure.c) --------------------------------------------------------------

// Whether it depends on the PEs of a machine.
bool sq_measure_is_of_pes(const struct sq_measure *m);
// NAN where the point has no value of it.
double sq_measure_of(const struct sq_measure *m, const struct sq_sweep_point *p,
                     const struct sq_sweep_result *r);
// Into text: what m->note says, or why there are no PEs; empty: nothing.
void sq_measure_note(const struct sq_measure *m, const struct sq_sweep_point *p,
                     const struct sq_sweep_result *r, char text[SQ_NOTE_SIZE]);

// ---- engines (sq_sweep_engine.c) -------------------------------------------------------------

// What the engines need besides the point: opened once, shared by all threads, read only.
struct sq_sweep_inputs;
enum sq_status sq_sweep_inputs_open(struct sq_sweep_inputs **in, const struct sq_sweep_grid *s,
                                    const struct sq_sweep_options *o, struct sq_error *err);
void sq_sweep_inputs_close(struct sq_sweep_inputs *in);

// Adds everything the point's measures depend on but the code and the parameters.
void sq_sweep_inputs_digest(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                            struct sq_digest *digest);
// Models encoded so far.
size_t sq_sweep_inputs_encodings(const struct sq_sweep_inputs *in);
// JSON members that say where the numbers come from: "data", "seed", tools. Owned by `in`.
const char *sq_sweep_inputs_provenance(const struct sq_sweep_inputs *in);

enum sq_status sq_sweep_compute(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                struct sq_sweep_result *r, struct sq_error *err);

// ---- values (sq_sweep_values.c) ---------------------------------------------------------------

// Results by encoding: model, tokens, options of the format. Shared by the threads of a sweep; who
// wants what another one computes waits for it.
struct sq_sweep_memo;
enum sq_status sq_sweep_memo_open(struct sq_sweep_memo **memo, const struct sq_sweep_grid *s,
                                  struct sq_error *err);
void sq_sweep_memo_close(struct sq_sweep_memo *memo);
size_t sq_sweep_memo_encodings(struct sq_sweep_memo *memo);

struct sq_sweep_source {
    const struct sq_checkpoint *ck;
    const char *path, *tokens, *eval_tokens; // token files: calibration, evaluation
    struct sq_digest digest;                 // of all of it
};
// What SQ_ENGINE_VALUES and SQ_ENGINE_EVAL yield, those of `engines`, the same in every call.
enum sq_status sq_sweep_values(struct sq_sweep_memo *memo, const struct sq_sweep_source *source,
                               unsigned engines, const struct sq_sweep_point *p,
                               struct sq_sweep_result *r, struct sq_error *err);

// ---- KL (sq_sweep_kl.c) -------------------------------------------------------------------------

// What SQ_ENGINE_KL yields: `sqsim eval` of the point's recipe over the model's evaluation tokens. Each recipe is
// evaluated once and then kept in options->kept.
enum sq_status sq_sweep_kl(const struct sq_sweep_options *options,
                           const struct sq_sweep_source *source, const struct sq_recipe *recipe,
                           struct sq_sweep_result *r, struct sq_error *err);
