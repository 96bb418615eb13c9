// SPDX-License-Identifier: Apache-2.0
// sqsim cosim, sqsim energy: the points that options choose, of the table or of one's own: of a core
// (core and format options), of another block (sq_point_own).
#include <string.h>

#include "sim/cli/cosim/sq_cmd_cosim.h"

// What the options are called in the RTL. High elements come by their share, --sparsity.
static const struct {
    const char *option, *param;
} words[] = {{"rows", "Rows"},
             {"cols", "Cols"},
             {"low-lanes", "LowLanes"},
             {"high-lanes", "HighLanes"},
             {"gather", "Gather"},
             {"bank", "BankLen"},
             {"high-per-bank", "HighPerBank"},
             {"low-bits", "LowW"},
             {"high-bits", "HighW"},
             {"act-bits", "ActW"}};
enum { N_CORE_WORDS = 5 };

// The point as far as it is known.
struct own {
    struct sq_cosim_args *in;
    const struct sq_point *base;
    unsigned value[SQ_PARAMS_MAX];
    uint32_t given;
};

// Core or format options were given.
bool sq_cosim_has_options(const struct sq_cosim_args *in)
{
    return in->core.given || in->options.is_format_given || in->options.given.n > 0;
}

bool sq_cosim_has_own(const struct sq_cosim_args *in)
{
    return sq_cosim_has_options(in) || in->n_parameters > 0;
}

static enum sq_status set(struct own *o, const char *option, const char *param, unsigned v)
{
    const size_t i = sq_param_find(o->in->block, param);
    if (i == SQ_PARAMS_MAX)
        return SQ_FAIL(o->in->err, SQ_ERR_ARG, "--%s: %s has no parameter %s", option,
                       o->in->block->name, param);
    if (o->given >> i & 1)
        return SQ_FAIL(o->in->err, SQ_ERR_ARG, "%s of %s is given twice", param,
                       o->in->block->name);
    o->value[i] = v;
    o->given |= UINT32_C(1) << i;
    return SQ_OK;
}

static enum sq_status set_core(struct own *o)
{
    const struct sq_core_config *c = &o->in->core.config;
    const unsigned value[N_CORE_WORDS] = {c->rows, c->cols, c->low_lanes, c->high_lanes,
                                          (unsigned)c->gather};
    for (size_t i = 0; i < N_CORE_WORDS; i++)
        if (o->in->core.is_given[i])
            SQ_TRY(set(o, words[i].option, words[i].param, value[i]));
    return SQ_OK;
}

static enum sq_status set_bank(struct own *o, const char *name, const char *text)
{
    char option[32];
    uint64_t v;
    for (size_t i = N_CORE_WORDS; i < SQ_LEN(words); i++)
        if (strcmp(name, words[i].option) == 0) {
            snprintf(option, sizeof option, "--%s", name);
            SQ_TRY(sq_cli_uint(option, text, 1, 128, &v, o->in->err));
            return set(o, name, words[i].param, (unsigned)v);
        }
    return strcmp(name, "sparsity") == 0
               ? SQ_OK
               : SQ_FAIL(o->in->err, SQ_ERR_ARG, "--%s has no use with --block %s", name,
                         o->in->block->name);
}

// Sets the high elements of the bank that is there by now.
static enum sq_status set_sparsity(struct own *o, const char *text)
{
    const size_t bank = sq_param_find(o->in->block, "BankLen");
    double sparsity;
    unsigned k;
    if (bank == SQ_PARAMS_MAX)
        return SQ_FAIL(o->in->err, SQ_ERR_ARG, "--sparsity: %s has no banks", o->in->block->name);
    const unsigned len = o->given >> bank & 1 ? o->value[bank] : o->base->value[bank];
    SQ_TRY(sq_cli_double("--sparsity", text, 0, 1, &sparsity, o->in->err));
    SQ_TRY(sq_format_high_per_bank(len, sparsity, &k, o->in->err));
    return set(o, "sparsity", "HighPerBank", k);
}

// "Lanes=4"
static enum sq_status set_parameter(struct own *o, const char *text)
{
    const char *names[SQ_PARAMS_MAX], *end = strchr(text, '=');
    char name[32], option[64];
    size_t n = 0, index;
    uint64_t v;
    while (o->in->block->param[n]) {
        names[n] = o->in->block->param[n];
        n++;
    }
    if (!end)
        return SQ_FAIL(o->in->err, SQ_ERR_ARG, "--parameter = %.40s, need NAME=N", text);
    snprintf(name, sizeof name, "%.*s", (int)(end - text), text);
    SQ_TRY(sq_cli_name("--parameter", name, names, n, &index, o->in->err));
    snprintf(option, sizeof option, "--parameter %s", names[index]);
    SQ_TRY(sq_cli_uint(option, end + 1, 0, UINT32_MAX, &v, o->in->err));
    return set(o, "parameter", names[index], (unsigned)v);
}

