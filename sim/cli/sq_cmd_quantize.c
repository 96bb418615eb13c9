// SPDX-License-Identifier: Apache-2.0
// sqsim quantize: every linear layer of a checkpoint in a format, or the format itself as a suite
// (sq_cmd_quantize_vectors.c). Layers of sq_w go to the file one by one; those of other formats stay
// in memory, encoded, until it is written, since their sizes are known only then.
#include "sim/cli/sq_cmd_quantize.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cli/sq_cli_calib.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/cli/sq_cli_text.h"
#include "sim/format/file/sq_operand_file.h"
#include "sim/format/file/sq_weight_file.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_quantize.h"
#include "sim/llm/foreign/sq_foreign_write.h"
#include "sim/llm/sq_layer_scan.h"
#include "sim/llm/train/sq_train.h"

enum { VECTORS = 2 };

struct arguments {
    struct sq_cli_options options;
    struct sq_recipe r;        // of the options, or of `file`
    struct sq_layer_file file; // MODEL, where another program quantized it and no format was said
    const char *model;         // NULL: the embedded one
    const char *output;        // NULL: report only
    const char *answers;       // of a unit; NULL: none
    struct sq_token_source calib; // a token file or a text, or the file beside the model
    uint64_t n_calib_sequences;   // 0: all
    unsigned jobs;
    unsigned as;    // enum sq_foreign_as
    unsigned train; // stages, bits: BQPO, E2E
    uint64_t train_steps, train_batch, seed;
    double train_rate;
    bool is_vectors, is_json, is_progress;
};

enum { BQPO = 1, E2E = 2 };
static const char *const train_choice[] = {"none", "bqpo", "e2e", "both", NULL};

#define AT(field) SQ_CLI_AT(struct arguments, field)
static const struct sq_cli_row rows[] = {
    SQ_CLI_TEXT("output", "FILE", AT(output),
                "write the encoded layers (safetensors); without it, report only; with --vectors "
                "the directory of FORMAT.jsonl and FORMAT.safetensors",
                .letter = 'o', .is_output = true, .modes = SQ_CLI_ALL),
    SQ_CLI_FLAG("vectors", AT(is_vectors),
                "a block-scaled format as conformance vectors, in place of a model",
                .mode = VECTORS),
    SQ_CLI_TEXT("check", "ANSWERS", AT(answers),
                "judge what a unit answered: JSON lines, or a file NAME.safetensors",
                .modes = VECTORS),
    SQ_CLI_TEXT("calib", "FILE", AT(calib.tokens), "where calibrated: calibration tokens",
                .usual = "MODEL/tokens_calib.safetensors", .found = ""),
    SQ_CLI_TEXT("calib-text", "FILE", AT(calib.text),
                "a text in their place, by the model's own tokenizer", .found = ""),
    SQ_CLI_UINT("calib-sequences", "N", 1, INT32_MAX, AT(n_calib_sequences),
                "the first N sequences of the calibration tokens only"),
    SQ_CLI_WORD("train", "STAGES", train_choice, AT(train),
                "after the algorithm train gqsa or sp24 on the calibration: bqpo (weights, scales, "
                "zeros, by block), e2e (scales and zeros, end to end), or both"),
    SQ_CLI_UINT("train-steps", "N", 1, 1000000, AT(train_steps), "steps, of bqpo in each block",
                .usual = "200"),
    SQ_CLI_UINT("train-batch", "N", 1, 64, AT(train_batch), "sequences of a step", .usual = "8"),
    SQ_CLI_REAL("train-rate", "R", 0, 1, AT(train_rate),
                "first step of AdamW as a share of a tensor's mean magnitude", .usual = "0.01"),
    SQ_CLI_UINT("seed", "N", 1, UINT64_MAX, AT(seed), "which sequences a step takes", .usual = "1"),
    SQ_CLI_WORD(
        "as", "PROGRAM", sq_foreign_as_choice, AT(as),
        "write what this program loads: config.json and model.safetensors in the folder --output; "
        "gguf: a file"),
    SQ_CLI_FORMATS(SQ_IN_QUANTIZE, AT(options), .modes = SQ_CLI_ALL),
    SQ_CLI_PART(sq_cli_text_rows, AT(calib)),
    SQ_CLI_UINT("jobs", "N", 1, 1024, AT(jobs), "threads; the result does not depend on it",
                .usual = "all processors", .group = SQ_CLI_COMMON),
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per layer, the summary last",
                .group = SQ_CLI_COMMON, .modes = SQ_CLI_ALL),
    SQ_CLI_FLAG("progress", AT(is_progress), "say what is being done on stderr, terminal or not",
                .group = SQ_CLI_COMMON),
    SQ_CLI_ARGUMENT("MODEL", AT(model), .found = SQ_HOME_MODEL),
    SQ_CLI_END};

