// SPDX-License-Identifier: Apache-2.0
// The GGUF container. Exhausted: every type of value, every type of tensor, every prefix of a valid
// file, every lie about a count, a length, an offset that the format allows to write down.
#include "sim/io/sq_file.h"
#include "sim/io/sq_gguf.h"
#include "tests/unit/llm/gguf_fixture.h"

TMPDIR_OF_ALL(dir)

static const char *file_of(const struct gguf_bytes *b)
{
    const char *path = tmpdir_path(dir, "x.gguf");
    write_bytes(path, b->at, b->n);
    return path;
}

// Two tensors: a matrix 3 x 32 of Q8_0 and a vector of two floats.
static struct gguf_bytes valid(unsigned version, uint32_t alignment)
{
    struct gguf_bytes b = {0};
    gguf_head(&b, version, 2, 7);
    gguf_u32(&b, "general.alignment", alignment);
    gguf_text(&b, "general.architecture", "llama");
    gguf_f32(&b, "f", 1.5f);
    gguf_array(&b, "words", GGUF_STRING, 3);
    gguf_string(&b, "a");
    gguf_string(&b, "");
    gguf_string(&b, "bcd");
    gguf_array(&b, "numbers", GGUF_I32, 2);
    gguf_number(&b, (uint32_t)-3, 4);
    gguf_number(&b, 9, 4);
    gguf_string(&b, "on");
    gguf_number(&b, GGUF_BOOL, 4);
    gguf_number(&b, 1, 1);
    gguf_array(&b, "none", GGUF_U32, 0);
    gguf_tensor(&b, "v", 2, 0, 0, (102 + alignment - 1) / alignment * alignment);
    gguf_tensor(&b, "m", 32, 3, 8, 0);
    gguf_pad(&b, alignment);
    for (unsigned i = 0; i < 102; i++) // d = 1, codes of 1
        gguf_number(&b, i % 34 == 0 ? 0 : i % 34 == 1 ? 0x3c : 1, 1);
    gguf_pad(&b, alignment);
    gguf_number(&b, sq_bits_of(2.0f), 4);
    gguf_number(&b, sq_bits_of(-1.0f), 4);
    return b;
}

static void check_values(const struct sq_gguf *g)
{
    const struct sq_gguf_value *v = sq_gguf_find(g, "words");
    assert_true(v && v->is_array && v->type == SQ_GGUF_STRING && v->n == 3);
    const uint8_t *at = v->at;
    struct sq_gguf_text text = sq_gguf_next(&at);
    assert_true(text.n == 1 && *text.at == 'a');
    assert_true(sq_gguf_next(&at).n == 0);
    text = sq_gguf_next(&at);
    assert_true(text.n == 3 && memcmp(text.at, "bcd", 3) == 0);
    v = sq_gguf_find(g, "numbers");
    assert_true(v && v->n == 2 && sq_gguf_integer(v, 0) == -3 && sq_gguf_integer(v, 1) == 9);
    assert_null(sq_gguf_json(v));
    assert_int_equal(sq_gguf_find(g, "none")->n, 0);
    assert_null(sq_gguf_find(g, "nothing"));
    json_t *j = sq_gguf_json(sq_gguf_find(g, "f"));
    assert_true(json_is_real(j) && json_real_value(j) == 1.5);
    json_decref(j);
    j = sq_gguf_json(sq_gguf_find(g, "general.architecture"));
    assert_string_equal(json_string_value(j), "llama");
    json_decref(j);
    assert_true(json_is_true(sq_gguf_json(sq_gguf_find(g, "on"))));
}

