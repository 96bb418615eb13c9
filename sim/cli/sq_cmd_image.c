// SPDX-License-Identifier: Apache-2.0
// sqsim image: layers of a model, or what a CUDA kernel left, as the chip (rtl/top/sq_top.sv) reads them
// from memory; and a memory that the chip has written, judged by the layer's outputs.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/block/top/sq_axi_memory.h"
#include "sim/block/top/sq_top_host.h"
#include "sim/cli/sq_cli_calib.h"
#include "sim/cli/sq_cli_core.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/format/file/sq_trace.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/format/top/sq_chip_program.h"
#include "sim/io/sq_digest.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_quote.h"
#include "sim/llm/chip/sq_token_program.h"
#include "sim/llm/foreign/sq_as_stored.h"
#include "sim/llm/sq_encoded_visit.h"
#include "sim/machine/sq_chip_machine.h"

struct arguments {
    struct sq_cli_options options;
    struct sq_token_source source;
    const char *model, *layer, *output, *check, *calib, *weights;
    uint64_t m, rows, cols, seed;
    const char *machine;
    struct sq_machine of_chip; // of that name; its DRAM says where operands lie
    struct sq_chip chip;
    unsigned depth;
    unsigned encode; // where the activations of a ring come from, an enum sq_program_source
    unsigned cache;
    bool has_cache, is_json, is_ring, is_token, has_m, has_rows, has_cols, has_depth;
    uint64_t positions;
};

#define AT(field) SQ_CLI_AT(struct arguments, field)
#define GIVEN(field) .given = offsetof(struct arguments, field)
static const struct sq_cli_row rows[] = {
    SQ_CLI_TEXT("layer", "PATTERN", AT(layer),
                "only layers whose name matches, as file names do: 'model.layers.0.*'"),
    SQ_CLI_UINT("m", "M", 1, 1 << 20, AT(m), "tokens", GIVEN(has_m)),
    SQ_CLI_UINT("rows", "N", 1, 32, AT(rows), "tokens of a tile of the chip", GIVEN(has_rows)),
    SQ_CLI_UINT("cols", "N", 1, 32, AT(cols), "channels of a tile of the chip", GIVEN(has_cols)),
    SQ_CLI_UINT("depth", "N", 8, SQ_TOP_DEPTH_MAX, AT(depth),
                "beats of half a buffer of the chip; a longer K goes in chunks", .usual = "256",
                GIVEN(has_depth)),
    SQ_CLI_TEXT(
        "machine", "FILE", AT(machine),
        "the chip of this YAML (sim/machines/chip.yaml), in place of --rows, --cols, --depth",
        .found = SQ_HOME_MACHINE),
    SQ_CLI_OWN("base", "ADDRESS", sq_cli_base,
               "where the image lies in memory, a multiple of 4096 below 2^48, as 0x80000000 (0)",
               AT(chip.base)),
    SQ_CLI_TEXT("tokens", "FILE", AT(source.tokens), "token file whose first sequences are read",
                .usual = "the model's tokens_calib.safetensors", .found = ""),
    SQ_CLI_TEXT("calib", "FILE", AT(calib), "where calibrated: calibration tokens",
                .usual = "MODEL/tokens_calib.safetensors", .found = ""),
    SQ_CLI_TEXT("weights", "FILE", AT(weights),
                "layers that `sqsim quantize -o` wrote, or a checkpoint that another program "
                "quantized (MODEL itself where it is one)",
                .found = ""),
    SQ_CLI_TEXT("output", "DIR", AT(output),
                "write LAYER.bin, the memory from --base on, and LAYER.json there", .letter = 'o',
                .is_output = true),
    SQ_CLI_TEXT(
        "check", "FILE", AT(check),
        "the memory from --base on after the run, of one layer or a ring: are these its outputs?"),
    SQ_CLI_FLAG("ring", AT(is_ring),
                "all layers in one image, ring.bin, that the chip runs as one ring of "
                "descriptors; ring.json says what to write into RING_BASE, RING_SIZE and TAIL"),
    SQ_CLI_WORD("encode", "FROM", sq_program_source_names, AT(encode),
                "--ring: the chip makes the activations by descriptors of kind encode, which "
                "stand in the ring, as `cosim --encode` says",
                .min = SQ_PROGRAM_INPUTS, .usual = "none"),
    SQ_CLI_FLAG(
        "token", AT(is_token),
        "the program of a token, token.bin: all layers, the steps between them, lm_head and "
        "choice as one ring, which lib/sq_driver.h runs"),
    SQ_CLI_WORD("kv-format", "FORMAT", sq_ta_cache_names, AT(cache),
                "--token: keys and values in the cache are binary16, or INT8 with a scale a head",
                .given = offsetof(struct arguments, has_cache)),
    SQ_CLI_UINT("positions", "N", 1, 1 << 20, AT(positions), "--token: of a sequence"),
    SQ_CLI_FORMATS(SQ_IN_EVAL, AT(options)),
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per layer, the summary last",
                .group = SQ_CLI_COMMON),
    SQ_CLI_ARGUMENT("MODEL | TRACE", AT(model), .found = SQ_HOME_MODEL),
    SQ_CLI_END};

