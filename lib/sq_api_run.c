// SPDX-License-Identifier: Apache-2.0
// Figures of sqsim.h: the cycle model, and a model evaluated.
#include <stdlib.h>
#include <string.h>

#include "lib/sq_api.h"
#include "sim/block/core/sq_core_run.h"
#include "sim/format/sq_sum_device.h"
#include "sim/gpu/sq_sum_fit.h"
#include "sim/llm/sq_eval.h"
#include "sim/machine/sq_machine_run.h"

static enum sq_status add_causes(struct sqsim_figures *f, const char *path, const uint64_t *counts,
                                 unsigned n, struct sq_error *err)
{
    for (unsigned i = 0; i < n; i++)
        SQ_TRY(sq_api_figure_add(f, path, sq_cause_name((enum sq_cause)i), (double)counts[i], err));
    return SQ_OK;
}

// ---- sums -----------------------------------------------------------------------------------

static enum sq_status dot(const char *rule, const char *type, const char *const code[3], float *sum,
                          struct sq_error *err)
{
    const struct sq_sum_type *t = sq_sum_types;
    const struct sq_sum_rule *r;
    struct sq_sum_device d;
    SQ_CLOSED(sq_sum_operands_free) struct sq_sum_operands o = {0};
    while (t->name && strcmp(t->name, type) != 0)
        t++;
    SQ_FAIL_IF(!t->name, err, SQ_ERR_ARG,
               "type = %.40s, need fp16, bf16, e4m3 or another of SPEC Q.11", type);
    SQ_TRY(sq_sum_device_find(rule, type, &d, &r, err));
    SQ_TRY(sq_sum_operands_read(t, code[0], code[1], code[2], &o, err));
    *sum = (float)sq_sum(r, o.a, o.ea, o.b, o.eb, o.n, o.c, NULL, NULL);
    return SQ_OK;
}

enum sqsim_status sqsim_dot(const char *rule, const char *type, const char *a, const char *b,
                            const char *c, float *sum, struct sqsim_error *err)
{
    SQ_API_ENTER();
    struct sq_error e;
    return sq_api_status(dot(rule, type, (const char *const[]){a, b, c}, sum, &e), &e, err);
}

// ---- cycles ---------------------------------------------------------------------------------

static enum sq_status on_core(const struct sq_recipe *r, const struct sq_gemm *g,
                              struct sqsim_figures *f, struct sq_error *err)
{
    struct sq_core_config core = sq_core_config_default();
    const struct sq_format format = sq_recipe_banks(r);
    struct sq_job job;
    SQ_FAIL_IF(!sq_cost_is_core(r), err, SQ_ERR_ARG, "format %s needs a machine", r->format->name);
    core.act_bits = sq_recipe_act_bits(r);
    core.high_bits = format.high_bits;
    core.low_bits = format.low_bits;
    core.bank = format.bank;
    core.high_per_bank = format.high_per_bank;
    SQ_TRY(sq_core_config_check(&core, err));
    const size_t k_padded = sq_k_padded(&format, g->k);
    core = sq_gemm_core(&core, &format, k_padded);
    SQ_TRY(sq_gemm_job(&core, &format, g->m, g->n, k_padded, &job, err));
    const struct sq_rates free_streams = {1, 1, 1, 1};
    const struct sq_core_stats s = sq_core_run_fast(&core, &job, &free_streams);
    SQ_TRY(sq_api_figure_add(f, "", "cycles", (double)s.cycles, err));
    SQ_TRY(sq_api_figure_add(f, "", "bound_cycles", (double)sq_job_bound(&core, &job), err));
    SQ_TRY(add_causes(f, "low", s.low, SQ_N_CAUSES, err));
    return add_causes(f, "high", s.high, SQ_N_CAUSES, err);
}

