// SPDX-License-Identifier: Apache-2.0
// sqsim generate: text from a model, token by token, with its linear layers by the golden model, the chip's
// cycle model or the chip's RTL.
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "sim/block/vector/sq_top_attend.h"
#include "sim/cli/sq_cli_calib.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/io/sq_digest.h"
#include "sim/llm/sq_generate.h"
#include "sim/llm/text/sq_prompt.h"
#include "sim/machine/sq_chip_machine.h"

enum on { ON_GOLDEN, ON_CHIP, ON_STEPPING, ON_RTL };
static const char *const on_name[] = {"golden", "chip", "stepping", "rtl", NULL};

struct arguments {
    struct sq_cli_options options;
    const char *model, *prompt, *calib, *machine, *weights;
    uint64_t n_tokens, seed;
    double temperature;
    unsigned on, jobs;
    unsigned cache;
    bool is_json, has_machine, has_vector, has_cache;
};

#define AT(field) SQ_CLI_AT(struct arguments, field)
static const struct sq_cli_row rows[] = {
    SQ_CLI_TEXT("prompt", "TEXT", AT(prompt), "what the model goes on from"),
    SQ_CLI_WORD("on", "BODY", on_name, AT(on),
                "what multiplies the linear layers: the golden model; the chip, a layer at once or "
                "stepped cycle by cycle; the chip's RTL through Verilator"),
    SQ_CLI_UINT("tokens", "N", 1, 1 << 20, AT(n_tokens), "tokens to write"),
    SQ_CLI_FLAG("vector", AT(has_vector),
                "all of a token is computed by the chip, as a program of descriptors"),
    SQ_CLI_WORD("kv-format", "FORMAT", sq_ta_cache_names, AT(cache),
                "--vector: keys and values in the cache are binary16, or INT8 with a scale a head",
                .given = offsetof(struct arguments, has_cache)),
    SQ_CLI_REAL("temperature", "T", 0, 100, AT(temperature),
                "above 0: tokens are drawn from softmax(logits / T); 0: the most likely one"),
    SQ_CLI_UINT("seed", "N", 0, UINT64_MAX, AT(seed), "of what is drawn"),
    SQ_CLI_TEXT("machine", "FILE", AT(machine), "the chip: a YAML with the key 'chip'",
                .found = SQ_HOME_MACHINE, .given = offsetof(struct arguments, has_machine)),
    SQ_CLI_TEXT("calib", "FILE", AT(calib), "where calibrated: calibration tokens",
                .usual = "MODEL/tokens_calib.safetensors", .found = ""),
    SQ_CLI_TEXT("weights", "FILE", AT(weights),
                "weights that `sqsim quantize -o` wrote, of any format, or a checkpoint that "
                "another program quantized",
                .usual = "MODEL, where another program quantized it", .found = ""),
    SQ_CLI_FORMATS(SQ_IN_EVAL, AT(options)),
    SQ_CLI_UINT("jobs", "N", 1, 1024, AT(jobs), "threads; the result does not depend on it",
                .usual = "all processors", .group = SQ_CLI_COMMON),
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per token, the summary last",
                .group = SQ_CLI_COMMON),
    SQ_CLI_ARGUMENT("MODEL", AT(model), .found = SQ_HOME_MODEL),
    SQ_CLI_END};

static const char doc[] =
    "Writes text with MODEL (default: the embedded traces/tiny-llama, whose tokens are bytes), a "
    "token at a time. Every linear layer is computed in the exact arithmetic of a format; "
    "embedding, norms, attention and the product with the vocabulary are the host's, in binary32. "
    "With --vector all is the chip's, by the program of a token that `sqsim image "
    "--token` writes; inputs and outputs of layers are bfloat16 then. "
    "On the chip a driver puts the image of a layer into memory, starts it and reads its outputs; "
    "cycles are the chip's own counters. All choices of --on give the same logits, to the bit; "
    "their digest is in --json. The codes of a MODEL that another program quantized are taken as "
    "they are, unless --format says what their values become.\v"
    "Examples:\n"
    "  sqsim generate --prompt 'The ' --format nvfp4 --on chip\n"
    "  sqsim generate --prompt 'The ' --format nvfp4 --on rtl --tokens 2\n"
    "  sqsim generate --prompt 'Once' --format sq_w --on golden --temperature 0.8 --seed 7\n"
    "  sqsim generate SmolLM2.gguf --prompt 'The capital of France is' --format dense "
    "--weight-bits 16 --act-bits 16 --tokens 16\n";