static const char doc[] =
    "Encodes every linear layer of MODEL in a format and prints stored bits per weight and SQNR. "
    "MODEL is a Hugging Face directory (config.json, model.safetensors or shards), a GGUF file, "
    "or one .safetensors file, whose 2-D float tensors are taken; default: the embedded "
    "traces/tiny-llama. The codes of a MODEL that another program quantized are taken as they "
    "are, unless --format says what their values become. With --vectors: the golden model of a "
    "block-scaled format (SPEC Q) as cases for those who build a unit for it: every element code, "
    "ties and the numbers beside them, masks, scales with their edge cases, codes of blocks, "
    "exact sums, scaled sums, accumulation; options that do not touch a block have no effect. "
    "With --check the rules go in this order, and the first broken one is named with its first "
    "case; exit 1 where one is broken or not answered.\v"
    "Examples:\n"
    "  sqsim quantize\n"
    "  sqsim quantize ~/models/Llama-3.2-1B -o llama.sq.safetensors\n"
    "  sqsim quantize -o w.safetensors && sqsim eval --weights w.safetensors\n"
    "  sqsim quantize --format gqsa --algorithm lite --sparsity 0.4 -o g.safetensors\n"
    "  sqsim quantize --format gqsa --algorithm lite --train both -o t.safetensors\n"
    "  sqsim quantize --as gguf --format mxfp4 --operand weights --like ggml -o m.gguf\n"
    "  sqsim quantize layer.safetensors --bank 16 --sparsity 0.875 --json\n"
    "  sqsim quantize --vectors --format sq_b --codes split --step pow2 -o /tmp\n"
    "  sqsim quantize --vectors --format nvfp4 --check answers.jsonl\n";

// ---- what is printed ------------------------------------------------------------------------

struct work {
    const struct arguments *in;
    const struct sq_checkpoint *ck;
    struct sq_recipe r;
    struct sq_quant_layer *layer;         // [n_layers]
    struct sq_layer_choice choice;        // of the scan
    bool is_streamed;                     // sq_recipe_is_packed
    struct sq_operand_file_writer writer; // is_streamed and --output
    struct sq_sqnr sqnr;
    double weights, nbits;
    struct sq_train_result trained;
    double train_seconds;
    struct sq_cli_table table;
};

static bool is_dense(const struct work *work, size_t i)
{
    return work->choice.is_dense && work->choice.is_dense[i];
}

static void print_layer(struct work *work, size_t i, double bits, double db)
{
    const struct sq_layer *l = &work->ck->layer[i];
    const struct sq_quant_layer *q = &work->layer[i];
    struct sq_figure figure[SQ_FIGURES_MAX];
    const size_t n_figures =
        q->format->values->figures ? q->format->values->figures(q->state, figure) : 0;
    json_t *figures = json_object();
    char shape[48];
    for (size_t f = 0; f < n_figures; f++)
        json_object_set_new(figures, figure[f].key, sq_cli_json_number(figure[f].value));
    snprintf(shape, sizeof shape, "%6zu x %-6zu", l->n, l->k);
    sq_cli_progress_end();
    const struct sq_cli_column row[] = {
        SQ_COLUMN("layer", l->name, "layer", -36),
        SQ_KEYS("n", l->n, "k", l->k),
        SQ_COLUMN(NULL, shape, "N x K     ", 15),
        SQ_COLUMN("k_padded", q->k, "k_padded", 8),
        SQ_COLUMN("stored_bits_per_weight", bits, "bits", 8, .as = "%.4f"),
        SQ_COLUMN("sqnr_db", db, "SQNR", 9, .unit = "dB", .as = "%.3f"),
        SQ_COLUMN(NULL, is_dense(work, i) ? "dense" : "", "", 0),
        SQ_KEY_IF(!work->is_streamed, "dense", is_dense(work, i)),
        SQ_MEMBERS(figures),
        SQ_COLUMNS_END};
    sq_cli_put(&work->table, row);
}

