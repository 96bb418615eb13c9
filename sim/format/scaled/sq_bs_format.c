// SPDX-License-Identifier: Apache-2.0
// Recipes of block-scaled formats, their time and their traffic (sq_bs_format.h).
#include "sim/format/scaled/sq_bs_format.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "sim/block/scaled/sq_scaled_codes.h"
#include "sim/format/sq_format_unit.h"

const char *const sq_bs_algorithm_choice[] = {"rtn", "gptq", NULL};
const char *const sq_bs_operand_choice[] = {"both", "weights", "act", NULL};
const char *const sq_bs_rotation_choice[] = {"none", "16", "32", "16-integer", NULL};
const char *const sq_bs_act_scale_choice[] = {"token", "static", "token2", NULL};
const char *const sq_bs_accumulate_choice[] = {"spec", "13", "14", "22", "25", "52", NULL};

// ---- the format -----------------------------------------------------------------------------

static const struct sq_bs_variant *variant_of(const struct sq_recipe *r)
{
    return r->format->variant;
}

struct sq_bs_format sq_bs_of(const struct sq_recipe *r)
{
    struct sq_bs_format f = variant_of(r)->blocks;
    f.rule = (enum sq_bs_rule)sq_bs_recipe(r)->rule;
    f.is_searched = sq_bs_recipe(r)->scale_by != SQ_BS_BY_LARGEST;
    if (variant_of(r)->choose)
        variant_of(r)->choose(r, &f);
    return f;
}

struct sq_bs_format sq_bs_act_of(const struct sq_recipe *r)
{
    struct sq_bs_format f = sq_bs_of(r);
    f.is_global_power_of_two = sq_bs_recipe(r)->act_scale == SQ_BS_ACT_TOKEN2;
    f.is_searched = sq_bs_recipe(r)->scale_by == SQ_BS_BY_ERROR;
    f.is_error_integer = sq_bs_recipe(r)->errors == SQ_BS_ERRORS_INTEGER;
    return f;
}

unsigned sq_bs_rotation_of(const struct sq_recipe *r)
{
    const struct sq_bs_recipe *o = sq_bs_recipe(r);
    return o->rotation == SQ_BS_ROTATE_NONE ? 0 : o->rotation == SQ_BS_ROTATE_32 ? 32 : 16;
}

enum sq_status sq_bs_sum_of(const struct sq_recipe *r, struct sq_sum_rule *rule,
                            struct sq_error *err)
{
    static const unsigned fraction[] = {0, 13, 14, 22, 25, 52};
    const struct sq_bs_recipe *o = sq_bs_recipe(r);
    const struct sq_bs_format f = sq_bs_of(r);
    const unsigned aligned = fraction[o->accumulate];
    struct sq_sum_device d;
    *rule = (struct sq_sum_rule){.kept = 0};
    if (aligned)
        *rule = (struct sq_sum_rule){.step = o->chunk,
                                     .groups = 1,
                                     .aligned = aligned,
                                     .by_value = true,
                                     .emin = SQ_SUM_EMIN_MIN,
                                     .kept = aligned < 23 || aligned == 52 ? aligned : 23};
    if (!o->sum)
        return SQ_OK;
    SQ_TRY(sq_sum_device_named(sq_sum_choice[o->sum], &d, err));
    const char *const type = f.table ? "a described grid" : sq_element_name(f.element);
    const struct sq_sum_rule *const of = sq_sum_device_rule(&d, type);
    SQ_FAIL_IF(!of, err, SQ_ERR_ARG, "sum = %s: it has no sums of %s, need a device that has",
               d.name, type);
    *rule = *of;
    return SQ_OK;
}

// ---- options --------------------------------------------------------------------------------

