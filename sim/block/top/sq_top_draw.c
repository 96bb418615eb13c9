// SPDX-License-Identifier: Apache-2.0
// Draws the shape of a layer, its operands, and where they lie in memory (sq_top_draw.h).
#include "sim/block/top/sq_top_draw.h"

#include <assert.h>
#include <string.h>

#include "sim/block/top/sq_axi_memory.h"

enum { ROWS, COLS };

static uint32_t up_to(struct sq_rng *rng, uint32_t n)
{
    return 1 + sq_rng_below(rng, n);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// Chunks that are parts of a scale group, of up to `most` beats.
static void draw_parts(struct sq_rng *rng, uint32_t depth, uint32_t most, struct sq_top_layer *l)
{
    l->beats = 1 + up_to(rng, most - 1);
    l->chunk = 1;
    l->part = up_to(rng, smaller(depth, l->beats - 1));
}

struct sq_top_layer sq_top_short_layer(const unsigned *value)
{
    return (struct sq_top_layer){.tiles = {1, 2},
                                 .block = {1, 1},
                                 .beats = 1,
                                 .groups = 2,
                                 .chunk = 1,
                                 .is_indexed = sq_top_is_indexed(value)};
}

// A tile of rows a block; groups of K, blocks of columns, their kept groups and chunks of those of any number.
static void draw_indexed_shape(const unsigned *value, struct sq_rng *rng, struct sq_top_layer *l)
{
    const uint32_t *const of = value + SQ_TOP_DEPTH;
    const uint32_t k_max = SQ_DRAWN_K / value[SQ_TOP_BANK_LEN];
    l->beats = up_to(rng, smaller(sq_rng_below(rng, 4) ? 6 : k_max, of[SQ_TOP_ACT]));
    l->tiles[ROWS] = up_to(rng, 4);
    l->tiles[COLS] = up_to(rng, SQ_DRAWN_LINES);
    l->block[ROWS] = 1;
    l->block[COLS] = up_to(rng, smaller(l->tiles[COLS] + 1, of[SQ_TOP_COL_SCALE]));
    l->groups = up_to(rng, smaller(l->block[COLS] * l->beats, 4 * of[SQ_TOP_WEIGHT]) + 2);
    l->chunk = up_to(rng, smaller(l->groups, of[SQ_TOP_WEIGHT]));
    l->cols_outer = sq_rng_below(rng, 2);
    l->is_indexed = true;
}

// K beyond half a buffer comes in chunks; others may, too. Then sums limit the tiles of a block, else a job does.
void sq_top_draw_shape(const unsigned *value, struct sq_rng *rng, struct sq_top_layer *l)
{
    const uint32_t *const of = value + SQ_TOP_DEPTH;
    if (sq_top_is_indexed(value)) {
        draw_indexed_shape(value, rng, l);
        return;
    }
    const uint32_t depth = smaller(of[SQ_TOP_ACT], of[SQ_TOP_WEIGHT]),
                   k_max = SQ_DRAWN_K / value[SQ_TOP_BANK_LEN];
    l->groups = up_to(rng, sq_rng_below(rng, 2) ? 1 : 6);
    l->chunk = sq_rng_below(rng, 2) ? l->groups : up_to(rng, l->groups);
    l->chunk = smaller(l->chunk, sq_top_is_scaled(value) ? l->chunk : of[SQ_TOP_COL_SCALE]);
    const uint32_t most = smaller(depth / l->chunk, smaller(k_max, 2 * depth) / l->groups);
    l->beats = up_to(rng, sq_rng_below(rng, 4) ? smaller(4, most) : most);
    const uint32_t groups = sq_top_room(value).part_groups;
    if (sq_rng_below(rng, 4) == 0 && groups == 1)
        l->groups = l->chunk = 1;
    if (sq_rng_below(rng, 4) == 0 && l->groups <= groups &&
        smaller(k_max, 2 * depth) / l->groups > 1)
        draw_parts(rng, depth, smaller(k_max, 2 * depth) / l->groups, l);
    const uint32_t scales = sq_top_is_scaled(value) ? 1 : l->chunk;
    for (unsigned a = 0; a < 2; a++) {
        const uint32_t beats = l->part ? l->part : l->beats * l->chunk;
        const uint32_t fit = of[a == ROWS ? SQ_TOP_ACT : SQ_TOP_WEIGHT] / beats;
        const uint32_t room =
            smaller(fit, a == ROWS ? of[SQ_TOP_ROW_SCALE] : of[SQ_TOP_COL_SCALE] / scales);
        const uint32_t lines = value[a == ROWS ? SQ_TOP_ROWS : SQ_TOP_COLS];
        l->tiles[a] = up_to(rng, smaller(SQ_DRAWN_LINES / lines, 6));
        l->block[a] = up_to(rng, room < 7 ? room : sq_rng_below(rng, 8) ? 7 : room);
    }
    const unsigned a = sq_rng_below(rng, 2);
    const uint32_t tiles = sq_block_walk_is_whole(l) ? SQ_DESC_JOB_TILES : value[SQ_TOP_SUM_TILES];
    l->block[a] = smaller(l->block[a], tiles);
    l->block[!a] = smaller(l->block[!a], tiles / l->block[a]);
    l->cols_outer = sq_rng_below(rng, 2);
}

// The integers of an operand's beat, of those of a whole beat of the engine: fields of sq_array without
// `last`, plain, low, high, mask.
static void take_side(const struct sq_top_beat_shape *s, const struct sq_ports *array,
                      const int32_t *beat, int32_t *to)
{
    for (unsigned f = 0; f < s->n; to += s->field[f++].count) {
        size_t i = 1;
        while (strcmp(array->in[i].name, s->field[f].name) != 0 &&
               !(i == 1 && strcmp(s->field[f].name, "code") == 0))
            i++;
        memcpy(to, beat + sq_field_offset(array->in, i), s->field[f].count * sizeof *to);
    }
}

// Codes that no encoder writes become the next ones; mask codes and nibbles are none.
static void heal(const struct sq_top_beat_shape *s, enum sq_array_layout layout, int32_t *x)
{
    for (unsigned f = 0; f < s->n; x += s->field[f++].count) {
        const bool is_low = strcmp(s->field[f].name, "low") == 0;
        const bool is_high = strcmp(s->field[f].name, "high") == 0;
        const bool has_all = (is_low && layout == SQ_ARRAY_SENTINEL) ||
                             ((is_low || is_high) && layout == SQ_ARRAY_SPLIT);
        for (size_t i = 0; !has_all && !s->field[f].is_unsigned && i < s->field[f].count; i++)
            x[i] += x[i] == -(1 << (s->field[f].width - 1));
    }
}

static void draw_blocks(struct sq_rng *rng, const struct sq_top_shape *s, enum sq_top_part part,
                        enum sq_stimulus kind, int32_t *to)
{
    const struct sq_es_side *const side = part == SQ_TOP_ACT ? &s->scaled.act : &s->scaled.weight;
    int32_t record[SQ_ES_JOB_FIELDS + 2 * SQ_TOP_BEAT_MAX] = {0};
    sq_es_draw_side(s->engine, side, rng, kind, record);
    memcpy(to, record + side->code, s->part[part].len * sizeof *to);
}

// Beats as the engine of an indexed chip draws them: of activations, of kept groups, with any index.
static void draw_indexed(struct sq_rng *rng, const struct sq_top_shape *s, enum sq_top_part part,
                         enum sq_stimulus kind, int32_t *to)
{
    const struct sq_indexed *const of = sq_indexed_block(SQ_TOP_KEPT)->indexed;
    if (part == SQ_TOP_ACT) {
        of->draw_act(s->engine, rng, kind, to);
        return;
    }
    to[0] = (int32_t)sq_rng_below(rng, 1u << s->part[part].field[0].width);
    of->draw_kept(s->engine, rng, kind, to);
}

// Ends of the channels of each block, and indices that ascend in each of them; what is left is padding. The first
// channel of a block has a group.
static void draw_ends(struct sq_rng *rng, const struct sq_top_layer *l, unsigned kept_len,
                      int32_t *end, int32_t *kept)
{
    for (uint32_t col = 0, at = 0; col < l->tiles[COLS]; col++) {
        const uint32_t first = col % l->block[COLS] == 0;
        at = first ? 0 : at;
        const uint32_t fit = smaller(l->beats, l->groups - at);
        uint32_t n = sq_rng_below(rng, fit + 1);
        n += first && n == 0;
        int32_t *const of = kept + (size_t)(col / l->block[COLS] * l->groups + at) * kept_len;
        for (uint32_t i = 0, index = 0; i < n; i++, index++) {
            index += sq_rng_below(rng, l->beats - (n - i) - index + 1);
            of[i * kept_len] = (int32_t)index;
        }
        at += n;
        end[col] = (int32_t)at;
    }
}

static void draw_side(const unsigned *value, struct sq_rng *rng, const struct sq_top_shape *s,
                      enum sq_top_part part, enum sq_stimulus kind, int32_t *to)
{
    if (s->is_scaled || s->is_indexed) {
        (s->is_scaled ? draw_blocks : draw_indexed)(rng, s, part, kind, to);
        return;
    }
    unsigned engine[SQ_POINT_VALUES];
    int32_t beat[4 * SQ_TOP_BEAT_MAX] = {0};
    sq_top_engine(value, engine);
    const struct sq_ports array = sq_ports_of(&sq_array_block, engine);
    assert(sq_field_offset(array.in, array.n_in) <= SQ_LEN(beat));
    sq_array_block.draw_beat(engine, rng, kind, 0, beat);
    take_side(&s->part[part], &array, beat, to);
    if (kind != SQ_STIMULUS_ILLEGAL)
        heal(&s->part[part], s->array.layout, to);
}

static void draw_operands(const unsigned *value, struct sq_rng *rng, const struct sq_top_layer *l,
                          int32_t wrong, struct sq_top_drawn *to)
{
    const struct sq_top_shape s = sq_top_shape(value);
    const enum sq_stimulus kind = (enum sq_stimulus)sq_rng_below(rng, 3);
    uint32_t n[SQ_TOP_OPERANDS];
    for (unsigned p = 0; p < SQ_TOP_OPERANDS; p++) {
        const unsigned len = s.part[p].len;
        n[p] = sq_top_beats(value, l, (enum sq_top_part)p);
        assert(n[p] * len <= SQ_DRAWN_BEATS);
        for (uint32_t i = 0; i < n[p]; i++)
            if (p & 1)
                for (unsigned j = 0; j < len; j++)
                    to->beat[p][i * len + j] = sq_float_word((float)(0.001 + sq_rng_unit(rng)));
            else
                draw_side(value, rng, &s, (enum sq_top_part)p, kind, to->beat[p] + i * len);
    }
    if (s.is_indexed)
        draw_ends(rng, l, s.part[SQ_TOP_WEIGHT].len, to->beat[SQ_TOP_COL_SCALE],
                  to->beat[SQ_TOP_WEIGHT]);
    if (wrong != SQ_DRAWN_ANY_WRONG)
        return;
    if (s.is_indexed && sq_rng_below(rng, 2)) { // the last column has more groups than come
        const uint32_t more = sq_rng_below(rng, 2) ? l->groups : 0xfffe - l->groups;
        to->beat[SQ_TOP_COL_SCALE][n[SQ_TOP_COL_SCALE] - 1] =
            (int32_t)(l->groups + 1 + sq_rng_below(rng, more + 1));
        return;
    }
    const unsigned p = sq_rng_below(rng, SQ_TOP_OPERANDS), len = s.part[p].len;
    const uint32_t i = sq_rng_below(rng, n[p]);
    if (p == SQ_TOP_COL_SCALE && s.is_indexed) // up to more than there are
        to->beat[p][i] = (int32_t)sq_rng_below(rng, 2 * l->groups + 2);
    else if (p & 1)
        to->beat[p][i * len + sq_rng_below(rng, len)] =
            sq_rng_below(rng, 2) ? 0 : sq_float_word(-1);
    else
        draw_side(value, rng, &s, (enum sq_top_part)p, SQ_STIMULUS_ILLEGAL, to->beat[p] + i * len);
}

// The next region of memory, sometimes near the end of a page; a beat at least stays free behind it.
static uint32_t place(const unsigned *value, struct sq_rng *rng, uint32_t *at, uint32_t n)
{
    const uint32_t size = value[SQ_TOP_DATA_W] / 8, room = (SQ_AXI_PAGE - *at % SQ_AXI_PAGE) / size;
    const bool is_near_end = sq_rng_below(rng, 3) == 0 && room > 4;
    *at += (is_near_end ? room - up_to(rng, 4) : sq_rng_below(rng, 8)) * size;
    const uint32_t addr = *at;
    *at += n + size;
    return addr;
}

// The golden outputs and status; with wrong >= 0 of that beat of weights drawn again until the layer has an error. A layer
// that has none then is sound.
static uint32_t draw_want(const unsigned *value, struct sq_rng *rng, const struct sq_top_layer *l,
                          const struct sq_top_operands *x, int32_t wrong, struct sq_top_drawn *to,
                          uint32_t n_want)
{
    enum { TRIES = 100 };
    const struct sq_top_shape s = sq_top_shape(value);
    uint32_t status = 0;
    for (unsigned i = 0; i < (wrong >= 0 ? TRIES : 1) && status == 0; i++) {
        if (wrong >= 0)
            draw_side(value, rng, &s, SQ_TOP_WEIGHT, SQ_STIMULUS_ILLEGAL,
                      x->beat[SQ_TOP_WEIGHT] + (size_t)wrong * s.part[SQ_TOP_WEIGHT].len);
        for (unsigned p = 0; p < SQ_TOP_OPERANDS; p++)
            sq_top_put_operand(value, l, x, (enum sq_top_part)p, to->word + l->addr[p] / 4);
        memset(to->want, 0, n_want * sizeof *to->want);
        status = sq_top_golden(value, l, x, to->want);
    }
    return status;
}

struct sq_top_given sq_top_draw_image(const unsigned *value, struct sq_rng *rng,
                                      struct sq_top_layer *l, int32_t wrong,
                                      struct sq_top_drawn *to)
{
    const struct sq_top_operands x = {{to->beat[0], to->beat[1], to->beat[2], to->beat[3]}};
    uint32_t at = sq_rng_below(rng, 64) * (value[SQ_TOP_DATA_W] / 8), word[SQ_DESC_WORDS];
    struct sq_top_given image = {.word = to->word, .want = to->want};
    image.descriptor = place(value, rng, &at, 4 * SQ_DESC_WORDS);
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS; i++)
        l->addr[i] = place(value, rng, &at, (uint32_t)sq_top_nbytes(value, l, (enum sq_top_part)i));
    assert(at <= 4 * SQ_DRAWN_WORDS);
    for (uint32_t i = 0; i < at / 4; i++)
        to->word[i] = (int32_t)(uint32_t)sq_rng_next(rng); // also padding
    draw_operands(value, rng, l, wrong, to);
    sq_top_layer_encode(l, word);
    memcpy(to->word + image.descriptor / 4, word, sizeof word);
    image.n_words = at / 4;
    image.out = l->addr[SQ_TOP_STORE];
    image.n_want = (uint32_t)sq_top_nbytes(value, l, SQ_TOP_STORE) / 4;
    assert(image.n_want <= SQ_DRAWN_OUT_WORDS);
    image.status = draw_want(value, rng, l, &x, wrong, to, image.n_want);
    return image;
}

