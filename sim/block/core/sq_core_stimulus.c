// SPDX-License-Identifier: Apache-2.0
// What is drawn for sq_core and sq_gather: the table of points, jobs, stalls, operands.
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "sim/block/core/sq_core_block.h"

#define X SQ_GATHER_CROSSBAR
#define L SQ_GATHER_LOG
#define C SQ_CORE_COUNT_HIGH
// rows, cols, low lanes, high lanes, activation, high and low bits, bank, k, gather,
// start of the counters
const struct sq_point sq_core_points[SQ_CORE_N_POINTS] = {
    {"p01", true, {1, 1, 1, 1, 8, 8, 4, 4, 1, X, C}},     // one of everything, serial
    {"p02", false, {1, 2, 4, 1, 4, 8, 4, 4, 2, L}},       // bank = lanes
    {"p03", true, {2, 1, 8, 2, 8, 8, 3, 4, 2, X, C}},     // bank < lanes
    {"p04", false, {2, 2, 4, 1, 8, 8, 4, 8, 1, L, C}},    //
    {"p05", false, {1, 4, 8, 2, 4, 4, 2, 8, 4, X}},       //
    {"p06", false, {2, 2, 16, 4, 8, 8, 4, 16, 4, X}},     // high path in one step
    {"p07", true, {2, 4, 8, 2, 8, 8, 4, 16, 4, L}},       //
    {"p08", false, {4, 1, 5, 3, 4, 8, 2, 16, 8, L, C}},   // odd lanes and tails
    {"p09", true, {2, 2, 16, 4, 8, 8, 4, 32, 8, X}},      // the default PE
    {"p10", false, {2, 2, 16, 4, 8, 8, 4, 32, 8, L}},     //
    {"p11", true, {1, 3, 12, 3, 8, 4, 3, 32, 4, X}},      // odd
    {"p12", false, {3, 1, 32, 8, 4, 8, 4, 32, 16, L, C}}, //
    {"p13", false, {2, 2, 16, 2, 8, 8, 4, 64, 4, L}},     //
    {"p14", false, {2, 1, 64, 16, 8, 8, 3, 64, 16, X}},
    {"p15", true, {1, 2, 24, 5, 4, 4, 2, 64, 32, L}}, // odd, high path slower
    {"p16", false, {1, 1, 16, 4, 8, 8, 4, 128, 8, X}},
    {"p17", false, {1, 2, 32, 8, 8, 8, 4, 128, 32, L}},
    {"p18", false, {2, 1, 128, 7, 4, 8, 2, 128, 64, X}},
    {"p19", false, {1, 2, 32, 6, 8, 8, 4, 16, 1, L}}, // more high lanes than high codes
};
#undef X
#undef L
#undef C

void sq_core_get(const unsigned *v, struct sq_core_config *config)
{
    *config = (struct sq_core_config){.rows = v[SQ_CORE_ROWS],
                                      .cols = v[SQ_CORE_COLS],
                                      .low_lanes = v[SQ_CORE_LOW_LANES],
                                      .high_lanes = v[SQ_CORE_HIGH_LANES],
                                      .act_bits = v[SQ_CORE_ACT_W],
                                      .high_bits = v[SQ_CORE_HIGH_W],
                                      .low_bits = v[SQ_CORE_LOW_W],
                                      .bank = v[SQ_CORE_BANK_LEN],
                                      .high_per_bank = v[SQ_CORE_HIGH_PER_BANK],
                                      .gather = (enum sq_gather_arch)v[SQ_CORE_GATHER]};
}

void sq_core_set(unsigned *v, const struct sq_core_config *config)
{
    v[SQ_CORE_ROWS] = config->rows;
    v[SQ_CORE_COLS] = config->cols;
    v[SQ_CORE_LOW_LANES] = config->low_lanes;
    v[SQ_CORE_HIGH_LANES] = config->high_lanes;
    v[SQ_CORE_ACT_W] = config->act_bits;
    v[SQ_CORE_HIGH_W] = config->high_bits;
    v[SQ_CORE_LOW_W] = config->low_bits;
    v[SQ_CORE_BANK_LEN] = config->bank;
    v[SQ_CORE_HIGH_PER_BANK] = config->high_per_bank;
    v[SQ_CORE_GATHER] = (unsigned)config->gather;
}

// ---- random jobs ----------------------------------------------------------------------------

enum flavour {
    UNIFORM, // legal codes, any mask
    EXTREME, // largest magnitudes, any sign
    CLUSTER, // masks at the ends of the bank
    EQUAL,   // of a bank all activations the same, all low codes, all high codes
    ILLEGAL, // any bits: wrong mask counts, -2^(h-1) high codes
    MIXED,   // every bank one of these
    N_FLAVOURS,
};

