// SPDX-License-Identifier: Apache-2.0
// Recipes of block-scaled formats, their time and their traffic (sq_bs_format.h).
#include "sim/format/bs/sq_bs_format.h"

#include <stdio.h>
#include <string.h>

#include "models/sq_scaled.h"

const char *const sq_bs_algorithm_choice[] = {"rtn", "gptq", NULL};
const char *const sq_bs_operand_choice[] = {"both", "weights", "act", NULL};
const char *const sq_bs_rotation_choice[] = {"none", "16", "32", NULL};
const char *const sq_bs_act_scale_choice[] = {"token", "static", NULL};

// ---- the format -----------------------------------------------------------------------------

// By name; the element of mxfp6 and mxfp8, and all but the kind of sq_b, come from options.
static const struct {
    const char *name;
    struct sq_bs_format f;
} table[] = {
    {"mxfp4", {.kind = SQ_BS_MX, .element = SQ_ELEMENT_E2M1, .block = 32}},
    {"mxfp6", {.kind = SQ_BS_MX, .block = 32}},
    {"mxfp8", {.kind = SQ_BS_MX, .block = 32}},
    {"mxint8", {.kind = SQ_BS_MX, .element = SQ_ELEMENT_MXINT8, .block = 32}},
    {"mxplus", {.kind = SQ_BS_PLUS, .element = SQ_ELEMENT_E2M1, .block = 32}},
    {"nvfp4", {.kind = SQ_BS_NV, .element = SQ_ELEMENT_E2M1, .block = 16}},
    {"nvfp4_46", {.kind = SQ_BS_FOUR_SIX, .element = SQ_ELEMENT_E2M1, .block = 16}},
    {"nvint4", {.kind = SQ_BS_NV, .element = SQ_ELEMENT_INT4, .block = 16}},
    {"nvint5", {.kind = SQ_BS_NV, .element = SQ_ELEMENT_INT5, .block = 16}},
    {"sq_b", {.kind = SQ_BS_SQ}},
};

static bool is_sq_b(const struct sq_recipe *r)
{
    return r->format == &sq_format_sq_b;
}

static bool has_element(const struct sq_recipe *r)
{
    return strcmp(r->format->name, "mxfp6") == 0 || strcmp(r->format->name, "mxfp8") == 0;
}

struct sq_bs_format sq_bs_of(const struct sq_recipe *r)
{
    const struct sq_bs_options *o = &r->bs;
    struct sq_bs_format f = {.kind = SQ_BS_SQ};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].name, r->format->name) == 0)
            f = table[i].f;
    f.rule = (enum sq_bs_rule)o->rule;
    if (has_element(r))
        f.element = (enum sq_element)o->element;
    if (!is_sq_b(r))
        return f;
    f.element = o->element ? SQ_ELEMENT_E2M1 : SQ_ELEMENT_INT4;
    f.block = r->bank;
    f.high_per_block = r->high_per_bank;
    f.is_high_block = o->is_high_block;
    f.kind = o->is_split ? SQ_BS_SPLIT : SQ_BS_SQ;
    f.is_power_of_two = o->is_power_of_two;
    f.is_by_maximum = o->is_by_maximum;
    return f;
}

unsigned sq_bs_rotation_of(const struct sq_recipe *r)
{
    return r->bs.rotation ? 8u << r->bs.rotation : 0;
}

// ---- options --------------------------------------------------------------------------------

static enum sq_status settle_sq_b(const struct sq_bs_options *o, struct sq_error *err)
{
    if (!o->is_split && (o->is_power_of_two || o->is_by_maximum))
        return SQ_FAIL(err, SQ_ERR_ARG, "%s needs --codes split",
                       o->is_power_of_two ? "step = pow2" : "step-by = maximum");
    if (o->is_split && (o->is_high_block || o->element))
        return SQ_FAIL(err, SQ_ERR_ARG, "%s needs --codes sentinel",
                       o->element ? "element = fp" : "high-scale = bank");
    return SQ_OK;
}

enum sq_status sq_bs_settle(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                            struct sq_error *err)
{
    const struct sq_bs_options *o = &r->bs;
    const struct sq_bs_format f = sq_bs_of(r);
    r->act = (struct sq_grid){SQ_GRID_DENSE, 0, sq_element_bits(f.element)};
    if (scope == SQ_IN_FILE)
        return SQ_OK;
    if (sq_given_text(given, "percdamp") && !r->is_gptq)
        return SQ_FAIL(err, SQ_ERR_ARG, "percdamp needs --algorithm gptq");
    if (o->operand == SQ_OPERAND_ACT && (r->is_gptq || scope == SQ_IN_QUANTIZE))
        return SQ_FAIL(err, SQ_ERR_ARG, "operand = act leaves the weights as they are");
    if (r->is_smooth && (o->is_act_static || (r->is_gptq && o->rotation)))
        return SQ_FAIL(err, SQ_ERR_ARG, "smooth does not go with %s",
                       o->is_act_static ? "--act-scale static" : "--rotate and GPTQ");
    if (o->operand == SQ_OPERAND_WEIGHTS && o->is_act_static)
        return SQ_FAIL(err, SQ_ERR_ARG, "act-scale = static: --operand weights leaves activations");
    return is_sq_b(r) ? settle_sq_b(o, err) : SQ_OK;
}

