// SPDX-License-Identifier: Apache-2.0
// Writes a SystemVerilog module that refuses to elaborate where rtl/sq_pkg.sv and the C headers
// differ: every constant, and every width function on the values that its blocks use. pkg.t runs
// it.
#include <stdio.h>
#include <string.h>

#include "models/array/sq_array.h"
#include "models/core/sq_config.h"
#include "models/core/sq_topk.h"
#include "models/output/sq_combine.h"
#include "models/scaled/sq_scaled.h"
#include "models/vector/sq_vector.h"
#include "sim/block/core/sq_core_sim.h"
#include "sim/block/flow/sq_cause.h"
#include "sim/block/flow/sq_engine.h"
#include "sim/block/flow/sq_stages.h"
#include "sim/block/scaled/sq_engine_scaled_draw.h"
#include "sim/block/top/sq_top_image.h"
#include "sim/io/sq_checked.h"

static unsigned bits_of(uint64_t max)
{
    unsigned n = 0;
    for (; max > 0; max >>= 1)
        n++;
    return n;
}

// Bits of a kept group of weights, as the engine with an index takes them.
static unsigned kept_bits(unsigned group, unsigned index_bits)
{
    const struct sq_block *const block = sq_indexed_block(SQ_TOP_KEPT);
    unsigned engine[SQ_POINT_VALUES] = {0}, n = 0;
    block->indexed->engine(1, group, index_bits, engine);
    const struct sq_ports ports = sq_ports_of(block, engine);
    const struct sq_field *f = ports.in;
    for (unsigned i = SQ_INDEXED_JOB; i < SQ_INDEXED_KEPT; i++)
        f += ports.stream[i].n_fields;
    for (unsigned i = 0; i < ports.stream[SQ_INDEXED_KEPT].n_fields; i++)
        n += (unsigned)(f[i].count * f[i].width);
    return n;
}

// Stored bits of a block of `bank` elements, k of them high, as sq_engine_scaled takes them.
static unsigned line_bits(unsigned bank, unsigned k, enum sq_scaled_high high,
                          enum sq_scaled_element e, enum sq_scaled_scale scale)
{
    const struct sq_block *const block = &sq_engine_scaled_block;
    unsigned v[SQ_PARAMS_MAX], n = 0;
    memcpy(v, block->points[0].value, sizeof v);
    v[sq_param_find(block, "Rows")] = v[sq_param_find(block, "Cols")] = 1;
    v[sq_param_find(block, "Lanes")] = v[sq_param_find(block, "PortLen")] = 1;
    v[sq_param_find(block, "BankLen")] = bank;
    v[sq_param_find(block, "HighPerBank")] = k;
    v[sq_param_find(block, "High")] = high;
    v[sq_param_find(block, "WeightHigh")] = 1;
    v[sq_param_find(block, "ActElement")] = v[sq_param_find(block, "WeightElement")] = e;
    v[sq_param_find(block, "ActScale")] = scale;
    v[sq_param_find(block, "Encode")] = 0;
    const struct sq_ports p = sq_ports_of(block, v);
    const struct sq_field *f = p.in + p.stream[0].n_fields; // behind the job: activations
    for (size_t i = 0; i < p.stream[1].n_fields; i++, f++)
        n += (unsigned)f->count * f->width;
    return n;
}

static void require(const char *expression, unsigned value)
{
    printf("  if (%s != %u) begin : gen_bad\n    $error(\"%s is not %u\");\n  end\n", expression,
           value, expression, value);
}