static enum sq_status collect(struct own *o)
{
    const struct sq_given *given = &o->in->options.given;
    SQ_TRY(set_core(o));
    for (size_t i = 0; i < given->n; i++)
        SQ_TRY(set_bank(o, given->option[i].name, given->option[i].text));
    for (size_t i = 0; i < o->in->n_parameters; i++)
        SQ_TRY(set_parameter(o, o->in->parameter[i]));
    for (size_t i = 0; i < given->n; i++)
        if (strcmp(given->option[i].name, "sparsity") == 0)
            SQ_TRY(set_sparsity(o, given->option[i].text));
    return SQ_OK;
}

static enum sq_status own_point(struct sq_cosim_args *in)
{
    struct own o = {.in = in, .base = &in->block->points[0]};
    struct sq_point own;
    if (!in->block->free)
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--block %s has only the points of its table (--list)",
                       in->block->name);
    if (in->options.is_format_given)
        return SQ_FAIL(in->err, SQ_ERR_ARG,
                       "--format has no use with --block %s: its points do (--list)",
                       in->block->name);
    if (in->n_wanted > 1)
        return SQ_FAIL(in->err, SQ_ERR_ARG, "%zu of --point with parameters, need one at most",
                       in->n_wanted);
    if (in->n_wanted == 1) {
        SQ_TRY(sq_cosim_choose_points(in));
        if (in->n_points != 1)
            return SQ_FAIL(in->err, SQ_ERR_ARG, "--point = %s with parameters, need one point",
                           in->wanted[0]);
        o.base = &in->points[0];
    }
    SQ_TRY(collect(&o));
    SQ_TRY(sq_point_own(in->block, o.base, o.value, o.given, &own, in->err));
    in->points[0] = own;
    in->n_points = 1;
    return SQ_OK;
}

// ---- cores --------------------------------------------------------------------------------------

// Without core options, one that builds in seconds.
void sq_cosim_small_core(struct sq_cosim_args *in)
{
    if (in->core.given)
        return;
    in->core.config.rows = 2;
    in->core.config.cols = 4;
}

// Random operands are in the banks of sq_w; everything else of a format is of layers.
static enum sq_status check_banks(const struct sq_cosim_args *in)
{
    static const char *const banks[] = {"high-bits", "low-bits", "bank",
                                        "sparsity",  "group",    "act-bits"};
    const struct sq_given *given = &in->options.given;
    if (in->options.is_all || in->options.format != sq_formats[0])
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--format = %s needs --layers, a point is of %s",
                       in->options.is_all ? "all" : in->options.format->name, sq_formats[0]->name);
    for (size_t i = 0; i < given->n; i++) {
        bool is_bank = false;
        for (size_t j = 0; j < sizeof banks / sizeof banks[0]; j++)
            is_bank = is_bank || strcmp(given->option[i].name, banks[j]) == 0;
        if (strcmp(given->option[i].name, "high-per-bank") == 0)
            return SQ_FAIL(
                in->err, SQ_ERR_ARG,
                "--high-per-bank of the core follows from --sparsity: did you mean that?");
        if (!is_bank)
            return SQ_FAIL(in->err, SQ_ERR_ARG, "--%s needs --layers", given->option[i].name);
    }
    return SQ_OK;
}

// Core or format options describe one point of their own.
static enum sq_status custom_point(struct sq_cosim_args *in)
{
    struct sq_core_config config;
    struct sq_recipe r;
    if (in->n_parameters > 0)
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--parameter = %.40s of %s, which has core options",
                       in->parameter[0], in->block->name);
    SQ_TRY(check_banks(in));
    if (in->n_wanted > 0)
        SQ_TRY(sq_cosim_choose_points(in));
    if (!sq_cosim_has_options(in) && (in->n_points > 0 || !in->is_trace))
        return SQ_OK;
    if (in->n_points > 0)
        return SQ_FAIL(
            in->err, SQ_ERR_ARG,
            "--point names a point of the table, core and format options describe another");
    sq_cosim_small_core(in);
    SQ_TRY(sq_cli_recipe(&in->options, &r, in->err));
    const struct sq_cli_banks f = {.format = sq_recipe_banks(&r),
                                   .act_bits = sq_recipe_act_bits(&r)};
    SQ_TRY(sq_cli_core_config(&in->core, &f, &config, in->err));
    in->points[0] = (struct sq_point){.name = "custom"};
    in->n_points = 1;
    in->block->set_core(in->points[0].value, &config);
    return SQ_OK;
}

enum sq_status sq_cosim_take_points(struct sq_cosim_args *in)
{
    if (in->block->set_core)
        SQ_TRY(custom_point(in));
    else if (sq_cosim_has_own(in))
        SQ_TRY(own_point(in));
    return in->n_points == 0 && !in->is_trace ? sq_cosim_choose_points(in) : SQ_OK;
}
