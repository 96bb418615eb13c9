// SPDX-License-Identifier: Apache-2.0
// Sends reads and writes to a DRAM and takes their times (sq_dram_measure.h).
#include "sim/dram/sq_dram_measure.h"

#include <stdlib.h>

#include "models/sq_rng.h"

enum { SETTLED = 2000 }; // clocks after which the first read is over, before the first refresh

const char *sq_dram_pattern_name(enum sq_dram_pattern pattern)
{
    static const char *const name[SQ_DRAM_PATTERNS] = {"sequential reads", "sequential writes",
                                                       "random reads", "one bank, another row",
                                                       "16 reads, 16 writes"};
    return name[pattern];
}

// The least address of that place.
static uint64_t address_of(const struct sq_dram_map *map, const struct sq_dram_place *want)
{
    struct sq_dram_place p = *want;
    const uint32_t row = p.at[SQ_DRAM_ROW];
    uint64_t addr = 0;
    p.at[SQ_DRAM_GROUP] ^= row & ((1u << map->group_bits) - 1);
    p.at[SQ_DRAM_BANK] ^= row >> map->group_bits & ((1u << map->bank_bits) - 1);
    for (uint32_t i = map->n_parts; i-- > 0;) {
        const uint32_t mask = (1u << map->part[i].width) - 1;
        addr = addr << map->part[i].width | (p.at[map->part[i].field] >> map->part[i].from & mask);
    }
    return addr << map->below;
}

// The end of the burst that is the last to end.
static uint64_t run_to_end(struct sq_dram *d, uint32_t bursts)
{
    uint64_t end = 0;
    for (uint32_t n = 0; n < bursts; n += d->n_done) {
        (void)sq_dram_run(d, UINT64_MAX);
        for (uint32_t i = 0; i < d->n_done; i++)
            end = d->done[i].time > end ? d->done[i].time : end;
    }
    return end;
}

enum sq_status sq_dram_latency(const struct sq_dram_setup *setup, enum sq_dram_case c,
                               uint64_t *clocks, struct sq_error *err)
{
    SQ_FREED struct sq_dram *const d = calloc(1, sizeof *d);
    struct sq_dram_setup still = *setup;
    SQ_NEED(d, err, "a DRAM of %zu bytes", sizeof *d);
    still.refresh = SQ_DRAM_REFRESH_NONE;
    still.page = SQ_DRAM_OPEN;
    sq_dram_init(d, &still);
    if (c != SQ_DRAM_EMPTY) {
        const struct sq_dram_place first = {.at[SQ_DRAM_ROW] = c == SQ_DRAM_CONFLICT};
        sq_dram_ask(d, address_of(&still.map, &first), 1, false, 0);
        while (!sq_dram_run(d, SETTLED))
            ;
    }
    const uint64_t began = d->now;
    sq_dram_ask(d, 0, 1, false, 0);
    *clocks = run_to_end(d, 1) - began;
    return SQ_OK;
}

// Burst i of a stream.
static uint64_t next_address(const struct sq_dram_setup *s, enum sq_dram_pattern pattern,
                             uint64_t i, struct sq_rng *rng)
{
    const struct sq_dram_device *const d = &s->rules.device;
    struct sq_dram_place p = {{0}};
    if (pattern != SQ_DRAM_RANDOM && pattern != SQ_DRAM_ONE)
        return i << s->map.below;
    p.at[SQ_DRAM_ROW] = (uint32_t)i & (d->rows - 1);
    if (pattern == SQ_DRAM_ONE)
        return address_of(&s->map, &p);
    p.at[SQ_DRAM_ROW] = sq_rng_below(rng, d->rows);
    p.at[SQ_DRAM_CHANNEL] = sq_rng_below(rng, s->channels);
    p.at[SQ_DRAM_PSEUDO] = sq_rng_below(rng, d->pseudo);
    p.at[SQ_DRAM_RANK] = sq_rng_below(rng, d->ranks);
    p.at[SQ_DRAM_GROUP] = sq_rng_below(rng, d->groups);
    p.at[SQ_DRAM_BANK] = sq_rng_below(rng, d->banks);
    return address_of(&s->map, &p);
}

enum sq_status sq_dram_measure(const struct sq_dram_setup *setup, enum sq_dram_pattern pattern,
                               uint32_t bursts, uint64_t seed, struct sq_dram_rate *rate,
                               struct sq_error *err)
{
    const struct sq_dram_device *const dev = &setup->rules.device;
    SQ_FREED struct sq_dram *const d = calloc(1, sizeof *d);
    struct sq_rng rng = {seed};
    uint64_t end = 0;
    SQ_NEED(d, err, "a DRAM of %zu bytes", sizeof *d);
    sq_dram_init(d, setup);
    for (uint32_t asked = 0, gone = 0; gone < bursts; gone += d->n_done) {
        for (; asked < bursts && sq_dram_has_room(d); asked++) {
            const bool is_write =
                pattern == SQ_DRAM_WRITES || (pattern == SQ_DRAM_MIXED && (asked & 16));
            sq_dram_ask(d, next_address(setup, pattern, asked, &rng), 1, is_write, 0);
        }
        (void)sq_dram_run(d, UINT64_MAX);
        for (uint32_t i = 0; i < d->n_done; i++)
            end = d->done[i].time > end ? d->done[i].time : end;
    }
    rate->clocks = end;
    rate->s = sq_dram_stats_of(d);
    rate->nbytes_per_s =
        (double)bursts * sq_dram_burst_nbytes(dev) / (1e-12 * dev->clock_ps * (double)end);
    rate->share = rate->nbytes_per_s / (setup->channels * sq_dram_peak(dev));
    return SQ_OK;
}
