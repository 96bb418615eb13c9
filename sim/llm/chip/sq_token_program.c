// SPDX-License-Identifier: Apache-2.0
// Lays the program of a token out (sq_token_program.h).
#include "sim/llm/chip/sq_token_program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "sim/block/top/sq_encode_sim.h"
#include "sim/block/vector/sq_top_attend.h"
#include "sim/block/vector/sq_vector_steps.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/llm/sq_llama.h"

enum { Q, K, V, O, GATE, UP, DOWN, N_LINEAR };
enum { PER_BLOCK = 56, BESIDE = 16, ALIGN = 64, NAME_SIZE = 96 };

// The image of a layer, in its place; its descriptor is not in the ring yet.
struct placed {
    struct sq_top_layer layer;
    uint64_t out;
};

struct sq_token_builder {
    struct sq_token_program *p;
    const struct sq_checkpoint *ck;
    struct placed *placed; // [ck->n_layers]
    const struct sq_recipe *recipe;
    struct sq_chip_linear chip;
    size_t room;
    uint32_t nbytes, rows, cols; // of a beat, of a tile
    uint32_t patches;
    uint64_t h, x, plain, scratch; // rows of binary32 but x: tiles of bfloat16
    uint64_t rotation;
    bool has_no_values;
    uint64_t keys, values; // of the block at hand, [positions][heads][head_dim] of binary16
};

// ---- memory -----------------------------------------------------------------------------------------

static int32_t *words_at(const struct sq_token_program *p, uint64_t addr)
{
    return p->word + (addr - p->base) / 4;
}

// Zeros, from a multiple of `align` on.
static enum sq_status reserve(struct sq_token_builder *b, uint64_t nbytes, uint64_t align,
                              uint64_t *addr, struct sq_error *err)
{
    struct sq_token_program *const p = b->p;
    const uint64_t first = (4 * (uint64_t)p->n_words + align - 1) / align * align;
    const uint64_t n = (first + nbytes + ALIGN - 1) / ALIGN * (ALIGN / 4);
    // Addresses that follow from a token are sums of 32 bits.
    SQ_FAIL_IF(p->base / (UINT64_C(1) << 32) != (p->base + 4 * n - 1) / (UINT64_C(1) << 32), err,
               SQ_ERR_RANGE,
               "the program of a token has %llu bytes from %#llx on, need an image that "
               "crosses no multiple of 4 GiB",
               4ull * (unsigned long long)n, (unsigned long long)p->base);
    *addr = p->base + first;
    if (b->has_no_values) { // no more than header, ring and patches is there
        p->n_words = n;
        return SQ_OK;
    }
    if (n > b->room) {
        const size_t room = n + n / 2;
        int32_t *const word = realloc(p->word, room * sizeof *word);
        SQ_NEED(word, err, "an image of %zu words", room);
        p->word = word;
        b->room = room;
    }
    memset(p->word + p->n_words, 0, (n - p->n_words) * sizeof *p->word);
    p->n_words = n;
    return SQ_OK;
}

static size_t padded(const struct sq_token_builder *b, size_t n)
{
    return (n + b->cols - 1) / b->cols * b->cols;
}

// A row of n elements of binary32, and zeros up to a multiple of a tile's columns.
static enum sq_status reserve_row(struct sq_token_builder *b, size_t n, const float *x,
                                  uint64_t *addr, struct sq_error *err)
{
    SQ_TRY(reserve(b, 4 * padded(b, n), ALIGN, addr, err));
    if (x && !b->has_no_values)
        memcpy(words_at(b->p, *addr), x, n * sizeof *x);
    return SQ_OK;
}

static enum sq_status tensor_row(struct sq_token_builder *b, const char *name, size_t n,
                                 bool is_gain, uint64_t *addr, struct sq_error *err)
{
    if (b->has_no_values)
        return reserve_row(b, n, NULL, addr, err);
    SQ_FREED float *const x = malloc(n * sizeof *x);
    SQ_NEED(x, err, "%zu elements of %s", n, name);
    SQ_TRY(sq_checkpoint_read(b->ck, name, x, n, err));
    for (size_t i = 0; is_gain && i < n; i++)
        x[i] += b->ck->config.has_offset_gain ? 1.0f : 0.0f;
    return reserve_row(b, n, x, addr, err);
}

// ---- descriptors ------------------------------------------------------------------------------------

static uint32_t *add(struct sq_token_builder *b, enum sq_token_part part)
{
    struct sq_token_program *const p = b->p;
    p->part[p->n] = (uint8_t)part;
    return (uint32_t *)p->word + (SQ_DRIVER_TOKEN_RING_NBYTES + p->n++ * SQ_SLOT_NBYTES) / 4;
}

