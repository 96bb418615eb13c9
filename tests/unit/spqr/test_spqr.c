// SPDX-License-Identifier: Apache-2.0
// SpQR as it is stored (SPEC H.2-H.4, H.6, H.7). Exhausted: all binary16 patterns, every bit of a
// word. Directed: V11, V12, the refusals. Sampled: tiles of random second-order numbers against
// _Float16 arithmetic; random outliers through both layouts; products against one written down from
// the words once more, with fmaf, for every number of workers.
#include <math.h>

#include "models/number/sq_half.h"
#include "models/number/sq_lanes.h"
#include "models/spqr/sq_spqr.h"
#include "tests/unit/fixture.h"

__extension__ typedef _Float16 half;

static half half_of(uint16_t bits)
{
    half h;
    memcpy(&h, &bits, sizeof h);
    return h;
}

// ---- binary16 -------------------------------------------------------------------------------

SQ_TEST(every_half)
{
    for (unsigned h = 0; h < 0x10000; h++) {
        const float want = (float)half_of((uint16_t)h), got = sq_half_to_float((uint16_t)h);
        CHECK_EQ(sq_half_is_finite((uint16_t)h), isfinite(want) != 0, "0x%04x\n", h);
        if (isnan(want)) {
            assert_true(isnan(got));
            continue;
        }
        CHECK_EQ(sq_bits_of(got), sq_bits_of(want), "0x%04x\n", h);
        CHECK_EQ(sq_f32_to_f16(got), h, "0x%04x\n", h);
    }
}

// ---- tiles ----------------------------------------------------------------------------------

static struct sq_spqr_tile tile_v11(void)
{
    struct sq_spqr_tile t = {.second = {0x3800, 0x3400, 0xbc00, 0xc000}}; // ss, zs, sz, zz
    for (unsigned r = 0; r < 16; r++) {
        t.scale[r] = r % 8;
        t.zero[r] = (uint8_t)((23 - r) % 8);
        for (unsigned j = 0; j < 16; j++)
            t.code[r][j] = (r + j) % 8;
    }
    return t;
}

SQ_TEST(vector_v11)
{
    const struct sq_spqr_tile t = tile_v11();
    struct sq_spqr_tile back;
    struct sq_error err;
    uint64_t word[16];
    float s, z;
    sq_spqr_pack(&t, word);
    assert_true(word[0] == 0x003EB1A23EB1A238);
    assert_true(word[1] == 0x0007D63447D63471);
    assert_true(word[15] == 0x30358D11F58D11C7);
    assert_ok(sq_spqr_unpack(word, &back, &err));
    assert_memory_equal(back.second, t.second, sizeof t.second);
    sq_spqr_row(&t, 0, &s, &z);
    assert_true(s == .5f && z == 2.25f);
    for (unsigned j = 0; j < 8; j++)
        assert_true(sq_spqr_value(s, z, t.code[0][j]) == -1.125f + .5f * (float)j);
    sq_spqr_row(&t, 1, &s, &z);
    assert_true(s == 1 && z == 2);
    for (unsigned j = 0; j < 7; j++)
        assert_true(sq_spqr_value(s, z, t.code[1][j]) == -1 + (float)j);
}

static void random_tile(struct sq_rng *r, struct sq_spqr_tile *t)
{
    memset(t, 0, sizeof *t);
    for (unsigned i = 0; i < 4; i++) // finite, exponents of all sizes
        t->second[i] = (uint16_t)((sq_rng_next(r) & 0x83ffu) | sq_rng_below(r, 25) << 10);
    for (unsigned row = 0; row < 16; row++) {
        t->scale[row] = (uint8_t)sq_rng_below(r, 8);
        t->zero[row] = (uint8_t)sq_rng_below(r, 8);
        for (unsigned j = 0; j < 16; j++)
            t->code[row][j] = (uint8_t)sq_rng_below(r, 8);
    }
}