enum sq_status sq_bs_settle(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                            struct sq_error *err)
{
    const struct sq_bs_recipe *o = sq_bs_recipe(r);
    const struct sq_bs_format f = sq_bs_of(r);
    r->act = (struct sq_grid){SQ_GRID_DENSE, 0, sq_bs_code_bits(&f)};
    if (scope == SQ_IN_FILE)
        return SQ_OK;
    SQ_FAIL_IF(o->like && (r->algorithm == SQ_ALGORITHM_GPTQ || o->scale_by != SQ_BS_BY_LARGEST ||
                           o->rule != SQ_BS_OCP || r->operand == SQ_OPERAND_ACT),
               err, SQ_ERR_ARG, "like = %s: it decides how weights are encoded, need no %s",
               sq_bs_like_choice[o->like],
               r->algorithm == SQ_ALGORITHM_GPTQ ? "--algorithm gptq"
               : o->scale_by != SQ_BS_BY_LARGEST ? "--scale-by"
               : o->rule != SQ_BS_OCP            ? "--rule"
                                                 : "--operand act");
    struct sq_sum_rule rule;
    SQ_TRY(sq_bs_sum_of(r, &rule, err));
    SQ_FAIL_IF(rule.kept && r->operand != SQ_OPERAND_BOTH, err, SQ_ERR_ARG,
               "%s = %s: it adds products of codes, need --operand both",
               o->sum ? "sum" : "accumulate",
               o->sum ? sq_sum_choice[o->sum] : sq_bs_accumulate_choice[o->accumulate]);
    SQ_FAIL_IF(o->sum && o->accumulate, err, SQ_ERR_ARG,
               "sum = %s: it says how products are summed, need no --accumulate",
               sq_sum_choice[o->sum]);
    SQ_FAIL_IF(!o->accumulate && sq_given_text(given, "chunk"), err, SQ_ERR_ARG,
               "chunk needs --accumulate");
    if (!o->accumulate)
        sq_bs_set(r)->chunk = 0;
    SQ_FAIL_IF(sq_given_text(given, "percdamp") && r->algorithm != SQ_ALGORITHM_GPTQ, err,
               SQ_ERR_ARG, "percdamp needs --algorithm gptq");
    SQ_FAIL_IF(r->operand == SQ_OPERAND_ACT &&
                   (r->algorithm == SQ_ALGORITHM_GPTQ || scope == SQ_IN_QUANTIZE),
               err, SQ_ERR_ARG, "operand = act leaves the weights as they are");
    SQ_FAIL_IF(r->is_smooth && (o->act_scale == SQ_BS_ACT_STATIC ||
                                (r->algorithm == SQ_ALGORITHM_GPTQ && o->rotation)),
               err, SQ_ERR_ARG, "smooth does not go with %s",
               o->act_scale == SQ_BS_ACT_STATIC ? "--act-scale static" : "--rotate and GPTQ");
    SQ_FAIL_IF(r->operand == SQ_OPERAND_WEIGHTS && scope == SQ_IN_RUN, err, SQ_ERR_ARG,
               "operand = weights: no unit takes activations as they are");
    SQ_FAIL_IF(r->operand == SQ_OPERAND_WEIGHTS && o->act_scale != SQ_BS_ACT_TOKEN, err, SQ_ERR_ARG,
               "act-scale = %s: --operand weights leaves activations",
               sq_bs_act_scale_choice[o->act_scale]);
    return variant_of(r)->settle ? variant_of(r)->settle(r, err) : SQ_OK;
}

void sq_bs_text(const struct sq_recipe *r, char text[96])
{
    const struct sq_bs_format f = sq_bs_of(r);
    if (variant_of(r)->text)
        variant_of(r)->text(r, text);
    else
        snprintf(text, 96, "%s %s, blocks of %u", r->format->name,
                 f.table ? f.table->grid_name[0] : sq_element_name(f.element), f.block);
}

