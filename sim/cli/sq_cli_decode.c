// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sq_cli_decode.h"

#include <errno.h>

#include "models/quant/sq_spqr_quant.h"
#include "models/sq_spqt.h"
#include "sim/cli/sq_cli_system.h"
#include "sim/format/sq_system.h"

enum { KEY_PREFILL = 0x5100, KEY_WORKERS, KEY_OUTLIERS, KEY_FORM, KEY_LAYOUT, KEY_THRESHOLDS };

static const char *const prefill_name[] = {"sparse", "dense"};
static const char *const thresholds_name[] = {"uniform", "greedy"};
static const char *const form_name[] = {"relative", "absolute"};
static const char *const layout_name[] = {"csr", "ptcsr"};

struct sq_cli_decode sq_cli_decode_default(struct sq_error *err)
{
    return (struct sq_cli_decode){
        SQ_CLI_NOT_GIVEN, SQ_CLI_NOT_GIVEN, SQ_CLI_NOT_GIVEN, SQ_CLI_NOT_GIVEN, 0, 0, err};
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sq_cli_decode *in = state->input;
    enum sq_status status;
    uint64_t v = 0;
    switch (key) {
    case KEY_PREFILL:
        status = sq_cli_name("--prefill", arg, prefill_name, 2, &in->prefill, in->err);
        break;
    case KEY_WORKERS:
        status = sq_cli_uint("--workers", arg, 1, 1024, &v, in->err);
        in->workers = (unsigned)v;
        break;
    case KEY_THRESHOLDS:
        status = sq_cli_name("--thresholds", arg, thresholds_name, 2, &in->thresholds, in->err);
        break;
    case KEY_OUTLIERS:
        status = sq_cli_double("--outliers", arg, 1e-6, 1e6, &in->outliers, in->err);
        break;
    case KEY_FORM:
        status = sq_cli_name("--outlier-form", arg, form_name, 2, &in->form, in->err);
        break;
    case KEY_LAYOUT:
        status = sq_cli_name("--outlier-layout", arg, layout_name, 2, &in->layout, in->err);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return status == SQ_OK ? 0 : EINVAL;
}

static const struct argp_option options[] = {
    {"prefill", KEY_PREFILL, "P", 0,
     "spqt: sparse thresholds every token, dense none, as in prefill (sparse)", 4},
    {"thresholds", KEY_THRESHOLDS, "T", 0,
     "spqt: uniform, the sparsity of every input; greedy, of every layer, shared out in each block "
     "where it costs least (uniform)",
     4},
    {"workers", KEY_WORKERS, "N", 0, "spqt: workers that share the active columns, 1..1024 (64)",
     4},
    {"outliers", KEY_OUTLIERS, "T", 0,
     "spqr: a weight is an outlier whose squared error exceeds T times the mean variance of a "
     "column; 1e6 leaves none (0.2)",
     4},
    {"outlier-form", KEY_FORM, "F", 0,
     "spqr: relative stores w - dense, absolute w, as published (relative)", 4},
    {"outlier-layout", KEY_LAYOUT, "L", 0, "spqr: csr or ptcsr (csr)", 4},
    {0}};
const struct argp sq_cli_decode_argp = {.options = options, .parser = parse};

bool sq_cli_is_decode(enum sq_system system)
{
    return system == SQ_SYSTEM_SPQT || system == SQ_SYSTEM_SPQR;
}

enum sq_status sq_cli_decode_unused(const struct sq_cli_decode *in, enum sq_system system,
                                    struct sq_error *err)
{
    if (system != SQ_SYSTEM_SPQT && in->thresholds != SQ_CLI_NOT_GIVEN)
        return SQ_FAIL(err, SQ_ERR_ARG, "--thresholds needs --format spqt");
    if (system != SQ_SYSTEM_SPQT && (in->prefill != SQ_CLI_NOT_GIVEN || in->workers))
        return SQ_FAIL(err, SQ_ERR_ARG, "--%s needs --format spqt",
                       in->workers ? "workers" : "prefill");
    if (system == SQ_SYSTEM_SPQR)
        return SQ_OK;
    if (in->outliers > 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--outliers needs --format spqr");
    if (in->form != SQ_CLI_NOT_GIVEN || in->layout != SQ_CLI_NOT_GIVEN)
        return SQ_FAIL(err, SQ_ERR_ARG, "--outlier-%s needs --format spqr",
                       in->form != SQ_CLI_NOT_GIVEN ? "form" : "layout");
    return SQ_OK;
}

static enum sq_status check_offline(const struct sq_cli_offline *o, const char *name,
                                    struct sq_error *err)
{
    if (o->is_algorithm_given)
        return SQ_FAIL(err, SQ_ERR_ARG, "--algorithm: %s has one algorithm", name);
    if (o->score != SQ_CLI_NOT_GIVEN)
        return SQ_FAIL(err, SQ_ERR_ARG, "--score: %s does not choose weights by importance", name);
    if (o->group != SQ_CLI_NO_GROUP)
        return SQ_FAIL(err, SQ_ERR_ARG, "--group: the groups of %s are fixed", name);
    return SQ_OK;
}

static enum sq_status fill_spqt(const struct sq_cli_decode *in, const struct sq_cli_offline *o,
                                struct sq_recipe *r, struct sq_error *err)
{
    if (o->percdamp >= 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--percdamp: nothing here uses a damped Hessian");
    if (o->act_bits)
        return SQ_FAIL(err, SQ_ERR_ARG, "--act-bits = %u: spqt multiplies binary32 activations",
                       o->act_bits);
    if (in->prefill == 1 && o->sparsity > 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--sparsity = %g: dense prefill skips nothing",
                       o->sparsity);
    if (in->prefill == 1 && in->thresholds != SQ_CLI_NOT_GIVEN)
        return SQ_FAIL(err, SQ_ERR_ARG, "--thresholds: dense prefill skips nothing");
    r->is_prefill_dense = in->prefill == 1;
    r->is_greedy = in->thresholds == 1;
    r->sparsity = r->is_prefill_dense ? 0 : o->sparsity > 0 ? o->sparsity : 0.5;
    r->workers = in->workers ? in->workers : SQ_SPQT_WORKERS;
    return SQ_OK;
}

static enum sq_status fill_spqr(const struct sq_cli_decode *in, const struct sq_cli_offline *o,
                                struct sq_recipe *r, struct sq_error *err)
{
    if (o->sparsity > 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--sparsity = %g: spqr has --outliers", o->sparsity);
    if (o->act_bits && o->act_bits != 16)
        return SQ_FAIL(err, SQ_ERR_ARG, "--act-bits = %u, need 16 for spqr", o->act_bits);
    r->is_act_f16 = true;
    r->percdamp = o->percdamp >= 0 ? o->percdamp : SQ_SPQR_PERCDAMP;
    r->outliers = in->outliers > 0 ? in->outliers : SQ_SPQR_RELATIVE;
    r->is_absolute = in->form == 1;
    r->is_ptcsr = in->layout == 1;
    return SQ_OK;
}

enum sq_status sq_cli_decode_recipe(const struct sq_cli_decode *in, const struct sq_cli_offline *o,
                                    enum sq_system system, struct sq_recipe *r,
                                    struct sq_error *err)
{
    SQ_TRY(check_offline(o, sq_system_ops(system)->name, err));
    return system == SQ_SYSTEM_SPQT ? fill_spqt(in, o, r, err) : fill_spqr(in, o, r, err);
}

const char *sq_cli_decode_padding(enum sq_system system)
{
    return system == SQ_SYSTEM_SPQT   ? "rows padded to superblocks of 256"
           : system == SQ_SYSTEM_SPQR ? "rows and columns padded to tiles of 16"
                                      : "";
}

void sq_cli_decode_json(const struct sq_recipe *r, json_t *object)
{
    json_object_set_new(object, "padding", json_string(sq_cli_decode_padding(r->system)));
    if (r->system == SQ_SYSTEM_SPQT) {
        json_object_set_new(object, "algorithm", json_string("q4_k"));
        json_object_set_new(object, "sparsity", json_real(r->sparsity));
        json_object_set_new(object, "prefill", json_string(prefill_name[r->is_prefill_dense]));
        json_object_set_new(object, "thresholds", json_string(thresholds_name[r->is_greedy]));
        json_object_set_new(object, "workers", json_integer(r->workers));
        return;
    }
    json_object_set_new(object, "algorithm", json_string("spqr"));
    json_object_set_new(object, "outliers", json_real(r->outliers));
    json_object_set_new(object, "outlier_form", json_string(form_name[r->is_absolute]));
    json_object_set_new(object, "outlier_layout", json_string(layout_name[r->is_ptcsr]));
    json_object_set_new(object, "percdamp", json_real(r->percdamp));
}

void sq_cli_decode_forget(enum sq_system system, json_t *object)
{
    if (!sq_cli_is_decode(system))
        return;
    json_object_del(object, "sparsity");
    json_object_del(object, "thresholds");
    json_object_del(object, "outliers");
    json_object_del(object, "percdamp");
}