static void add_pass(struct sq_token_builder *b, enum sq_token_part part,
                     const struct sq_tv_layer l)
{
    sq_tv_encode(&l, add(b, part));
}

// The low half of the address in word `low` of the last descriptor becomes base + stride * what.
static void patch(struct sq_token_builder *b, unsigned low, uint64_t base, uint64_t stride,
                  bool by_position)
{
    struct sq_token_program *const p = b->p;
    int32_t *const to = p->word + p->word[SQ_DRIVER_TOKEN_PATCHES] / 4 + 4 * (size_t)b->patches++;
    to[0] = (int32_t)(SQ_DRIVER_TOKEN_RING_NBYTES + (p->n - 1) * SQ_SLOT_NBYTES + 4 * low);
    to[1] = (int32_t)(uint32_t)base;
    to[2] = (int32_t)(uint32_t)stride;
    to[3] = by_position;
}

static struct sq_vector_rows row(uint64_t at)
{
    return (struct sq_vector_rows){.at = at};
}

// A token is a row of each tile's columns; of tiles of one row it is one row of n elements.
static size_t slice(const struct sq_token_builder *b, size_t n)
{
    return b->rows == 1 ? padded(b, n) : b->cols;
}

// A row of binary32 in such slices; the first token of tiles of bfloat16 likewise.
static struct sq_vector_rows slices(const struct sq_token_builder *b, uint64_t at)
{
    return (struct sq_vector_rows){.at = at, .stride = 4 * b->cols / b->nbytes};
}

static struct sq_vector_rows tiles(const struct sq_token_builder *b, uint64_t at)
{
    return (struct sq_vector_rows){
        .at = at, .stride = 2 * b->rows * b->cols / b->nbytes, .half = true};
}

static const struct sq_vector_rows nothing;

// f(a b + c) of n elements, in slices.
static void add_slices(struct sq_token_builder *b, enum sq_token_part part, enum sq_vector_func f,
                       size_t n, struct sq_vector_rows a, struct sq_vector_operand with,
                       struct sq_vector_operand plus, struct sq_vector_rows y)
{
    add_pass(b, part, sq_vector_pass(f, padded(b, n) / slice(b, n), slice(b, n), a, with, plus, y));
}

// `heads` rows of n elements at x, beside one another, each over its rms and times the gain: in place, or as the
// first token of tiles.
static void add_norm(struct sq_token_builder *b, uint64_t x, size_t heads, size_t n, uint64_t gain,
                     bool is_tiled, uint64_t y)
{
    const struct sq_vector_operand zero = sq_vector_constant(0.0f);
    const float eps = (float)b->ck->config.rms_norm_eps;
    const uint32_t stride = (uint32_t)(4 * n / b->nbytes);
    const struct sq_vector_rows from = {.at = x, .stride = heads > 1 ? stride : 0};
    const struct sq_vector_rows to = {.at = b->plain, .stride = from.stride};
    const struct sq_vector_rows sum = {.at = b->scratch, .stride = 1};
    add_pass(b, SQ_TOKEN_NORM,
             sq_vector_reduce(SQ_TV_SUM, heads, n, from,
                              (struct sq_vector_operand){SQ_TV_FROM_A, nothing}, sum.at));
    add_pass(b, SQ_TOKEN_NORM,
             sq_vector_pass(SQ_VECTOR_RSQRT, heads, 1, sum, sq_vector_constant(1.0f / (float)n),
                            sq_vector_constant(eps), sum));
    add_pass(b, SQ_TOKEN_NORM,
             sq_vector_pass(SQ_VECTOR_PLAIN, heads, n, from, sq_vector_one(sum), zero, to));
    if (is_tiled)
        add_slices(b, SQ_TOKEN_NORM, SQ_VECTOR_PLAIN, n, slices(b, b->plain),
                   sq_vector_each(slices(b, gain)), zero, tiles(b, y));
    else
        add_pass(b, SQ_TOKEN_NORM,
                 sq_vector_pass(SQ_VECTOR_PLAIN, heads, n, to, sq_vector_each(row(gain)), zero,
                                (struct sq_vector_rows){.at = y, .stride = from.stride}));
}

// The same pass with y in the cache: n elements of binary16 a row, from that element of the position on.
static void add_to_cache(struct sq_token_builder *b, enum sq_token_part part, struct sq_tv_layer l,
                         uint64_t cache, size_t element, size_t stride)
{
    const struct sq_model_config *const c = &b->ck->config;
    l.y = SQ_TV_BINARY16;
    l.addr[SQ_TV_Y] = cache + 2 * element;
    l.stride[SQ_TV_Y] = (uint32_t)(2 * stride / b->nbytes);
    add_pass(b, part, l);
    patch(b, SQ_DESC_OUT, l.addr[SQ_TV_Y], 2 * c->n_kv_heads * c->head_dim, true);
}