// Kinds of outputs.
enum { HALVES = 4, ANY_BITS, EQUAL, LOW_HALVES, TINY, HALF_OF = TINY + 8, EDGE = HALF_OF + 128 };

// Bits behind the leading one of what a power of two above the blocks makes the largest element.
static uint32_t edge_of(const unsigned *value)
{
    if (value[SQ_TOP_HIGH] > 0)
        return 0x7e;                                         // 127
    return value[SQ_TOP_ELEMENT] == SQ_SCALED_INT5   ? 0x52  // 448 * 15
           : value[SQ_TOP_ELEMENT] == SQ_SCALED_INT4 ? 0x44  // 448 * 7
                                                     : 0x28; // 448 * 6
}

static uint32_t draw_kind(const unsigned *value, struct sq_rng *rng)
{
    const uint32_t n = sq_rng_below(rng, 12);
    if (n >= 8 && sq_top_is_scaled(value))
        return n == 8 ? ANY_BITS : EDGE + edge_of(value) + n - 10;
    if (n >= 9 && value[SQ_TOP_ON_ACTS])
        return n == 9 ? EQUAL : LOW_HALVES;
    if (n == 7)
        return TINY + sq_rng_below(rng, 8);
    return n < 10 ? n / 2 : n == 10 ? HALF_OF + sq_rng_below(rng, 128) : ANY_BITS;
}

