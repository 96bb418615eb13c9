// SPDX-License-Identifier: Apache-2.0
// sqsim eval: loss and layer errors of a model in the bit-exact integers of a format.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "models/vector/sq_vector.h"
#include "sim/cli/sq_cli_calib.h"
#include "sim/cli/sq_cmd_eval.h"

enum {
    FEW_TOKENS = 100,   // below which a loss says little
    FEW_SEQUENCES = 16, // below which a bootstrap's intervals are too narrow
};
static const char doc[] =
    "Evaluates MODEL, a Hugging Face directory or a GGUF file of a Llama-type model, with every "
    "linear layer of its decoder computed in the integers of a format, and prints loss (nats per "
    "predicted token), perplexity, and each layer's relative output error, SQNR, stored bits and "
    "mask recall; beside them the model as it is over the same tokens: difference of loss, KL, "
    "top-1 agreement, with 95 % intervals by a bootstrap over sequences: none of one sequence, "
    "and a note where there are less than 16. Default: the embedded traces/tiny-llama.\v"
    "Examples:\n"
    "  sqsim eval --format dense --weight-bits 16 --act-bits 16    the model as it is\n"
    "  sqsim eval --bank 16 --sparsity 0.875 --act-bits 4\n"
    "  sqsim eval ~/models/stories260K --format sq_a_static --bank 8 --json\n"
    "  sqsim eval SmolLM2-135M-Instruct.Q4_1.gguf --text wiki.test.raw --window 512 --bank 32\n"
    "  sqsim eval --format sp24 --prune wanda --algorithm rtn\n"
    "  sqsim eval --format nvfp4 --and mxfp4 --and sq_b --bank 32\n"
    "  sqsim eval --format nvfp4 --kv-format int8 --and nvfp4 --kv-format int4\n"
    "  sqsim eval --format gqsa --sparsity 0.4 --algorithm lite\n"
    "  sqsim eval --format sq_a_static --layer-format '*.down_proj=sq_a_dynamic'\n"
    "  sqsim quantize -o w.safetensors && sqsim eval --weights w.safetensors\n"
    "  sqsim eval --format gqsa --and-weights w.safetensors\n";

static enum sq_status set_weights(void *context, const struct sq_cli_row *row, const char *text,
                                  struct sq_error *err)
{
    struct sq_eval_args *in = context;
    (void)row, (void)err;
    in->format[in->n_formats - 1].weights = text;
    return SQ_OK;
}

static enum sq_status set_layer_format(void *context, const struct sq_cli_row *row,
                                       const char *text, struct sq_error *err)
{
    struct sq_eval_args *in = context;
    (void)row, (void)err;
    in->format[in->n_formats - 1].layer_format = text;
    return SQ_OK;
}

static enum sq_status set_kv_format(void *context, const struct sq_cli_row *row, const char *text,
                                    struct sq_error *err)
{
    struct sq_eval_args *in = context;
    struct sq_eval_format *f = &in->format[in->n_formats - 1];
    struct sq_error why;
    (void)row;
    f->kv_format = text;
    const enum sq_status status = sq_cache_recipe(text, SQ_IN_EVAL, &f->cache, &why);
    return status == SQ_OK ? SQ_OK : SQ_FAIL(err, status, "--%.250s", why.text);
}