static bool has_int8(const struct sq_token_builder *b)
{
    return sq_ta_unit_of(b->chip.chip.attend).is_int8;
}

// A head's row in the cache, of a key or a value.
static size_t cached_nbytes(const struct sq_token_builder *b)
{
    const size_t n = b->ck->config.head_dim;
    return has_int8(b) ? n + b->nbytes : 2 * n;
}

// Rows of the key heads at x to their place in a cache of INT8 (SPEC R.5).
static void add_int8(struct sq_token_builder *b, uint64_t x, uint64_t cache)
{
    const size_t heads = b->ck->config.n_kv_heads, n = b->ck->config.head_dim;
    const uint32_t stride = (uint32_t)(cached_nbytes(b) / b->nbytes);
    const struct sq_vector_rows from = {.at = x, .stride = (uint32_t)(4 * n / b->nbytes)},
                                one = {.at = b->scratch, .stride = 1};
    const struct sq_vector_operand itself = {SQ_TV_FROM_A, nothing};
    struct sq_tv_layer last[2] = {
        sq_vector_pass(SQ_VECTOR_RECIPROCAL, heads, 1, one, sq_vector_constant(1.0f),
                       sq_vector_constant(0.0f),
                       (struct sq_vector_rows){.at = cache, .stride = stride}),
        sq_vector_pass(SQ_VECTOR_PLAIN, heads, n, from, sq_vector_one(one),
                       sq_vector_constant(SQ_ATTEND_INTEGER),
                       (struct sq_vector_rows){.at = cache + b->nbytes, .stride = stride})};
    last[0].y = SQ_TV_BINARY16;
    last[1].y = SQ_TV_BYTE;
    add_pass(b, SQ_TOKEN_ATTENTION,
             sq_vector_reduce(SQ_TV_LARGEST, heads, n, from, itself, one.at));
    add_pass(b, SQ_TOKEN_ATTENTION,
             sq_vector_pass(SQ_VECTOR_RSQRT, heads, 1, one, sq_vector_constant(SQ_ATTEND_SQUARE),
                            sq_vector_constant(SQ_ATTEND_LEAST), one));
    for (unsigned i = 0; i < 2; i++) {
        add_pass(b, SQ_TOKEN_ATTENTION, last[i]);
        patch(b, SQ_DESC_OUT, last[i].addr[SQ_TV_Y], heads * cached_nbytes(b), true);
    }
}

// Heads at x to y, by the rotation of the token: cosines, sines, negative sines. cache: and from there to the cache; 0: not.
static void add_rotary(struct sq_token_builder *b, uint64_t x, size_t heads, uint64_t y,
                       uint64_t cache)
{
    const size_t n = b->ck->config.head_dim, half = n / 2;
    const uint32_t stride = (uint32_t)(4 * n / b->nbytes);
    const struct sq_vector_operand zero = sq_vector_constant(0.0f);
    const struct sq_vector_operand c = sq_vector_each(row(b->rotation)),
                                   s = sq_vector_each(row(b->rotation + 4 * half)),
                                   m = sq_vector_each(row(b->rotation + 8 * half));
    for (unsigned i = 0; i < 2; i++) {
        const struct sq_vector_rows own = {.at = x + 4 * half * i, .stride = stride},
                                    other = {.at = x + 4 * half * !i, .stride = stride},
                                    to = {.at = y + 4 * half * i, .stride = stride};
        const struct sq_tv_layer last =
            sq_vector_pass(SQ_VECTOR_PLAIN, heads, half, other, i ? s : m, sq_vector_each(to), to);
        add_pass(b, SQ_TOKEN_ROTARY,
                 sq_vector_pass(SQ_VECTOR_PLAIN, heads, half, own, c, zero, to));
        if (cache)
            add_to_cache(b, SQ_TOKEN_ROTARY, last, cache, half * i, n);
        else
            add_pass(b, SQ_TOKEN_ROTARY, last);
    }
}

// ---- layers -----------------------------------------------------------------------------------------