// Whether the checkpoint says that its weights are "synthetic", else "real".
static const char *source_of(const struct sq_checkpoint *ck)
{
    const char *declared =
        ck->n_shards > 0 ? sq_safetensors_metadata(&ck->shard[0], "source") : NULL;
    return declared && strcmp(declared, "synthetic") == 0 ? "synthetic" : "real";
}

// The largest memory that the process has had.
static double peak_nbytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024 * (double)usage.ru_maxrss : NAN;
}

static void print_training(const struct work *work)
{
    const struct sq_train_result *t = &work->trained;
    const struct arguments *in = work->in;
    if (in->train & BQPO)
        printf("BQPO: error of a block's outputs %.4f, before %.4f\n", t->error_after,
               t->error_before);
    if (in->train & E2E)
        printf("E2E-OQP: KL on the calibration %.4f nats a token, before %.4f\n", t->kl_after,
               t->kl_before);
    printf("trained with seed %" PRIu64 ", %" PRIu64 " steps%s of %" PRIu64
           " sequences in %.1f s; memory %.0f MB at most\n",
           in->seed, in->train_steps, in->train & BQPO ? " a block" : "", in->train_batch,
           work->train_seconds, peak_nbytes() / 1e6);
}

static json_t *training_json(const struct work *work)
{
    const struct sq_train_result *t = &work->trained;
    const struct arguments *in = work->in;
    return in->train
               ? json_pack("{s:s, s:I, s:I, s:f, s:I, s:o, s:o, s:o, s:o, s:f, s:f}", "train",
                           train_choice[in->train], "train_steps", (json_int_t)in->train_steps,
                           "train_batch", (json_int_t)in->train_batch, "train_rate", in->train_rate,
                           "seed", (json_int_t)in->seed, "block_error_before",
                           sq_cli_json_number(t->error_before), "block_error",
                           sq_cli_json_number(t->error_after), "calib_kl_before",
                           sq_cli_json_number(t->kl_before), "calib_kl",
                           sq_cli_json_number(t->kl_after), "train_seconds", work->train_seconds,
                           "peak_memory_bytes", peak_nbytes())
               : json_object();
}

static void print_summary(const struct work *work)
{
    const struct sq_recipe *r = &work->r;
    const double bits = work->nbits / work->weights, db = sq_sqnr_db(&work->sqnr);
    const char *output = work->in->output, *padding = r->format->padding;
    if (!work->in->is_json) {
        char equivalent[48] = "", text[32];
        if (work->is_streamed)
            snprintf(equivalent, sizeof equivalent, " (%.4f without scales)",
                     r->format->cost->equivalent_bits(r));
        printf("activations of %.5g bits, %.4f stored bits per weight%s, SQNR %s dB, %zu layers, "
               "%.0f weights%s%s\n",
               sq_cost_act_nbits(r), bits, equivalent, sq_cli_number_text(db, 3, text),
               work->ck->n_layers, work->weights, padding ? ", " : "", padding ? padding : "");
        if (work->in->train)
            print_training(work);
        if (output)
            printf("written: %s\n", output);
        return;
    }
    const struct sq_cli_column row[] = {
        SQ_KEYS("activation_bits", sq_cost_act_nbits(r), "layers", work->ck->n_layers),
        SQ_KEYS("weights", (uint64_t)work->weights),
        SQ_MEMBERS(sq_recipe_json(r, SQ_IN_QUANTIZE)),
        SQ_KEY_IF(work->is_streamed, "equivalent_bits",
                  work->is_streamed ? r->format->cost->equivalent_bits(r) : NAN),
        SQ_KEYS("stored_bits_per_weight", bits, "sqnr_db", db, "output", output),
        SQ_MEMBERS(training_json(work)),
        SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance(source_of(work->ck), "golden model", 0));
}

// ---- work -----------------------------------------------------------------------------------