static enum sq_status set_kv_keys(void *context, const struct sq_cli_row *row, const char *text,
                                  struct sq_error *err)
{
    struct sq_eval_args *in = context;
    struct sq_eval_format *f = &in->format[in->n_formats - 1];
    (void)row;
    f->is_before = strcmp(text, "before") == 0;
    if (!f->is_before && strcmp(text, "after") != 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--kv-keys = %.40s, need after or before", text);
    if (!f->kv_format)
        return SQ_FAIL(err, SQ_ERR_ARG, "--kv-keys needs --kv-format before it");
    return SQ_OK;
}

static enum sq_status set_softmax(void *context, const struct sq_cli_row *row, const char *text,
                                  struct sq_error *err)
{
    struct sq_eval_args *in = context;
    char *end;
    const unsigned long lanes = strtoul(text, &end, 10);
    (void)row;
    if (strcmp(text, "attend") == 0) {
        in->format[in->n_formats - 1].softmax_lanes = SQ_LLAMA_ATTEND;
        return SQ_OK;
    }
    if (text[0] < '0' || text[0] > '9' || *end || lanes < 1 || lanes > SQ_VECTOR_LANES_MAX ||
        (lanes & (lanes - 1)) != 0)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "--softmax = %.40s, need 1, 2, 4, 8, 16, 32 or 64 lanes, or attend", text);
    in->format[in->n_formats - 1].softmax_lanes = (unsigned)lanes;
    return SQ_OK;
}

// The format that the options belonged to is complete; those that follow are of another.
static enum sq_status next(struct sq_eval_args *in, struct sq_error *err)
{
    if (in->n_formats == SQ_EVAL_JOBS)
        return SQ_FAIL(err, SQ_ERR_RANGE, "--and: %d formats, need 1..%d", SQ_EVAL_JOBS + 1,
                       SQ_EVAL_JOBS);
    in->format[in->n_formats - 1].options = in->options;
    in->format[in->n_formats++].in = in;
    in->options = sq_cli_options_default(SQ_IN_EVAL);
    return SQ_OK;
}

static enum sq_status next_format(void *context, const struct sq_cli_row *row, const char *name,
                                  struct sq_error *err)
{
    struct sq_eval_args *in = context;
    (void)row;
    SQ_TRY(next(in, err));
    return sq_cli_options_format(&in->options, "--and", name, err);
}

static enum sq_status next_weights(void *context, const struct sq_cli_row *row, const char *text,
                                   struct sq_error *err)
{
    SQ_TRY(next(context, err));
    return set_weights(context, row, text, err);
}

#define AT(field) SQ_CLI_AT(struct sq_eval_args, field)
static const struct sq_cli_row rows[] = {
    SQ_CLI_TEXT("tokens", "FILE", AT(tokens), "token file",
                .usual = "MODEL/tokens_eval.safetensors", .found = ""),
    SQ_CLI_TEXT("text", "FILE", AT(source.text),
                "a text in its place, by the model's own tokenizer", .found = ""),
    SQ_CLI_TEXT("calib", "FILE", AT(calib), "calibration tokens",
                .usual = "MODEL/tokens_calib.safetensors", .found = ""),
    SQ_CLI_TEXT("calib-text", "FILE", AT(calib_text), "a text in their place", .found = ""),
    SQ_CLI_OWN("and", "FORMAT", next_format,
               "another format in the same run, with the options of a format behind it; the pass "
               "of the model as it is, its logits and the calibration are made once"),
    SQ_CLI_OWN(
        "weights", "FILE", set_weights,
        "weights that `sqsim quantize -o` wrote, of any format, or a checkpoint that another "
        "program quantized",
        .found = ""),
    SQ_CLI_OWN("and-weights", "FILE", next_weights,
               "such a file as another format in the same run, paired with the first", .found = ""),
    SQ_CLI_OWN("layer-format", "RULES", set_layer_format,
               "layers in other formats, by name: PATTERN=FORMAT[:OPTION=VALUE]...,..."),
    SQ_CLI_OWN("kv-format", "FORMAT", set_kv_format,
               "the KV cache in a format: bf16, int8, int4 or one with options behind colons; a "
               "head of a token is a row"),
    SQ_CLI_OWN(
        "kv-keys", "WHERE", set_kv_keys,
        "after or before: keys go into the cache after their rotary embedding, or before it"),
    SQ_CLI_OWN("softmax", "LANES", set_softmax,
               "softmax of attention by the vector unit (SPEC R.4) with so many lanes; attend: all "
               "of attention by the attention unit (SPEC R.5), its cache in binary16 or as "
               "--kv-format says"),
    SQ_CLI_TEXT("output", "FILE", AT(output), "sq_a_static: write the channel masks of Algorithm 2",
                .letter = 'o', .is_output = true),
    SQ_CLI_UINT("sequences", "N", 1, INT32_MAX, AT(n_sequences),
                "the first N sequences of the token file only"),
    SQ_CLI_UINT("calib-sequences", "N", 1, INT32_MAX, AT(n_calib_sequences),
                "the first N sequences of the calibration tokens only"),
    SQ_CLI_FLAG(
        "sequential", AT(is_sequential),
        "calibrate each layer behind the encoded ones before it, not on the model as it is"),
    SQ_CLI_FORMATS(SQ_IN_EVAL, AT(options)),
    SQ_CLI_PART(sq_cli_text_rows, AT(source)),
    SQ_CLI_FLAG("summary", AT(is_summary),
                "no errors per layer, which take a reference product each", .group = SQ_CLI_COMMON),
    SQ_CLI_FLAG("no-cache", AT(is_cache_off),
                "compute the states of the model as it is even where an earlier run kept them, and "
                "keep none",
                .group = SQ_CLI_COMMON),
    SQ_CLI_UINT("jobs", "N", 1, 1024, AT(jobs), "threads; the result does not depend on it",
                .usual = "all processors", .group = SQ_CLI_COMMON),
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per layer, the summary last",
                .group = SQ_CLI_COMMON),
    SQ_CLI_FLAG("progress", AT(is_progress), "say what is being done on stderr, terminal or not",
                .group = SQ_CLI_COMMON),
    SQ_CLI_ARGUMENT("MODEL", AT(model), .found = SQ_HOME_MODEL),
    SQ_CLI_END};