static enum sq_status check(const struct sq_token_builder *b, struct sq_error *err)
{
    const struct sq_model_config *const c = &b->ck->config;
    SQ_FAIL_IF(c->is_geglu || c->has_post_norm || c->logit_cap > 0 || c->local_window > 0, err,
               SQ_ERR_UNSUPPORTED, "the program of a token has no %s, which this model has",
               c->is_geglu        ? "GELU"
               : c->has_post_norm ? "norm after a layer"
               : c->logit_cap > 0 ? "cap of logits"
                                  : "second rotary embedding");
    const size_t codes = b->nbytes; // rotary embedding writes halves of keys in binary16
    SQ_FAIL_IF((b->rows > 1 && 2 * b->cols % b->nbytes != 0) || c->head_dim % codes != 0 ||
                   4 * c->hidden_size % b->nbytes != 0 || c->vocab_size > UINT16_MAX,
               err, SQ_ERR_RANGE,
               "tiles of %u x %u, heads of %zu, states of %zu, %zu tokens: need one row or "
               "columns of a multiple of %u, heads of %zu, states of %u, at most %d tokens "
               "for the program of a token",
               b->rows, b->cols, c->head_dim, c->hidden_size, c->vocab_size, b->nbytes / 2, codes,
               b->nbytes / 4, UINT16_MAX);
    return SQ_OK;
}

// The chip of the program is that of its first layer, and of all others.
static enum sq_status take_point(struct sq_token_builder *b, const char *name,
                                 const unsigned *value, const struct sq_env_choice *memory,
                                 struct sq_error *err)
{
    struct sq_token_program *const p = b->p;
    if (b->nbytes == 0) {
        memcpy(p->value, value, sizeof p->value);
        p->memory = *memory;
        p->memory.given = NULL;
        b->nbytes = p->value[SQ_TOP_DATA_W] / 8;
        b->rows = p->value[SQ_TOP_ROWS];
        b->cols = p->value[SQ_TOP_COLS];
        SQ_TRY(check(b, err));
    }
    p->value[SQ_TOP_PARTS] |= value[SQ_TOP_PARTS];
    for (size_t i = 0; sq_top_block.param[i]; i++)
        SQ_FAIL_IF(i != SQ_TOP_PARTS && p->value[i] != value[i], err, SQ_ERR_UNSUPPORTED,
                   "layer %.60s needs a chip of %s = %u, those before it %u", name,
                   sq_top_block.param[i], value[i], p->value[i]);
    return SQ_OK;
}

// The image of a layer without its words.
static enum sq_status place_layer(struct sq_token_builder *b, size_t index,
                                  const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_layer *const of = &b->ck->layer[index];
    const uint64_t mnk[3] = {1, of->n, of->k};
    const uint64_t base = b->chip.chip.base;
    struct placed *const l = &b->placed[index];
    struct sq_chip_layer c;
    uint64_t at;
    SQ_TRY(sq_chip_layer_of(r, &b->chip.chip, b->chip.rows, b->chip.cols, mnk, &c, err));
    SQ_TRY(take_point(b, of->name, c.value, &c.memory, err));
    l->layer = c.layer;
    l->out = c.layer.addr[SQ_TOP_STORE];
    const uint64_t end = l->out + sq_top_nbytes(c.value, &c.layer, SQ_TOP_STORE);
    return reserve(b, (end - base + SQ_AXI_PAGE - 1) / SQ_AXI_PAGE * SQ_AXI_PAGE, SQ_AXI_PAGE, &at,
                   err);
}

// A layer of one token of zeros.
static enum sq_status put_layer(struct sq_token_builder *b, size_t index,
                                const struct sq_quant_layer *q, const struct sq_recipe *r,
                                struct sq_error *err)
{
    const char *const name = b->ck->layer[index].name;
    struct placed *const l = &b->placed[index];
    SQ_CLOSED(sq_linear_image_free) struct sq_linear_image image = {0};
    SQ_FREED float *const zeros = calloc(q->k_orig, sizeof *zeros);
    uint64_t at;
    SQ_NEED(zeros, err, "a token of %zu zeros", (size_t)q->k_orig);
    SQ_TRY(sq_linear_image_make(&b->chip, q, r, name, zeros, 1, &image, err));
    SQ_TRY(take_point(b, name, image.point.value, &image.stream.env, err));
    SQ_TRY(reserve(b, 4 * (uint64_t)image.given->n_words, SQ_AXI_PAGE, &at, err));
    l->layer = image.layer;
    l->out = image.given->out;
    memcpy(words_at(b->p, at), image.given->word, image.given->n_words * sizeof *image.given->word);
    return SQ_OK;
}

enum sq_status sq_token_layer(struct sq_token_builder *b, size_t index,
                              const struct sq_quant_layer *q, struct sq_error *err)
{
    const char *const name = b->ck->layer[index].name;
    const struct sq_recipe *const r = sq_recipe_of_layer(b->recipe, name);
    if (sq_recipe_is_reference(r) || r->is_smooth)
        return SQ_FAIL(
            err, SQ_ERR_UNSUPPORTED,
            "layer %.60s: the program of a token takes a format, and inputs that are not "
            "divided (--smooth)",
            name);
    SQ_TRY(reserve(b, 0, SQ_AXI_PAGE, &b->chip.chip.base, err));
    return b->has_no_values ? place_layer(b, index, r, err) : put_layer(b, index, q, r, err);
}

