// SPDX-License-Identifier: Apache-2.0
// sqsim eval: loss and layer errors of a model in the bit-exact integers of a format.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "sim/cli/sq_cli_calib.h"
#include "sim/cli/sq_cmd_eval.h"
#include "sim/format/sq_layer_file.h"

enum {
    KEY_TOKENS = 0x3000,
    KEY_CALIB,
    KEY_TEXT,
    KEY_CALIB_TEXT,
    KEY_WEIGHTS,
    KEY_LAYER_FORMAT,
    KEY_SEQUENCES,
    KEY_CALIB_SEQUENCES,
    KEY_SEQUENTIAL,
    KEY_SUMMARY,
    KEY_JOBS,
    KEY_JSON,
    KEY_PROGRESS,
    FEW_TOKENS = 100, // below which a loss says little
};

static const struct argp_option options[] = {
    {"tokens", KEY_TOKENS, "FILE", 0, "token file (MODEL/tokens_eval.safetensors)", 0},
    {"text", KEY_TEXT, "FILE", 0, "a text in its place, by the model's own tokenizer", 0},
    {"calib", KEY_CALIB, "FILE", 0, "calibration tokens (MODEL/tokens_calib.safetensors)", 0},
    {"calib-text", KEY_CALIB_TEXT, "FILE", 0, "a text in their place", 0},
    {"weights", KEY_WEIGHTS, "FILE", 0, "weights that `sqsim quantize -o` wrote, of any format", 0},
    {"layer-format", KEY_LAYER_FORMAT, "RULES", 0,
     "layers in other formats, by name: PATTERN=FORMAT[:OPTION=VALUE]...,...", 0},
    {"output", 'o', "FILE", 0, "sq_a_static: write the channel masks of Algorithm 2", 0},
    {"sequences", KEY_SEQUENCES, "N", 0, "the first N sequences of the token file only", 0},
    {"calib-sequences", KEY_CALIB_SEQUENCES, "N", 0,
     "the first N sequences of the calibration tokens only", 0},
    {"sequential", KEY_SEQUENTIAL, NULL, 0,
     "calibrate each layer behind the encoded ones before it, not on the model as it is", 0},
    {"summary", KEY_SUMMARY, NULL, 0, "no errors per layer, which take a reference product each",
     3},
    {"jobs", KEY_JOBS, "N", 0, "threads (all processors); the result does not depend on it", 3},
    {"json", KEY_JSON, NULL, 0, "one JSON object per layer, the summary last", 3},
    {"progress", KEY_PROGRESS, NULL, 0, "say what is being done on stderr, terminal or not", 3},
    {0}};

static const char doc[] =
    "Evaluates MODEL, a Hugging Face directory or a GGUF file of a Llama-type model, with every "
    "linear layer of "
    "its decoder computed in the integers of a format, and prints loss (nats per predicted "
    "token), "
    "perplexity, and each layer's relative output error, SQNR, stored bits and mask recall; beside "
    "them the model as it is over the same tokens: difference of loss, KL, top-1 agreement, with "
    "95 % intervals by a bootstrap over sequences. "
    "Default: the "
    "embedded "
    "traces/tiny-llama.\v"
    "Examples:\n"
    "  sqsim eval --format dense --weight-bits 16 --act-bits 16    the model as it is\n"
    "  sqsim eval --bank 16 --sparsity 0.875 --act-bits 4\n"
    "  sqsim eval ~/models/stories260K --format sq_a_static --bank 8 --json\n"
    "  sqsim eval SmolLM2-135M-Instruct.Q4_1.gguf --text wiki.test.raw --window 512 --bank 32\n"
    "  sqsim eval --format sp24 --prune wanda --algorithm rtn\n"
    "  sqsim eval --format gqsa --sparsity 0.4 --algorithm lite\n"
    "  sqsim eval --format sq_a_static --layer-format '*.down_proj=sq_a_dynamic'\n"
    "  sqsim quantize -o w.safetensors && sqsim eval --weights w.safetensors\n";

static enum sq_status set_uint(const char *option, const char *text, uint64_t max, unsigned *value,
                               struct sq_error *err)
{
    uint64_t v;
    SQ_TRY(sq_cli_uint(option, text, 1, max, &v, err));
    *value = (unsigned)v;
    return SQ_OK;
}