enum sq_status sq_bs_recipe_check(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_bs_recipe *o = sq_bs_recipe(r);
    const struct sq_bs_format f = sq_bs_of(r);
    SQ_FAIL_IF(r->operand > SQ_OPERAND_ACT || o->act_scale > SQ_BS_ACT_TOKEN2, err,
               SQ_ERR_UNSUPPORTED, "operand = %u, act-scale = %u, need 0..2, 0..2", r->operand,
               o->act_scale);
    SQ_FAIL_IF(o->rotation > SQ_BS_ROTATE_16_INTEGER, err, SQ_ERR_UNSUPPORTED,
               "rotate = %u, need 0..%u", o->rotation, SQ_BS_ROTATE_16_INTEGER);
    SQ_TRY(sq_bs_check(&f, err));
    if (f.table && !sq_bs_is_multiplied(f.table) && r->operand == SQ_OPERAND_BOTH)
        return SQ_FAIL(
            err, SQ_ERR_UNSUPPORTED,
            "operand = both: products of codes have no sums for blocks.%s, need weights or act, or "
            "min with scale f16 and grids with 0 and 1",
            f.table->sub_scale.bits           ? "1.scale of integers"
            : f.table->zero == SQ_BS_ZERO_F16 ? "0.zero = f16"
                                              : "0.zero = min");
    SQ_TRY(sq_bs_like_check(&f, (enum sq_bs_like)o->like, err));
    SQ_FAIL_IF(o->rotation && f.block % sq_bs_rotation_of(r) != 0, err, SQ_ERR_UNSUPPORTED,
               "rotate = %u, need a divisor of the block of %u", sq_bs_rotation_of(r), f.block);
    return SQ_OK;
}

// What the engine is sent: blocks with a minimum as four without one (SPEC Q.9).
static struct sq_bs_format engine_format(const struct sq_recipe *r)
{
    struct sq_bs_format f = sq_bs_of(r);
    f.is_apart = sq_bs_has_minima(&f);
    return f;
}

enum sq_status sq_bs_hardware_check(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_bs_format f = sq_bs_of(r);
    SQ_TRY(sq_bs_recipe_check(r, err));
    if (f.table)
        SQ_TRY(sq_scaled_check_table(f.table, err));
    SQ_FAIL_IF(sq_bs_has_minima(&f) && r->operand != SQ_OPERAND_BOTH, err, SQ_ERR_UNSUPPORTED,
               "operand = %s: no RTL has blocks.0.zero = min beside numbers without it, need both",
               sq_bs_operand_choice[r->operand]);
    return SQ_OK;
}

unsigned sq_bs_needs(const struct sq_recipe *r)
{
    const struct sq_bs_recipe *o = sq_bs_recipe(r);
    const bool is_rotated_gptq = r->algorithm == SQ_ALGORITHM_GPTQ && o->rotation;
    return (is_rotated_gptq                     ? SQ_NEED_HESSIAN
            : r->algorithm == SQ_ALGORITHM_GPTQ ? SQ_NEED_FACTOR
                                                : 0u) |
           (o->act_scale == SQ_BS_ACT_STATIC ? SQ_NEED_SAMPLE : 0u) |
           (r->is_smooth ? SQ_NEED_INPUTS : 0u);
}

size_t sq_bs_recipe_padded(const struct sq_recipe *r, size_t k_orig)
{
    const struct sq_bs_format f = sq_bs_of(r);
    return sq_bs_padded(&f, k_orig);
}

// Numbers that say what the codes mean, and what becomes of activations.
size_t sq_bs_numbers(struct sq_recipe *r, struct sq_metadata_value value[SQ_VALUES_MAX])
{
    value[0] = (struct sq_metadata_value){"operand", &r->operand, 0, SQ_OPERAND_WEIGHTS};
    value[1] =
        (struct sq_metadata_value){"rotate", &sq_bs_set(r)->rotation, 0, SQ_BS_ROTATE_16_INTEGER};
    return 2 + (variant_of(r)->numbers ? variant_of(r)->numbers(r, value + 2) : 0);
}

// ---- time and traffic -----------------------------------------------------------------------

// With --operand act weights are INT4 with a scale a row and nothing below it, as in the arrays of
// rtl/scaled/sq_array_scaled.sv without a scale of the weights' blocks.
enum { PLAIN_WEIGHT_BITS = 4 };

static bool is_plain_weight(const struct sq_recipe *r)
{
    return r->operand == SQ_OPERAND_ACT;
}