// n * 2^exponent as bfloat16, n = 1..255.
static uint32_t of_integer(uint32_t n, uint32_t exponent)
{
    uint32_t log = 0;
    while (n >> log > 1)
        log++;
    return (exponent + log) << 7 | (n << (7 - log) & 0x7f);
}

// Outputs of one kind a token: zeros, near each other, near the end of the range, small ones; ones whose scale is not normal; odd halves of a scale whose
// largest is 127 of it; any bits; all equal but for their signs and the last bit of some; odd halves of a scale whose largest is 7 of it, which
// few reach; a number and its halves, which are 63.5 of the scale but for its rounding; around the end of what a power of
// two reaches.
static uint16_t draw_output(struct sq_rng *rng, uint32_t kind, bool is_first)
{
    const uint32_t any = (uint32_t)sq_rng_next(rng);
    if (kind == HALVES)
        return (uint16_t)((any & 0x8000) | of_integer(is_first ? 254 : any % 127 * 2 + 1, 120));
    if (kind == EQUAL)
        return (uint16_t)((any & 0x8000) | 0x3f80 | (any % 4 == 0));
    if (kind == LOW_HALVES)
        return (uint16_t)((any & 0x8000) |
                          of_integer(any % 3 == 0 ? 14 : (any >> 4) % 7 * 2 + 1, 120));
    if (kind >= EDGE)
        return (uint16_t)((any & 0x8000) |
                          (is_first ? 127u << 7 | (kind - EDGE) : any >> 8 & 0x3f7f));
    if (kind >= HALF_OF)
        return (uint16_t)((any & 0x8000) | (is_first ? 127u : 126u) << 7 | (kind - HALF_OF));
    if (kind >= TINY)
        return (uint16_t)((any >> 8 & 0x807f) | any % (kind - TINY + 1) << 7);
    const uint32_t exponent[] = {0, 120 + any % 8, 247 + any % 8, any % 9};
    if (kind >= sizeof exponent / sizeof *exponent)
        return (uint16_t)(any >> 8 | (any % 32 == 0 ? 0x7f80 : 0)); // some are no number
    return (uint16_t)(kind == 0 ? any & 0x8000 : (any >> 8 & 0x807f) | exponent[kind] << 7);
}