SQ_TEST(tiles)
{
    struct sq_rng r = {fixture_seed()};
    for (unsigned n = 0; n < 2000; n++) {
        struct sq_spqr_tile t, back;
        uint64_t word[16], again[16];
        random_tile(&r, &t);
        sq_spqr_pack(&t, word);
        assert_ok(sq_spqr_unpack(word, &back, NULL));
        sq_spqr_pack(&back, again);
        assert_memory_equal(again, word, sizeof word);
        assert_memory_equal(back.code, t.code, sizeof t.code);
        for (unsigned row = 0; row < 16; row++) {
            float s, z;
            sq_spqr_row(&t, row, &s, &z);
            const half ds = (half)t.scale[row] - half_of(t.second[SQ_SPQR_SZ]);
            const half ws = half_of(t.second[SQ_SPQR_SS]) * ds;
            const half dz = (half)t.zero[row] - half_of(t.second[SQ_SPQR_ZZ]);
            const half wz = half_of(t.second[SQ_SPQR_ZS]) * dz;
            CHECK_EQ(sq_bits_of(s), sq_bits_of((float)ws), "tile %u row %u\n", n, row);
            CHECK_EQ(sq_bits_of(z), sq_bits_of((float)wz), "tile %u row %u\n", n, row);
            for (unsigned code = 0; code < 8; code++) {
                const half d = (half)code - wz, w = ws * d;
                const float got = sq_spqr_value(s, z, code);
                assert_true(isnan((float)w) ? isnan(got) : sq_bits_of(got) == sq_bits_of((float)w));
            }
        }
    }
}

SQ_TEST(refused_words)
{
    const struct sq_spqr_tile t = tile_v11();
    struct sq_spqr_tile back;
    struct sq_error err;
    uint64_t word[16];
    for (unsigned row = 0; row < 16; row++)
        for (unsigned bit = 0; bit < 64; bit++) {
            sq_spqr_pack(&t, word);
            word[row] ^= UINT64_C(1) << bit;
            CHECK_EQ(sq_spqr_unpack(word, &back, &err),
                     bit >= 62   ? SQ_ERR_PADDING
                     : bit >= 54 ? SQ_ERR_DAMAGED
                                 : SQ_OK,
                     "row %u bit %u\n", row, bit);
        }
    for (unsigned i = 0; i < 4; i++) {
        struct sq_spqr_tile bad = t;
        bad.second[i] = i % 2 ? 0xfc00 : 0x7e00;
        sq_spqr_pack(&bad, word);
        assert_int_equal(sq_spqr_unpack(word, &back, &err), SQ_ERR_SCALE);
    }
    assert_string_equal(err.text, "q_zz = 0xfc00, need a finite binary16");
}

// ---- outliers -------------------------------------------------------------------------------

SQ_TEST(vector_v12)
{
    uint32_t row_offsets[17] = {0, 1, 3}, col_val[3] = {0x3e000007, 0xb8000002, 0x40000009};
    uint32_t offsets[2], word[32], back_offsets[17], back[3];
    for (unsigned i = 3; i < 17; i++)
        row_offsets[i] = 3;
    const struct sq_spqr_csr c = {16, 3, row_offsets, col_val};
    struct sq_spqr_ptcsr p = {.offsets = offsets, .word = word};
    struct sq_spqr_csr d = {.row_offsets = back_offsets, .col_val = back};
    assert_ok(sq_spqr_csr_validate(&c, 17, 3, 16, NULL));
    assert_int_equal(sq_spqr_ptcsr_words(&c), 32);
    assert_ok(sq_spqr_to_ptcsr(&c, &p, NULL));
    assert_ok(sq_spqr_ptcsr_validate(&p, 2, 32, 16, NULL));
    assert_memory_equal(offsets, ((uint32_t[]){0, 32}), 8);
    for (unsigned i = 0; i < 32; i++)
        CHECK_EQ(word[i],
                 i == 0    ? 0x3e000007
                 : i == 1  ? 0xb8000002
                 : i == 17 ? 0x40000009
                           : 0,
                 "word %u\n", i);
    sq_spqr_to_csr(&p, &d);
    assert_int_equal(d.nnz, 3);
    assert_memory_equal(back_offsets, row_offsets, sizeof row_offsets);
    assert_memory_equal(back, col_val, sizeof col_val);
}