static const char doc[] =
    "Writes layers of MODEL (default: the embedded traces/tiny-llama), with the activations of "
    "its first tokens, as the chip reads them from memory: operands beat after beat, and a "
    "descriptor at --base, which the host writes into a register. LAYER.json says what lies "
    "where, and the digest of the outputs that must come. `sqsim cosim --block top --layers` runs "
    "the same image on the RTL. TRACE is what a CUDA kernel left (make gpu-measure): it brings its "
    "format, and its file name is that of the layer. The chip runs layers of dense, sp24, sq_w, "
    "sq_a_static and "
    "sq_a_dynamic, and of block-scaled formats (nvfp4, mxfp4, sq_b and the like).\v"
    "Examples:\n"
    "  mkdir images && sqsim image --format dense -o images\n"
    "  sqsim image --format dense --weight-bits 8 --layer '*.0.mlp.up_proj' --rows 4 --cols 4 -o "
    "images\n"
    "  sqsim image --format sq_w --layer '*.0.mlp.up_proj' -o images\n"
    "  sqsim image --format nvfp4 --layer '*.0.*' --rows 8 --depth 64 -o images\n"
    "  sqsim image --format dense --layer '*.0.mlp.up_proj' --check after.bin\n"
    "  sqsim image --format nvfp4 --machine sim/machines/chip.yaml --base 0x80000000 -o images\n"
    "  sqsim image sq_w.safetensors -o images\n"
    "  sqsim image --format dense --layer '*.0.self_attn.[qkv]_proj' --ring -o images\n"
    "  sqsim image --format dense --layer '*.0.self_attn.[qkv]_proj' --ring --encode inputs -o "
    "images\n"
    "  sqsim image --format mxfp4 --token --cols 4 -o images\n";

struct visit {
    const struct arguments *in;
    struct sq_checkpoint ck;
    struct sq_recipe r;
    struct sq_layer_file file; // --weights
    const char *weights;       // NULL: encoded here
    const struct sq_format_ops *format;
    size_t n, n_words, n_wrong; // layers; words of outputs that --check has judged, that differ
    struct {
        uint64_t address;
        uint32_t got, expected;
    } first; // of those that differ
    uint64_t nbytes;
    json_t *json;                 // of the layer at hand
    struct sq_chip_program *ring; // NULL: each layer by itself
    struct sq_token_builder *token;
};

static const char *const regions[] = {"act", "row_scale", "weight", "col_scale", "out"};

static json_t *pair(uint64_t a, uint64_t b)
{
    return json_pack("[I,I]", (json_int_t)a, (json_int_t)b);
}

static json_t *digest_of(const int32_t *word, size_t n)
{
    char label[SQ_DIGEST_LABEL_SIZE];
    sq_digest_label(sq_digest_of(word, n * sizeof *word), label);
    return json_string(label);
}