// ---- work -------------------------------------------------------------------------------------

// Its first n sequences, 0: all.
static enum sq_status read_tokens(struct sq_token_source *source, const struct sq_checkpoint *ck,
                                  const char *model, const char *name, size_t n,
                                  struct sq_tokens *t, struct sq_error *err)
{
    SQ_TRY(sq_token_source_read(source, ck, model, name, t, err));
    if (n && n < t->n_sequences)
        t->n_sequences = n;
    return SQ_OK;
}

// What is evaluated, and where calib is not NULL the calibration tokens. *source is what the first
// came from.
static enum sq_status read_all_tokens(const struct sq_eval_args *in, const struct sq_checkpoint *ck,
                                      const char *model, struct sq_token_source *source,
                                      struct sq_tokens *tokens, struct sq_tokens *calib,
                                      struct sq_error *err)
{
    const struct sq_token_source cuts = in->source;
    struct sq_token_source other = {.tokens = in->calib};
    if (in->calib_text)
        other = (struct sq_token_source){
            .tokens = in->calib, .text = in->calib_text, .window = cuts.window, .bos = cuts.bos};
    *source = cuts;
    if (!cuts.text && in->calib_text) // they are for that text
        *source = (struct sq_token_source){0};
    source->tokens = in->tokens;
    SQ_TRY(read_tokens(source, ck, model, "tokens_eval.safetensors", in->n_sequences, tokens, err));
    return calib ? read_tokens(&other, ck, model, "tokens_calib.safetensors", in->n_calib_sequences,
                               calib, err)
                 : SQ_OK;
}

// What is being done; the blocks of the format give pace and ETA, since the model as it is takes
// less.
static void begins(void *context, enum sq_eval_stage stage, size_t block, size_t n_blocks)
{
    static const char *const name[SQ_EVAL_STAGES] = {
        "eval: the model as it is, blocks", "eval: what each layer is to be",
        "eval: calibration, blocks",        "eval: encoding, blocks",
        "eval: products, blocks",           "eval: scores, blocks"};
    char text[64];
    (void)context;
    if (stage > SQ_EVAL_SCAN) {
        sq_cli_progress(name[stage], block, n_blocks);
        return;
    }
    snprintf(text, sizeof text, "%zu/%zu", block, n_blocks);
    sq_cli_stage(name[stage], text);
}

