// SPDX-License-Identifier: Apache-2.0
// sqsim area of a module that is not ours (sq_cmd_area.h): the same scripts, library and cache.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cmd_area.h"
#include "sim/io/sq_quote.h"

enum { KEY_SOURCE = 0x2400, KEY_TOP, KEY_PARAM, KEY_CLOCK, KEY_WEIGHTS, NAME_MAX_LEN = 40 };

static const struct argp_option options[] = {
    {"source", KEY_SOURCE, "FILE", 0,
     "SystemVerilog of your own, for --top, beside the blocks of --block; may repeat", 1},
    {"top", KEY_TOP, "MODULE", 0, "module of --source", 1},
    {"param", KEY_PARAM, "NAME=N", 0, "parameter of --top, 0..2147483647; may repeat", 1},
    {"clock", KEY_CLOCK, "PORT", 0, "clock port of --top (the only one)", 1},
    {"weights", KEY_WEIGHTS, "N", 0, "weights that --top takes in a cycle, for um2/(w/c)", 1},
    {0}};

static enum sq_status check_name(const char *option, const char *name, struct sq_error *err)
{
    if (sq_name_is_verilog(name) && strlen(name) <= NAME_MAX_LEN)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_ARG, "%s = '%.60s', need a Verilog identifier of 1 to %d characters",
                   option, name, NAME_MAX_LEN);
}

static enum sq_status add_param(struct sq_area_files *f, const char *text, struct sq_error *err)
{
    struct sq_area_source *m = &f->module;
    const size_t n = strcspn(text, "=");
    uint64_t v;
    if (text[n] != '=')
        return SQ_FAIL(err, SQ_ERR_ARG, "--param = '%.60s', need NAME=N", text);
    if (m->n_params == SQ_SYNTH_MAX_PARAMS)
        return SQ_FAIL(err, SQ_ERR_RANGE, "--param given more than %d times", SQ_SYNTH_MAX_PARAMS);
    char *name = strndup(text, n);
    if (!name)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory");
    f->name[m->n_params] = name;
    SQ_TRY(check_name("--param", name, err));
    SQ_TRY(sq_cli_uint("--param", text + n + 1, 0, INT32_MAX, &v, err));
    m->param[m->n_params++] = (struct sq_synth_param){name, (unsigned)v};
    return SQ_OK;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sq_area_files *f = state->input;
    enum sq_status status = SQ_OK;
    switch (key) {
    case KEY_SOURCE:
        if (f->n == SQ_AREA_FILES_MAX)
            status = SQ_FAIL(f->err, SQ_ERR_RANGE, "--source given more than %d times",
                             SQ_AREA_FILES_MAX);
        else
            f->path[f->n++] = arg;
        break;
    case KEY_TOP:
        f->module.top = arg;
        status = check_name("--top", arg, f->err);
        break;
    case KEY_PARAM:
        status = add_param(f, arg, f->err);
        break;
    case KEY_CLOCK:
        f->module.clock = arg;
        status = check_name("--clock", arg, f->err);
        break;
    case KEY_WEIGHTS:
        status = sq_cli_double("--weights", arg, 1e-6, 1e6, &f->module.weights, f->err);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return status == SQ_OK ? 0 : EINVAL;
}

const struct argp sq_area_files_argp = {.options = options, .parser = parse};

enum sq_status sq_area_files_check(const struct sq_area_files *f, struct sq_error *err)
{
    const struct sq_area_source *m = &f->module;
    const char *of_module = m->top            ? "--top"
                            : m->n_params > 0 ? "--param"
                            : m->clock        ? "--clock"
                            : m->weights > 0  ? "--weights"
                                              : NULL;
    if (f->n == 0 && of_module)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s needs --source FILE", of_module);
    if (f->n > 0 && !m->top)
        return SQ_FAIL(err, SQ_ERR_ARG, "--source needs --top MODULE");
    return SQ_OK;
}

enum sq_status sq_area_files_add(const struct sq_area_files *f, struct sq_synth *s,
                                 struct sq_error *err)
{
    for (size_t i = 0; i < f->n; i++)
        SQ_TRY(sq_synth_add_source(s, f->path[i], err));
    return SQ_OK;
}

void sq_area_files_free(struct sq_area_files *f)
{
    for (size_t i = 0; i < SQ_SYNTH_MAX_PARAMS; i++)
        free(f->name[i]);
}