static void constants(void)
{
    require("sq_pkg::ADDR_W", SQ_ADDR_BITS);
    require("sq_pkg::GATHER_CROSSBAR", SQ_GATHER_CROSSBAR);
    require("sq_pkg::GATHER_LOG", SQ_GATHER_LOG);
    require("sq_pkg::TOPK_RANK", SQ_TOPK_RANK);
    require("sq_pkg::TOPK_RADIX", SQ_TOPK_RADIX);
    require("sq_pkg::TOPK_TREE", SQ_TOPK_TREE);
    require("sq_pkg::LAYOUT_DENSE", SQ_ARRAY_DENSE);
    require("sq_pkg::LAYOUT_SENTINEL", SQ_ARRAY_SENTINEL);
    require("sq_pkg::LAYOUT_SPLIT", SQ_ARRAY_SPLIT);
    require("sq_pkg::LAYOUT_COMPACT", SQ_ARRAY_COMPACT);
    require("sq_pkg::LAYOUT_SP24", SQ_ARRAY_SP24);
    require("sq_pkg::LAYOUT_KEPT", SQ_TOP_KEPT);
    require("sq_pkg::COMBINE_ONE", SQ_COMBINE_ONE);
    require("sq_pkg::COMBINE_TWO", SQ_COMBINE_TWO);
    require("sq_pkg::COMBINE_SCALED", SQ_COMBINE_SCALED);
    require("sq_pkg::COMBINE_FLOAT", SQ_COMBINE_FLOAT);
    require("sq_pkg::VECTOR_PLAIN", SQ_VECTOR_PLAIN);
    require("sq_pkg::VECTOR_EXP", SQ_VECTOR_EXP);
    require("sq_pkg::VECTOR_RECIPROCAL", SQ_VECTOR_RECIPROCAL);
    require("sq_pkg::VECTOR_RSQRT", SQ_VECTOR_RSQRT);
    require("sq_pkg::OUT_BINARY32", SQ_OUTPUT_BINARY32);
    require("sq_pkg::OUT_BFLOAT16", SQ_OUTPUT_BFLOAT16);
    require("sq_pkg::OUT_INT8", SQ_OUTPUT_INT8);
    require("sq_pkg::ELEMENT_INT4", SQ_SCALED_INT4);
    require("sq_pkg::ELEMENT_INT5", SQ_SCALED_INT5);
    require("sq_pkg::ELEMENT_E2M1", SQ_SCALED_E2M1);
    require("sq_pkg::ELEMENT_E2M3", SQ_SCALED_E2M3);
    require("sq_pkg::ELEMENT_E3M2", SQ_SCALED_E3M2);
    require("sq_pkg::ELEMENT_E4M3", SQ_SCALED_E4M3_ELEMENT);
    require("sq_pkg::ELEMENT_E5M2", SQ_SCALED_E5M2);
    require("sq_pkg::ELEMENT_INT8", SQ_SCALED_INT8);
    require("sq_pkg::ELEMENT_MXINT8", SQ_SCALED_MXINT8);
    require("sq_pkg::ELEMENT_PLUS", SQ_SCALED_PLUS);
    require("sq_pkg::ELEMENT_IF4", SQ_SCALED_IF4);
    require("sq_pkg::ELEMENT_RAZER", SQ_SCALED_RAZER);
    require("sq_pkg::ELEMENT_TABLE", SQ_SCALED_TABLE);
    require("sq_pkg::ERROR_CODE", SQ_SCALED_ERROR_CODE);
    require("sq_pkg::ERROR_SCALE", SQ_SCALED_ERROR_SCALE);
    require("sq_pkg::ERROR_MASK", SQ_SCALED_ERROR_MASK);
    require("sq_pkg::ERROR_INDEX", SQ_ENGINE_ERROR_INDEX);
    require("sq_pkg::N_ERRORS", SQ_SCALED_ERRORS);
    require("sq_pkg::N_INDEX_ERRORS", SQ_ENGINE_INDEX_ERRORS);
    require("sq_pkg::SCALE_NONE", SQ_SCALED_NONE);
    require("sq_pkg::SCALE_E4M3", SQ_SCALED_E4M3);
    require("sq_pkg::SCALE_E8M0", SQ_SCALED_E8M0);
    require("sq_pkg::SCALE_POW4", SQ_SCALED_POW4);
    require("sq_pkg::SCALE_UE5M3", SQ_SCALED_UE5M3);
    require("sq_pkg::SCALE_E6M2", SQ_SCALED_E6M2);
    require("sq_pkg::SCALE_F16", SQ_SCALED_F16);
    require("sq_pkg::SCALE_BF16", SQ_SCALED_BF16);
    require("sq_pkg::SCALE_F32", SQ_SCALED_F32);
    require("sq_pkg::CHOOSE_LARGEST", SQ_SCALED_LARGEST);
    require("sq_pkg::CHOOSE_SEARCH", SQ_SCALED_SEARCH);
    require("sq_pkg::CHOOSE_FOUR_SIX", SQ_SCALED_FOUR_SIX);
    require("sq_pkg::CHOOSE_SIGN", SQ_SCALED_SIGN);
    require("sq_pkg::HIGH_SPLIT", SQ_SCALED_SPLIT);
    require("sq_pkg::HIGH_OWN", SQ_SCALED_OWN);
    require("sq_pkg::HIGH_BLOCK", SQ_SCALED_BLOCK);
    require("sq_pkg::ACC_BINARY32", SQ_SCALED_BINARY32);
    require("sq_pkg::ACC_FIXED", SQ_SCALED_FIXED);
    require("sq_pkg::CAUSE_BUSY", SQ_CAUSE_BUSY);
    require("sq_pkg::CAUSE_FILLING", SQ_CAUSE_FILLING);
    require("sq_pkg::CAUSE_WAIT_ACT", SQ_CAUSE_WAIT_ACT);
    require("sq_pkg::CAUSE_WAIT_WEIGHT", SQ_CAUSE_WAIT_WEIGHT);
    require("sq_pkg::CAUSE_WAIT_HIGH", SQ_CAUSE_WAIT_HIGH);
    require("sq_pkg::CAUSE_WAIT_MASK", SQ_CAUSE_WAIT_MASK);
    require("sq_pkg::CAUSE_BLOCKED_OUTPUT", SQ_CAUSE_BLOCKED_OUTPUT);
    require("sq_pkg::CAUSE_DRAINING", SQ_CAUSE_DRAINING);
    require("sq_pkg::N_CAUSES", SQ_N_CAUSES);
    require("sq_pkg::CAUSE_W", bits_of(SQ_N_CAUSES - 1));
    require("sq_pkg::COUNT_W", 8 * sizeof(uint32_t)); // as sq_rtl.h reads them
    require("sq_pkg::GROUP_BANKS_W", bits_of(SQ_JOB_GROUP_BANKS_MAX));
    require("sq_pkg::GROUPS_W", bits_of(SQ_JOB_GROUPS_MAX));
}

