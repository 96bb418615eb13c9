// SPDX-License-Identifier: Apache-2.0
// sq_array_static: activations with a static mask, channels reordered. Its golden
// is two plain dot products a bank, and owes nothing to the compact format of sq_array.
#include "models/core/sq_format.h"
#include "sim/block/flow/sq_case.h"
#include "sim/block/flow/sq_pipeline.h"

enum { ROWS, COLS, BANKS, BANK, HIGH, ONE_ACC, WEIGHT_W, LOW_W, HIGH_W };

// rows, cols, banks a beat, bank, k, one accumulator, bits of weights, low, high
static const struct sq_point points[] = {
    {"b8", true, {2, 2, 1, 8, 2, 0, 4, 4, 8}},
    {"b8_tied", false, {1, 2, 1, 8, 1, 1, 4, 4, 8}},
    {"2b4", false, {2, 1, 2, 4, 2, 0, 4, 3, 8}},
    {"b16", false, {1, 2, 1, 16, 4, 0, 8, 4, 8}},
};

static void ports(const unsigned *v, struct sq_ports *p)
{
    const size_t pes = (size_t)v[ROWS] * v[COLS], acts = (size_t)v[ROWS] * v[BANKS];
    *p = (struct sq_ports){
        .stream = {{"in", 4}},
        .has_last = true,
        .macs = (double)pes * v[BANKS] * v[BANK],
        .n_in = 4,
        .n_out = 2,
        .in = {{"last", 1, 1, true},
               {"low", acts * (v[BANK] - v[HIGH]), v[LOW_W], false},
               {"high", acts * v[HIGH], v[HIGH_W], false},
               {"weight", (size_t)v[COLS] * v[BANKS] * v[BANK], v[WEIGHT_W], false}},
        .out = {{"p_lo", pes, 32, false}, {"p_hi", pes, 32, false}}};
}

static void draw_beat(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, uint64_t number,
                      int32_t *beat)
{
    struct sq_ports p;
    (void)number;
    ports(v, &p);
    for (size_t f = 1; f < p.n_in; f++)
        sq_draw_codes(rng, p.in[f].width, kind, p.in[f].count, beat + sq_field_offset(p.in, f));
}

// Codes of one part of a line times the weights of its channels, over the banks of a beat.
static int32_t part(const int32_t *code, const int32_t *weight, unsigned banks, unsigned len,
                    unsigned bank)
{
    int32_t sum = 0;
    for (unsigned b = 0; b < banks; b++)
        for (unsigned i = 0; i < len; i++)
            sum += code[b * len + i] * weight[b * bank + i];
    return sum;
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const int32_t *beats = in->record;
    const size_t n = in->len[0];
    const unsigned pes = v[ROWS] * v[COLS], high = v[HIGH], low = v[BANK] - high;
    struct sq_ports p;
    ports(v, &p);
    for (size_t b = 0; b < n; b++, beats += sq_field_offset(p.in, p.n_in))
        for (unsigned pe = 0; pe < pes; pe++) {
            const unsigned row = pe / v[COLS], col = pe % v[COLS];
            const int32_t *x_lo = beats + sq_field_offset(p.in, 1) + row * v[BANKS] * low;
            const int32_t *x_hi = beats + sq_field_offset(p.in, 2) + row * v[BANKS] * high;
            const int32_t *w = beats + sq_field_offset(p.in, 3) + col * v[BANKS] * v[BANK];
            const int32_t p_lo = part(x_lo, w, v[BANKS], low, v[BANK]);
            const int32_t p_hi = part(x_hi, w + low, v[BANKS], high, v[BANK]);
            out[pe] += v[ONE_ACC] ? p_lo * (1 << (v[HIGH_W] - v[LOW_W])) + p_hi : p_lo;
            out[pes + pe] += v[ONE_ACC] ? 0 : p_hi;
        }
    return 1;
}

// ---- the ends of the sums -------------------------------------------------------------------

// The largest |sum| of n_low low and n_high high products.
static int64_t sum_of(const unsigned *v, size_t f, int64_t n_low, int64_t n_high)
{
    const int64_t low = n_low * sq_qmax(v[LOW_W]), high = n_high * sq_qmax(v[HIGH_W]);
    const int64_t code = !v[ONE_ACC] ? (f == 0 ? low : high)
                         : f == 0    ? (low << (v[HIGH_W] - v[LOW_W])) + high
                                     : 0;
    return code * sq_qmax(v[WEIGHT_W]);
}

// K columns of the largest code, of the one or the other part.
static int64_t limit(const unsigned *v, size_t f)
{
    const int64_t low = sum_of(v, f, SQ_K_MAX, 0), high = sum_of(v, f, 0, SQ_K_MAX);
    return low > high ? low : high;
}

static void fill(const unsigned *v, int sign, int32_t *beat)
{
    struct sq_ports p;
    ports(v, &p);
    for (size_t f = 1; f < p.n_in; f++)
        for (size_t i = 0; i < p.in[f].count; i++)
            beat[sq_field_offset(p.in, f) + i] = (f < 3 ? sign : 1) * sq_qmax(p.in[f].width);
}

static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    int64_t n = 1, most = 1;
    (void)number;
    (void)rng;
    for (size_t f = 0; f < 2; f++) {
        const int64_t beat = v[BANKS] * sum_of(v, f, v[BANK] - v[HIGH], v[HIGH]);
        const int64_t need = beat > 0 ? (limit(v, f) + beat - 1) / beat : 0;
        n = need > n ? need : n;
        most = beat > most ? beat : most;
    }
    return sq_case_sums(c, sq_case_sum_beats(n, most), fill, err);
}

static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    struct sq_ports p;
    ports(v, &p);
    return way == 0 && sq_cut_to_last(sq_field_offset(p.in, p.n_in), record, len);
}

static void init(const unsigned *v, void *state)
{
    struct sq_chain *c = state;
    (void)v;
    sq_pipeline_init(&c->back, SQ_TIMING_ARRAY, SQ_ARRAY_STAGES_MIXED);
}

// clang-format off
// One row a line; other parameters keep the defaults of the modules.
static const struct sq_area_unit area[] = {
    {"array_static_a", "sq_array_static", 16, true, {{"HighPerBank", 4}}},
};
// clang-format on

static const struct sq_faults faults[] = {{"b8_tied", 100, 60}};

static const struct sq_free array_static_free[] = {
    {"Rows", 1, 64, false},    {"Cols", 1, 64, false},         {"Banks", 1, 8, false},
    {"BankLen", 4, 128, true}, {"HighPerBank", 1, 127, false}, {NULL, 0, 0, false}};

const struct sq_block sq_array_static_block = {
    .name = "array_static",
    .top = "sq_array_static",
    .group = "tile",
    .param = {"Rows", "Cols", "Banks", "BankLen", "HighPerBank", "OneAcc", "WeightW", "LowW",
              "HighW", NULL},
    .free = array_static_free,
    SQ_ROWS(points),
    SQ_ROWS(area),
    .coverage_cases = 60,
    SQ_ROWS(faults),
    .ports = ports,
    .draw_beat = draw_beat,
    .n_directed = 1,
    .draw_directed = draw_directed,
    .limit = limit,
    .cut = cut,
    .golden = golden,
    .timing = &sq_timing_chain,
    .init = init,
};