static enum sq_status on_machine(const struct sq_recipe *r, const char *path,
                                 const struct sq_gemm *g, struct sqsim_figures *f,
                                 struct sq_error *err)
{
    struct sq_machine machine;
    struct sq_mapping plan;
    struct sq_machine_stats s;
    double nbytes = 0;
    char found[SQ_API_PATH];
    SQ_TRY(sq_machine_load(sq_api_found(path, SQ_HOME_MACHINE, found), &machine, err));
    SQ_TRY(sq_mapping_run(&machine, r, g, &plan, &s, NULL, err));
    SQ_TRY(sq_api_figure_add(f, "", "cycles", (double)s.cycles, err));
    SQ_TRY(sq_api_figure_add(f, "", "bound_cycles", (double)plan.bound, err));
    SQ_TRY(sq_api_figure_add(f, "", "seconds", (double)s.cycles / machine.clock_hz, err));
    SQ_TRY(sq_api_figure_add(f, "", "index", (double)s.index, err));
    SQ_TRY(sq_api_figure_add(f, "", "memory", (double)s.memory, err));
    SQ_TRY(add_causes(f, "low", s.low, SQ_N_UNIT_CAUSES, err));
    if (plan.cost.high > 0)
        SQ_TRY(add_causes(f, "high", s.high, SQ_N_UNIT_CAUSES, err));
    for (unsigned i = 0; i < SQ_N_STREAMS; i++) {
        nbytes += (double)s.nbytes[i];
        SQ_TRY(sq_api_figure_add(f, "bytes", sq_stream_name((enum sq_stream_id)i),
                                 (double)s.nbytes[i], err));
    }
    return sq_api_figure_add(f, "", "bytes", nbytes, err);
}

static enum sq_status time_gemm(const sqsim_format *format, const char *machine,
                                const struct sq_gemm *g, struct sqsim_figures *f,
                                struct sq_error *err)
{
    const uint64_t size[] = {g->m, g->n, g->k};
    SQ_FAIL_IF(format->purpose != SQSIM_TIME, err, SQ_ERR_ARG,
               "the format was made for SQSIM_VALUES, need SQSIM_TIME");
    for (unsigned i = 0; i < 3; i++)
        SQ_FAIL_IF(size[i] < 1 || size[i] > SQ_GEMM_MAX, err, SQ_ERR_RANGE,
                   "%c = %llu, need 1..%llu", "mnk"[i], (unsigned long long)size[i],
                   (unsigned long long)SQ_GEMM_MAX);
    SQ_TRY(sq_cost_check(&format->recipe, err));
    return machine ? on_machine(&format->recipe, machine, g, f, err)
                   : on_core(&format->recipe, g, f, err);
}

// Hands out *f, or frees it where something failed.
static enum sqsim_status finish(struct sqsim_figures *f, enum sq_status status,
                                const struct sq_error *inner, sqsim_figures **figures,
                                struct sqsim_error *err)
{
    if (status != SQ_OK) {
        sqsim_figures_free(f);
        f = NULL;
    }
    *figures = f;
    return sq_api_status(status, inner, err);
}

enum sqsim_status sqsim_cycles(const sqsim_format *format, const char *machine, uint64_t m,
                               uint64_t n, uint64_t k, sqsim_figures **figures,
                               struct sqsim_error *err)
{
    SQ_API_ENTER();
    struct sq_error inner;
    struct sqsim_figures *f = calloc(1, sizeof *f);
    const enum sq_status status =
        f ? time_gemm(format, machine, &(struct sq_gemm){m, n, k}, f, &inner)
          : SQ_NO_MEMORY(&inner, "figures");
    return finish(f, status, &inner, figures, err);
}

// ---- evaluation -----------------------------------------------------------------------------

struct evaluation {
    const char *model, *tokens, *calib;
    size_t sequences;
    const struct sq_recipe *recipe; // NULL: the model as it is
    const char *weights;            // a file; NULL: quantized here
};

static enum sq_status read_tokens(const struct evaluation *e, const char *path, const char *usual,
                                  const struct sq_model_config *c, struct sq_tokens *t,
                                  struct sq_error *err)
{
    char beside[4096];
    SQ_FAIL_IF(strlen(e->model) > sizeof beside - 96, err, SQ_ERR_RANGE,
               "path of the model is longer than 4000 bytes");
    sq_tokens_beside(e->model, usual, beside, sizeof beside);
    return sq_tokens_read(t, path ? path : beside, c->vocab_size, c->max_position, err);
}

