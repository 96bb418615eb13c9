// SPDX-License-Identifier: Apache-2.0
// Errors, version, formats and figures of sqsim.h.
#include "lib/sq_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_grow.h"
#include "sim/io/sq_version.h"

_Static_assert((int)SQSIM_ERR_SHAPE == SQ_ERR_SHAPE && (int)SQSIM_ERR_DAMAGED == SQ_ERR_DAMAGED &&
                   (int)SQSIM_ERR_RANGE == SQ_ERR_RANGE && (int)SQSIM_ERR_IO == SQ_ERR_IO &&
                   (int)SQSIM_ERR_INTERNAL == SQ_ERR_INTERNAL,
               "the two enums have the same values");

const char *sqsim_version(void)
{
    return SQ_VERSION " (" SQ_REVISION ")";
}

enum sqsim_status sq_api_status(enum sq_status status, const struct sq_error *from,
                                struct sqsim_error *to)
{
    if (status != SQ_OK && to) {
        to->status = (int)status;
        snprintf(to->text, sizeof to->text, "%s", from->text);
    }
    return (enum sqsim_status)status;
}

// ---- what callers have: locales, forks ----------------------------------------------------------

static locale_t plain; // numbers as in C; 0 without memory

locale_t sq_api_enter(void)
{
    return uselocale(plain); // 0 only asks
}

void sq_api_leave(const locale_t *caller)
{
    uselocale(*caller);
}

// A child has no thread but the one that forked. OpenMP would wait for the others for ever, so they
// are sent home before; parent and child make new ones where they need them.
static void send_threads_home(void)
{
    (void)omp_pause_resource_all(omp_pause_hard); // not inside a parallel region, where none waits
}

__attribute__((constructor)) static void load(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    (void)pthread_atfork(send_threads_home, NULL, NULL);
}

__attribute__((destructor)) static void unload(void)
{
    if (plain)
        freelocale(plain);
}

void sq_api_home(char home[SQ_HOME_SIZE])
{
    static const char here; // its address is in this library
    char self[PATH_MAX] = "";
    Dl_info info;
    if (!dladdr(&here, &info) || !realpath(info.dli_fname, self))
        self[0] = '\0';
    sq_home_around(self, home);
}

const char *sq_api_found(const char *name, const char *pattern, char path[SQ_API_PATH])
{
    char home[SQ_HOME_SIZE];
    if (!name)
        return NULL;
    sq_api_home(home);
    sq_home_find(home, name, pattern, path, SQ_API_PATH);
    return path;
}

// ---- formats --------------------------------------------------------------------------------

const char *sqsim_format_name(size_t i)
{
    return i < sq_n_formats() ? sq_format_names[i] : NULL;
}

enum sq_status sq_api_options(const char *const *option, struct sq_given *given,
                              struct sq_error *err)
{
    given->n = 0;
    for (size_t i = 0; option && option[i]; i += 2) {
        SQ_FAIL_IF(!option[i + 1], err, SQ_ERR_ARG, "option %.40s has no value", option[i]);
        SQ_FAIL_IF(given->n == SQ_OPTIONS_MAX, err, SQ_ERR_ARG, "more than %d options",
                   SQ_OPTIONS_MAX);
        given->option[given->n].name = option[i];
        given->option[given->n++].text = option[i + 1];
    }
    return SQ_OK;
}

static enum sq_status make_format(const char *name, enum sqsim_purpose purpose,
                                  const char *const *option, struct sqsim_format *f,
                                  struct sq_error *err)
{
    const struct sq_format_ops *ops;
    const bool is_time = purpose == SQSIM_TIME;
    struct sq_given given;
    char home[SQ_HOME_SIZE];
    SQ_FAIL_IF(purpose != SQSIM_VALUES && purpose != SQSIM_TIME, err, SQ_ERR_ARG,
               "purpose = %d, need 0 (SQSIM_VALUES) or 1 (SQSIM_TIME)", (int)purpose);
    sq_api_home(home);
    SQ_TRY(sq_format_named(name, home, &ops, err));
    SQ_FAIL_IF(!ops, err, SQ_ERR_ARG, "format = %.40s, which there is not", name);
    SQ_FAIL_IF(!is_time && !ops->values, err, SQ_ERR_ARG, "format = %s is only timed", name);
    SQ_TRY(sq_api_options(option, &given, err));
    f->purpose = purpose;
    SQ_TRY(sq_format_recipe(ops, is_time ? SQ_IN_RUN : SQ_IN_EVAL, &given, &f->recipe, err));
    return is_time ? SQ_OK : sq_recipe_check(&f->recipe, err);
}

enum sqsim_status sqsim_format_new(const char *name, enum sqsim_purpose purpose,
                                   const char *const *option, sqsim_format **format,
                                   struct sqsim_error *err)
{
    SQ_API_ENTER();
    SQ_API_MAKE(format, "a format", make_format(name, purpose, option, *format, &inner), free);
}

void sqsim_format_free(sqsim_format *format)
{
    free(format);
}

int sqsim_format_needs_calibration(const sqsim_format *format)
{
    return format->purpose == SQSIM_VALUES && sq_recipe_needs_calibration(&format->recipe);
}

// ---- figures --------------------------------------------------------------------------------

enum sq_status sq_api_figure_add(struct sqsim_figures *f, const char *prefix, const char *name,
                                 double value, struct sq_error *err)
{
    SQ_TRY(SQ_GROW(f->figure, f->n, err, "%zu figures", f->n));
    struct sq_api_figure *to = &f->figure[f->n++];
    snprintf(to->name, sizeof to->name, "%s%s%s", prefix, *prefix ? "." : "", name);
    to->value = value;
    return SQ_OK;
}

size_t sqsim_figures_n(const sqsim_figures *figures)
{
    return figures->n;
}

const char *sqsim_figures_name(const sqsim_figures *figures, size_t i)
{
    return i < figures->n ? figures->figure[i].name : NULL;
}

double sqsim_figures_value(const sqsim_figures *figures, size_t i)
{
    return i < figures->n ? figures->figure[i].value : (double)NAN;
}

double sqsim_figures_get(const sqsim_figures *figures, const char *name)
{
    for (size_t i = 0; i < figures->n; i++)
        if (strcmp(figures->figure[i].name, name) == 0)
            return figures->figure[i].value;
    return (double)NAN;
}

void sqsim_figures_free(sqsim_figures *figures)
{
    if (figures)
        free(figures->figure);
    free(figures);
}