static void draw_outputs(const unsigned *value, struct sq_rng *rng, const struct sq_encode_layer *l,
                         int32_t *word)
{
    const uint32_t cols = value[SQ_TOP_COLS], tile = value[SQ_TOP_ROWS] * cols;
    const uint32_t nbytes = value[SQ_TOP_DATA_W] / 8, n = l->cols * cols;
    const uint32_t tokens = l->rows * value[SQ_TOP_ROWS];
    const uint32_t wrong = sq_rng_below(rng, 2 * tokens * n); // of half of the layers: no number
    uint64_t stride[SQ_ENCODE_REGIONS];
    sq_encode_strides(value, l, stride);
    for (uint32_t t = 0; t < tokens; t++) {
        char *const from = (char *)word + t / value[SQ_TOP_ROWS] * stride[SQ_ENCODE_FROM] * nbytes;
        const uint32_t kind = draw_kind(value, rng);
        for (uint32_t k = 0; k < n; k++) {
            const uint16_t x =
                (uint16_t)(draw_output(rng, kind, k == 0) | (t * n + k == wrong ? 0x7f80 : 0));
            memcpy(from + 2 * (k / cols * tile + t % value[SQ_TOP_ROWS] * cols + k % cols), &x,
                   sizeof x);
        }
    }
}