static int8_t any_code(struct sq_rng *r, unsigned bits)
{
    return (int8_t)sq_sign_extend((uint32_t)sq_rng_next(r), bits);
}

static int8_t legal_code(struct sq_rng *r, unsigned bits, enum flavour f)
{
    const int q = sq_qmax(bits);
    if (f == EXTREME)
        return (int8_t)(sq_rng_below(r, 2) ? q : -q);
    if (f == EQUAL && sq_rng_below(r, 2))
        return (int8_t)((int)sq_rng_below(r, 3) - 1);
    return (int8_t)((int)sq_rng_below(r, (uint32_t)(2 * q + 1)) - q);
}

// Each run of `line` codes gets the first one of it.
static void repeat_first(int8_t *x, uint64_t n, uint64_t line)
{
    for (uint64_t i = 0; i < n; i++)
        x[i] = x[i - i % line];
}

// k mask codes in a bank of codes, of legal ones but for ILLEGAL.
static void put_masks(struct sq_rng *r, const struct sq_core_config *g, enum flavour f, int8_t *lo)
{
    const int8_t mask = (int8_t)sq_mask_code(g->low_bits);
    if (f == ILLEGAL && sq_rng_below(r, 2))
        return;
    for (unsigned i = 0; i < g->bank; i++) // chance mask codes of any_code
        if (lo[i] == mask)
            lo[i] = 0;
    const unsigned start = sq_rng_below(r, 2) ? 0 : g->bank - g->high_per_bank;
    for (unsigned t = 0; t < g->high_per_bank; t++) {
        unsigned i = start + t;
        if (f != CLUSTER)
            do
                i = sq_rng_below(r, g->bank);
            while (lo[i] == mask);
        lo[i] = mask;
    }
}

// One bank with a mask code too many or too few, or with any other number of them, of a column that
// has no other: mask errors stay, so only the first one of a column can show that it is found.
static void spoil_bank(struct sq_rng *r, const struct sq_core_config *g, int8_t *lo)
{
    const int8_t mask = (int8_t)sq_mask_code(g->low_bits);
    unsigned n = g->high_per_bank, want = sq_rng_below(r, 2) ? n + 1 : n - 1; // 1 <= k < b
    if (sq_rng_below(r, 2))
        want = (n + 1 + sq_rng_below(r, g->bank)) % (g->bank + 1);
    while (n != want) {
        const unsigned i = sq_rng_below(r, g->bank);
        const bool is_more = want > n;
        if ((lo[i] == mask) == is_more)
            continue;
        lo[i] = is_more ? mask : 0;
        n = is_more ? n + 1 : n - 1;
    }
}

static void random_operands(struct sq_rng *r, enum flavour f, const struct sq_core_config *g,
                            struct sq_core_stimulus *s)
{
    const bool has_one = f == ILLEGAL && sq_rng_below(r, 2);
    f = has_one ? UNIFORM : f;
    const uint64_t n = s->n_banks;
    for (uint64_t i = 0; i < n * g->rows * g->bank; i++)
        s->act[i] = f == EXTREME ? (int8_t)(sq_rng_below(r, 2) ? sq_qmax(g->act_bits)
                                                               : sq_mask_code(g->act_bits))
                                 : any_code(r, g->act_bits);
    for (uint64_t i = 0; i < n * g->cols * g->bank; i++)
        s->lo[i] = f == ILLEGAL ? any_code(r, g->low_bits) : legal_code(r, g->low_bits, f);
    for (uint64_t i = 0; i < n * g->cols * g->high_per_bank; i++)
        s->hi[i] = f == ILLEGAL ? any_code(r, g->high_bits) : legal_code(r, g->high_bits, f);
    if (f == EQUAL) {
        repeat_first(s->act, n * g->rows * g->bank, (uint64_t)g->rows * g->bank);
        repeat_first(s->lo, n * g->cols * g->bank, (uint64_t)g->cols * g->bank);
        repeat_first(s->hi, n * g->cols * g->high_per_bank, (uint64_t)g->cols * g->high_per_bank);
    }
    if (f == ILLEGAL) // a bank whose every high product is the largest that codes can make
        for (uint64_t j = sq_rng_below(r, 4); j < n; j += 4) {
            const uint64_t acts = (uint64_t)g->rows * g->bank;
            const uint64_t codes = (uint64_t)g->cols * g->high_per_bank;
            memset(s->act + j * acts, sq_mask_code(g->act_bits), acts);
            memset(s->hi + j * codes, sq_mask_code(g->high_bits), codes);
        }
    for (uint64_t i = 0; i < n * g->cols; i++)
        put_masks(r, g, f, s->lo + i * g->bank);
    for (unsigned c = 0; c < g->cols && has_one; c++)
        spoil_bank(r, g, s->lo + (sq_rng_below(r, (uint32_t)n) * g->cols + c) * g->bank);
}

