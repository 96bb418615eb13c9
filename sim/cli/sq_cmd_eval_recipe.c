// SPDX-License-Identifier: Apache-2.0
// sqsim eval: options -> recipe.
#include "sim/cli/sq_cmd_eval.h"

#include "sim/format/sq_system_file.h"
#include "sim/format/sq_trace.h"

const char *const sq_eval_format_name[SQ_EVAL_FORMATS] = {
    "dense", "sq_w", "sq_a_static", "sq_a_dynamic", "sp24", "gqsa", "spqt", "spqr"};

// Options that the format would ignore are refused: none is parsed and never used.
static enum sq_status check_meaning(const struct sq_eval_arguments *in, struct sq_error *err)
{
    const char *f = sq_eval_format_name[in->format];
    const bool is_sq = in->format != SQ_EVAL_DENSE, is_gptq = in->algorithm == SQ_CLI_GPTQ;
    SQ_TRY(sq_cli_system_unused(&in->system, err));
    if (in->algorithm == SQ_CLI_LITE)
        return SQ_FAIL(err, SQ_ERR_ARG, "--algorithm lite needs --format gqsa");
    if (in->sparsity > 0 && (in->sparsity < 0.5 || in->sparsity > 0.9375))
        return SQ_FAIL(err, SQ_ERR_ARG, "--sparsity = %g, need 0.5..0.9375", in->sparsity);
    if (in->group != SQ_CLI_NO_GROUP && in->group > 0 && in->group < 32)
        return SQ_FAIL(err, SQ_ERR_ARG, "--group = %u, need 32, 64, 128 or row", in->group);
    if (!is_sq && (in->high_bits || in->low_bits || in->variant != SQ_CLI_NOT_GIVEN || in->bank ||
                   in->sparsity > 0))
        return SQ_FAIL(err, SQ_ERR_ARG, "--format dense has no banks, high or low codes");
    if (in->format == SQ_EVAL_W && in->weight_bits)
        return SQ_FAIL(err, SQ_ERR_ARG, "--weight-bits: sq_w has --high-bits and --low-bits");
    if (is_sq && in->format != SQ_EVAL_W && in->act_bits)
        return SQ_FAIL(err, SQ_ERR_ARG, "--act-bits: %s has --high-bits and --low-bits", f);
    if ((in->score != SQ_CLI_NOT_GIVEN || in->is_lazy) && (in->format != SQ_EVAL_W || !is_gptq))
        return SQ_FAIL(err, SQ_ERR_ARG, "--score and --lazy need --format sq_w --algorithm gptq");
    if (in->percdamp >= 0 && !is_gptq)
        return SQ_FAIL(err, SQ_ERR_ARG, "--percdamp needs --algorithm gptq");
    if (in->select != SQ_CLI_NOT_GIVEN && in->format != SQ_EVAL_A_DYNAMIC)
        return SQ_FAIL(err, SQ_ERR_ARG, "--select needs --format sq_a_dynamic");
    if (in->mask_score != SQ_CLI_NOT_GIVEN && in->format != SQ_EVAL_A_STATIC)
        return SQ_FAIL(err, SQ_ERR_ARG, "--mask-score needs --format sq_a_static");
    if (in->output && in->format != SQ_EVAL_A_STATIC)
        return SQ_FAIL(err, SQ_ERR_ARG, "--output writes static masks: --format sq_a_static");
    if (in->output && in->is_summary)
        return SQ_FAIL(err, SQ_ERR_ARG, "--output does not go with --summary");
    if (is_sq && (in->weight_bits == 16 || in->act_bits == 16))
        return SQ_FAIL(err, SQ_ERR_ARG, "16 bits need --format dense");
    if (in->weight_bits == 16 && (in->act_bits != 16 || in->is_smooth))
        return SQ_FAIL(err, SQ_ERR_ARG, "--weight-bits 16 needs --act-bits 16: the model as it is");
    return SQ_OK;
}

// Systems that are no grids: what else they would ignore.
static enum sq_status fill_system(const struct sq_eval_arguments *in, struct sq_recipe *r,
                                  struct sq_error *err)
{
    const char *f = sq_eval_format_name[in->format];
    if (in->high_bits || in->low_bits || in->variant != SQ_CLI_NOT_GIVEN || in->bank ||
        in->is_lazy || in->weight_bits)
        return SQ_FAIL(err, SQ_ERR_ARG, "--format %s has no banks, high or low codes", f);
    if (in->select != SQ_CLI_NOT_GIVEN || in->mask_score != SQ_CLI_NOT_GIVEN || in->output)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "--select, --mask-score and --output need --format sq_a_*, not %s", f);
    if (in->is_smooth)
        return SQ_FAIL(err, SQ_ERR_ARG, "--smooth: %s has no smoothing", f);
    const struct sq_cli_offline o = {in->algorithm,         in->score, in->sparsity,
                                     in->percdamp,          in->group, in->act_bits,
                                     in->is_algorithm_given};
    return sq_cli_system_recipe(&in->system, &o, sq_system_find(f), r, err);
}

