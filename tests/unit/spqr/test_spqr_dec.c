// SPDX-License-Identifier: Apache-2.0
// What the decoder of SpQR (sq_spqr_dec) must deliver, and in which cycles. The RTL is held to the same models by
// co-simulation (tests/rtl/units.t).
//
// Exhausted: every single-bit error of a legal tile; every number of words a beat. Sampled: the rest, against the
// format's own model (sq_spqr.h). Directed: V11.
#include "models/number/sq_half.h"
#include "models/spqr/sq_spqr.h"
#include "models/spqr/sq_spqr_dec.h"
#include "tests/unit/block_state.h"
#include "tests/unit/fixture.h"

// The words of V11: codes (r + j) mod 8, a = r mod 8, c = (7 - r) mod 8, halves .5, .25, -1, -2.
static void v11_words(uint64_t word[SQ_SPQR_TILE])
{
    const uint64_t second = UINT64_C(0xc000bc0034003800);
    for (unsigned r = 0; r < SQ_SPQR_TILE; r++) {
        word[r] = (r % 8) | (uint64_t)((7 - r) % 8) << 3 | (second >> (r / 2 * 8) & 0xff) << 54;
        for (unsigned j = 0; j < SQ_SPQR_TILE; j++)
            word[r] |= (uint64_t)((r + j) % 8) << (6 + 3 * j);
    }
}

SQ_TEST(v11)
{
    uint64_t word[SQ_SPQR_TILE];
    struct sq_spqr_tile t;
    v11_words(word);
    assert_true(word[0] == UINT64_C(0x003EB1A23EB1A238));
    assert_true(word[1] == UINT64_C(0x0007D63447D63471));
    assert_true(word[15] == UINT64_C(0x30358D11F58D11C7));
    sq_spqr_dec_tile(word, &t);
    assert_int_equal(t.error, 0);
    for (unsigned r = 0; r < SQ_SPQR_TILE; r++) {
        assert_int_equal(t.scale[r], r % 8);
        assert_int_equal(t.zero[r], (7 - r) % 8);
        for (unsigned j = 0; j < SQ_SPQR_TILE; j++)
            assert_int_equal(t.code[r][j], (r + j) % 8);
    }
    assert_memory_equal(t.second, ((uint16_t[]){0x3800, 0x3400, 0xbc00, 0xc000}), 8);
}

SQ_TEST(every_single_bit_of_a_tile)
{
    uint64_t word[SQ_SPQR_TILE];
    struct sq_spqr_tile good, t;
    v11_words(word);
    sq_spqr_dec_tile(word, &good);
    for (unsigned r = 0; r < SQ_SPQR_TILE; r++)
        for (unsigned bit = 0; bit < 64; bit++) {
            word[r] ^= UINT64_C(1) << bit;
            sq_spqr_dec_tile(word, &t);
            word[r] ^= UINT64_C(1) << bit;
            unsigned want = bit >= 62 ? SQ_SPQR_RESERVED : bit >= 54 ? SQ_SPQR_DUPLICATE : 0;
            if (bit < 62 && !sq_half_is_finite(t.second[r / 4])) // the top bit of -1's exponent
                want |= SQ_SPQR_NON_FINITE;
            CHECK_EQ(t.error, want, "row %u bit %u\n", r, bit);
            // A code bit changes that code, nothing else.
            t.error = 0;
            const bool is_code = bit < 54, is_even_byte = bit >= 54 && bit < 62 && r % 2 == 0;
            CHECK_EQ(memcmp(&t, &good, sizeof t) != 0, is_code || is_even_byte, "row %u bit %u\n",
                     r, bit);
        }
    for (unsigned half = 0; half < 4; half++) { // infinity, in both copies
        for (unsigned r = 4 * half; r < 4 * half + 4; r++)
            word[r] = (word[r] & ~(UINT64_C(0xff) << 54)) | (uint64_t)(r % 4 / 2 ? 0x7c : 0) << 54;
        sq_spqr_dec_tile(word, &t);
        assert_int_equal(t.error, SQ_SPQR_NON_FINITE);
        assert_int_equal(t.second[half], 0x7c00);
        v11_words(word);
    }
}

SQ_TEST(spqr_words_of_the_encoder)
{
    struct sq_rng rng = {fixture_seed()};
    for (unsigned n = 0; n < 1000; n++) {
        struct sq_spqr_tile in = {.error = 0}, out;
        uint64_t word[SQ_SPQR_TILE];
        for (unsigned r = 0; r < SQ_SPQR_TILE; r++) {
            in.scale[r] = (uint8_t)sq_rng_below(&rng, 8);
            in.zero[r] = (uint8_t)sq_rng_below(&rng, 8);
            for (unsigned j = 0; j < SQ_SPQR_TILE; j++)
                in.code[r][j] = (uint8_t)sq_rng_below(&rng, 8);
        }
        for (unsigned i = 0; i < 4; i++)
            in.second[i] = (uint16_t)(sq_rng_next(&rng) & 0xfbff); // finite
        sq_spqr_pack(&in, word);
        sq_spqr_dec_tile(word, &out);
        assert_memory_equal(&in, &out, sizeof in);
    }
}

// SpQR: a beat per cycle, and the first of a tile leaves a cycle after its last one came.
SQ_TEST(spqr_takes_a_beat_per_cycle)
{
    for (unsigned beats = 1; beats <= 16; beats *= 2) {
        const struct sq_offer in[2] = {{.valid = true}};
        void *const s = start(&sq_spqr_dec_block, (unsigned[]){16 / beats}); // words a beat
        for (unsigned cycle = 0; cycle < 100; cycle++) {
            struct sq_handshake out;
            sq_spqr_dec_block.timing->comb(s, in, true, &out);
            assert_true(out.in_ready[0]);
            assert_true(out.out_valid == (cycle >= beats));
            sq_spqr_dec_block.timing->clock(s, in, true);
        }
    }
}
