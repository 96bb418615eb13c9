// SPDX-License-Identifier: Apache-2.0
// sq_spqr_dec: words of SpQR to codes, scales and zeros of a tile.
#include "models/spqr/sq_spqr_dec.h"
#include "sim/block/spqr/sq_spqr_dec.block.h"
#include "sim/block/spqr/sq_spqr_dec_sim.h"

// Second order of finite FP16 values.
static uint64_t draw_second(struct sq_rng *rng, enum sq_stimulus kind)
{
    uint64_t v = sq_rng_next(rng);
    for (unsigned i = 0; i < 64; i += 16)
        if ((v >> i & 0x7c00) == 0x7c00 || kind == SQ_STIMULUS_EXTREME)
            v = (v & ~(UINT64_C(0x7c00) << i)) | UINT64_C(0x7800) << i; // largest exponent
    return v;
}

// One thing wrong with a tile, whichever.
static void spoil_tile(struct sq_rng *rng, uint64_t word[SQ_SPQR_TILE])
{
    const unsigned r = sq_rng_below(rng, SQ_SPQR_TILE), half = sq_rng_below(rng, 4);
    switch (sq_rng_below(rng, 4)) {
    case 0:
        word[r] |= UINT64_C(1) << (62 + sq_rng_below(rng, 2));
        break;
    case 1:
        word[r] ^= UINT64_C(1) << (54 + sq_rng_below(rng, 8));
        break;
    case 2: // the exponent of one FP16: bits 10..14 lie in the upper of its two bytes
        for (unsigned i = 4 * half + 2; i < 4 * half + 4; i++)
            word[i] |= UINT64_C(0x7c) << 54;
        break;
    default: // any bits
        for (unsigned i = 0; i < SQ_SPQR_TILE; i++)
            word[i] = sq_rng_next(rng);
    }
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const uint64_t second = draw_second(rng, kind);
    uint64_t word[SQ_SPQR_TILE];
    (void)number;
    for (unsigned r = 0; r < SQ_SPQR_TILE; r++) {
        uint64_t codes = sq_rng_next(rng);
        if (kind == SQ_STIMULUS_EXTREME || (kind == SQ_STIMULUS_FEW && sq_rng_below(rng, 2)))
            codes = sq_rng_below(rng, 2) ? UINT64_MAX : 0;
        word[r] = (codes & ((UINT64_C(1) << 54) - 1)) | (second >> (r / 2 * 8) & 0xff) << 54;
    }
    if (kind == SQ_STIMULUS_ILLEGAL)
        spoil_tile(rng, word);
    for (unsigned r = 0; r < SQ_SPQR_TILE; r++) {
        *record++ = sq_field_unsigned((uint32_t)word[r], 32);
        *record++ = sq_field_unsigned((uint32_t)(word[r] >> 32), 32);
    }
    len[0] = SQ_SPQR_TILE / v[WORDS];
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const int32_t *const record = in->record;
    const uint32_t *const len = in->len;
    const unsigned words = v[WORDS];
    uint64_t word[SQ_SPQR_TILE];
    struct sq_spqr_tile tile;
    for (unsigned r = 0; r < SQ_SPQR_TILE; r++)
        word[r] = (uint32_t)record[2 * r] | (uint64_t)(uint32_t)record[2 * r + 1] << 32;
    sq_spqr_dec_tile(word, &tile);
    for (unsigned r = 0; r < SQ_SPQR_TILE; r += words) {
        for (unsigned i = 0; i < words * SQ_SPQR_TILE; i++)
            *out++ = tile.code[r + i / SQ_SPQR_TILE][i % SQ_SPQR_TILE];
        for (unsigned i = 0; i < words; i++)
            *out++ = tile.scale[r + i];
        for (unsigned i = 0; i < words; i++)
            *out++ = tile.zero[r + i];
        for (unsigned i = 0; i < 4; i += 2)
            *out++ = sq_field_unsigned(tile.second[i] | (uint32_t)tile.second[i + 1] << 16, 32);
        *out++ = r + words == SQ_SPQR_TILE;
        *out++ = (int32_t)tile.error;
    }
    return len[0];
}

static void init(const unsigned *v, void *state)
{
    *(struct sq_spqr_dec_sim *)state = (struct sq_spqr_dec_sim){.depth = SQ_SPQR_TILE / v[WORDS]};
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct sq_spqr_dec_sim *s = state;
    (void)in;
    out->out_valid = s->is_reading;
    out->in_ready[0] = !s->is_reading || s->write < s->read || (s->write == s->read && out_ready);
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct sq_spqr_dec_sim *s = state;
    struct sq_handshake out;
    comb(s, in, out_ready, &out);
    if (out.out_valid && out_ready) {
        s->read = (s->read + 1) % s->depth;
        s->is_reading = s->read != 0;
    }
    if (in[0].valid && out.in_ready[0]) {
        s->write = (s->write + 1) % s->depth;
        s->is_reading = s->is_reading || s->write == 0;
    }
}

static const struct sq_timing timing = {sizeof(struct sq_spqr_dec_sim), comb, clock};