SQ_TEST(both_versions_every_alignment)
{
    for (unsigned version = 2; version <= 3; version++)
        for (uint32_t alignment = 8; alignment <= 4096; alignment *= 2) {
            struct gguf_bytes b = valid(version, alignment);
            struct sq_gguf g;
            struct sq_error err;
            float m[96], v[2];
            CHECK_EQ(sq_gguf_open(&g, file_of(&b), &err), SQ_OK, "%s\n", err.text);
            assert_true(sq_gguf_is(tmpdir_path(dir, "x.gguf")));
            assert_true(g.version == version && g.alignment == alignment);
            check_values(&g);
            assert_int_equal(g.n_tensors, 2);
            assert_string_equal(g.tensor[0].name, "m");
            assert_true(g.tensor[0].n_dims == 2 && g.tensor[0].dim[0] == 3 &&
                        g.tensor[0].dim[1] == 32 && g.tensor[0].dtype == SQ_Q8_0);
            assert_int_equal(sq_tensor_read_f32(&g.tensor[0], m, NULL), SQ_OK);
            assert_int_equal(sq_tensor_read_f32(&g.tensor[1], v, NULL), SQ_OK);
            for (unsigned i = 0; i < 96; i++)
                assert_true(m[i] == 1.0f);
            assert_true(v[0] == 2.0f && v[1] == -1.0f);
            sq_gguf_forget(&g, &g.tensor[0]);
            assert_int_equal(g.tensor[0].data[1], 0x3c);
            sq_gguf_close(&g);
        }
}

SQ_TEST(every_scalar_type)
{
    static const struct {
        unsigned type, nbytes;
        uint64_t bits;
        const char *want; // as JSON
    } scalar[] = {
        {0, 1, 200, "200"},
        {1, 1, 200, "-56"},
        {2, 2, 40000, "40000"},
        {3, 2, 40000, "-25536"},
        {4, 4, 1u << 31, "2147483648"},
        {5, 4, 1u << 31, "-2147483648"},
        {6, 4, 0x3fc00000, "1.5"},
        {7, 1, 0, "false"},
        {10, 8, 1ull << 40, "1099511627776"},
        {10, 8, 1ull << 63, "9.2233720368547758e18"},
        {11, 8, 1ull << 63, "-9223372036854775808"},
        {12, 8, 0x3ff8000000000000, "1.5"},
        {6, 4, 0x7f800000, NULL}, // infinity
    };
    for (size_t i = 0; i < LEN(scalar); i++) {
        struct gguf_bytes b = {0};
        struct sq_gguf g;
        struct sq_error err;
        gguf_head(&b, 3, 0, 3);
        gguf_string(&b, "x");
        gguf_number(&b, scalar[i].type, 4);
        gguf_number(&b, scalar[i].bits, scalar[i].nbytes);
        gguf_array(&b, "xs", scalar[i].type, 3);
        for (unsigned j = 0; j < 3; j++)
            gguf_number(&b, scalar[i].bits, scalar[i].nbytes);
        gguf_text(&b, "y", "word");
        gguf_pad(&b, 32);
        CHECK_EQ(sq_gguf_open(&g, file_of(&b), &err), SQ_OK, "%s\n", err.text);
        json_t *j = sq_gguf_json(sq_gguf_find(&g, "x"));
        char *text = j ? json_dumps(j, JSON_ENCODE_ANY) : NULL;
        if (scalar[i].want)
            assert_string_equal(text, scalar[i].want);
        else
            assert_null(text);
        free(text);
        json_decref(j);
        struct sq_file_view map; // a copy of all values is the file
        const char *path = tmpdir_path(dir, "copy.gguf");
        assert_int_equal(sq_gguf_write(path, &g, NULL, NULL, 0, NULL), SQ_OK);
        assert_true(sq_file_map(path, &map, NULL) == SQ_OK && map.nbytes == b.n);
        assert_memory_equal(map.data, b.at, b.n);
        sq_file_unmap(&map);
        sq_gguf_close(&g);
    }
}

// ---- lies -----------------------------------------------------------------------------------

static void refused(struct gguf_bytes *b, enum sq_status want, const char *part)
{
    struct sq_gguf g;
    struct sq_error err = {0};
    CHECK_EQ(sq_gguf_open(&g, file_of(b), &err), want, "%s; want %s\n", err.text, part);
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
    assert_null(g.tensor);
    sq_gguf_close(&g);
    *b = (struct gguf_bytes){0};
}

