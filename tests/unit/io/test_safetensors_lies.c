// SPDX-License-Identifier: Apache-2.0
// Safetensors files that lie (SPEC O.2-13).
//
// State space: any byte string is a candidate file. Exhausted: every refusal the reader can give
// (one crafted header each), every length of a truncated file. Sampled: 20,000 mutations of valid
// headers (SQ_SEED); each is refused, or passes a second, independent check of every claim. Buffers
// have the exact length, so that the sanitizer build sees any read outside.
#include "sim/io/sq_safetensors.h"
#include "tests/unit/tmpdir.h"

// ---- refusals -------------------------------------------------------------------------------

// A file in memory of exact length: header text and n_data bytes behind it.
static uint8_t *make_file(const char *header, size_t n_header, size_t n_data, size_t *nbytes)
{
    *nbytes = 8 + n_header + n_data;
    uint8_t *bytes = fixture_exact(*nbytes);
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)n_header >> 8 * i);
    memcpy(bytes + 8, header, n_header);
    return bytes;
}

#define T(dtype, shape, begin, end)                                                                \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

static const struct {
    const char *header;
    size_t n_data;
    enum sq_status status;
    const char *part;
} lies[] = {
    {"{\"a\":" T("F32", "[2]", 0, 8) "}", 7, SQ_ERR_DAMAGED, "truncated"},
    {"{\"a\":" T("F32", "[2]", 0, 8) "}", 9, SQ_ERR_DAMAGED, "9 bytes of data"},
    {"{\"a\":" T("F32", "[2]", 0, 4) "}", 4, SQ_ERR_DAMAGED, "its shape needs 8"},
    {"{\"a\":" T("F16", "[2]", 0, 8) "}", 8, SQ_ERR_DAMAGED, "its shape needs 4"},
    {"{\"a\":" T("U8", "[4]", 0, 4) ",\"b\":" T("U8", "[4]", 2, 6) "}", 6, SQ_ERR_DAMAGED,
     "overlapping"},
    {"{\"a\":" T("U8", "[4]", 0, 4) ",\"b\":" T("U8", "[4]", 0, 4) "}", 4, SQ_ERR_DAMAGED,
     "overlapping"},
    {"{\"a\":" T("U8", "[4]", 0, 4) ",\"b\":" T("U8", "[4]", 5, 9) "}", 9, SQ_ERR_DAMAGED, "hole"},
    {"{\"a\":" T("U8", "[4]", 1, 5) "}", 5, SQ_ERR_DAMAGED, "hole"},
    {"{\"a\":" T("U8", "[4]", 4, 0) "}", 4, SQ_ERR_DAMAGED, "ascending pair"},
    {"{\"a\":" T("U8", "[4]", -4, 0) "}", 4, SQ_ERR_DAMAGED, "ascending pair"},
    {"{\"a\":" T("U8", "[4]", 0.0, 4) "}", 4, SQ_ERR_DAMAGED, "ascending pair"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4,4]}}", 4, SQ_ERR_DAMAGED,
     "ascending pair"},
    {"{\"a\":" T("U8", "[4294967296,4294967296]", 0, 0) "}", 0, SQ_ERR_DAMAGED, "overflows"},
    {"{\"a\":" T("U8", "[3037000500,3037000500]", 0, 0) "}", 0, SQ_ERR_DAMAGED, "overflows"},
    {"{\"a\":" T("I64", "[1152921504606846976]", 0, 0) "}", 0, SQ_ERR_DAMAGED, "overflows"},
    {"{\"a\":" T("U8", "[9223372036854775807,2,0]", 0, 0) "}", 0, SQ_ERR_DAMAGED, "overflows"},
    {"{\"a\":" T("U8", "[9223372036854775808]", 0, 0) "}", 0, SQ_ERR_DAMAGED, "bad JSON"},
    {"{\"a\":" T("U8", "[1e999]", 0, 0) "}", 0, SQ_ERR_DAMAGED, "bad JSON"},
    {"{\"a\":" T("U8", "[-1]", 0, 1) "}", 1, SQ_ERR_DAMAGED, "no integer >= 0"},
    {"{\"a\":" T("U8", "[1.0]", 0, 1) "}", 1, SQ_ERR_DAMAGED, "no integer >= 0"},
    {"{\"a\":" T("U8", "[\"1\"]", 0, 1) "}", 1, SQ_ERR_DAMAGED, "no integer >= 0"},
    {"{\"a\":" T("U8", "1", 0, 1) "}", 1, SQ_ERR_DAMAGED, "no shape"},
    {"{\"a\":" T("U8", "[1,1,1,1,1,1,1,1,1]", 0, 1) "}", 1, SQ_ERR_UNSUPPORTED, "9 dimensions"},
    {"{\"a\":" T("F64", "[1]", 0, 8) "}", 8, SQ_ERR_UNSUPPORTED, "'F64', need F32"},
    {"{\"a\":" T("f32", "[1]", 0, 4) "}", 4, SQ_ERR_UNSUPPORTED, "'f32', need F32"},
    {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, SQ_ERR_DAMAGED, "no dtype"},
    {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, SQ_ERR_DAMAGED, "no shape"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, SQ_ERR_DAMAGED, "ascending pair"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1}}", 1, SQ_ERR_DAMAGED,
     "fields beside"},
    {"{\"a\":7}", 0, SQ_ERR_DAMAGED, "no object"},
    {"{\"a\":" T("U8", "[1]", 0, 1) ",\"a\":" T("U8", "[1]", 0, 1) "}", 1, SQ_ERR_DAMAGED,
     "duplicate"},
    {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
     SQ_ERR_DAMAGED, "duplicate"},
    {"{\"a\\n\":" T("U8", "[1]", 0, 1) "}", 1, SQ_ERR_DAMAGED, "control character"},
    {"{\"a\\u0000\":" T("U8", "[1]", 0, 1) "}", 1, SQ_ERR_DAMAGED, "bad JSON"},
    {"{\"\xff\":" T("U8", "[1]", 0, 1) "}", 1, SQ_ERR_DAMAGED, "bad JSON"},
    {"{\"__metadata__\":{\"a\":1}}", 0, SQ_ERR_DAMAGED, "no string"},
    {"{\"__metadata__\":{\"a\":{\"b\":\"c\"}}}", 0, SQ_ERR_DAMAGED, "no string"},
    {"{\"__metadata__\":\"a\"}", 0, SQ_ERR_DAMAGED, "no object"},
    {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, SQ_ERR_DAMAGED, "duplicate"},
    {"{} {}", 0, SQ_ERR_DAMAGED, "bad JSON"},
    {"{", 0, SQ_ERR_DAMAGED, "bad JSON"},
    {" {}", 0, SQ_ERR_DAMAGED, "start with '{'"},
    {"[]", 0, SQ_ERR_DAMAGED, "start with '{'"},
    {"", 3, SQ_ERR_DAMAGED, "start with '{'"},
};

