// SPDX-License-Identifier: Apache-2.0
// Worked vectors of the block-scaled formats, and their stored form (sq_bs, sq_bs_pack): SPEC Q.2
// to Q.5, V16 to V21.
//
// Every format of bs_fixture.h is packed and unpacked, K with and without padding; its stored bits
// are those of SPEC Q.5 where K is long. Refused: each code that no encoder writes, marks in the
// wrong number, padding, places, scales.
#include <math.h>

#include "tests/unit/scaled/bs_fixture.h"

// One row; codes of the first n elements.
static void check(const struct sq_bs_format *f, const float *x, size_t k, const uint8_t *code,
                  size_t n, const uint8_t *scale)
{
    struct sq_bs c = bs_alloc(f, 1, k);
    bs_encode(&c, x, true);
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(c.code[i], code[i], "element %zu\n", i);
    for (size_t j = 0; j < c.k / f->block; j++)
        CHECK_EQ(c.scale[0][j], scale[j], "block %zu\n", j);
}

// V16: MXFP4, rules ocp and ceil. V19: MX+.
SQ_TEST(mx)
{
    const float x[6] = {7, -3, .75f, .25f, 5, -.2f};
    struct sq_bs_format f = {.kind = SQ_BS_MX, .element = SQ_ELEMENT_E2M1, .block = 32};
    check(&f, x, 6, (uint8_t[]){7, 0xd, 2, 0, 6, 8}, 6, (uint8_t[]){127});
    f.rule = SQ_BS_CEIL;
    check(&f, x, 6, (uint8_t[]){6, 0xb, 1, 0, 4, 8}, 6, (uint8_t[]){128});

    const float y[4] = {3.6f, -5.3f, 5.25f, .75f};
    f = (struct sq_bs_format){.kind = SQ_BS_PLUS, .element = SQ_ELEMENT_E2M1, .block = 32};
    check(&f, y, 4, (uint8_t[]){6, 0xb, 7, 2}, 4, (uint8_t[]){127}); // -5.5, beside 6
    f.kind = SQ_BS_MX;
    check(&f, y, 4, (uint8_t[]){6, 0xf, 7, 2}, 4, (uint8_t[]){127});
}

// V17: NVFP4 and 4/6. V18: NVINT4.
SQ_TEST(nv)
{
    const float x[17] = {60, 25, -50, 0, [16] = 2688}; // g = 1
    struct sq_bs_format f = {.kind = SQ_BS_NV, .element = SQ_ELEMENT_E2M1, .block = 16};
    check(&f, x, 17, (uint8_t[]){7, 4, 0xe, 0}, 4, (uint8_t[]){0x52, 0x7e}); // 10, 448
    f.kind = SQ_BS_FOUR_SIX;
    check(&f, x, 17, (uint8_t[]){6, 3, 0xd, 0}, 4, (uint8_t[]){0x57, 0x7e}); // 15: 31.25 < 125

    const float tie[17] = {12, [16] = 2688}; // 6 at scale 2, 4 at scale 3: both exact, 6 wins
    check(&f, tie, 17, (uint8_t[]){7, 0}, 2, (uint8_t[]){0x40, 0x7e});

    const float y[17] = {35, 12.5f, -22.5f, [16] = 3136};
    f = (struct sq_bs_format){.kind = SQ_BS_NV, .element = SQ_ELEMENT_INT4, .block = 16};
    check(&f, y, 17, (uint8_t[]){7, 2, 0xc, 0}, 4, (uint8_t[]){0x4a, 0x7e}); // 5, 448
}

