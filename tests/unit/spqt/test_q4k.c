// SPDX-License-Identifier: Apache-2.0
// Q4_K superblocks (SPEC G.3, G.5). Exhausted: every scale and every minimum in every block through
// the packed bytes; every binary16 by every factor in the decoder. Directed: V9, V9b. Sampled:
// 10000 columns of twelve kinds, among them constant, zero, subnormal, huge and one-sided ones,
// against a slow version written from the SPEC: binary64 rounded after every operation, integers by
// floor, bytes from the formulas of G.3.
#include <math.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_half.h"
#include "models/spqt/sq_q4k_dec.h"
#include "tests/unit/fixture.h"

__extension__ typedef _Float16 half;

// ---- slow version ---------------------------------------------------------------------------

// One binary32 operation each: the binary64 result of binary32 operands rounds like the exact one.
static float add(float a, float b)
{
    return (float)((double)a + (double)b);
}
static float mul(float a, float b)
{
    return (float)((double)a * (double)b);
}
static float divide(float a, float b)
{
    return (float)((double)a / (double)b);
}

// rne, then 0..top.
static int slow_code(float x, int top)
{
    if (!(x > 0))
        return 0;
    if (x >= (float)top)
        return top;
    const double down = floor((double)x), rest = (double)x - down;
    const int code = (int)down;
    return rest > 0.5 || (rest == 0.5 && code % 2 == 1) ? code + 1 : code;
}

struct line {
    float scale, min;
    int code[32];
};

// sum over the block of u * (scale code + min - v)^2.
static float slow_error(const float *v, const float *u, const struct line *l)
{
    float sum = 0;
    for (int i = 0; i < 32; i++) {
        const float d = add(add(mul(l->scale, (float)l->code[i]), l->min), -v[i]);
        sum = add(sum, mul(u[i], mul(d, d)));
    }
    return sum;
}

// The candidate of one iscale; false where there is none.
static bool candidate(const float *v, const float *u, float iscale, float min, struct line *l)
{
    float s[5] = {0, 0, 0, 0, 0}; // u, u v, u L, u L^2, u L v
    for (int i = 0; i < 32; i++) {
        l->code[i] = slow_code(mul(iscale, add(v[i], -min)), 15);
        const float code = (float)l->code[i], ul = mul(u[i], code);
        const float term[5] = {u[i], mul(u[i], v[i]), ul, mul(ul, code), mul(ul, v[i])};
        for (int t = 0; t < 5; t++)
            s[t] = add(s[t], term[t]);
    }
    const float dt = add(mul(s[0], s[3]), -mul(s[2], s[2]));
    if (!(dt > 0))
        return false;
    l->scale = divide(add(mul(s[0], s[4]), -mul(s[1], s[2])), dt);
    l->min = divide(add(mul(s[3], s[1]), -mul(s[2], s[4])), dt);
    if (l->min > 0) {
        l->min = 0;
        l->scale = divide(s[4], s[3]);
    }
    return true;
}

static struct line slow_block(const float *v)
{
    struct line best = {.min = 0}, next;
    float u[32], sum2 = 0, max = -INFINITY, error;
    for (int i = 0; i < 32; i++) {
        sum2 = add(sum2, mul(v[i], v[i]));
        best.min = v[i] < best.min ? v[i] : best.min;
        max = v[i] > max ? v[i] : max;
    }
    if (max == best.min)
        return best;
    const float rms = (float)sqrt((double)divide(sum2, 32));
    for (int i = 0; i < 32; i++)
        u[i] = add(rms, v[i] < 0 ? -v[i] : v[i]);
    const float first = divide(15, add(max, -best.min));
    best.scale = divide(1, first);
    for (int i = 0; i < 32; i++)
        best.code[i] = slow_code(mul(first, add(v[i], -best.min)), 15);
    error = slow_error(v, u, &best);
    for (int is = 0; is <= 20; is++) {
        const float steps = add(add(-1, mul(0.1f, (float)is)), 15);
        if (!candidate(v, u, divide(steps, add(max, -best.min)), best.min, &next))
            continue;
        const float e = slow_error(v, u, &next);
        if (e < error) {
            best = next;
            error = e;
        }
    }
    return best;
}

