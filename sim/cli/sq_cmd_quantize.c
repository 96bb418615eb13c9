// SPDX-License-Identifier: Apache-2.0
// sqsim quantize: every linear layer of a checkpoint in the SQ-format.
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/sq_cmd_quantize.h"
#include "sim/format/sq_grid_format.h"
#include "sim/format/sq_quantize.h"
#include "sim/format/sq_trace.h"
#include "sim/llm/sq_eval.h"

enum { KEY_JOBS = 0x2000, KEY_JSON, KEY_CALIB };

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "write the encoded layers (safetensors); without it, report only",
     0},
    {"calib", KEY_CALIB, "FILE", 0,
     "where calibrated: calibration tokens (MODEL/tokens_calib.safetensors)", 1},
    {"jobs", KEY_JOBS, "N", 0, "threads (all processors); the result does not depend on it", 2},
    {"json", KEY_JSON, NULL, 0, "one JSON object per layer, the summary last", 2},
    {0}};

static const char doc[] =
    "Encodes every linear layer of MODEL in the SQ-format, in 2:4 INT8, GQSA, SpQt or SpQR, and "
    "prints "
    "stored "
    "bits per weight and SQNR. MODEL is a Hugging Face directory (config.json, model.safetensors "
    "or "
    "shards) or one .safetensors file, whose 2-D float tensors are taken; default: the embedded "
    "traces/tiny-llama.\v"
    "Examples:\n"
    "  sqsim quantize\n"
    "  sqsim quantize ~/models/Llama-3.2-1B -o llama.sq.safetensors\n"
    "  sqsim quantize --algorithm gptq -o w.safetensors && sqsim eval --weights w.safetensors\n"
    "  sqsim quantize --format gqsa --algorithm lite --sparsity 0.4 -o g.safetensors\n"
    "  sqsim quantize layer.safetensors --bank 16 --sparsity 0.875 --json\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sq_quantize_arguments *in = state->input;
    uint64_t v;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &in->options;
        return 0;
    case 'o':
        in->output = arg;
        return 0;
    case KEY_JOBS:
        if (sq_cli_uint("--jobs", arg, 1, 1024, &v, in->err) != SQ_OK)
            return EINVAL;
        in->jobs = (unsigned)v;
        return 0;
    case KEY_JSON:
        in->is_json = true;
        return 0;
    case KEY_CALIB:
        in->calib = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (in->model)
            return ARGP_ERR_UNKNOWN;
        in->model = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- what is printed ------------------------------------------------------------------------

struct total {
    struct sq_sqnr sqnr;
    double weights, bits;
};

// JSON has no infinity: "inf" for an exact encoding, null where SQNR is undefined.
static json_t *json_db(double db)
{
    return isnan(db) ? json_null() : isinf(db) ? json_string("inf") : json_real(db);
}

static void print_layer(const struct sq_quantize_arguments *in, const struct sq_layer *l,
                        const struct sq_matrix *m, double db)
{
    double bits = sq_stored_bits_per_weight(m);
    if (!in->is_json) {
        printf("%-36s %6zu x %-6zu %8zu %8.4f %9.3f\n", l->name, l->n, l->k, m->k, bits, db);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "layer", sq_cli_json_text(l->name));
    json_object_set_new(o, "n", json_integer((json_int_t)l->n));
    json_object_set_new(o, "k", json_integer((json_int_t)l->k));
    json_object_set_new(o, "k_padded", json_integer((json_int_t)m->k));
    json_object_set_new(o, "stored_bits_per_weight", json_real(bits));
    json_object_set_new(o, "sqnr_db", json_db(db));
    sq_cli_json_line(o);
}

static void print_summary(const struct sq_quantize_arguments *in, const struct sq_checkpoint *ck,
                          const struct total *t, const char *source)
{
    double bits = t->bits / t->weights, db = sq_sqnr_db(&t->sqnr);
    if (!in->is_json) {
        printf("%zu layers, %.0f weights, %.4f stored bits per weight (%.4f without scales), SQNR "
               "%.3f dB\n",
               ck->n_layers, t->weights, bits, in->r.format->equivalent_bits(&in->r), db);
        if (in->output)
            printf("written: %s\n", in->output);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "summary", json_true());
    json_object_set_new(o, "layers", json_integer((json_int_t)ck->n_layers));
    json_object_set_new(o, "weights", json_integer((json_int_t)t->weights));
    sq_cli_recipe_json(&in->r, SQ_IN_QUANTIZE, o);
    json_object_set_new(o, "equivalent_bits", json_real(in->r.format->equivalent_bits(&in->r)));
    json_object_set_new(o, "stored_bits_per_weight", json_real(bits));
    json_object_set_new(o, "sqnr_db", json_db(db));
    json_object_set_new(o, "output", in->output ? sq_cli_json_text(in->output) : json_null());
    json_object_set_new(o, "provenance", sq_cli_provenance(source, "golden model", 0));
    sq_cli_json_line(o);
}

