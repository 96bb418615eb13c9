// SPDX-License-Identifier: Apache-2.0
// The conformance suite of a block-scaled format (sq_vectors.h, SPEC Q).
//
//   decode       every code that is a number; where a block says what its codes stand for, by the sign
//                of its scale (if4, razer) or by a grid, with it     -> its value
//   encode       that value                            -> the code again
//   tie          halves between neighbours, and the binary32 next to them on both sides;
//                beyond the largest                    -> code
//   mask         a block (mxplus, sq_b)                -> which elements are high
//   scale        a block, the scales above it          -> scale codes: ties, 0, subnormal, the
//                                                         largest
//   code         a block with all its scales           -> codes
//   dot          two blocks of codes at scale 1        -> their sum: nothing is lost, 1 beside the
//                                                         largest
//   scaled       the same, scales 0, subnormal, largest, across the range
//   accumulate   24 blocks a side                      -> binary32, blocks ascending: cases to
//                                                         which another order or another width of
//                                                         the sum gives another bit
//
// A high element of two parts, or the upper nibble of a split code, has its code in the field
// `high`. What a block of a described format stores beside codes and scale is in the field `sub`, a byte of
// each smallest sub-block (sq_bs_table.h).
#include "sim/format/sq_vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/scaled/sq_bs_table.h"
#include "models/sq_rng.h"
#include "sim/format/scaled/sq_bs_format.h"

enum { BLOCKS = 24, RANDOM = 64, CODES = 256 };

struct maker {
    const struct sq_bs_format *f;
    struct sq_vectors *v;
    struct sq_rng rng;
    bool is_code[2][SQ_BS_TABLE_GRIDS][CODES]; // [is high][choice]; most of what is drawn is none
    bool failed;
};

// Room for n cases; fields by name follow with add().
static struct sq_vector_rule *begin(struct maker *m, const char *name, const char *says, size_t n)
{
    struct sq_vector_rule *r = &m->v->rule[m->v->n_rules++];
    *r = (struct sq_vector_rule){.name = name, .says = says, .n = n};
    return r;
}

static struct sq_vector_field *add(struct maker *m, struct sq_vector_rule *r, const char *name,
                                   enum sq_dtype dtype, size_t count)
{
    struct sq_vector_field *f = &r->field[r->n_fields++];
    *f = (struct sq_vector_field){name, dtype, count, NULL};
    f->data = calloc(r->n * count + 1, sq_dtype_nbytes(dtype));
    m->failed = m->failed || !f->data;
    return f;
}

// ---- elements -------------------------------------------------------------------------------

// What codes stand for in a block can be a choice: of the sign of its scale, or of a grid.
static unsigned n_choices(const struct sq_bs_format *f)
{
    return sq_bs_has_scale_sign(f) ? 2 : f->table ? f->table->n_grids : 1;
}

// A block of a choice, at step 1.
static struct sq_bs_block block_of(const struct sq_bs_format *f, bool is_high, unsigned choice)
{
    struct sq_bs_block b = {.step = {1, 1}, .is_high = {is_high}};
    if (sq_bs_has_scale_sign(f))
        b.scale[0] = (uint8_t)(choice * SQ_BS_SCALE_SIGN);
    else
        memset(b.sub, (int)(choice << 4), sizeof b.sub);
    return b;
}

// The codes of the low elements, or the high ones where they have a code of their own.
static bool is_code(const struct sq_bs_format *f, bool is_high, unsigned choice, unsigned code)
{
    const struct sq_bs_block b = block_of(f, false, choice);
    if (f->table)
        return code < 1u << f->table->bits &&
               sq_bs_is_legal(f, &b, 0, (struct sq_bs_code){(uint8_t)code, 0});
    const enum sq_element e = is_high ? sq_bs_high_element(f) : f->element;
    const bool is_negative_zero = code == 1u << (sq_element_bits(e) - 1);
    return sq_element_is_number(e, (uint8_t)code) &&
           !(sq_bs_high_bits(f) > 0 && !sq_element_is_int(e) && is_negative_zero) &&
           (is_high || sq_bs_is_legal(f, &b, 0, (struct sq_bs_code){(uint8_t)code, 0}));
}