SQ_TEST(every_lie_is_refused)
{
    for (size_t i = 0; i < LEN(lies); i++) {
        size_t n;
        uint8_t *bytes = make_file(lies[i].header, strlen(lies[i].header), lies[i].n_data, &n);
        struct sq_safetensors st;
        struct sq_error err = {.text = ""};
        check_refused(sq_safetensors_open_memory(&st, bytes, n, "f", &err), lies[i].status, &err,
                      lies[i].part);
        assert_null(st.tensor);
    }
}

SQ_TEST(nesting_is_bounded)
{
    enum { DEPTH = 100000 };
    char *header = fixture_exact(DEPTH);
    memset(header, '[', DEPTH);
    memcpy(header, "{\"a\":", 5);
    size_t n;
    uint8_t *bytes = make_file(header, DEPTH, 0, &n);
    struct sq_safetensors st;
    struct sq_error err;
    check_refused(sq_safetensors_open_memory(&st, bytes, n, "f", &err), SQ_ERR_DAMAGED, &err,
                  "nests deeper than 16");
}

SQ_TEST(header_length_lies)
{
    static const uint64_t length[] = {3,         1000,       100000001,     UINT64_C(1) << 32,
                                      INT64_MAX, UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < LEN(length); i++) {
        size_t n;
        uint8_t *bytes = make_file("{}", 2, 0, &n);
        memcpy(bytes, &length[i], 8);
        struct sq_safetensors st;
        struct sq_error err;
        check_refused(sq_safetensors_open_memory(&st, bytes, n, "f", &err), SQ_ERR_DAMAGED, &err,
                      "in a file of 10");
    }
}

// Every proper prefix of a good file is refused.
SQ_TEST(every_truncation)
{
    static const char header[] = "{\"a\":" T("F32", "[2]", 0, 8) ",\"b\":" T("I8", "[1]", 8, 9) "}";
    size_t n;
    uint8_t *whole = make_file(header, sizeof header - 1, 9, &n);
    for (size_t cut = 0; cut <= n; cut++) {
        uint8_t *bytes = fixture_exact(cut);
        memcpy(bytes, whole, cut);
        struct sq_safetensors st;
        enum sq_status status = sq_safetensors_open_memory(&st, bytes, cut, "f", NULL);
        assert_int_equal(status, cut == n ? SQ_OK : SQ_ERR_DAMAGED);
        sq_safetensors_close(&st);
    }
}