// Layer i, w[n][k], is encoded: measure, print. w is not changed.
static enum sq_status finish_layer(struct work *work, size_t i, const float *w,
                                   struct sq_error *err)
{
    struct sq_quant_layer *q = &work->layer[i];
    const size_t n = q->n, k = q->k_orig;
    struct sq_sqnr sqnr = {0};
    if (work->is_streamed && work->in->output)
        SQ_TRY(
            sq_operand_file_put(&work->writer, i, q->format->file->packed->operand(q->state), err));
    SQ_TRY(sq_quant_layer_sqnr(q, w, &sqnr, err));
    const double nbits = sq_quant_layer_nbits(q), weights = (double)n * (double)k;
    print_layer(work, i, nbits / weights, sq_sqnr_db(&sqnr));
    work->sqnr.signal += sqnr.signal;
    work->sqnr.noise += sqnr.noise;
    work->nbits += nbits;
    work->weights += weights;
    if (work->is_streamed)
        sq_quant_layer_free(q);
    sq_cli_progress("quantize: layers", i + 1, work->ck->n_layers);
    return SQ_OK;
}

static enum sq_status read_layer(const struct work *work, size_t i, float **w, struct sq_error *err)
{
    const struct sq_layer *l = &work->ck->layer[i];
    *w = calloc(l->n, l->k * sizeof **w);
    SQ_NEED(*w, err, "layer %.60s", l->name);
    return sq_checkpoint_read_layer(work->ck, i, *w, err);
}

// Layer i without calibration.
static enum sq_status do_layer(struct work *work, size_t i, struct sq_error *err)
{
    const struct sq_layer *l = &work->ck->layer[i];
    const struct sq_quant_input none = {0};
    struct sq_error why;
    SQ_FREED float *w = NULL;
    enum sq_status status = read_layer(work, i, &w, err);
    if (status == SQ_OK) {
        status = sq_quant_layer_init(&work->layer[i], &work->r, w, l->n, l->k, &none, &why);
        if (status != SQ_OK)
            (void)SQ_FAIL(err, status, "layer %.60s: %.160s", l->name, why.text);
    }
    SQ_THEN(status, finish_layer(work, i, w, err));
    return status;
}

// Layers [first, end), encoded, are measured and printed.
static enum sq_status finish_layers(struct work *work, size_t first, size_t end,
                                    struct sq_error *err)
{
    for (size_t i = first; i < end; i++) {
        SQ_FREED float *w = NULL;
        SQ_TRY(read_layer(work, i, &w, err));
        SQ_TRY(finish_layer(work, i, w, err));
    }
    return SQ_OK;
}

// Layer i as MODEL has it.
static enum sq_status take_layer(struct work *work, size_t i, struct sq_error *err)
{
    SQ_TRY(sq_layer_file_load(&work->in->file, i, &work->layer[i], err));
    return finish_layers(work, i, i + 1, err);
}

static void say_step(void *context, const char *stage, size_t done, size_t all)
{
    (void)context;
    sq_cli_progress(stage, done, all);
}

static enum sq_status train(struct work *work, const struct sq_tokens *tokens, struct sq_error *err)
{
    const struct arguments *in = work->in;
    const struct sq_train how = {.has_bqpo = in->train & BQPO,
                                 .has_e2e = in->train & E2E,
                                 .steps = (size_t)in->train_steps,
                                 .batch = (size_t)in->train_batch,
                                 .rate = in->train_rate,
                                 .seed = in->seed,
                                 .watch = say_step};
    const double start = omp_get_wtime();
    const enum sq_status status =
        sq_train_layers(work->ck, tokens, &work->r, work->layer, &how, &work->trained, err);
    work->train_seconds = omp_get_wtime() - start;
    return status;
}