static enum sq_status set_jobs(const char *text, struct sq_error *err)
{
    unsigned jobs;
    SQ_TRY(set_uint("--jobs", text, 1024, &jobs, err));
    omp_set_num_threads((int)jobs);
    return SQ_OK;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sq_eval_args *in = state->input;
    enum sq_status status = SQ_OK;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &in->options;
        state->child_inputs[1] = &in->text;
        break;
    case KEY_TOKENS:
        in->tokens = arg;
        break;
    case KEY_CALIB:
        in->calib = arg;
        break;
    case KEY_TEXT:
        in->text.source.text = arg;
        break;
    case KEY_CALIB_TEXT:
        in->calib_text = arg;
        break;
    case KEY_WEIGHTS:
        in->weights = arg;
        break;
    case KEY_LAYER_FORMAT:
        in->layer_format = arg;
        break;
    case 'o':
        in->output = arg;
        break;
    case KEY_SEQUENCES:
        status = set_uint("--sequences", arg, INT32_MAX, &in->n_sequences, in->err);
        break;
    case KEY_CALIB_SEQUENCES:
        status = set_uint("--calib-sequences", arg, INT32_MAX, &in->n_calib_sequences, in->err);
        break;
    case KEY_SEQUENTIAL:
        in->is_sequential = true;
        break;
    case KEY_SUMMARY:
        in->is_summary = true;
        break;
    case KEY_JOBS:
        status = set_jobs(arg, in->err);
        break;
    case KEY_JSON:
        in->is_json = true;
        break;
    case KEY_PROGRESS:
        sq_cli_progress_everywhere();
        break;
    case ARGP_KEY_ARG:
        if (in->model)
            return ARGP_ERR_UNKNOWN;
        in->model = arg;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return status == SQ_OK ? 0 : EINVAL;
}

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
    const struct sq_token_source cuts = in->text.source;
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

static enum sq_status evaluate(const struct sq_eval_args *in, const char *model,
                               const struct sq_recipe *r, struct sq_checkpoint *ck,
                               struct sq_tokens *tokens, struct sq_tokens *calib,
                               struct sq_error *err)
{
    const bool is_calibrated = r && !in->weights && sq_recipe_needs_calibration(r);
    struct sq_eval_result result;
    struct sq_divergence divergence = {NAN, NAN, NAN, {NAN, NAN}, NAN, NAN, NAN, {NAN, NAN}, NAN};
    if (!ck->is_model)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "MODEL must be a directory with config.json, or a GGUF file");
    if (in->is_sequential && !is_calibrated)
        return SQ_FAIL(err, SQ_ERR_ARG, "--sequential: nothing here needs calibration tokens");
    if (!is_calibrated && (in->calib || in->calib_text || in->n_calib_sequences))
        sq_cli_note_calib("eval");
    struct sq_eval_args context = *in;
    const struct sq_eval_watch watch = {.begins = begins};
    sq_cli_stage("eval", "reading tokens");
    SQ_TRY(read_all_tokens(in, ck, model, &context.text.source, tokens,
                           is_calibrated ? calib : NULL, err));
    context.mask = in->output ? calloc(ck->n_layers, sizeof *context.mask) : NULL;
    if (in->output && !context.mask)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu masks", ck->n_layers);
    sq_eval_report *report = r && !in->is_summary ? sq_eval_print_layer : NULL;
    if (report && !in->is_json)
        sq_eval_print_head(r);
    enum sq_status status =
        sq_eval_compared(ck, is_calibrated ? calib : NULL, in->weights, tokens, r, report, &context,
                         &watch, &result, &divergence, err);
    for (size_t i = 0; status == SQ_OK && i < context.n_masks; i++)
        if (!context.mask[i].mask)
            status = SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu masks", context.n_masks);
    if (status == SQ_OK && in->output)
        status = sq_masks_write(in->output, context.mask, context.n_masks, r->bank,
                                r->high_per_bank, "real", err);
    for (size_t i = 0; i < context.n_masks; i++)
        free(context.mask[i].mask);
    free(context.mask);
    sq_cli_progress_end();
    if (status != SQ_OK)
        return status;
    sq_eval_print_summary(&context, r, &result, &divergence, tokens);
    if (result.n_tokens < FEW_TOKENS)
        note_few(result.n_tokens);
    return SQ_OK;
}