SQ_TEST(heads_that_lie)
{
    struct gguf_bytes b = {0};
    gguf_raw(&b, "GGUX", 4);
    refused(&b, SQ_ERR_DAMAGED, "does not begin with GGUF");
    static const struct {
        unsigned version;
        const char *part;
    } version[] = {{1, "version = 1, need 2 or 3"},
                   {4, "version = 4, need 2 or 3"},
                   {3u << 24, "big-endian"},
                   {2u << 24, "big-endian"}};
    for (size_t i = 0; i < LEN(version); i++) {
        gguf_head(&b, version[i].version, 0, 0);
        refused(&b, SQ_ERR_UNSUPPORTED, version[i].part);
    }
    gguf_head(&b, 3, 0, UINT64_MAX);
    refused(&b, SQ_ERR_DAMAGED, "18446744073709551615 metadata keys");
    gguf_head(&b, 3, 1ull << 60, 0);
    refused(&b, SQ_ERR_DAMAGED, "1152921504606846976 tensors");
}

// The head, then what `put` adds as its only metadata.
static struct gguf_bytes one_value(void)
{
    struct gguf_bytes b = {0};
    gguf_head(&b, 3, 0, 1);
    return b;
}

SQ_TEST(values_that_lie)
{
    static const char zeros[64];
    struct gguf_bytes b = one_value();
    gguf_number(&b, UINT64_MAX, 8); // length of the key
    gguf_raw(&b, zeros, 40);
    refused(&b, SQ_ERR_DAMAGED, "a string of 18446744073709551615 bytes");
    b = one_value();
    gguf_string(&b, "");
    gguf_raw(&b, zeros, 40);
    refused(&b, SQ_ERR_DAMAGED, "a metadata key of 0 bytes");
    b = one_value();
    gguf_u32(&b, "a\033[31m", 1);
    refused(&b, SQ_ERR_DAMAGED, "outside printable ASCII");
    b = one_value();
    gguf_string(&b, "x");
    gguf_number(&b, 13, 4);
    gguf_raw(&b, zeros, 40);
    refused(&b, SQ_ERR_DAMAGED, "type of 'x' = 13, need 0..12");
    b = one_value();
    gguf_array(&b, "x", GGUF_ARRAY, 1);
    gguf_raw(&b, zeros, 40);
    refused(&b, SQ_ERR_UNSUPPORTED, "array of arrays");
    const unsigned types[] = {GGUF_U32, GGUF_STRING, GGUF_BOOL};
    for (size_t i = 0; i < LEN(types); i++)
        for (unsigned shift = 3; shift < 64; shift += 10) {
            b = one_value();
            gguf_array(&b, "x", types[i], 1ull << shift);
            refused(&b, SQ_ERR_DAMAGED, "elements in 0 bytes, the file is truncated");
        }
    b = one_value();
    gguf_array(&b, "x", GGUF_STRING, 2);
    gguf_string(&b, "abcdefgh");
    refused(&b, SQ_ERR_DAMAGED, "truncated");
    gguf_head(&b, 3, 0, 2);
    gguf_u32(&b, "x", 1);
    gguf_u32(&b, "x", 2);
    refused(&b, SQ_ERR_DAMAGED, "duplicate metadata key 'x'");
    const uint32_t alignment[] = {0, 3, 48, 1u << 17, UINT32_MAX};
    for (size_t i = 0; i < LEN(alignment); i++) {
        b = one_value();
        gguf_u32(&b, "general.alignment", alignment[i]);
        refused(&b, SQ_ERR_DAMAGED, "need a power of two, 1..65536");
    }
    b = one_value();
    gguf_text(&b, "general.alignment", "32");
    refused(&b, SQ_ERR_DAMAGED, "need a power of two");
}

// One tensor of 4 x 32, Q8_0 (136 bytes), at `offset`, with n bytes of data.
static struct gguf_bytes one_tensor(const char *name, uint64_t k, uint64_t n, unsigned type,
                                    uint64_t offset, size_t n_data)
{
    struct gguf_bytes b = {0};
    gguf_head(&b, 3, 1, 0);
    gguf_tensor(&b, name, k, n, type, offset);
    gguf_pad(&b, 32);
    for (size_t i = 0; i < n_data; i++)
        gguf_number(&b, 0, 1);
    return b;
}

