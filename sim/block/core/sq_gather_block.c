// SPDX-License-Identifier: Apache-2.0
// sq_gather (SPEC D.8): latency 3, one bank per cycle. Its points and operands are those of a core
// with one column.
#include <string.h>

#include "models/core/sq_format.h"
#include "models/core/sq_gather.h"
#include "sim/block/core/sq_core_block.h"
#include "sim/block/flow/sq_pipeline.h"

#include "sim/block/core/sq_gather.block.h"

// A beat for each bank.
static enum sq_status put_banks(struct sq_case *c, const struct sq_core_config *config,
                                const struct sq_core_stimulus *s, struct sq_error *err)
{
    const size_t bank = config->bank, acts = config->rows * bank;
    SQ_TRY(sq_case_room(c, s->n_banks, 1, err));
    for (size_t g = 0; g < c->n_groups; g++) {
        int32_t *const beat = c->beats + g * (bank + acts);
        c->len[g][0] = 1;
        for (size_t i = 0; i < bank; i++)
            beat[i] = s->lo[g * bank + i];
        for (size_t i = 0; i < acts; i++)
            beat[bank + i] = s->act[g * acts + i];
    }
    return SQ_OK;
}

static struct sq_core_config config_of(const struct sq_case *c)
{
    struct sq_core_config config;
    sq_core_get(c->point->value, &config);
    config.cols = 1;
    return config;
}

static enum sq_status draw_case(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    const struct sq_core_config config = config_of(c);
    SQ_CLOSED(sq_core_stimulus_free) struct sq_core_stimulus s = {0};
    SQ_TRY(sq_core_draw(&config, rng, &s, err));
    c->stall[0] = s.stall[0];
    c->stall[SQ_SINK] = s.stall[3];
    return put_banks(c, &config, &s, err);
}

static enum sq_status draw_uniform(struct sq_case *c, size_t n_groups, struct sq_rng *rng,
                                   struct sq_error *err)
{
    const struct sq_core_config config = config_of(c);
    SQ_CLOSED(sq_core_stimulus_free) struct sq_core_stimulus s = {0};
    SQ_TRY(sq_core_draw_banks(&config, n_groups, rng, &s, err));
    return put_banks(c, &config, &s, err);
}

// Banks with every number of mask codes, again and again: at random no large one has only those.
static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    enum { TIMES = 3 };
    const unsigned *v = c->point->value;
    const size_t bank = v[SQ_CORE_BANK_LEN], len = (1 + v[SQ_CORE_ROWS]) * bank;
    (void)number;
    SQ_TRY(sq_case_room(c, TIMES * (bank + 1), 1, err));
    for (size_t g = 0; g < c->n_groups; g++) {
        c->len[g][0] = 1;
        for (size_t i = 0; i < bank; i++)
            c->beats[g * len + i] = i < g % (bank + 1) ? sq_mask_code(v[SQ_CORE_LOW_W]) : 0;
        for (size_t i = bank; i < len; i++)
            c->beats[g * len + i] = sq_sign_extend((uint32_t)sq_rng_next(rng), v[SQ_CORE_ACT_W]);
    }
    return SQ_OK;
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const unsigned bank = v[SQ_CORE_BANK_LEN], k = v[SQ_CORE_HIGH_PER_BANK], rows = v[SQ_CORE_ROWS];
    int8_t code[SQ_BANK_MAX], act[SQ_BANK_MAX], clean[SQ_BANK_MAX], gathered[SQ_BANK_MAX];
    bool is_legal = true;
    for (unsigned i = 0; i < bank; i++)
        code[i] = (int8_t)in->record[i];
    for (unsigned r = 0; r < rows; r++) {
        for (unsigned i = 0; i < bank; i++)
            act[i] = (int8_t)in->record[(1 + r) * bank + i];
        is_legal = sq_gather_bank(code, act, bank, k, v[SQ_CORE_LOW_W], clean, gathered);
        for (unsigned t = 0; t < k; t++)
            out[bank + r * k + t] = gathered[t];
    }
    for (unsigned i = 0; i < bank; i++)
        out[i] = clean[i];
    out[bank + rows * k] = !is_legal;
    return 1;
}

static size_t row_len(const unsigned *v, size_t f)
{
    return f == 1 ? v[SQ_CORE_HIGH_PER_BANK] : 0;
}
