// SPDX-License-Identifier: Apache-2.0
// Codes of every grid as they are stored (sq_codes_pack): dense of 2..8 bits, tied, split, fp and
// own, K with and without padding, packed and unpacked; own and tied are the packed SQ-format byte
// by byte. Refused: each kind of code that no encoder writes, marks in the wrong number, codes and
// bits in padding, scales.
#include <math.h>
#include <string.h>

#include "models/number/sq_codes_pack.h"
#include "models/quant/sq_codes_alloc.h"
#include "models/sq_rng.h"
#include "tests/unit/fixture.h"

enum { N = 3, GROUP = 32, ROW = 256 };

static struct sq_codes encoded(struct sq_grid g, size_t k_orig, uint64_t seed)
{
    const bool is_mixed = sq_grid_is_mixed(&g);
    struct sq_rng rng = {seed};
    float w[N * 100];
    struct sq_codes c = {.grid = g,
                         .n = N,
                         .k = (k_orig + GROUP - 1) / GROUP * GROUP,
                         .k_orig = k_orig,
                         .group = GROUP,
                         .bank = is_mixed ? 16 : 0,
                         .high_per_bank = is_mixed ? 4 : 0};
    for (size_t i = 0; i < N * k_orig; i++)
        w[i] = (float)(sq_rng_unit(&rng) - 0.5) * (i % 7 == 0 ? 30.0f : 1.0f);
    assert_ok(sq_codes_alloc(&c, NULL));
    assert_ok(sq_codes_encode_rtn(&c, w, NULL));
    return c;
}

struct row {
    uint8_t data[SQ_CODES_STREAMS][ROW];
    const uint8_t *in[SQ_CODES_STREAMS];
};

static struct row packed(const struct sq_codes *c, size_t row)
{
    struct row r = {0};
    for (enum sq_codes_stream s = 0; s < SQ_CODES_STREAMS; s++)
        if (sq_codes_row_nbytes(c, s))
            sq_codes_pack_row(c, row, s, r.data[s]);
    return r;
}

static enum sq_status unpack(struct sq_codes *to, struct row *r, struct sq_error *err)
{
    for (enum sq_codes_stream s = 0; s < SQ_CODES_STREAMS; s++)
        r->in[s] = sq_codes_row_nbytes(to, s) ? r->data[s] : NULL;
    return sq_codes_unpack_row(to, 0, r->in, err);
}

static const struct sq_grid grids[] = {
    {SQ_GRID_DENSE, 0, 2}, {SQ_GRID_DENSE, 0, 3}, {SQ_GRID_DENSE, 0, 4}, {SQ_GRID_DENSE, 0, 5},
    {SQ_GRID_DENSE, 0, 6}, {SQ_GRID_DENSE, 0, 7}, {SQ_GRID_DENSE, 0, 8}, {SQ_GRID_OWN, 8, 4},
    {SQ_GRID_OWN, 4, 2},   {SQ_GRID_TIED, 8, 4},  {SQ_GRID_TIED, 8, 3},  {SQ_GRID_TIED, 8, 2},
    {SQ_GRID_SPLIT, 8, 4}, {SQ_GRID_SPLIT, 8, 3}, {SQ_GRID_SPLIT, 8, 2}, {SQ_GRID_SPLIT, 4, 2},
    {SQ_GRID_FP, 8, 4}};

SQ_TEST(there_and_back)
{
    for (size_t g = 0; g < LEN(grids); g++)
        for (size_t k = 64; k <= 100; k += 18) { // 64, 82, 100
            struct sq_codes c = encoded(grids[g], k, g + 1), to = encoded(grids[g], k, 99);
            struct sq_error err;
            for (size_t row = 0; row < N; row++) {
                struct row r = packed(&c, row);
                CHECK_EQ(unpack(&to, &r, &err), SQ_OK, "%s\n", err.text);
                assert_memory_equal(to.code, c.code + row * c.k, c.k * sizeof *c.code);
                if (c.is_high)
                    assert_memory_equal(to.is_high, c.is_high + row * c.k, c.k);
            }
            memcpy(to.s_lo, c.s_lo, N * (c.k / GROUP) * sizeof(float));
            memset(to.s_hi, 0, N * (c.k / GROUP) * sizeof(float));
            if (sq_codes_has_high_scale(&c.grid))
                memcpy(to.s_hi, c.s_hi, N * (c.k / GROUP) * sizeof(float));
            assert_ok(sq_codes_settle_scales(&to, NULL));
            assert_memory_equal(to.s_hi, c.s_hi, N * (c.k / GROUP) * sizeof(float));
            sq_codes_free(&c);
            sq_codes_free(&to);
        }
}

// own: the bytes of sq_codes_pack, which the datapath reads.
SQ_TEST(own_is_the_packed_format)
{
    struct sq_codes c = encoded((struct sq_grid){SQ_GRID_OWN, 8, 4}, 64, 5);
    uint8_t lo[N * ROW] = {0}, hi[N * ROW] = {0};
    float s[2][N * 2];
    struct sq_matrix m = {.format = {8, 4, 16, 4, GROUP},
                          .n = N,
                          .k = 64,
                          .k_orig = 64,
                          .lo = lo,
                          .hi = hi,
                          .s_lo = s[0],
                          .s_hi = s[1]};
    assert_ok(sq_codes_pack(&c, &m, NULL));
    for (size_t row = 0; row < N; row++) {
        const struct row r = packed(&c, row);
        const size_t n_lo = sq_codes_row_nbytes(&c, SQ_CODES_LOW),
                     n_hi = sq_codes_row_nbytes(&c, SQ_CODES_HIGH);
        assert_memory_equal(r.data[SQ_CODES_LOW], lo + row * n_lo, n_lo);
        assert_memory_equal(r.data[SQ_CODES_HIGH], hi + row * n_hi, n_hi);
    }
    sq_codes_free(&c);
}

