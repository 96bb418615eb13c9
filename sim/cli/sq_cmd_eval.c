// SPDX-License-Identifier: Apache-2.0
// sqsim eval: loss and layer errors of a model in the bit-exact integers of a format.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "sim/cli/sq_cli_option.h"
#include "sim/format/sq_mask_file.h"
#include "sim/format/sq_trace.h"
#include "sim/format/sq_weight_file.h"
#include "sim/llm/sq_eval.h"

enum {
    KEY_TOKENS = 0x3000,
    KEY_CALIB,
    KEY_WEIGHTS,
    KEY_SEQUENCES,
    KEY_CALIB_SEQUENCES,
    KEY_SUMMARY,
    KEY_JOBS,
    KEY_JSON,
};

struct arguments {
    const char *model, *tokens, *calib, *weights; // NULL: the default
    const char *output;                           // NULL: no file of masks
    struct sq_mask *mask;                         // what was collected for it
    size_t n_masks;
    unsigned n_sequences, n_calib_sequences; // 0: all
    bool is_summary, is_json;
    struct sq_cli_options options;
    struct sq_error *err;
};

static const struct argp_option options[] = {
    {"tokens", KEY_TOKENS, "FILE", 0, "token file (MODEL/tokens_eval.safetensors)", 0},
    {"calib", KEY_CALIB, "FILE", 0, "calibration tokens (MODEL/tokens_calib.safetensors)", 0},
    {"weights", KEY_WEIGHTS, "FILE", 0, "weights that `sqsim quantize -o` wrote, of any format", 0},
    {"output", 'o', "FILE", 0, "sq_a_static: write the channel masks of Algorithm 2", 0},
    {"sequences", KEY_SEQUENCES, "N", 0, "the first N sequences of the token file only", 0},
    {"calib-sequences", KEY_CALIB_SEQUENCES, "N", 0,
     "the first N sequences of the calibration tokens only", 0},
    {"summary", KEY_SUMMARY, NULL, 0, "no errors per layer, which take a reference product each",
     3},
    {"jobs", KEY_JOBS, "N", 0, "threads (all processors); the result does not depend on it", 3},
    {"json", KEY_JSON, NULL, 0, "one JSON object per layer, the summary last", 3},
    {0}};

static const char doc[] =
    "Evaluates MODEL, a Hugging Face directory of a Llama-type model, with every linear layer of "
    "its decoder computed in the integers of a format, and prints loss (nats per predicted "
    "token), "
    "perplexity, and each layer's relative output error, SQNR, stored bits and mask recall. "
    "Default: the "
    "embedded "
    "traces/tiny-llama.\v"
    "Examples:\n"
    "  sqsim eval --format dense --weight-bits 16 --act-bits 16    the model as it is\n"
    "  sqsim eval --bank 16 --sparsity 0.875 --act-bits 4\n"
    "  sqsim eval ~/models/stories260K --format sq_a_static --bank 8 --json\n"
    "  sqsim eval --format sp24 --prune wanda --algorithm rtn\n"
    "  sqsim eval --format gqsa --sparsity 0.4 --algorithm lite\n"
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
    struct arguments *in = state->input;
    enum sq_status status = SQ_OK;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &in->options;
        break;
    case KEY_TOKENS:
        in->tokens = arg;
        break;
    case KEY_CALIB:
        in->calib = arg;
        break;
    case KEY_WEIGHTS:
        in->weights = arg;
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
    case KEY_SUMMARY:
        in->is_summary = true;
        break;
    case KEY_JOBS:
        status = set_jobs(arg, in->err);
        break;
    case KEY_JSON:
        in->is_json = true;
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

// ---- what is printed --------------------------------------------------------------------------

static json_t *json_number(double v)
{
    return isnan(v) ? json_null() : isinf(v) ? json_string("inf") : json_real(v);
}

// Keeps the mask of a layer for --output; without memory the file is refused at the end.
static void keep_mask(struct arguments *in, const struct sq_layer_metrics *m)
{
    struct sq_mask *keep = &in->mask[in->n_masks++];
    snprintf(keep->name, sizeof keep->name, "%s", m->name);
    keep->k_orig = m->k;
    keep->mask = malloc(m->k_padded);
    keep->k = keep->mask ? m->k_padded : 0;
    if (keep->mask)
        memcpy(keep->mask, m->mask, m->k_padded);
}