static float value_of(const struct sq_bs_format *f, bool is_high, unsigned choice, unsigned code)
{
    const struct sq_bs_code c = {is_high ? 0 : (uint8_t)code, is_high ? (uint8_t)code : 0};
    const struct sq_bs_block b = block_of(f, is_high, choice);
    return sq_bs_element(f, &b, 0, c);
}

static uint32_t code_of(const struct sq_bs_format *f, bool is_high, unsigned choice, float x)
{
    const struct sq_bs_block b = block_of(f, is_high, choice);
    const struct sq_bs_code c = sq_bs_encode(f, &b, 0, x);
    return is_high ? c.high : c.code;
}

// The largest value of a code.
static float most_of(const struct sq_bs_format *f, bool is_high, unsigned choice)
{
    float most = 0;
    for (unsigned c = 0; c < CODES; c++)
        if (is_code(f, is_high, choice, c))
            most = fmaxf(most, value_of(f, is_high, choice, c));
    return most;
}

static int ascending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// The rules of elements, one after another; `chosen`: the scale of the code 1.0 with its sign, or the grid.
struct elements {
    struct sq_vector_field *chosen[3], *in[3], *out[3];
};

static void open_elements(struct maker *m, bool is_high, const size_t n[3], struct elements *e)
{
    static const char *const name[2][3] = {{"decode", "encode", "tie"},
                                           {"decode_high", "encode_high", "tie_high"}};
    static const char *const says[3] = {
        "a code has another value", "a value does not go back to its code",
        "a number between two values goes to the wrong one: the nearest, halves to the even "
        "code, beyond the largest the largest"};
    for (unsigned i = 0; i < 3; i++) {
        const bool has_sign = sq_bs_has_scale_sign(m->f), is_decode = i == 0;
        const char *const chosen = has_sign ? "scale" : "grid";
        struct sq_vector_rule *r = begin(m, name[is_high][i], says[i], n[i]);
        e->chosen[i] = n_choices(m->f) > 1 ? add(m, r, chosen, SQ_U8, 1) : NULL;
        e->in[i] = add(m, r, is_decode ? "code" : "x", is_decode ? SQ_U8 : SQ_F32, 1);
        r->n_in = r->n_fields;
        e->out[i] = add(m, r, is_decode ? "value" : "code", is_decode ? SQ_F32 : SQ_U8, 1);
    }
}

static void put_element(const struct sq_bs_format *f, const struct elements *e, unsigned rule,
                        size_t at, unsigned choice, uint32_t in, uint32_t out)
{
    enum { ONE = 0x38 }; // of E4M3
    if (e->chosen[rule])
        sq_vector_put(e->chosen[rule], at, 0,
                      sq_bs_has_scale_sign(f) ? ONE | choice * SQ_BS_SCALE_SIGN : choice);
    sq_vector_put(e->in[rule], at, 0, in);
    sq_vector_put(e->out[rule], at, 0, out);
}

// Halves between n ascending values, the numbers next to them, and what is beyond the ends.
static float tie(const float *value, size_t n, size_t i, size_t n_ties)
{
    const size_t pair = i / 3 < n - 1 ? i / 3 : n - 2;
    const float half = (value[pair] + value[pair + 1]) / 2;
    if (i >= 3 * (n - 1)) // beyond the ends
        return (i % 2 ? 1.0f : -1.0f) * value[n - 1] * (i < n_ties - 2 ? 1.25f : 1e6f);
    return i % 3 == 0   ? half
           : i % 3 == 1 ? nextafterf(half, -INFINITY)
                        : nextafterf(half, INFINITY);
}