// The activations of such a layer from the tiles at x.
static void add_encoder(struct sq_token_builder *b, const struct placed *l, size_t k)
{
    const struct sq_encode_layer e = {
        .addr = {b->x, l->layer.addr[SQ_TOP_ACT], l->layer.addr[SQ_TOP_ROW_SCALE]},
        .rows = l->layer.tiles[0],
        .cols = (uint32_t)(padded(b, k) / b->cols),
        .beats = sq_top_act_beats(&l->layer)};
    sq_encode_encode(&e, add(b, SQ_TOKEN_ENCODE));
}

// With the activations that the encoder wrote for `of`.
static void add_layer(struct sq_token_builder *b, enum sq_token_part part, const struct placed *l,
                      const struct placed *of)
{
    struct sq_top_layer with = l->layer;
    with.addr[SQ_TOP_ACT] = of->layer.addr[SQ_TOP_ACT];
    with.addr[SQ_TOP_ROW_SCALE] = of->layer.addr[SQ_TOP_ROW_SCALE];
    sq_top_layer_encode(&with, add(b, part));
}

// The outputs of a layer, with its bias, as a row.
static enum sq_status copy_of(struct sq_token_builder *b, size_t index, const struct placed *l,
                              uint64_t y, struct sq_tv_layer *pass, struct sq_error *err)
{
    const struct sq_layer *const of = &b->ck->layer[index];
    struct sq_vector_operand bias = sq_vector_constant(0.0f);
    if (of->bias) {
        uint64_t at;
        SQ_TRY(reserve_row(b, of->n, NULL, &at, err));
        if (!b->has_no_values)
            SQ_TRY(sq_tensor_read_f32(of->bias, (float *)words_at(b->p, at), err));
        bias = sq_vector_each(slices(b, at));
    }
    *pass = sq_vector_pass(SQ_VECTOR_PLAIN, padded(b, of->n) / slice(b, of->n), slice(b, of->n),
                           tiles(b, l->out), sq_vector_constant(1.0f), bias, slices(b, y));
    return SQ_OK;
}

static void add_residual(struct sq_token_builder *b, const struct placed *l)
{
    const struct sq_vector_rows h = slices(b, b->h);
    add_slices(b, SQ_TOKEN_RESIDUAL, SQ_VECTOR_PLAIN, b->ck->config.hidden_size, h,
               sq_vector_constant(1.0f), sq_vector_each(tiles(b, l->out)), h);
}

// ---- a block ----------------------------------------------------------------------------------------

static enum sq_status block_gain(struct sq_token_builder *b, size_t block, const char *which,
                                 size_t n, uint64_t *addr, struct sq_error *err)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "model.layers.%zu.%s.weight", block, which);
    return tensor_row(b, name, n, true, addr, err);
}

// Queries in q, which are scaled in place, over the cache to y: a descriptor for as many queries of a key head as the unit has.
static void add_attention(struct sq_token_builder *b, uint64_t q, uint64_t y)
{
    const struct sq_model_config *const c = &b->ck->config;
    const size_t d = c->head_dim, group = c->n_heads / c->n_kv_heads;
    const size_t most = sq_ta_unit_of(b->chip.chip.attend).heads;
    const uint32_t stride = (uint32_t)(4 * d / b->nbytes);
    const uint32_t cache = (uint32_t)(c->n_kv_heads * cached_nbytes(b) / b->nbytes);
    add_pass(b, SQ_TOKEN_ATTENTION,
             sq_vector_pass(SQ_VECTOR_PLAIN, 1, c->n_heads * d, row(q),
                            sq_vector_constant(1 / sqrtf((float)c->query_scale)),
                            sq_vector_constant(0.0f), row(q)));
    for (size_t head = 0, n; head < c->n_heads; head += n) {
        n = group - head % group < most ? group - head % group : most;
        const uint64_t at = 4 * d * head, of = cached_nbytes(b) * (head / group);
        const struct sq_ta_layer l = {.queries = (uint32_t)n,
                                      .size = (uint32_t)d,
                                      .keys = 1,
                                      .addr = {q + at, b->keys + of, b->values + of, y + at},
                                      .stride = {stride, cache, cache, stride}};
        sq_ta_encode(&l, add(b, SQ_TOKEN_ATTENTION));
        patch(b, SQ_DESC_BLOCK, 1, 1, true);
    }
}