static void note_few(size_t n_tokens)
{
    sq_cli_settle();
    fprintf(stderr,
            "sqsim eval: note: loss and perplexity are of %zu predicted token%s, which says little "
            "of a model\n",
            n_tokens, n_tokens == 1 ? "" : "s");
}

static void note_intervals(size_t n_sequences)
{
    sq_cli_settle();
    if (n_sequences < 2)
        fprintf(stderr, "sqsim eval: note: no 95 %% intervals of one sequence, need %d or more\n",
                FEW_SEQUENCES);
    else
        fprintf(stderr,
                "sqsim eval: note: 95 %% intervals of %zu sequences are too narrow, need %d or "
                "more\n",
                n_sequences, FEW_SEQUENCES);
}

static bool is_calibrated(const struct sq_eval_format *f)
{
    return sq_eval_recipe(f) && !f->weights && sq_recipe_needs_calibration(&f->r);
}

static bool any_calibrated(const struct sq_eval_args *in)
{
    for (size_t i = 0; i < in->n_formats; i++)
        if (is_calibrated(&in->format[i]))
            return true;
    return false;
}

// The masks of --output, which one format has.
static enum sq_status write_masks(const struct sq_eval_args *in, struct sq_error *err)
{
    const struct sq_recipe *r = &in->format[0].r;
    for (size_t i = 0; i < in->n_masks; i++)
        SQ_NEED(in->mask[i].mask, err, "%zu masks", in->n_masks);
    return sq_masks_write(in->output, in->mask, in->n_masks, r->bank, r->high_per_bank, "real",
                          err);
}

// Where a format's lines go: of several, those of the first come before those of the second.
static enum sq_status open_outputs(struct sq_eval_args *in, struct sq_error *err)
{
    for (size_t i = 0; i < in->n_formats; i++) {
        struct sq_eval_format *f = &in->format[i];
        f->table.is_json = in->is_json;
        f->table.out = in->n_formats > 1 ? open_memstream(&f->text, &f->n_text) : stdout;
        SQ_NEED(f->table.out, err, "%zu formats", in->n_formats);
    }
    return SQ_OK;
}

static void close_outputs(struct sq_eval_args *in, bool is_said)
{
    for (size_t i = 0; in->n_formats > 1 && i < in->n_formats; i++) {
        struct sq_eval_format *f = &in->format[i];
        if (f->table.out && fclose(f->table.out) == 0 && is_said)
            fwrite(f->text, 1, f->n_text, stdout);
        free(f->text);
    }
}

static enum sq_status run_jobs(struct sq_eval_args *in, const struct sq_checkpoint *ck,
                               const struct sq_tokens *tokens, const struct sq_tokens *calib,
                               struct sq_eval_job *job, struct sq_error *err)
{
    const struct sq_eval_watch watch = {.begins = begins};
    const struct sq_reference_cache cache = {sq_cli_cache_path("reference"), SQ_REFERENCE_LEAST};
    for (size_t i = 0; i < in->n_formats; i++) {
        struct sq_eval_format *f = &in->format[i];
        job[i] = (struct sq_eval_job){
            .r = sq_eval_recipe(f),
            .path = f->weights,
            .cache = sq_eval_cache(f),
            .is_cached_before = f->is_before,
            .softmax_lanes = f->softmax_lanes,
            .pair = {NAN, NAN, {NAN, NAN}, {NAN, NAN}},
            .report = in->is_summary ? NULL : sq_eval_print_layer,
            .context = f,
            .divergence = {NAN, NAN, NAN, {NAN, NAN}, NAN, NAN, NAN, {NAN, NAN}, NAN}};
        sq_eval_print_head(f);
    }
    return sq_eval_jobs(ck, calib, tokens, job, in->n_formats, in->is_cache_off ? NULL : &cache,
                        &watch, err);
}