static size_t codes_of(const struct sq_bs_format *f, bool is_high, unsigned choice,
                       unsigned code[CODES])
{
    size_t n = 0;
    for (unsigned c = 0; c < CODES; c++)
        if (is_code(f, is_high, choice, c))
            code[n++] = c;
    return n;
}

static void element_rules(struct maker *m, bool is_high)
{
    const struct sq_bs_format *f = m->f;
    unsigned code[CODES];
    struct elements e;
    size_t n[3] = {0, 0, 0}, at = 0, at_tie = 0;
    for (unsigned s = 0; s < n_choices(f); s++) {
        const size_t n_codes = codes_of(f, is_high, s, code);
        n[0] += n_codes;
        n[1] += n_codes;
        n[2] += 3 * (n_codes - 1) + 4;
    }
    open_elements(m, is_high, n, &e);
    for (unsigned s = 0; s < n_choices(f) && !m->failed; s++) {
        const size_t n_codes = codes_of(f, is_high, s, code), n_ties = 3 * (n_codes - 1) + 4;
        float value[CODES] = {0};
        for (size_t i = 0; i < n_codes; i++, at++) {
            value[i] = value_of(f, is_high, s, code[i]);
            put_element(f, &e, 0, at, s, code[i], sq_bits_of(value[i]));
            put_element(f, &e, 1, at, s, sq_bits_of(value[i]), code_of(f, is_high, s, value[i]));
        }
        qsort(value, n_codes, sizeof *value, ascending);
        for (size_t i = 0; i < n_ties; i++, at_tie++) {
            const float x = tie(value, n_codes, i, n_ties);
            put_element(f, &e, 2, at_tie, s, sq_bits_of(x), code_of(f, is_high, s, x));
        }
    }
}

// ---- blocks ---------------------------------------------------------------------------------

// Block `i` of the suite: zeros; ties of magnitudes; one scale tie after another; scales below the
// smallest and beyond the largest; any.
static void draw_block(struct maker *m, size_t i, float *x)
{
    const struct sq_bs_format *f = m->f;
    const float top = sq_element_max(f->element);
    const int e = (int)(i % 24) - 12; // scales 2^-12 .. 2^11: E4M3 has 2^-9 .. 448
    for (size_t k = 0; k < f->block; k++) {
        const float u = (float)(int32_t)(sq_rng_below(&m->rng, 2001)) / 1000 - 1;
        x[k] = i == 0       ? 0
               : i % 4 == 1 ? (float)((int)sq_rng_below(&m->rng, 9) - 4) * ldexpf(0.25f, e)
                            : u * top * ldexpf(1, e);
    }
    if (i % 4 == 2) // the scale falls between two codes: 17/16, 19/16, .. of a power of two
        x[sq_rng_below(&m->rng, f->block)] =
            top * ldexpf(17.0f + 2 * (float)sq_rng_below(&m->rng, 8), e - 4);
}

struct blocks {
    struct sq_vector_field *x, *global, *mask, *scale, *sub, *code, *high;
};

static bool has_mask(const struct sq_bs_format *f)
{
    return sq_bs_n_marks(f) > 0;
}

static size_t n_scales(const struct sq_bs_format *f)
{
    return 1u + sq_bs_has_scale(f, 1);
}

// Fields of a rule over blocks, up to those that `last` names.
static struct blocks block_rule(struct maker *m, const char *name, const char *says)
{
    const struct sq_bs_format *f = m->f;
    struct sq_vector_rule *r = begin(m, name, says, RANDOM + 128);
    struct blocks b = {.x = add(m, r, "x", SQ_F32, f->block)};
    const bool asks_mask = strcmp(name, "mask") == 0, asks_scale = strcmp(name, "scale") == 0;
    if (!asks_mask && (sq_bs_is_e8m0(f) || sq_bs_has_global(f, 0)))
        b.global = add(m, r, "global", SQ_F32, sq_bs_n_parts(f));
    r->n_in = r->n_fields;
    if (has_mask(f)) {
        b.mask = add(m, r, "mask", SQ_U8, f->block);
        r->n_in += !asks_mask;
    }
    if (!asks_mask)
        b.scale = add(m, r, "scale", SQ_U8, n_scales(f));
    if (sq_bs_n_subs(f) > 0)
        b.sub = add(m, r, "sub", SQ_U8, sq_bs_n_subs(f));
    r->n_in += asks_mask || asks_scale ? 0 : 1u + (b.sub != NULL);
    if (!asks_mask && !asks_scale) {
        b.code = add(m, r, "code", SQ_U8, f->block);
        if (sq_bs_high_bits(f) > 0)
            b.high = add(m, r, "high", SQ_U8, f->block);
    }
    return b;
}