// The same of an encoder, whose `out` it reads: the keys of an object in `layers` of ring.json.
static json_t *describe_encoder(const struct visit *v, const struct sq_product *p,
                                const unsigned *value, const struct sq_top_given *image)
{
    uint64_t stride[SQ_ENCODE_REGIONS];
    struct sq_encode_layer l;
    json_t *const at = json_object();
    (void)sq_encode_decode(value, (const uint32_t *)image->word, &l);
    sq_encode_strides(value, &l, stride);
    for (unsigned i = 0; i < (l.is_codes ? SQ_ENCODE_ROW_SCALE : SQ_ENCODE_REGIONS); i++)
        json_object_set_new(at, regions[i == SQ_ENCODE_FROM ? SQ_TOP_STORE : i - 1],
                            pair(l.addr[i], stride[i] * l.rows * (value[SQ_TOP_DATA_W] / 8)));
    const struct sq_cli_column row[] = {
        SQ_KEYS("layer", "encode", "format", v->format->name, "m", p->m, "k", p->k),
        SQ_MEMBERS(sq_cli_parameters_json(&sq_top_block, value)),
        SQ_KEYS("bytes", 4 * (uint64_t)image->n_words, "base", v->in->chip.base),
        SQ_KEYS("descriptor", image->descriptor, "regions", at),
        SQ_KEYS("tiles", pair(l.rows, l.cols), "beats", l.beats),
        SQ_KEYS("outputs", digest_of(image->want, image->n_want)),
        SQ_COLUMNS_END};
    return sq_cli_object(row);
}

// What lies where: the keys of LAYER.json.
static json_t *describe(const struct visit *v, const char *name, const struct sq_product *p,
                        const unsigned *value, const struct sq_top_given *image)
{
    struct sq_top_layer l;
    json_t *const at = json_object(), *const beat = json_object();
    const struct sq_top_room room = sq_top_room(value);
    const struct sq_dram_setup *const dram = v->in->chip.memory.dram;
    (void)sq_top_layer_decode((const uint32_t *)image->word, &room, &l);
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS; i++) {
        json_object_set_new(at, regions[i],
                            pair(l.addr[i], sq_top_nbytes(value, &l, (enum sq_top_part)i)));
        json_object_set_new(beat, regions[i], json_integer(room.beat_nbytes[i]));
    }
    const struct sq_cli_column row[] = {
        SQ_KEYS("layer", name, "format", v->format->name, "m", p->m, "n", p->n, "k", p->k),
        SQ_MEMBERS(sq_cli_parameters_json(&sq_top_block, value)),
        SQ_KEYS("bytes", 4 * (uint64_t)image->n_words),
        SQ_KEYS("digest", digest_of(image->word, image->n_words), "base", v->in->chip.base),
        SQ_KEYS("descriptor", image->descriptor, "regions", at, "beat_bytes", beat),
        SQ_KEYS("placement", sq_dram_placement_names[dram ? dram->placement : SQ_DRAM_PACKED]),
        SQ_KEYS("tiles", pair(l.tiles[0], l.tiles[1]), "block", pair(l.block[0], l.block[1])),
        SQ_KEYS("groups", l.groups, "chunk", l.chunk, "beats", l.beats, "part", l.part),
        SQ_KEYS("cols_outer", (bool)l.cols_outer),
        SQ_KEYS("outputs", digest_of(image->want, image->n_want)),
        SQ_COLUMNS_END};
    return sq_cli_object(row);
}

// ---- files --------------------------------------------------------------------------------------

// DIR/LAYER.ending in path[PATH_MAX].
static enum sq_status path_of(const char *dir, const char *layer, const char *ending, char *path,
                              struct sq_error *err)
{
    char name[SQ_FILE_NAME_MAX + 1];
    sq_quote_file(name, layer);
    if (snprintf(path, PATH_MAX, "%s/%s%s", dir, name, ending) >= PATH_MAX)
        return SQ_FAIL(err, SQ_ERR_RANGE, "--output has %zu bytes, need less than %d", strlen(dir),
                       PATH_MAX - (int)sizeof name);
    return SQ_OK;
}

