// SPDX-License-Identifier: Apache-2.0
// sqsim quantize: every linear layer of a checkpoint in the SQ-format.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sq_checkpoint.h"
#include "sq_cli.h"
#include "sq_quantize.h"
#include "sq_trace.h"

enum { KEY_JOBS = 0x2000, KEY_JSON };

struct arguments {
    struct sq_cli_format format;
    const char *model;  // NULL: the embedded one
    const char *output; // NULL: report only
    unsigned jobs;
    bool is_json;
    struct sq_error *err;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "write the encoded layers (safetensors); without it, report only",
     0},
    {"jobs", KEY_JOBS, "N", 0, "threads (all processors); the result does not depend on it", 2},
    {"json", KEY_JSON, NULL, 0, "one JSON object per layer, the summary last", 2},
    {0}};

static const char doc[] =
    "Encodes every linear layer of MODEL in the SQ-format, round to nearest, and prints stored "
    "bits "
    "per weight and SQNR. MODEL is a Hugging Face directory (config.json, model.safetensors or "
    "shards) or one .safetensors file, whose 2-D float tensors are taken; default: the embedded "
    "traces/tiny-llama.\v"
    "Examples:\n"
    "  sqsim quantize\n"
    "  sqsim quantize ~/models/Llama-3.2-1B -o llama.sq.safetensors\n"
    "  sqsim quantize layer.safetensors --bank 16 --sparsity 0.875 --json\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *in = state->input;
    uint64_t v;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &in->format;
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

static void print_layer(const struct arguments *in, const struct sq_layer *l,
                        const struct sq_matrix *m, double db)
{
    double bits = sq_stored_bits_per_weight(m);
    if (!in->is_json) {
        printf("%-36s %6zu x %-6zu %8zu %8.4f %9.3f\n", l->name, l->n, l->k, m->k, bits, db);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "layer", json_string(l->name));
    json_object_set_new(o, "n", json_integer((json_int_t)l->n));
    json_object_set_new(o, "k", json_integer((json_int_t)l->k));
    json_object_set_new(o, "k_padded", json_integer((json_int_t)m->k));
    json_object_set_new(o, "stored_bits_per_weight", json_real(bits));
    json_object_set_new(o, "sqnr_db", json_db(db));
    sq_cli_json_line(o);
}

static void print_summary(const struct arguments *in, const struct sq_checkpoint *ck,
                          const struct total *t, const char *source)
{
    double bits = t->bits / t->weights, db = sq_sqnr_db(&t->sqnr);
    if (!in->is_json) {
        printf("%zu layers, %.0f weights, %.4f stored bits per weight (%.4f without scales), SQNR "
               "%.3f dB\n",
               ck->n_layers, t->weights, bits, sq_format_equivalent_bits(&in->format.format), db);
        if (in->output)
            printf("written: %s\n", in->output);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "summary", json_true());
    json_object_set_new(o, "layers", json_integer((json_int_t)ck->n_layers));
    json_object_set_new(o, "weights", json_integer((json_int_t)t->weights));
    sq_cli_format_json(&in->format.format, o);
    json_object_set_new(o, "equivalent_bits",
                        json_real(sq_format_equivalent_bits(&in->format.format)));
    json_object_set_new(o, "stored_bits_per_weight", json_real(bits));
    json_object_set_new(o, "sqnr_db", json_db(db));
    json_object_set_new(o, "output", in->output ? json_string(in->output) : json_null());
    json_object_set_new(o, "provenance", sq_cli_provenance(source, "golden model", 0));
    sq_cli_json_line(o);
}

// ---- work -----------------------------------------------------------------------------------