SQ_TEST(refused_outliers)
{
    static const uint32_t good[] = {0x3e000001, 0x3e000003, 0xb8000003, 0x3c000000};
    uint32_t row_offsets[4] = {0, 2, 3, 4}, e[4];
    struct sq_error err;
    struct sq_spqr_csr c = {3, 4, row_offsets, e};
    static const struct {
        unsigned at;
        uint32_t entry;
        enum sq_status status;
    } bad[] = {
        {3, 0, SQ_ERR_CODE},
        {3, 0x80000000, SQ_OK},
        {0, 0x3e000004, SQ_ERR_INDEX},
        {1, 0x3e000001, SQ_ERR_INDEX},
        {1, 0x3e000000, SQ_ERR_INDEX},
        {2, 0x7c000001, SQ_ERR_NON_FINITE},
        {2, 0xfe000001, SQ_ERR_NON_FINITE},
    };
    for (size_t i = 0; i < LEN(bad); i++) {
        memcpy(e, good, sizeof e);
        e[bad[i].at] = bad[i].entry;
        CHECK_EQ(sq_spqr_csr_validate(&c, 4, 4, 4, &err), bad[i].status, "case %zu\n", i);
        if (bad[i].status != SQ_ERR_CODE && bad[i].status != SQ_OK) { // the same in PTCSR
            uint32_t offsets[2] = {0, 32}, word[32] = {e[0], e[2], e[3]};
            const struct sq_spqr_ptcsr p = {3, 32, offsets, word};
            word[16] = e[1];
            CHECK_EQ(sq_spqr_ptcsr_validate(&p, 2, 32, 4, &err), bad[i].status, "case %zu\n", i);
        }
    }
    memcpy(e, good, sizeof e);
    assert_int_equal(sq_spqr_csr_validate(&c, 4, 3, 4, &err), SQ_ERR_STREAM_LEN);
    assert_int_equal(sq_spqr_csr_validate(&c, 3, 4, 4, &err), SQ_ERR_STREAM_LEN);
    row_offsets[1] = 4;
    assert_int_equal(sq_spqr_csr_validate(&c, 4, 4, 4, &err), SQ_ERR_OFFSETS);
    assert_string_equal(err.text, "row_offsets[2] = 3, below 4 before it");
    row_offsets[0] = 1;
    assert_int_equal(sq_spqr_csr_validate(&c, 4, 4, 4, &err), SQ_ERR_OFFSETS);
}

SQ_TEST(refused_ptcsr)
{
    uint32_t offsets[3] = {0, 32, 32}, word[48] = {[0] = 0x3e000001, [16] = 0x3e000002};
    struct sq_error err;
    struct sq_spqr_ptcsr p = {17, 32, offsets, word};
    assert_ok(sq_spqr_ptcsr_validate(&p, 3, 32, 4, &err));
    assert_int_equal(sq_spqr_ptcsr_validate(&p, 3, 31, 4, &err), SQ_ERR_STREAM_LEN);
    word[17] = 0x3e000001; // its first element is missing
    assert_int_equal(sq_spqr_ptcsr_validate(&p, 3, 32, 4, &err), SQ_ERR_PADDING);
    assert_string_equal(err.text, "row 1: outlier 1 stands behind a missing one");
    word[17] = word[16] = 0; // a zero word where the longest row should end
    assert_int_equal(sq_spqr_ptcsr_validate(&p, 3, 32, 4, &err), SQ_ERR_OFFSETS);
    assert_string_equal(err.text, "block 0 has 32 words, its longest row needs 16");
    offsets[1] = 16;
    word[18] = 0x3e000001; // row 18 of 17
    assert_int_equal(sq_spqr_ptcsr_validate(&p, 3, 32, 4, &err), SQ_ERR_PADDING);
    offsets[1] = 24;
    assert_int_equal(sq_spqr_ptcsr_validate(&p, 3, 32, 4, &err), SQ_ERR_OFFSETS);
    offsets[1] = 40;
    assert_int_equal(sq_spqr_ptcsr_validate(&p, 3, 32, 4, &err), SQ_ERR_OFFSETS);
}

// ---- matrix and product ---------------------------------------------------------------------

struct owned {
    struct sq_spqr m;
    struct sq_spqr_ptcsr p;
    float *plane, *x;
    uint8_t *seen;
};

