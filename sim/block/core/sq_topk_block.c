// SPDX-License-Identifier: Apache-2.0
// sq_topk: the mask of the k largest magnitudes of a bank.
#include "models/core/sq_topk.h"
#include "sim/block/core/sq_topk.block.h"

static void draw_beat(const unsigned *value, struct sq_rng *rng, enum sq_stimulus kind,
                      uint64_t number, int32_t *beat)
{
    const unsigned bits = value[MAG_W], max = (1u << bits) - 1;
    const int32_t few[3] = {0, sq_draw_bits(rng, bits, true), (int32_t)max};
    const unsigned flips = sq_rng_below(rng, 3), bit = sq_rng_below(rng, bits);
    for (unsigned i = 0; i < value[BANK_LEN]; i++) {
        if (kind == SQ_STIMULUS_ALL)
            beat[i] = (int32_t)(number >> (i * bits) & max);
        else if (kind == SQ_STIMULUS_FEW)
            beat[i] = few[sq_rng_below(rng, 3)];
        else if (kind == SQ_STIMULUS_EXTREME && (flips == 0 || sq_rng_below(rng, 4) > 0))
            beat[i] = few[1]; // all equal, or some but for one bit, the same or not
        else if (kind == SQ_STIMULUS_EXTREME)
            beat[i] = few[1] ^ (int32_t)(1u << (flips == 1 ? bit : sq_rng_below(rng, bits)));
        else
            beat[i] = sq_draw_bits(rng, bits, true);
    }
}

static uint64_t golden(const unsigned *value, const struct sq_group *in, int32_t *out)
{
    const int32_t *beats = in->record;
    uint16_t mag[SQ_BANK_MAX];
    uint8_t mask[SQ_BANK_MAX];
    for (unsigned i = 0; i < value[BANK_LEN]; i++)
        mag[i] = (uint16_t)beats[i];
    sq_topk_bank(mag, value[BANK_LEN], value[HIGH_PER_BANK], mask);
    for (unsigned i = 0; i < value[BANK_LEN]; i++)
        out[i] = mask[i];
    return 1;
}

static void init(const unsigned *value, void *state)
{
    struct sq_chain *c = state;
    if (value[TOPK] == SQ_TOPK_TREE)
        sq_topk_tree_pipeline(&c->back, value[HIGH_PER_BANK]);
    else
        sq_topk_pipeline(&c->back, value[TOPK], value[MAG_W]);
}

static enum sq_status settle(unsigned *v, const unsigned *old, uint32_t given, struct sq_error *err)
{
    (void)old;
    (void)given;
    if (v[TOPK] == SQ_TOPK_TREE && v[HIGH_PER_BANK] > 2)
        return SQ_FAIL(err, SQ_ERR_RANGE, "HighPerBank = %u of a tree, need 1..2",
                       v[HIGH_PER_BANK]);
    return SQ_OK;
}