static enum sq_status do_model(struct work *work, const char *model, struct sq_error *err)
{
    const struct sq_model_config *c = &work->ck->config;
    SQ_CLOSED(sq_tokens_free) struct sq_tokens tokens = {0};
    struct sq_llama calib = {0};
    const char *other = work->r.format->uncalibrated;
    struct sq_token_source source = work->in->calib;
    if (!work->ck->is_model)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "calibration needs a model directory with config.json, or GGUF%s%s%s",
                       other ? "; " : "", other ? other : "", other ? " needs none" : "");
    SQ_TRY(
        sq_token_source_read(&source, work->ck, model, "tokens_calib.safetensors", &tokens, err));
    if (work->in->n_calib_sequences && work->in->n_calib_sequences < tokens.n_sequences)
        tokens.n_sequences = (size_t)work->in->n_calib_sequences;
    enum sq_status status = sq_layer_scan(work->ck, &tokens, &work->r, &work->choice, err);
    SQ_THEN(status, sq_llama_init(&calib, work->ck, &tokens, err));
    for (size_t b = 0; status == SQ_OK && b < c->n_layers; b++) {
        status = sq_eval_calibrated(&calib, work->ck, b, &work->r, &work->choice,
                                    work->layer + b * SQ_BLOCK_LAYERS, err);
        if (status == SQ_OK && !work->in->train)
            status = finish_layers(work, b * SQ_BLOCK_LAYERS, (b + 1) * SQ_BLOCK_LAYERS, err);
    }
    sq_llama_free(&calib);
    if (status == SQ_OK && work->in->train)
        status = train(work, &tokens, err);
    if (status == SQ_OK && work->in->train)
        status = finish_layers(work, 0, work->ck->n_layers, err);
    return status;
}

// Declares every layer; the digests read the weights once.
static enum sq_status begin_stream(struct work *work, struct sq_error *err)
{
    const struct sq_checkpoint *ck = work->ck;
    SQ_FREED struct sq_operand_file_item *item = calloc(ck->n_layers, sizeof *item);
    SQ_NEED(item, err, "%zu layers", ck->n_layers);
    for (size_t i = 0; i < ck->n_layers; i++) {
        const struct sq_layer *l = &ck->layer[i];
        item[i] = (struct sq_operand_file_item){l->name, l->n, l->k,
                                                sq_digest_of(l->weight->data, l->weight->nbytes)};
        sq_checkpoint_forget(ck, l->weight);
    }
    struct sq_operand_file_info info = {
        .format = sq_recipe_banks(&work->r), .producer = "golden", .source = source_of(ck)};
    return sq_operand_file_begin(&work->writer, work->in->output, &info, item, ck->n_layers, err);
}

// As another program has it: a file, or a folder that is there or is made.
static enum sq_status write_foreign(const struct work *work, struct sq_error *err)
{
    const char *dir = work->in->output;
    struct sq_foreign_written written;
    bool has_tokenizer;
    if (work->in->as == SQ_FOREIGN_AS_GGUF) {
        SQ_TRY(sq_foreign_write_gguf(dir, work->ck, &work->r, work->layer, &has_tokenizer, err));
        sq_cli_settle();
        sq_cli_progress_end();
        if (!has_tokenizer)
            fprintf(stderr, "sqsim quantize: note: the file has no tokenizer; that of MODEL stays "
                            "where it is\n");
        return SQ_OK;
    }
    const bool is_new = mkdir(dir, 0777) == 0;
    if (!is_new && errno != EEXIST)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make the folder '%.80s': %s", dir, strerror(errno));
    const enum sq_status status =
        sq_foreign_write((enum sq_foreign_as)work->in->as, dir, sq_cli_model(work->in->model),
                         work->ck, &work->r, work->layer, &written, err);
    if (status != SQ_OK && is_new)
        (void)rmdir(dir);
    SQ_TRY(status);
    sq_cli_settle();
    sq_cli_progress_end();
    if (written.links[0])
        fprintf(stderr,
                "sqsim quantize: note: links in MODEL are not followed, so the folder lacks: %s\n",
                written.links);
    if (written.n_rounded == 0)
        return SQ_OK;
    fprintf(stderr,
            "sqsim quantize: note: %zu scales above the blocks are one unit in the last place "
            "off: no number of binary32 has them as its reciprocal\n",
            written.n_rounded);
    return SQ_OK;
}