static enum sq_status write_image(const struct visit *v, const char *name, const int32_t *word,
                                  size_t n_words, struct sq_error *err)
{
    char path[PATH_MAX];
    struct sq_outfile memory = {0};
    if (!v->in->output)
        return SQ_OK;
    SQ_TRY(path_of(v->in->output, name, ".bin", path, err));
    const bool is_new = mkdir(v->in->output, 0777) == 0;
    if (!is_new && errno != EEXIST)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make the folder '%.80s': %s", v->in->output,
                       strerror(errno));
    SQ_TRY(sq_outfile_open(&memory, path, err));
    fwrite(word, 4, n_words, memory.stream);
    SQ_FREED char *const text = json_dumps(v->json, JSON_INDENT(2));
    enum sq_status status = SQ_HAVE(text, err, "%.80s.json", name);
    SQ_THEN(status, path_of(v->in->output, name, ".json", path, err));
    SQ_THEN(status, sq_outfile_write(path, text, strlen(text), err));
    SQ_THEN(status, sq_outfile_commit(&memory, err));
    sq_outfile_abort(&memory);
    if (status != SQ_OK && is_new)
        (void)rmdir(v->in->output);
    return status;
}

static enum sq_status check_memory(struct visit *v, const struct sq_top_given *image,
                                   struct sq_error *err)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view f = {0};
    if (!v->in->check)
        return SQ_OK;
    SQ_TRY(sq_file_map(v->in->check, &f, err));
    const size_t first = image->out - v->in->chip.base, end = first + 4 * (size_t)image->n_want;
    if (f.nbytes < end)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%.200s: %zu bytes, the outputs end at %zu",
                       v->in->check, f.nbytes, end);
    for (size_t i = 0; i < image->n_want; i++) {
        uint32_t got;
        memcpy(&got, f.data + first + 4 * i, sizeof got);
        const uint32_t expected = (uint32_t)image->want[i];
        v->n_words++;
        if (got != expected && v->n_wrong++ == 0) {
            v->first.address = image->out + 4 * i;
            v->first.got = got;
            v->first.expected = expected;
        }
    }
    return SQ_OK;
}

// ---- layers -------------------------------------------------------------------------------------

static void print_layer(const struct visit *v, const struct sq_product *p, const char *name,
                        const struct sq_top_given *image)
{
    if (v->in->is_json) {
        sq_cli_json_line(json_incref(v->json));
        return;
    }
    char n[24];
    snprintf(n, sizeof n, p->n ? "%4zu x" : "", p->n); // of an encoder there is none
    printf("%-32s %4zu x %-6s %4zu %9llu bytes, outputs at 0x%06llx\n", name, p->m, n, p->k,
           4ull * image->n_words, (unsigned long long)image->out);
}

static enum sq_status take_product(struct visit *v, const char *name, struct sq_product *p,
                                   struct sq_error *err)
{
    const struct sq_route *const chip = v->format->routes->chip;
    struct sq_point point = {.name = "image"};
    struct sq_case c = {.block = chip->block, .point = &point};
    struct sq_route_work w = {.p = p,
                              .array_rows = (unsigned)v->in->rows,
                              .array_cols = (unsigned)v->in->cols,
                              .chip = &v->in->chip,
                              .point = &point,
                              .stream = &c};
    SQ_TRY(chip->make(&w, err));
    sq_case_free(&c);
    SQ_TRY(chip->check(&w, err));
    if (w.value_mismatches > 0)
        return SQ_FAIL(err, SQ_ERR_INTERNAL, "%.80s: %.160s", name, w.difference);
    const struct sq_top_given *const image = c.env.given;
    v->json = describe(v, name, p, point.value, image);
    enum sq_status status = write_image(v, name, image->word, image->n_words, err);
    SQ_THEN(status, check_memory(v, image, err));
    if (status == SQ_OK)
        print_layer(v, p, name, image);
    json_decref(v->json);
    v->n++;
    v->nbytes += 4 * (uint64_t)image->n_words;
    return status;
}

