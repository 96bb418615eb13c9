// SPDX-License-Identifier: Apache-2.0
// The options of a format: one table says what a field of the recipe is called, what it may be and
// what it is where nothing was said. From it follow --options and their refusals, --help, axes of
// sweeps and JSON keys. A table may name an option twice, for scopes that differ.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/sq_status.h"

struct sq_recipe;
struct sq_format_ops;

// Where an option may be given. Bits of a set.
enum sq_scope {
    SQ_IN_EVAL = 1,     // eval: layers are calibrated, encoded and multiplied
    SQ_IN_QUANTIZE = 2, // quantize: layers are encoded into a file
    SQ_IN_FILE = 4,     // commands that read encoded weights; the file says their format
    SQ_IN_RUN = 8,      // run: the format is timed on a machine or GPU
    SQ_IN_SWEEP = 16,   // sweep: timed and evaluated; the value comes from the axis of that name
};

enum sq_option_kind {
    SQ_OPTION_UINT,    // whole number in min..max, or `also`
    SQ_OPTION_DOUBLE,  // min..max
    SQ_OPTION_NUMBER,  // a whole number that `choice` spells; row is 0
    SQ_OPTION_NAME,    // choice[i] is the value min + i
    SQ_OPTION_FLAG,    // no value
    SQ_OPTION_REFUSED, // not taken; `text` says why
    // Only shown:
    SQ_OPTION_TEXT, // `text`
    SQ_OPTION_GRID, // a struct sq_grid
    SQ_OPTION_ACT,  // what activations are: `text`, binary16 or the grid
};

#define SQ_FOLLOWS (-1)

struct sq_format_option {
    const char *name; // "act-bits": --act-bits; act_bits as axis and, without `key`, in JSON
    const char *key;
    enum sq_option_kind kind;
    unsigned taken, shown;     // bits of enum sq_scope
    double min, max, also;     // also 0: none
    const char *const *choice; // a NULL follows
    double fallback;           // the value where it is not given; SQ_FOLLOWS: from others
    size_t offset, nbytes;     // of the field in struct sq_recipe; nbytes 0: none
    size_t flag;               // offset of a bool that is true when the option is on; 0: none
    const char *off;           // the word that turns the option off ("none"); NULL: there is none
    const char *help;          // a phrase, without range and default
    const char *text;          // why it takes only these values, or none
    const char *absent;        // what a format without it answers: "has no ..."; NULL: who has it
    const char *by; // for one that is shown and cannot be given: the option from which it follows
};

// Where a row's value goes: a field that all recipes have, or one of the options of struct `type`.
#define SQ_FIELD(field)                                                                            \
    .offset = offsetof(struct sq_recipe, field), .nbytes = sizeof((struct sq_recipe *)0)->field
#define SQ_OWN(type, field)                                                                        \
    .offset = offsetof(struct sq_recipe, options) + offsetof(struct type, field),                  \
    .nbytes = sizeof((struct type *)0)->field

// Rows of a table; `field_` is SQ_FIELD or SQ_OWN, and more members may follow the last argument.
#define SQ_UINT(name_, taken_, shown_, min_, max_, fallback_, field_, ...)                         \
    {                                                                                              \
        .name = (name_), .kind = SQ_OPTION_UINT, .taken = (taken_), .shown = (shown_),             \
        .min = (min_), .max = (max_), .fallback = (fallback_), field_, .help = __VA_ARGS__         \
    }
#define SQ_REAL(name_, taken_, shown_, min_, max_, fallback_, field_, ...)                         \
    {                                                                                              \
        .name = (name_), .kind = SQ_OPTION_DOUBLE, .taken = (taken_), .shown = (shown_),           \
        .min = (min_), .max = (max_), .fallback = (fallback_), field_, .help = __VA_ARGS__         \
    }
#define SQ_NUMBER(name_, taken_, shown_, choice_, fallback_, field_, ...)                          \
    {                                                                                              \
        .name = (name_), .kind = SQ_OPTION_NUMBER, .taken = (taken_), .shown = (shown_),           \
        .choice = (choice_), .fallback = (fallback_), field_, .help = __VA_ARGS__                  \
    }
#define SQ_WORD(name_, taken_, shown_, choice_, first_, fallback_, field_, ...)                    \
    {                                                                                              \
        .name = (name_), .kind = SQ_OPTION_NAME, .taken = (taken_), .shown = (shown_),             \
        .min = (first_), .choice = (choice_), .fallback = (fallback_), field_, .help = __VA_ARGS__ \
    }
#define SQ_REFUSED(name_, taken_, text_)                                                           \
    {                                                                                              \
        .name = (name_), .kind = SQ_OPTION_REFUSED, .taken = (taken_), .text = (text_)             \
    }
#define SQ_SAID(name_, shown_, text_)                                                              \
    {                                                                                              \
        .name = (name_), .kind = SQ_OPTION_TEXT, .shown = (shown_), .text = (text_)                \
    }

// ---- what was given -----------------------------------------------------------------------------

enum { SQ_OPTIONS_MAX = 48 };
struct sq_given {
    size_t n;
    struct {
        const char *name, *text;
    } option[SQ_OPTIONS_MAX];
};
// The text of an option that was given, the last one; NULL: not given. `given` may be NULL.
const char *sq_given_text(const struct sq_given *given, const char *name);

extern const char *const sq_topk_choice[];    // words of --topk; the field is 0 if it is not given
extern const char *const sq_b_codes_choice[]; // words of --codes, likewise

// ---- tables -------------------------------------------------------------------------------------

// The option of that name that is taken (or refused) in one of the scopes; NULL: none.
const struct sq_format_option *sq_option_find(const struct sq_format_ops *f, unsigned scope,
                                              const char *name);
// Whether the option may have this value.
bool sq_option_accepts(const struct sq_format_option *o, double value);
void sq_option_put(const struct sq_format_option *o, double value, struct sq_recipe *r);
double sq_option_get(const struct sq_format_option *o, const struct sq_recipe *r);
// "4..128", "need 4 or 8", "rtn, gptq or lite": what may be given.
void sq_option_range(const struct sq_format_option *o, char *text, size_t nbytes);
// A value as it is written.
void sq_option_word(const struct sq_format_option *o, double value, char *text, size_t nbytes);

// ---- recipes ------------------------------------------------------------------------------------

// Makes the recipe of a format from the options that were given, with defaults for the others,
// settles and checks it. With SQ_IN_FILE it is not checked, because the file gives the other
// fields. Sentences of errors begin with the name of an option, without dashes.
enum sq_status sq_format_recipe(const struct sq_format_ops *f, unsigned scope,
                                const struct sq_given *given, struct sq_recipe *r,
                                struct sq_error *err);
// The two halves of sq_format_recipe: the defaults, and what follows from the options. A caller may
// set options between them.
void sq_format_defaults(const struct sq_format_ops *f, unsigned scope, struct sq_recipe *r);
enum sq_status sq_format_settle(unsigned scope, const struct sq_given *given, struct sq_recipe *r,
                                struct sq_error *err);