static enum sq_status write_file(const struct work *work, struct sq_error *err)
{
    const struct sq_checkpoint *ck = work->ck;
    SQ_FREED struct sq_weight_item *item = calloc(ck->n_layers, sizeof *item);
    SQ_NEED(item, err, "%zu layers", ck->n_layers);
    for (size_t i = 0; i < ck->n_layers; i++) {
        const struct sq_layer *l = &ck->layer[i];
        item[i] = (struct sq_weight_item){
            l->name, l->n, l->k, sq_digest_of(l->weight->data, l->weight->nbytes), &work->layer[i]};
        sq_checkpoint_forget(ck, l->weight);
    }
    if (work->in->as)
        return write_foreign(work, err);
    return sq_weight_file_write(work->in->output, &work->r, source_of(ck), item, ck->n_layers, err);
}

// Before anything is encoded for it.
static enum sq_status check_output(const char *path, struct sq_error *err)
{
    SQ_CLOSED(sq_outfile_abort) struct sq_outfile out = {0};
    SQ_TRY(sq_outfile_open(&out, path, err));
    return SQ_OK;
}

// A folder or nothing lies there, of GGUF a file may, and the other program has a place for such layers.
static enum sq_status check_folder(const struct arguments *in, const struct sq_recipe *r,
                                   struct sq_error *err)
{
    struct sq_error why;
    struct stat st;
    if (in->as == SQ_FOREIGN_AS_GGUF)
        SQ_TRY(check_output(in->output, err));
    else if (stat(in->output, &st) == 0 && !S_ISDIR(st.st_mode))
        return SQ_FAIL(err, SQ_ERR_IO, "--output = %.80s is a file, need a folder (--as)",
                       in->output);
    const enum sq_status status = in->as == SQ_FOREIGN_AS_GGUF
                                      ? sq_foreign_check_gguf(r, &why)
                                      : sq_foreign_write_check((enum sq_foreign_as)in->as, r, &why);
    return status == SQ_OK ? SQ_OK : SQ_FAIL(err, status, "--%.240s", why.text);
}

static enum sq_status encode(struct work *work, const char *model, struct sq_error *err)
{
    char format[96];
    sq_recipe_heading(&work->r, format);
    if (!work->in->is_json)
        printf("%s\n", format);
    sq_cli_progress("quantize: layers", 0, work->ck->n_layers);
    if (!work->in->file.is_checkpoint && (sq_recipe_needs_calibration(&work->r) || work->in->train))
        return do_model(work, model, err);
    for (size_t i = 0; i < work->ck->n_layers; i++)
        SQ_TRY(work->in->file.is_checkpoint ? take_layer(work, i, err) : do_layer(work, i, err));
    return SQ_OK;
}

static enum sq_status finish_file(struct work *work, enum sq_status status, struct sq_error *err)
{
    if (!work->in->output)
        return status;
    if (!work->is_streamed)
        return status == SQ_OK ? write_file(work, err) : status;
    if (status == SQ_OK)
        return sq_operand_file_commit(&work->writer, err);
    sq_operand_file_abort(&work->writer);
    return status;
}

static enum sq_status quantize(const struct arguments *in, const struct sq_checkpoint *ck,
                               const char *model, struct sq_error *err)
{
    struct work work = {.in = in,
                        .ck = ck,
                        .r = in->r,
                        .layer = calloc(ck->n_layers, sizeof *work.layer),
                        .is_streamed = sq_recipe_is_packed(&in->r),
                        .table.is_json = in->is_json};
    omp_set_num_threads((int)in->jobs);
    enum sq_status status = SQ_HAVE(work.layer, err, "%zu layers", ck->n_layers);
    if (status == SQ_OK && in->train)
        status = sq_train_check(ck, &in->r, err);
    if (status == SQ_OK && in->output)
        status = in->as             ? check_folder(in, &work.r, err)
                 : work.is_streamed ? begin_stream(&work, err)
                                    : check_output(in->output, err);
    SQ_THEN(status, encode(&work, model, err));
    if (status == SQ_OK && (ferror(stdout) || fflush(stdout) != 0))
        status = SQ_FAIL(err, SQ_ERR_IO, "cannot write standard output: %s", strerror(errno));
    status = finish_file(&work, status, err);
    if (status == SQ_OK)
        print_summary(&work);
    for (size_t i = 0; work.layer && i < ck->n_layers; i++)
        sq_quant_layer_free(&work.layer[i]);
    free(work.layer);
    sq_layer_scan_free(&work.choice);
    return status;
}