// Draws a descriptor of kind encode, for a chip with an encoder.
static struct sq_top_given draw_encode(const unsigned *value, struct sq_rng *rng,
                                       struct sq_encode_layer *l, struct sq_top_drawn *to)
{
    const uint32_t nbytes = value[SQ_TOP_DATA_W] / 8, bank = value[SQ_TOP_BANK_LEN];
    struct sq_top_given image = {.word = to->word, .want = to->want};
    uint32_t at = sq_rng_below(rng, 64) * nbytes, word[SQ_DESC_WORDS];
    uint64_t stride[SQ_ENCODE_REGIONS];
    l->is_codes = sq_encode_moves(value) && sq_rng_below(rng, 2);
    l->rows = up_to(rng, 3);
    l->cols = up_to(rng, sq_rng_below(rng, 3) ? 4 : SQ_DRAWN_LINES / value[SQ_TOP_COLS]);
    l->beats = (l->cols * value[SQ_TOP_COLS] + bank - 1) / bank + sq_rng_below(rng, 3);
    sq_encode_strides(value, l, stride);
    image.descriptor = place(value, rng, &at, 4 * SQ_DESC_WORDS);
    for (unsigned i = 0; i < 2; i++)
        l->addr[i] = place(value, rng, &at, l->rows * (uint32_t)stride[i] * nbytes);
    const uint32_t act = l->rows * (uint32_t)stride[SQ_ENCODE_ACT] * nbytes;
    const uint32_t scales = l->rows * (uint32_t)stride[SQ_ENCODE_ROW_SCALE] * nbytes;
    l->addr[SQ_ENCODE_ROW_SCALE] = l->is_codes ? 0 : l->addr[SQ_ENCODE_ACT] + act;
    for (uint32_t i = 0; i < at / 4; i++)
        to->word[i] = (int32_t)(uint32_t)sq_rng_next(rng);
    if (!l->is_codes)
        draw_outputs(value, rng, l, to->word + l->addr[SQ_ENCODE_FROM] / 4);
    sq_encode_encode(l, word);
    memcpy(to->word + image.descriptor / 4, word, sizeof word);
    image.n_words = at / 4;
    image.out = l->addr[SQ_ENCODE_ACT];
    image.n_want = (act + scales) / 4;
    memset(to->want, 0, 4 * (size_t)image.n_want);
    image.status = sq_encode_golden(value, l, to->word + l->addr[SQ_ENCODE_FROM] / 4, to->want,
                                    to->want + act / 4);
    return image;
}