// The rules of --layer-format, each of which is of some layer.
static enum sq_status read_rules(struct sq_eval_args *in, const struct sq_checkpoint *ck,
                                 struct sq_recipe *r, struct sq_error *err)
{
    struct sq_error why;
    if (!in->layer_format)
        return SQ_OK;
    if (in->output)
        return SQ_FAIL(err, SQ_ERR_ARG, "--layer-format does not go with --output");
    if (sq_layer_rules_read(in->layer_format, &in->options.given, in->rule, &r->n_rules, &why) !=
        SQ_OK)
        return SQ_FAIL(err, why.code, "--%.240s", why.text);
    r->rule = in->rule;
    for (size_t i = 0; i < r->n_rules; i++) {
        bool is_used = false;
        for (size_t l = 0; l < ck->n_layers; l++)
            is_used = is_used || sq_recipe_of_layer(r, ck->layer[l].name) == &in->rule[i].recipe;
        if (!is_used)
            return SQ_FAIL(err, SQ_ERR_ARG,
                           "--layer-format: '%.60s' is the first match of no layer",
                           in->rule[i].pattern);
    }
    return SQ_OK;
}

static enum sq_status check_output(const struct sq_eval_args *in, const struct sq_recipe *r,
                                   struct sq_error *err)
{
    if (in->output && !r->format->has_mask)
        return SQ_FAIL(err, SQ_ERR_ARG, "--output writes static masks: --format sq_a_static");
    if (in->output && in->is_summary)
        return SQ_FAIL(err, SQ_ERR_ARG, "--output does not go with --summary");
    return SQ_OK;
}

// --weights says the format itself.
static enum sq_status recipe_of_weights(const struct sq_eval_args *in, struct sq_recipe *r,
                                        struct sq_error *err)
{
    struct sq_layer_file file;
    struct sq_error why;
    bool is_free = !in->options.is_format_given && !in->layer_format;
    for (size_t i = 0; i < in->options.given.n; i++)
        is_free = is_free && strcmp(in->options.given.option[i].name, "act-bits") == 0;
    if (!is_free)
        return SQ_FAIL(err, SQ_ERR_ARG, "--weights FILE says the format; only --act-bits is free");
    const enum sq_status status = sq_layer_file_open(&file, in->weights, &in->options.given, &why);
    if (status != SQ_OK)
        return SQ_FAIL(err, status, "%s%.280s", strncmp(why.text, "act-bits", 8) ? "" : "--",
                       why.text);
    *r = file.recipe;
    sq_layer_file_close(&file);
    return SQ_OK;
}

int sq_cmd_eval(int argc, char **argv)
{
    const struct argp_child children[] = {
        {sq_cli_options_argp(SQ_IN_EVAL), 0, NULL, 0}, {&sq_cli_text_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {.options = options,
                              .parser = parse,
                              .args_doc = "[MODEL]",
                              .doc = doc,
                              .children = children};
    struct sq_error err;
    struct sq_eval_args in = {
        .options = sq_cli_options_default(SQ_IN_EVAL, &err), .text = {.err = &err}, .err = &err};
    struct sq_checkpoint ck;
    struct sq_recipe r;
    struct sq_tokens tokens = {0}, calib = {0};
    enum sq_status status = sq_cli_parse(&argp, argc, argv, &in, &err);
    if (status == SQ_OK)
        status =
            in.weights ? recipe_of_weights(&in, &r, &err) : sq_cli_recipe(&in.options, &r, &err);
    if (status == SQ_OK)
        status = check_output(&in, &r, &err);
    if (status != SQ_OK)
        return sq_cli_fail("eval", &err);
    char *embedded = sq_cli_home_path("traces/tiny-llama");
    const char *model = in.model ? in.model : embedded;
    status = sq_checkpoint_open(&ck, model, &err);
    bool is_rtn = false;
    if (status == SQ_OK) {
        if (!in.weights)
            status = sq_cli_recipe_calibrated(&in.options, &ck, model,
                                              in.calib || in.calib_text || in.is_sequential, &r,
                                              &is_rtn, &err);
        if (status == SQ_OK)
            status =
                sq_recipe_is_reference(&r) && in.layer_format
                    ? SQ_FAIL(&err, SQ_ERR_ARG, "--layer-format needs a --format for the others")
                    : read_rules(&in, &ck, &r, &err);
        r.is_sequential = in.is_sequential;
        if (status == SQ_OK)
            status = evaluate(&in, model, sq_recipe_is_reference(&r) ? NULL : &r, &ck, &tokens,
                              &calib, &err);
        sq_checkpoint_close(&ck);
    }
    if (status == SQ_OK && is_rtn)
        sq_cli_note_rtn("eval");
    sq_tokens_free(&tokens);
    sq_tokens_free(&calib);
    free(embedded);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("eval", &err);
}
