// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sq_cli_system.h"

#include <errno.h>

#include "sim/format/sq_system.h"

enum { KEY_PRUNE = 0x5000, KEY_SCOPE, KEY_DENSE_LAYERS };

const char *const sq_cli_algorithm_name[SQ_CLI_ALGORITHMS] = {"rtn", "gptq", "lite"};
static const char *const prune_name[SQ_PRUNES] = {"magnitude", "wanda", "sparsegpt", "none"};
enum { MATRIX, ROW, N_SCOPES };
static const char *const scope_name[N_SCOPES] = {"matrix", "row"};

struct sq_cli_system sq_cli_system_default(struct sq_error *err)
{
    return (struct sq_cli_system){SQ_CLI_NOT_GIVEN, SQ_CLI_NOT_GIVEN, -1, err,
                                  sq_cli_decode_default(err)};
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sq_cli_system *in = state->input;
    enum sq_status status;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &in->decode;
        return 0;
    case KEY_PRUNE:
        status = sq_cli_name("--prune", arg, prune_name, SQ_PRUNES, &in->prune, in->err);
        break;
    case KEY_SCOPE:
        status = sq_cli_name("--scope", arg, scope_name, N_SCOPES, &in->scope, in->err);
        break;
    case KEY_DENSE_LAYERS:
        status = sq_cli_double("--dense-layers", arg, 0, 1, &in->dense_fraction, in->err);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return status == SQ_OK ? 0 : EINVAL;
}

static const struct argp_option options[] = {
    {"prune", KEY_PRUNE, "P", 0,
     "sp24, gqsa: by magnitude, wanda or sparsegpt (sparsegpt; magnitude with --algorithm rtn); "
     "sp24: none, where the weights are 2:4 already",
     4},
    {"scope", KEY_SCOPE, "S", 0,
     "gqsa: groups compete in the whole matrix or in their row (matrix)", 4},
    {"dense-layers", KEY_DENSE_LAYERS, "F", 0,
     "sp24: the fraction of layers, most sensitive first, that stays dense INT8 (0)", 4},
    {0}};
static const struct argp_child children[] = {{&sq_cli_decode_argp, 0, NULL, 0}, {0}};
const struct argp sq_cli_system_argp = {.options = options, .parser = parse, .children = children};