// V20: SQ own, sentinel; V21: split codes.
SQ_TEST(sq)
{
    const float x[20] = {3136, -1568, 448, 12700, 224, [16] = 70, -35, 15, -9000};
    struct sq_bs_format f = {
        .kind = SQ_BS_SQ, .element = SQ_ELEMENT_INT4, .block = 16, .high_per_block = 1};
    struct sq_bs c = bs_alloc(&f, 1, 20);
    static const uint8_t low[20] = {7, 0xc, 1, 8, 0, [16] = 7, 0xc, 2, 8};
    uint8_t bytes[16];
    float v[32];
    bs_encode(&c, x, true);
    assert_true(c.global[0][0] == 1 && c.global[1][0] == 100);
    assert_int_equal(c.scale[0][0], 0x7e);
    assert_int_equal(c.scale[0][1], 0x52);
    sq_bs_pack_row(&c, 0, SQ_BS_CODES, bytes);
    for (size_t i = 0; i < 20; i++)
        CHECK_EQ(bytes[i / 2] >> (i % 2 * 4) & 15, low[i], "element %zu\n", i);
    sq_bs_pack_row(&c, 0, SQ_BS_HIGH, bytes);
    assert_int_equal(bytes[0], 127);
    assert_int_equal(bytes[1], 0xa6); // -90
    sq_bs_decode_row(&c, 0, v);
    assert_true(v[0] == 3136 && v[1] == -1792 && v[3] == 12700 && v[17] == -40 && v[19] == -9000);

    const float y[20] = {3136, 53312, [16] = 56, -25, 1190, -3};
    f.kind = SQ_BS_SPLIT;
    f.is_by_maximum = true;
    c = bs_alloc(&f, 1, 20);
    bs_encode(&c, y, true);
    assert_true(c.global[0][0] == 1 && c.scale[0][0] == 0x7e && c.scale[0][1] == 0x52);
    assert_true(c.code[1] == 7 && c.high[1] == 7 && c.is_high[1]); // 119 = 16 * 7 + 7
    assert_true(c.code[16] == 6 && c.code[17] == 0xe && c.is_high[18] && !c.is_high[16]);
    sq_bs_decode_row(&c, 0, v);
    assert_true(v[1] == 53312 && v[16] == 60 && v[17] == -20 && v[18] == 1190 && v[19] == 0);
}

// ---- the stored form ------------------------------------------------------------------------

static void random_rows(struct sq_bs *c)
{
    struct sq_rng r = {fixture_seed()};
    float *x = fixture_alloc(c->n * c->k_orig * sizeof *x);
    for (size_t i = 0; i < c->n * c->k_orig; i++)
        x[i] = (float)fixture_gauss(&r) * (i % 37 ? 1 : 50) * (i / 64 % 3 ? 1 : 0);
    bs_encode(c, x, true);
}

// A copy through the streams.
static enum sq_status through(const struct sq_bs *c, uint8_t *const stream[SQ_BS_STREAMS],
                              struct sq_bs *to, struct sq_error *err)
{
    for (size_t row = 0; row < c->n; row++) {
        const uint8_t *in[SQ_BS_STREAMS];
        for (enum sq_bs_stream s = 0; s < SQ_BS_STREAMS; s++)
            in[s] = stream[s] + row * sq_bs_row_nbytes(&c->f, c->k, s);
        SQ_TRY(sq_bs_unpack_row(to, row, in, err));
    }
    return sq_bs_check_scales(to, err);
}

static struct sq_bs packed(const struct sq_bs_format *f, size_t n, size_t k_orig, struct sq_bs *to,
                           uint8_t *stream[SQ_BS_STREAMS])
{
    struct sq_bs c = bs_alloc(f, n, k_orig);
    random_rows(&c);
    *to = bs_alloc(f, n, k_orig);
    for (unsigned p = 0; p < SQ_BS_PARTS; p++) {
        if (c.scale[p])
            memcpy(to->scale[p], c.scale[p], n * (c.k / f->block));
        if (c.global[p])
            memcpy(to->global[p], c.global[p], n * sizeof(float));
    }
    for (enum sq_bs_stream s = 0; s < SQ_BS_STREAMS; s++) {
        const size_t nbytes = sq_bs_row_nbytes(f, c.k, s);
        stream[s] = fixture_alloc(n * nbytes + 1);
        memset(stream[s], 0xff, n * nbytes + 1);
        for (size_t row = 0; nbytes > 0 && row < n; row++)
            sq_bs_pack_row(&c, row, s, stream[s] + row * nbytes);
        assert_int_equal(stream[s][n * nbytes], 0xff);
    }
    return c;
}