static enum sq_status attention_half(struct sq_token_builder *b, size_t block,
                                     const struct placed l[N_LINEAR], struct sq_error *err)
{
    static const char *const norm[] = {"self_attn.q_norm", "self_attn.k_norm"};
    const struct sq_model_config *const c = &b->ck->config;
    const size_t heads[] = {c->n_heads, c->n_kv_heads}, width = c->n_heads * c->head_dim;
    const size_t cached = c->n_kv_heads * cached_nbytes(b) * b->p->positions;
    uint64_t gain, to, rotated, out;
    struct sq_tv_layer pass;
    SQ_TRY(block_gain(b, block, "input_layernorm", c->hidden_size, &gain, err));
    SQ_TRY(reserve(b, cached, ALIGN, &b->keys, err));
    SQ_TRY(reserve(b, cached, ALIGN, &b->values, err));
    SQ_TRY(reserve_row(b, width, NULL, &to, err));
    SQ_TRY(reserve_row(b, width, NULL, &rotated, err));
    SQ_TRY(reserve_row(b, width, NULL, &out, err));
    add_norm(b, b->h, 1, c->hidden_size, gain, true, b->x);
    add_encoder(b, &l[Q], c->hidden_size);
    for (unsigned i = Q; i <= V; i++)
        add_layer(b, SQ_TOKEN_QKV, &l[i], &l[Q]);
    SQ_TRY(copy_of(b, block * N_LINEAR + V, &l[V], to, &pass, err));
    if (has_int8(b)) {
        add_pass(b, SQ_TOKEN_ATTENTION, pass);
        add_int8(b, to, b->values);
    } else {
        add_to_cache(b, SQ_TOKEN_ATTENTION, pass, b->values, 0, b->cols);
    }
    for (unsigned i = K + 1; i-- > Q;) { // keys first: their rows are free then
        SQ_TRY(copy_of(b, block * N_LINEAR + i, &l[i], to, &pass, err));
        add_pass(b, SQ_TOKEN_ROTARY, pass);
        if (c->has_qk_norm) {
            SQ_TRY(block_gain(b, block, norm[i], c->head_dim, &gain, err));
            add_norm(b, to, heads[i], c->head_dim, gain, false, to);
        }
        add_rotary(b, to, heads[i], rotated, i == K && !has_int8(b) ? b->keys : 0);
        if (i == K && has_int8(b))
            add_int8(b, rotated, b->keys);
    }
    add_attention(b, rotated, out);
    add_slices(b, SQ_TOKEN_ATTENTION, SQ_VECTOR_PLAIN, width, slices(b, out),
               sq_vector_constant(1.0f), sq_vector_constant(0.0f), tiles(b, b->x));
    add_encoder(b, &l[O], width);
    add_layer(b, SQ_TOKEN_O, &l[O], &l[O]);
    add_residual(b, &l[O]);
    return SQ_OK;
}

static enum sq_status mlp_half(struct sq_token_builder *b, size_t block,
                               const struct placed l[N_LINEAR], struct sq_error *err)
{
    const struct sq_model_config *const c = &b->ck->config;
    const size_t n = c->intermediate_size;
    const struct sq_vector_operand zero = sq_vector_constant(0.0f), one = sq_vector_constant(1.0f);
    const struct sq_vector_rows gate = tiles(b, l[GATE].out), up = tiles(b, l[UP].out),
                                part = slices(b, b->plain);
    uint64_t gain;
    SQ_TRY(block_gain(b, block, "post_attention_layernorm", c->hidden_size, &gain, err));
    add_norm(b, b->h, 1, c->hidden_size, gain, true, b->x);
    add_encoder(b, &l[GATE], c->hidden_size);
    add_layer(b, SQ_TOKEN_GATE_UP, &l[GATE], &l[GATE]);
    add_layer(b, SQ_TOKEN_GATE_UP, &l[UP], &l[GATE]);
    add_slices(b, SQ_TOKEN_SILU, SQ_VECTOR_EXP, n, gate, sq_vector_constant(-1.0f), zero, part);
    add_pass(b, SQ_TOKEN_SILU,
             sq_vector_pass(SQ_VECTOR_RECIPROCAL, 1, n, row(b->plain), one, one, row(b->plain)));
    add_slices(b, SQ_TOKEN_SILU, SQ_VECTOR_PLAIN, n, gate, sq_vector_each(part), zero, part);
    add_slices(b, SQ_TOKEN_SILU, SQ_VECTOR_PLAIN, n, part, sq_vector_each(up), zero,
               tiles(b, b->x));
    add_encoder(b, &l[DOWN], n);
    add_layer(b, SQ_TOKEN_DOWN, &l[DOWN], &l[DOWN]);
    add_residual(b, &l[DOWN]);
    return SQ_OK;
}

