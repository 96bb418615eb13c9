// SPDX-License-Identifier: Apache-2.0
// sq_q4k_dec: superblocks of Q4_K to codes, steps and minima.
#include "models/spqt/sq_q4k_dec.h"
#include "sim/block/spqt/sq_q4k_dec.block.h"
#include "sim/block/spqt/sq_q4k_dec_sim.h"

enum { PAIR = 2 * SQ_Q4K_BLOCK_LEN };

static uint16_t draw_half(struct sq_rng *rng, enum sq_stimulus kind)
{
    const uint16_t any = (uint16_t)sq_rng_next(rng);
    if (kind == SQ_STIMULUS_ILLEGAL) // infinite, NaN, negative, by one bit only
        return (uint16_t[]){(any & 0x8000) | 0x7c00, any | 0x7c00, any | 0x8000,
                            (uint16_t)(0x8000u | 1u << any % 15)}[sq_rng_below(rng, 4)];
    if (kind == SQ_STIMULUS_EXTREME)
        return (uint16_t[]){0, 0x8000, 1, 0x7bff}[any & 3];
    if (kind == SQ_STIMULUS_FEW) // subnormal, down to the least
        return (uint16_t)((any & 0x3ff) >> sq_rng_below(rng, 11));
    return (any & 0x7c00) == 0x7c00 ? 0x3c00 : any & 0x7fff;
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    // One of the two factors may be legal where the other is not.
    const enum sq_stimulus second = sq_rng_below(rng, 2) ? kind : SQ_STIMULUS_UNIFORM;
    const uint32_t d = draw_half(rng, kind), min = draw_half(rng, second);
    (void)number;
    record[0] = (int32_t)(sq_rng_below(rng, 2) ? d | min << 16 : min | d << 16);
    for (unsigned i = 1; i < SQ_Q4K_NBYTES / 4; i++) {
        uint32_t word = (uint32_t)sq_rng_next(rng);
        if (kind == SQ_STIMULUS_EXTREME)
            word = sq_rng_below(rng, 2) ? UINT32_MAX : 0;
        if (kind == SQ_STIMULUS_FEW && i < 4) // factors of 0, 1, 63
            word = (uint32_t[]){UINT32_MAX, 0, 0x01010101u}[sq_rng_below(rng, 3)];
        record[i] = (int32_t)word;
    }
    len[0] = SQ_Q4K_NBYTES / v[BYTES];
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const unsigned bytes = v[BYTES];
    uint8_t block[SQ_Q4K_NBYTES];
    struct sq_q4k_dec d;
    for (unsigned i = 0; i < SQ_Q4K_NBYTES; i++)
        block[i] = (uint8_t)((uint32_t)in->record[i / 4] >> (i % 4 * 8));
    sq_q4k_dec(block, &d);
    for (unsigned at = 0; at < SQ_Q4K_LEN / 2; at += bytes) { // byte of the codes
        const unsigned pair = at / SQ_Q4K_BLOCK_LEN, first = pair * PAIR + at % SQ_Q4K_BLOCK_LEN;
        for (unsigned half = 0; half < PAIR; half += SQ_Q4K_BLOCK_LEN)
            for (unsigned i = 0; i < bytes; i++)
                *out++ = d.code[first + half + i];
        for (unsigned i = 0; i < 2; i++)
            *out++ = (int32_t)d.step[2 * pair + i];
        for (unsigned i = 0; i < 2; i++)
            *out++ = (int32_t)d.min[2 * pair + i];
        *out++ = at + bytes == SQ_Q4K_LEN / 2;
        *out++ = d.is_refused;
    }
    return SQ_Q4K_LEN / 2 / bytes;
}

static void init(const unsigned *v, void *state)
{
    *(struct sq_q4k_dec_sim *)state = (struct sq_q4k_dec_sim){.head = SQ_Q4K_HEAD_NBYTES / v[BYTES],
                                                              .beats = SQ_Q4K_NBYTES / v[BYTES]};
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct sq_q4k_dec_sim *s = state;
    (void)in;
    out->out_valid = s->has_out;
    out->in_ready[0] = !s->has_out || out_ready;
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct sq_q4k_dec_sim *s = state;
    if (s->has_out && !out_ready)
        return;
    s->has_out = in[0].valid && s->place >= s->head;
    s->place = (s->place + in[0].valid) % s->beats;
}

static const struct sq_timing timing = {sizeof(struct sq_q4k_dec_sim), comb, clock};