enum { TOKEN_NBYTES = 256 };

// One command on its way.
struct work {
    const struct arguments *in;
    struct sq_checkpoint ck;
    struct sq_recipe r;
    struct sq_layer_file file; // layers that are encoded already, by the recipe
    const char *weights;       // its path; NULL: encoded here
    struct sq_prompt prompt;
    struct sq_tokens calib;
    struct sq_machine machine;
    struct sq_chip_linear chip;
    bool is_on_chip;
    struct sq_cli_table table;
    char *text;              // of all tokens written
    size_t n_text, n_tokens; // that were written
    FILE *written;
    struct sq_chip_cost first, rest;          // of the prompt, of the tokens behind it
    struct sq_chip_cost part[SQ_TOKEN_PARTS]; // of the last token
    struct sq_digest digest;                  // of all logits
    double nll;
};

// ---- what it says -----------------------------------------------------------------------------------

// A token's bytes as JSON text, with marks in place of what is no whole character.
static json_t *text_json(const char *bytes, size_t n)
{
    char copy[TOKEN_NBYTES + 1];
    memcpy(copy, bytes, n);
    copy[n] = '\0';
    return sq_cli_json_text(copy);
}

// Whether a token ends the text, and so is no part of it.
static bool is_end(const struct work *w, int32_t id)
{
    size_t i = 0;
    while (i < w->ck.n_ends && w->ck.end[i] != id)
        i++;
    return i < w->ck.n_ends;
}

// Cycles of each part of a token.
static json_t *parts_json(const struct sq_chip_cost *part)
{
    json_t *const of = json_object();
    for (unsigned i = 0; i < SQ_TOKEN_PARTS; i++)
        json_object_set_new(of, sq_token_part_names[i], json_integer((json_int_t)part[i].cycles));
    return of;
}

static void put_token(void *context, const struct sq_generate_token *t)
{
    struct work *const w = context;
    const struct sq_chip_cost *const c = &t->cost;
    char bytes[TOKEN_NBYTES + 1];
    const size_t n = sq_prompt_bytes(&w->prompt, t->id, bytes, TOKEN_NBYTES);
    const struct sq_digest logits =
        sq_digest_of(t->logit, w->ck.config.vocab_size * sizeof *t->logit);
    const struct sq_digest both[] = {w->digest, logits};
    char label[SQ_DIGEST_LABEL_SIZE], moves[17];
    bytes[n] = '\0';
    snprintf(moves, sizeof moves, "%016llx", (unsigned long long)t->moves);
    w->digest = sq_digest_of(both, sizeof both);
    w->nll += t->nll;
    w->n_tokens = t->number + 1;
    sq_digest_label(logits, label);
    if (!is_end(w, t->id))
        fwrite(bytes, 1, n, w->written);
    sq_chip_cost_add(t->number == 0 ? &w->first : &w->rest, c);
    const struct sq_cli_column row[] = {
        SQ_COLUMN("token", t->number, "token", 5),
        SQ_KEYS("id", t->id, "text", text_json(bytes, n), "nll", t->nll),
        SQ_COLUMN(NULL, sq_cli_text(bytes), "text", -16, .as = "\"%s\""),
        SQ_COLUMN("m", t->m, "through", 7),
        SQ_COLUMN("cycles", c->cycles, "cycles", 12, .is_absent = !w->is_on_chip),
        SQ_COLUMN("busy", c->busy, "busy", 10, .is_absent = !w->is_on_chip),
        SQ_COLUMN("wait", c->wait, "waits", 10, .is_absent = !w->is_on_chip),
        SQ_COLUMN("blocked", c->blocked, "blocked", 9, .is_absent = !w->is_on_chip),
        SQ_COLUMN(NULL, c->read_nbytes + c->write_nbytes, "bytes", 12, .is_absent = !w->is_on_chip),
        SQ_KEY_IF(w->is_on_chip, "read_bytes", c->read_nbytes),
        SQ_KEY_IF(w->is_on_chip, "write_bytes", c->write_nbytes),
        SQ_KEYS("logits", label),
        SQ_KEY_IF(t->moves, "moves", sq_cli_text(moves)),
        SQ_KEY_IF(t->part, "parts", t->part ? parts_json(t->part) : NULL),
        SQ_COLUMNS_END};
    sq_cli_put(&w->table, row);
    if (t->part)
        memcpy(w->part, t->part, sizeof w->part);
    fflush(stdout);
}

