// SPDX-License-Identifier: Apache-2.0
// sqsim eval: loss and layer errors of a model in the bit-exact integers of a format.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "sim/cli/sq_cmd_eval.h"
#include "sim/format/sq_system.h"
#include "sim/llm/sq_eval.h"

enum {
    KEY_TOKENS = 0x3000,
    KEY_CALIB,
    KEY_WEIGHTS,
    KEY_SEQUENCES,
    KEY_CALIB_SEQUENCES,
    KEY_FORMAT,
    KEY_VARIANT,
    KEY_HIGH_BITS,
    KEY_LOW_BITS,
    KEY_BANK,
    KEY_SPARSITY,
    KEY_GROUP,
    KEY_WEIGHT_BITS,
    KEY_ACT_BITS,
    KEY_ALGORITHM,
    KEY_SCORE,
    KEY_LAZY,
    KEY_PERCDAMP,
    KEY_SMOOTH,
    KEY_SELECT,
    KEY_MASK_SCORE,
    KEY_SUMMARY,
    KEY_JOBS,
    KEY_JSON,
};

static const char *const variant_name[] = {"own", "tied", "split", "fp"};
static const char *const score_name[] = {"c0", "c1", "c2", "c3"};
static const char *const select_name[] = {"fp", "int8"};
static const char *const mask_score_name[] = {"product", "act"};

