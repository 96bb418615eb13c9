// SPDX-License-Identifier: Apache-2.0
// Digests (sq_digest.h) and the memos that find by them (sq_memo.h, beside plain lists): known values of XXH3-128, and what a chain must tell apart: every bit of
// its pieces, their order and where they are cut. Exhausted: single bit flips of pieces of all
// lengths that take another way through XXH3 (to 16, 128, 240, beyond).
#include "sim/io/sq_digest.h"
#include "sim/io/sq_memo.h"
#include "tests/unit/fixture.h"

SQ_TEST(known_values)
{
    static const struct {
        const char *text, *want; // as printed by xxhsum -H2 of Debian's xxhash 0.8.1
    } c[] = {
        {"", "99aa06d3014798d86001c324468d497f"},
        {"foobar", "3c9e102628997f44ac87b0b131c6992d"},
    };
    for (size_t i = 0; i < LEN(c); i++) {
        char hex[SQ_DIGEST_SIZE], label[SQ_DIGEST_LABEL_SIZE];
        const struct sq_digest d = sq_digest_of(c[i].text, strlen(c[i].text));
        sq_digest_hex(d, hex);
        assert_string_equal(hex, c[i].want);
        struct sq_digest back;
        assert_true(sq_digest_parse(hex, &back) && sq_digest_is_equal(back, d));
        sq_digest_label(d, label);
        assert_memory_equal(label, "xxh3-128:", 9);
        assert_string_equal(label + 9, c[i].want);
    }
}

SQ_TEST(only_hex_digits_are_parsed)
{
    static const char *const wrong[] = {
        "",
        "3c9e102628997f44ac87b0b131c6992",
        "3c9e102628997f44ac87b0b131c6992d0",
        "3C9E102628997F44AC87B0B131C6992D",
        "3c9e102628997f44 c87b0b131c6992d",
        "-c9e102628997f44ac87b0b131c6992d",
        "3c9e102628997f44ac87b0b131c6992g",
    };
    struct sq_digest d;
    for (size_t i = 0; i < LEN(wrong); i++)
        assert_false(sq_digest_parse(wrong[i], &d));
}

static struct sq_digest chain(const char *a, size_t n_a, const char *b, size_t n_b)
{
    struct sq_digest d = {0};
    sq_digest_add(&d, a, n_a);
    sq_digest_add(&d, b, n_b);
    return d;
}

SQ_TEST(pieces_are_told_apart)
{
    const struct sq_digest d = chain("ab", 2, "c", 1);
    assert_true(sq_digest_is_equal(d, chain("ab", 2, "c", 1)));
    assert_false(sq_digest_is_equal(d, chain("a", 1, "bc", 2)));
    assert_false(sq_digest_is_equal(d, chain("c", 1, "ab", 2)));
    assert_false(sq_digest_is_equal(d, chain("abc", 3, NULL, 0)));
    assert_false(sq_digest_is_equal(d, chain(NULL, 0, "abc", 3)));
    assert_false(sq_digest_is_equal(chain(NULL, 0, NULL, 0), (struct sq_digest){0}));
    assert_false(sq_digest_is_equal((struct sq_digest){1, 0}, (struct sq_digest){1, 1}));
    assert_false(sq_digest_is_equal((struct sq_digest){0, 1}, (struct sq_digest){1, 1}));
}

SQ_TEST(every_bit_counts)
{
    static const size_t length[] = {1, 3, 8, 16, 17, 128, 129, 240, 241, 1024, 1500};
    char text[1500];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 37 + 11);
    for (size_t c = 0; c < LEN(length); c++) {
        const size_t n = length[c];
        struct sq_digest whole = {0};
        sq_digest_add(&whole, text, n);
        for (size_t bit = 0; bit < 8 * n; bit++) {
            struct sq_digest d = {0};
            text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
            sq_digest_add(&d, text, n);
            text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
            assert_false(sq_digest_is_equal(d, whole));
        }
    }
}

// Every key of an odd number is the beginning of others.
SQ_TEST(a_memo_has_what_came_since_it_forgot)
{
    enum { KEYS = 700 };
    struct sq_rng rng = {fixture_seed()};
    struct sq_memo m = {0};
    for (unsigned round = 0; round < 4; round++) {
        uint32_t n[KEYS] = {0}, last;
        for (uint32_t i = 0; i < 2000; i++) {
            const uint32_t k = sq_rng_below(&rng, KEYS), bytes[] = {k | 1, k};
            const size_t size = k % 2 ? 4 : 8;
            const uint32_t found = sq_memo_find(&m, bytes, size);
            assert_int_equal(found > 0, n[k]++ > 0);
            const uint32_t key = sq_memo_add_key(&m, bytes, size);
            assert_true(found == 0 || found == key);
            memcpy(sq_memo_add(&m, key, sizeof i), &i, sizeof i);
        }
        for (uint32_t k = 0; k < KEYS; k++) {
            const uint32_t bytes[] = {k | 1, k};
            last = UINT32_MAX; // the one that was added last comes first
            for (uint32_t e = sq_memo_first(&m, sq_memo_find(&m, bytes, k % 2 ? 4 : 8)); e;
                 e = sq_memo_next(&m, e), n[k]--) {
                assert_true(*(const uint32_t *)sq_memo_entry(&m, e) < last);
                last = *(const uint32_t *)sq_memo_entry(&m, e);
            }
            assert_int_equal(n[k], 0);
        }
        sq_memo_forget(&m);
    }
    sq_memo_free(&m);
}