static uint16_t half_bits(float x)
{
    const half h = (half)x;
    uint16_t bits;
    memcpy(&bits, &h, sizeof bits);
    return bits;
}

static float half_value(uint16_t bits)
{
    half h;
    memcpy(&h, &bits, sizeof h);
    return (float)h;
}

// The bytes of a column; false where d or dmin leave binary16.
static bool slow_encode(const float *v, uint8_t *out)
{
    struct line l[8];
    float max_scale = 0, max_min = 0;
    int sc[8], m[8];
    for (int j = 0; j < 8; j++) {
        l[j] = slow_block(v + 32 * j);
        max_scale = l[j].scale > max_scale ? l[j].scale : max_scale;
        max_min = -l[j].min > max_min ? -l[j].min : max_min;
    }
    const uint16_t d = half_bits(divide(max_scale, 63)), dmin = half_bits(divide(max_min, 63));
    if (d >= 0x7c00 || dmin >= 0x7c00)
        return false;
    memset(out, 0, 144);
    out[0] = (uint8_t)(d & 255), out[1] = (uint8_t)(d >> 8);
    out[2] = (uint8_t)(dmin & 255), out[3] = (uint8_t)(dmin >> 8);
    uint8_t *scales = out + 4, *qs = out + 16;
    for (int j = 0; j < 8; j++) {
        sc[j] = max_scale > 0 ? slow_code(mul(divide(63, max_scale), l[j].scale), 63) : 0;
        m[j] = max_min > 0 ? slow_code(mul(divide(63, max_min), -l[j].min), 63) : 0;
    }
    for (int j = 0; j < 4; j++) {
        scales[j] = (uint8_t)sc[j];
        scales[j + 4] = (uint8_t)m[j];
    }
    for (int j = 4; j < 8; j++) {
        scales[j + 4] = (uint8_t)((sc[j] & 15) | ((m[j] & 15) << 4));
        scales[j - 4] = (uint8_t)(scales[j - 4] | (sc[j] >> 4) << 6);
        scales[j] = (uint8_t)(scales[j] | (m[j] >> 4) << 6);
    }
    for (int i = 0; i < 256; i++) {
        const int j = i / 32;
        const float step = mul(half_value(d), (float)sc[j]);
        int code = l[j].code[i % 32];
        if (step != 0)
            code = slow_code(divide(add(v[i], mul(half_value(dmin), (float)m[j])), step), 15);
        qs[32 * (i / 64) + i % 32] =
            (uint8_t)(qs[32 * (i / 64) + i % 32] | code << (i % 64 < 32 ? 0 : 4));
    }
    return true;
}

// ---- columns --------------------------------------------------------------------------------

enum { KINDS = 12 };

static float normal(struct sq_rng *r)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += sq_rng_unit(r);
    return (float)sum;
}

static void column_of(struct sq_rng *r, unsigned kind, float *v)
{
    const float c = normal(r);
    for (unsigned i = 0; i < 256; i++) {
        const float x = normal(r);
        switch (kind) {
        case 0:
            v[i] = 0.02f * x;
            break;
        case 1:
            v[i] = 0;
            break;
        case 2:
            v[i] = c;
            break;
        case 3:
            v[i] = x * 0x1p-140f;
            break; // subnormal
        case 4:
            v[i] = x * 6e5f;
            break; // near the largest d
        case 5:
            v[i] = x * 1e9f;
            break; // beyond it
        case 6:
            v[i] = 5 + 0.1f * x;
            break;
        case 7:
            v[i] = -5 + 0.1f * x;
            break;
        case 8:
            v[i] = 0.25f * (float)((int)sq_rng_below(r, 33) - 16);
            break; // ties
        case 9:
            v[i] = sq_rng_below(r, 16) ? 0.02f * x : x;
            break; // outliers
        case 10:
            v[i] = i / 32 % 2 ? c : x * 0x1p-30f;
            break; // binary16 subnormals
        default:
            v[i] = i < 256 - sq_rng_below(r, 3) ? c : -c;
            break; // almost constant
        }
    }
}