static const struct argp_option options[] = {
    {"tokens", KEY_TOKENS, "FILE", 0, "token file (MODEL/tokens_eval.safetensors)", 0},
    {"calib", KEY_CALIB, "FILE", 0, "calibration tokens (MODEL/tokens_calib.safetensors)", 0},
    {"weights", KEY_WEIGHTS, "FILE", 0,
     "sq_w, sp24, gqsa, spqt or spqr weights that `sqsim quantize -o` wrote", 0},
    {"output", 'o', "FILE", 0, "sq_a_static: write the channel masks of Algorithm 2", 0},
    {"sequences", KEY_SEQUENCES, "N", 0, "the first N sequences of the token file only", 0},
    {"calib-sequences", KEY_CALIB_SEQUENCES, "N", 0,
     "the first N sequences of the calibration tokens only", 0},
    {"format", KEY_FORMAT, "F", 0,
     "dense, sq_w, sq_a_static, sq_a_dynamic, sp24, gqsa, spqt or spqr (sq_w)", 1},
    {"variant", KEY_VARIANT, "V", 0, "scales: own, tied, split codes, or fp (own)", 1},
    {"high-bits", KEY_HIGH_BITS, "N", 0, "bits of a high code: 8 or 4 (8)", 1},
    {"low-bits", KEY_LOW_BITS, "N", 0, "bits of a low code: 4, 3 or 2 (4)", 1},
    {"bank", KEY_BANK, "N", 0, "elements per bank: 4, 8, 16, 32, 64 or 128 (32)", 1},
    {"sparsity", KEY_SPARSITY, "S", 0,
     "fraction of low codes: 0.5, 0.75, 0.875 or 0.9375 (0.75); gqsa: of pruned groups, 0.01..0.99 "
     "(0.5); spqt: of activations below the threshold, 0.01..0.95 (0.5)",
     1},
    {"group", KEY_GROUP, "N", 0,
     "weights per scale: 32, 64, 128 or row (128); gqsa: 4, 8, 16, 32, 64 or 128 (16)", 1},
    {"weight-bits", KEY_WEIGHT_BITS, "N", 0, "dense, sq_a_*: 2..8; dense: 16 leaves them (4)", 1},
    {"act-bits", KEY_ACT_BITS, "N", 0,
     "dense, sq_w: 4..8; sp24: 8; gqsa: 8, 16; 16 is binary16 (8)", 1},
    {"algorithm", KEY_ALGORITHM, "A", 0,
     "weights by rtn, or gptq: GPTQ, on sq_w SQ Algorithm 1, on sp24 and gqsa pruning and rounding "
     "compensated in one pass; gqsa: lite refits survivors and scales (gptq)",
     2},
    {"score", KEY_SCORE, "C", 0, "importance of a weight: c0, c1, c2 or c3 (c0)", 2},
    {"lazy", KEY_LAZY, NULL, 0, "mask of a bank from the compensated weights", 2},
    {"percdamp", KEY_PERCDAMP, "P", 0, "damping of the Hessian, 0..1 (0.01)", 2},
    {"smooth", KEY_SMOOTH, "ALPHA", 0, "SmoothQuant with this exponent, 0..1 (off)", 2},
    {"select", KEY_SELECT, "S", 0, "dynamic masks by the fp or the int8 magnitude (fp)", 2},
    {"mask-score", KEY_MASK_SCORE, "S", 0,
     "static masks by the product of mean |x| and mean |w|, or by act alone (product)", 2},
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

static enum sq_status set_uint(const char *option, const char *text, uint64_t min, uint64_t max,
                               unsigned *value, struct sq_error *err)
{
    uint64_t v;
    SQ_TRY(sq_cli_uint(option, text, min, max, &v, err));
    *value = (unsigned)v;
    return SQ_OK;
}

// 16 beside min..8.
static enum sq_status set_bits(const char *option, const char *text, unsigned min, unsigned *bits,
                               struct sq_error *err)
{
    if (strcmp(text, "16") == 0) {
        *bits = 16;
        return SQ_OK;
    }
    if (set_uint(option, text, min, 8, bits, NULL) != SQ_OK)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s = %.40s, need %u..8 or 16", option, text, min);
    return SQ_OK;
}

static enum sq_status set_jobs(const char *text, struct sq_error *err)
{
    unsigned jobs;
    SQ_TRY(set_uint("--jobs", text, 1, 1024, &jobs, err));
    omp_set_num_threads((int)jobs);
    return SQ_OK;
}

static enum sq_status set_group(const char *text, unsigned *group, struct sq_error *err)
{
    static const char *const names[] = {"row", "0", "4", "8", "16", "32", "64", "128"};
    static const unsigned value[] = {0, 0, 4, 8, 16, 32, 64, 128};
    size_t i;
    SQ_TRY(sq_cli_name("--group", text, names, sizeof value / sizeof *value, &i, err));
    *group = value[i];
    return SQ_OK;
}

static enum sq_status set(struct sq_eval_arguments *in, int key, const char *arg)
{
    struct sq_error *err = in->err;
    switch (key) {
    case KEY_SEQUENCES:
        return set_uint("--sequences", arg, 1, INT32_MAX, &in->n_sequences, err);
    case KEY_CALIB_SEQUENCES:
        return set_uint("--calib-sequences", arg, 1, INT32_MAX, &in->n_calib_sequences, err);
    case KEY_FORMAT:
        return sq_cli_name("--format", arg, sq_eval_format_name, SQ_EVAL_FORMATS, &in->format, err);
    case KEY_VARIANT:
        return sq_cli_name("--variant", arg, variant_name, 4, &in->variant, err);
    case KEY_HIGH_BITS:
        return set_uint("--high-bits", arg, 4, 8, &in->high_bits, err);
    case KEY_LOW_BITS:
        return set_uint("--low-bits", arg, 2, 4, &in->low_bits, err);
    case KEY_BANK:
        return set_uint("--bank", arg, SQ_BANK_MIN, SQ_BANK_MAX, &in->bank, err);
    case KEY_SPARSITY:
        return sq_cli_double("--sparsity", arg, 0.01, 0.99, &in->sparsity, err);
    case KEY_GROUP:
        return set_group(arg, &in->group, err);
    case KEY_WEIGHT_BITS:
        return set_bits("--weight-bits", arg, 2, &in->weight_bits, err);
    case KEY_ACT_BITS:
        return set_bits("--act-bits", arg, 4, &in->act_bits, err);
    case KEY_ALGORITHM:
        in->is_algorithm_given = true;
        return sq_cli_name("--algorithm", arg, sq_cli_algorithm_name, SQ_CLI_ALGORITHMS,
                           &in->algorithm, err);
    case KEY_SCORE:
        return sq_cli_name("--score", arg, score_name, SQ_SCORES, &in->score, err);
    case KEY_PERCDAMP:
        return sq_cli_double("--percdamp", arg, 0, 1, &in->percdamp, err);
    case KEY_SMOOTH:
        in->is_smooth = true;
        return sq_cli_double("--smooth", arg, 0, 1, &in->alpha, err);
    case KEY_SELECT:
        return sq_cli_name("--select", arg, select_name, 2, &in->select, err);
    case KEY_MASK_SCORE:
        return sq_cli_name("--mask-score", arg, mask_score_name, 2, &in->mask_score, err);
    default:
        return set_jobs(arg, err);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sq_eval_arguments *in = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &in->system;
        return 0;
    case KEY_TOKENS:
        in->tokens = arg;
        return 0;
    case KEY_CALIB:
        in->calib = arg;
        return 0;
    case KEY_WEIGHTS:
        in->weights = arg;
        return 0;
    case 'o':
        in->output = arg;
        return 0;
    case KEY_LAZY:
        in->is_lazy = true;
        return 0;
    case KEY_SUMMARY:
        in->is_summary = true;
        return 0;
    case KEY_JSON:
        in->is_json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (in->model)
            return ARGP_ERR_UNKNOWN;
        in->model = arg;
        return 0;
    default:
        if (key < KEY_TOKENS || key > KEY_JSON)
            return ARGP_ERR_UNKNOWN;
        return set(in, key, arg) == SQ_OK ? 0 : EINVAL;
    }
}

// ---- what is printed --------------------------------------------------------------------------

static json_t *json_number(double v)
{
    return isnan(v) ? json_null() : isinf(v) ? json_string("inf") : json_real(v);
}

// Keeps the mask of a layer for --output; without memory the file is refused at the end.
static void keep_mask(struct sq_eval_arguments *in, const struct sq_layer_metrics *m)
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
    struct sq_eval_arguments *in = context;
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

static void json_grid(json_t *o, const char *key, const struct sq_grid *g)
{
    json_object_set_new(o, key,
                        json_pack("{s:s, s:i, s:i}", "grid", sq_grid_name(g->kind), "high_bits",
                                  (int)g->high_bits, "low_bits", (int)g->low_bits));
}

static void json_recipe(const struct sq_eval_arguments *in, const struct sq_recipe *r, json_t *o)
{
    if (r->system != SQ_SYSTEM_GRID)
        sq_cli_system_json(r, o);
    else
        json_object_set_new(o, "format", json_string(sq_eval_format_name[in->format]));
    if (in->weights || !sq_cli_is_decode(r->system))
        json_object_set_new(
            o, "algorithm",
            json_string(in->weights ? "file" : sq_cli_algorithm_name[in->algorithm]));
    if (in->weights)
        sq_cli_decode_forget(r->system, o);
    if (r->system == SQ_SYSTEM_GRID)
        json_grid(o, "weight", &r->weight);
    if (r->system == SQ_SYSTEM_SPQT)
        json_object_set_new(o, "act", json_string("binary32"));
    else if (r->is_act_f16)
        json_object_set_new(o, "act", json_string("binary16"));
    else
        json_grid(o, "act", &r->act);
    if (!sq_cli_is_decode(r->system))
        json_object_set_new(o, "group", json_integer(r->group));
    if (r->system != SQ_SYSTEM_GRID)
        return;
    json_object_set_new(o, "bank", json_integer(r->bank));
    json_object_set_new(o, "high_per_bank", json_integer(r->high_per_bank));
    json_object_set_new(o, "smooth", r->is_smooth ? json_real(r->alpha) : json_null());
}

static void print_summary(const struct sq_eval_arguments *in, const struct sq_recipe *r,
                          const struct sq_eval_result *e)
{
    if (!in->is_json) {
        printf("loss %.6f nats per token, perplexity %.4f, %zu tokens", e->loss, e->perplexity,
               e->n_tokens);
        if (!isnan(e->stored_bits))
            printf(", %.4f stored bits per weight", e->stored_bits);
        if (r && sq_cli_is_decode(r->system))
            printf(", %s", sq_cli_decode_padding(r->system));
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
        json_recipe(in, r, o);
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

static enum sq_status evaluate(const struct sq_eval_arguments *in, const char *model,
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
    struct sq_eval_arguments context = *in;
    context.mask = in->output ? calloc(ck->n_layers, sizeof *context.mask) : NULL;
    if (in->output && !context.mask)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu masks", ck->n_layers);
    sq_eval_report *report = r && !in->is_summary ? print_layer : NULL;
    if (report && !in->is_json)
        printf("%-36s %15s %10s %8s%s %8s\n", "layer", "N x K     ", "rel. error", "SQNR dB",
               in->format == SQ_EVAL_A_STATIC ? "   recall" : "", "bits");
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

int sq_cmd_eval(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sq_cli_system_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = options,
                                     .parser = parse,
                                     .args_doc = "[MODEL]",
                                     .doc = doc,
                                     .children = children};
    struct sq_error err;
    struct sq_eval_arguments in = {.format = SQ_EVAL_W,
                                   .algorithm = SQ_CLI_GPTQ,
                                   .group = SQ_CLI_NO_GROUP,
                                   .system = sq_cli_system_default(&err),
                                   .percdamp = -1,
                                   .variant = SQ_CLI_NOT_GIVEN,
                                   .score = SQ_CLI_NOT_GIVEN,
                                   .select = SQ_CLI_NOT_GIVEN,
                                   .mask_score = SQ_CLI_NOT_GIVEN,
                                   .alpha = 0.5,
                                   .err = &err};
    struct sq_checkpoint ck;
    struct sq_recipe r;
    struct sq_tokens tokens = {0}, calib = {0};
    enum sq_status status = sq_cli_parse(&argp, argc, argv, &in, &err);
    if (status == SQ_OK)
        status = in.weights ? sq_eval_recipe_of_file(&in, &r, &err) : sq_eval_recipe(&in, &r, &err);
    if (status != SQ_OK)
        return sq_cli_fail("eval", &err);
    char *embedded = sq_cli_home_path("traces/tiny-llama");
    const char *model = in.model ? in.model : embedded;
    status = sq_checkpoint_open(&ck, model, &err);
    if (status == SQ_OK) {
        status = evaluate(&in, model, in.weight_bits == 16 ? NULL : &r, &ck, &tokens, &calib, &err);
        sq_checkpoint_close(&ck);
    }
    sq_tokens_free(&tokens);
    sq_tokens_free(&calib);
    free(embedded);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("eval", &err);
}
