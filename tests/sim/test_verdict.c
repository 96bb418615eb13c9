// SPDX-License-Identifier: Apache-2.0
// One thing in every row of reports/formats/verdict.txt: the units whose area a row counts (struct
// sq_area_unit) have the parameters of the format whose KL it shows, and the encoder gives the very
// scales and codes that the format gives activations, the scale above the blocks divided out.
//
// All rows of block-scaled formats; of each encoder 2000 tokens of four blocks, bfloat16 as the unit takes
// them, with outliers. Rows whose encoder is not built say so with a `?`.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/scaled/sq_scaled.h"
#include "sim/block/flow/sq_block.h"
#include "sim/format/scaled/sq_bs_format.h"
#include "tests/sim/block_fixture.h"
#include "tests/unit/fixture.h"

enum { WORDS = 8, CELLS = 5, LINE = 512, TOKENS = 2000, BLOCKS = 4 };

struct line {
    char text[LINE], *label, *variant, *pe, *array, *encoder[WORDS];
    unsigned times[WORDS]; // N of "N*unit", 1 without
    size_t n_encoders;
    bool is_bound; // a part of the encoder is not built
};

static char *trimmed(char *s)
{
    s += strspn(s, " ");
    for (char *end = s + strlen(s); end > s && (end[-1] == ' ' || end[-1] == '\n');)
        *--end = '\0';
    return s;
}

static bool read_line(FILE *f, struct line *r)
{
    char *rest, *cell[CELLS];
    do
        if (!fgets(r->text, LINE, f))
            return false;
    while (r->text[0] == '#');
    rest = r->text;
    for (size_t i = 0; i < CELLS; i++)
        assert_non_null(cell[i] = strsep(&rest, "|"));
    r->label = trimmed(cell[0]);
    r->variant = trimmed(cell[1]);
    cell[2] = trimmed(cell[2]);
    r->pe = strsep(&cell[2], " ");
    r->array = cell[2];
    r->n_encoders = 0;
    r->is_bound = false;
    cell[3] = trimmed(cell[3]);
    for (char *word; (word = strsep(&cell[3], " "));)
        if (strcmp(word, "?") == 0)
            r->is_bound = true;
        else {
            char *unit = strchr(word, '*');
            r->times[r->n_encoders] = unit ? (unsigned)strtoul(word, NULL, 10) : 1;
            r->encoder[r->n_encoders++] = unit ? unit + 1 : word;
        }
    return true;
}

// As kl_grid reads a variant.
static bool recipe_of(const char *variant, struct sq_recipe *r)
{
    static char text[LINE];
    struct sq_given given = {0};
    struct sq_error err;
    snprintf(text, sizeof text, "%s", variant);
    const struct sq_format_ops *f = sq_format_find(strtok(text, " "));
    assert_non_null(f);
    for (char *o; (o = strtok(NULL, " "));) {
        char *value = strchr(o, '=');
        *value++ = '\0';
        given.option[given.n].name = o;
        given.option[given.n++].text = value;
    }
    assert_ok(sq_format_recipe(f, SQ_IN_EVAL, &given, r, &err));
    return f->values == &sq_bs_coded;
}

static const struct sq_area_unit *unit_named(const char *name)
{
    const struct sq_area_unit *u;
    for (size_t i = 0; (u = sq_area_unit(i)); i++)
        if (strcmp(u->name, name) == 0)
            return u;
    fail_msg("no unit %s", name);
    return NULL;
}

static unsigned param(const struct sq_area_unit *u, const char *name)
{
    for (size_t i = 0; i < sizeof u->param / sizeof u->param[0] && u->param[i].name; i++)
        if (strcmp(u->param[i].name, name) == 0)
            return u->param[i].value;
    return 0;
}

static bool is_own(const struct sq_bs_format *f)
{
    return f->kind == SQ_BS_SQ && !f->is_high_block;
}