SQ_TEST(ten_thousand_columns)
{
    struct sq_rng r = {fixture_seed()};
    unsigned n_refused[KINDS] = {0};
    for (unsigned n = 0; n < 10000; n++) {
        float v[256];
        uint8_t want[144], got[144];
        struct sq_q4k s, back;
        struct sq_error err;
        column_of(&r, n % KINDS, v);
        const bool is_ok = slow_encode(v, want);
        CHECK_EQ(sq_q4k_encode(v, &s, &err), is_ok ? SQ_OK : SQ_ERR_OVERFLOW, "column %u\n", n);
        n_refused[n % KINDS] += !is_ok;
        if (!is_ok)
            continue;
        sq_q4k_pack(&s, got);
        for (unsigned i = 0; i < 144; i++)
            CHECK_EQ(got[i], want[i], "column %u kind %u byte %u\n", n, n % KINDS, i);
        sq_q4k_unpack(got, &back);
        assert_memory_equal(&back, &s, sizeof s);
        assert_ok(sq_q4k_check(&s, &err));
    }
    for (unsigned kind = 0; kind < KINDS; kind++) // huge columns, and only they, are refused
        CHECK_EQ(n_refused[kind] > 0, kind == 5, "kind %u\n", kind);
}

// The error of a value is at most about half a step of its block; a constant block is exact up to
// the roundings of scale, minimum and binary16.
SQ_TEST(decode_is_close)
{
    struct sq_rng r = {fixture_seed()};
    for (unsigned n = 0; n < 200; n++) {
        float v[256], back[256];
        struct sq_q4k s;
        double signal = 0, noise = 0;
        column_of(&r, n % 2 ? 0 : 9, v);
        assert_ok(sq_q4k_encode(v, &s, NULL));
        sq_q4k_decode(&s, back);
        for (unsigned i = 0; i < 256; i++) {
            signal += (double)v[i] * (double)v[i];
            noise += ((double)v[i] - (double)back[i]) * ((double)v[i] - (double)back[i]);
        }
        assert_true(noise < 0.02 * signal);
    }
}

// ---- layout ---------------------------------------------------------------------------------

SQ_TEST(vectors_v9_v9b)
{
    struct sq_q4k s = {.d = 0x3800,
                       .dmin = 0x3400,
                       .scale = {1, 2, 3, 4, 0x15, 0x26, 0x37, 0x3f},
                       .min = {10, 11, 12, 13, 0x2a, 0x1b, 0x0c, 0x3d}};
    static const uint8_t scales[12] = {0x41, 0x82, 0xc3, 0xc4, 0x8a, 0x4b,
                                       0x0c, 0xcd, 0xa5, 0xb6, 0xc7, 0xdf};
    static const float want[8] = {-2, -.75f, -1.5f, .75f, 0, 31.25f, 24.5f, 47.75f};
    uint8_t bytes[144];
    float v[256];
    for (unsigned i = 0; i < 256; i++)
        s.code[i] = i % 64 < 32 ? 1 : 2;
    sq_q4k_pack(&s, bytes);
    assert_memory_equal(bytes, ((uint8_t[]){0x00, 0x38, 0x00, 0x34}), 4);
    assert_memory_equal(bytes + 4, scales, 12);
    for (unsigned i = 16; i < 144; i++)
        assert_int_equal(bytes[i], 0x21);
    sq_q4k_decode(&s, v);
    for (unsigned i = 0; i < 256; i++)
        CHECK_EQ(sq_bits_of(v[i]), sq_bits_of(want[i / 32]), "value %u\n", i);
}