static struct owned random_matrix(struct sq_rng *r, size_t n, size_t k, unsigned one_in)
{
    const size_t n_words = sq_spqr_n_words(n, k);
    struct owned o = {.m = {.n = n, .k = k, .outliers = {.n = n}}};
    struct sq_error err = {.text = ""};
    o.m.in_perm = fixture_exact(k * sizeof *o.m.in_perm);
    o.m.dense = fixture_exact(n_words * sizeof *o.m.dense);
    o.m.outliers.row_offsets = fixture_exact((n + 1) * sizeof(uint32_t));
    o.m.outliers.col_val = fixture_exact(n * k * sizeof(uint32_t));
    o.x = fixture_exact(k * sizeof *o.x);
    o.plane = fixture_exact(16 * n_words * sizeof *o.plane);
    o.seen = fixture_exact(k);
    for (size_t j = 0; j < k; j++) {
        const size_t other = sq_rng_below(r, (uint32_t)j + 1);
        o.m.in_perm[j] = (uint16_t)j;
        o.m.in_perm[j] = o.m.in_perm[other];
        o.m.in_perm[other] = (uint16_t)j;
        o.x[j] = (float)(sq_rng_unit(r) * 2 - 1);
    }
    for (size_t i = 0; i < n_words; i += 16) {
        struct sq_spqr_tile t;
        random_tile(r, &t);
        for (unsigned s = 0; s < 4; s++) // magnitudes 2^-5 .. 2
            t.second[s] = (uint16_t)((t.second[s] & 0x83ffu) | (10 + sq_rng_below(r, 6)) << 10);
        sq_spqr_pack(&t, o.m.dense + i);
    }
    for (size_t row = 0; row < n; row++) {
        o.m.outliers.row_offsets[row] = (uint32_t)o.m.outliers.nnz;
        for (size_t j = 0; j < k; j++)
            if (sq_rng_below(r, one_in) == 0)
                o.m.outliers.col_val[o.m.outliers.nnz++] =
                    (uint32_t)sq_f32_to_f16((float)sq_rng_unit(r) - 2) << 16 | (uint32_t)j;
    }
    o.m.outliers.row_offsets[n] = (uint32_t)o.m.outliers.nnz;
    CHECK_EQ(sq_spqr_validate(&o.m, n_words, n + 1, o.m.outliers.nnz, o.seen, &err), SQ_OK, "%s\n",
             err.text);
    o.p.offsets = fixture_exact((sq_spqr_padded(n) / 16 + 1) * sizeof(uint32_t));
    o.p.word = fixture_exact(sq_spqr_ptcsr_words(&o.m.outliers) * sizeof(uint32_t));
    assert_ok(sq_spqr_to_ptcsr(&o.m.outliers, &o.p, &err));
    assert_ok(sq_spqr_ptcsr_validate(&o.p, sq_spqr_padded(n) / 16 + 1, o.p.n_words, k, &err));
    sq_spqr_decode_dense(&o.m, o.plane);
    return o;
}

// Weight (row, j), 0 in padding, from bits of its word.
static float slow_weight(const struct sq_spqr *m, size_t row, size_t j)
{
    const uint64_t *word = m->dense + (row / 16 * (sq_spqr_padded(m->k) / 16) + j / 16) * 16;
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; i++)
        v |= (word[2 * i] >> 54 & 255) << 8 * i;
    const uint64_t w = word[row % 16];
    const half ds = (half)(int)(w & 7) - half_of((uint16_t)(v >> 32));
    const half s = half_of((uint16_t)v) * ds;
    const half dz = (half)(int)(w >> 3 & 7) - half_of((uint16_t)(v >> 48));
    const half z = half_of((uint16_t)(v >> 16)) * dz;
    const half d = (half)(int)(w >> (6 + 3 * (j % 16)) & 7) - z, value = s * d;
    return (float)value;
}

static float slow_output(const struct owned *o, size_t row)
{
    const size_t k = o->m.k, n_tiles = (k + 15) / 16;
    const struct sq_spqr_csr *c = &o->m.outliers;
    size_t workers = 16;
    while (n_tiles % workers)
        workers /= 2;
    float sum = 0;
    for (size_t u = 0; u < workers; u++) {
        float acc = 0;
        for (size_t tile = u; tile < n_tiles; tile += workers)
            for (size_t j = 16 * tile; j < 16 * tile + 16; j++)
                acc = fmaf(j < k ? (float)(half)o->x[o->m.in_perm[j]] : 0,
                           slow_weight(&o->m, row, j), acc);
        for (size_t e = c->row_offsets[row] + u; e < c->row_offsets[row + 1]; e += workers) {
            const float value = (float)half_of((uint16_t)(c->col_val[e] >> 16));
            acc += value * (float)(half)o->x[o->m.in_perm[c->col_val[e] & 0xffff]];
        }
        sum = u ? sum + acc : acc;
    }
    return (float)(half)sum;
}