static enum sq_status evaluate(struct sq_eval_args *in, const char *model, struct sq_checkpoint *ck,
                               struct sq_tokens *tokens, struct sq_tokens *calib,
                               struct sq_error *err)
{
    const bool has_calib = any_calibrated(in);
    struct sq_eval_job job[SQ_EVAL_JOBS];
    struct sq_token_source source;
    if (!ck->is_model)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "MODEL must be a directory with config.json, or a GGUF file");
    if (in->is_sequential && !has_calib)
        return SQ_FAIL(err, SQ_ERR_ARG, "--sequential: nothing here needs calibration tokens");
    if (!has_calib && (in->calib || in->calib_text || in->n_calib_sequences))
        sq_cli_note_calib("eval");
    sq_cli_stage("eval", "reading tokens");
    SQ_TRY(read_all_tokens(in, ck, model, &source, tokens, has_calib ? calib : NULL, err));
    in->source = source;
    in->mask = in->output ? calloc(ck->n_layers, sizeof *in->mask) : NULL;
    if (in->output && !in->mask)
        return SQ_NO_MEMORY(err, "%zu masks", ck->n_layers);
    enum sq_status status = open_outputs(in, err);
    SQ_THEN(status, run_jobs(in, ck, tokens, has_calib ? calib : NULL, job, err));
    if (status == SQ_OK && in->output)
        status = write_masks(in, err);
    for (size_t i = 0; i < in->n_masks; i++)
        free(in->mask[i].mask);
    free(in->mask);
    sq_cli_progress_end();
    for (size_t i = 0; status == SQ_OK && i < in->n_formats; i++)
        sq_eval_print_summary(&in->format[i], &job[i], ck, tokens);
    close_outputs(in, status == SQ_OK);
    if (status == SQ_OK && job[0].result.n_tokens < FEW_TOKENS)
        note_few(job[0].result.n_tokens);
    bool is_compared = false;
    for (size_t i = 0; i < in->n_formats; i++)
        is_compared = is_compared || sq_eval_recipe(&in->format[i]) ||
                      sq_eval_cache(&in->format[i]) || in->format[i].softmax_lanes;
    if (status == SQ_OK && is_compared && tokens->n_sequences < FEW_SEQUENCES)
        note_intervals(tokens->n_sequences);
    return status;
}

// The rules of --layer-format, each of which is of some layer.
static enum sq_status read_rules(struct sq_eval_format *f, const struct sq_checkpoint *ck,
                                 struct sq_error *err)
{
    struct sq_recipe *r = &f->r;
    struct sq_error why;
    if (!f->layer_format)
        return SQ_OK;
    if (f->in->output)
        return SQ_FAIL(err, SQ_ERR_ARG, "--layer-format does not go with --output");
    if (sq_recipe_is_reference(r))
        return SQ_FAIL(err, SQ_ERR_ARG, "--layer-format needs a --format for the others");
    if (sq_layer_rules_read(f->layer_format, &f->options.given, f->rule, &r->n_rules, &why) !=
        SQ_OK)
        return SQ_FAIL(err, why.code, "--%.240s", why.text);
    r->rule = f->rule;
    for (size_t i = 0; i < r->n_rules; i++) {
        bool is_used = false;
        for (size_t l = 0; l < ck->n_layers; l++)
            is_used = is_used || sq_recipe_of_layer(r, ck->layer[l].name) == &f->rule[i].recipe;
        if (!is_used)
            return SQ_FAIL(err, SQ_ERR_ARG,
                           "--layer-format: '%.60s' is the first match of no layer",
                           f->rule[i].pattern);
    }
    return SQ_OK;
}

static enum sq_status check_output(const struct sq_eval_args *in, struct sq_error *err)
{
    if (in->output && in->n_formats > 1)
        return SQ_FAIL(err, SQ_ERR_ARG, "--output does not go with --and");
    if (in->output && !in->format[0].r.format->values->mask)
        return SQ_FAIL(err, SQ_ERR_ARG, "--output writes static masks: --format sq_a_static");
    if (in->output && in->is_summary)
        return SQ_FAIL(err, SQ_ERR_ARG, "--output does not go with --summary");
    return SQ_OK;
}