static void encoded(void *context, size_t block, size_t n_blocks)
{
    (void)context;
    sq_cli_progress("generate: encoding, blocks", block, n_blocks);
    if (block == n_blocks)
        sq_cli_progress_end();
}

static double share(uint64_t part, uint64_t all)
{
    return all ? 100 * (double)part / (double)all : 0;
}

static void print_parts(const struct work *w)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < SQ_TOKEN_PARTS; i++)
        all += w->part[i].cycles;
    printf("the last token on the chip, one doorbell:\n%-10s %11s %10s %6s %10s %10s\n", "part",
           "descriptors", "cycles", "%", "busy", "waits");
    for (unsigned i = 0; i < SQ_TOKEN_PARTS; i++) {
        const struct sq_chip_cost *const c = &w->part[i];
        printf("%-10s %11llu %10llu %6.1f %10llu %10llu\n", sq_token_part_names[i],
               (unsigned long long)(c->layers + c->passes), (unsigned long long)c->cycles,
               share(c->cycles, all), (unsigned long long)c->busy, (unsigned long long)c->wait);
    }
}

static void print_chip(const struct work *w, const struct sq_chip_cost *all, double per_s)
{
    const struct sq_chip_cost *const one = w->n_tokens > 1 ? &w->rest : &w->first;
    char text[32];
    if (w->in->has_vector)
        printf("%llu other descriptors and ", (unsigned long long)all->passes);
    printf("%llu layers of a chip with %u x %u PEs (%s), %llu cycles: %s in "
           "%.1f %% of them, waits for operands in %.1f %%, cannot go on in %.1f %%\n",
           (unsigned long long)all->layers, w->chip.rows, w->chip.cols,
           sq_cli_text(w->machine.name), (unsigned long long)all->cycles,
           w->in->has_vector ? "engine or unit work" : "the engine multiplies",
           share(all->busy, all->cycles), share(all->wait, all->cycles),
           share(all->blocked, all->cycles));
    printf("%s tokens a second%s at %g MHz, a clock that %s says and no netlist%s; %.0f bytes a "
           "token\n",
           sq_cli_number_text(per_s, 1, text), w->n_tokens > 1 ? " behind the prompt" : "",
           w->machine.clock_hz / 1e6, sq_cli_text(w->machine.name),
           w->in->has_vector ? "" : "; without attention and lm_head, which are the host's",
           (double)(one->read_nbytes + one->write_nbytes) /
               (double)(w->n_tokens > 1 ? w->n_tokens - 1 : 1));
}