static enum sq_status visit_layer(void *context, size_t index, const struct sq_quant_layer *q,
                                  const float *x, size_t m, struct sq_error *err)
{
    struct visit *const v = context;
    const char *const name = v->ck.layer[index].name;
    SQ_CLOSED(sq_product_free) struct sq_product p = {.source = name};
    if (!q->format->routes || !q->format->routes->chip)
        return SQ_FAIL(
            err, SQ_ERR_UNSUPPORTED,
            "layer %.60s is kept as the values that its file stores, which the chip does not "
            "take: --layer leaves it out",
            name);
    v->format = q->format;
    const struct sq_recipe *const r = sq_recipe_of_layer(&v->r, name);
    SQ_TRY(v->ring ? sq_chip_program_add(v->ring, q, r, name, x, m, &p, err)
                   : sq_route_product(q, r, x, m, &p, err));
    if (!v->ring)
        SQ_TRY(take_product(v, name, &p, err));
    return SQ_OK;
}

// ---- a ring ---------------------------------------------------------------------------------------

// The ring with its descriptors, and all images behind it.
static int32_t *ring_memory(const struct sq_chip_program *g, size_t n_words)
{
    int32_t *const word = calloc(n_words, sizeof *word);
    for (uint32_t i = 0; word && i < g->ring.n; i++) {
        const struct sq_top_given *const image = &g->image[i];
        memcpy(word + i * SQ_SLOT_NBYTES / 4, image->word, SQ_DESC_WORDS * sizeof *word);
        memcpy(word + (image->descriptor - g->ring.base) / 4, image->word,
               image->n_words * sizeof *word);
    }
    return word;
}

static bool is_encoder(const struct sq_top_given *image)
{
    return ((uint32_t)image->word[SQ_DESC_KIND] & 0xffff) == SQ_DESC_KIND_ENCODE;
}

static enum sq_status put_ring(struct visit *v, struct sq_error *err)
{
    const struct sq_chip_program *const g = v->ring;
    const size_t n_words = (g->end - g->ring.base) / 4;
    int32_t *const word = ring_memory(g, n_words);
    json_t *const layers = json_array();
    SQ_NEED(word, err, "an image of %zu words", n_words);
    for (uint32_t i = 0; i < g->ring.n; i++)
        json_array_append_new(
            layers,
            is_encoder(&g->image[i])
                ? describe_encoder(v, &g->layer[i].p, g->point.value, &g->image[i])
                : describe(v, g->layer[i].name, &g->layer[i].p, g->point.value, &g->image[i]));
    const struct sq_cli_column row[] = {
        SQ_KEYS("ring_base", g->ring.base, "ring_size", g->ring.size, "tail", g->ring.n),
        SQ_KEYS("bytes", 4 * (uint64_t)n_words, "digest", digest_of(word, n_words)),
        SQ_KEYS("layers", layers), SQ_COLUMNS_END};
    v->json = sq_cli_object(row);
    enum sq_status status = write_image(v, "ring", word, n_words, err);
    for (uint32_t i = 0; i < g->ring.n && status == SQ_OK; i++)
        status = check_memory(v, &g->image[i], err);
    for (uint32_t i = 0; i < g->ring.n && status == SQ_OK && !v->in->is_json; i++)
        print_layer(v, &g->layer[i].p, g->layer[i].name, &g->image[i]);
    if (status == SQ_OK && v->in->is_json)
        sq_cli_json_line(json_incref(v->json));
    json_decref(v->json);
    free(word);
    v->n = g->ring.n;
    v->nbytes = 4 * (uint64_t)n_words;
    return status;
}

static enum sq_status run_ring(struct visit *v, const struct sq_encoded_options *o, bool *is_real,
                               struct sq_error *err)
{
    v->ring = calloc(1, sizeof *v->ring);
    SQ_NEED(v->ring, err, "a ring of layers");
    v->ring->chip = v->in->chip;
    v->ring->source = (enum sq_program_source)v->in->encode;
    v->ring->chip.encodes = v->in->encode != SQ_PROGRAM_CODED;
    v->ring->chip.moves_codes = v->in->encode == SQ_PROGRAM_CODES;
    v->ring->rows = (unsigned)v->in->rows;
    v->ring->cols = (unsigned)v->in->cols;
    enum sq_status status = sq_encoded_layers(&v->ck, o, visit_layer, v, is_real, err);
    if (status == SQ_OK && v->ring->value_mismatches > 0)
        status = SQ_FAIL(err, SQ_ERR_INTERNAL, "%.160s", v->ring->difference);
    SQ_THEN(status, put_ring(v, err));
    sq_chip_program_free(v->ring);
    free(v->ring);
    return status;
}