// ---- passes of the vector unit ------------------------------------------------------------------------

static int32_t draw_number(struct sq_rng *rng, uint32_t kind)
{
    const uint32_t any = (uint32_t)sq_rng_next(rng), sign = any & 0x80000000u;
    static const uint32_t edge[] = {0,          1,          0x3f800000, 0x7f7fffff,
                                    0x7f800000, 0x42b17217, 0x7fc12345, 0x3f808000};
    if (kind == 0) // zeros, equal numbers, ends of the range
        return (int32_t)(sign | edge[any % 8]);
    return (int32_t)(sign | (120 + any % 12) << 23 | (any >> 8 & 0x7fffff));
}

static void draw_pass(struct sq_rng *rng, struct sq_tv_layer *l)
{
    *l = (struct sq_tv_layer){.f = (enum sq_vector_func)sq_rng_below(rng, SQ_VECTOR_FUNCS),
                              .from = {SQ_TV_ROW, sq_rng_below(rng, 4), sq_rng_below(rng, 3)},
                              .red = (enum sq_tv_red)sq_rng_below(rng, 4),
                              .y = (enum sq_tv_y)sq_rng_below(rng, 5),
                              .all = sq_rng_below(rng, 2),
                              .rows = up_to(rng, 5),
                              .n = up_to(rng, sq_rng_below(rng, 4) ? 40 : 400)};
    for (unsigned p = 0; p < SQ_TV_OPERANDS; p++)
        l->half[p] = sq_rng_below(rng, 3) == 0;
    if (l->red == SQ_TV_NONE && l->y == SQ_TV_NO_Y)
        l->y = SQ_TV_BINARY32;
}

struct pass_memory {
    const int32_t *word;
    int32_t *want;
    uint64_t out;
    uint32_t n_written;
};

static int32_t read_pass(void *ctx, uint64_t addr, unsigned i)
{
    return ((const struct pass_memory *)ctx)->word[addr / 4 + i];
}