// ---- mutation fuzz --------------------------------------------------------------------------

static const char *const good_headers[] = {
    "{\"__metadata__\":{\"k\":\"v\"},\"a\":" T("F32", "[2,3]", 0, 24) ",\"b\":" T("U8", "[8]", 24,
                                                                                  32) "}",
    "{\"a\":" T("I64", "[1]", 0, 8) ",\"b\":" T("F16", "[4]", 8, 16) ",\"c\":" T("BF16", "[2,4]",
                                                                                 16, 32) "}  ",
    "{\"e\":" T("I32", "[0,7]", 0, 0) ",\"a\":" T("I8", "[32]", 0, 32) "}",
};

static size_t mutate(struct sq_rng *r, char *text, size_t n, size_t cap)
{
    static const char alphabet[] = "{}[]\",:0123456789-+.eEnutfalsFIUB\\ \x01\x7f\x80\xff";
    uint32_t at = sq_rng_below(r, (uint32_t)n), len = 1 + sq_rng_below(r, 12);
    switch (sq_rng_below(r, 5)) {
    case 0: // another letter
        text[at] = alphabet[sq_rng_below(r, sizeof alphabet - 1)];
        return n;
    case 1: // another digit where there is one
        for (size_t i = at; i < n; i++)
            if (text[i] >= '0' && text[i] <= '9') {
                text[i] = (char)('0' + sq_rng_below(r, 10));
                break;
            }
        return n;
    case 2: // cut a piece
        if (at + len >= n)
            return n;
        memmove(text + at, text + at + len, n - at - len);
        return n - len;
    case 3: // repeat a piece
        if (at + len >= n || n + len > cap)
            return n;
        memmove(text + at + len, text + at, n - at);
        return n + len;
    default: // one letter more
        if (n + 1 > cap)
            return n;
        memmove(text + at + 1, text + at, n - at);
        text[at] = alphabet[sq_rng_below(r, sizeof alphabet - 1)];
        return n + 1;
    }
}

// What an accepted file claims, checked without the reader's own sums.
static void judge(const struct sq_safetensors *st, const uint8_t *bytes, size_t nbytes)
{
    uint8_t *seen = fixture_zeros(1, nbytes + 1);
    uint64_t header = 0;
    memcpy(&header, bytes, 8);
    for (size_t i = 0; i < st->n_tensors; i++) {
        const struct sq_tensor *t = &st->tensor[i];
        long double size = (long double)sq_dtype_nbytes(t->dtype);
        for (unsigned j = 0; j < t->n_dims; j++)
            size *= (long double)t->dim[j];
        assert_true(size == (long double)t->nbytes && t->nbytes <= nbytes);
        assert_true(t->data >= bytes + 8 + header && t->data + t->nbytes <= bytes + nbytes);
        for (size_t j = 0; j < t->nbytes; j++)
            assert_int_equal(seen[t->data - bytes + (ptrdiff_t)j]++, 0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(t->name, st->tensor[j].name);
        assert_ptr_equal(sq_safetensors_find(st, t->name), t);
    }
    for (size_t i = 8 + header; i < nbytes; i++)
        assert_int_equal(seen[i], 1);
}

SQ_TEST(mutated_headers)
{
    enum { CASES = 20000, CAP = 512, DATA = 32 };
    unsigned accepted = 0;
    for (uint32_t i = 0; i < CASES; i++) {
        struct sq_rng r = {fixture_seed() * 1000003 + i};
        const char *good = good_headers[i % LEN(good_headers)];
        char text[CAP];
        size_t n = strlen(good), nbytes;
        memcpy(text, good, n);
        for (uint32_t m = sq_rng_below(&r, 4); m-- > 0 && n > 1;)
            n = mutate(&r, text, n, CAP);
        uint8_t *bytes = make_file(text, n, DATA, &nbytes);
        if (sq_rng_below(&r, 8) == 0)
            bytes[sq_rng_below(&r, 8)] ^= (uint8_t)(1u << sq_rng_below(&r, 8));
        struct sq_safetensors st;
        struct sq_error err = {.text = ""};
        if (sq_safetensors_open_memory(&st, bytes, nbytes, "f", &err) == SQ_OK) {
            accepted++;
            judge(&st, bytes, nbytes);
        } else {
            assert_true(err.text[0] != '\0' && !strpbrk(err.text, "\n\r\x01"));
        }
        sq_safetensors_close(&st);
    }
    print_message("# %u of %d mutated files accepted and judged, seed %llu\n", accepted, CASES,
                  (unsigned long long)fixture_seed());
    assert_in_range(accepted, CASES / 10, CASES * 9 / 10); // both sides of the fence are visited
}
