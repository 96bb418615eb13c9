// SPDX-License-Identifier: Apache-2.0
// Writes the decoder of a table as SystemVerilog (sq_scaled_codes.h).
#include "sim/block/scaled/sq_scaled_codes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct decoder {
    struct sq_scaled_codes e;
    struct sq_scaled_table t;
    bool is_signed;       // all grids: the uppermost bit of a code is a sign
    unsigned case_bits;   // of a code that the table is looked up by
    unsigned select_bits; // of the grid
    unsigned width;       // of what is multiplied
};

static int value(const struct decoder *d, unsigned grid, unsigned code)
{
    return sq_scaled_table_value(d->e.words, grid, code);
}

static bool is_signed(const struct decoder *d)
{
    const unsigned top = 1u << (d->t.code_bits - 1);
    for (unsigned g = 0; g < d->t.n_grids; g++)
        for (unsigned c = 0; c < top; c++) {
            const int v = value(d, g, c);
            if (v < 0 || v != -value(d, g, c | top))
                return false;
        }
    return true;
}

static void put_bits(unsigned v, unsigned bits, FILE *out)
{
    for (unsigned i = bits; i-- > 0;)
        fputc(v >> i & 1 ? '1' : '0', out);
}

static void put_comment(const struct decoder *d, FILE *out)
{
    fprintf(out,
            "// SPDX-License-Identifier: Apache-2.0\n"
            "// The decoder of a table of values (SPEC Q.9), which the program writes: a code and "
            "the grid of its block "
            "to what is\n"
            "// multiplied, in units of 2^-%u, times 2^shift_i. Combinational. A code that stands "
            "for nothing (-) counts "
            "as 0.\n//\n//   %-*s",
            d->t.fraction, d->t.code_bits < 4 ? 4 : (int)d->t.code_bits, "code");
    for (unsigned g = 0; g < d->t.n_grids; g++)
        fprintf(out, "    grid %u", g);
    fputc('\n', out);
    for (unsigned c = 0; c < 1u << d->case_bits; c++) {
        fprintf(out, "//   %s", d->is_signed ? "s" : "");
        put_bits(c, d->case_bits, out);
        fprintf(out, "%*s", d->t.code_bits < 4 ? (int)(4 - d->t.code_bits) : 0, "");
        for (unsigned g = 0; g < d->t.n_grids; g++)
            if (value(d, g, c) == SQ_SCALED_NO_VALUE)
                fprintf(out, "%10s", "-");
            else
                fprintf(out, "%10g", ldexp(value(d, g, c), -(int)d->t.fraction));
        fputc('\n', out);
    }
    if (d->is_signed)
        fprintf(out, "// s is the sign.\n");
}

static void put_ports(const struct decoder *d, FILE *out)
{
    fprintf(out,
            "module sq_element_table #(\n"
            "  parameter int unsigned Element = %u\n"
            ") (\n"
            "  input  logic [%u:0]        code_i,\n"
            "  input  logic [1:0]        grid_i,\n"
            "  input  logic [2:0]        shift_i,\n"
            "  output logic signed [%u:0] element_o,\n"
            "  output logic              none_o\n"
            ");\n\n"
            "  if (Element != %u) begin : gen_bad\n"
            "    $error(\"the decoder is that of another table\");\n"
            "  end\n",
            (unsigned)d->e.element, d->t.code_bits - 1, d->width - 1, (unsigned)d->e.element);
}

// The label of a line of a `case`: grid and code.
static void put_label(const struct decoder *d, unsigned grid, unsigned code, FILE *out)
{
    fprintf(out, "      %u'b", d->select_bits + d->case_bits);
    put_bits(grid, d->select_bits, out);
    fputs(d->select_bits ? "_" : "", out);
    put_bits(code, d->case_bits, out);
}

static void put_case(const struct decoder *d, FILE *out)
{
    static const char *const select[] = {"", "grid_i[0], ", "grid_i, "};
    fprintf(out, "    case ({%scode_i[%u:0]})\n", select[d->select_bits], d->case_bits - 1);
}

// A line for each code of a value other than 0.
static void put_values(const struct decoder *d, FILE *out)
{
    const unsigned width = d->is_signed ? d->width - 1 : d->width;
    const char *const sign = d->is_signed ? "" : "s";
    fprintf(out, "  logic %s[%u:0] value;\n  always_comb begin\n", d->is_signed ? "" : "signed ",
            width - 1);
    put_case(d, out);
    for (unsigned g = 0; g < d->t.n_grids; g++)
        for (unsigned c = 0; c < 1u << d->case_bits; c++) {
            const int v = value(d, g, c);
            if (v == 0 || v == SQ_SCALED_NO_VALUE)
                continue;
            put_label(d, g, c, out);
            fprintf(out, ": value = %s%u'%sd%d;\n", v < 0 ? "-" : "", width, sign, abs(v));
        }
    fprintf(out, "      default: value = '0;\n    endcase\n  end\n");
}

static void put_none(const struct decoder *d, FILE *out)
{
    unsigned n = 0;
    for (unsigned g = 0; g < d->t.n_grids; g++)
        for (unsigned c = 0; c < 1u << d->case_bits; c++)
            if (value(d, g, c) == SQ_SCALED_NO_VALUE) {
                if (n++ == 0) {
                    fprintf(out, "  always_comb begin\n");
                    put_case(d, out);
                }
                put_label(d, g, c, out);
                fprintf(out, ": none_o = 1'b1;\n");
            }
    fputs(n ? "      default: none_o = 1'b0;\n    endcase\n  end\n" : "  assign none_o = 1'b0;\n",
          out);
}

const char *sq_scaled_write_decoder(struct sq_scaled_codes e, FILE *out)
{
    struct decoder d = {
        .e = e, .t = sq_scaled_table(e.element), .width = sq_scaled_element_bits(e.element)};
    d.is_signed = is_signed(&d);
    d.case_bits = d.t.code_bits - d.is_signed;
    d.select_bits = d.t.has_sign ? 1 : d.t.grid_bits;
    const bool has_shift = d.t.exponent_bits[0] > 0;
    put_comment(&d, out);
    put_ports(&d, out);
    put_values(&d, out);
    put_none(&d, out);
    if (d.is_signed) {
        fprintf(out, "  logic [%u:0] magnitude;\n  assign magnitude = {1'b0, value%s};\n",
                d.width - 1, has_shift ? " << shift_i" : "");
        fprintf(out, "  assign element_o = code_i[%u] ? %u'd0 - magnitude : magnitude;\n",
                d.t.code_bits - 1, d.width);
    } else {
        fprintf(out, "  assign element_o = value%s;\n", has_shift ? " <<< shift_i" : "");
    }
    fprintf(out, "  wire unused_select = ^{grid_i, shift_i};\n\nendmodule\n");
    return "scaled/sq_element_table.sv";
}

const char *sq_scaled_write_source(const unsigned *v, unsigned act, unsigned weight, FILE *out)
{
    static const unsigned in_tree[SQ_SCALED_TABLE_WORDS] = {SQ_MIXFP4_WORDS};
    const struct sq_scaled_codes e =
        sq_scaled_codes(v, sq_scaled_is_table((enum sq_scaled_element)act) ? act : weight);
    if (!sq_scaled_is_table(e.element) || (e.element == (enum sq_scaled_element)SQ_MIXFP4 &&
                                           memcmp(e.words, in_tree, sizeof in_tree) == 0))
        return NULL;
    return sq_scaled_write_decoder(e, out);
}
