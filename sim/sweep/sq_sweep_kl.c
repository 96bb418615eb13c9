// SPDX-License-Identifier: Apache-2.0
// KL of a format on a model, evaluated once and kept as a file (sq_sweep_grid.h).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/format/sq_recipe_json.h"
#include "sim/io/sq_cache.h"
#include "sim/io/sq_file.h"
#include "sim/llm/sq_eval.h"
#include "sim/sweep/sq_sweep_grid.h"

#define FILE_NAME "kl" // mean, both ends of the interval

struct task {
    const struct sq_sweep_options *options;
    const struct sq_sweep_source *source;
    const struct sq_recipe *recipe;
};

static enum sq_status evaluate(const struct task *t, const struct sq_tokens *calib,
                               const struct sq_tokens *tokens, struct sq_divergence *d,
                               struct sq_error *err)
{
    const struct sq_reference_cache cache = {t->options->reference, SQ_REFERENCE_LEAST};
    struct sq_eval_job job = {.r = t->recipe};
    SQ_TRY(sq_eval_jobs(t->source->ck, calib, tokens, &job, 1, &cache, NULL, err));
    *d = job.divergence;
    return SQ_OK;
}

static enum sq_status read_tokens(const struct task *t, struct sq_tokens *calib,
                                  struct sq_tokens *tokens, struct sq_error *err)
{
    const struct sq_model_config *c = &t->source->ck->config;
    if (sq_recipe_needs_calibration(t->recipe))
        SQ_TRY(sq_tokens_read(calib, t->source->tokens, c->vocab_size, c->max_position, err));
    return sq_tokens_read(tokens, t->source->eval_tokens, c->vocab_size, c->max_position, err);
}

static enum sq_status fill(void *context, const char *work, struct sq_error *err)
{
    const struct task *t = context;
    struct sq_tokens calib = {0}, tokens = {0};
    struct sq_divergence d;
    char path[4096];
    enum sq_status status = read_tokens(t, &calib, &tokens, err);
    SQ_THEN(status, evaluate(t, calib.id ? &calib : NULL, &tokens, &d, err));
    sq_tokens_free(&calib);
    sq_tokens_free(&tokens);
    SQ_TRY(status);
    snprintf(path, sizeof path, "%.4000s/" FILE_NAME, work);
    struct sq_outfile out;
    SQ_TRY(sq_outfile_open(&out, path, err));
    fprintf(out.stream, "%.17g %.17g %.17g\n", d.kl_mean, d.kl_mean_95.low, d.kl_mean_95.high);
    return sq_outfile_commit(&out, err);
}

// Model, tokens, every option of the format, the program.
static enum sq_status entry_of(const struct task *t, char entry[4096], struct sq_error *err)
{
    struct sq_digest d = t->source->digest;
    char digest[SQ_DIGEST_SIZE];
    json_t *recipe = sq_recipe_json(t->recipe, SQ_IN_EVAL);
    char *text = json_dumps(recipe, JSON_COMPACT);
    const char *description = t->recipe->format->description;
    json_decref(recipe);
    SQ_NEED(text, err, "a recipe");
    sq_digest_add(&d, text, strlen(text));
    free(text);
    if (description)
        sq_digest_add(&d, description, strlen(description));
    sq_digest_add(&d, t->options->code, strlen(t->options->code));
    sq_digest_hex(d, digest);
    snprintf(entry, 4096, "%.4000s/%s", t->options->kept, digest);
    return SQ_OK;
}

enum sq_status sq_sweep_kl(const struct sq_sweep_options *options,
                           const struct sq_sweep_source *source, const struct sq_recipe *recipe,
                           struct sq_sweep_result *r, struct sq_error *err)
{
    static const char *const files[] = {FILE_NAME, NULL};
    struct task t = {options, source, recipe};
    char entry[4096], path[4096 + 8];
    bool is_filled;
    SQ_TRY(entry_of(&t, entry, err));
    SQ_TRY(sq_cache_get(entry, files, fill, &t, &is_filled, err));
    snprintf(path, sizeof path, "%s/" FILE_NAME, entry);
    FILE *in = fopen(path, "re");
    const int n = in ? fscanf(in, "%lf %lf %lf", &r->kl, &r->kl_95[SQ_LOW], &r->kl_95[SQ_HIGH]) : 0;
    if (in)
        fclose(in);
    return n == 3 ? SQ_OK : SQ_FAIL(err, SQ_ERR_IO, "cannot read '%.80s'", sq_path_tail(path));
}