// 19 tokens at once, x times different factors, at every level of the processor: the bits of
// sq_spqr_gemv. One token is too large: the sentence is that of sq_spqr_gemv.
static void check_gemm(const struct owned *o, const float *x)
{
    enum { TOKENS = 19, LARGE = 17 };
    const size_t n = o->m.n, k = sq_spqr_padded(o->m.k);
    float *rows = fixture_exact(TOKENS * k * sizeof *rows);
    float *y = fixture_exact(TOKENS * n * sizeof *y), *want = fixture_exact(TOKENS * n * sizeof *y);
    void *scratch = fixture_alloc(sq_spqr_gemm_scratch(&o->m));
    for (size_t t = 0; t < TOKENS; t++) {
        for (size_t i = 0; i < k; i++)
            rows[t * k + i] = (float)(half)(x[i] * (1 - 0.37f * (float)(t % 5)));
        assert_int_equal(sq_spqr_gemv(&o->m, NULL, o->plane, rows + t * k, want + t * n, NULL), 0);
    }
    for (unsigned level = 0; level <= sq_lanes_level_of(SQ_LANES_AUTO); level++) {
        const struct sq_spqr_gemm g = {&o->m, o->plane, rows, y, level};
        memset(y, 0xa5, TOKENS * n * sizeof *y);
        assert_ok(sq_spqr_gemm(&g, TOKENS, scratch, NULL));
        CHECK_EQ(memcmp(y, want, TOKENS * n * sizeof *y), 0, "%zu x %zu level %u\n", n, k, level);
    }
    struct sq_error one = {.text = ""}, many = one;
    const struct sq_spqr_gemm g = {&o->m, o->plane, rows, y, 0};
    for (size_t i = 0; i < k; i++)
        rows[LARGE * k + i] = x[i] < 0 ? -65504 : 65504;
    const enum sq_status status = sq_spqr_gemv(&o->m, NULL, o->plane, rows + LARGE * k, y, &one);
    CHECK_EQ(sq_spqr_gemm(&g, TOKENS, scratch, &many), status, "%s, %s\n", one.text, many.text);
    assert_string_equal(many.text, one.text);
}

SQ_TEST(products)
{
    static const size_t shape[][2] = {{16, 16},  {64, 172}, {20, 256}, {33, 32},
                                      {48, 128}, {16, 512}, {1, 1},    {7, 64}};
    struct sq_rng r = {fixture_seed()};
    for (size_t s = 0; s < LEN(shape); s++)
        for (unsigned one_in = 3; one_in < 3000; one_in *= 10) {
            const size_t n = shape[s][0], k = shape[s][1];
            struct owned o = random_matrix(&r, n, k, one_in);
            float *x = fixture_exact(sq_spqr_padded(k) * sizeof *x), *w = fixture_exact(4 * k);
            float *y = fixture_exact(4 * n), *other = fixture_exact(4 * n);
            uint32_t *offsets = fixture_exact(4 * (n + 1));
            uint32_t *col_val = fixture_exact(4 * sq_spqr_csr_entries(&o.p));
            struct sq_spqr_csr back = {.row_offsets = offsets, .col_val = col_val};
            sq_spqr_to_csr(&o.p, &back);
            CHECK_EQ(back.nnz, o.m.outliers.nnz, "shape %zu\n", s);
            assert_memory_equal(offsets, o.m.outliers.row_offsets, 4 * (n + 1));
            assert_memory_equal(col_val, o.m.outliers.col_val, 4 * back.nnz);
            assert_ok(sq_spqr_load(&o.m, o.x, x, NULL));
            assert_ok(sq_spqr_gemv(&o.m, NULL, o.plane, x, y, NULL));
            assert_ok(sq_spqr_gemv(&o.m, &o.p, o.plane, x, other, NULL));
            assert_memory_equal(other, y, n * sizeof *y);
            check_gemm(&o, x);
            for (size_t i = 0; i < n; i++) {
                double sum = 0;
                CHECK_EQ(sq_bits_of(y[i]), sq_bits_of(slow_output(&o, i)), "%zu x %zu row %zu\n", n,
                         k, i);
                sq_spqr_decode_row(&o.m, o.plane, i, false, w);
                for (size_t j = 0; j < k; j++)
                    sum += (double)w[j] * (double)(float)(half)o.x[j];
                assert_true(fabs(sum - (double)y[i]) <= 1e-3 * (fabs(sum) + (double)k));
            }
        }
    assert_int_equal(sq_spqr_workers(4096), 16);
    assert_int_equal(sq_spqr_workers(11008), 16);
    assert_int_equal(sq_spqr_workers(172), 1);
    assert_int_equal(sq_spqr_workers(64), 4);
}

