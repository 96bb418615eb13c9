// SPDX-License-Identifier: Apache-2.0
// ggml's block formats (models/number/sq_ggml.h) through sq_tensor_read_f32. Sampled: 64 blocks of every
// type with free bits, whose binary16 scales are kept below 2; their values have the digest
// that those of the Python package gguf (0.19, numpy) have. Exhausted: every dtype's sizes.
// tests/llm/gguf.t compares with the package itself where that is installed.
#include "sim/io/sq_tensor.h"
#include "tests/unit/fixture.h"

enum { N_BLOCKS = 64, MAX_NBYTES = 210, MAX_LENGTH = 256 };
#define NO_HALF SIZE_MAX // byte 0 is the upper one of it: a scale of another kind

static const struct {
    enum sq_dtype dtype;
    size_t half[2]; // byte of the binary16 scales
    size_t nbytes;
    uint64_t digest; // FNV-1a of the little-endian bytes of all values
} vector[] = {
    {SQ_Q8_0, {0, 0}, 34, UINT64_C(0xae2ed2108bd6b4c0)},
    {SQ_Q4_0, {0, 0}, 18, UINT64_C(0x87689494020ecf55)},
    {SQ_Q4_1, {0, 2}, 20, UINT64_C(0x8438a355275722c5)},
    {SQ_Q5_0, {0, 0}, 22, UINT64_C(0x77736719434f8494)},
    {SQ_Q5_1, {0, 2}, 24, UINT64_C(0x5e522df25dad052b)},
    {SQ_Q4_K, {0, 2}, 144, UINT64_C(0x9173a4b8760ed3e2)},
    {SQ_Q5_K, {0, 2}, 176, UINT64_C(0xdd8d70c07ffccc18)},
    {SQ_Q6_K, {208, 208}, 210, UINT64_C(0x8dca1d2cc8bfadc8)},
    {SQ_Q2_K, {80, 82}, 84, UINT64_C(0x6765369c92f01f06)},
    {SQ_Q3_K, {108, 108}, 110, UINT64_C(0x6f1db29366cade16)},
    {SQ_TQ1_0, {52, 52}, 54, UINT64_C(0x6992a3361b2be479)},
    {SQ_TQ2_0, {64, 64}, 66, UINT64_C(0x10f1613faec72bc)},
    {SQ_IQ4_NL, {0, 0}, 18, UINT64_C(0x19f37ad79e2c1fd2)},
    {SQ_IQ4_XS, {0, 0}, 136, UINT64_C(0x68c104c73af9e9c6)},
    {SQ_MXFP4, {NO_HALF, NO_HALF}, 17, UINT64_C(0x65f931b4eb88981a)}, // an exponent below 192
    {SQ_NVFP4, {NO_HALF, NO_HALF}, 36, UINT64_C(0x3f7f2b60fd9a947c)},
};

static void fill(uint8_t *out, size_t nbytes, const size_t half[2])
{
    uint64_t x = 1;
    for (size_t b = 0; b < N_BLOCKS; b++, out += nbytes) {
        for (size_t i = 0; i < nbytes; i++) {
            x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            out[i] = (uint8_t)(x >> 56);
        }
        for (size_t i = 0; i < 2; i++)
            out[half[i] + 1] &= 0xbf;
    }
}

static uint64_t digest_of(const float *v, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++)
        for (unsigned byte = 0; byte < 4; byte++)
            h = (h ^ (sq_bits_of(v[i]) >> 8 * byte & 255)) * UINT64_C(0x100000001b3);
    return h;
}

SQ_TEST(blocks_have_the_values_of_ggml)
{
    assert_int_equal(LEN(vector), SQ_DTYPE_END - SQ_DTYPE_COUNT);
    uint8_t *bytes = fixture_alloc(N_BLOCKS * MAX_NBYTES);
    float *v = fixture_alloc(N_BLOCKS * MAX_LENGTH * sizeof *v);
    for (size_t i = 0; i < LEN(vector); i++) {
        const enum sq_dtype dtype = vector[i].dtype;
        const size_t n = N_BLOCKS * sq_dtype_block_length(dtype);
        struct sq_tensor t = {
            .name = "t", .dtype = dtype, .n_dims = 2, .dim = {4, n / 4}, .data = bytes};
        fill(bytes, vector[i].nbytes, vector[i].half);
        assert_ok(sq_tensor_derive("f", &t, NULL));
        CHECK_EQ(t.nbytes, N_BLOCKS * vector[i].nbytes, "%s\n", sq_dtype_name(dtype));
        assert_ok(sq_tensor_read_f32(&t, v, NULL));
        CHECK_EQ(digest_of(v, n), vector[i].digest, "%s\n", sq_dtype_name(dtype));
        const struct sq_tensor last = sq_tensor_rows(&t, 3, 1); // a row by itself
        float *row = fixture_alloc(n / 4 * sizeof *row);
        assert_ok(sq_tensor_read_f32(&last, row, NULL));
        assert_memory_equal(row, v + 3 * n / 4, n / 4 * sizeof *row);
    }
}

SQ_TEST(infinite_scales_are_refused)
{
    uint8_t block[MAX_NBYTES];
    float v[MAX_LENGTH];
    for (size_t i = 0; i < LEN(vector); i++) {
        struct sq_tensor t = {.name = "t",
                              .dtype = vector[i].dtype,
                              .n_dims = 1,
                              .dim = {sq_dtype_block_length(vector[i].dtype)},
                              .data = block};
        if (vector[i].half[0] == NO_HALF)
            continue;
        memset(block, 1, sizeof block);
        block[vector[i].half[0] + 1] = 0x7c;
        assert_ok(sq_tensor_derive("f", &t, NULL));
        assert_int_equal(sq_tensor_read_f32(&t, v, NULL), SQ_ERR_NON_FINITE);
    }
}

SQ_TEST(rows_are_whole_blocks)
{
    struct sq_error err;
    struct sq_tensor t = {.name = "t", .dtype = SQ_Q4_K, .n_dims = 2, .dim = {256, 32}};
    check_refused(sq_tensor_derive("f", &t, &err), SQ_ERR_DAMAGED, &err,
                  "has 32 elements, Q4_K needs a multiple of 256");
    t.n_dims = 0;
    assert_int_equal(sq_tensor_derive("f", &t, &err), SQ_ERR_DAMAGED);
    t = (struct sq_tensor){
        .name = "t", .dtype = SQ_Q8_0, .n_dims = 2, .dim = {1ull << 33, 1ull << 33}};
    check_refused(sq_tensor_derive("f", &t, &err), SQ_ERR_DAMAGED, &err, "overflows");
    assert_string_equal(sq_dtype_name(SQ_DTYPE_END), "?");
    assert_int_equal(sq_dtype_nbytes(SQ_DTYPE_END), 0);
}