static void print_layer(void *context, const struct sq_layer_metrics *m)
{
    struct arguments *in = context;
    if (in->mask)
        keep_mask(in, m);
    if (!in->is_json) {
        printf("%-36s %6zu x %-6zu %10.6f %8.3f", m->name, m->n, m->k, m->relative_error,
               m->sqnr_db);
        if (!isnan(m->mask_recall))
            printf(" %8.4f", m->mask_recall);
        printf(m->is_dense             ? " %8.4f dense\n"
               : isnan(m->stored_bits) ? "\n"
                                       : " %8.4f\n",
               m->stored_bits);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "layer", json_string(m->name));
    json_object_set_new(o, "n", json_integer((json_int_t)m->n));
    json_object_set_new(o, "k", json_integer((json_int_t)m->k));
    json_object_set_new(o, "relative_error", json_real(m->relative_error));
    json_object_set_new(o, "sqnr_db", json_number(m->sqnr_db));
    json_object_set_new(o, "mask_recall", json_number(m->mask_recall));
    json_object_set_new(o, "stored_bits_per_weight", json_number(m->stored_bits));
    json_object_set_new(o, "dense", json_boolean(m->is_dense));
    sq_cli_json_line(o);
}

static void print_summary(const struct arguments *in, const struct sq_recipe *r,
                          const struct sq_eval_result *e)
{
    if (!in->is_json) {
        printf("loss %.6f nats per token, perplexity %.4f, %zu tokens", e->loss, e->perplexity,
               e->n_tokens);
        if (!isnan(e->stored_bits))
            printf(", %.4f stored bits per weight", e->stored_bits);
        if (r && r->format->padding)
            printf(", %s", r->format->padding);
        if (e->n_dense_layers)
            printf(", %zu layers dense", e->n_dense_layers);
        printf("\n");
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "summary", json_true());
    json_object_set_new(o, "loss", json_real(e->loss));
    json_object_set_new(o, "perplexity", json_real(e->perplexity));
    json_object_set_new(o, "tokens", json_integer((json_int_t)e->n_tokens));
    json_object_set_new(o, "stored_bits_per_weight", json_number(e->stored_bits));
    json_object_set_new(o, "dense_layers", json_integer((json_int_t)e->n_dense_layers));
    if (r)
        sq_cli_recipe_json(r, in->weights ? SQ_IN_FILE : SQ_IN_EVAL, o);
    else
        json_object_set_new(o, "format", json_string("reference"));
    json_object_set_new(o, "provenance",
                        sq_cli_provenance("real", r ? "golden model" : "binary32 model", 0));
    sq_cli_json_line(o);
}

// ---- work -------------------------------------------------------------------------------------

// The file as given, or `name` beside the model; its first n sequences, 0: all.
static enum sq_status read_tokens(const char *path, const char *model, const char *name, size_t n,
                                  const struct sq_model_config *c, struct sq_tokens *t,
                                  struct sq_error *err)
{
    char beside[4096];
    snprintf(beside, sizeof beside, "%s/%s", model, name);
    SQ_TRY(sq_tokens_read(t, path ? path : beside, c->vocab_size, c->max_position, err));
    if (n && n < t->n_sequences)
        t->n_sequences = n;
    return SQ_OK;
}

static enum sq_status evaluate(const struct arguments *in, const char *model,
                               const struct sq_recipe *r, struct sq_checkpoint *ck,
                               struct sq_tokens *tokens, struct sq_tokens *calib,
                               struct sq_error *err)
{
    const bool is_calibrated = r && !in->weights && sq_recipe_needs_calibration(r);
    struct sq_eval_result result;
    if (!ck->is_model)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "MODEL must be a directory with config.json");
    if ((in->calib || in->n_calib_sequences) && !is_calibrated)
        return SQ_FAIL(err, SQ_ERR_ARG, "nothing here needs calibration tokens");
    SQ_TRY(read_tokens(in->tokens, model, "tokens_eval.safetensors", in->n_sequences, &ck->config,
                       tokens, err));
    if (is_calibrated)
        SQ_TRY(read_tokens(in->calib, model, "tokens_calib.safetensors", in->n_calib_sequences,
                           &ck->config, calib, err));
    struct arguments context = *in;
    context.mask = in->output ? calloc(ck->n_layers, sizeof *context.mask) : NULL;
    if (in->output && !context.mask)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu masks", ck->n_layers);
    sq_eval_report *report = r && !in->is_summary ? print_layer : NULL;
    if (report && !in->is_json)
        printf("%-36s %15s %10s %8s%s %8s\n", "layer", "N x K     ", "rel. error", "SQNR dB",
               r->format->has_mask ? "   recall" : "", "bits");
    enum sq_status status =
        in->weights
            ? sq_eval_file(ck, in->weights, tokens, r, report, &context, &result, err)
            : sq_eval(ck, is_calibrated ? calib : NULL, tokens, r, report, &context, &result, err);
    for (size_t i = 0; status == SQ_OK && i < context.n_masks; i++)
        if (!context.mask[i].mask)
            status = SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu masks", context.n_masks);
    if (status == SQ_OK && in->output)
        status = sq_masks_write(in->output, context.mask, context.n_masks, r->bank,
                                r->high_per_bank, "real", err);
    for (size_t i = 0; i < context.n_masks; i++)
        free(context.mask[i].mask);
    free(context.mask);
    if (status == SQ_OK)
        print_summary(in, r, &result);
    return status;
}