// Layer i: read, encode, measure, store. Memory is one layer.
static enum sq_status do_layer(const struct arguments *in, const struct sq_checkpoint *ck, size_t i,
                               struct sq_trace_writer *writer, struct total *total,
                               struct sq_error *err)
{
    const struct sq_layer *l = &ck->layer[i];
    struct sq_operand o = {0};
    struct sq_sqnr sqnr = {0};
    float *w = calloc(l->n, l->k * sizeof *w), *row = calloc(l->k, sizeof *row);
    enum sq_status status =
        w && row ? SQ_OK : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for layer %.60s", l->name);
    if (status == SQ_OK)
        status = sq_checkpoint_read_layer(ck, i, w, err);
    if (status == SQ_OK)
        status = sq_operand_alloc(&o, &in->format.format, l->n, l->k, err);
    if (status == SQ_OK)
        status = sq_operand_encode(&o, w, in->jobs, err);
    if (status == SQ_OK && in->output)
        status = sq_trace_put(writer, i, &o, err);
    if (status == SQ_OK) {
        sq_sqnr_add(&sqnr, w, &o.m, row);
        print_layer(in, l, &o.m, sq_sqnr_db(&sqnr));
        total->sqnr.signal += sqnr.signal;
        total->sqnr.noise += sqnr.noise;
        total->weights += (double)l->n * (double)l->k;
        total->bits += sq_stored_bits_per_weight(&o.m) * (double)l->n * (double)l->k;
    }
    sq_operand_free(&o);
    free(w);
    free(row);
    return status;
}

// Declares every layer; the digests read the weights once.
static enum sq_status begin_output(const struct arguments *in, const struct sq_checkpoint *ck,
                                   const char *source, struct sq_trace_writer *writer,
                                   struct sq_error *err)
{
    struct sq_trace_item *item = calloc(ck->n_layers, sizeof *item);
    if (!item)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu layers", ck->n_layers);
    for (size_t i = 0; i < ck->n_layers; i++) {
        const struct sq_layer *l = &ck->layer[i];
        item[i] = (struct sq_trace_item){
            l->name, l->n, l->k, sq_digest(SQ_DIGEST_SEED, l->weight->data, l->weight->nbytes)};
        sq_checkpoint_forget(ck, l->weight);
    }
    struct sq_trace_info info = {
        .format = in->format.format, .producer = "golden", .source = source};
    enum sq_status status = sq_trace_begin(writer, in->output, &info, item, ck->n_layers, err);
    free(item);
    return status;
}

static enum sq_status quantize(const struct arguments *in, const struct sq_checkpoint *ck,
                               struct sq_error *err)
{
    const char *declared = sq_safetensors_metadata(&ck->shard[0], "source");
    const char *source = declared && strcmp(declared, "synthetic") == 0 ? "synthetic" : "real";
    struct sq_trace_writer writer = {0};
    struct total total = {0};
    if (in->output)
        SQ_TRY(begin_output(in, ck, source, &writer, err));
    if (!in->is_json) {
        char format[64];
        sq_cli_format_text(&in->format.format, format);
        printf("%s\n%-36s %15s %8s %8s %9s\n", format, "layer", "N x K     ", "k_padded", "bits",
               "SQNR dB");
    }
    enum sq_status status = SQ_OK;
    for (size_t i = 0; status == SQ_OK && i < ck->n_layers; i++) {
        status = do_layer(in, ck, i, &writer, &total, err);
        sq_cli_progress("layers", i + 1, ck->n_layers);
    }
    if (status == SQ_OK && (ferror(stdout) || fflush(stdout) != 0))
        status = SQ_FAIL(err, SQ_ERR_IO, "cannot write standard output: %s", strerror(errno));
    if (in->output && status == SQ_OK)
        status = sq_trace_commit(&writer, err);
    else if (in->output)
        sq_trace_abort(&writer);
    if (status == SQ_OK)
        print_summary(in, ck, &total, source);
    return status;
}

int sq_cmd_quantize(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sq_cli_format_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = options,
                                     .parser = parse,
                                     .args_doc = "[MODEL]",
                                     .doc = doc,
                                     .children = children};
    struct sq_error err;
    long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct arguments in = {.format = sq_cli_format_default(&err),
                           .jobs = n_cpus > 0 ? (unsigned)n_cpus : 1,
                           .err = &err};
    struct sq_checkpoint ck;
    enum sq_status status = sq_cli_parse(&argp, argc, argv, &in, &err);
    if (status != SQ_OK)
        return sq_cli_fail("quantize", &err);
    char *embedded = sq_cli_home_path("traces/tiny-llama");
    status = sq_checkpoint_open(&ck, in.model ? in.model : embedded, &err);
    free(embedded);
    if (status == SQ_OK) {
        status = quantize(&in, &ck, &err);
        sq_checkpoint_close(&ck);
    }
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("quantize", &err);
}