static void draw_operands(struct sq_rng *r, const struct sq_core_config *g,
                          struct sq_core_stimulus *s)
{
    const enum flavour f = (enum flavour)sq_rng_below(r, N_FLAVOURS);
    if (f != MIXED)
        random_operands(r, f, g, s);
    for (uint64_t j = 0; j < s->n_banks && f == MIXED; j++) {
        struct sq_core_stimulus bank = *s;
        bank.n_banks = 1;
        bank.act += j * g->rows * g->bank;
        bank.lo += j * g->cols * g->bank;
        bank.hi += j * g->cols * g->high_per_bank;
        random_operands(r, (enum flavour)sq_rng_below(r, MIXED), g, &bank);
    }
}

// Free, one stalled stream, or all streams stalled: each bottleneck alone and all at once.
static void random_stalls(struct sq_rng *r, struct sq_stall stall[4])
{
    const uint32_t mode = sq_rng_below(r, 4), victim = sq_rng_below(r, 4);
    for (unsigned i = 0; i < 4; i++) {
        stall[i] = (struct sq_stall){SQ_STALL_FREE, 1};
        if (mode == 0 || (mode == 1 && i != victim))
            continue;
        stall[i].kind = (enum sq_stall_kind)sq_rng_below(r, SQ_N_STALL_KINDS);
        stall[i].n = 1 + sq_rng_below(r, sq_rng_below(r, 2) ? 4 : 40);
    }
}

// A job whose counts use their high bits; it is cut off long before its end.
static void random_endless(struct sq_rng *r, struct sq_core_stimulus *c)
{
    c->n_jobs = 1;
    c->max_cycles = 300 + sq_rng_below(r, sq_rng_below(r, 4) ? 3000 : 20000);
    if (sq_rng_below(r, 2))
        c->job[0] = (struct sq_job){.group_banks = 1 + sq_rng_below(r, 4),
                                    .groups = 1 + (UINT32_C(1) << (6 + sq_rng_below(r, 26)))};
    else
        c->job[0] = (struct sq_job){.group_banks = 1 + (UINT32_C(1) << (4 + sq_rng_below(r, 12))),
                                    .groups = 1 + sq_rng_below(r, 4)};
}

void sq_core_stimulus_free(struct sq_core_stimulus *s)
{
    free(s->act);
    free(s->lo);
    free(s->hi);
    s->act = s->lo = s->hi = NULL;
}

enum { ENDLESS_BANKS = 50 }; // operands of an endless job

enum sq_status sq_core_alloc_banks(const struct sq_core_config *g, uint64_t n_banks,
                                   struct sq_core_stimulus *s, struct sq_error *err)
{
    s->n_banks = n_banks;
    s->act = calloc(n_banks, (size_t)g->rows * g->bank);
    s->lo = calloc(n_banks, (size_t)g->cols * g->bank);
    s->hi = calloc(n_banks, (size_t)g->cols * g->high_per_bank);
    if (s->act && s->lo && s->hi)
        return SQ_OK;
    sq_core_stimulus_free(s);
    return SQ_NO_MEMORY(err, "%llu banks", (unsigned long long)n_banks);
}

enum sq_status sq_core_draw(const struct sq_core_config *config, struct sq_rng *r,
                            struct sq_core_stimulus *s, struct sq_error *err)
{
    memset(s, 0, sizeof *s);
    s->n_jobs = 1 + sq_rng_below(r, SQ_CORE_JOBS_MAX);
    for (unsigned i = 0; i < s->n_jobs; i++)
        s->job[i] = (struct sq_job){.group_banks = 1 + sq_rng_below(r, sq_rng_below(r, 4) ? 5 : 24),
                                    .groups = 1 + sq_rng_below(r, sq_rng_below(r, 4) ? 16 : 96)};
    random_stalls(r, s->stall);
    s->job_gap = sq_rng_below(r, 2) ? sq_rng_below(r, 6) : 0;
    if (sq_rng_below(r, 6) == 0)
        random_endless(r, s);
    uint64_t n_banks = s->max_cycles > 0 ? ENDLESS_BANKS : 0;
    for (unsigned i = 0; i < s->n_jobs && s->max_cycles == 0; i++)
        n_banks += (uint64_t)s->job[i].groups * s->job[i].group_banks;
    SQ_TRY(sq_core_alloc_banks(config, n_banks, s, err));
    draw_operands(r, config, s);
    return SQ_OK;
}

enum sq_status sq_core_draw_banks(const struct sq_core_config *config, uint64_t n, struct sq_rng *r,
                                  struct sq_core_stimulus *s, struct sq_error *err)
{
    *s = (struct sq_core_stimulus){0};
    SQ_TRY(sq_core_alloc_banks(config, n, s, err));
    random_operands(r, UNIFORM, config, s);
    return SQ_OK;
}