// ---- work -----------------------------------------------------------------------------------

struct work {
    const struct sq_quantize_arguments *in;
    const struct sq_checkpoint *ck;
    struct sq_trace_writer writer; // only with --output
    struct total total;
};

// Layer i, w[n][k], is encoded as *o: store, measure, print.
static enum sq_status finish_layer(struct work *work, size_t i, const float *w,
                                   const struct sq_operand *o, struct sq_error *err)
{
    const struct sq_layer *l = &work->ck->layer[i];
    struct sq_sqnr sqnr = {0};
    float *row = calloc(l->k, sizeof *row);
    if (!row)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for layer %.60s", l->name);
    enum sq_status status = SQ_OK;
    if (work->in->output)
        status = sq_trace_put(&work->writer, i, o, err);
    if (status == SQ_OK) {
        sq_sqnr_add(&sqnr, w, &o->m, row);
        print_layer(work->in, l, &o->m, sq_sqnr_db(&sqnr));
        work->total.sqnr.signal += sqnr.signal;
        work->total.sqnr.noise += sqnr.noise;
        work->total.weights += (double)l->n * (double)l->k;
        work->total.bits += sq_stored_bits_per_weight(&o->m) * (double)l->n * (double)l->k;
    }
    free(row);
    sq_cli_progress("layers", i + 1, work->ck->n_layers);
    return status;
}

// Layer i into memory the caller frees.
static enum sq_status read_layer(const struct work *work, size_t i, float **w, struct sq_error *err)
{
    const struct sq_layer *l = &work->ck->layer[i];
    *w = calloc(l->n, l->k * sizeof **w);
    if (!*w)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for layer %.60s", l->name);
    return sq_checkpoint_read_layer(work->ck, i, *w, err);
}

// Layer i by round to nearest. Memory is one layer.
static enum sq_status do_layer(struct work *work, size_t i, struct sq_error *err)
{
    const struct sq_layer *l = &work->ck->layer[i];
    struct sq_operand o = {0};
    float *w;
    enum sq_status status = read_layer(work, i, &w, err);
    if (status == SQ_OK)
        status = sq_operand_alloc(&o, &work->in->banks, l->n, l->k, err);
    if (status == SQ_OK)
        status = sq_operand_encode(&o, w, work->in->jobs, err);
    if (status == SQ_OK)
        status = finish_layer(work, i, w, &o, err);
    sq_operand_free(&o);
    free(w);
    return status;
}

// A decoder block by Algorithm 1, calibrated on *calib. Memory is one block.
static enum sq_status do_block(struct work *work, struct sq_llama *calib, size_t block,
                               const struct sq_recipe *r, struct sq_error *err)
{
    struct sq_calibration calibration[SQ_BLOCK_INPUTS] = {0};
    struct sq_quant_layer layer[SQ_BLOCK_LAYERS] = {0};
    enum sq_status status = sq_eval_calibrate(calib, block, true, calibration, err);
    if (status == SQ_OK)
        status = sq_eval_quantize(work->ck, block, r, calibration, layer, err);
    for (size_t i = 0; i < SQ_BLOCK_INPUTS; i++)
        sq_calibration_free(&calibration[i]);
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++) {
        float *w = NULL;
        if (status == SQ_OK)
            status = read_layer(work, block * SQ_BLOCK_LAYERS + i, &w, err);
        if (status == SQ_OK)
            status = finish_layer(work, block * SQ_BLOCK_LAYERS + i, w,
                                  &sq_grid_layer_of(&layer[i])->packed, err);
        sq_quant_layer_free(&layer[i]);
        free(w);
    }
    return status;
}

static enum sq_status do_model(struct work *work, const char *model, struct sq_error *err)
{
    const struct sq_model_config *c = &work->ck->config;
    struct sq_tokens tokens;
    struct sq_llama calib;
    char beside[4096];
    if (!work->ck->is_model)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "--algorithm gptq needs a model directory with config.json");
    snprintf(beside, sizeof beside, "%s/tokens_calib.safetensors", model);
    SQ_TRY(sq_tokens_read(&tokens, work->in->calib ? work->in->calib : beside, c->vocab_size,
                          c->max_position, err));
    omp_set_num_threads((int)work->in->jobs);
    enum sq_status status = sq_llama_init(&calib, work->ck, &tokens, err);
    for (size_t b = 0; status == SQ_OK && b < c->n_layers; b++)
        status = do_block(work, &calib, b, &work->in->r, err);
    sq_llama_free(&calib);
    sq_tokens_free(&tokens);
    return status;
}

