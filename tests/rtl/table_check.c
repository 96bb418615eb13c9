// SPDX-License-Identifier: Apache-2.0
// Writes decoders of tables and what they must give. table_check: the decoder of the tree, to standard output.
// table_check own: exit 1 unless tables that differ from it in a value have their own. table_check SEED N DIR: into DIR N decoders of random tables, a script of Yosys that evaluates each, and each fourth as
// gates, at all codes, grids and exponents, and, as `expected`, the lines that Yosys must print. table.t runs it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_rng.h"
#include "sim/block/flow/sq_block.h"
#include "sim/block/scaled/sq_scaled_codes.h"

static FILE *create(const char *dir, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *const out = fopen(path, "w");
    if (!out)
        exit(2);
    return out;
}

// A grid in sign and magnitude, or with a value of its own for each code, at times none.
static void draw_grid(struct sq_rng *rng, unsigned bits, unsigned most, bool is_signed,
                      int32_t *value)
{
    const unsigned top = 1u << (bits - 1);
    for (unsigned c = 0; c < 2 * top; c++) {
        const int v = (int)sq_rng_below(rng, most + 1);
        value[c] = (is_signed && c >= top               ? -value[c - top]
                    : is_signed || sq_rng_below(rng, 2) ? v
                                                        : -v);
        if (!is_signed && sq_rng_below(rng, 8) == 0)
            value[c] = SQ_BS_NO_VALUE;
    }
}

static struct sq_bs_table draw(struct sq_rng *rng)
{
    struct sq_bs_table t = {.bits = 2 + sq_rng_below(rng, 4),
                            .fraction = sq_rng_below(rng, 8),
                            .n_grids = 1 + sq_rng_below(rng, 4),
                            .length = 64,
                            .n_levels = sq_rng_below(rng, 3)};
    unsigned exponents = 0, length = t.length;
    for (unsigned l = 0; l < t.n_levels; l++) {
        t.level[l].length = length /= 2;
        t.level[l].bits = 1 + sq_rng_below(rng, 2 - l);
        exponents += (1u << t.level[l].bits) - 1;
    }
    t.is_sign_grid = t.n_grids == 2 && sq_rng_below(rng, 2);
    const unsigned most = 1 + sq_rng_below(rng, 127u >> exponents);
    const unsigned n_signed = sq_rng_below(rng, t.n_grids + 1); // the first ones
    const bool is_signed = n_signed > 0;
    for (unsigned g = 0; g < t.n_grids; g++)
        draw_grid(rng, t.bits, most, g < n_signed, t.value[g]);
    // Codes of either sign whose upper half mirrors the lower one, as signs and magnitudes do.
    const bool is_mirrored = !is_signed && sq_rng_below(rng, 3) == 0;
    const unsigned top = 1u << (t.bits - 1);
    for (unsigned i = 0; is_mirrored && i < t.n_grids * top; i++) {
        int32_t *const v = t.value[i / top] + i % top;
        *v = *v == SQ_BS_NO_VALUE ? 0 : *v;
        v[top] = -*v;
    }
    t.value[0][1] = (int32_t)most; // so that the largest is there
    if (is_signed || is_mirrored)
        t.value[0][1 + top] = -(int32_t)most;
    t.most = most << exponents;
    return t;
}

static void put_binary(FILE *out, const char *name, unsigned v, unsigned bits)
{
    fprintf(out, "Eval result: \\%s = %u'", name, bits);
    for (unsigned i = bits; i-- > 0;)
        fputc(v >> i & 1 ? '1' : '0', out);
    fputs(".\n", out);
}

static void evaluate(const struct sq_bs_table *t, unsigned width, FILE *script, FILE *expected)
{
    unsigned exponents = 0;
    for (unsigned l = 0; l < t->n_levels; l++)
        exponents += (1u << t->level[l].bits) - 1;
    for (unsigned g = 0; g < t->n_grids; g++)
        for (unsigned c = 0; c < 1u << t->bits; c++)
            for (unsigned e = 0; e <= exponents; e++) {
                const int v = t->value[g][c];
                fprintf(script,
                        "eval -set code_i %u -set grid_i %u -set shift_i %u -show element_o -show "
                        "none_o\n",
                        c, g, e);
                put_binary(expected, "element_o",
                           v == SQ_BS_NO_VALUE ? 0 : (unsigned)(v * (1 << e)), width);
                put_binary(expected, "none_o", v == SQ_BS_NO_VALUE, 1);
            }
}

static void check(struct sq_rng *rng, unsigned i, const char *dir, FILE *script, FILE *expected)
{
    unsigned words[SQ_SCALED_TABLE_WORDS];
    char name[32];
    const struct sq_bs_table t = draw(rng);
    const struct sq_scaled_codes e = {sq_scaled_element_of_table(&t, words), words};
    const unsigned width = sq_scaled_element_bits(e.element);
    snprintf(name, sizeof name, "table%u.sv", i);
    FILE *const out = create(dir, name);
    (void)sq_scaled_write_decoder(e, out);
    fclose(out);
    fprintf(script, "read_verilog -sv %s\nhierarchy -top sq_element_table\nproc\nmemory_map\n",
            name);
    evaluate(&t, width, script, expected);
    if (i % 4 == 0) {
        fprintf(script, "synth\n");
        evaluate(&t, width, script, expected);
    }
    fprintf(script, "design -reset\n");
}

int main(int argc, char **argv)
{
    static const unsigned words[SQ_SCALED_TABLE_WORDS] = {SQ_MIXFP4_WORDS};
    if (argc ==
        2) { // whether each table of the shape of the one in the tree has a decoder of its own, but that one
        unsigned v[SQ_PARAMS_MAX + SQ_SCALED_TABLE_WORDS] = {0}, n = 0;
        for (unsigned i = 0; i <= SQ_SCALED_TABLE_WORDS; i++) {
            memcpy(v + SQ_PARAMS_MAX, words, sizeof words);
            if (i < SQ_SCALED_TABLE_WORDS)
                v[SQ_PARAMS_MAX + i] ^= 1;
            n += (sq_scaled_write_source(v, SQ_MIXFP4, SQ_MIXFP4, stderr) != NULL) ==
                 (i < SQ_SCALED_TABLE_WORDS);
        }
        return n != SQ_SCALED_TABLE_WORDS + 1;
    }
    if (argc != 4) {
        (void)sq_scaled_write_decoder((struct sq_scaled_codes){SQ_MIXFP4, words}, stdout);
        return 0;
    }
    struct sq_rng rng = {strtoull(argv[1], NULL, 10)};
    FILE *const script = create(argv[3], "script.ys"), *const expected =
                                                           create(argv[3], "expected");
    for (unsigned i = 0; i < strtoul(argv[2], NULL, 10); i++)
        check(&rng, i, argv[3], script, expected);
    fclose(script);
    fclose(expected);
    return 0;
}