SQ_TEST(every_scale_in_every_block)
{
    for (unsigned j = 0; j < 8; j++)
        for (unsigned a = 0; a < 64; a++) {
            struct sq_q4k s = {.d = 0x3c00}, back;
            uint8_t bytes[144], other[144];
            s.scale[j] = (uint8_t)a;
            s.min[7 - j] = (uint8_t)(63 - a);
            s.code[32 * j + a % 32] = (uint8_t)(a % 16);
            sq_q4k_pack(&s, bytes);
            sq_q4k_unpack(bytes, &back);
            assert_memory_equal(&back, &s, sizeof s);
            sq_q4k_pack(&back, other);
            assert_memory_equal(other, bytes, 144);
        }
    struct sq_rng r = {fixture_seed()};
    for (unsigned n = 0; n < 1000; n++) { // all bits of the bytes are used, each once
        uint8_t bytes[144], other[144];
        struct sq_q4k s;
        for (unsigned i = 0; i < 144; i++)
            bytes[i] = (uint8_t)sq_rng_next(&r);
        sq_q4k_unpack(bytes, &s);
        sq_q4k_pack(&s, other);
        assert_memory_equal(other, bytes, 144);
    }
}

// What hardware decodes is what the product takes: steps and minima of every binary16 that is
// legal, by every factor, and whole superblocks of any bits.
SQ_TEST(hardware_decoder)
{
    enum { ENDS = 8 };
    static const uint16_t end[ENDS] = {0x0000, 0x8000, 0x0001, 0x8001,
                                       0x7bff, 0xfbff, 0x7c00, 0x7e00};
    struct sq_rng r = {fixture_seed()};
    for (uint32_t pattern = 0; pattern < 1u << 16; pattern++)
        for (unsigned factor = 0; factor < 64 && (pattern & 0x7c00) != 0x7c00; factor++) {
            const float want = sq_half_to_float((uint16_t)pattern) * (float)factor;
            assert_int_equal(sq_q4k_scaled((uint16_t)pattern, factor), sq_bits_of(want));
        }
    for (unsigned n = 0; n < 10000; n++) {
        uint8_t bytes[SQ_Q4K_NBYTES];
        struct sq_q4k_dec d;
        struct sq_q4k s;
        float want[SQ_Q4K_LEN];
        for (unsigned i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)sq_rng_next(&r);
        for (unsigned i = 0; i < 2 && n < ENDS * ENDS; i++) { // d and dmin at every pair of ends
            bytes[2 * i] = (uint8_t)end[i ? n / ENDS : n % ENDS];
            bytes[2 * i + 1] = (uint8_t)(end[i ? n / ENDS : n % ENDS] >> 8);
        }
        sq_q4k_unpack(bytes, &s);
        sq_q4k_dec(bytes, &d);
        assert_int_equal(d.is_refused, sq_q4k_check(&s, NULL) != SQ_OK);
        if (d.is_refused)
            continue;
        sq_q4k_decode(&s, want);
        for (unsigned i = 0; i < SQ_Q4K_LEN; i++) {
            float step, min;
            memcpy(&step, &d.step[i / SQ_Q4K_BLOCK_LEN], sizeof step);
            memcpy(&min, &d.min[i / SQ_Q4K_BLOCK_LEN], sizeof min);
            const float got = add(mul(step, d.code[i]), -min);
            assert_memory_equal(&got, &want[i], sizeof got);
        }
    }
}

SQ_TEST(refusals)
{
    struct sq_error err;
    float v[256] = {0};
    struct sq_q4k s = {.d = 0x7c00};
    assert_int_equal(sq_q4k_check(&s, &err), SQ_ERR_SCALE);
    assert_string_equal(err.text, "d = inf, need finite and >= 0");
    s = (struct sq_q4k){.dmin = 0x7e01};
    assert_int_equal(sq_q4k_check(&s, &err), SQ_ERR_SCALE);
    s = (struct sq_q4k){.dmin = 0xb400};
    assert_int_equal(sq_q4k_check(&s, &err), SQ_ERR_SCALE);
    assert_string_equal(err.text, "dmin = -0.25, need finite and >= 0");
    v[200] = NAN;
    assert_int_equal(sq_q4k_encode(v, &s, &err), SQ_ERR_NON_FINITE);
    assert_string_equal(err.text, "value 200 = nan, need a finite number");
}