static enum sq_status evaluate_tokens(const struct evaluation *e, const struct sq_checkpoint *ck,
                                      struct sq_tokens *tokens, struct sq_eval_result *result,
                                      struct sq_error *err)
{
    SQ_CLOSED(sq_tokens_free) struct sq_tokens calib = {0};
    if (e->sequences && e->sequences < tokens->n_sequences)
        tokens->n_sequences = e->sequences;
    if (e->weights)
        return sq_eval_file(ck, e->weights, tokens, e->recipe, NULL, NULL, result, err);
    const bool is_calibrated = e->recipe && sq_recipe_needs_calibration(e->recipe);
    if (is_calibrated)
        SQ_TRY(read_tokens(e, e->calib, "tokens_calib.safetensors", &ck->config, &calib, err));
    return sq_eval(ck, is_calibrated ? &calib : NULL, tokens, e->recipe, NULL, NULL, result, err);
}

static enum sq_status evaluate(const struct evaluation *e, struct sqsim_figures *f,
                               struct sq_error *err)
{
    struct sq_checkpoint ck;
    struct sq_tokens tokens = {0};
    struct sq_eval_result result;
    SQ_TRY(sq_checkpoint_open(&ck, e->model, err));
    enum sq_status status =
        ck.is_model ? read_tokens(e, e->tokens, "tokens_eval.safetensors", &ck.config, &tokens, err)
                    : SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                              "the model must be a directory with config.json or a GGUF file");
    SQ_THEN(status, evaluate_tokens(e, &ck, &tokens, &result, err));
    sq_tokens_free(&tokens);
    sq_checkpoint_close(&ck);
    SQ_TRY(status);
    SQ_TRY(sq_api_figure_add(f, "", "loss", result.loss, err));
    SQ_TRY(sq_api_figure_add(f, "", "perplexity", result.perplexity, err));
    SQ_TRY(sq_api_figure_add(f, "", "tokens", (double)result.n_tokens, err));
    return sq_api_figure_add(f, "", "bits", result.stored_bits, err);
}

static enum sqsim_status evaluate_all(struct evaluation *e, sqsim_figures **figures,
                                      struct sqsim_error *err)
{
    struct sq_error inner;
    char model[SQ_API_PATH], tokens[SQ_API_PATH], calib[SQ_API_PATH];
    e->model = sq_api_found(e->model, SQ_HOME_MODEL, model);
    e->tokens = sq_api_found(e->tokens, NULL, tokens);
    e->calib = sq_api_found(e->calib, NULL, calib);
    struct sqsim_figures *f = calloc(1, sizeof *f);
    const enum sq_status status = f ? evaluate(e, f, &inner) : SQ_NO_MEMORY(&inner, "figures");
    return finish(f, status, &inner, figures, err);
}

enum sqsim_status sqsim_evaluate(const char *model, const sqsim_format *format, const char *tokens,
                                 const char *calib, size_t sequences, sqsim_figures **figures,
                                 struct sqsim_error *err)
{
    SQ_API_ENTER();
    struct evaluation e = {
        .model = model, .tokens = tokens, .calib = calib, .sequences = sequences};
    struct sq_error inner;
    *figures = NULL;
    if (format && format->purpose != SQSIM_VALUES)
        return sq_api_status(
            SQ_FAIL(&inner, SQ_ERR_ARG, "the format was made for SQSIM_TIME, need SQSIM_VALUES"),
            &inner, err);
    if (format && !sq_recipe_is_reference(&format->recipe))
        e.recipe = &format->recipe;
    return evaluate_all(&e, figures, err);
}

enum sqsim_status sqsim_evaluate_file(const char *model, const sqsim_file *file, const char *tokens,
                                      size_t sequences, sqsim_figures **figures,
                                      struct sqsim_error *err)
{
    SQ_API_ENTER();
    struct evaluation e = {.model = model,
                           .tokens = tokens,
                           .sequences = sequences,
                           .recipe = &file->layers.recipe,
                           .weights = file->path};
    return evaluate_all(&e, figures, err);
}
