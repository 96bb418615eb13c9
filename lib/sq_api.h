// SPDX-License-Identifier: Apache-2.0
// What the files of lib/ share: the handles of sqsim.h, and its errors from ours.
#ifndef SQ_API_H
#define SQ_API_H

// Everything else is compiled with hidden symbols.
#pragma GCC visibility push(default)
#include "lib/sqsim.h"
#pragma GCC visibility pop

#include <locale.h>

#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_home.h"
#include "sim/llm/sq_layer_file.h"

struct sqsim_format {
    enum sqsim_purpose purpose;
    struct sq_recipe recipe;
};

struct sqsim_layer {
    struct sq_recipe recipe;
    struct sq_quant_layer quant;
    struct sq_digest input; // of the binary32 weights that were encoded
    bool is_loaded;         // from a file: no digest
};

struct sqsim_file {
    char *path;
    struct sq_layer_file layers;
};

struct sqsim_figures {
    size_t n;
    struct sq_api_figure {
        char name[32];
        double value;
    } * figure;
};

// First in each function that may fail: until it returns, numbers of this thread are read and written
// with a decimal point, whatever locale the caller has. No other thread sees it.
#define SQ_API_ENTER()                                                                             \
    __attribute__((cleanup(sq_api_leave))) const locale_t caller_locale = sq_api_enter();          \
    (void)caller_locale
locale_t sq_api_enter(void);
void sq_api_leave(const locale_t *caller);

// Fills *to (may be NULL) from our error and returns its code; SQ_OK touches nothing.
enum sqsim_status sq_api_status(enum sq_status status, const struct sq_error *from,
                                struct sqsim_error *to);
// The rest of a function that makes *object: `make` fills it, and says in `inner` why it cannot; then
// `close` frees what there is, and *object is NULL.
#define SQ_API_MAKE(object, what, make, close)                                                     \
    struct sq_error inner;                                                                         \
    *(object) = calloc(1, sizeof **(object));                                                      \
    const enum sq_status status = *(object) ? (make) : SQ_NO_MEMORY(&inner, what);                 \
    if (status != SQ_OK) {                                                                         \
        close(*(object));                                                                          \
        *(object) = NULL;                                                                          \
    }                                                                                              \
    return sq_api_status(status, &inner, err)
// Names and values in turn, up to a NULL, as struct sq_given.
enum sq_status sq_api_options(const char *const *option, struct sq_given *given,
                              struct sq_error *err);

// Appends "prefix.name", or "name" where the prefix is empty.
enum sq_status sq_api_figure_add(struct sqsim_figures *f, const char *prefix, const char *name,
                                 double value, struct sq_error *err);

// The home around this library (sq_home_around).
void sq_api_home(char home[SQ_HOME_SIZE]);
// An input file as the caller names it: as it is, or as sq_home_find finds it around this library. Into path, which
// it returns; NULL stays NULL.
enum { SQ_API_PATH = 4096 + 512 };
const char *sq_api_found(const char *name, const char *pattern, char path[SQ_API_PATH]);

#endif