static void write_pass(void *ctx, uint64_t addr, const int32_t *word, unsigned n)
{
    struct pass_memory *const m = ctx;
    memcpy(m->want + (addr - m->out) / 4, word, n * sizeof *word);
    m->n_written += n;
}

// Draws one of kind vector, for a chip with a vector unit: what it writes is y, and right after it red.
static struct sq_top_given draw_vector(const unsigned *value, struct sq_rng *rng,
                                       struct sq_tv_layer *l, struct sq_top_drawn *to)
{
    const uint32_t nbytes = value[SQ_TOP_DATA_W] / 8;
    struct sq_top_given image = {.word = to->word, .want = to->want};
    uint32_t at = sq_rng_below(rng, 64) * nbytes, word[SQ_DESC_WORDS];
    draw_pass(rng, l);
    image.descriptor = place(value, rng, &at, 4 * SQ_DESC_WORDS);
    for (unsigned p = 0; p <= SQ_TV_Y; p++) {
        const bool again = p < SQ_TV_Y && sq_rng_below(rng, 4) == 0;
        l->stride[p] = again ? 0 : sq_tv_row_beats(l, p, nbytes) + sq_rng_below(rng, 3) / 2;
        const uint32_t n = (uint32_t)sq_tv_region_beats(l, p, nbytes) * nbytes;
        l->addr[p] = sq_tv_uses(l, p) ? place(value, rng, &at, n)
                     : p < SQ_TV_Y    ? (uint32_t)draw_number(rng, sq_rng_below(rng, 2))
                                      : at;
    }
    const uint32_t y = l->y ? (uint32_t)sq_tv_region_beats(l, SQ_TV_Y, nbytes) * nbytes : 0;
    const uint32_t red = l->red ? (uint32_t)sq_tv_region_beats(l, SQ_TV_RED, nbytes) * nbytes : 0;
    l->addr[SQ_TV_RED] = l->addr[SQ_TV_Y] + y;
    at = (uint32_t)l->addr[SQ_TV_RED] + red + nbytes;
    const uint32_t kind = sq_rng_below(rng, 4);
    for (uint32_t i = 0; i < at / 4; i++)
        to->word[i] = draw_number(rng, kind);
    sq_tv_encode(l, word);
    memcpy(to->word + image.descriptor / 4, word, sizeof word);
    image.n_words = at / 4;
    image.out = l->addr[SQ_TV_Y];
    image.n_want = (y + red) / 4;
    struct pass_memory m = {to->word, to->want, image.out, 0};
    const struct sq_tv_memory memory = {&m, read_pass, write_pass};
    memset(to->want, 0, 4 * (size_t)image.n_want);
    sq_tv_golden(l, nbytes, &memory);
    image.n_gap = image.n_want - m.n_written;
    return image;
}

// ---- attention ----------------------------------------------------------------------------------------

// A number of the cache: two of binary16, of the range of scores or any, or four of INT8.
static int32_t draw_codes(struct sq_rng *rng, uint32_t kind, bool is_int8)
{
    const uint32_t any = (uint32_t)sq_rng_next(rng);
    return (int32_t)(kind == 0 || is_int8 ? any : (any & 0x87ff87ffu) | 0x38003800u);
}