// The codes of MODEL itself: all layers of one kind, which a file of ours has.
static enum sq_status take_own(struct arguments *in, struct sq_error *err)
{
    SQ_TRY(sq_layer_file_open(&in->file, in->model, &in->options.given, err));
    in->r = in->file.recipe;
    if (!in->output || (in->file.n_as_stored == 0 && in->r.n_rules == 0))
        return SQ_OK;
    if (in->file.n_as_stored)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "--output: %zu of %zu layers are in no format of ours (%.150s); need "
                       "--format, which encodes their values again",
                       in->file.n_as_stored, in->file.ck.n_layers, in->file.why);
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                   "--output: layers of %.60s are of another kind than the first; need --format, "
                   "which encodes their values again",
                   in->r.rule[0].pattern);
}

// What training takes where it is not given, 0; given without training it has no effect.
static enum sq_status settle_training(struct arguments *in, struct sq_error *err)
{
    const char *without = in->train_steps        ? "train-steps"
                          : in->train_batch      ? "train-batch"
                          : in->train_rate > 0.0 ? "train-rate"
                          : in->seed             ? "seed"
                                                 : NULL;
    if (!in->train && without)
        return SQ_FAIL(err, SQ_ERR_ARG, "--%s needs --train bqpo, e2e or both", without);
    in->train_steps = in->train_steps ? in->train_steps : 200;
    in->train_batch = in->train_batch ? in->train_batch : 8;
    in->train_rate = in->train_rate > 0 ? in->train_rate : 0.01;
    in->seed = in->seed ? in->seed : 1;
    return SQ_OK;
}

static enum sq_status quantize_model(struct arguments *in, struct sq_error *err)
{
    const bool is_calib = in->calib.tokens || in->calib.text || in->n_calib_sequences;
    const char *const model = sq_cli_model(in->model);
    SQ_CLOSED(sq_checkpoint_close) struct sq_checkpoint ck = {0};
    bool is_rtn = false;
    if (is_calib && !in->train && !sq_recipe_needs_calibration(&in->r))
        sq_cli_note_calib("quantize");
    if (sq_cli_has_own_weights(&in->options, in->model))
        SQ_TRY(take_own(in, err));
    SQ_TRY(sq_checkpoint_open(&ck, model, err));
    if (!in->file.is_checkpoint)
        SQ_TRY(sq_cli_recipe_calibrated(&in->options, &ck, model, is_calib, &in->r, &is_rtn, err));
    SQ_TRY(quantize(in, &ck, model, err));
    if (!in->file.is_checkpoint)
        sq_cli_note_quantized("quantize", &ck);
    sq_cli_note_weights("quantize", &in->file);
    if (is_rtn)
        sq_cli_note_rtn("quantize");
    return SQ_OK;
}

// is_kept: what a unit answered is right, where that was asked.
static enum sq_status run(struct arguments *in, bool *is_kept, struct sq_error *err)
{
    const struct sq_vectors_request request = {&in->r, in->output, in->answers, in->is_json};
    SQ_TRY(sq_cli_recipe(&in->options, &in->r, err)); // before any file is opened
    SQ_TRY(settle_training(in, err));
    if (in->as && !in->output)
        return SQ_FAIL(err, SQ_ERR_ARG, "--as needs --output, a folder or of gguf a file");
    return in->is_vectors ? sq_vectors_request(&request, is_kept, err) : quantize_model(in, err);
}

int sq_cmd_quantize(int argc, char **argv)
{
    static const struct sq_cli_line line = {rows, "[MODEL]", doc};
    struct sq_error err;
    long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct arguments in = {.options = sq_cli_options_default(SQ_IN_QUANTIZE),
                           .jobs = n_cpus > 0 ? (unsigned)n_cpus : 1};
    bool is_kept = true;
    enum sq_status status = sq_cli_parse(&line, argc, argv, &in, &err);
    if (in.is_progress)
        sq_cli_progress_everywhere();
    SQ_THEN(status, run(&in, &is_kept, &err));
    sq_layer_file_close(&in.file);
    return status != SQ_OK ? sq_cli_fail("quantize", &err)
           : is_kept       ? SQ_EXIT_OK
                           : SQ_EXIT_CHECK_FAILED;
}
