// SPDX-License-Identifier: Apache-2.0
// sq_array: baselines and all formats that take a bank per cycle.
#include "models/array/sq_array.h"
#include "models/core/sq_config.h"
#include "models/core/sq_format.h"
#include "sim/block/array/sq_array.block.h"

#define DENSE SQ_ARRAY_DENSE
#define SP24 SQ_ARRAY_SP24

static struct sq_array_config config_of(const unsigned *v)
{
    return (struct sq_array_config){.layout = (enum sq_array_layout)v[LAYOUT],
                                    .one_acc = v[ONE_ACC],
                                    .bank = v[BANK_LEN],
                                    .high_per_bank = v[HIGH_PER_BANK],
                                    .high_len = v[HIGH_LEN],
                                    .low_bits = v[LOW_W],
                                    .high_bits = v[HIGH_W],
                                    .has_window = v[GATHER] == SQ_GATHER_CROSSBAR};
}

static unsigned coded_lines(const unsigned *v)
{
    return v[ON_ACTS] ? v[ROWS] : v[COLS];
}

// Mask bits of a line on its port, which is never empty.
static unsigned mask_bits(const struct sq_array_config *c)
{
    const unsigned len = sq_array_mask_len(c);
    return len > 0 ? len : 1;
}

static void ports(const unsigned *v, struct sq_ports *p)
{
    const struct sq_array_config c = config_of(v);
    const size_t coded = (size_t)coded_lines(v) * v[BANKS], pes = (size_t)v[ROWS] * v[COLS];
    const bool is_24 = c.layout == SQ_ARRAY_SP24;
    *p = (struct sq_ports){
        .stream = {{"in", 5}},
        .has_last = true,
        .macs = (double)pes * v[BANKS] * c.bank,
        .n_in = 5,
        .n_out = 3,
        .in = {{"last", 1, 1, true},
               {"plain", (size_t)v[v[ON_ACTS] ? COLS : ROWS] * v[BANKS] * c.bank, v[PLAIN_W],
                false},
               {"low", coded * sq_array_low_lanes(&c), c.low_bits, false},
               {"high", coded * c.high_len, c.high_bits, false},
               {"mask", coded * mask_bits(&c), is_24 ? 4 : 1, true}},
        .out = {{"p_lo", pes, 32, false}, {"p_hi", pes, 32, false}, {"error", 1, 1, true}}};
}

// The mask of a line: k ones (mask bits, or mask codes in `low`), legal nibbles; an illegal one is
// any, or of too few ones.
static void draw_mask(const struct sq_array_config *c, struct sq_rng *rng, enum sq_stimulus kind,
                      int32_t *low, int32_t *mask)
{
    static const int32_t legal[6] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
    const unsigned n_mask = mask_bits(c);
    const bool is_24 = c->layout == SQ_ARRAY_SP24, is_sentinel = c->layout == SQ_ARRAY_SENTINEL;
    const unsigned flavour = kind == SQ_STIMULUS_ILLEGAL ? sq_rng_below(rng, 8) : 8;
    const bool is_any = c->layout == SQ_ARRAY_DENSE || flavour < 2;
    for (unsigned i = 0; i < n_mask; i++)
        mask[i] = is_24 && !is_any ? legal[sq_rng_below(rng, 6)]
                  : is_any         ? sq_draw_bits(rng, is_24 ? 4 : 1, true)
                                   : 0;
    if (is_any || is_24)
        return;
    const int32_t mc = sq_mask_code(c->low_bits);
    for (unsigned i = 0; is_sentinel && i < c->bank; i++) // chance mask codes
        if (low[i] == mc)
            low[i] = 0;
    const unsigned n = flavour == 2 ? sq_rng_below(rng, c->high_per_bank) : c->high_per_bank;
    const unsigned end = sq_rng_below(rng, 3), last = c->bank - n;
    for (unsigned t = 0; t < n; t++) {
        unsigned i = end == 0 ? t : last + t; // at one end of the bank, or anywhere
        if (end == 2)
            do
                i = sq_rng_below(rng, c->bank);
            while (is_sentinel ? low[i] == mc : mask[i] == 1);
        *(is_sentinel ? &low[i] : &mask[i]) = is_sentinel ? mc : 1;
    }
}