void sq_bs_text(const struct sq_recipe *r, char text[96])
{
    const struct sq_bs_format f = sq_bs_of(r);
    if (is_sq_b(r))
        snprintf(text, 96, "sq_b b=%u k=%u, %s%s", f.block, f.high_per_block,
                 r->bs.element ? "fp " : "", r->bs.is_split ? "split" : "sentinel");
    else
        snprintf(text, 96, "%s %s, blocks of %u", r->format->name, sq_element_name(f.element),
                 f.block);
}

enum sq_status sq_bs_recipe_check(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_bs_options *o = &r->bs;
    const struct sq_bs_format f = sq_bs_of(r);
    if (o->operand > SQ_OPERAND_ACT || o->is_act_static > 1)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "operand = %u, act-scale = %u, need 0..2, 0..1",
                       o->operand, o->is_act_static);
    if (o->rotation > 2)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "rotate = %u, need 0..2", o->rotation);
    SQ_TRY(sq_bs_check(&f, err));
    if (o->rotation && f.block % sq_bs_rotation_of(r) != 0)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "rotate = %u, need a divisor of the block of %u",
                       sq_bs_rotation_of(r), f.block);
    return SQ_OK;
}

unsigned sq_bs_needs(const struct sq_recipe *r)
{
    const bool is_rotated_gptq = r->is_gptq && r->bs.rotation;
    return (is_rotated_gptq ? SQ_NEED_HESSIAN
            : r->is_gptq    ? SQ_NEED_FACTOR
                            : 0u) |
           (r->bs.is_act_static ? SQ_NEED_SAMPLE : 0u) | (r->is_smooth ? SQ_NEED_INPUTS : 0u);
}

size_t sq_bs_recipe_padded(const struct sq_recipe *r, size_t k_orig)
{
    const struct sq_bs_format f = sq_bs_of(r);
    return sq_bs_padded(&f, k_orig);
}

// Numbers that say what the codes mean, and what becomes of activations.
size_t sq_bs_values(struct sq_recipe *r, struct sq_metadata_value value[SQ_VALUES_MAX])
{
    struct sq_bs_options *o = &r->bs;
    size_t n = 0;
    value[n++] = (struct sq_metadata_value){"operand", &o->operand, 0, SQ_OPERAND_WEIGHTS};
    value[n++] = (struct sq_metadata_value){"rotate", &o->rotation, 0, 2};
    if (sq_bs_of(r).kind == SQ_BS_MX)
        value[n++] = (struct sq_metadata_value){"rule", &o->rule, 0, SQ_BS_CEIL};
    else if (sq_bs_of(r).kind != SQ_BS_PLUS)
        value[n++] = (struct sq_metadata_value){"act_scale", &o->is_act_static, 0, 1};
    if (strcmp(r->format->name, "mxfp6") == 0)
        value[n++] =
            (struct sq_metadata_value){"element", &o->element, SQ_ELEMENT_E2M3, SQ_ELEMENT_E3M2};
    if (strcmp(r->format->name, "mxfp8") == 0)
        value[n++] =
            (struct sq_metadata_value){"element", &o->element, SQ_ELEMENT_E4M3, SQ_ELEMENT_E5M2};
    if (!is_sq_b(r))
        return n;
    value[n++] = (struct sq_metadata_value){"element", &o->element, 0, 1};
    value[n++] = (struct sq_metadata_value){"bank", &r->bank, 16, 32};
    value[n++] = (struct sq_metadata_value){"k", &r->high_per_bank, 1, 16};
    value[n++] = (struct sq_metadata_value){"codes", &o->is_split, 0, 1};
    value[n++] = (struct sq_metadata_value){"high_scale", &o->is_high_block, 0, 1};
    value[n++] = (struct sq_metadata_value){"step", &o->is_power_of_two, 0, 1};
    value[n++] = (struct sq_metadata_value){"step_by", &o->is_by_maximum, 0, 1};
    return n;
}

// ---- time and traffic -----------------------------------------------------------------------