// --weights says the format itself.
static enum sq_status recipe_of_weights(struct sq_eval_format *f, struct sq_error *err)
{
    SQ_TRY(sq_cli_weights_open(&f->options, f->weights, f->layer_format != NULL, &f->file, err));
    f->r = f->file.recipe;
    return SQ_OK;
}

// Every format's recipe, before any other file is opened.
static enum sq_status read_recipes(struct sq_eval_args *in, struct sq_error *err)
{
    for (size_t i = 0; i < in->n_formats; i++) {
        struct sq_eval_format *f = &in->format[i];
        if (!f->weights && !f->layer_format && sq_cli_has_own_weights(&f->options, in->model))
            f->weights = in->model;
        SQ_TRY(f->weights ? recipe_of_weights(f, err) : sq_cli_recipe(&f->options, &f->r, err));
    }
    return check_output(in, err);
}

// What of them depends on the model.
static enum sq_status settle_recipes(struct sq_eval_args *in, const struct sq_checkpoint *ck,
                                     const char *model, struct sq_error *err)
{
    const bool is_calib = in->calib || in->calib_text || in->is_sequential;
    for (size_t i = 0; i < in->n_formats; i++) {
        struct sq_eval_format *f = &in->format[i];
        if (!f->weights)
            SQ_TRY(
                sq_cli_recipe_calibrated(&f->options, ck, model, is_calib, &f->r, &f->is_rtn, err));
        if (f->layer_format)
            SQ_TRY(read_rules(f, ck, err));
        f->r.is_sequential = in->is_sequential;
    }
    return SQ_OK;
}

static void note_weights(const struct sq_eval_args *in, const struct sq_checkpoint *ck)
{
    bool is_encoded = false;
    for (size_t i = 0; i < in->n_formats; i++) {
        sq_cli_note_weights("eval", &in->format[i].file);
        is_encoded = is_encoded || (!in->format[i].weights && sq_eval_recipe(&in->format[i]));
    }
    if (is_encoded)
        sq_cli_note_quantized("eval", ck);
}

static void close_formats(struct sq_eval_args *in)
{
    for (size_t i = 0; in->format && i < in->n_formats; i++)
        sq_layer_file_close(&in->format[i].file);
    free(in->format);
}

int sq_cmd_eval(int argc, char **argv)
{
    static const struct sq_cli_line line = {rows, "[MODEL]", doc};
    struct sq_error err;
    struct sq_eval_args in = {.options = sq_cli_options_default(SQ_IN_EVAL),
                              .format = calloc(SQ_EVAL_JOBS, sizeof *in.format),
                              .n_formats = 1};
    struct sq_checkpoint ck;
    SQ_CLOSED(sq_tokens_free) struct sq_tokens tokens = {0}, calib = {0};
    enum sq_status status = SQ_HAVE(in.format, &err, "options");
    if (status == SQ_OK) {
        in.format[0].in = &in;
        status = sq_cli_parse(&line, argc, argv, &in, &err);
        in.format[in.n_formats - 1].options = in.options;
    }
    if (in.is_progress)
        sq_cli_progress_everywhere();
    if (in.jobs)
        omp_set_num_threads((int)in.jobs);
    SQ_THEN(status, read_recipes(&in, &err));
    if (status != SQ_OK) {
        close_formats(&in);
        return sq_cli_fail("eval", &err);
    }
    const char *model = sq_cli_model(in.model);
    status = sq_checkpoint_open(&ck, model, &err);
    if (status == SQ_OK) {
        status = settle_recipes(&in, &ck, model, &err);
        SQ_THEN(status, evaluate(&in, model, &ck, &tokens, &calib, &err));
        if (status == SQ_OK)
            note_weights(&in, &ck);
        sq_checkpoint_close(&ck);
    }
    bool is_rtn = false;
    for (size_t i = 0; i < in.n_formats; i++)
        is_rtn = is_rtn || in.format[i].is_rtn;
    if (status == SQ_OK && is_rtn)
        sq_cli_note_rtn("eval");
    close_formats(&in);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("eval", &err);
}