// Draws one of kind attend, for a chip with an attention unit.
static struct sq_top_given draw_attend(const unsigned *value, struct sq_rng *rng,
                                       struct sq_ta_layer *l, struct sq_top_drawn *to)
{
    const uint32_t nbytes = value[SQ_TOP_DATA_W] / 8;
    const unsigned attend = value[SQ_TOP_ATTEND];
    const struct sq_ta_unit unit = sq_ta_unit_of(attend);
    const uint32_t lanes = sq_ta_lanes(attend, nbytes), kind = sq_rng_below(rng, 4);
    static const uint32_t most[] = {12, 12, 40, 160}; // the last: short rows fill the queue
    struct sq_top_given image = {.word = to->word, .want = to->want};
    uint32_t at = sq_rng_below(rng, 64) * nbytes, word[SQ_DESC_WORDS];
    *l = (struct sq_ta_layer){.queries = up_to(rng, unit.heads),
                              .size = lanes * up_to(rng, unit.size / lanes),
                              .keys = up_to(rng, most[sq_rng_below(rng, 4)])};
    image.descriptor = place(value, rng, &at, 4 * SQ_DESC_WORDS);
    for (unsigned p = 0; p < SQ_TA_PARTS; p++) {
        const bool again = p < SQ_TA_Y && sq_rng_below(rng, 8) == 0;
        l->stride[p] = again ? 0 : sq_ta_row_beats(l, p, nbytes, attend) + sq_rng_below(rng, 3) / 2;
        const uint32_t n = (uint32_t)sq_ta_region_beats(l, p, nbytes, attend) * nbytes;
        l->addr[p] = place(value, rng, &at, n);
        for (uint32_t i = 0; i < n / 4; i++)
            to->word[l->addr[p] / 4 + i] =
                p == SQ_TA_Q ? draw_number(rng, kind) : draw_codes(rng, kind, unit.is_int8);
        for (uint32_t k = 0; k < l->keys && unit.is_int8 && (p == SQ_TA_K || p == SQ_TA_V); k++)
            to->word[(l->addr[p] + k * l->stride[p] * nbytes) / 4] = draw_codes(rng, kind, false);
        image.n_want = n / 4;
    }
    assert(at <= 4 * SQ_DRAWN_WORDS);
    sq_ta_encode(l, word);
    memcpy(to->word + image.descriptor / 4, word, sizeof word);
    image.n_words = at / 4;
    image.out = l->addr[SQ_TA_Y];
    struct pass_memory m = {to->word, to->want, image.out, 0};
    const struct sq_tv_memory memory = {&m, read_pass, write_pass};
    memset(to->want, 0, 4 * (size_t)image.n_want);
    sq_ta_golden(l, nbytes, attend, &memory);
    image.n_gap = image.n_want - m.n_written;
    return image;
}

uint64_t sq_top_draw_base(struct sq_rng *rng, uint32_t i, uint32_t n_words)
{
    const uint64_t high = i * 0x4000 + sq_rng_below(rng, 0x3ffe);
    const bool is_across = sq_rng_below(rng, 2) == 0;
    const uint32_t pages = n_words / (SQ_AXI_PAGE / 4);
    const uint64_t page = 1 + sq_rng_below(rng, is_across ? pages + 1 : 64);
    return is_across ? (((high | 1) + 1) << 32) - page * SQ_AXI_PAGE
                     : (high << 32) + 0x20000000u + page * SQ_AXI_PAGE;
}

uint32_t sq_top_units(const unsigned *value, enum sq_top_unit unit[SQ_UNIT_ENGINE])
{
    const unsigned at[SQ_UNIT_ENGINE] = {SQ_TOP_ENCODE, SQ_TOP_VECTOR, SQ_TOP_ATTEND};
    uint32_t n = 0;
    for (unsigned i = 0; i < SQ_UNIT_ENGINE; i++)
        if (value[at[i]] > 0)
            unit[n++] = (enum sq_top_unit)i;
    return n;
}

struct sq_top_given sq_top_draw_unit(const unsigned *value, struct sq_rng *rng,
                                     enum sq_top_unit unit, struct sq_top_drawn *to)
{
    struct sq_encode_layer encoder;
    struct sq_tv_layer pass;
    struct sq_ta_layer attend;
    return unit == SQ_UNIT_ENCODER  ? draw_encode(value, rng, &encoder, to)
           : unit == SQ_UNIT_PASSES ? draw_vector(value, rng, &pass, to)
                                    : draw_attend(value, rng, &attend, to);
}

static bool is_address(enum sq_top_unit unit, const uint32_t *word, unsigned low)
{
    return unit == SQ_UNIT_ENGINE      ? true
           : unit == SQ_UNIT_ENCODER   ? sq_desc_address(word, low) != 0
           : unit == SQ_UNIT_ATTENTION ? low != SQ_DESC_COL_SCALE
                                       : sq_tv_has_address(word, low);
}

void sq_top_move_unit(enum sq_top_unit unit, uint32_t word[SQ_DESC_WORDS], uint64_t by)
{
    for (unsigned p = 0; p <= SQ_TOP_OPERANDS; p++) {
        const unsigned low = sq_top_address_word[p];
        if (is_address(unit, word, low))
            sq_desc_set_address(word, low, sq_desc_address(word, low) + by);
    }
}