// ---- refusals -------------------------------------------------------------------------------

// One byte of a packed row becomes another.
static void refuse(struct sq_grid g, size_t k, enum sq_codes_stream s, size_t byte, uint8_t value,
                   enum sq_status want, const char *what)
{
    struct sq_codes c = encoded(g, k, 7);
    struct row r = packed(&c, 0);
    struct sq_error err;
    r.data[s][byte] = value;
    CHECK_EQ(unpack(&c, &r, &err), want, "%s\n", what);
    assert_non_null(strstr(err.text, what));
    sq_codes_free(&c);
}

SQ_TEST(refusals)
{
    const struct sq_grid dense = {SQ_GRID_DENSE, 0, 4}, three = {SQ_GRID_DENSE, 0, 3},
                         tied = {SQ_GRID_TIED, 8, 4}, split = {SQ_GRID_SPLIT, 8, 4},
                         fp = {SQ_GRID_FP, 8, 4};
    refuse(dense, 64, SQ_CODES_LOW, 3, 0x80, SQ_ERR_CODE, "column 7: low code -8");
    refuse(dense, 82, SQ_CODES_LOW, 41, 0x10, SQ_ERR_PADDING, "column 83: padding has code 1");
    refuse(three, 64, SQ_CODES_LOW, 0, 0x04, SQ_ERR_CODE, "column 0: low code -4");
    refuse(tied, 64, SQ_CODES_HIGH, 0, 0x80, SQ_ERR_CODE, "high code -128");
    refuse(tied, 64, SQ_CODES_LOW, 0, 0x11, SQ_ERR_MASK_COUNT, "high codes");
    refuse(split, 64, SQ_CODES_MASK, 0, 0xff, SQ_ERR_MASK_COUNT, "bank 0");
    refuse(split, 64, SQ_CODES_MASK, 7, 0xff, SQ_ERR_MASK_COUNT, "high codes");
    refuse(fp, 64, SQ_CODES_HIGH, 0, 0x7f, SQ_ERR_CODE, "is no value");
    refuse(fp, 64, SQ_CODES_HIGH, 0, 0xff, SQ_ERR_CODE, "is no value");
    refuse(fp, 64, SQ_CODES_LOW, 0, 0x11, SQ_ERR_MASK_COUNT, "high codes");
}

SQ_TEST(low_codes_of_split_are_symmetric)
{
    struct sq_codes c = encoded((struct sq_grid){SQ_GRID_SPLIT, 8, 4}, 64, 7);
    struct row r = packed(&c, 0);
    struct sq_error err;
    size_t i = 0;
    while (c.is_high[i])
        i++;
    r.data[SQ_CODES_LOW][i / 2] =
        (uint8_t)((r.data[SQ_CODES_LOW][i / 2] & (i % 2 ? 0x0f : 0xf0)) | (i % 2 ? 0x80 : 0x08));
    assert_int_equal(unpack(&c, &r, &err), SQ_ERR_CODE);
    sq_codes_free(&c);
}

SQ_TEST(padding_bits)
{
    struct sq_codes c = encoded((struct sq_grid){SQ_GRID_DENSE, 0, 3}, 64, 3);
    c.k = c.k_orig = c.group = 63; // rows of 189 bits
    struct row r = packed(&c, 0);
    struct sq_error err;
    assert_int_equal(sq_codes_row_nbytes(&c, SQ_CODES_LOW), 24);
    assert_ok(unpack(&c, &r, &err));
    r.data[SQ_CODES_LOW][23] |= 0x20;
    check_refused(unpack(&c, &r, &err), SQ_ERR_PADDING, &err, "padding bits");
    sq_codes_free(&c);
}

SQ_TEST(scales)
{
    static const float bad[] = {0, -1, INFINITY, NAN};
    for (size_t g = 0; g < LEN(grids); g++)
        for (size_t i = 0; i < LEN(bad); i++) {
            struct sq_codes c = encoded(grids[g], 64, 1);
            c.s_lo[1] = bad[i];
            assert_int_equal(sq_codes_settle_scales(&c, NULL), SQ_ERR_SCALE);
            c.s_lo[1] = 1;
            c.s_hi[1] = bad[i]; // of one that is not stored it follows
            assert_int_equal(sq_codes_settle_scales(&c, NULL),
                             sq_codes_has_high_scale(&c.grid) ? SQ_ERR_SCALE : SQ_OK);
            sq_codes_free(&c);
        }
    struct sq_codes c = encoded((struct sq_grid){SQ_GRID_TIED, 8, 4}, 64, 1);
    c.s_lo[0] = 0x1p-149f; // a sixteenth of it is 0
    assert_int_equal(sq_codes_settle_scales(&c, NULL), SQ_ERR_SCALE);
    sq_codes_free(&c);
}