// Plain operands use their whole range, and so do the nibbles of split codes.
static int32_t draw_operand(const struct sq_array_config *c, struct sq_rng *rng,
                            enum sq_stimulus kind, bool is_plain, unsigned width)
{
    if (kind == SQ_STIMULUS_UNIFORM && (is_plain || c->layout == SQ_ARRAY_SPLIT))
        return sq_draw_bits(rng, width, false);
    if (kind == SQ_STIMULUS_EXTREME && is_plain && sq_rng_below(rng, 2))
        return sq_mask_code(width);
    return sq_draw_code(rng, width, kind);
}

static void draw_beat(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, uint64_t number,
                      int32_t *beat)
{
    const struct sq_array_config c = config_of(v);
    struct sq_ports p;
    const bool is_one_in_8 = sq_rng_below(rng, 8) == 0;
    const bool is_least = is_one_in_8 && kind == SQ_STIMULUS_ILLEGAL; // all -2^(n-1)
    const bool is_end = is_one_in_8 && kind == SQ_STIMULUS_EXTREME;   // the largest legal sum
    (void)number;
    ports(v, &p);
    for (size_t f = 1; f < 4; f++) {
        const unsigned width = p.in[f].width;
        const bool is_plain = f == 1, are_equal = sq_rng_below(rng, 8) == 0;
        const bool is_whole = is_least || is_plain || v[LAYOUT] == SQ_ARRAY_DENSE;
        int32_t *x = beat + sq_field_offset(p.in, f);
        for (size_t i = 0; i < p.in[f].count; i++)
            x[i] = is_least || is_end   ? (is_whole ? sq_mask_code(width) : -sq_qmax(width))
                   : are_equal && i > 0 ? x[0]
                                        : draw_operand(&c, rng, kind, is_plain, width);
    }
    for (unsigned i = 0; i < coded_lines(v) * v[BANKS]; i++)
        draw_mask(&c, rng, kind, beat + sq_field_offset(p.in, 2) + i * sq_array_low_lanes(&c),
                  beat + sq_field_offset(p.in, 4) + i * mask_bits(&c));
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const int32_t *beats = in->record;
    const size_t n = in->len[0];
    const struct sq_array_config c = config_of(v);
    const unsigned pes = v[ROWS] * v[COLS];
    struct sq_ports p;
    bool ok = true;
    ports(v, &p);
    const size_t len = sq_field_offset(p.in, p.n_in);
    for (unsigned pe = 0; pe < pes; pe++) {
        const unsigned row = pe / v[COLS], col = pe % v[COLS];
        const unsigned coded = v[ON_ACTS] ? row : col, plain = v[ON_ACTS] ? col : row;
        uint32_t p_lo = 0, p_hi = 0;
        for (size_t b = 0; b < n * v[BANKS]; b++) {
            const int32_t *beat = beats + b / v[BANKS] * len;
            const size_t part = b % v[BANKS], line_bank = coded * v[BANKS] + part;
            const struct sq_array_line line = {
                beat + sq_field_offset(p.in, 2) + line_bank * sq_array_low_lanes(&c),
                beat + sq_field_offset(p.in, 3) + line_bank * c.high_len,
                beat + sq_field_offset(p.in, 4) + line_bank * mask_bits(&c)};
            const int32_t *x = beat + sq_field_offset(p.in, 1) + (plain * v[BANKS] + part) * c.bank;
            ok = sq_array_bank(&c, &line, x, &p_lo, &p_hi) && ok;
        }
        out[pe] = (int32_t)p_lo;
        out[pes + pe] = (int32_t)p_hi;
    }
    out[2 * pes] = !ok;
    return 1;
}

// ---- the ends of the sums -------------------------------------------------------------------

// |code * plain| of a bank at their largest, plain at -2^(n-1): of the accumulator p_lo or p_hi.
static int64_t bank_sum(const unsigned *v, size_t f)
{
    const struct sq_array_config c = config_of(v);
    const int64_t plain = INT64_C(1) << (v[PLAIN_W] - 1);
    const int64_t q_low = sq_qmax(c.low_bits), q_high = sq_qmax(c.high_bits);
    const bool is_split = c.layout == SQ_ARRAY_SPLIT, is_plain = v[LAYOUT] == DENSE;
    if (is_plain || c.layout == SQ_ARRAY_SP24)
        return f == 0 ? plain * q_low * (is_plain ? c.bank : c.bank / 2) : 0;
    const int64_t low = plain * q_low * (is_split ? c.bank : c.bank - c.high_per_bank);
    const int64_t high = plain * q_high * c.high_per_bank;
    if (!c.one_acc)
        return f == 0 ? low : high;
    const int64_t tied = INT64_C(1) << (c.high_bits - c.low_bits), split = INT64_C(1) << c.low_bits;
    return f > 0 ? 0 : is_split ? low + split * high : tied * low + high;
}