// ---- a token --------------------------------------------------------------------------------------

static enum sq_status visit_token(void *context, size_t index, const struct sq_quant_layer *q,
                                  const float *x, size_t m, struct sq_error *err)
{
    struct visit *const v = context;
    (void)x, (void)m;
    v->n++;
    return sq_token_layer(v->token, index, q, err);
}

static enum sq_status put_token(struct visit *v, const struct sq_token_program *p,
                                struct sq_error *err)
{
    uint64_t n[SQ_TOKEN_PARTS] = {0};
    json_t *const parts = json_object();
    for (uint32_t i = 0; i < p->n; i++)
        n[p->part[i]]++;
    for (unsigned i = 0; i < SQ_TOKEN_PARTS; i++)
        json_object_set_new(parts, sq_token_part_names[i], json_integer((json_int_t)n[i]));
    const struct sq_cli_column row[] = {
        SQ_KEYS("format", v->format->name, "base", p->base),
        SQ_MEMBERS(sq_cli_parameters_json(&sq_top_block, p->value)),
        SQ_KEYS("bytes", 4 * (uint64_t)p->n_words, "digest", digest_of(p->word, p->n_words)),
        SQ_KEYS("descriptors", p->n, "positions", p->positions),
        SQ_KEYS("vocabulary", p->vocab, "parts", parts),
        SQ_COLUMNS_END};
    v->json = sq_cli_object(row);
    const enum sq_status status = write_image(v, "token", p->word, p->n_words, err);
    if (status == SQ_OK && v->in->is_json)
        sq_cli_json_line(json_incref(v->json));
    for (unsigned i = 0; i < SQ_TOKEN_PARTS && status == SQ_OK && !v->in->is_json; i++)
        printf("%-10s %4llu descriptors\n", sq_token_part_names[i], (unsigned long long)n[i]);
    if (status == SQ_OK && !v->in->is_json)
        printf("%u descriptors, one doorbell a token, %zu positions\n", p->n, p->positions);
    json_decref(v->json);
    v->nbytes = 4 * (uint64_t)p->n_words;
    return status;
}

static enum sq_status run_token(struct visit *v, const struct sq_encoded_options *o, bool *is_real,
                                struct sq_error *err)
{
    struct sq_chip_linear chip = {
        .chip = v->in->chip, .rows = (unsigned)v->in->rows, .cols = (unsigned)v->in->cols};
    SQ_CLOSED(sq_token_program_free) struct sq_token_program p = {0};
    if (chip.chip.attend == 0)
        chip.chip.attend = sq_token_cache(v->in->cache);
    enum sq_status status =
        sq_token_begin(&v->token, &v->ck, &v->r, &chip, (size_t)v->in->positions, &p, err);
    SQ_THEN(status, sq_encoded_layers(&v->ck, o, visit_token, v, is_real, err));
    SQ_THEN(status, sq_token_end(v->token, err));
    SQ_THEN(status, put_token(v, &p, err));
    sq_token_builder_free(v->token);
    return status;
}

static enum sq_status run(struct visit *v, const char *model, bool *is_real, struct sq_error *err)
{
    SQ_FREED uint8_t *is_wanted = NULL;
    size_t n;
    SQ_TRY(sq_cli_layers(&v->ck, v->in->layer, &is_wanted, &n, err));
    const struct sq_encoded_options o = {.recipe = &v->r,
                                         .model = model,
                                         .source = &v->in->source,
                                         .calib = v->in->calib,
                                         .file = v->weights ? &v->file : NULL,
                                         .m = v->in->m,
                                         .seed = v->in->seed,
                                         .is_wanted = is_wanted};
    return v->in->check && !v->in->is_ring && n != 1
               ? SQ_FAIL(err, SQ_ERR_ARG,
                         "--check of %zu layers, need one (--layer), or a ring of them (--ring)", n)
           : v->in->is_token ? run_token(v, &o, is_real, err)
           : v->in->is_ring  ? run_ring(v, &o, is_real, err)
                             : sq_encoded_layers(&v->ck, &o, visit_layer, v, is_real, err);
}

