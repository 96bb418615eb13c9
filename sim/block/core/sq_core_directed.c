// SPDX-License-Identifier: Apache-2.0
// The directed cases of sq_core: the low and the high sum at both ends of their range and of every size,
// the most banks and groups that ports can say, every bit of the number of groups, every wrong number
// of mask codes.
#include "models/core/sq_format.h"
#include "sim/block/core/sq_core_block.h"

int64_t sq_core_limit(const unsigned *v, size_t f)
{
    if (f >= 2) // the error
        return 0;
    return (int64_t)SQ_K_MAX * sq_qmax(v[SQ_CORE_ACT_W]) *
           sq_qmax(v[f == 0 ? SQ_CORE_LOW_W : SQ_CORE_HIGH_W]);
}

void sq_core_put_bank(const struct sq_core_config *g, const struct sq_core_stimulus *s, size_t j,
                      int act, int lo, int hi)
{
    const size_t b = g->bank, k = g->high_per_bank;
    for (size_t i = 0; i < g->rows * b; i++)
        s->act[j * g->rows * b + i] = (int8_t)act;
    for (size_t i = 0; i < g->cols * b; i++) {
        const size_t at = i % b;
        const bool is_masked = (at + 1) * k / b != at * k / b;
        s->lo[j * g->cols * b + i] = (int8_t)(is_masked ? sq_mask_code(g->low_bits) : lo);
    }
    for (size_t i = 0; i < g->cols * k; i++)
        s->hi[j * g->cols * k + i] = (int8_t)hi;
}

// How many banks of `per_bank` products of `product` fill all bits of a sum; those of the longest layer
// where a group cannot have so many.
static uint32_t banks_of(unsigned per_bank, int64_t product)
{
    const int64_t layer = (SQ_K_MAX + per_bank - 1) / per_bank;
    const int64_t full =
        SQ_SUM_FULL / (product * per_bank) + 2; // the last bank but one passes it, too
    return (uint32_t)(full < SQ_JOB_GROUP_BANKS_MAX ? full : layer);
}

// The largest products of one path and small ones of the other, for both paths and both signs.
static enum sq_status draw_sums(struct sq_case *c, const struct sq_core_config *g,
                                struct sq_error *err)
{
    const int act = sq_mask_code(g->act_bits);
    const int lo = sq_qmax(g->low_bits), hi = sq_qmax(g->high_bits);
    const uint32_t low = banks_of(g->bank - g->high_per_bank, (int64_t)lo * -act);
    const uint32_t high = banks_of(g->high_per_bank, (int64_t)hi * -act);
    const struct sq_job job[4] = {{low, 1}, {low, 1}, {high, 1}, {high, 1}};
    struct sq_core_stimulus s;
    SQ_TRY(sq_core_alloc_banks(g, 4, &s, err));
    sq_core_put_bank(g, &s, 0, act, -lo, 1);
    sq_core_put_bank(g, &s, 1, act, lo, -1);
    sq_core_put_bank(g, &s, 2, act, 1, -hi);
    sq_core_put_bank(g, &s, 3, act, -1, hi);
    return sq_core_take(c, job, 4, &s, 1, err);
}

// Sums of every size: groups of at most 2^1 .. 2^13 banks.
static enum sq_status draw_sizes(struct sq_case *c, const struct sq_core_config *g,
                                 struct sq_rng *rng, struct sq_error *err)
{
    enum { JOBS = 12, BITS = 13 };
    const int act = sq_mask_code(g->act_bits);
    struct sq_job job[JOBS];
    struct sq_core_stimulus s;
    SQ_TRY(sq_core_alloc_banks(g, JOBS, &s, err));
    for (unsigned j = 0; j < JOBS; j++) {
        const uint32_t most = UINT32_C(2) << sq_rng_below(rng, BITS);
        const int lo = (int)sq_rng_below(rng, (uint32_t)sq_qmax(g->low_bits)) + 1;
        const int hi = (int)sq_rng_below(rng, (uint32_t)sq_qmax(g->high_bits)) + 1;
        job[j] = (struct sq_job){1 + sq_rng_below(rng, most), 1};
        sq_core_put_bank(g, &s, j, act + (int)sq_rng_below(rng, (uint32_t)-act),
                         sq_rng_below(rng, 2) ? lo : -lo, sq_rng_below(rng, 2) ? hi : -hi);
    }
    return sq_core_take(c, job, JOBS, &s, 1, err);
}

enum { BANKS = 16, SMALL_PE_BANKS = 32, RESET_EVERY = 48 };