static enum sq_status check_output(const struct arguments *in, const struct sq_recipe *r,
                                   struct sq_error *err)
{
    if (in->output && !r->format->has_mask)
        return SQ_FAIL(err, SQ_ERR_ARG, "--output writes static masks: --format sq_a_static");
    if (in->output && in->is_summary)
        return SQ_FAIL(err, SQ_ERR_ARG, "--output does not go with --summary");
    return SQ_OK;
}

// The recipe of a file in the SQ-format.
static enum sq_status recipe_of_trace(const struct arguments *in, struct sq_recipe *r,
                                      struct sq_error *err)
{
    struct sq_trace trace;
    SQ_TRY(sq_trace_open(&trace, in->weights, err));
    const struct sq_format f = trace.format;
    sq_trace_close(&trace);
    SQ_TRY(sq_cli_recipe_of(&in->options, &sq_format_sq_w, SQ_IN_FILE, r, err));
    r->weight = (struct sq_grid){SQ_GRID_OWN, f.high_bits, f.low_bits};
    r->bank = f.bank;
    r->high_per_bank = f.high_per_bank;
    r->group = f.group;
    return sq_recipe_check(r, err);
}

// The recipe of another file.
static enum sq_status recipe_of_file(const struct arguments *in, struct sq_recipe *r,
                                     struct sq_error *err)
{
    struct sq_weight_file file;
    struct sq_recipe told;
    SQ_TRY(sq_weight_file_open(&file, in->weights, err));
    *r = file.recipe;
    sq_weight_file_close(&file);
    SQ_TRY(sq_cli_recipe_of(&in->options, r->format, SQ_IN_FILE, &told, err));
    r->act = told.act;
    r->is_act_f16 = told.is_act_f16;
    r->is_gptq = false;
    return sq_recipe_check(r, err);
}

// --weights says the format itself.
static enum sq_status recipe_of_weights(const struct arguments *in, struct sq_recipe *r,
                                        struct sq_error *err)
{
    struct sq_safetensors st;
    bool is_free = !in->options.is_format_given;
    for (size_t i = 0; i < in->options.given.n; i++)
        is_free = is_free && strcmp(in->options.given.option[i].name, "act-bits") == 0;
    if (!is_free)
        return SQ_FAIL(err, SQ_ERR_ARG, "--weights FILE says the format; only --act-bits is free");
    SQ_TRY(sq_safetensors_open(&st, in->weights, err));
    const bool is_other = sq_weight_file_is(&st);
    sq_safetensors_close(&st);
    return is_other ? recipe_of_file(in, r, err) : recipe_of_trace(in, r, err);
}

int sq_cmd_eval(int argc, char **argv)
{
    const struct argp_child children[] = {{sq_cli_options_argp(SQ_IN_EVAL), 0, NULL, 0}, {0}};
    const struct argp argp = {.options = options,
                              .parser = parse,
                              .args_doc = "[MODEL]",
                              .doc = doc,
                              .children = children};
    struct sq_error err;
    struct arguments in = {.options = sq_cli_options_default(SQ_IN_EVAL, &err), .err = &err};
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
    if (status == SQ_OK) {
        status = evaluate(&in, model, sq_recipe_is_reference(&r) ? NULL : &r, &ck, &tokens, &calib,
                          &err);
        sq_checkpoint_close(&ck);
    }
    sq_tokens_free(&tokens);
    sq_tokens_free(&calib);
    free(embedded);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("eval", &err);
}