static int summary(const struct visit *v, bool is_real)
{
    if (v->in->is_json) {
        const bool is_checked = v->in->check != NULL;
        const struct sq_cli_value none = sq_cli_string(NULL);
        const struct sq_cli_column row[] = {
            SQ_KEYS("layers", v->n, "bytes", v->nbytes),
            SQ_KEYS("wrong", is_checked ? sq_cli_count(v->n_wrong) : none),
            SQ_KEYS("words", is_checked ? sq_cli_count(v->n_words) : none),
            SQ_KEYS("first_wrong", v->n_wrong ? json_pack("{s:I, s:I, s:I}", "address",
                                                          (json_int_t)v->first.address, "got",
                                                          (json_int_t)v->first.got, "expected",
                                                          (json_int_t)v->first.expected)
                                              : json_null()),
            SQ_COLUMNS_END};
        sq_cli_put_summary(row, sq_cli_provenance(is_real ? "real" : "synthetic inputs",
                                                  "golden model", v->in->seed));
    } else if (v->n_wrong) {
        printf(
            "FAIL: %zu of %zu words of outputs differ, the first at 0x%08llx: got 0x%08x, expected "
            "0x%08x\n",
            v->n_wrong, v->n_words, (unsigned long long)v->first.address, v->first.got,
            v->first.expected);
    } else if (v->in->check) {
        printf("PASS: %zu words of outputs are those of the layer\n", v->n_words);
    } else {
        printf("%zu layers, %llu bytes\n", v->n, (unsigned long long)v->nbytes);
    }
    return sq_cli_finish("image", v->n_wrong ? SQ_EXIT_CHECK_FAILED : SQ_EXIT_OK);
}

// ---- a kernel trace -------------------------------------------------------------------------------

// It brings its format and its tokens.
static enum sq_status check_trace(const struct arguments *in, struct sq_error *err)
{
    const char *const option = in->layer           ? "--layer"
                               : in->has_m         ? "--m"
                               : in->source.tokens ? "--tokens"
                               : in->calib         ? "--calib"
                               : in->weights       ? "--weights"
                               : in->is_ring       ? "--ring"
                               : in->is_token      ? "--token"
                               : in->encode        ? "--encode"
                               : in->options.is_format_given || in->options.given.n > 0
                                   ? "a format option"
                                   : NULL;
    if (!option)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_ARG,
                   "TRACE = %.60s with %s, need a trace with no options but --rows, --cols, "
                   "--depth, --machine, --base, --output, --check, --json",
                   in->model, option);
}

// The file's name without folder and ending.
static void stem_of(const char *path, char *name, size_t size)
{
    const char *const slash = strrchr(path, '/'), *const file = slash ? slash + 1 : path;
    const char *const dot = strrchr(file, '.');
    snprintf(name, size, "%.*s", (int)(dot ? (size_t)(dot - file) : strlen(file)), file);
}

static enum sq_status image_of_trace(struct visit *v, struct sq_trace *t, struct sq_error *err)
{
    char name[NAME_MAX + 1];
    stem_of(t->p.source, name, sizeof name);
    v->format = t->format;
    SQ_TRY(sq_trace_put_output(t, err));
    SQ_TRY(sq_trace_values(t, err));
    return take_product(v, name, &t->p, err);
}

static enum sq_status run_trace(struct visit *v, bool *is_real, struct sq_error *err)
{
    SQ_CLOSED(sq_trace_close) struct sq_trace t = {0};
    SQ_TRY(check_trace(v->in, err));
    SQ_TRY(sq_trace_open(&t, v->in->model, err));
    const char *const source = sq_safetensors_metadata(&t.st, "source");
    *is_real = source && strcmp(source, "real") == 0;
    sq_outset_begin();
    return sq_outset_end(image_of_trace(v, &t, err), err);
}