static void put_block(const struct sq_bs_format *f, struct blocks *to, size_t at, const float *x,
                      const float *global, const struct sq_bs_block *b)
{
    for (size_t k = 0; k < f->block; k++) {
        const struct sq_bs_code c = sq_bs_encode(f, b, k, x[k]);
        sq_vector_put(to->x, at, k, sq_bits_of(x[k]));
        if (to->mask)
            sq_vector_put(to->mask, at, k, b->is_high[k]);
        if (to->code)
            sq_vector_put(to->code, at, k, c.code);
        if (to->high)
            sq_vector_put(to->high, at, k, c.high);
    }
    for (size_t p = 0; to->global && p < to->global->count; p++)
        sq_vector_put(to->global, at, p, sq_bits_of(global[p]));
    for (size_t p = 0; to->scale && p < to->scale->count; p++)
        sq_vector_put(to->scale, at, p, b->scale[p]);
    for (size_t i = 0; to->sub && i < to->sub->count; i++)
        sq_vector_put(to->sub, at, i, b->sub[i]);
}

static void block_rules(struct maker *m)
{
    const struct sq_bs_format *f = m->f;
    struct blocks mask = {0};
    if (has_mask(f))
        mask = block_rule(m, "mask",
                          "other elements are high: the largest, the lower place of equals");
    struct blocks scale = block_rule(
        m, "scale",
        sq_bs_has_scale_sign(f)
            ? "a block gets another scale or sign: nearest, halves to even, subnormals kept, 0x7e "
              "at most; the sign of the smaller squared error"
            : "a block gets another scale: nearest, halves to even, subnormals kept, 0x7e at most");
    struct blocks code = block_rule(m, "code", "an element over its step gets another code");
    for (size_t i = 0; i < RANDOM + 128 && !m->failed; i++) {
        float x[SQ_BS_BLOCK_MAX];
        const float g = i < 128 || !sq_bs_has_global(f, 0) ? 1.0f : 0.37f;
        const float global[SQ_BS_PARTS] = {g, sq_bs_has_global(f, 0) ? g / 3 : 1};
        struct sq_bs_block b;
        draw_block(m, i, x);
        sq_bs_choose(f, x, f->block, global, &b);
        if (mask.x)
            put_block(f, &mask, i, x, global, &b);
        put_block(f, &scale, i, x, global, &b);
        put_block(f, &code, i, x, global, &b);
    }
}

// ---- products -------------------------------------------------------------------------------

// One row of `n` blocks with all that sq_bs_gemm reads.
struct row {
    struct sq_bs c;
    uint8_t code[BLOCKS * SQ_BS_BLOCK_MAX], high[BLOCKS * SQ_BS_BLOCK_MAX],
        mask[BLOCKS * SQ_BS_BLOCK_MAX], sub[BLOCKS * SQ_BS_SUBS], scale[SQ_BS_PARTS][BLOCKS];
    float global[SQ_BS_PARTS];
};