enum sq_scaled_high sq_bs_engine_high(const struct sq_bs_format *f)
{
    return sq_bs_n_parts(f) == 1 ? SQ_SCALED_SPLIT
           : f->is_high_block    ? SQ_SCALED_BLOCK
                                 : SQ_SCALED_OWN;
}

enum sq_scaled_element sq_bs_engine_element(const struct sq_bs_format *f,
                                            unsigned words[SQ_SCALED_TABLE_WORDS])
{
    const bool has_place = sq_bs_row_nbytes(f, f->block, SQ_BS_INDEX) > 0;
    unsigned e = SQ_SCALED_INT4;
    memset(words, 0, SQ_SCALED_TABLE_WORDS * sizeof *words);
    if (f->kind == SQ_BS_TABLE)
        return sq_scaled_element_of_table(f->table, words);
    if (f->kind == SQ_BS_IF4)
        return SQ_SCALED_IF4;
    if (f->kind == SQ_BS_RAZER)
        return SQ_SCALED_RAZER;
    assert(!sq_bs_has_scale_sign(f));
    while (sq_scaled_element_of((enum sq_scaled_element)e) != f->element)
        e++;
    return has_place ? SQ_SCALED_PLUS : (enum sq_scaled_element)e;
}

enum sq_scaled_scale sq_bs_engine_scale(const struct sq_bs_format *f)
{
    return f->kind == SQ_BS_TABLE ? sq_scaled_scale_of_table(f->table)
           : sq_bs_is_e8m0(f)     ? SQ_SCALED_E8M0
                                  : SQ_SCALED_E4M3;
}

// Products of sq_b: every pair of low codes, and those with a high code on either side; split codes
// are nibbles, so that all products are of 4 x 4 bits. Masks of both sides are taken as
// independent.
static void demand(const struct sq_recipe *r, const struct sq_core_config *has, struct sq_demand *d)
{
    const struct sq_bs_format f = engine_format(r);
    const unsigned low = sq_bs_code_bits(&f), high = sq_bs_high_bits(&f);
    const double block = f.block, share = high ? f.high_per_block / block : 0;
    const double act = low + share * high; // bits of an activation that are multiplied
    const double cells = act * (is_plain_weight(r) ? PLAIN_WEIGHT_BITS : act);
    const bool has_row_scale = sq_bs_has_global(&f, 1) && !sq_bs_has_scale(&f, 1);
    struct sq_cost_unit *const u = &d->cost;
    u->stored = sq_bs_recipe_padded(r, (size_t)d->k) * (f.is_apart ? SQ_BS_APART : 1);
    // Every pair of parts has a sum in binary32; the output stage reads them one after the other.
    u->unit.stages =
        sq_array_scaled_stages(sq_scaled_tail_stages(SQ_SCALED_BINARY32, 0), share > 0);
    u->unit.output.form = SQ_COMBINE_FLOAT;
    if (share > 0)
        u->unit.output.pairs = sq_scaled_pairs(sq_bs_engine_high(&f), !is_plain_weight(r));
    u->flush = 0; // a PE scales its blocks
    sq_cost_pieces(u, f.block, sq_cost_products(has, 1, 1) / cells);
    u->low_lanes = (u->span + u->span_beats - 1) / u->span_beats;

    // Scales of activations above the blocks; fixed ones belong to the layer.
    d->n_act_scales = sq_bs_recipe(r)->act_scale == SQ_BS_ACT_STATIC
                          ? 0
                          : (unsigned)sq_bs_has_global(&f, 0) + sq_bs_has_global(&f, 1);
    if (is_plain_weight(r)) {
        d->of[SQ_STREAM_LO].element = PLAIN_WEIGHT_BITS;
        d->of[SQ_STREAM_SCALE].end = 4;
        return;
    }
    d->of[SQ_STREAM_LO].element = low;
    d->of[SQ_STREAM_HI].element = sq_bs_stream_bits(&f, SQ_BS_HIGH) / block;
    d->of[SQ_STREAM_INDEX].element = (sq_bs_stream_bits(&f, SQ_BS_MASK) +
                                      sq_bs_stream_bits(&f, SQ_BS_INDEX) + sq_bs_sub_bits(&f)) /
                                     block;
    d->of[SQ_STREAM_SCALE] = (struct sq_demand_bytes){
        .element = 8 * (sq_bs_scale_nbytes(&f) + sq_bs_has_scale(&f, 1)) / block,
        .end = has_row_scale ? 4 : 0};
}