// The second half of the columns cancels the first: what is left is the roundings, which tell one
// order of the sums from another even in binary16.
SQ_TEST(order_of_the_sums)
{
    static const size_t columns[] = {32, 64, 96, 256, 512, 768};
    struct sq_rng r = {fixture_seed()};
    size_t n_nonzero = 0;
    for (size_t s = 0; s < LEN(columns); s++) {
        const size_t k = columns[s], half_words = k / 2;
        struct owned o = random_matrix(&r, 16, k, 1000000);
        float *x = fixture_exact(k * sizeof *x), y[16];
        memcpy(o.m.dense + half_words, o.m.dense, half_words * sizeof *o.m.dense);
        memset(o.m.outliers.row_offsets, 0, 17 * sizeof(uint32_t));
        for (size_t j = 0; j < k; j++) {
            o.m.in_perm[j] = (uint16_t)j;
            o.x[j] = j < k / 2 ? 4096 * o.x[j] : -o.x[j - k / 2];
        }
        sq_spqr_decode_dense(&o.m, o.plane);
        assert_ok(sq_spqr_load(&o.m, o.x, x, NULL));
        assert_ok(sq_spqr_gemv(&o.m, NULL, o.plane, x, y, NULL));
        check_gemm(&o, x);
        for (size_t i = 0; i < 16; i++) {
            CHECK_EQ(sq_bits_of(y[i]), sq_bits_of(slow_output(&o, i)), "K = %zu row %zu\n", k, i);
            n_nonzero += y[i] != 0;
        }
    }
    assert_true(n_nonzero > 24);
}

SQ_TEST(storage_and_refusals)
{
    struct sq_rng r = {fixture_seed()};
    struct owned o = random_matrix(&r, 64, 172, 100);
    struct sq_error err;
    const size_t n_words = sq_spqr_n_words(64, 172), nnz = o.m.outliers.nnz;
    assert_int_equal(n_words, 64 * 11);
    assert_int_equal(sq_spqr_validate(&o.m, n_words - 1, 65, nnz, o.seen, &err), SQ_ERR_STREAM_LEN);
    o.m.in_perm[3] = o.m.in_perm[4];
    assert_int_equal(sq_spqr_validate(&o.m, n_words, 65, nnz, o.seen, &err), SQ_ERR_INDEX);
    o.m.in_perm[3] = 172;
    assert_int_equal(sq_spqr_validate(&o.m, n_words, 65, nnz, o.seen, &err), SQ_ERR_INDEX);
    uint16_t *in_perm = o.m.in_perm;
    o.m.in_perm = NULL;
    o.m.dense[35] ^= UINT64_C(1) << 62;
    check_refused(sq_spqr_validate(&o.m, n_words, 65, nnz, o.seen, &err), SQ_ERR_PADDING, &err,
                  "tile (0, 2) row 3: word 0x");
    struct sq_spqr_tile t = tile_v11();
    t.second[SQ_SPQR_SS] = 0x7bff; // 65504 * (7 + 1)
    sq_spqr_pack(&t, o.m.dense + 32);
    assert_int_equal(sq_spqr_validate(&o.m, n_words, 65, nnz, o.seen, &err), SQ_ERR_OVERFLOW);
    o.m.k = 40000;
    assert_int_equal(sq_spqr_validate(&o.m, n_words, 65, nnz, o.seen, &err), SQ_ERR_SHAPE);
    o.m.k = 172;
    o.x[9] = 1e6f;
    assert_int_equal(sq_spqr_load(&o.m, o.x, o.plane, &err), SQ_ERR_OVERFLOW);
    o.x[9] = NAN;
    assert_int_equal(sq_spqr_load(&o.m, o.x, o.plane, &err), SQ_ERR_NON_FINITE);
    o.m.in_perm = in_perm;
}
