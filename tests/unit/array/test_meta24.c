// SPDX-License-Identifier: Apache-2.0
// 2:4 metadata (SPEC E.1-E.3). Exhausted: all 16 nibbles, and every group of four values out of
// {-128, -1, 0, 1, 127} (625), judged by the rules written down once more here. Directed: V6, the
// refusals of section M.
#include "models/array/sq_meta24.h"
#include "tests/unit/fixture.h"

SQ_TEST(six_legal_and_ten_illegal_nibbles)
{
    static const int pair[6][3] = {{0x4, 0, 1}, {0x8, 0, 2}, {0xc, 0, 3},
                                   {0x9, 1, 2}, {0xd, 1, 3}, {0xe, 2, 3}};
    const int8_t act[4] = {11, -22, 33, -44};
    unsigned n_legal = 0;
    for (unsigned nibble = 0; nibble < 16; nibble++) {
        const int *want = NULL;
        for (size_t i = 0; i < 6; i++)
            if (pair[i][0] == (int)nibble)
                want = pair[i];
        unsigned i0 = 9, i1 = 9;
        int8_t taken[2] = {1, 1};
        CHECK_EQ(sq_meta24_decode(nibble, &i0, &i1), want != NULL, "nibble %x\n", nibble);
        CHECK_EQ(sq_meta24_select(nibble, act, taken), want != NULL, "nibble %x\n", nibble);
        CHECK_EQ(i0, want ? want[1] : 9, "nibble %x\n", nibble);
        CHECK_EQ(i1, want ? want[2] : 9, "nibble %x\n", nibble);
        CHECK_EQ(taken[0], want ? act[want[1]] : 0, "nibble %x\n", nibble);
        CHECK_EQ(taken[1], want ? act[want[2]] : 0, "nibble %x\n", nibble);
        n_legal += want != NULL;
    }
    assert_int_equal(n_legal, 6);
}

SQ_TEST(every_group)
{
    static const int8_t values[5] = {-128, -1, 0, 1, 127};
    for (unsigned n = 0; n < 625; n++) {
        const int8_t w[4] = {values[n % 5], values[n / 5 % 5], values[n / 25 % 5], values[n / 125]};
        int8_t value[2], back[4] = {0};
        uint8_t nibble;
        struct sq_error err;
        unsigned n_nonzero = 0, i0, i1, only = 0;
        for (unsigned i = 0; i < 4; i++) {
            n_nonzero += w[i] != 0;
            only = w[i] != 0 ? i : only;
        }
        const enum sq_status status = sq_meta24_encode(w, 4, value, &nibble, &err);
        CHECK_EQ(status, n_nonzero > 2 ? SQ_ERR_MASK_COUNT : SQ_OK, "group %u\n", n);
        if (status != SQ_OK)
            continue;
        assert_true(sq_meta24_decode(nibble, &i0, &i1));
        back[i0] = value[0];
        back[i1] = value[1];
        assert_memory_equal(back, w, 4);
        if (n_nonzero < 2) { // canonical
            CHECK_EQ(i0, 0, "group %u\n", n);
            CHECK_EQ(i1, n_nonzero == 1 && only > 0 ? only : 1, "group %u\n", n);
        }
    }
}

SQ_TEST(v6_and_refusals)
{
    const int8_t row[16] = {0, 5, 0, -3, 7, 0, 0, 9, 0, 0, 0, 4, 0, 0, 0, 0};
    int8_t value[8];
    uint8_t nibble[4];
    uint16_t word;
    struct sq_error err;
    assert_ok(sq_meta24_encode(row, 16, value, nibble, &err));
    assert_memory_equal(value, ((int8_t[]){5, -3, 7, 9, 0, 4, 0, 0}), 8);
    sq_meta24_words(nibble, 16, &word);
    assert_int_equal(word, 0x4ccd);
    assert_int_equal(sq_meta24_encode((int8_t[]){1, 2, 3, 0}, 4, value, nibble, &err),
                     SQ_ERR_MASK_COUNT);
    assert_int_equal(sq_meta24_encode(row, 6, value, nibble, &err), SQ_ERR_SHAPE);
}