// Parameters of a PE and of an array of them whose operands are both of `element` at `scale`, added in binary32.
#define BOTH(bank, element, scale)                                                                 \
    {"BankLen", bank}, {"ActElement", element}, {"WeightElement", element}, {"ActScale", scale},   \
        {"WeightScale", scale}, {"Acc", SQ_SCALED_BINARY32},                                       \
    {                                                                                              \
        "AccW", 32                                                                                 \
    }

// The same where a block has elements of two parts, `lanes` of them high ones (sq_pe_parts).
#define PARTS(bank, name, lanes, high, element, scale)                                             \
    {"BankLen", bank}, {name, lanes}, {"High", high}, {"WeightHigh", 1}, {"ActElement", element},  \
        {"WeightElement", element}, {"ActScale", scale},                                           \
    {                                                                                              \
        "WeightScale", scale                                                                       \
    }

// High elements of a block with two parts in hardware; 0: it has one part.
static unsigned high_lanes(const struct sq_bs_format *f)
{
    return sq_bs_high_bits(f) > 0 ? f->high_per_block : 0;
}

// Bits of a sum that is exact (sq_acc_fixed); 0: *why there is none.
static unsigned exact_bits(const struct sq_bs_format *f, unsigned element, unsigned scale,
                           bool is_engine, const char **why)
{
    const unsigned bits = sq_scaled_sum_bits(sq_scaled_limit(
        (enum sq_scaled_element)element, (enum sq_scaled_element)element,
        (enum sq_scaled_scale)scale, (enum sq_scaled_scale)scale, f->block, 0, SQ_K_MAX));
    *why = is_engine ? "binary32: the PEs of a chip are priced without exact sums"
           : scale == SQ_SCALED_E8M0
               ? "binary32: exponents of E8M0 are too far apart for exact sums"
           : scale != SQ_SCALED_E4M3 ? "binary32: no exact PE of these scales is built"
           : high_lanes(f) > 0       ? "binary32: no exact PE of two parts is built"
           : element == SQ_SCALED_E4M3_ELEMENT || element == SQ_SCALED_E5M2 || bits > 64
               ? "binary32: exact sums would take more than 64 bits"
               : "exact";
    return strcmp(*why, "exact") == 0 ? bits : 0;
}

// ---- tails: what adds up the blocks in a PE

enum { TAILS_MAX = 8 };
struct tails {
    unsigned n;
    struct sq_synth_block pe[TAILS_MAX];
    const char *unit[TAILS_MAX]; // that has it, too; NULL: none
};

// NULL: it has no such parameter.
static unsigned *param_of(struct sq_synth_block *b, const char *name)
{
    for (size_t i = 0; i < b->n_params; i++)
        if (strcmp(b->param[i].name, name) == 0)
            return &b->param[i].value;
    return NULL;
}

static unsigned value_of(const struct sq_area_unit *u, const char *name)
{
    for (size_t i = 0; i < SQ_PARAMS_MAX && u->param[i].name; i++)
        if (strcmp(u->param[i].name, name) == 0)
            return u->param[i].value;
    return 0;
}

// A PE of a block a cycle that takes the same scales.
static bool is_like(const struct sq_area_unit *u, struct sq_synth_block *own)
{
    static const char *const scale[] = {"ActScale", "WeightScale"};
    bool is_same = strcmp(u->top, own->top) == 0 && u->weights == value_of(u, "BankLen") &&
                   !value_of(u, "HighLanes") == !param_of(own, "HighLanes");
    for (size_t i = 0; i < SQ_LEN(scale); i++)
        is_same = is_same && *param_of(own, scale[i]) == value_of(u, scale[i]);
    return is_same;
}