static void open_row(struct row *r, const struct sq_bs_format *f, size_t n)
{
    memset(r, 0, sizeof *r);
    r->c = (struct sq_bs){.f = *f, .n = 1, .k = n * f->block, .k_orig = n * f->block};
    r->c.code = r->code;
    r->c.high = sq_bs_high_bits(f) > 0 ? r->high : NULL;
    r->c.is_high = has_mask(f) ? r->mask : NULL;
    r->c.sub = sq_bs_n_subs(f) > 0 ? r->sub : NULL;
    for (unsigned p = 0; p < SQ_BS_PARTS; p++) {
        r->c.scale[p] = sq_bs_has_scale(f, p) ? r->scale[p] : NULL;
        r->c.global[p] = p < sq_bs_n_parts(f) ? &r->global[p] : NULL;
        r->global[p] = 1;
    }
}

static uint8_t draw_code(struct maker *m, bool is_high, unsigned choice)
{
    unsigned code;
    do
        code = sq_rng_below(&m->rng, CODES);
    while (!m->is_code[is_high][choice][code]);
    return (uint8_t)code;
}

// What the elements of block j can be: a sign of the scale, or a grid and exponents, the same in all
// sub-blocks of a level.
static unsigned draw_choice(struct maker *m, struct row *r, size_t j)
{
    const struct sq_bs_table *const t = m->f->table;
    const unsigned choice = n_choices(m->f) > 1 ? sq_rng_below(&m->rng, n_choices(m->f)) : 0;
    uint8_t *const sub = r->sub + j * sq_bs_n_subs(m->f);
    if (sq_bs_has_scale_sign(m->f))
        r->scale[0][j] = (uint8_t)(choice * SQ_BS_SCALE_SIGN);
    else
        memset(sub, (int)(choice << 4), sq_bs_n_subs(m->f));
    for (unsigned l = 0; t && l < t->n_levels; l++)
        for (unsigned i = 0, e = 0; i < sq_bs_leaves(t); i++) {
            e = i * t->leaf % t->level[l].length ? e
                                                 : sq_rng_below(&m->rng, 1u << t->level[l].bits);
            sub[i] |= (uint8_t)(e << 2 * l);
        }
    return choice;
}

// A code of the smallest number above 0.
static uint8_t small_code(const struct sq_bs_format *f, unsigned choice)
{
    unsigned small = 1;
    for (unsigned c = 0; f->table && c < CODES; c++)
        if (is_code(f, false, choice, c) && value_of(f, false, choice, c) > 0 &&
            !(is_code(f, false, choice, small) && value_of(f, false, choice, small) > 0 &&
              value_of(f, false, choice, small) <= value_of(f, false, choice, c)))
            small = c;
    return (uint8_t)small;
}

// Elements of block j: all of them at random; or (`which` 0..3) extremes beside the smallest.
static void draw_elements(struct maker *m, struct row *r, size_t j, unsigned choice, unsigned which)
{
    const struct sq_bs_format *f = m->f;
    const size_t b = f->block, n_high = sq_bs_n_marks(f);
    const bool has_own = sq_bs_n_parts(f) == 2;
    const bool is_extreme = which < 4;
    const float most[SQ_BS_PARTS] = {is_extreme ? most_of(f, false, choice) : 0,
                                     is_extreme && has_own ? most_of(f, true, choice) : 0};
    for (size_t t = 0; t < n_high;) {
        const size_t i = j * b + sq_rng_below(&m->rng, (uint32_t)b);
        t += !r->mask[i];
        r->mask[i] = 1;
    }
    for (size_t k = 0; k < b; k++) {
        const size_t i = j * b + k;
        const bool is_high = has_own && r->mask[i];
        const bool is_small = k == (which & 1 ? b - 1 : 0);
        const float end = most[is_high];
        uint8_t c = draw_code(m, is_high, choice);
        if (is_extreme) // one of the smallest numbers beside largest ones, all of one sign or not
            c = (uint8_t)code_of(f, is_high, choice, which < 2 || k % 2 ? end : -end);
        if (is_extreme && is_small)
            c = small_code(f, choice);
        if (is_high)
            r->high[i] = c;
        else
            r->code[i] = c;
        if (r->c.high && !has_own && r->mask[i])
            r->high[i] = draw_code(m, false, choice);
    }
}

