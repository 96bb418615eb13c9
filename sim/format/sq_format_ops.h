// SPDX-License-Identifier: Apache-2.0
// The table of a format, from its options to its bytes and cycles. Each format has one, in the
// folder of its family, sim/format/<family>/sq_<name>_format.c. Commands, evaluation, files,
// machines, GPUs and sweeps read the table; no other code knows a format by its name. To add a
// format, define its table and name it in sq_formats.c (README.md has examples).
//
// This head holds what all of them need. It points to smaller tables, one for each of these
// readers, in headers of their own.
#pragma once

#include "sim/format/sq_format_cost.h"
#include "sim/format/sq_format_file.h"
#include "sim/format/sq_format_gpu.h"
#include "sim/format/sq_format_option.h"
#include "sim/format/sq_format_values.h"

struct sq_vectors;

// What `sqsim run --share` reads: how evenly the work of an encoded layer can be shared out.
struct sq_sharing {
    size_t workers, tile_rows;
    const float *x; // [m][k] tokens, where the format asks for them
    size_t m;
};

struct sq_format_share {
    // What the slowest worker has to do, the ideal first, summed over tokens; returns through *n
    // how many figures.
    enum sq_status (*loads)(const void *state, const struct sq_sharing *s,
                            struct sq_figure figure[SQ_FIGURES_MAX], size_t *n,
                            struct sq_error *err);
    const char *unit; // "groups"
    bool needs_tokens;
    const char *text; // what the columns are, where they are no loads of workers; NULL: they are
};

struct sq_format_ops {
    const char *name; // "sp24": of --format, files, records and sweeps; never changes
    const char
        *description; // the text that the format was read from; NULL: it is one of sq_formats[]
    // Its options (sq_format_option.h), up to a NULL name.
    const struct sq_format_option *option;
    const char *padding;      // what it pads besides K, for people; NULL: nothing
    const char *uncalibrated; // the options with which it needs no calibration; NULL: none

    // Called after the options of `scope` were read: sets fields that follow from others, and
    // refuses combinations, in sentences that begin with the option. May be NULL.
    enum sq_status (*settle)(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                             struct sq_error *err);
    // One phrase for people, of at most 95 characters; NULL: name and activation bits.
    void (*text)(const struct sq_recipe *r, char text[96]);
    bool is_headed_by_text; // tables of its layers are headed by text(), others by the name

    const struct sq_format_values *values; // NULL: the format is only timed
    const struct sq_format_file *file;     // a format with values has one
    const struct sq_format_share *share;   // NULL: every row has the same work
    const struct sq_format_cost *cost;
    const struct sq_format_gpu *gpu; // NULL: no kernel in gpu/ multiplies it, so its time on a GPU
                                     // is not modelled
    // Makes its conformance suite, the same for the same recipe and seed. SQ_ERR_MEMORY, and *v is
    // empty then. NULL: it has none.
    enum sq_status (*vectors)(const struct sq_recipe *r, uint64_t seed, struct sq_vectors *v,
                              struct sq_error *err);
    const struct sq_format_routes *routes; // to RTL blocks (sq_route.h); NULL: none
    const void *variant;                   // read by the files of its own folder only
};

// Every format, in the order in which commands name them, then those that descriptions added; a NULL follows.
// The first is the default.
enum { SQ_FORMATS_MORE = 1000 };
extern const struct sq_format_ops *sq_formats[];
extern const char *sq_format_names[];
extern const char *const sq_core_format_names[]; // those that `run` can time on a core alone
size_t sq_n_formats(void);
// NULL where there is none of that name.
const struct sq_format_ops *sq_format_find(const char *name);
// A format that is data (SPEC Q.9); `what` names the text in errors. The same text gives the same table, which
// lives as long as the program and stands in sq_formats[]. Not for several threads at a time.
enum sq_status sq_format_described(const char *text, size_t nbytes, const char *what,
                                   const struct sq_format_ops **f, struct sq_error *err);
// The format that a user names: one of the list, a file with a description, or the short name of one below `home`.
// "FILE@KEY=VALUE@.." takes other values of scalars of the file, "my.yaml@blocks.0.length=32", and the name
// that follows from them. *f is NULL where there is no such name and no such file.
enum sq_status sq_format_named(const char *name, const char *home, const struct sq_format_ops **f,
                               struct sq_error *err);
// One more format, of the list from then on.
enum sq_status sq_format_add(const struct sq_format_ops *f, struct sq_error *err);
// The format whose layers are stored in the packed SQ-format (struct sq_format_packed).
const struct sq_format_ops *sq_format_of_packed(void);