static void add_tail(struct tails *t, const struct sq_synth_block *pe, const char *unit)
{
    for (unsigned i = 0; i < t->n; i++) {
        bool is_same = t->pe[i].n_params == pe->n_params;
        for (size_t j = 0; is_same && j < pe->n_params; j++)
            is_same = t->pe[i].param[j].value == pe->param[j].value &&
                      strcmp(t->pe[i].param[j].name, pe->param[j].name) == 0;
        if (is_same)
            return;
    }
    if (t->n < TAILS_MAX) {
        t->unit[t->n] = unit;
        t->pe[t->n++] = *pe;
    }
}

// The format's PE with the tail of an area unit: its Acc, AccW and the parameters that `own` does not name. Exact sums are as
// wide as the format needs.
static void lend(struct tails *t, const struct sq_area_unit *u, const struct sq_synth_block *own,
                 unsigned exact)
{
    struct sq_synth_block pe = *own;
    for (size_t i = 0; i < SQ_PARAMS_MAX && u->param[i].name; i++) {
        const struct sq_area_param *const p = &u->param[i];
        unsigned *const had = param_of(&pe, p->name);
        if (had && strncmp(p->name, "Acc", 3) == 0)
            *had = p->value;
        else if (!had && p->value > 0)
            pe.param[pe.n_params++] = (struct sq_synth_param){p->name, p->value};
    }
    const unsigned acc = value_of(u, "Acc"), element = value_of(u, "ActElement");
    if (acc == SQ_SCALED_FIXED && param_of(&pe, "AccW"))
        *param_of(&pe, "AccW") = exact;
    if (acc >= SQ_SCALED_ALIGNED ? element == *param_of(&pe, "ActElement")
                                 : acc != SQ_SCALED_FIXED || exact > 0)
        add_tail(t, &pe, u->name);
}

// Blocks of both operands, one a cycle in each PE. The first tail is exact where it can be, which is smaller and faster than
// binary32 in each library of reports/area/scaled.csv, so that binary32 is then none of them unless option sum asks for it;
// then come those that area units of the same module and scales have.
static void list_tails(const struct sq_recipe *r, const struct sq_synth_block *own, unsigned exact,
                       bool is_engine, struct tails *t)
{
    const char *const sum = sq_sum_choice[sq_bs_recipe(r)->sum];
    const bool is_any = sq_bs_recipe(r)->sum == 0;
    struct sq_synth_block pe = *own;
    struct tails all = {.n = 0};
    if (exact > 0) {
        *param_of(&pe, "Acc") = SQ_SCALED_FIXED;
        *param_of(&pe, "AccW") = exact;
        add_tail(&all, &pe, NULL);
    }
    add_tail(&all, own, NULL);
    for (size_t i = 0; !is_engine && sq_area_unit(i); i++)
        if (is_like(sq_area_unit(i), &pe))
            lend(&all, sq_area_unit(i), own, exact);
    t->n = 0;
    for (unsigned i = 0; i < all.n; i++) {
        const unsigned *const acc = param_of(&all.pe[i], "Acc");
        const bool is_exact = acc && *acc == SQ_SCALED_FIXED;
        const bool is_binary32 = !acc || *acc == SQ_SCALED_BINARY32;
        if (is_any ? exact == 0 || !is_binary32
                   : strcmp(sum, is_exact      ? "exact"
                                 : is_binary32 ? "binary32"
                                               : "aligned") == 0)
            add_tail(t, &all.pe[i], all.unit[i]);
    }
}

