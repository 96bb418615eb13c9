// SPDX-License-Identifier: Apache-2.0
// sqsim eval: loss and layer errors of a model in the bit-exact integers of a format.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "sq_cli.h"
#include "sq_eval.h"
#include "sq_mask_file.h"

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

enum format { DENSE, SQ_W, SQ_A_STATIC, SQ_A_DYNAMIC, N_FORMATS };
static const char *const format_name[] = {"dense", "sq_w", "sq_a_static", "sq_a_dynamic"};
static const char *const variant_name[] = {"own", "tied", "split", "fp"};
static const char *const algorithm_name[] = {"rtn", "gptq"};
static const char *const score_name[] = {"c0", "c1", "c2", "c3"};
static const char *const select_name[] = {"fp", "int8"};
static const char *const mask_score_name[] = {"product", "act"};

#define NOT_GIVEN SIZE_MAX // an index of a name table; options a format ignores must not be given

struct arguments {
    const char *model, *tokens, *calib, *weights; // NULL: the default
    const char *output;                           // NULL: no file of masks
    struct sq_mask *mask;                         // what was collected for it
    size_t n_masks;
    unsigned n_sequences, n_calib_sequences; // 0: all
    size_t format, variant, algorithm, score, select, mask_score;
    unsigned high_bits, low_bits, bank, group, weight_bits, act_bits; // bits 0: the default
    double sparsity, percdamp, alpha;
    bool is_lazy, is_smooth, is_summary, is_json;
    struct sq_error *err;
};

static const struct argp_option options[] = {
    {"tokens", KEY_TOKENS, "FILE", 0, "token file (MODEL/tokens_eval.safetensors)", 0},
    {"calib", KEY_CALIB, "FILE", 0, "calibration tokens (MODEL/tokens_calib.safetensors)", 0},
    {"weights", KEY_WEIGHTS, "FILE", 0, "SQ-format weights that `sqsim quantize -o` wrote", 0},
    {"output", 'o', "FILE", 0, "sq_a_static: write the channel masks of Algorithm 2", 0},
    {"sequences", KEY_SEQUENCES, "N", 0, "the first N sequences of the token file only", 0},
    {"calib-sequences", KEY_CALIB_SEQUENCES, "N", 0,
     "the first N sequences of the calibration tokens only", 0},
    {"format", KEY_FORMAT, "F", 0, "dense, sq_w, sq_a_static or sq_a_dynamic (sq_w)", 1},
    {"variant", KEY_VARIANT, "V", 0, "scales: own, tied, split codes, or fp (own)", 1},
    {"high-bits", KEY_HIGH_BITS, "N", 0, "bits of a high code: 8 or 4 (8)", 1},
    {"low-bits", KEY_LOW_BITS, "N", 0, "bits of a low code: 4, 3 or 2 (4)", 1},
    {"bank", KEY_BANK, "N", 0, "elements per bank: 4, 8, 16, 32, 64 or 128 (32)", 1},
    {"sparsity", KEY_SPARSITY, "S", 0, "fraction of low codes: 0.5, 0.75, 0.875 or 0.9375 (0.75)",
     1},
    {"group", KEY_GROUP, "N", 0, "weights per scale: 32, 64, 128 or row (128)", 1},
    {"weight-bits", KEY_WEIGHT_BITS, "N", 0, "dense, sq_a_*: 2..8; dense: 16 leaves them (4)", 1},
    {"act-bits", KEY_ACT_BITS, "N", 0, "dense, sq_w: 4..8; dense: 16 is binary16 (8)", 1},
    {"algorithm", KEY_ALGORITHM, "A", 0,
     "weights by rtn, or gptq: GPTQ, on sq_w SQ Algorithm 1 (gptq)", 2},
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
    "perplexity, and each layer's relative output error, SQNR and mask recall. Default: the "
    "embedded "
    "traces/tiny-llama.\v"
    "Examples:\n"
    "  sqsim eval --format dense --weight-bits 16 --act-bits 16    the model as it is\n"
    "  sqsim eval --bank 16 --sparsity 0.875 --act-bits 4\n"
    "  sqsim eval ~/models/stories260K --format sq_a_static --bank 8 --json\n"
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
    static const char *const names[] = {"row", "0", "32", "64", "128"};
    static const unsigned value[] = {0, 0, 32, 64, 128};
    size_t i;
    SQ_TRY(sq_cli_name("--group", text, names, 5, &i, err));
    *group = value[i];
    return SQ_OK;
}