// ---- a model --------------------------------------------------------------------------------------

// The recipe of the options, or of the file.
static enum sq_status take_recipe(struct visit *v, struct sq_error *err)
{
    if (!v->weights)
        return sq_cli_recipe(&v->in->options, &v->r, err);
    SQ_TRY(sq_cli_weights_open(&v->in->options, v->weights, v->in->calib != NULL, &v->file, err));
    v->r = v->file.recipe;
    return !sq_is_as_stored(&v->r)
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                         "no format holds the codes of '%.60s' (%.150s): the chip "
                         "does not take them",
                         v->weights, v->file.why);
}

static enum sq_status run_model(struct visit *v, bool *is_real, struct sq_error *err)
{
    const char *const model = sq_cli_model(v->in->model);
    v->weights = v->in->weights                                          ? v->in->weights
                 : sq_cli_has_own_weights(&v->in->options, v->in->model) ? v->in->model
                                                                         : NULL;
    if (v->in->encode && !v->in->is_ring)
        return SQ_FAIL(err, SQ_ERR_ARG, "--encode needs --ring");
    const char *const other = v->in->is_ring ? "ring"
                              : v->in->layer ? "layer"
                              : v->in->check ? "check"
                                             : NULL;
    if (v->in->is_token && other)
        return SQ_FAIL(err, SQ_ERR_ARG, "--token with --%s, need the whole model", other);
    if (v->in->has_cache && !v->in->is_token)
        return SQ_FAIL(err, SQ_ERR_ARG, "--kv-format has no use without --token");
    SQ_TRY(take_recipe(v, err));
    v->format = v->r.format;
    SQ_TRY(sq_route_on_chip(v->format, err));
    SQ_TRY(sq_cli_routes_check(&v->r, err));
    SQ_TRY(sq_checkpoint_open(&v->ck, model, err));
    sq_outset_begin();
    SQ_TRY(sq_outset_end(run(v, model, is_real, err), err));
    if (!v->weights)
        sq_cli_note_quantized("image", &v->ck);
    sq_cli_note_weights("image", &v->file);
    return SQ_OK;
}

// The chip that the options describe.
static enum sq_status take_chip(struct arguments *in, struct sq_error *err)
{
    const uint64_t base = in->chip.base;
    in->chip.depth = in->depth;
    if (!in->machine)
        return SQ_OK;
    if (in->has_rows || in->has_cols || in->has_depth)
        return SQ_FAIL(err, SQ_ERR_ARG, "--machine with --%s, which it says itself",
                       in->has_rows   ? "rows"
                       : in->has_cols ? "cols"
                                      : "depth");
    SQ_TRY(sq_machine_load(in->machine, &in->of_chip, err));
    SQ_TRY(sq_machine_chip(&in->of_chip, &in->chip, err));
    in->chip.base = base;
    in->rows = in->of_chip.core.rows;
    in->cols = in->of_chip.core.cols;
    return SQ_OK;
}

int sq_cmd_image(int argc, char **argv)
{
    static const struct sq_cli_line line = {rows, "[MODEL | TRACE]", doc};
    struct arguments in = {.options = sq_cli_options_default(SQ_IN_EVAL),
                           .m = 8,
                           .rows = 2,
                           .cols = 2,
                           .positions = 256,
                           .seed = 1};
    struct sq_error err;
    struct visit v = {.in = &in};
    bool is_real = false;
    if (sq_cli_parse(&line, argc, argv, &in, &err) != SQ_OK || take_chip(&in, &err) != SQ_OK)
        return sq_cli_fail("image", &err);
    const bool is_trace = in.model && sq_trace_is(in.model);
    const enum sq_status status =
        is_trace ? run_trace(&v, &is_real, &err) : run_model(&v, &is_real, &err);
    sq_layer_file_close(&v.file);
    sq_checkpoint_close(&v.ck);
    return status == SQ_OK ? summary(&v, is_real) : sq_cli_fail("image", &err);
}