// Declares every layer; the digests read the weights once.
static enum sq_status begin_output(const struct sq_quantize_arguments *in,
                                   const struct sq_checkpoint *ck, const char *source,
                                   struct sq_trace_writer *writer, struct sq_error *err)
{
    struct sq_trace_item *item = calloc(ck->n_layers, sizeof *item);
    if (!item)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu layers", ck->n_layers);
    for (size_t i = 0; i < ck->n_layers; i++) {
        const struct sq_layer *l = &ck->layer[i];
        item[i] = (struct sq_trace_item){l->name, l->n, l->k,
                                         sq_digest_of(l->weight->data, l->weight->nbytes)};
        sq_checkpoint_forget(ck, l->weight);
    }
    struct sq_trace_info info = {.format = in->banks, .producer = "golden", .source = source};
    enum sq_status status = sq_trace_begin(writer, in->output, &info, item, ck->n_layers, err);
    free(item);
    return status;
}

const char *sq_quantize_source(const struct sq_checkpoint *ck)
{
    const char *declared = sq_safetensors_metadata(&ck->shard[0], "source");
    return declared && strcmp(declared, "synthetic") == 0 ? "synthetic" : "real";
}

static enum sq_status quantize(const struct sq_quantize_arguments *in,
                               const struct sq_checkpoint *ck, const char *model,
                               struct sq_error *err)
{
    const char *source = sq_quantize_source(ck);
    struct work work = {.in = in, .ck = ck};
    if (in->output)
        SQ_TRY(begin_output(in, ck, source, &work.writer, err));
    if (!in->is_json) {
        char format[96];
        in->r.format->text(&in->r, format);
        printf("%s\n%-36s %15s %8s %8s %9s\n", format, "layer", "N x K     ", "k_padded", "bits",
               "SQNR dB");
    }
    enum sq_status status = SQ_OK;
    if (in->r.is_gptq)
        status = do_model(&work, model, err);
    else
        for (size_t i = 0; status == SQ_OK && i < ck->n_layers; i++)
            status = do_layer(&work, i, err);
    if (status == SQ_OK && (ferror(stdout) || fflush(stdout) != 0))
        status = SQ_FAIL(err, SQ_ERR_IO, "cannot write standard output: %s", strerror(errno));
    if (in->output && status == SQ_OK)
        status = sq_trace_commit(&work.writer, err);
    else if (in->output)
        sq_trace_abort(&work.writer);
    if (status == SQ_OK)
        print_summary(in, ck, &work.total, source);
    return status;
}

int sq_cmd_quantize(int argc, char **argv)
{
    const struct argp_child children[] = {{sq_cli_options_argp(SQ_IN_QUANTIZE), 0, NULL, 0}, {0}};
    const struct argp argp = {.options = options,
                              .parser = parse,
                              .args_doc = "[MODEL]",
                              .doc = doc,
                              .children = children};
    struct sq_error err;
    long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct sq_quantize_arguments in = {.options = sq_cli_options_default(SQ_IN_QUANTIZE, &err),
                                       .jobs = n_cpus > 0 ? (unsigned)n_cpus : 1,
                                       .err = &err};
    struct sq_checkpoint ck;
    enum sq_status status = sq_cli_parse(&argp, argc, argv, &in, &err);
    if (status == SQ_OK)
        status = sq_cli_recipe(&in.options, &in.r, &err);
    if (status == SQ_OK && in.calib && !sq_recipe_needs_calibration(&in.r))
        status = SQ_FAIL(&err, SQ_ERR_ARG,
                         "--calib: nothing here needs calibration tokens; of sq_w they need "
                         "--algorithm gptq");
    if (status != SQ_OK)
        return sq_cli_fail("quantize", &err);
    in.banks = sq_recipe_banks(&in.r);
    char *embedded = sq_cli_home_path("traces/tiny-llama");
    const char *model = in.model ? in.model : embedded;
    status = sq_checkpoint_open(&ck, model, &err);
    if (status == SQ_OK) {
        status = in.r.format->parts ? sq_quantize_parts(&in, &ck, model, &err)
                                    : quantize(&in, &ck, model, &err);
        sq_checkpoint_close(&ck);
    }
    free(embedded);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("quantize", &err);
}