static void make_pe(const struct sq_recipe *r, const struct sq_cost_unit *u, struct sq_cost_pe *pe)
{
    const struct sq_bs_format f = sq_bs_of(r);
    unsigned words[SQ_SCALED_TABLE_WORDS];
    const unsigned scale = sq_bs_engine_scale(&f), element = sq_bs_engine_element(&f, words);
    const unsigned lanes = high_lanes(&f), high = sq_bs_engine_high(&f);
    const char *sum;
    const unsigned exact = exact_bits(&f, element, scale, pe->is_engine, &sum);
    const struct sq_synth_block block[] = {
        {.top = "sq_pe_scaled", .n_params = 7, .param = {BOTH(f.block, element, scale)}},
        {.top = "sq_pe_parts",
         .n_params = 8,
         .param = {PARTS(f.block, "HighLanes", lanes, high, element, scale)}}};
    struct tails t;
    if (is_plain_weight(r) || u->span_beats != 1)
        return;
    list_tails(r, &block[lanes > 0], exact, pe->is_engine, &t);
    pe->n_tails = t.n;
    if (pe->tail >= t.n)
        return;
    const unsigned *const acc = param_of(&t.pe[pe->tail], "Acc");
    pe->unit = t.unit[pe->tail];
    pe->sum = !acc || *acc == SQ_SCALED_BINARY32 ? (exact > 0 ? "binary32" : sum)
              : *acc == SQ_SCALED_FIXED          ? "exact"
                                                 : "aligned";
    sq_cost_pe_add(pe, u->span / f.block, &t.pe[pe->tail]);
}

static const char *source_of(const unsigned *value, FILE *out)
{
    return sq_scaled_write_source(value, value[0], value[0], out);
}

// The PE of make_pe, the decoder of a line, and an array of both operands.
static size_t units(const struct sq_recipe *r, struct sq_format_unit *unit)
{
    static const char *const kind[] = {"pe", "line", "array"};
    const struct sq_bs_format f = sq_bs_of(r);
    unsigned words[SQ_SCALED_TABLE_WORDS] = {0};
    if (is_plain_weight(r))
        return 0;
    const unsigned scale = sq_bs_engine_scale(&f), element = sq_bs_engine_element(&f, words);
    const unsigned lanes = high_lanes(&f), high = sq_bs_engine_high(&f);
    const struct sq_area_unit one_part[] = {
        {NULL, "sq_pe_scaled", f.block, false, {BOTH(f.block, element, scale)}},
        {NULL,
         "sq_block_line",
         f.block,
         false,
         {{"BankLen", f.block}, {"Element", element}, {"Scale", scale}}},
        {NULL, "sq_array_scaled", f.block, true, {BOTH(f.block, element, scale)}}};
    const struct sq_area_unit two_parts[] = {
        {NULL,
         "sq_pe_parts",
         f.block,
         false,
         {PARTS(f.block, "HighLanes", lanes, high, element, scale)}},
        {NULL,
         "sq_parts_line",
         f.block,
         false,
         {{"BankLen", f.block},
          {"HighPerBank", lanes},
          {"High", high},
          {"Element", element},
          {"Scale", scale}}},
        {NULL,
         "sq_array_parts",
         f.block,
         true,
         {PARTS(f.block, "HighPerBank", lanes, high, element, scale)}}};
    for (size_t i = 0; i < SQ_LEN(one_part); i++) {
        snprintf(unit[i].name, sizeof unit[i].name, "%s_%.38s", kind[i], r->format->name);
        unit[i].area = lanes > 0 ? two_parts[i] : one_part[i];
        unit[i].source = source_of;
        unit[i].value[0] = element;
        memcpy(unit[i].value + SQ_PARAMS_MAX, words, sizeof words);
    }
    return SQ_LEN(one_part);
}

static double act_nbits(const struct sq_recipe *r)
{
    const struct sq_bs_format f = engine_format(r);
    return sq_bs_bits(&f);
}

// Codes alone (SPEC A.5).
static double equivalent_bits(const struct sq_recipe *r)
{
    const struct sq_bs_format f = sq_bs_of(r);
    const unsigned high = sq_bs_stream_bits(&f, SQ_BS_HIGH); // of a block
    if (is_plain_weight(r))
        return PLAIN_WEIGHT_BITS;
    return sq_bs_code_bits(&f) + (double)high / f.block;
}

const struct sq_format_cost sq_bs_timed = {
    .check = sq_bs_hardware_check,
    .pe = make_pe,
    .units = units,
    .demand = demand,
    .act_nbits = act_nbits,
    .equivalent_bits = equivalent_bits,
};