static void summary(const struct work *w)
{
    struct sq_chip_cost all = w->first;
    char label[SQ_DIGEST_LABEL_SIZE], heading[96];
    const bool has_rest = w->n_tokens > 1;
    const uint64_t cycles = has_rest ? w->rest.cycles : w->first.cycles;
    const double tokens = has_rest ? (double)(w->n_tokens - 1) : 1;
    const double per_s = w->is_on_chip ? w->machine.clock_hz * tokens / (double)cycles : NAN;
    sq_chip_cost_add(&all, &w->rest);
    sq_digest_label(w->digest, label);
    sq_recipe_heading(&w->r, heading);
    if (!w->in->is_json) {
        printf("\n%s%s\n\n", sq_cli_text(w->in->prompt), sq_cli_text(w->text));
        printf("%s, %s: %llu tokens behind %zu, %.4f nats a token\n", heading, on_name[w->in->on],
               (unsigned long long)w->n_tokens, w->prompt.n, w->nll / (double)w->n_tokens);
        if (w->is_on_chip)
            print_chip(w, &all, per_s);
        if (w->is_on_chip && w->in->has_vector)
            print_parts(w);
        return;
    }
    const struct sq_cli_column row[] = {
        SQ_KEYS("on", on_name[w->in->on], "prompt_tokens", w->prompt.n, "tokens", w->n_tokens),
        SQ_MEMBERS(sq_recipe_json(&w->r, SQ_IN_EVAL)),
        SQ_KEYS("text", sq_cli_json_text(w->text), "nll", w->nll, "logits", label),
        SQ_KEY_IF(w->is_on_chip, "machine", w->machine.name),
        SQ_KEY_IF(w->is_on_chip, "clock_hz", w->machine.clock_hz),
        SQ_KEY_IF(w->is_on_chip, "clock_basis", "decreed by the machine"),
        SQ_KEY_IF(w->is_on_chip, "layers", all.layers),
        SQ_KEY_IF(w->is_on_chip && w->in->has_vector, "passes", all.passes),
        SQ_KEY_IF(w->is_on_chip, "cycles", all.cycles),
        SQ_KEY_IF(w->is_on_chip, "busy", all.busy),
        SQ_KEY_IF(w->is_on_chip, "wait", all.wait),
        SQ_KEY_IF(w->is_on_chip, "blocked", all.blocked),
        SQ_KEY_IF(w->is_on_chip, "read_bytes", all.read_nbytes),
        SQ_KEY_IF(w->is_on_chip, "write_bytes", all.write_nbytes),
        SQ_KEY_IF(w->is_on_chip, "tokens_per_s", per_s),
        SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance("real",
                                              w->in->on == ON_RTL ? "measured RTL"
                                              : w->is_on_chip     ? "modelled"
                                                                  : "golden model",
                                              w->in->seed));
}

// ---- work -------------------------------------------------------------------------------------------

static enum sq_status take_chip(struct work *w, struct sq_error *err)
{
    static const enum sq_device_body body[] = {
        [ON_CHIP] = SQ_DEVICE_FAST, [ON_STEPPING] = SQ_DEVICE_STEPPING, [ON_RTL] = SQ_DEVICE_RTL};
    if (w->in->has_cache && !w->in->has_vector)
        return SQ_FAIL(err, SQ_ERR_ARG, "--kv-format has no use without --vector");
    w->is_on_chip = w->in->on != ON_GOLDEN;
    if (!w->is_on_chip)
        return w->in->has_machine
                   ? SQ_FAIL(err, SQ_ERR_ARG, "--machine has no use with --on golden")
                   : SQ_OK;
    if (w->weights && w->file.n_as_stored > 0)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "--on = %s: %zu layers of '%.60s' are values that no format holds (%.150s), "
                       "need --on golden",
                       on_name[w->in->on], w->file.n_as_stored, w->weights, w->file.why);
    SQ_TRY(sq_route_on_chip(w->r.format, err));
    SQ_TRY(sq_cli_routes_check(&w->r, err));
    SQ_TRY(sq_machine_load(w->in->machine ? w->in->machine
                                          : sq_cli_home_path("sim/machines/chip.yaml"),
                           &w->machine, err));
    w->chip = (struct sq_chip_linear){.body = body[w->in->on],
                                      .rows = w->machine.core.rows,
                                      .cols = w->machine.core.cols,
                                      .home = sq_cli_home(),
                                      .seed = w->in->seed};
    SQ_TRY(sq_machine_chip(&w->machine, &w->chip.chip, err));
    if (w->chip.chip.attend > 0 && w->in->has_cache)
        return SQ_FAIL(err, SQ_ERR_ARG, "--kv-format with machine %.40s, whose chip.attend says it",
                       w->machine.name);
    if (w->chip.chip.attend == 0)
        w->chip.chip.attend = sq_token_cache(w->in->cache);
    return SQ_OK;
}

// Bytes of the bus of the chip whose vector unit it is; without one those of the usual chip.
static uint32_t vector_nbytes(const struct work *w)
{
    enum { USUAL = 8 };
    return !w->in->has_vector ? 0 : w->is_on_chip ? w->chip.chip.bus_nbytes : USUAL;
}