// K products of the largest codes; of 2:4 half of them.
static int64_t limit(const unsigned *v, size_t f)
{
    const struct sq_array_config c = config_of(v);
    const int64_t q_low = sq_qmax(c.low_bits), q_high = sq_qmax(c.high_bits);
    const int64_t k = (int64_t)SQ_K_MAX * sq_qmax(v[PLAIN_W]);
    if (f > 1 || bank_sum(v, f) == 0)
        return 0;
    if (c.layout == SQ_ARRAY_DENSE || c.layout == SQ_ARRAY_SP24)
        return k * q_low / (c.layout == SQ_ARRAY_SP24 ? 2 : 1);
    if (!c.one_acc)
        return k * (f == 0 ? q_low : q_high);
    return k * (c.layout == SQ_ARRAY_SPLIT ? q_low + (q_high << c.low_bits) : q_high);
}

static void fill(const unsigned *v, int sign, int32_t *beat)
{
    const struct sq_array_config c = config_of(v);
    struct sq_ports p;
    ports(v, &p);
    for (size_t f = 1; f < 4; f++)
        for (size_t i = 0; i < p.in[f].count; i++)
            beat[sq_field_offset(p.in, f) + i] =
                f == 1 ? sq_mask_code(p.in[f].width) : -sign * sq_qmax(p.in[f].width);
    for (unsigned line = 0; line < coded_lines(v) * v[BANKS]; line++) {
        int32_t *const low = beat + sq_field_offset(p.in, 2) + line * sq_array_low_lanes(&c);
        int32_t *const mask = beat + sq_field_offset(p.in, 4) + line * mask_bits(&c);
        for (unsigned i = 0; c.layout == SQ_ARRAY_SP24 && i < mask_bits(&c); i++)
            mask[i] = 0x4; // elements 0 and 1
        for (unsigned t = 0; t < c.high_per_bank; t++)
            if (c.layout == SQ_ARRAY_SENTINEL)
                low[t] = sq_mask_code(c.low_bits);
            else if (c.layout == SQ_ARRAY_SPLIT || c.layout == SQ_ARRAY_COMPACT)
                mask[t] = 1;
    }
}

static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    int64_t n = 1, most = 1;
    (void)number;
    (void)rng;
    for (size_t f = 0; f < 2; f++) {
        const int64_t beat = v[BANKS] * bank_sum(v, f);
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
    const bool is_plain = v[LAYOUT] == SQ_ARRAY_DENSE || v[LAYOUT] == SQ_ARRAY_SP24;
    struct sq_chain *c = state;
    sq_pipeline_init(&c->back, SQ_TIMING_ARRAY,
                     is_plain ? SQ_ARRAY_STAGES_PLAIN : SQ_ARRAY_STAGES_MIXED);
}

// Bank 16, k = 4 unless the name says otherwise, 16 weights per cycle: PEs of every format, the
// line decoder that a row or column of them shares, whole arrays. Other parameters keep the
// defaults of the modules.

// Only layouts with high codes have k of them; HighLen is k or the bank.
static enum sq_status settle(unsigned *v, const unsigned *old, uint32_t given, struct sq_error *err)
{
    const bool has_high = v[LAYOUT] != DENSE && v[LAYOUT] != SP24;
    if (!has_high && (given >> HIGH_PER_BANK & 1))
        return SQ_FAIL(err, SQ_ERR_ARG, "HighPerBank = %u of a point without high codes",
                       v[HIGH_PER_BANK]);
    if (!has_high)
        v[HIGH_PER_BANK] = old[HIGH_PER_BANK];
    v[HIGH_LEN] = has_high && old[HIGH_LEN] == old[BANK_LEN] ? v[BANK_LEN] : v[HIGH_PER_BANK];
    return SQ_OK;
}