static enum sq_status set(struct arguments *in, int key, const char *arg)
{
    struct sq_error *err = in->err;
    switch (key) {
    case KEY_SEQUENCES:
        return set_uint("--sequences", arg, 1, INT32_MAX, &in->n_sequences, err);
    case KEY_CALIB_SEQUENCES:
        return set_uint("--calib-sequences", arg, 1, INT32_MAX, &in->n_calib_sequences, err);
    case KEY_FORMAT:
        return sq_cli_name("--format", arg, format_name, N_FORMATS, &in->format, err);
    case KEY_VARIANT:
        return sq_cli_name("--variant", arg, variant_name, 4, &in->variant, err);
    case KEY_HIGH_BITS:
        return set_uint("--high-bits", arg, 4, 8, &in->high_bits, err);
    case KEY_LOW_BITS:
        return set_uint("--low-bits", arg, 2, 4, &in->low_bits, err);
    case KEY_BANK:
        return set_uint("--bank", arg, SQ_BANK_MIN, SQ_BANK_MAX, &in->bank, err);
    case KEY_SPARSITY:
        return sq_cli_double("--sparsity", arg, 0.5, 0.9375, &in->sparsity, err);
    case KEY_GROUP:
        return set_group(arg, &in->group, err);
    case KEY_WEIGHT_BITS:
        return set_bits("--weight-bits", arg, 2, &in->weight_bits, err);
    case KEY_ACT_BITS:
        return set_bits("--act-bits", arg, 4, &in->act_bits, err);
    case KEY_ALGORITHM:
        return sq_cli_name("--algorithm", arg, algorithm_name, 2, &in->algorithm, err);
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
    struct arguments *in = state->input;
    switch (key) {
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

// ---- options -> recipe ------------------------------------------------------------------------

// Options that the format would ignore are refused: none is parsed and never used.
static enum sq_status check_meaning(const struct arguments *in, struct sq_error *err)
{
    const char *f = format_name[in->format];
    const bool is_sq = in->format != DENSE, is_gptq = in->algorithm == 1;
    if (!is_sq &&
        (in->high_bits || in->low_bits || in->variant != NOT_GIVEN || in->bank || in->sparsity > 0))
        return SQ_FAIL(err, SQ_ERR_ARG, "--format dense has no banks, high or low codes");
    if (in->format == SQ_W && in->weight_bits)
        return SQ_FAIL(err, SQ_ERR_ARG, "--weight-bits: sq_w has --high-bits and --low-bits");
    if (is_sq && in->format != SQ_W && in->act_bits)
        return SQ_FAIL(err, SQ_ERR_ARG, "--act-bits: %s has --high-bits and --low-bits", f);
    if ((in->score != NOT_GIVEN || in->is_lazy) && (in->format != SQ_W || !is_gptq))
        return SQ_FAIL(err, SQ_ERR_ARG, "--score and --lazy need --format sq_w --algorithm gptq");
    if (in->percdamp >= 0 && !is_gptq)
        return SQ_FAIL(err, SQ_ERR_ARG, "--percdamp needs --algorithm gptq");
    if (in->select != NOT_GIVEN && in->format != SQ_A_DYNAMIC)
        return SQ_FAIL(err, SQ_ERR_ARG, "--select needs --format sq_a_dynamic");
    if (in->mask_score != NOT_GIVEN && in->format != SQ_A_STATIC)
        return SQ_FAIL(err, SQ_ERR_ARG, "--mask-score needs --format sq_a_static");
    if (in->output && in->format != SQ_A_STATIC)
        return SQ_FAIL(err, SQ_ERR_ARG, "--output writes static masks: --format sq_a_static");
    if (in->output && in->is_summary)
        return SQ_FAIL(err, SQ_ERR_ARG, "--output does not go with --summary");
    if (is_sq && (in->weight_bits == 16 || in->act_bits == 16))
        return SQ_FAIL(err, SQ_ERR_ARG, "16 bits need --format dense");
    if (in->weight_bits == 16 && (in->act_bits != 16 || in->is_smooth))
        return SQ_FAIL(err, SQ_ERR_ARG, "--weight-bits 16 needs --act-bits 16: the model as it is");
    return SQ_OK;
}

static enum sq_status fill_recipe(const struct arguments *in, struct sq_recipe *r,
                                  struct sq_error *err)
{
    static const enum sq_grid_kind kind[] = {SQ_GRID_OWN, SQ_GRID_TIED, SQ_GRID_SPLIT, SQ_GRID_FP};
    const struct sq_grid mixed = {kind[in->variant == NOT_GIVEN ? 0 : in->variant],
                                  in->high_bits ? in->high_bits : 8,
                                  in->low_bits ? in->low_bits : 4};
    const unsigned act_bits = in->act_bits ? in->act_bits : 8;
    SQ_TRY(check_meaning(in, err));
    *r = sq_recipe_default();
    r->weight.low_bits = in->weight_bits ? in->weight_bits : 4;
    r->act.low_bits = act_bits;
    r->is_act_f16 = act_bits == 16;
    r->group = in->group;
    r->is_gptq = in->algorithm == 1;
    r->gptq.score = in->score == NOT_GIVEN ? SQ_SCORE_C0 : (enum sq_score)in->score;
    r->gptq.is_lazy = in->is_lazy;
    if (in->percdamp >= 0)
        r->percdamp = in->percdamp;
    r->is_smooth = in->is_smooth;
    r->alpha = in->alpha;
    r->is_mask_by_act = in->mask_score == 1;
    r->select = in->format == SQ_A_STATIC ? SQ_SELECT_STATIC
                : in->select == 1         ? SQ_SELECT_DYNAMIC_INT8
                                          : SQ_SELECT_DYNAMIC_FP;
    if (in->format == DENSE)
        return SQ_OK;
    r->bank = in->bank ? in->bank : 32;
    SQ_TRY(sq_format_high_per_bank(r->bank, in->sparsity > 0 ? in->sparsity : 0.75,
                                   &r->high_per_bank, err));
    *(in->format == SQ_W ? &r->weight : &r->act) = mixed;
    if (in->format == SQ_W && mixed.kind == SQ_GRID_FP)
        r->act = (struct sq_grid){SQ_GRID_FP8, 0, 8};
    return sq_recipe_check(r, err);
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
        printf(isnan(m->mask_recall) ? "\n" : " %8.4f\n", m->mask_recall);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "layer", json_string(m->name));
    json_object_set_new(o, "n", json_integer((json_int_t)m->n));
    json_object_set_new(o, "k", json_integer((json_int_t)m->k));
    json_object_set_new(o, "relative_error", json_real(m->relative_error));
    json_object_set_new(o, "sqnr_db", json_number(m->sqnr_db));
    json_object_set_new(o, "mask_recall", json_number(m->mask_recall));
    sq_cli_json_line(o);
}

static void json_grid(json_t *o, const char *key, const struct sq_grid *g)
{
    json_object_set_new(o, key,
                        json_pack("{s:s, s:i, s:i}", "grid", sq_grid_name(g->kind), "high_bits",
                                  (int)g->high_bits, "low_bits", (int)g->low_bits));
}

static void json_recipe(const struct arguments *in, const struct sq_recipe *r, json_t *o)
{
    json_object_set_new(o, "format", json_string(format_name[in->format]));
    json_object_set_new(o, "algorithm",
                        json_string(in->weights ? "file" : algorithm_name[in->algorithm]));
    json_grid(o, "weight", &r->weight);
    if (r->is_act_f16)
        json_object_set_new(o, "act", json_string("binary16"));
    else
        json_grid(o, "act", &r->act);
    json_object_set_new(o, "bank", json_integer(r->bank));
    json_object_set_new(o, "high_per_bank", json_integer(r->high_per_bank));
    json_object_set_new(o, "group", json_integer(r->group));
    json_object_set_new(o, "smooth", r->is_smooth ? json_real(r->alpha) : json_null());
}

static void print_summary(const struct arguments *in, const struct sq_recipe *r,
                          const struct sq_eval_result *e)
{
    if (!in->is_json) {
        printf("loss %.6f nats per token, perplexity %.4f, %zu tokens\n", e->loss, e->perplexity,
               e->n_tokens);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "summary", json_true());
    json_object_set_new(o, "loss", json_real(e->loss));
    json_object_set_new(o, "perplexity", json_real(e->perplexity));
    json_object_set_new(o, "tokens", json_integer((json_int_t)e->n_tokens));
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
        printf("%-36s %15s %10s %8s %8s\n", "layer", "N x K     ", "rel. error", "SQNR dB",
               r->select == SQ_SELECT_STATIC && in->format == SQ_A_STATIC ? "recall" : "");
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

// --weights says the format itself.
static enum sq_status recipe_of_file(struct arguments *in, struct sq_recipe *r,
                                     struct sq_error *err)
{
    struct sq_trace trace;
    if (in->format != SQ_W || in->high_bits || in->low_bits || in->bank || in->sparsity > 0 ||
        in->group != 128 || in->variant != NOT_GIVEN || in->is_smooth || in->score != NOT_GIVEN ||
        in->is_lazy || in->percdamp >= 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--weights FILE says the format; only --act-bits is free");
    SQ_TRY(sq_trace_open(&trace, in->weights, err));
    const struct sq_format f = trace.format;
    sq_trace_close(&trace);
    in->algorithm = 0;
    SQ_TRY(fill_recipe(in, r, err));
    r->weight = (struct sq_grid){SQ_GRID_OWN, f.high_bits, f.low_bits};
    r->bank = f.bank;
    r->high_per_bank = f.high_per_bank;
    r->group = f.group;
    return sq_recipe_check(r, err);
}

int sq_cmd_eval(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "[MODEL]", .doc = doc};
    struct sq_error err;
    struct arguments in = {.format = SQ_W,
                           .algorithm = 1,
                           .group = 128,
                           .percdamp = -1,
                           .variant = NOT_GIVEN,
                           .score = NOT_GIVEN,
                           .select = NOT_GIVEN,
                           .mask_score = NOT_GIVEN,
                           .alpha = 0.5,
                           .err = &err};
    struct sq_checkpoint ck;
    struct sq_recipe r;
    struct sq_tokens tokens = {0}, calib = {0};
    enum sq_status status = sq_cli_parse(&argp, argc, argv, &in, &err);
    if (status == SQ_OK)
        status = in.weights ? recipe_of_file(&in, &r, &err) : fill_recipe(&in, &r, &err);
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