// ---- all of it ----------------------------------------------------------------------------------------

static size_t largest_width(const struct sq_model_config *c)
{
    size_t n = c->n_heads * c->head_dim;
    n = c->hidden_size > n ? c->hidden_size : n;
    return c->intermediate_size > n ? c->intermediate_size : n;
}

// Cosines, sines and negative sines of every position.
static enum sq_status put_rotations(struct sq_token_builder *b, uint64_t *table,
                                    struct sq_error *err)
{
    const size_t n = b->ck->config.head_dim, half = n / 2, positions = b->p->positions;
    size_t offset[] = {0, 1};
    const struct sq_tokens one = {.n_sequences = 1, .offset = offset};
    SQ_CLOSED(sq_llama_free) struct sq_llama s = {0};
    SQ_TRY(reserve(b, 12 * half * positions, ALIGN, table, err));
    if (b->has_no_values)
        return SQ_OK;
    SQ_TRY(sq_llama_init_cached(&s, b->ck, &one, positions, err));
    float *to = (float *)words_at(b->p, *table);
    for (size_t i = 0; i < positions; i++, to += 3 * half) {
        memcpy(to, s.rotation + i * n, n * sizeof *to);
        for (size_t e = 0; e < half; e++)
            to[n + e] = -to[half + e];
    }
    return SQ_OK;
}

// Rows of the token and of its position, to a fixed place.
static enum sq_status add_embedding(struct sq_token_builder *b, uint64_t *embedding,
                                    struct sq_error *err)
{
    const struct sq_model_config *const c = &b->ck->config;
    const size_t width = c->hidden_size, angles = 3 * c->head_dim / 2;
    const struct sq_vector_operand zero = sq_vector_constant(0.0f);
    uint64_t table;
    SQ_TRY(
        tensor_row(b, "model.embed_tokens.weight", c->vocab_size * width, false, embedding, err));
    SQ_TRY(put_rotations(b, &table, err));
    SQ_TRY(reserve_row(b, angles, NULL, &b->rotation, err));
    add_pass(b, SQ_TOKEN_EMBED,
             sq_vector_pass(SQ_VECTOR_PLAIN, 1, width, row(*embedding),
                            sq_vector_constant((float)c->embedding_scale), zero, row(b->h)));
    patch(b, SQ_DESC_ACT, *embedding, 4 * width, false);
    add_pass(b, SQ_TOKEN_EMBED,
             sq_vector_pass(SQ_VECTOR_PLAIN, 1, angles, row(table), sq_vector_constant(1.0f), zero,
                            row(b->rotation)));
    patch(b, SQ_DESC_ACT, table, 4 * angles, true);
    return SQ_OK;
}

// The last norm, lm_head a row of it each, and the largest logit.
static enum sq_status add_head(struct sq_token_builder *b, uint64_t head, struct sq_error *err)
{
    struct sq_token_program *const p = b->p;
    const struct sq_model_config *const c = &b->ck->config;
    const size_t width = c->hidden_size;
    uint64_t gain, result;
    SQ_TRY(tensor_row(b, "model.norm.weight", width, true, &gain, err));
    add_norm(b, b->h, 1, width, gain, false, b->plain);
    if (!c->tie_word_embeddings)
        SQ_TRY(tensor_row(b, "lm_head.weight", c->vocab_size * width, false, &head, err));
    SQ_TRY(reserve(b, c->vocab_size * b->nbytes, ALIGN, &p->logits, err));
    SQ_TRY(reserve(b, b->nbytes, ALIGN, &result, err));
    add_pass(b, SQ_TOKEN_HEAD,
             sq_vector_reduce(
                 SQ_TV_SUM, c->vocab_size, width,
                 (struct sq_vector_rows){.at = head, .stride = (uint32_t)(4 * width / b->nbytes)},
                 sq_vector_each(row(b->plain)), p->logits));
    struct sq_tv_layer most = sq_vector_reduce(
        SQ_TV_INDEX, c->vocab_size, 1, (struct sq_vector_rows){.at = p->logits, .stride = 1},
        sq_vector_constant(1.0f), result);
    most.all = true;
    add_pass(b, SQ_TOKEN_HEAD, most);
    p->word[SQ_DRIVER_TOKEN_RESULT] = (int32_t)(result - p->base);
    return SQ_OK;
}

