// SPDX-License-Identifier: Apache-2.0
// The vector unit (SPEC R.4). Exhausted: every significand of 1 / x and 1 / sqrt(x), each segment's coefficients, the
// RTL's table; sampled: e^x over its range, rows. Judges: long double functions and fits, sums in binary64, and a
// second way to round (this file restates a function in floating point, exact up to its one rounding). With UPDATE=1
// the RTL's table is written first.
#include <math.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/output/sq_combine.h"
#include "models/vector/sq_vector.h"
#include "sim/block/flow/sq_pipeline.h"
#include "sim/block/vector/sq_top_vector.h"
#include "sim/block/vector/sq_vector_steps.h"
#include "sim/block/vector/sq_vector_time.h"
#include "tests/test.h"
#include "tests/unit/fixture.h"

// ---- tables ---------------------------------------------------------------------------------

static const struct {
    const struct sq_vector_segment *segment;
    unsigned n, f;
} tables[] = {
    {sq_vector_exp_table, SQ_VECTOR_SEGMENTS / 2, SQ_VECTOR_EXP},
    {sq_vector_reciprocal_table, SQ_VECTOR_SEGMENTS, SQ_VECTOR_RECIPROCAL},
    {sq_vector_rsqrt_table, SQ_VECTOR_SEGMENTS, SQ_VECTOR_RSQRT},
};

// The function at u of segment j.
static long double value(unsigned f, unsigned j, long double u)
{
    if (f == SQ_VECTOR_EXP)
        return exp2l((j + u) / 64);
    if (f == SQ_VECTOR_RECIPROCAL)
        return 1 / (1 + (j + u) / 128);
    return 1 / sqrtl((1 + (j % 64 + u) / 64) * (1 + j / 64));
}

SQ_TEST(segments_are_quadratics_through_chebyshev_nodes)
{
    for (size_t t = 0; t < LEN(tables); t++)
        for (unsigned j = 0; j < tables[t].n; j++) {
            long double u[3], v[3];
            for (unsigned k = 0; k < 3; k++) {
                u[k] = (1 + cosl((2 * k + 1) * acosl(-1) / 6)) / 2;
                v[k] = 0x1p28L * value(tables[t].f, j, u[k]);
            }
            const long double first = (v[1] - v[0]) / (u[1] - u[0]),
                              second = (v[2] - v[1]) / (u[2] - u[1]),
                              c2 = (second - first) / (u[2] - u[0]),
                              c1 = first - c2 * (u[0] + u[1]), c0 = v[0] - u[0] * (c1 + c2 * u[0]);
            const struct sq_vector_segment *const s = &tables[t].segment[j];
            CHECK_EQ(s->c0, lrintl(c0), "%zu %u: ", t, j);
            CHECK_EQ(s->c1, lrintl(c1), "%zu %u: ", t, j);
            CHECK_EQ(s->c2, lrintl(c2), "%zu %u: ", t, j);
            assert_true(s->c0 >= 0 && s->c0 < 1 << 29 && abs(s->c1) < 1 << 23);
            assert_true(s->c2 >= 0 && s->c2 < 1 << 15);
        }
}

static void write_table(FILE *out)
{
    fputs("// SPDX-License-Identifier: Apache-2.0\n"
          "// Segments of the functions of sq_vector_func (SPEC R.4), as "
          "models/vector/sq_vector_table.c has them:\n"
          "// function and segment to c0, c1, c2. Written by tests/unit/vector/test_vector.c with "
          "UPDATE=1.\n"
          "module sq_vector_table (\n"
          "  input  logic [8:0]         place_i,\n"
          "  output logic [28:0]        c0_o,\n"
          "  output logic signed [23:0] c1_o,\n"
          "  output logic [14:0]        c2_o\n"
          ");\n\n"
          "  always_comb begin\n"
          "    case (place_i)\n",
          out);
    for (size_t t = 0; t < LEN(tables); t++)
        for (unsigned j = 0; j < tables[t].n; j++) {
            const struct sq_vector_segment *const s = &tables[t].segment[j];
            fprintf(out, "      9'h%03x: {c0_o, c1_o, c2_o} = {29'h%08x, 24'h%06x, 15'h%04x};\n",
                    tables[t].f << 7 | j, (unsigned)s->c0, (unsigned)s->c1 & 0xffffff,
                    (unsigned)s->c2);
        }
    fputs("      default: {c0_o, c1_o, c2_o} = '0;\n"
          "    endcase\n"
          "  end\n\n"
          "endmodule\n",
          out);
}