static void element(unsigned number)
{
    const enum sq_scaled_element e = (enum sq_scaled_element)number;
    const unsigned subs = sq_scaled_sub_bits(e);
    const struct {
        const char *function;
        unsigned value;
    } of[] = {{"kind", sq_scaled_is_table(e) ? SQ_SCALED_TABLE : number},
              {"code_w", sq_scaled_code_bits(e)},
              {"w", sq_scaled_element_bits(e)},
              {"max", sq_scaled_element_max(e)},
              {"fraction", sq_scaled_element_fraction(e)},
              {"has_sign", sq_scaled_has_sign(e)},
              {"sub_w", subs}};
    char text[96];
    for (size_t i = 0; i < SQ_LEN(of); i++) {
        snprintf(text, sizeof text, "sq_pkg::element_%s(%u)", of[i].function, number);
        require(text, of[i].value);
    }
    snprintf(text, sizeof text, "sq_pkg::sub_port_w(%u)", number);
    require(text, subs ? subs : 1);
}

static void functions(void)
{
    char text[96];
    for (unsigned layout = SQ_ARRAY_DENSE; layout <= SQ_ARRAY_SP24; layout++)
        for (unsigned bank = 4; bank <= 128; bank *= 2)
            for (unsigned k = 1; k < bank; k = 2 * k + 1) {
                const struct sq_array_config c = {
                    .layout = (enum sq_array_layout)layout, .bank = bank, .high_per_bank = k};
                const unsigned mask_len = sq_array_mask_len(&c);
                snprintf(text, sizeof text, "sq_pkg::low_lanes(%u, %u, %u)", layout, bank, k);
                require(text, sq_array_low_lanes(&c));
                // A nibble of 2:4 metadata is one value in C; no mask is one unused bit in RTL.
                snprintf(text, sizeof text, "sq_pkg::mask_w(%u, %u)", layout, bank);
                if (layout == SQ_ARRAY_SP24)
                    require(text, 4 * mask_len);
                else if (layout == SQ_ARRAY_SPLIT || layout == SQ_ARRAY_COMPACT)
                    require(text, mask_len);
            }
    for (unsigned e = SQ_SCALED_INT4; e < SQ_SCALED_ELEMENTS; e++)
        element(e);
    for (unsigned bits = 2; bits <= 5; bits++) // tables; each field with every value it has
        for (unsigned i = 0; i < 8; i++)
            element(SQ_SCALED_TABLE_OF(bits, i, i % 2, 127u >> i | 1u) | (i % 3) << 11 |
                    (i % 3) << 13 | (i / 3) << 15 | i << 17 | (7 - i) << 20);
    for (unsigned bits = 1; bits <= 8; bits++) {
        const unsigned e = SQ_SCALED_TABLE_OF(4u, 1u, 0u, 127u) | SQ_SCALED_ZERO_OF(bits);
        snprintf(text, sizeof text, "sq_pkg::element_zero_w(%u)", e);
        require(text, bits);
        snprintf(text, sizeof text, "sq_pkg::element_zero_w(%u)",
                 SQ_SCALED_TABLE_OF(4u, 1u, 0u, 127u));
        require(text, 0);
        element(e);
    }
    for (unsigned scale = SQ_SCALED_NONE; scale <= SQ_SCALED_F32; scale++) {
        snprintf(text, sizeof text, "sq_pkg::scale_code_w(%u)", scale);
        require(text, sq_scaled_scale_bits((enum sq_scaled_scale)scale));
    }
    for (unsigned high = SQ_SCALED_SPLIT; high <= SQ_SCALED_BLOCK; high++)
        for (unsigned i = 0; i < 2; i++) { // INT4, E2M1; high elements on one side, on both
            const enum sq_scaled_element e = i ? SQ_SCALED_E2M1 : SQ_SCALED_INT4;
            snprintf(text, sizeof text, "sq_pkg::high_element(%u, %u)", high, e);
            require(text, sq_scaled_high_element((enum sq_scaled_high)high, e));
            snprintf(text, sizeof text, "sq_pkg::parts_pairs(%u, %u)", high, i);
            require(text, sq_scaled_pairs((enum sq_scaled_high)high, i));
            for (unsigned k = 0; k <= 4; k += 2) {
                snprintf(text, sizeof text, "sq_pkg::scaled_line_w(%u, %u, %u, %u, 1)", 16 + 16 * i,
                         k, high, e);
                require(text,
                        line_bits(16 + 16 * i, k, (enum sq_scaled_high)high, e, SQ_SCALED_E4M3));
            }
        }
    snprintf(text, sizeof text, "sq_pkg::scaled_line_w(32, 0, 0, %u, 2)", SQ_SCALED_PLUS);
    require(text, line_bits(32, 0, SQ_SCALED_SPLIT, SQ_SCALED_PLUS, SQ_SCALED_E8M0));
    snprintf(text, sizeof text, "sq_pkg::scaled_line_w(64, 0, 0, %u, %u)", SQ_HIF4, SQ_SCALED_F16);
    require(text,
            line_bits(64, 0, SQ_SCALED_SPLIT, (enum sq_scaled_element)SQ_HIF4, SQ_SCALED_F16));
    require("sq_pkg::ACC_ALIGNED", SQ_SCALED_ALIGNED);
    require("sq_pkg::ACC_AFTER", SQ_SCALED_AFTER);
    for (unsigned acc = SQ_SCALED_BINARY32; acc <= SQ_SCALED_AFTER; acc++)
        for (unsigned k = 0; k <= 2; k++) { // the stage of the operands is not in the RTL's
            const unsigned cut = acc == SQ_SCALED_FIXED ? k : 0;
            snprintf(text, sizeof text, "sq_pkg::scaled_stages(%u, %u, %u)", acc, k, cut);
            require(text, sq_array_scaled_stages(sq_scaled_tail_stages(acc, cut), k > 0) - 1);
        }
    for (unsigned lanes = 1; lanes <= 128; lanes = 2 * lanes + 1)
        for (unsigned bank = 4; bank <= 128; bank *= 2) {
            const struct sq_core_config c = {.bank = bank, .low_lanes = lanes};
            snprintf(text, sizeof text, "sq_pkg::ceil_div(%u, %u)", bank, lanes);
            require(text, sq_core_low_steps(&c));
        }
    // Each after the function that it calls, since Yosys names the first that is wrong.
    require("sq_pkg::fixed_w(59, 0)", 59);
    require("sq_pkg::fixed_w(59, 16)", 62);
    require("sq_pkg::fixed_w(48, 16)", 50);
    require("sq_pkg::total_w(1, 59, 16)", 62);
    require("sq_pkg::total_w(2, 13, 0)", 32);
    for (unsigned n = 2; n <= 129; n++) {
        snprintf(text, sizeof text, "sq_pkg::index_w(%u)", n);
        require(text, bits_of(n - 1));
    }
    require("sq_pkg::index_w(1)", 1);
    for (unsigned i = 0; i < 2 * (SQ_COMBINE_FLOAT + 1); i++) {
        snprintf(text, sizeof text, "sq_pkg::combine_stages(%u, %u)", i / 2, i % 2);
        require(text, sq_combine_stages((enum sq_combine_form)(i / 2), i % 2));
    }
    for (unsigned i = 0; i < 2 * (SQ_COMBINE_FLOAT + 1); i++) { // which contains those stages
        snprintf(text, sizeof text, "sq_pkg::output_depth(%u, %u)", i / 2, 2 * (i % 2));
        require(text, sq_combine_queue((enum sq_combine_form)(i / 2), i % 2));
    }
    require("sq_pkg::combine_spacing(0)", sq_combine_spacing(false));
    require("sq_pkg::combine_spacing(1)", sq_combine_spacing(true));
    for (unsigned a = 1; a <= 64; a = 2 * a + 3)
        for (unsigned b = 1; b <= 48; b += 5) {
            snprintf(text, sizeof text, "sq_pkg::gcd(%u, %u)", a, b);
            require(text, (unsigned)sq_gcd(a, b));
        }
    for (unsigned form = SQ_COMBINE_ONE; form <= SQ_COMBINE_FLOAT; form++)
        for (unsigned parts = 0; parts < 2; parts++) {
            const unsigned value[SQ_POINT_VALUES] = {[SQ_TOP_FORM] = form, [SQ_TOP_PARTS] = parts};
            const unsigned sums = form == SQ_COMBINE_FLOAT ? 1
                                  : parts                  ? 2
                                  : form == SQ_COMBINE_ONE ? 3
                                                           : 1;
            snprintf(text, sizeof text, "sq_pkg::top_sums(%u, %u)", parts, form);
            require(text, sums);
            if (form == SQ_COMBINE_FLOAT)
                continue;
            snprintf(text, sizeof text, "sq_pkg::kept_parts(%u)", form);
            if (parts)
                require(text, sq_top_kept_words(value) - 1);
            snprintf(text, sizeof text, "sq_pkg::kept_words(%u, %u)", sums, form);
            require(text, sq_top_kept_words(value));
        }
    for (unsigned index_bits = 2; sq_indexed_block(SQ_TOP_KEPT) && index_bits < 9; index_bits++) {
        snprintf(text, sizeof text, "sq_pkg::kept_w(%u, %u)", 4 << index_bits % 3, index_bits);
        require(text, kept_bits(4 << index_bits % 3, index_bits));
    }
    for (unsigned kind = SQ_OUTPUT_BINARY32; kind <= SQ_OUTPUT_INT8; kind++) {
        snprintf(text, sizeof text, "sq_pkg::out_w(%u)", kind);
        require(text, sq_output_bits((enum sq_output_kind)kind));
    }
}

int main(void)
{
    printf("module pkg_check;\n");
    constants();
    functions();
    printf("endmodule\n");
    return 0;
}