static void check_common(const char *label, const struct sq_bs_format *f,
                         const struct sq_area_unit *u, const char *element, const char *scale,
                         const char *high)
{
    CHECK_EQ(param(u, "BankLen"), f->block, "%s, %s\n", label, u->name);
    CHECK_EQ(sq_scaled_element_of(param(u, element)), f->element, "%s, %s\n", label, u->name);
    CHECK_EQ(param(u, element) == SQ_SCALED_IF4, f->kind == SQ_BS_IF4, "%s, %s\n", label, u->name);
    CHECK_EQ(param(u, element) == SQ_SCALED_RAZER, f->kind == SQ_BS_RAZER, "%s, %s\n", label,
             u->name);
    CHECK_EQ(param(u, scale), sq_bs_is_e8m0(f) ? SQ_SCALED_E8M0 : SQ_SCALED_E4M3, "%s, %s\n", label,
             u->name);
    CHECK_EQ(param(u, high), sq_bs_high_bits(f) ? f->high_per_block : 0, "%s, %s\n", label,
             u->name);
    CHECK_EQ(param(u, "OwnHigh"), is_own(f), "%s, %s\n", label, u->name);
}

// ---- what the encoder gives --------------------------------------------------------------------

static float bfloat16(float x)
{
    return sq_float_of(sq_bits_of(x) & 0xffff0000u);
}

static void draw_token(struct sq_rng *rng, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float u = (float)(sq_rng_unit(rng) + sq_rng_unit(rng) - 1);
        x[i] = bfloat16(u * (sq_rng_below(rng, 20) ? 1.0f : 40.0f));
    }
}

static void globals_of_token(const struct sq_bs_format *f, const float *x, float global[2])
{
    float amax[SQ_BS_PARTS] = {0, 0};
    for (size_t j = 0; j < BLOCKS; j++) {
        const float one[SQ_BS_PARTS] = {1, 1};
        struct sq_bs_block b;
        sq_bs_choose(f, x + j * f->block, f->block, one, &b);
        for (size_t i = 0; i < f->block; i++) {
            float *a = &amax[b.is_high[i] && sq_bs_n_parts(f) > 1];
            *a = fmaxf(*a, fabsf(x[j * f->block + i]));
        }
    }
    sq_bs_globals_of(f, amax, global);
}

// A block by the golden model of sq_act_scale, at the parameters of the unit.
static void compare_block(const char *label, const struct sq_bs_format *f, const unsigned *v,
                          const float *x, const float global[2])
{
    const float above = global[is_own(f)]; // what the unit's input is divided by
    int32_t record[SQ_BS_BLOCK_MAX], out[4 * SQ_BS_BLOCK_MAX] = {0};
    uint32_t len[1] = {1};
    struct sq_bs_block b;
    sq_bs_choose(f, x, f->block, global, &b);
    for (size_t i = 0; i < f->block; i++) {
        const float scaled = x[i] / above;
        assert_true(bfloat16(scaled) == scaled); // a power of two: nothing is rounded
        record[i] = (int32_t)(sq_bits_of(scaled) >> 16);
    }
    const struct sq_group group = {.record = record, .len = len};
    block_named("act_scale")->golden(v, &group, out);
    CHECK_EQ(out[0], b.scale[0], "%s: scale\n", label);
    for (size_t i = 0, at = 1 + f->block; i < f->block; i++) {
        const struct sq_bs_code c = sq_bs_encode(f, &b, i, x[i]);
        const bool is_high = is_own(f) && b.is_high[i];
        CHECK_EQ(out[1 + i], is_high ? 8 : c.code, "%s: code %zu\n", label, i);
        if (is_high)
            CHECK_EQ((uint8_t)out[at++], c.high, "%s: high code %zu\n", label, i);
    }
}

static void compare_encoder(const char *label, const struct sq_bs_format *f,
                            const struct sq_area_unit *u)
{
    struct sq_rng rng = {fixture_seed()};
    unsigned v[SQ_PARAMS_MAX] = {0};
    const struct sq_block *const encoder = block_named("act_scale");
    for (size_t i = 0; encoder->param[i]; i++)
        v[i] = param(u, encoder->param[i]);
    for (unsigned t = 0; t < TOKENS; t++) {
        float x[BLOCKS * SQ_BS_BLOCK_MAX], global[2];
        draw_token(&rng, x, BLOCKS * f->block);
        globals_of_token(f, x, global);
        for (size_t j = 0; j < BLOCKS; j++)
            compare_block(label, f, v, x + j * f->block, global);
    }
}

// ---- rows -----------------------------------------------------------------------------------