SQ_TEST(table_of_the_rtl_is_that_of_the_model)
{
    check_generated("rtl/vector/sq_vector_table.sv", write_table);
}

// ---- functions ------------------------------------------------------------------------------

// Distance from the exact value in units in the last place of a normal result.
static double error_of(float y, double exact)
{
    int e;
    frexp(exact, &e);
    return fabs(y - exact) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

// A segment's polynomial in binary64, which is exact between the floors, and its rounding by hand: half of the unit in
// the last place is added to what lies above the middle, or at it beside an odd number.
static double restated(const struct sq_vector_segment *s, double u)
{
    const double bend = floor(s->c2 * floor(u / 256) / 0x1p14);
    const double p = s->c0 + floor((s->c1 + bend) * u / 0x1p22);
    const double unit = p < 0x1p28 ? 16 : 32, low = floor(p / unit), rest = p / unit - low;
    return (low + (rest > 0.5 || (rest == 0.5 && fmod(low, 2) == 1))) * unit * 0x1p-28;
}

static double worst;
static void check(enum sq_vector_func f, float x, double exact, double again)
{
    const float y = sq_vector_func(f, x);
    const double error = error_of(y, exact);
    worst = error > worst ? error : worst;
    if (again > 0 && y != (float)again)
        fail_msg("function %d of %a: %a, restated %a", (int)f, (double)x, (double)y, again);
}

SQ_TEST(reciprocal_of_every_significand)
{
    worst = 0;
    for (uint32_t m = 0; m < 1 << 23; m++) {
        const float x = sq_float_of(127u << 23 | m);
        const struct sq_vector_segment *const s = &sq_vector_reciprocal_table[m >> 16];
        check(SQ_VECTOR_RECIPROCAL, x, 1 / (double)x, restated(s, (m & 0xffff) * 64.0));
    }
    assert_true(worst > 0.85 && worst < 0.91);
}

SQ_TEST(rsqrt_of_every_significand)
{
    worst = 0;
    for (uint32_t m = 0; m < 1 << 24; m++) {
        const float x = sq_float_of((127u << 23) + m);
        const struct sq_vector_segment *const s = &sq_vector_rsqrt_table[m >> 17];
        check(SQ_VECTOR_RSQRT, x, 1 / sqrt((double)x), restated(s, (m & 0x1ffff) * 32.0));
    }
    assert_true(worst > 1.2 && worst < 1.27);
}

SQ_TEST(exponential_over_its_range)
{
    worst = 0;
    for (uint32_t bits = 0x20000000; bits < 0x42d00000; bits += 359)
        for (unsigned sign = 0; sign < 2; sign++) {
            const float x = sq_float_of(bits | sign << 31);
            const long double magnitude = floorl(fabsl(x) * 0xb8aa3b29p-3L);
            const double z = (double)(sign ? -magnitude : magnitude), i = floor(z / 0x1p28);
            const double f = z - i * 0x1p28, j = floor(f / 0x1p22);
            const double again =
                ldexp(restated(&sq_vector_exp_table[(int)j], f - j * 0x1p22), (int)i);
            if (x < 88.7f) // a subnormal result is rounded at another place
                check(SQ_VECTOR_EXP, x, exp((double)x), x > -87 ? again : 0);
        }
    assert_true(worst > 0.8 && worst < 0.85);
}

SQ_TEST(values_at_the_ends)
{
    static const struct {
        enum sq_vector_func f;
        uint32_t x, y;
    } worked[] = {
        {SQ_VECTOR_EXP, 0, 0x3f800000},
        {SQ_VECTOR_EXP, 0x80000000, 0x3f800000},
        {SQ_VECTOR_EXP, 0x42b17217, 0x7f7fff84},
        {SQ_VECTOR_EXP, 0x42b17219, 0x7f800000},
        {SQ_VECTOR_EXP, 0xc2d20000, 0},
        {SQ_VECTOR_EXP, 0xff800000, 0},
        {SQ_VECTOR_EXP, 0x7f800000, 0x7f800000},
        {SQ_VECTOR_EXP, 0x3f800000, 0x402df854},
        {SQ_VECTOR_RECIPROCAL, 0, 0x7f800000},
        {SQ_VECTOR_RECIPROCAL, 0x80000001, 0xff800000},
        {SQ_VECTOR_RECIPROCAL, 0xff800000, 1u << 31},
        {SQ_VECTOR_RECIPROCAL, 0x3f800000, 0x3f800000},
        {SQ_VECTOR_RECIPROCAL, 0x7f000000, 0x00400000},
        {SQ_VECTOR_RECIPROCAL, 0xc0800000, 0xbe800000},
        {SQ_VECTOR_RSQRT, 0x40800000, 0x3effffff},
        {SQ_VECTOR_RSQRT, 0xbf800000, 0x7fc00000},
        {SQ_VECTOR_RSQRT, 0x80000000, 0xff800000},
        {SQ_VECTOR_RSQRT, 0x7f800000, 0},
        {SQ_VECTOR_RSQRT, 0x00800000, 0x5effffff},
        {SQ_VECTOR_PLAIN, 0x80000000, 0x80000000},
        {SQ_VECTOR_PLAIN, 0xffc00001, 0x7fc00000},
        {SQ_VECTOR_EXP, 0x7fc00000, 0x7fc00000},
    };
    for (size_t i = 0; i < LEN(worked); i++)
        CHECK_EQ(sq_combine_bits(sq_vector_func(worked[i].f, sq_float_of(worked[i].x))),
                 worked[i].y, "%d of %08x\n", (int)worked[i].f, (unsigned)worked[i].x);
}

// ---- rows -----------------------------------------------------------------------------------

enum { LONGEST = 200 };

static void count(void *context, const struct sq_vector_beat *beat)
{
    (void)beat;
    ++*(unsigned *)context;
}

static void draw(struct sq_rng *rng, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(sq_rng_unit(rng) * 8 - 4);
}

static unsigned beats_of(enum sq_vector_op op, unsigned pass)
{
    return sq_vector_phases[op].passes * pass + sq_vector_phases[op].singles;
}

// Rows of every length up to LONGEST in units of every size: near binary64, and in as many beats as the passes say.
SQ_TEST(rows_are_near_binary64)
{
    struct sq_rng rng = {.state = fixture_seed()};
    for (unsigned lanes = 1; lanes <= SQ_VECTOR_LANES_MAX; lanes *= 2)
        for (size_t n = 1; n <= LONGEST; n += 1 + n / 8) {
            float x[LONGEST], y[LONGEST], z[LONGEST], c[LONGEST], out[LONGEST];
            unsigned beats = 0;
            const unsigned pass = (unsigned)((n + lanes - 1) / lanes);
            struct sq_vector_unit unit = {.lanes = lanes, .see = count, .context = &beats};
            draw(&rng, x, n), draw(&rng, y, n), draw(&rng, z, n), draw(&rng, c, n);
            double most = -INFINITY, sum = 0, squares = 0;
            for (size_t i = 0; i < n; i++)
                most = fmax(most, x[i]), squares += (double)x[i] * x[i];
            for (size_t i = 0; i < n; i++)
                sum += exp(x[i] - most);
            memcpy(out, x, sizeof out), beats = 0;
            sq_vector_softmax(&unit, out, n);
            CHECK_EQ(beats, beats_of(SQ_VECTOR_SOFTMAX, pass), "softmax, %u lanes, %zu\n", lanes,
                     n);
            for (size_t i = 0; i < n; i++)
                assert_true(fabs(out[i] * sum / exp(x[i] - most) - 1) < 2e-6);
            memcpy(out, x, sizeof out), beats = 0;
            sq_vector_norm(&unit, out, y, 1e-5f, n);
            CHECK_EQ(beats, beats_of(SQ_VECTOR_NORM, pass), "norm, %u lanes, %zu\n", lanes, n);
            for (size_t i = 0; i < n; i++)
                assert_true(fabs(out[i] - x[i] * y[i] / sqrt(squares / (double)n + 1e-5)) < 1e-5);
            memcpy(out, x, sizeof out), beats = 0;
            sq_vector_gate(&unit, out, y, n);
            CHECK_EQ(beats, beats_of(SQ_VECTOR_GATE, pass), "gate, %u lanes, %zu\n", lanes, n);
            for (size_t i = 0; i < n; i++)
                assert_true(fabs(out[i] - x[i] * y[i] / (1 + exp(-x[i]))) < 1e-5);
            memcpy(out, x, sizeof out), beats = 0;
            sq_vector_rotary(&unit, out, y, c, z, n);
            CHECK_EQ(beats, beats_of(SQ_VECTOR_ROTARY, pass), "rotary, %u lanes, %zu\n", lanes, n);
            for (size_t i = 0; i < n; i++)
                assert_true(out[i] == y[i] * z[i] + x[i] * c[i]);
            memcpy(out, x, sizeof out), beats = 0;
            sq_vector_add(&unit, out, y, n);
            CHECK_EQ(beats, beats_of(SQ_VECTOR_ADD, pass), "add, %u lanes, %zu\n", lanes, n);
            for (size_t i = 0; i < n; i++)
                assert_true(out[i] == x[i] + y[i]);
        }
}

// ---- descriptors of the chip ------------------------------------------------------------------

// Rows of memory, LONGEST elements apart; word 0 is at address 0.
enum { ROW_WORDS = 256, X = 0, GAIN, UP, T, T2, RED, RED2, N_ROWS };

static int32_t read_word(void *ctx, uint64_t addr, unsigned i)
{
    return ((const int32_t *)ctx)[addr / 4 + i];
}

static void write_beat(void *ctx, uint64_t addr, const int32_t *word, unsigned n)
{
    memcpy((int32_t *)ctx + addr / 4, word, n * sizeof *word);
}

struct program {
    int32_t word[N_ROWS * ROW_WORDS];
    uint32_t nbytes, n;
};

static uint64_t row_at(unsigned row)
{
    return 4 * ROW_WORDS * (uint64_t)row;
}

// Row y becomes f(a b + c) of n elements, and row `red` what they are reduced to. b and c: a row, a first element of one, or bits.
struct from {
    enum sq_tv_from kind;
    uint64_t at;
};
static void pass(struct program *p, uint32_t n, enum sq_vector_func f, unsigned a, struct from b,
                 struct from c, int y, enum sq_tv_red red, unsigned red_row)
{
    const struct sq_tv_memory memory = {p->word, read_word, write_beat};
    struct sq_tv_layer l = {
        .f = f,
        .from = {SQ_TV_ROW, b.kind, c.kind},
        .red = red,
        .y = y < 0 ? SQ_TV_NO_Y : SQ_TV_BINARY32,
        .addr = {row_at(a), b.at, c.at, y < 0 ? 0 : row_at((unsigned)y), row_at(red_row)},
        .rows = 1,
        .n = n};
    struct sq_tv_layer again;
    uint32_t words[SQ_DESC_WORDS];
    sq_tv_encode(&l, words);
    assert_true(sq_tv_decode(words, p->nbytes, &again));
    sq_tv_golden(&again, p->nbytes, &memory);
}

static struct from row(unsigned r)
{
    return (struct from){SQ_TV_ROW, row_at(r)};
}
static struct from one(unsigned r)
{
    return (struct from){SQ_TV_ONE, row_at(r)};
}
static struct from constant(float x)
{
    return (struct from){SQ_TV_CONSTANT, sq_bits_of(x)};
}

static void check_row(const struct program *p, unsigned r, const float *want, const char *what)
{
    for (uint32_t i = 0; i < p->n; i++)
        CHECK_EQ(p->word[r * ROW_WORDS + i], (int32_t)sq_combine_bits(want[i]),
                 "%s, %u of %u: ", what, i, p->n);
}

// The passes that rtl/top/vector.md names for norm, gate, softmax and sum, and the index of the largest.
SQ_TEST(passes_make_the_steps_of_a_block)
{
    struct sq_rng rng = {.state = fixture_seed()};
    for (unsigned lanes = 1; lanes <= 16; lanes *= 2)
        for (uint32_t n = 1; n <= LONGEST; n += 1 + n / 4) {
            struct program p = {.nbytes = 4 * lanes, .n = n};
            struct sq_vector_unit unit = {.lanes = lanes};
            float *const x = (float *)p.word, *const gain = x + GAIN * ROW_WORDS,
                         *const up = x + UP * ROW_WORDS;
            float want[ROW_WORDS];
            draw(&rng, x, n), draw(&rng, gain, n), draw(&rng, up, n);
            x[sq_rng_below(&rng, n)] = x[sq_rng_below(&rng, n)]; // equals
            memcpy(want, x, sizeof want);
            sq_vector_norm(&unit, want, gain, 1e-5f, n);
            pass(&p, n, SQ_VECTOR_PLAIN, X, (struct from){SQ_TV_FROM_A, 0}, constant(0.0f), -1,
                 SQ_TV_SUM, RED);
            pass(&p, 1, SQ_VECTOR_RSQRT, RED, constant(1.0f / (float)n), constant(1e-5f), RED2,
                 SQ_TV_NONE, 0);
            pass(&p, n, SQ_VECTOR_PLAIN, X, one(RED2), constant(0.0f), T, SQ_TV_NONE, 0);
            pass(&p, n, SQ_VECTOR_PLAIN, T, row(GAIN), constant(0.0f), T, SQ_TV_NONE, 0);
            check_row(&p, T, want, "norm");
            memcpy(want, x, sizeof want);
            sq_vector_gate(&unit, want, up, n);
            pass(&p, n, SQ_VECTOR_EXP, X, constant(-1.0f), constant(0.0f), T, SQ_TV_NONE, 0);
            pass(&p, n, SQ_VECTOR_RECIPROCAL, T, constant(1.0f), constant(1.0f), T, SQ_TV_NONE, 0);
            pass(&p, n, SQ_VECTOR_PLAIN, X, row(T), constant(0.0f), T, SQ_TV_NONE, 0);
            pass(&p, n, SQ_VECTOR_PLAIN, T, row(UP), constant(0.0f), T, SQ_TV_NONE, 0);
            check_row(&p, T, want, "gate");
            memcpy(want, x, sizeof want);
            sq_vector_softmax(&unit, want, n);
            pass(&p, n, SQ_VECTOR_PLAIN, X, constant(1.0f), constant(0.0f), -1, SQ_TV_LARGEST, RED);
            pass(&p, 1, SQ_VECTOR_PLAIN, RED, constant(-1.0f), constant(0.0f), RED, SQ_TV_NONE, 0);
            pass(&p, n, SQ_VECTOR_EXP, X, constant(1.0f), one(RED), T, SQ_TV_SUM, RED2);
            pass(&p, 1, SQ_VECTOR_RECIPROCAL, RED2, constant(1.0f), constant(0.0f), RED2,
                 SQ_TV_NONE, 0);
            pass(&p, n, SQ_VECTOR_PLAIN, T, one(RED2), constant(0.0f), T, SQ_TV_NONE, 0);
            check_row(&p, T, want, "softmax");
            pass(&p, n, SQ_VECTOR_PLAIN, X, constant(1.0f), row(UP), T, SQ_TV_INDEX, RED);
            uint32_t best = 0;
            for (uint32_t i = 0; i < n; i++) {
                want[i] = x[i] + up[i];
                best = want[i] > want[best] ? i : best;
            }
            check_row(&p, T, want, "sum");
            CHECK_EQ(p.word[RED * ROW_WORDS], best, "largest of %u: ", n);
        }
}

// ---- time -----------------------------------------------------------------------------------

// Cycles of phases of so many rows and beats a row on the block's cycle model with Cut: a phase begins after the last
// result of the one before. The bits of `sums` say which phases are added up.
static unsigned stepped(unsigned lanes, unsigned rows, const unsigned *row, unsigned n_phases,
                        unsigned sums)
{
    uint64_t unit[8] = {0};
    struct sq_offer in = {0};
    unsigned cycles = 0;
    assert_true(sq_vector_block.timing->nbytes <= sizeof unit);
    sq_vector_block.init((const unsigned[]){lanes, 1}, unit);
    for (unsigned p = 0; p < n_phases; p++)
        for (unsigned in_flight = 0, left = rows * row[p]; left + in_flight > 0; cycles++) {
            struct sq_handshake out;
            in.valid = left > 0;
            in.n = sums >> p & 1;
            in.last = left % row[p] == 1 % row[p];
            sq_vector_block.timing->comb(unit, &in, true, &out);
            left -= in.valid && out.in_ready[0];
            in_flight = in_flight + (in.valid && out.in_ready[0]) - out.out_valid;
            sq_vector_block.timing->clock(unit, &in, true);
        }
    return cycles;
}

SQ_TEST(cycles_of_rows_are_those_of_the_block)
{
    for (unsigned op = 0; op < SQ_N_VECTOR_OPS; op++)
        for (unsigned lanes = 1; lanes <= 16; lanes *= 2)
            for (unsigned rows = 1; rows < 20; rows += 3)
                for (unsigned n = 1; n < 70; n += 7) {
                    const struct sq_vector_phases *const p = &sq_vector_phases[op];
                    unsigned phase[8], n_phases = 0;
                    for (unsigned i = 0; i < p->passes; i++)
                        phase[n_phases++] = (n + lanes - 1) / lanes;
                    for (unsigned i = 0; i < p->singles; i++)
                        phase[n_phases++] = 1;
                    CHECK_EQ(sq_vector_cycles(op, lanes, 1, rows, n),
                             stepped(lanes, rows, phase, n_phases, (1u << p->sums) - 1),
                             "%s, %u lanes, %u rows of %u\n", sq_vector_op_name(op), lanes, rows,
                             n);
                }
    assert_true(sq_vector_cycles(SQ_VECTOR_ADD, 8, 4, 1, 64) == 2 + 30); // a row in four parts
    assert_true(sq_vector_cycles(SQ_VECTOR_SOFTMAX, 8, 4, 2, 64) ==
                3 * 4 + 3 + 1 + 4 * 30 + 2 * 31);
    assert_int_equal(sq_vector_unit_lanes(96), 32);
    assert_int_equal(sq_vector_unit_lanes(4096), 64);
}

// 65535 rows, and rows of 65535 beats, are the most.
SQ_TEST(rows_of_passes_up_to_the_limits)
{
    float *const x = calloc(2 * 65536, sizeof *x), *const y = x + 65536;
    assert_non_null(x);
    for (unsigned most = 65535; most <= 65536; most++)
        for (unsigned is_wide = 0; is_wide < 2; is_wide++) {
            for (size_t i = 0; i < most; i++)
                x[i] = (float)i, y[i] = 1;
            const enum sq_status status =
                sq_vector_steps_add(4, x, y, is_wide ? 1 : most, is_wide ? most : 1, NULL);
            assert_int_equal(status, most == 65535 ? SQ_OK : SQ_ERR_RANGE);
            for (size_t i = 0; i < most && status == SQ_OK; i++)
                assert_true(x[i] == (float)i + 1);
        }
    free(x);
}