// Jobs over BANKS different banks of small operands, so that no sum comes near its limit.
static enum sq_status draw_jobs(struct sq_case *c, const struct sq_core_config *g,
                                const struct sq_job *job, size_t n_jobs, struct sq_rng *rng,
                                struct sq_error *err)
{
    struct sq_core_stimulus s;
    SQ_TRY(sq_core_alloc_banks(g, BANKS, &s, err));
    for (size_t j = 0; j < BANKS; j++) {
        sq_core_put_bank(g, &s, j, 0, 0, 0);
        for (size_t i = j * g->rows * g->bank; i < (j + 1) * g->rows * g->bank; i++)
            s.act[i] = (int8_t)((int)sq_rng_below(rng, 7) - 3);
        for (size_t i = j * g->cols * g->bank; i < (j + 1) * g->cols * g->bank; i++)
            if (s.lo[i] == 0)
                s.lo[i] = (int8_t)((int)sq_rng_below(rng, 3) - 1);
        for (size_t i = j * g->cols * g->high_per_bank; i < (j + 1) * g->cols * g->high_per_bank;
             i++)
            s.hi[i] = (int8_t)((int)sq_rng_below(rng, 3) - 1);
    }
    return sq_core_take(c, job, n_jobs, &s, BANKS, err);
}

// The most banks in a group that the port can say; on small cores also more groups than 16 bits count,
// and counts with every other bit set, which show a bit that spoils its neighbour.
static enum sq_status draw_counts(struct sq_case *c, const struct sq_core_config *g,
                                  struct sq_rng *rng, struct sq_error *err)
{
    const bool is_small = g->rows * g->cols * g->bank <= SMALL_PE_BANKS;
    const struct sq_job job[] = {{SQ_JOB_GROUP_BANKS_MAX, 1},
                                 {1, is_small ? 0x10100 : 0x101},
                                 {0x101, is_small ? 0x101 : 3},
                                 {0x8001, 2},
                                 {1, 0x5554},
                                 {1, 0xaaaa},
                                 {0x5554, 1},
                                 {0xaaaa, 1},
                                 {2, 0x2aa},
                                 {2, 0x154},
                                 {1, 0x3fff}};
    if (is_small)
        c->stall[1] = (struct sq_stall){SQ_STALL_RANDOM, 1};
    return draw_jobs(c, g, job, is_small ? SQ_LEN(job) : 3, rng, err);
}

// Jobs of 2^n groups, n from 6 to 31, each ended by a reset: without bit n the job would have no group.
static enum sq_status draw_bits(struct sq_case *c, const struct sq_core_config *g,
                                struct sq_rng *rng, struct sq_error *err)
{
    struct sq_job job[26];
    for (unsigned n = 0; n < 26; n++)
        job[n] = (struct sq_job){1, UINT32_C(64) << n};
    c->reset_every = RESET_EVERY;
    return draw_jobs(c, g, job, 26, rng, err);
}

// Every wrong number of mask codes, each in a bank of its own, in all columns. An error stays until a
// reset, so resets come between the banks; what a reset loses is sent again.
static enum sq_status draw_masks(struct sq_case *c, const struct sq_core_config *g,
                                 struct sq_rng *rng, struct sq_error *err)
{
    enum { TIMES = 3, CYCLES = 24 };
    const uint32_t n_jobs = TIMES * g->bank;
    struct sq_job job[TIMES * SQ_BANK_MAX];
    struct sq_core_stimulus s;
    SQ_TRY(sq_core_alloc_banks(g, n_jobs, &s, err));
    for (uint32_t j = 0; j < n_jobs; j++) {
        unsigned n = g->bank - j / TIMES; // all codes first
        n -= n <= g->high_per_bank;
        job[j] = (struct sq_job){1, 1};
        sq_core_put_bank(g, &s, j, 1, 1, 1);
        const unsigned from = j % TIMES == 0 ? g->bank - n : 0; // at either end
        for (size_t i = 0; i < (size_t)g->cols * g->bank; i++)
            s.lo[(size_t)j * g->cols * g->bank + i] =
                (int8_t)(i % g->bank - from < n ? sq_mask_code(g->low_bits)
                                                : (int)sq_rng_below(rng, 3) - 1);
    }
    c->reset_every = 2 * (sq_core_low_steps(g) + sq_core_high_steps(g)) + CYCLES;
    return sq_core_take(c, job, n_jobs, &s, 0, err);
}

// Jobs of many tiles, for cases in which one stream stalls for long.
enum sq_status sq_core_draw_tiles(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    const struct sq_job job[] = {{1, 24}, {1, 24}, {1, 24}, {1, 24}, {3, 8}};
    enum { BANKS_OF_ALL = 4 * 24 + 3 * 8 };
    struct sq_core_config g;
    struct sq_core_stimulus s;
    sq_core_get(c->point->value, &g);
    SQ_TRY(sq_core_alloc_banks(&g, BANKS_OF_ALL, &s, err));
    for (size_t j = 0; j < BANKS_OF_ALL; j++)
        sq_core_put_bank(&g, &s, j, (int)sq_rng_below(rng, 7) - 3, (int)sq_rng_below(rng, 3) - 1,
                         (int)sq_rng_below(rng, 7) - 3);
    return sq_core_take(c, job, SQ_LEN(job), &s, 0, err);
}

enum sq_status sq_core_draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                     struct sq_error *err)
{
    struct sq_core_config g;
    sq_core_get(c->point->value, &g);
    return number == 0   ? draw_sums(c, &g, err)
           : number == 1 ? draw_sizes(c, &g, rng, err)
           : number == 2 ? draw_bits(c, &g, rng, err)
           : number == 3 ? draw_counts(c, &g, rng, err)
                         : draw_masks(c, &g, rng, err);
}