static void check_encoder(const struct line *r, const struct sq_recipe *recipe,
                          const struct sq_bs_format *f)
{
    bool is_rotated = false, is_encoded = false;
    for (size_t i = 0; i < r->n_encoders; i++) {
        if (strstr(r->encoder[i], "line_")) // of split codes, as compact as the array takes them
            continue;
        const struct sq_area_unit *u = unit_named(r->encoder[i]);
        if (strcmp(u->top, "sq_hadamard") == 0) {
            is_rotated = true;
            CHECK_EQ(param(u, "Len"), sq_bs_rotation_of(recipe), "%s\n", r->label);
            CHECK_EQ(param(u, "Bits"),
                     sq_bs_recipe(recipe)->rotation == SQ_BS_ROTATE_16_INTEGER ? SQ_BS_ROTATE_BITS
                                                                               : 0,
                     "%s\n", r->label);
            continue;
        }
        CHECK_EQ(strcmp(u->top, "sq_act_scale"), 0, "%s: %s\n", r->label, u->name);
        is_encoded = true;
        check_common(r->label, f, u, "Element", "Scale", "HighPerBank");
        if (!r->is_bound)
            compare_encoder(r->label, f, u);
    }
    CHECK_EQ(is_rotated, r->n_encoders > 0 && sq_bs_rotation_of(recipe) > 0, "%s\n", r->label);
    CHECK_EQ(is_encoded || r->is_bound, true, "%s has no encoder\n", r->label);
    // What no encoder does in binary64: search, two candidates, a step by the least error.
    const bool is_chosen = f->is_searched || f->kind == SQ_BS_FOUR_SIX || f->kind == SQ_BS_IF4 ||
                           f->kind == SQ_BS_RAZER || (f->kind == SQ_BS_SPLIT && !f->is_by_maximum);
    CHECK_EQ(is_chosen && !f->is_error_integer && !r->is_bound, false,
             "%s: its encoder is not built\n", r->label);
}

SQ_TEST(every_row_is_of_one_thing)
{
    struct line r;
    unsigned n = 0, n_exact = 0;
    FILE *f = fopen("reports/formats/verdict.txt", "r");
    assert_non_null(f);
    while (read_line(f, &r)) {
        struct sq_recipe recipe;
        if (!recipe_of(r.variant, &recipe))
            continue;
        const struct sq_bs_format act = sq_bs_act_of(&recipe);
        CHECK_EQ(recipe.operand, SQ_OPERAND_ACT, "%s\n", r.label);
        CHECK_EQ(act.is_global_power_of_two, !sq_bs_is_e8m0(&act), "%s\n", r.label);
        check_encoder(&r, &recipe, &act);
        n++;
        n_exact += !r.is_bound;
        if (strcmp(r.pe, "?") == 0)
            continue;
        const struct sq_area_unit *unit[] = {unit_named(r.pe), unit_named(r.array)};
        // What stands in front of a row gives it as many blocks a cycle as its PEs take.
        for (size_t i = 0; i < r.n_encoders; i++)
            if (!strstr(r.encoder[i], "line_"))
                CHECK_EQ(r.times[i], 1 + param(unit[0], "TwoBlocks"), "%s, %s\n", r.label,
                         r.encoder[i]);
        check_common(r.label, &act, unit[0], "ActElement", "ActScale", "HighLanes");
        check_common(r.label, &act, unit[1], "ActElement", "ActScale", "HighPerBank");
        for (size_t i = 0; i < 2; i++) {
            CHECK_EQ(param(unit[i], "WeightElement"), SQ_SCALED_INT4, "%s\n", r.label);
            CHECK_EQ(param(unit[i], "WeightScale"), SQ_SCALED_NONE, "%s\n", r.label);
            CHECK_EQ(param(unit[i], "AccW"), param(unit[0], "AccW"), "%s\n", r.label);
            CHECK_EQ(param(unit[i], "TwoBlocks"), param(unit[0], "TwoBlocks"), "%s\n", r.label);
            CHECK_EQ(unit[i]->weights, (unsigned)act.block * (1 + param(unit[0], "TwoBlocks")),
                     "%s\n", r.label);
            CHECK_EQ(param(unit[i], "Acc"),
                     sq_bs_is_e8m0(&act) ? SQ_SCALED_BINARY32 : SQ_SCALED_FIXED, "%s\n", r.label);
        }
    }
    fclose(f);
    assert_true(n > 12 && n_exact >= 12);
}