SQ_TEST(tensors_that_lie)
{
    static const struct {
        const char *name;
        uint64_t k, n;
        unsigned type;
        uint64_t offset;
        size_t n_data;
        enum sq_status status;
        const char *part;
    } lie[] = {
        {"t", 32, 4, 8, 0, 135, SQ_ERR_DAMAGED, "truncated"},
        {"t", 32, 4, 8, 32, 136, SQ_ERR_DAMAGED, "truncated"},
        {"t", 32, 4, 8, 32, 168, SQ_ERR_DAMAGED, "leaving a hole after 0"},
        {"t", 32, 4, 8, 8, 144, SQ_ERR_DAMAGED, "need a multiple of 32"},
        {"t", 32, 4, 8, UINT64_MAX - 31, 136, SQ_ERR_DAMAGED, "truncated"},
        {"t", 33, 4, 8, 0, 400, SQ_ERR_DAMAGED, "Q8_0 needs a multiple of 32"},
        {"t", 128, 4, 12, 0, 4000, SQ_ERR_DAMAGED, "Q4_K needs a multiple of 256"},
        {"t", 1ull << 33, 1ull << 33, 0, 0, 400, SQ_ERR_DAMAGED, "overflows"},
        {"t", 1ull << 62, 1, 0, 0, 400, SQ_ERR_DAMAGED, "overflows"},
        {"t", 32, 4, 15, 0, 400, SQ_ERR_UNSUPPORTED, "type of tensor 't' = 15 Q8_K, need F32"},
        {"t", 32, 4, 999, 0, 400, SQ_ERR_UNSUPPORTED, "type of tensor 't' = 999, need F32"},
        {"", 32, 4, 8, 0, 136, SQ_ERR_DAMAGED, "a tensor name of 0 bytes"},
        {"a\nb", 32, 4, 8, 0, 136, SQ_ERR_DAMAGED, "outside printable ASCII"},
        {"\xc3\xa4", 32, 4, 8, 0, 136, SQ_ERR_DAMAGED, "outside printable ASCII"},
    };
    for (size_t i = 0; i < LEN(lie); i++) {
        struct gguf_bytes b =
            one_tensor(lie[i].name, lie[i].k, lie[i].n, lie[i].type, lie[i].offset, lie[i].n_data);
        refused(&b, lie[i].status, lie[i].part);
    }
    struct gguf_bytes b = {0};
    gguf_head(&b, 3, 1, 0);
    gguf_string(&b, "t");
    gguf_number(&b, 5, 4); // dimensions
    for (unsigned i = 0; i < 60; i++)
        gguf_number(&b, 0, 1);
    refused(&b, SQ_ERR_DAMAGED, "has 5 dimensions, need 0..4");
}

// Two tensors of 136 bytes, the second at `offset`.
static struct gguf_bytes two_tensors(const char *second, uint64_t offset)
{
    struct gguf_bytes b = {0};
    gguf_head(&b, 3, 2, 0);
    gguf_tensor(&b, "t", 32, 4, 8, 0);
    gguf_tensor(&b, second, 32, 4, 8, offset);
    gguf_pad(&b, 32);
    for (size_t i = 0; i < 400; i++)
        gguf_number(&b, 0, 1);
    return b;
}

SQ_TEST(tensors_beside_each_other)
{
    struct sq_gguf g;
    struct gguf_bytes b = two_tensors("u", 160);
    assert_int_equal(sq_gguf_open(&g, file_of(&b), NULL), SQ_OK);
    sq_gguf_close(&g);
    b = two_tensors("u", 128);
    refused(&b, SQ_ERR_DAMAGED, "tensor 'u' starts at byte 128 of the data, overlapping");
    b = two_tensors("u", 0);
    refused(&b, SQ_ERR_DAMAGED, "overlapping");
    b = two_tensors("u", 192);
    refused(&b, SQ_ERR_DAMAGED, "leaving a hole after 160");
    b = two_tensors("t", 160);
    refused(&b, SQ_ERR_DAMAGED, "duplicate tensor 't'");
}

SQ_TEST(every_prefix_is_refused)
{
    struct gguf_bytes b = valid(3, 32);
    for (size_t n = 0; n < b.n; n++) {
        struct sq_gguf g;
        write_bytes(tmpdir_path(dir, "cut"), b.at, n);
        const enum sq_status status = sq_gguf_open(&g, tmpdir_path(dir, "cut"), NULL);
        CHECK_EQ(status, SQ_ERR_DAMAGED, "%zu of %zu bytes\n", n, b.n);
    }
    assert_false(sq_gguf_is(tmpdir_path(dir, "none")) || sq_gguf_is(dir));
}
