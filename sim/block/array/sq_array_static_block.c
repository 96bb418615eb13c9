// SPDX-License-Identifier: Apache-2.0
// sq_array_static: activations with a static mask, channels reordered. Its golden
// is two plain dot products a bank, and owes nothing to the compact format of sq_array.
#include "models/core/sq_format.h"
#include "sim/block/array/sq_array_static.block.h"

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
    const unsigned pes = v[ROWS] * v[COLS], high = v[HIGH_PER_BANK], low = v[BANK_LEN] - high;
    const int32_t *beat = in->record;
    for (uint32_t b = 0; b < in->len[0]; b++, beat += record_len(v))
        for (unsigned pe = 0; pe < pes; pe++) {
            const unsigned row = pe / v[COLS] * v[BANKS], col = pe % v[COLS] * v[BANKS];
            const int32_t *const w = beat + at_weight(v) + col * v[BANK_LEN];
            const int32_t p_lo = part(beat + at_low(v) + row * low, w, v[BANKS], low, v[BANK_LEN]);
            const int32_t p_hi =
                part(beat + at_high(v) + row * high, w + low, v[BANKS], high, v[BANK_LEN]);
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
        const int64_t beat =
            v[BANKS] * sum_of(v, f, v[BANK_LEN] - v[HIGH_PER_BANK], v[HIGH_PER_BANK]);
        const int64_t need = beat > 0 ? (limit(v, f) + beat - 1) / beat : 0;
        n = need > n ? need : n;
        most = beat > most ? beat : most;
    }
    return sq_case_sums(c, sq_case_sum_beats(n, most), fill, err);
}