// Scales of block j, beside their signs: 1; or across their range, `at` counting.
static void draw_scales(struct maker *m, struct row *r, size_t j, bool is_one, size_t at)
{
    const struct sq_bs_format *f = m->f;
    static const uint8_t e4m3[] = {0, 1, 2, 3, 5, 7, 8, 9, 0x38, 0x7d, 0x7e};
    static const uint8_t e8m0[] = {120, 127, 134, 60, 190, 0, 30, 250};
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        if (r->c.scale[p] && sq_bs_is_e8m0(f))
            r->scale[p][j] = is_one    ? 127
                             : at < 64 ? e8m0[at % 8]
                                       : (uint8_t)(120 + sq_rng_below(&m->rng, 16));
        else if (r->c.scale[p])
            r->scale[p][j] |= is_one     ? 0x38
                              : at < 121 ? e4m3[at % 11]
                                         : (uint8_t)(0x20 + sq_rng_below(&m->rng, 0x30));
}

static float product(const struct row *w, const struct row *x)
{
    float y = 0;
    const struct sq_bs_product g = {.w = &w->c, .x = &x->c, .y = &y};
    // Not of the thread: what each thread of a caller would have to hold on its stack.
    SQ_FREED void *const scratch = aligned_alloc(64, (sq_bs_gemm_scratch(&g) + 63) / 64 * 64);
    if (!scratch)
        abort();
    sq_bs_gemm(&g, scratch);
    return y;
}

static void reverse(const struct row *from, struct row *to, const struct sq_bs_format *f)
{
    const size_t b = f->block;
    open_row(to, f, BLOCKS);
    for (size_t j = 0; j < BLOCKS; j++) {
        const size_t k = BLOCKS - 1 - j;
        memcpy(to->code + j * b, from->code + k * b, b);
        memcpy(to->high + j * b, from->high + k * b, b);
        memcpy(to->mask + j * b, from->mask + k * b, b);
        memcpy(to->sub + j * sq_bs_n_subs(f), from->sub + k * sq_bs_n_subs(f), sq_bs_n_subs(f));
        for (unsigned p = 0; p < SQ_BS_PARTS; p++)
            to->scale[p][j] = from->scale[p][k];
    }
}

struct side {
    struct sq_vector_field *code, *high, *mask, *sub, *scale;
};

static struct side add_side(struct maker *m, struct sq_vector_rule *r, size_t blocks, bool is_w)
{
    const struct sq_bs_format *f = m->f;
    struct side s = {.code = add(m, r, is_w ? "w_code" : "x_code", SQ_U8, blocks * f->block)};
    if (sq_bs_high_bits(f) > 0)
        s.high = add(m, r, is_w ? "w_high" : "x_high", SQ_U8, blocks * f->block);
    if (has_mask(f))
        s.mask = add(m, r, is_w ? "w_mask" : "x_mask", SQ_U8, blocks * f->block);
    if (sq_bs_n_subs(f) > 0)
        s.sub = add(m, r, is_w ? "w_sub" : "x_sub", SQ_U8, blocks * sq_bs_n_subs(f));
    s.scale = add(m, r, is_w ? "w_scale" : "x_scale", SQ_U8, blocks * n_scales(f));
    return s;
}

static void put_side(const struct sq_bs_format *f, const struct side *s, size_t at,
                     const struct row *r, size_t blocks)
{
    for (size_t i = 0; i < blocks * f->block; i++) {
        sq_vector_put(s->code, at, i, r->code[i]);
        if (s->high)
            sq_vector_put(s->high, at, i, r->high[i]);
        if (s->mask)
            sq_vector_put(s->mask, at, i, r->mask[i]);
    }
    for (size_t i = 0; s->sub && i < s->sub->count; i++)
        sq_vector_put(s->sub, at, i, r->sub[i]);
    for (size_t j = 0; j < blocks; j++)
        for (size_t p = 0; p < n_scales(f); p++)
            sq_vector_put(s->scale, at, j * n_scales(f) + p, r->scale[p][j]);
}