SQ_TEST(round_trip)
{
    for (size_t i = 0; i < LEN(bs_formats); i++)
        for (size_t k = 64; k <= 131; k += 67) {
            const struct sq_bs_format *f = &bs_formats[i];
            uint8_t *stream[SQ_BS_STREAMS];
            struct sq_error err;
            struct sq_bs b, a = packed(f, 5, k, &b, stream);
            if (through(&a, stream, &b, &err) != SQ_OK)
                fail_msg("format %zu: %s", i, err.text);
            assert_memory_equal(a.code, b.code, a.n * a.k);
            if (a.high)
                assert_memory_equal(a.high, b.high, a.n * a.k);
            if (a.is_high)
                assert_memory_equal(a.is_high, b.is_high, a.n * a.k);
        }
}

SQ_TEST(bits)
{
    static const double want[] = {4.25, 4.25, 6.25,    6.25, 6.25, 6.25, 8.25, 8.25, 8.25, 8.25,
                                  8.25, 8.25, 4.40625, 4.5,  4.5,  4.5,  5.5,  4.5,  6,    5.25,
                                  5.5,  8.5,  5.75,    6,    5.75, 6.25, 4.5,  4.5,  5.25, 4.5,
                                  4.5,  4.5,  4.5,     4.5,  4.5,  4.5,  4.5,  4.5,  6,    6};
    assert_int_equal(LEN(want), LEN(bs_formats));
    for (size_t i = 0; i < LEN(bs_formats); i++) {
        const struct sq_bs_format *f = &bs_formats[i];
        if (sq_bs_bits(f) != want[i])
            fail_msg("format %zu: %g bits, want %g", i, sq_bs_bits(f), want[i]);
    }
}

// ---- refusals -------------------------------------------------------------------------------

struct lie {
    const char *what;
    enum sq_status status;
    enum sq_bs_stream stream; // SQ_BS_STREAMS: a scale; +1: a global
    size_t at;
    uint8_t byte;
};

static void refuse(const struct sq_bs_format *f, size_t k, const struct lie *lie)
{
    uint8_t *stream[SQ_BS_STREAMS];
    struct sq_error err = {.code = SQ_OK};
    struct sq_bs b, a = packed(f, 2, k, &b, stream);
    if (lie->stream < SQ_BS_STREAMS)
        stream[lie->stream][lie->at] = lie->byte;
    else if (lie->stream == SQ_BS_STREAMS)
        b.scale[0][lie->at] = lie->byte;
    else
        b.global[0][lie->at] = lie->byte == 0 ? 0 : lie->byte == 1 ? NAN : -1;
    const enum sq_status got = through(&a, stream, &b, &err);
    if (got != lie->status)
        fail_msg("%s: %s (%s), want %s", lie->what, sq_status_str(got), got ? err.text : "taken",
                 sq_status_str(lie->status));
}

