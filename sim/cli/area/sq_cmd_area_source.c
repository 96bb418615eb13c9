// SPDX-License-Identifier: Apache-2.0
// sqsim area of a module that is not ours (sq_cmd_area.h): the same scripts, library and cache.
#include <stdlib.h>
#include <string.h>

#include "sim/cli/area/sq_cmd_area.h"
#include "sim/io/sq_quote.h"

enum { NAME_MAX_LEN = 40 };

static enum sq_status check_name(const char *option, const char *name, struct sq_error *err)
{
    if (sq_name_is_verilog(name) && strlen(name) <= NAME_MAX_LEN)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_ARG, "%s = '%.60s', need a Verilog identifier of 1 to %d characters",
                   option, name, NAME_MAX_LEN);
}

static enum sq_status set_name(void *files, const struct sq_cli_row *row, const char *text,
                               struct sq_error *err)
{
    char option[32];
    snprintf(option, sizeof option, "--%s", row->name);
    *(const char **)(void *)((char *)files + row->offset) = text;
    return check_name(option, text, err);
}

static enum sq_status add_param(void *files, const struct sq_cli_row *row, const char *text,
                                struct sq_error *err)
{
    struct sq_area_files *f = files;
    struct sq_area_source *m = &f->module;
    const size_t n = strcspn(text, "=");
    uint64_t v;
    (void)row;
    if (text[n] != '=')
        return SQ_FAIL(err, SQ_ERR_ARG, "--param = '%.60s', need NAME=N", text);
    if (m->n_params == SQ_SYNTH_MAX_PARAMS)
        return SQ_FAIL(err, SQ_ERR_RANGE, "--param given more than %d times", SQ_SYNTH_MAX_PARAMS);
    char *name = strndup(text, n);
    SQ_NEED(name, err, "the rows");
    f->name[m->n_params] = name;
    SQ_TRY(check_name("--param", name, err));
    SQ_TRY(sq_cli_uint("--param", text + n + 1, 0, INT32_MAX, &v, err));
    m->param[m->n_params++] = (struct sq_synth_param){name, (unsigned)v};
    return SQ_OK;
}

#define AT(field) SQ_CLI_AT(struct sq_area_files, field)
const struct sq_cli_row sq_area_files_rows[] = {
    SQ_CLI_TEXT("source", "FILE", SQ_CLI_LIST_AT(struct sq_area_files, path, n),
                "SystemVerilog of your own, for --top, beside the blocks of --block"),
    SQ_CLI_OWN("top", "MODULE", set_name, "module of --source", AT(module.top)),
    SQ_CLI_OWN("param", "NAME=N", add_param, "parameter of --top, 0..2147483647; may repeat"),
    SQ_CLI_OWN("clock", "PORT", set_name, "clock port of --top (the only one)", AT(module.clock)),
    SQ_CLI_REAL("weights", "N", 1e-6, 1e6, AT(module.weights),
                "weights that --top takes in a cycle, for um2/(w/c)"),
    SQ_CLI_END};
#undef AT

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