enum sq_status sq_eval_recipe(const struct sq_eval_arguments *in, struct sq_recipe *r,
                              struct sq_error *err)
{
    static const enum sq_grid_kind kind[] = {SQ_GRID_OWN, SQ_GRID_TIED, SQ_GRID_SPLIT, SQ_GRID_FP};
    const struct sq_grid mixed = {kind[in->variant == SQ_CLI_NOT_GIVEN ? 0 : in->variant],
                                  in->high_bits ? in->high_bits : 8,
                                  in->low_bits ? in->low_bits : 4};
    const unsigned act_bits = in->act_bits ? in->act_bits : 8;
    if (in->format >= SQ_EVAL_SP24)
        return fill_system(in, r, err);
    SQ_TRY(check_meaning(in, err));
    *r = sq_recipe_default();
    r->weight.low_bits = in->weight_bits ? in->weight_bits : 4;
    r->act.low_bits = act_bits;
    r->is_act_f16 = act_bits == 16;
    r->group = in->group == SQ_CLI_NO_GROUP ? 128 : in->group;
    r->is_gptq = in->algorithm == SQ_CLI_GPTQ;
    r->gptq.score = in->score == SQ_CLI_NOT_GIVEN ? SQ_SCORE_C0 : (enum sq_score)in->score;
    r->gptq.is_lazy = in->is_lazy;
    if (in->percdamp >= 0)
        r->percdamp = in->percdamp;
    r->is_smooth = in->is_smooth;
    r->alpha = in->alpha;
    r->is_mask_by_act = in->mask_score == 1;
    r->select = in->format == SQ_EVAL_A_STATIC ? SQ_SELECT_STATIC
                : in->select == 1              ? SQ_SELECT_DYNAMIC_INT8
                                               : SQ_SELECT_DYNAMIC_FP;
    if (in->format == SQ_EVAL_DENSE)
        return SQ_OK;
    r->bank = in->bank ? in->bank : 32;
    SQ_TRY(sq_format_high_per_bank(r->bank, in->sparsity > 0 ? in->sparsity : 0.75,
                                   &r->high_per_bank, err));
    *(in->format == SQ_EVAL_W ? &r->weight : &r->act) = mixed;
    if (in->format == SQ_EVAL_W && mixed.kind == SQ_GRID_FP)
        r->act = (struct sq_grid){SQ_GRID_FP8, 0, 8};
    return sq_recipe_check(r, err);
}

// ---- files of weights -------------------------------------------------------------------------

// The format of a file in the SQ-format.
static enum sq_status packed_recipe(struct sq_eval_arguments *in, struct sq_recipe *r,
                                    struct sq_error *err)
{
    struct sq_trace trace;
    SQ_TRY(sq_trace_open(&trace, in->weights, err));
    const struct sq_format f = trace.format;
    sq_trace_close(&trace);
    SQ_TRY(sq_eval_recipe(in, r, err));
    r->weight = (struct sq_grid){SQ_GRID_OWN, f.high_bits, f.low_bits};
    r->bank = f.bank;
    r->high_per_bank = f.high_per_bank;
    r->group = f.group;
    return sq_recipe_check(r, err);
}

static enum sq_status system_recipe(const struct sq_eval_arguments *in, struct sq_recipe *r,
                                    struct sq_error *err)
{
    struct sq_system_file file;
    SQ_TRY(sq_system_file_open(&file, in->weights, err));
    *r = file.recipe;
    sq_system_file_close(&file);
    if (in->act_bits && sq_cli_is_decode(r->system))
        return SQ_FAIL(err, SQ_ERR_ARG, "--act-bits: %s has binary%s activations",
                       sq_system_ops(r->system)->name, r->system == SQ_SYSTEM_SPQT ? "32" : "16");
    r->is_gptq = false;
    r->is_act_f16 = in->act_bits == 16 || r->system == SQ_SYSTEM_SPQR;
    r->act.low_bits = in->act_bits ? in->act_bits : 8;
    struct sq_error inner;
    const enum sq_status status = sq_recipe_check(r, &inner);
    return status == SQ_OK ? SQ_OK : SQ_FAIL(err, status, "--%.200s", inner.text);
}

// --weights says the format itself.
enum sq_status sq_eval_recipe_of_file(struct sq_eval_arguments *in, struct sq_recipe *r,
                                      struct sq_error *err)
{
    struct sq_safetensors st;
    if (in->format != SQ_EVAL_W || in->high_bits || in->low_bits || in->bank || in->sparsity > 0 ||
        in->group != SQ_CLI_NO_GROUP || in->variant != SQ_CLI_NOT_GIVEN || in->is_smooth ||
        in->score != SQ_CLI_NOT_GIVEN || in->is_lazy || in->percdamp >= 0 ||
        sq_cli_system_unused(&in->system, NULL) != SQ_OK)
        return SQ_FAIL(err, SQ_ERR_ARG, "--weights FILE says the format; only --act-bits is free");
    SQ_TRY(sq_safetensors_open(&st, in->weights, err));
    const bool is_system = sq_system_is_encoded(&st);
    sq_safetensors_close(&st);
    in->algorithm = SQ_CLI_RTN;
    return is_system ? system_recipe(in, r, err) : packed_recipe(in, r, err);
}