// Products of sq_b: every pair of low codes, and those with a high code on either side; split codes
// are nibbles, so that all products are of 4 x 4 bits. Masks of both sides are taken as
// independent.
void sq_bs_unit(const struct sq_recipe *r, const struct sq_core_config *has, uint64_t m, uint64_t k,
                struct sq_cost_unit *u)
{
    const struct sq_bs_format f = sq_bs_of(r);
    const unsigned low = sq_element_bits(f.element), high = sq_bs_high_bits(&f);
    const double share = high ? (double)f.high_per_block / f.block : 0;
    const double cells = low * low + 2 * share * low * high + share * share * high * high;
    (void)m;
    u->stored = sq_bs_recipe_padded(r, (size_t)k);
    // High codes at a scale of the row have exact sums of their own, all others are in binary32.
    const bool has_own_high = sq_bs_n_parts(&f) > 1 && !sq_bs_has_scale(&f, 1);
    u->unit.stages = sq_array_scaled_stages(!has_own_high, high > 0);
    u->flush = 0; // a PE scales its blocks
    sq_cost_pieces(u, f.block, sq_cost_products(has, 1, 1) / cells);
    u->low_lanes = (u->span + u->span_beats - 1) / u->span_beats;
}

// Blocks of both operands in FP4 or INT4 and INT5, one a cycle in each PE, accumulated in binary32.
// No PE has high elements on both sides.
void sq_bs_pe(const struct sq_recipe *r, const struct sq_cost_unit *u, struct sq_cost_pe *pe)
{
    const struct sq_bs_format f = sq_bs_of(r);
    const unsigned scale = sq_bs_is_e8m0(&f) ? SQ_SCALED_E8M0 : SQ_SCALED_E4M3;
    const unsigned element = f.element == SQ_ELEMENT_E2M1   ? SQ_SCALED_E2M1
                             : f.element == SQ_ELEMENT_INT5 ? SQ_SCALED_INT5
                                                            : SQ_SCALED_INT4;
    const bool has_element = f.element == SQ_ELEMENT_E2M1 || f.element == SQ_ELEMENT_INT4 ||
                             f.element == SQ_ELEMENT_INT5;
    const struct sq_synth_block block = {.top = "sq_pe_scaled",
                                         .n_params = 7,
                                         .param = {{"BankLen", f.block},
                                                   {"ActElement", element},
                                                   {"WeightElement", element},
                                                   {"ActScale", scale},
                                                   {"WeightScale", scale},
                                                   {"Acc", SQ_SCALED_BINARY32},
                                                   {"AccW", 32}}};
    if (has_element && sq_bs_n_marks(&f) == 0 && u->span_beats == 1)
        sq_cost_pe_add(pe, u->span / f.block, &block);
}

void sq_bs_weight_nbytes(const struct sq_recipe *r, uint64_t n, uint64_t m_all,
                         const struct sq_stretch *t, uint64_t nbytes[SQ_N_STREAMS])
{
    const struct sq_bs_format f = sq_bs_of(r);
    const double e = (double)t->elements, blocks = e / f.block;
    const bool has_row_scale = sq_bs_has_global(&f, 1) && !sq_bs_has_scale(&f, 1);
    (void)m_all;
    nbytes[SQ_STREAM_LO] = n * sq_cost_bytes(e * sq_element_bits(f.element));
    nbytes[SQ_STREAM_HI] = n * sq_cost_bytes(blocks * sq_bs_stream_bits(&f, SQ_BS_HIGH));
    nbytes[SQ_STREAM_INDEX] = n * sq_cost_bytes(blocks * (sq_bs_stream_bits(&f, SQ_BS_MASK) +
                                                          sq_bs_stream_bits(&f, SQ_BS_INDEX)));
    nbytes[SQ_STREAM_SCALE] = n * (sq_cost_bytes(8 * blocks * (sq_bs_has_scale(&f, 1) ? 2 : 1)) +
                                   (has_row_scale && t->at_end ? 4 : 0));
}

double sq_bs_act_nbits(const struct sq_recipe *r)
{
    const struct sq_bs_format f = sq_bs_of(r);
    return sq_bs_bits(&f);
}

// Those above the blocks; fixed ones belong to the layer.
unsigned sq_bs_n_act_scales(const struct sq_recipe *r)
{
    const struct sq_bs_format f = sq_bs_of(r);
    return r->bs.is_act_static ? 0 : (unsigned)sq_bs_has_global(&f, 0) + sq_bs_has_global(&f, 1);
}

// Codes alone (SPEC A.5).
double sq_bs_equivalent_bits(const struct sq_recipe *r)
{
    const struct sq_bs_format f = sq_bs_of(r);
    const unsigned high = sq_bs_stream_bits(&f, SQ_BS_HIGH); // of a block
    return sq_element_bits(f.element) + (double)high / f.block;
}