SQ_TEST(refusals)
{
    const enum sq_bs_stream scale = SQ_BS_STREAMS;
    static const struct sq_bs_format e4m3 = {
        .kind = SQ_BS_MX, .element = SQ_ELEMENT_E4M3, .block = 32};
    static const struct sq_bs_format e5m2 = {
        .kind = SQ_BS_MX, .element = SQ_ELEMENT_E5M2, .block = 32};
    static const struct sq_bs_format nvint5 = {
        .kind = SQ_BS_NV, .element = SQ_ELEMENT_INT5, .block = 16};
    static const struct sq_bs_format plus = {
        .kind = SQ_BS_PLUS, .element = SQ_ELEMENT_E2M1, .block = 32};
    static const struct sq_bs_format own = {
        .kind = SQ_BS_SQ, .element = SQ_ELEMENT_INT4, .block = 16, .high_per_block = 1};
    static const struct sq_bs_format split = {
        .kind = SQ_BS_SPLIT, .element = SQ_ELEMENT_INT4, .block = 16, .high_per_block = 1};
    refuse(&e4m3, 64, &(struct lie){"NaN", SQ_ERR_CODE, SQ_BS_CODES, 3, 0x7f});
    refuse(&e4m3, 64, &(struct lie){"-NaN", SQ_ERR_CODE, SQ_BS_CODES, 3, 0xff});
    refuse(&e4m3, 64, &(struct lie){"448 is none", SQ_OK, SQ_BS_CODES, 3, 0x7e});
    refuse(&e4m3, 60, &(struct lie){"padding", SQ_ERR_PADDING, SQ_BS_CODES, 61, 1});
    refuse(&e4m3, 64, &(struct lie){"scale NaN", SQ_ERR_SCALE, scale, 1, 0xff});
    refuse(&e4m3, 64, &(struct lie){"scale 2^127", SQ_OK, scale, 1, 0xfe});
    refuse(&e5m2, 64, &(struct lie){"infinity", SQ_ERR_CODE, SQ_BS_CODES, 3, 0xfc});
    refuse(&nvint5, 64, &(struct lie){"-16", SQ_ERR_CODE, SQ_BS_CODES, 0, 0x10});
    refuse(&nvint5, 64, &(struct lie){"scale NaN", SQ_ERR_SCALE, scale, 1, 0x7f});
    refuse(&nvint5, 64, &(struct lie){"scale -1", SQ_ERR_SCALE, scale, 1, 0xb8});
    refuse(&nvint5, 64, &(struct lie){"global 0", SQ_ERR_SCALE, scale + 1, 0, 0});
    refuse(&nvint5, 64, &(struct lie){"global NaN", SQ_ERR_SCALE, scale + 1, 1, 1});
    refuse(&nvint5, 64, &(struct lie){"global -1", SQ_ERR_SCALE, scale + 1, 1, 2});
    refuse(&plus, 40, &(struct lie){"place beyond K", SQ_ERR_INDEX, SQ_BS_INDEX, 1, 0x03});
    refuse(&plus, 32, &(struct lie){"bits beyond places", SQ_ERR_PADDING, SQ_BS_INDEX, 0, 0x20});
    refuse(&own, 32, &(struct lie){"two mask codes", SQ_ERR_MASK_COUNT, SQ_BS_CODES, 0, 0x88});
    refuse(&own, 32, &(struct lie){"-128", SQ_ERR_CODE, SQ_BS_HIGH, 0, 0x80});
    refuse(&split, 32, &(struct lie){"two marks", SQ_ERR_MASK_COUNT, SQ_BS_MASK, 0, 3});
    refuse(&split, 32, &(struct lie){"no mark", SQ_ERR_MASK_COUNT, SQ_BS_MASK, 0, 0});
}

// The first place behind the last real column of a block.
SQ_TEST(place_of_padding)
{
    static const struct sq_bs_format plus = {
        .kind = SQ_BS_PLUS, .element = SQ_ELEMENT_E2M1, .block = 32};
    uint8_t *stream[SQ_BS_STREAMS];
    struct sq_bs b, a = packed(&plus, 2, 40, &b, stream);
    assert_true(b.scale[0][3] > 0);
    stream[SQ_BS_INDEX][2] &= 0x1f;
    stream[SQ_BS_INDEX][3] = 1; // row 1: 8 of the second block, which has 8 columns
    assert_int_equal(through(&a, stream, &b, NULL), SQ_ERR_INDEX);
}

SQ_TEST(formats)
{
    struct sq_bs_format f = {
        .kind = SQ_BS_SQ, .element = SQ_ELEMENT_INT4, .block = 32, .high_per_block = 16};
    assert_ok(sq_bs_check(&f, NULL));
    f.high_per_block = 17;
    assert_int_equal(sq_bs_check(&f, NULL), SQ_ERR_RANGE);
    f.high_per_block = 0;
    assert_int_equal(sq_bs_check(&f, NULL), SQ_ERR_RANGE);
    f = (struct sq_bs_format){.kind = SQ_BS_MX, .element = SQ_ELEMENT_E2M1, .block = 24};
    assert_int_equal(sq_bs_check(&f, NULL), SQ_ERR_UNSUPPORTED);
    f = (struct sq_bs_format){
        .kind = SQ_BS_SPLIT, .element = SQ_ELEMENT_E2M1, .block = 32, .high_per_block = 1};
    assert_int_equal(sq_bs_check(&f, NULL), SQ_ERR_UNSUPPORTED);
    float x[32] = {[5] = INFINITY};
    f = bs_formats[0];
    struct sq_bs c = bs_alloc(&f, 1, 32);
    assert_int_equal(sq_bs_globals(&c, x, true, NULL), SQ_ERR_NON_FINITE);
}