// Header, ring and patches, which are filled while the rest is laid out.
static enum sq_status begin(struct sq_token_builder *b, struct sq_error *err)
{
    struct sq_token_program *const p = b->p;
    const size_t blocks = b->ck->config.n_layers, heads = b->ck->config.n_heads;
    const size_t slots = (PER_BLOCK + heads) * blocks + BESIDE;
    uint64_t at;
    SQ_FAIL_IF(slots >= UINT16_MAX, err, SQ_ERR_RANGE,
               "%zu blocks of %zu heads, need at most %d descriptors in the program of a "
               "token",
               blocks, heads, UINT16_MAX);
    p->part = calloc(slots, 1);
    SQ_NEED(p->part, err, "a program of %zu descriptors", slots);
    SQ_TRY(reserve(b, SQ_DRIVER_TOKEN_RING_NBYTES + slots * SQ_SLOT_NBYTES, SQ_AXI_PAGE, &at, err));
    SQ_TRY(reserve(b, (2 + (4 + heads) * blocks) * 16, ALIGN, &at, err));
    p->word[SQ_DRIVER_TOKEN_PATCHES] = (int32_t)(at - p->base);
    b->has_no_values = b->chip.has_no_values;
    return SQ_OK;
}

static enum sq_status add_all(struct sq_token_builder *b, struct sq_error *err)
{
    const struct sq_model_config *const c = &b->ck->config;
    const struct placed *const l = b->placed;
    uint64_t head;
    SQ_TRY(reserve_row(b, c->hidden_size, NULL, &b->h, err));
    SQ_TRY(reserve_row(b, largest_width(c), NULL, &b->plain, err));
    SQ_TRY(reserve(b, c->n_heads * b->nbytes, ALIGN, &b->scratch, err));
    SQ_TRY(reserve(b, 2 * b->rows * padded(b, largest_width(c)), ALIGN, &b->x, err));
    SQ_TRY(add_embedding(b, &head, err));
    for (size_t i = 0; i < c->n_layers; i++) {
        SQ_TRY(attention_half(b, i, l + i * N_LINEAR, err));
        SQ_TRY(mlp_half(b, i, l + i * N_LINEAR, err));
    }
    return add_head(b, head, err);
}

enum sq_status sq_token_begin(struct sq_token_builder **builder, const struct sq_checkpoint *ck,
                              const struct sq_recipe *r, const struct sq_chip_linear *c,
                              size_t positions, struct sq_token_program *p, struct sq_error *err)
{
    struct sq_token_builder *const b = calloc(1, sizeof *b);
    *builder = b;
    *p = (struct sq_token_program){
        .base = c->chip.base, .positions = positions, .vocab = ck->config.vocab_size};
    SQ_NEED(b, err, "the program of a token");
    *b = (struct sq_token_builder){.p = p, .ck = ck, .recipe = r, .chip = *c};
    b->chip.chip.encodes = b->chip.chip.vectors = b->chip.chip.no_want = true;
    const struct sq_ta_unit own = sq_ta_unit_of(c->chip.attend);
    if (own.heads == 0)
        b->chip.chip.attend = sq_token_attend(&ck->config, own.is_int8);
    else if (own.size < ck->config.head_dim)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "heads of %zu elements, need at most %u for the chip's attention",
                       ck->config.head_dim, own.size);
    b->placed = calloc(ck->n_layers, sizeof *b->placed);
    SQ_NEED(b->placed, err, "%zu layers", ck->n_layers);
    SQ_FAIL_IF(positions > ck->config.max_position, err, SQ_ERR_RANGE,
               "%zu positions, need at most %zu, the model's context", positions,
               ck->config.max_position);
    return begin(b, err);
}

void sq_token_builder_free(struct sq_token_builder *b)
{
    if (b)
        free(b->placed);
    free(b);
}

enum sq_status sq_token_end(struct sq_token_builder *b, struct sq_error *err)
{
    struct sq_token_program *const p = b->p;
    SQ_TRY(add_all(b, err));
    int32_t *const w = p->word;
    w[SQ_DRIVER_TOKEN_MAGIC] = SQ_DRIVER_TOKEN_MAGIC_VALUE;
    w[SQ_DRIVER_TOKEN_BASE] = (int32_t)(uint32_t)p->base;
    w[SQ_DRIVER_TOKEN_BASE_HIGH] = (int32_t)(uint32_t)(p->base >> 32);
    w[SQ_DRIVER_TOKEN_NPATCHES] = (int32_t)b->patches;
    w[SQ_DRIVER_TOKEN_VOCAB] = (int32_t)p->vocab;
    w[SQ_DRIVER_TOKEN_POSITIONS] = (int32_t)p->positions;
    w[SQ_DRIVER_TOKEN_TAIL] = (int32_t)p->n;
    return SQ_OK;
}

void sq_token_program_free(struct sq_token_program *p)
{
    SQ_FREE(p->word, p->part);
}