static enum sq_status write_text(struct work *w, const char *model, struct sq_error *err)
{
    const struct arguments *const in = w->in;
    const struct sq_generate_watch watch = {encoded, put_token, w};
    struct sq_token_source source = {.tokens = in->calib};
    SQ_TRY(sq_prompt_read(&w->prompt, &w->ck, model, in->prompt, err));
    if (!w->weights && sq_recipe_needs_calibration(&w->r))
        SQ_TRY(sq_token_source_read(&source, &w->ck, model, "tokens_calib.safetensors", &w->calib,
                                    err));
    else if (in->calib)
        sq_cli_note_calib("generate");
    w->written = open_memstream(&w->text, &w->n_text);
    SQ_NEED(w->written, err, "the text");
    const struct sq_generate_options o = {
        .recipe = &w->r,
        .file = w->weights ? &w->file : NULL,
        .calib = w->calib.offset ? &w->calib : NULL,
        .prompt = w->prompt.id,
        .n_prompt = w->prompt.n,
        .n_tokens = (size_t)in->n_tokens,
        .end = w->ck.end,
        .n_ends = w->ck.n_ends,
        .temperature = in->temperature,
        .seed = in->seed,
        .chip = w->is_on_chip ? &w->chip : NULL,
        .vector_nbytes = vector_nbytes(w),
        .has_int8 = w->is_on_chip ? sq_ta_unit_of(w->chip.chip.attend).is_int8 : in->cache > 0};
    const enum sq_status status = sq_generate(&w->ck, &o, &watch, err);
    fclose(w->written);
    if (status == SQ_OK)
        summary(w);
    free(w->text);
    return status;
}

// The recipe of the options, or of the layers that are encoded already.
static enum sq_status take_recipe(struct work *w, struct arguments *in, const char *model,
                                  bool *is_rtn, struct sq_error *err)
{
    w->weights = in->weights                                       ? in->weights
                 : sq_cli_has_own_weights(&in->options, in->model) ? in->model
                                                                   : NULL;
    if (!w->weights)
        return sq_cli_recipe_calibrated(&in->options, &w->ck, model, in->calib != NULL, &w->r,
                                        is_rtn, err);
    SQ_TRY(sq_cli_weights_open(&in->options, w->weights, in->calib != NULL, &w->file, err));
    w->r = w->file.recipe;
    return SQ_OK;
}

static void close_work(struct work *w)
{
    sq_layer_file_close(&w->file);
    sq_chip_linear_close(&w->chip);
    sq_prompt_free(&w->prompt);
    sq_tokens_free(&w->calib);
    sq_checkpoint_close(&w->ck);
}

static enum sq_status run(struct work *w, struct arguments *in, bool *is_rtn, struct sq_error *err)
{
    const char *const model = sq_cli_model(in->model);
    if (!in->prompt)
        return SQ_FAIL(err, SQ_ERR_ARG, "--prompt TEXT is missing");
    SQ_TRY(sq_checkpoint_open(&w->ck, model, err));
    if (!w->ck.is_model)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "MODEL must be a directory with config.json, or a GGUF file");
    SQ_TRY(take_recipe(w, in, model, is_rtn, err));
    SQ_TRY(take_chip(w, err));
    SQ_TRY(write_text(w, model, err));
    if (!w->weights && !sq_recipe_is_reference(&w->r))
        sq_cli_note_quantized("generate", &w->ck);
    sq_cli_note_weights("generate", &w->file);
    return SQ_OK;
}

int sq_cmd_generate(int argc, char **argv)
{
    static const struct sq_cli_line line = {rows, "[MODEL]", doc};
    struct arguments in = {
        .options = sq_cli_options_default(SQ_IN_EVAL), .n_tokens = 64, .seed = 1};
    struct sq_error err;
    SQ_CLOSED(close_work) struct work w = {.in = &in};
    bool is_rtn = false;
    enum sq_status status = sq_cli_parse(&line, argc, argv, &in, &err);
    if (status == SQ_OK && in.jobs)
        omp_set_num_threads((int)in.jobs);
    w.table.is_json = in.is_json;
    SQ_THEN(status, run(&w, &in, &is_rtn, &err));
    if (status != SQ_OK)
        return sq_cli_fail("generate", &err);
    if (is_rtn)
        sq_cli_note_rtn("generate");
    return sq_cli_finish("generate", SQ_EXIT_OK);
}