static void draw_row(struct maker *m, struct row *r, size_t blocks, bool is_one, size_t at,
                     unsigned which)
{
    open_row(r, m->f, blocks);
    for (size_t j = 0; j < blocks; j++) {
        draw_elements(m, r, j, draw_choice(m, r, j), which);
        draw_scales(m, r, j, is_one, blocks > 1 ? CODES : at);
    }
}

static void product_rule(struct maker *m, const char *name, const char *says, size_t blocks,
                         size_t n)
{
    const struct sq_bs_format *f = m->f;
    const bool is_one = strcmp(name, "dot") == 0;
    struct sq_vector_rule *r = begin(m, name, says, n);
    const struct side ws = add_side(m, r, blocks, true), xs = add_side(m, r, blocks, false);
    r->n_in = r->n_fields;
    struct sq_vector_field *y = add(m, r, "y", SQ_F32, 1);
    for (size_t i = 0; i < n && !m->failed; i++) {
        struct row w, x, w_back, x_back;
        for (unsigned tries = 0; tries < 200; tries++) { // one that shows the order
            draw_row(m, &w, blocks, is_one, i / 11, is_one && i < 16 ? (unsigned)i / 4 : 4);
            draw_row(m, &x, blocks, is_one, i, is_one && i < 16 ? (unsigned)i % 4 : 4);
            if (blocks == 1)
                break;
            reverse(&w, &w_back, f);
            reverse(&x, &x_back, f);
            if (sq_bits_of(product(&w, &x)) != sq_bits_of(product(&w_back, &x_back)))
                break;
        }
        put_side(f, &ws, i, &w, blocks);
        put_side(f, &xs, i, &x, blocks);
        sq_vector_put(y, i, 0, sq_bits_of(product(&w, &x)));
    }
}

enum sq_status sq_bs_vectors(const struct sq_recipe *recipe, uint64_t seed, struct sq_vectors *v,
                             struct sq_error *err)
{
    const struct sq_bs_format format = sq_bs_of(recipe), *f = &format;
    struct maker m = {.f = f, .v = v, .rng = {seed}};
    SQ_TRY(sq_bs_hardware_check(recipe, err));
    SQ_FAIL_IF(f->table && (sq_bs_scale_is_float(f->table->scale) || f->table->zero), err,
               SQ_ERR_UNSUPPORTED,
               "format = %s: vectors have scales of 8 bits, no blocks.0.scale = %s, and no "
               "blocks.0.zero",
               f->table->name, sq_bs_scale_name(f->table->scale));
    for (unsigned c = 0; c < CODES; c++)
        for (unsigned i = 0; i < n_choices(f); i++) {
            m.is_code[0][i][c] = is_code(f, false, i, c);
            m.is_code[1][i][c] = !f->table && is_code(f, true, i, c);
        }
    memset(v, 0, sizeof *v);
    SQ_FAIL_IF(sq_bs_recipe(recipe)->like, err, SQ_ERR_UNSUPPORTED,
               "like: vectors are those of SPEC, need none");
    element_rules(&m, false);
    if (sq_bs_n_parts(f) == 2 && !m.failed)
        element_rules(&m, true);
    if (!m.failed)
        block_rules(&m);
    if (!m.failed)
        product_rule(&m, "dot", "a block's sum of products is not exact: a bit is lost", 1, RANDOM);
    if (!m.failed)
        product_rule(&m, "scaled",
                     "a sum times its two scales is another: subnormal scales are numbers", 1,
                     121 + RANDOM);
    if (!m.failed)
        product_rule(&m, "accumulate",
                     "blocks are added in another order, or with another rounding than one of "
                     "binary32 an addition",
                     BLOCKS, RANDOM);
    if (!m.failed)
        return SQ_OK;
    sq_vectors_free(v);
    return SQ_NO_MEMORY(err, "the vectors");
}