enum sq_status sq_cli_system_unused(const struct sq_cli_system *in, struct sq_error *err)
{
    if (in->prune != SQ_CLI_NOT_GIVEN)
        return SQ_FAIL(err, SQ_ERR_ARG, "--prune needs --format sp24 or gqsa");
    if (in->scope != SQ_CLI_NOT_GIVEN)
        return SQ_FAIL(err, SQ_ERR_ARG, "--scope needs --format gqsa");
    if (in->dense_fraction >= 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--dense-layers needs --format sp24");
    return sq_cli_decode_unused(&in->decode, SQ_SYSTEM_GRID, err);
}

// SpQt and SpQR have options of their own (sq_cli_decode.h).
static enum sq_status decode_recipe(const struct sq_cli_system *in, const struct sq_cli_offline *o,
                                    enum sq_system system, struct sq_recipe *r,
                                    struct sq_error *err)
{
    struct sq_cli_system others = *in;
    struct sq_error inner;
    others.decode = sq_cli_decode_default(err);
    SQ_TRY(sq_cli_system_unused(&others, err));
    SQ_TRY(sq_cli_decode_recipe(&in->decode, o, system, r, err));
    const enum sq_status status = sq_recipe_check(r, &inner);
    return status == SQ_OK ? SQ_OK : SQ_FAIL(err, status, "--%.200s", inner.text);
}

static enum sq_status fill_sp24(const struct sq_cli_system *in, const struct sq_cli_offline *o,
                                struct sq_recipe *r, struct sq_error *err)
{
    if (o->algorithm == SQ_CLI_LITE)
        return SQ_FAIL(err, SQ_ERR_ARG, "--algorithm lite needs --format gqsa");
    if (in->scope != SQ_CLI_NOT_GIVEN)
        return SQ_FAIL(err, SQ_ERR_ARG, "--scope needs --format gqsa");
    if (o->sparsity > 0 && o->sparsity != 0.5)
        return SQ_FAIL(err, SQ_ERR_ARG, "--sparsity = %g, need 0.5: sp24 keeps two of four",
                       o->sparsity);
    if (o->group != SQ_CLI_NO_GROUP && o->group != 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--group = %u, need row: sp24 has a scale per row",
                       o->group);
    if (o->score != SQ_CLI_NOT_GIVEN)
        return SQ_FAIL(err, SQ_ERR_ARG, "--score: sp24 has --prune");
    r->group = 0;
    r->sparsity = 0.5;
    r->dense_fraction = in->dense_fraction > 0 ? in->dense_fraction : 0;
    return SQ_OK;
}

static enum sq_status fill_gqsa(const struct sq_cli_system *in, const struct sq_cli_offline *o,
                                struct sq_recipe *r, struct sq_error *err)
{
    if (in->dense_fraction >= 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--dense-layers needs --format sp24");
    if (o->score != SQ_CLI_NOT_GIVEN && r->prune != SQ_PRUNE_SPARSEGPT)
        return SQ_FAIL(err, SQ_ERR_ARG, "--score needs --prune sparsegpt");
    r->group = o->group == SQ_CLI_NO_GROUP ? 16 : o->group;
    r->sparsity = o->sparsity > 0 ? o->sparsity : 0.5;
    r->gptq.score = o->score == SQ_CLI_NOT_GIVEN ? SQ_SCORE_C0 : (enum sq_score)o->score;
    r->is_lite = o->algorithm == SQ_CLI_LITE;
    r->is_row_balanced = in->scope == ROW;
    return SQ_OK;
}

enum sq_status sq_cli_system_recipe(const struct sq_cli_system *in, const struct sq_cli_offline *o,
                                    enum sq_system system, struct sq_recipe *r,
                                    struct sq_error *err)
{
    *r = sq_recipe_default();
    r->system = system;
    SQ_TRY(sq_cli_decode_unused(&in->decode, system, err));
    if (sq_cli_is_decode(system))
        return decode_recipe(in, o, system, r, err);
    r->is_gptq = o->algorithm == SQ_CLI_GPTQ;
    r->is_act_f16 = o->act_bits == 16;
    r->act.low_bits = o->act_bits ? o->act_bits : 8;
    r->prune = in->prune != SQ_CLI_NOT_GIVEN ? (enum sq_prune)in->prune
               : o->algorithm == SQ_CLI_RTN  ? SQ_PRUNE_MAGNITUDE
                                             : SQ_PRUNE_SPARSEGPT;
    SQ_TRY(system == SQ_SYSTEM_SP24 ? fill_sp24(in, o, r, err) : fill_gqsa(in, o, r, err));
    if (o->percdamp >= 0) {
        if ((sq_recipe_needs(r) & SQ_NEED_FACTOR) != SQ_NEED_FACTOR)
            return SQ_FAIL(err, SQ_ERR_ARG, "--percdamp: nothing here uses a damped Hessian");
        r->percdamp = o->percdamp;
    }
    struct sq_error inner;
    const enum sq_status status = sq_recipe_check(r, &inner);
    return status == SQ_OK ? SQ_OK : SQ_FAIL(err, status, "--%.200s", inner.text);
}

void sq_cli_system_json(const struct sq_recipe *r, json_t *object)
{
    json_object_set_new(object, "format", json_string(sq_system_ops(r->system)->name));
    if (sq_cli_is_decode(r->system)) {
        sq_cli_decode_json(r, object);
        return;
    }
    json_object_set_new(object, "algorithm",
                        json_string(sq_cli_algorithm_name[r->is_lite   ? SQ_CLI_LITE
                                                          : r->is_gptq ? SQ_CLI_GPTQ
                                                                       : SQ_CLI_RTN]));
    json_object_set_new(object, "prune", json_string(prune_name[r->prune]));
    json_object_set_new(object, "sparsity", json_real(r->sparsity));
    json_object_set_new(object, "group", json_integer(r->group));
    if (r->system == SQ_SYSTEM_GQSA)
        json_object_set_new(object, "scope",
                            json_string(scope_name[r->is_row_balanced ? ROW : MATRIX]));
    else
        json_object_set_new(object, "dense_fraction", json_real(r->dense_fraction));
}
