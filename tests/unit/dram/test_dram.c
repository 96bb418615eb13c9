// SPDX-License-Identifier: Apache-2.0
// A DRAM that keeps time. Each device, both ends of its ranges: every pair of commands in every relation of their banks
// is illegal at t-1 and legal at t, and two ranks, which no device has, on a copy; latencies by formula; streams at the peak
// less refresh; one bank; the window of four activates; turns. Random devices, maps, policies and traffic: a second judge
// (oracle_dram.h) reads every trace, nothing waits for ever, clocks add up. Maps: bijections, by linear algebra. Then the
// files of devices: every damage is refused.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_rng.h"
#include "sim/dram/sq_dram_measure.h"
#include "tests/test.h"
#include "tests/unit/dram/oracle_dram.h"

static uint64_t seed(void)
{
    const char *s = getenv("SQ_SEED");
    return s ? strtoull(s, NULL, 10) : 1;
}

// Calls with every device that comes with sqsim, both ends.
static void for_devices(void (*call)(const struct sq_dram_device *d))
{
    unsigned n = 0;
    for (unsigned i = 0; sq_dram_device_names[i]; i++)
        for (unsigned end = SQ_DRAM_FAST; end <= SQ_DRAM_SLOW; end++) {
            struct sq_dram_device d;
            struct sq_error err;
            if (sq_dram_device_named(sq_dram_device_names[i], end, &d, &err) != SQ_OK)
                fail_msg("%s", err.text);
            if (end == SQ_DRAM_FAST || d.is_range)
                call(&d), n++;
        }
    assert_true(n >= 9);
}

static struct sq_dram_setup setup_of(const struct sq_dram_device *d,
                                     const struct sq_dram_options *o)
{
    struct sq_dram_setup s;
    struct sq_error err;
    if (sq_dram_setup_init(d, o, &s, &err) != SQ_OK)
        fail_msg("%s", err.text);
    return s;
}

// ---- pairs of commands ----------------------------------------------------------------------

enum { FAR = 100000 };

static bool needs_open(enum sq_dram_command c)
{
    return c == SQ_DRAM_PRE || c == SQ_DRAM_PREA || is_column(c);
}

// Banks open long ago, as both commands need it, then one command at FAR. The length of the trace, or 0: the rows
// forbid the pair.
static size_t prelude(const struct sq_dram_device *d, enum sq_dram_command before, uint32_t a,
                      enum sq_dram_command after, uint32_t b, struct seen *trace)
{
    size_t n = 0;
    const bool open_a = needs_open(before), same = a == b;
    const bool one_rank = rank_of(d, a) == rank_of(d, b);
    const bool all_closed = (before == SQ_DRAM_REFA || after == SQ_DRAM_REFA) && one_rank;
    bool open_b = needs_open(after);
    if (same) { // the state that the first command leaves
        const bool leaves = before == SQ_DRAM_ACT || before == SQ_DRAM_RD || before == SQ_DRAM_WR;
        if (leaves != open_b && after != SQ_DRAM_PREA)
            return 0;
        open_b = open_a;
    } else if (before == SQ_DRAM_PREA && one_rank && open_b && after != SQ_DRAM_PREA)
        return 0;
    else if (after == SQ_DRAM_REFA && one_rank && before != SQ_DRAM_PRE && before != SQ_DRAM_PREA &&
             !closes_itself(before) && before != SQ_DRAM_REFA && before != SQ_DRAM_REFB)
        return 0;
    else if (before == SQ_DRAM_REFA && one_rank && open_b && after != SQ_DRAM_PREA)
        return 0;
    open_b = open_b && !(all_closed && !same && after != SQ_DRAM_PREA) &&
             !(before == SQ_DRAM_REFA && one_rank);
    if (open_a)
        trace[n++] = (struct seen){FAR / 2, SQ_DRAM_ACT, a, 0};
    if (open_b && !same)
        trace[n++] = (struct seen){FAR / 2 + 2000, SQ_DRAM_ACT, b, 0};
    trace[n++] = (struct seen){FAR, before, a, 0};
    return n;
}

static unsigned tight, pairs;

static void judge_pair(const struct sq_dram_device *d, const struct sq_dram_rules *r,
                       enum sq_dram_command before, uint32_t a, enum sq_dram_command after,
                       uint32_t b)
{
    struct seen trace[4];
    static struct sq_dram_times times;
    struct judge j = {.d = d, .trace = trace};
    const size_t n = prelude(d, before, a, after, b, trace);
    if (n == 0)
        return;
    memset(&times, 0, sizeof times);
    for (size_t i = 0; i < n; i++) {
        assert_true(sq_dram_earliest(r, &times, trace[i].is, trace[i].bank) <= trace[i].at);
        sq_dram_issue(r, &times, trace[i].is, trace[i].bank, trace[i].at);
    }
    uint64_t at = sq_dram_earliest(r, &times, after, b);
    at = at < FAR ? FAR : at; // commands stand in the order of time
    trace[n] = (struct seen){at, after, b, 0};
    j.n = n + 1;
    const char *why = judge_trace(&j);
    if (why)
        fail_msg("%s: at t: %s", d->name, why);
    pairs++;
    if (at == FAR) // another bus, and nothing between them
        return;
    trace[n].at = at - 1;
    if (!judge_trace(&j))
        fail_msg("%s: legal a clock before: %s bank %u at %d, %s bank %u at %llu", d->name,
                 sq_dram_command_name(before), a, FAR, sq_dram_command_name(after), b,
                 (unsigned long long)at - 1);
    tight++;
}

static void judge_pairs(const struct sq_dram_device *d)
{
    struct sq_dram_rules r;
    sq_dram_rules_init(d, &r);
    const uint32_t rank = d->groups * d->banks;
    const uint32_t other[] = {0, 1, d->banks, rank, d->ranks * rank};
    pairs = tight = 0;
    for (unsigned before = 0; before < SQ_DRAM_COMMANDS; before++)
        for (unsigned after = 0; after < SQ_DRAM_COMMANDS; after++)
            for (unsigned i = 0; i < 5; i++) {
                const bool by_bank = before == SQ_DRAM_REFB || after == SQ_DRAM_REFB;
                const bool exists = i == 0 || (i == 1 && d->banks > 1) ||
                                    (i == 2 && d->groups > 1) || (i == 3 && d->ranks > 1) ||
                                    (i == 4 && d->pseudo > 1);
                if (exists && !(by_bank && d->t[SQ_DRAM_T_RFCpb] == 0))
                    judge_pair(d, &r, before, 0, after, other[i]);
            }
    assert_true(pairs >= 60 && tight >= 50);
}

SQ_TEST(every_pair_of_commands_is_illegal_before_and_legal_at_its_time)
{
    for_devices(judge_pairs);
}

static void judge_two_ranks(const struct sq_dram_device *device)
{
    struct sq_dram_device d = *device;
    d.ranks = 2;
    d.t[SQ_DRAM_T_RTRS] = 3;
    if (sq_dram_n_banks(&d) <= SQ_DRAM_BANKS_MAX)
        judge_pairs(&d);
}

SQ_TEST(pairs_of_two_ranks)
{
    for_devices(judge_two_ranks);
}

// Five activates: RRD apart as far as that goes, then the window.
static void judge_window(const struct sq_dram_device *d)
{
    struct sq_dram_rules r;
    static struct sq_dram_times times;
    struct seen trace[5];
    struct judge j = {.d = d, .trace = trace, .n = 5};
    sq_dram_rules_init(d, &r);
    memset(&times, 0, sizeof times);
    for (uint32_t i = 0; i < 5; i++) {
        const uint32_t bank = i % d->groups * d->banks + i / d->groups;
        const uint64_t at = sq_dram_earliest(&r, &times, SQ_DRAM_ACT, bank);
        trace[i] = (struct seen){at, SQ_DRAM_ACT, bank, 0};
        sq_dram_issue(&r, &times, SQ_DRAM_ACT, bank, at);
    }
    assert_null(judge_trace(&j));
    trace[4].at--;
    assert_non_null(judge_trace(&j));
}

SQ_TEST(the_fifth_activate_waits_for_the_window)
{
    for_devices(judge_window);
}

// ---- what a device gives --------------------------------------------------------------------

static void judge_latency(const struct sq_dram_device *d)
{
    const struct sq_dram_options o = {0};
    const struct sq_dram_setup s = setup_of(d, &o);
    const uint32_t *const t = d->t;
    const uint64_t hit =
        d->col - 1 + t[SQ_DRAM_T_CL] + t[SQ_DRAM_T_DQSCK] + sq_dram_burst_clocks(d);
    const uint64_t open = d->act + t[SQ_DRAM_T_RCDRD] - d->col;
    const uint64_t close = d->pre + t[SQ_DRAM_T_RP] - d->act;
    uint64_t clocks[SQ_DRAM_CASES];
    for (unsigned i = 0; i < SQ_DRAM_CASES; i++)
        assert_ok(sq_dram_latency(&s, i, &clocks[i], NULL));
    assert_int_equal(clocks[SQ_DRAM_HIT], hit);
    assert_int_equal(clocks[SQ_DRAM_EMPTY], open + hit);
    assert_int_equal(clocks[SQ_DRAM_CONFLICT], close + open + hit);
}

SQ_TEST(unloaded_latencies_follow_the_formula)
{
    for_devices(judge_latency);
}

static struct sq_dram_rate rate_of(const struct sq_dram_setup *s, enum sq_dram_pattern p,
                                   uint32_t bursts)
{
    struct sq_dram_rate r;
    assert_ok(sq_dram_measure(s, p, bursts, seed(), &r, NULL));
    return r;
}

// Without refresh all of the peak but for the first row and what ACT and PRE take of the command bus; with it less by
// RFC and the time in which rows are closed and opened, which is less than RC and a read.
static void judge_streams(const struct sq_dram_device *d)
{
    struct sq_dram_options o = {.refresh = SQ_DRAM_REFRESH_NONE};
    struct sq_dram_setup s = setup_of(d, &o);
    const uint32_t *const t = d->t;
    for (unsigned p = SQ_DRAM_READS; p <= SQ_DRAM_WRITES; p++) {
        const double free = rate_of(&s, p, 20000).share;
        s.refresh = SQ_DRAM_REFRESH_ALL;
        const double share = rate_of(&s, p, 20000).share;
        s.refresh = SQ_DRAM_REFRESH_NONE;
        const double lost = (double)t[SQ_DRAM_T_RFC] / t[SQ_DRAM_T_REFI];
        const double around =
            (double)(t[SQ_DRAM_T_RC] + t[SQ_DRAM_T_RPab] + t[SQ_DRAM_T_CWL] + t[SQ_DRAM_T_WR]) /
            t[SQ_DRAM_T_REFI];
        assert_true(free <= 1 && free >= (strcmp(d->standard, "DDR4") == 0 ? .999 : .98));
        assert_true(share < free);
        // Two pseudo-channels wait for each other: the front is in order.
        assert_true(share <= free - .9 * lost);
        assert_true(share >= free - d->pseudo * (lost + around));
    }
}

SQ_TEST(streams_reach_the_peak_less_refresh)
{
    for_devices(judge_streams);
}

static void judge_one_bank(const struct sq_dram_device *d)
{
    const struct sq_dram_options o = {.refresh = SQ_DRAM_REFRESH_NONE};
    const struct sq_dram_setup s = setup_of(d, &o);
    const uint32_t *const t = d->t;
    const uint64_t by_read = (uint64_t)t[SQ_DRAM_T_RCDRD] + t[SQ_DRAM_T_RTP] + t[SQ_DRAM_T_RP];
    uint64_t each = most(t[SQ_DRAM_T_RC], (uint64_t)t[SQ_DRAM_T_RAS] + t[SQ_DRAM_T_RP]);
    each = most(each, by_read);
    assert_int_equal(rate_of(&s, SQ_DRAM_ONE, 1500).clocks - rate_of(&s, SQ_DRAM_ONE, 500).clocks,
                     1000 * each);
}

SQ_TEST(one_bank_gives_a_burst_for_each_cycle_of_rows)
{
    for_devices(judge_one_bank);
}

// Random reads: at most four bursts in FAW, in 4 RRDS and in the clocks that their commands take of the bus; DDR4 gets there.
static void judge_random(const struct sq_dram_device *d)
{
    const struct sq_dram_options o = {.refresh = SQ_DRAM_REFRESH_NONE};
    const struct sq_dram_setup s = setup_of(d, &o);
    const double window = (double)most(d->t[SQ_DRAM_T_FAW], 4 * d->t[SQ_DRAM_T_RRDS]);
    const double bound = 4 * sq_dram_burst_clocks(d) / window;
    const double share = rate_of(&s, SQ_DRAM_RANDOM, 20000).share;
    assert_true(share <= (bound < 1 ? bound : 1) * 1.001);
    if (strcmp(d->standard, "DDR4") == 0)
        assert_true(share >= .995 * bound);
}

SQ_TEST(random_reads_meet_the_window_of_activates)
{
    for_devices(judge_random);
}

// A map that keeps a stream in one bank group has a burst each CCDL: 4 of 6 clocks on DDR4-2400.
SQ_TEST(a_stream_in_one_bank_group_is_slower)
{
    struct sq_dram_device d;
    assert_ok(sq_dram_device_named("ddr4-2400", SQ_DRAM_FAST, &d, NULL));
    const struct sq_dram_options o = {.map = "pages"};
    const struct sq_dram_setup s = setup_of(&d, &o);
    const double share = rate_of(&s, SQ_DRAM_READS, 20000).share;
    assert_true(share > .62 && share < 2.0 / 3);
}

// ---- maps -------------------------------------------------------------------------------------

static uint64_t packed(const struct sq_dram_map *m, uint64_t addr)
{
    const struct sq_dram_place p = sq_dram_map_place(m, addr);
    return (uint64_t)p.at[SQ_DRAM_ROW] << 40 | (uint64_t)p.at[SQ_DRAM_COLUMN] << 24 |
           p.at[SQ_DRAM_BANK] << 20 | p.at[SQ_DRAM_GROUP] << 16 | p.at[SQ_DRAM_RANK] << 12 |
           p.at[SQ_DRAM_PSEUDO] << 8 | p.at[SQ_DRAM_CHANNEL];
}

// A map is linear over bits, and no sum of the places of single bits is 0: then it is one to one. As many bits as places
// have: onto.
static void judge_map(const struct sq_dram_device *d, const char *text, unsigned channels)
{
    const struct sq_dram_options o = {.map = text, .channels = channels};
    const struct sq_dram_setup s = setup_of(d, &o);
    const uint64_t places =
        (uint64_t)channels * sq_dram_n_banks(d) * d->rows * (d->columns / d->burst);
    uint64_t basis[64];
    unsigned bits = 0;
    struct sq_rng rng = {seed()};
    while (UINT64_C(1) << bits < places)
        bits++;
    for (unsigned i = 0; i < 100; i++) {
        const uint64_t a = sq_rng_next(&rng), b = sq_rng_next(&rng);
        assert_int_equal(packed(&s.map, a) ^ packed(&s.map, b), packed(&s.map, a ^ b));
    }
    for (unsigned i = 0; i < bits; i++) {
        uint64_t v = packed(&s.map, UINT64_C(1) << (i + s.map.below));
        for (unsigned k = 0; k < i; k++)
            v = (v ^ basis[k]) < v ? v ^ basis[k] : v;
        assert_true(v != 0);
        basis[i] = v;
    }
    assert_int_equal(packed(&s.map, UINT64_C(1) << (bits + s.map.below)), 0);
}

static void judge_maps(const struct sq_dram_device *d)
{
    for (unsigned channels = 1; channels <= SQ_DRAM_CHANNELS_MAX; channels *= 4) {
        for (unsigned i = 0; sq_dram_map_names[i]; i++)
            judge_map(d, sq_dram_map_names[i], channels);
        judge_map(d, "channel-pseudo-row-column-rank-bank-group-column2+xor", channels);
        judge_map(d, "row-rank-bank-row4-column-group-pseudo-channel", channels);
    }
}

// With xor as many rows as a rank has banks, of one place in them, lie in a bank each.
static void judge_xor(const struct sq_dram_device *d)
{
    const struct sq_dram_options o = {.map = "xor"};
    const struct sq_dram_setup s = setup_of(d, &o);
    const uint64_t row = (uint64_t)sq_dram_n_banks(d) * (d->columns / d->burst) << s.map.below;
    uint64_t seen = 0;
    for (uint64_t i = 0; i < d->groups * d->banks; i++) {
        const struct sq_dram_place p = sq_dram_map_place(&s.map, 5 * row + i * row);
        assert_int_equal(p.at[SQ_DRAM_ROW], 5 + i);
        seen |= UINT64_C(1) << (p.at[SQ_DRAM_GROUP] * d->banks + p.at[SQ_DRAM_BANK]);
    }
    assert_int_equal(__builtin_popcountll(seen), d->groups * d->banks);
}

SQ_TEST(every_map_is_a_bijection)
{
    for_devices(judge_maps);
    for_devices(judge_xor);
}

SQ_TEST(maps_that_are_none_are_refused)
{
    static const char *const bad[] = {"",
                                      "row",
                                      "group",
                                      "row-rank-bank-column-group-pseudo",
                                      "row-row-rank-bank-column-group-pseudo-channel",
                                      "row-rank-bank-group-pseudo-channel-column3",
                                      "row-rank-bank-column-group-pseudo-channel-column9",
                                      "row-rank-bank-column-group-pseudo-channel-column0",
                                      "row--rank-bank-column-group-pseudo-channel",
                                      "row-rank-bank-column-group-pseudo-channel+xo",
                                      "row-rank-bank-column-group-pseudo-channel-row0",
                                      "row-rank-bank-column-group-pseudo-channel-bank2",
                                      "+xor"};
    struct sq_dram_device d;
    assert_ok(sq_dram_device_named("hbm2", SQ_DRAM_FAST, &d, NULL));
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sq_dram_map map;
        struct sq_error err;
        assert_int_equal(sq_dram_map_parse(bad[i], &d, 2, &map, &err), SQ_ERR_ARG);
        assert_non_null(strstr(err.text, "need"));
    }
}

// ---- random traffic ---------------------------------------------------------------------------

enum { COMMANDS_MAX = 20000, BURSTS = 1500 };

struct traffic {
    struct seen trace[SQ_DRAM_CHANNELS_MAX][COMMANDS_MAX];
    size_t n[SQ_DRAM_CHANNELS_MAX];
    uint64_t asked[BURSTS]; // by tag
    bool came[BURSTS];
};

static void note(void *ctx, uint32_t channel, uint64_t now, enum sq_dram_command command,
                 uint32_t bank, uint32_t row)
{
    struct traffic *const t = ctx;
    assert_true(t->n[channel] < COMMANDS_MAX);
    t->trace[channel][t->n[channel]++] = (struct seen){now, command, bank, row};
}

static uint32_t draw(struct sq_rng *rng, uint32_t from, uint32_t to)
{
    return from + sq_rng_below(rng, to - from + 1);
}

static uint32_t power(struct sq_rng *rng, uint32_t most_bits)
{
    return 1u << sq_rng_below(rng, most_bits + 1);
}

// A device with short times, so that each of them matters.
static struct sq_dram_device draw_device(struct sq_rng *rng)
{
    struct sq_dram_device d = {.clock_ps = 500, .width = 32, .burst = 8, .beats = 2};
    uint32_t *const t = d.t;
    d.pseudo = power(rng, 1);
    d.ranks = power(rng, 1);
    d.groups = power(rng, 2);
    d.banks = power(rng, 2);
    d.rows = 1024;
    d.columns = 64;
    d.buses = power(rng, 1);
    d.act = draw(rng, 1, 3);
    d.pre = draw(rng, 1, 2);
    d.col = draw(rng, 1, 3);
    d.ref = draw(rng, 1, 2);
    for (unsigned i = 0; i < SQ_DRAM_N_TIMES; i++)
        t[i] = draw(rng, 3, 20);
    t[SQ_DRAM_T_DQSCK] = draw(rng, 0, 3);
    t[SQ_DRAM_T_DQSS] = draw(rng, 0, 3);
    t[SQ_DRAM_T_CCDS] = draw(rng, 4, 6);
    t[SQ_DRAM_T_CCDL] = t[SQ_DRAM_T_CCDS] + draw(rng, 0, 4);
    t[SQ_DRAM_T_CCDSW] = draw(rng, 4, 6);
    t[SQ_DRAM_T_CCDLW] = t[SQ_DRAM_T_CCDSW] + draw(rng, 0, 4);
    t[SQ_DRAM_T_WTRL] = t[SQ_DRAM_T_WTRS] + draw(rng, 0, 4);
    t[SQ_DRAM_T_RRDL] = t[SQ_DRAM_T_RRDS] + draw(rng, 0, 4);
    t[SQ_DRAM_T_FAW] = draw(rng, 10, 80);
    t[SQ_DRAM_T_RC] = t[SQ_DRAM_T_RAS] + t[SQ_DRAM_T_RP] + draw(rng, 0, 8);
    t[SQ_DRAM_T_RTW] = t[SQ_DRAM_T_CL] + t[SQ_DRAM_T_DQSCK] + 4 + draw(rng, 0, 5);
    t[SQ_DRAM_T_RFC] = draw(rng, 30, 60);
    t[SQ_DRAM_T_REFI] = draw(rng, 400, 900);
    t[SQ_DRAM_T_RFCpb] = draw(rng, 10, 30);
    t[SQ_DRAM_T_PBR] = draw(rng, 10, 30);
    t[SQ_DRAM_T_REFIpb] = draw(rng, 150, 300);
    return d;
}

// Asks a burst or a few, of few rows and many, for a while.
static void ask_some(struct sq_dram *d, struct traffic *t, struct sq_rng *rng, uint32_t *asked,
                     uint32_t *tag)
{
    const uint32_t few = power(rng, 5), spread = power(rng, 20);
    while (*asked < BURSTS && sq_dram_has_room(d) && draw(rng, 0, few) > 0) {
        const uint32_t burst = sq_dram_burst_nbytes(&d->setup->rules.device);
        const uint32_t n = draw(rng, 1, BURSTS - *asked < 9 ? BURSTS - *asked : 9);
        const uint64_t addr = (uint64_t)sq_rng_below(rng, spread) * burst;
        t->asked[*tag] = d->now;
        sq_dram_ask(d, addr, (uint64_t)n * burst, sq_rng_below(rng, 2), (*tag)++);
        *asked += n;
    }
}

static void judge_traffic(uint64_t s)
{
    struct sq_rng rng = {s};
    struct sq_dram_device device = draw_device(&rng);
    const char *const map = sq_dram_map_names[sq_rng_below(&rng, 4)];
    const struct sq_dram_options o = {.channels = power(&rng, 2),
                                      .queue = draw(&rng, 1, 16),
                                      .age = draw(&rng, 1, 3) == 1 ? draw(&rng, 1, 400) : 0,
                                      .map = map,
                                      .page = sq_rng_below(&rng, 2),
                                      .refresh = sq_rng_below(&rng, 3)};
    struct sq_dram_setup setup = setup_of(&device, &o);
    struct sq_dram *const d = calloc(1, sizeof *d);
    struct traffic *const t = calloc(1, sizeof *t);
    uint32_t asked = 0, tag = 0, gone = 0;
    assert_true(d && t);
    setup.note = (struct sq_dram_note){note, t};
    sq_dram_init(d, &setup);
    while (gone < BURSTS) {
        ask_some(d, t, &rng, &asked, &tag);
        const uint64_t until = d->now + draw(&rng, 1, 200);
        bool is_there;
        do {
            is_there = sq_dram_run(d, until);
            gone += d->n_done;
            for (uint32_t i = 0; i < d->n_done; i++)
                assert_true(d->done[i].time > t->asked[d->done[i].tag]);
        } while (!is_there && sq_rng_below(&rng, 4));
        assert_true(d->now < 2000000); // nothing waits for ever
    }
    assert_int_equal(gone, BURSTS);
    struct sq_dram_stats sum = sq_dram_stats_of(d);
    uint64_t clocks = 0;
    for (unsigned i = 0; i < SQ_DRAM_CAUSES; i++)
        clocks += sum.clocks[i];
    assert_int_equal(clocks, d->now * setup.channels * device.pseudo);
    for (uint32_t c = 0; c < setup.channels; c++) {
        struct judge j = {.d = &device, .trace = t->trace[c], .n = t->n[c]};
        const char *why = judge_trace(&j);
        why = why ? why : judge_refreshes(&j, setup.refresh, d->now);
        if (why)
            fail_msg("seed %llu, channel %u: %s", (unsigned long long)s, c, why);
    }
    free(d);
    free(t);
}

SQ_TEST(traces_of_random_traffic_pass_the_second_judge)
{
    const char *n = getenv("SQ_TRACES");
    for (uint64_t i = 0, cases = n ? strtoull(n, NULL, 10) : 200; i < cases; i++)
        judge_traffic(seed() * 1000003 + i);
}

// Reads of one rank without a pause: what a refresh of all banks takes counts from the clock in which it is due, or from the
// end of the burst before it, to the first clock of an activate that it allows.
SQ_TEST(a_refresh_counts_from_its_due_time)
{
    struct sq_rng rng = {seed()};
    for (unsigned i = 0; i < 30; i++) {
        struct sq_dram_device device = draw_device(&rng);
        const struct sq_dram_options o = {.refresh = SQ_DRAM_REFRESH_ALL};
        device.pseudo = device.ranks = 1;
        struct sq_dram_setup setup = setup_of(&device, &o);
        struct sq_dram *const d = calloc(1, sizeof *d);
        struct traffic *const t = calloc(1, sizeof *t);
        uint64_t asked = 0, due = 0, from = 0, until = 0, free_at = 0, want = 0;
        assert_true(d && t);
        setup.note = (struct sq_dram_note){note, t};
        sq_dram_init(d, &setup);
        while (d->now < 8000) {
            for (; sq_dram_has_room(d); asked++)
                sq_dram_ask(d, asked % 9999 * sq_dram_burst_nbytes(&device), 1, false, 0);
            (void)sq_dram_run(d, 8000);
        }
        for (const struct seen *c = t->trace[0]; c < t->trace[0] + t->n[0]; c++)
            if (reads(c->is)) {
                want += until > from ? until - from : 0;
                free_at = c->at + sq_dram_burst_clocks(&device);
                until = 0;
            } else if (c->is == SQ_DRAM_REFA) {
                due += device.t[SQ_DRAM_T_REFI];
                from = due > free_at ? due : free_at;
                until = last_of(&device, c) + device.t[SQ_DRAM_T_RFC] + 1 - device.act;
            }
        assert_int_equal(sq_dram_stats_of(d).clocks[SQ_DRAM_REFRESHED], want);
        assert_true(want > 0);
        free(d);
        free(t);
    }
}

// The same stream, run clock by clock and in leaps, ends alike: each command at its clock.
static void judge_stream_trace(const struct sq_dram_device *device)
{
    for (unsigned refresh = 0; refresh < 3; refresh++) {
        const struct sq_dram_options o = {.refresh = refresh};
        if (refresh == SQ_DRAM_REFRESH_BANK && !device->t[SQ_DRAM_T_RFCpb])
            continue;
        const struct sq_dram_setup usual = setup_of(device, &o);
        struct sq_dram_setup setup[] = {usual, usual};
        struct sq_dram *const d = calloc(2, sizeof *d);
        struct traffic *const t = calloc(2, sizeof *t);
        assert_true(d && t);
        for (unsigned i = 0; i < 2; i++) {
            setup[i].note = (struct sq_dram_note){note, &t[i]};
            sq_dram_init(&d[i], &setup[i]);
            for (uint32_t k = 0; k < 16; k++)
                sq_dram_ask(&d[i], k * 70000u, 12000, k % 4 == 3, 0);
            while (d[i].now < 40000)
                (void)sq_dram_run(&d[i], i ? d[i].now + 1 : 40000);
        }
        assert_int_equal(t[0].n[0], t[1].n[0]);
        assert_memory_equal(t[0].trace[0], t[1].trace[0], t[0].n[0] * sizeof t[0].trace[0][0]);
        struct judge j = {.d = device, .trace = t[0].trace[0], .n = t[0].n[0]};
        const char *why = judge_trace(&j);
        why = why ? why : judge_refreshes(&j, refresh, 40000);
        if (why)
            fail_msg("%s: %s", device->name, why);
        free(d);
        free(t);
    }
}

SQ_TEST(traces_of_every_device_pass_and_leaps_change_nothing)
{
    for_devices(judge_stream_trace);
}

// Reads of an open row without end, and one write of another row of the same bank: it goes when its age is over.
static void judge_patience(const struct sq_dram_device *device)
{
    const struct sq_dram_options o = {.age = 600, .refresh = SQ_DRAM_REFRESH_NONE};
    const struct sq_dram_setup setup = setup_of(device, &o);
    struct sq_dram *const d = calloc(1, sizeof *d);
    const uint64_t row = (uint64_t)sq_dram_burst_nbytes(device) *
                         (device->columns / device->burst) * sq_dram_n_banks(device);
    uint64_t went = 0, asked = 0;
    assert_non_null(d);
    sq_dram_init(d, &setup);
    while (d->now < 20000) {
        for (; sq_dram_has_room(d); asked++)
            sq_dram_ask(d, asked == 100 ? row : 0, 1, asked == 100, asked == 100);
        (void)sq_dram_run(d, d->now + 50);
        for (uint32_t i = 0; i < d->n_done; i++)
            went = d->done[i].tag == 1 ? d->done[i].time : went;
    }
    assert_true(asked > 1000);
    assert_true(went > 0 && went < 5000);
    free(d);
}

SQ_TEST(no_burst_waits_for_ever)
{
    for_devices(judge_patience);
}

// ---- another clock ------------------------------------------------------------------------------

SQ_TEST(cycles_and_clocks_meet)
{
    struct sq_dram_device d;
    struct sq_rng rng = {seed()};
    assert_ok(sq_dram_device_named("ddr4-2400", SQ_DRAM_FAST, &d, NULL));
    for (unsigned i = 0; i < 1000; i++) {
        const uint64_t mhz = draw(&rng, 1, 4000), n = sq_rng_below(&rng, 1000000000);
        const struct sq_dram_clock c = sq_dram_clock_of(&d, 1e6 * (double)mhz);
        // The first one of either kind that does not begin before number n of the other: 10^-6 ps over the megahertz.
        const uint64_t clock = sq_dram_clock_at(&c, n), cycle = sq_dram_cycle_at(&c, n);
        const uint64_t of_clock = d.clock_ps * mhz, of_cycle = 1000000;
        assert_in_range(clock * of_clock, n * of_cycle, n * of_cycle + of_clock - 1);
        assert_in_range(cycle * of_cycle, n * of_clock, n * of_clock + of_cycle - 1);
    }
    const struct sq_dram_clock c = sq_dram_clock_of(&d, 1e9);
    assert_int_equal(sq_dram_clock_at(&c, 833), 1000);
    assert_int_equal(sq_dram_cycle_at(&c, 1000), 833);
}

// ---- files --------------------------------------------------------------------------------------

static const char good[] =
    "name: test\nstandard: DDR4\nsources: [{id: A, text: here}]\nvalues:\n"
    "- {key: clock, value: 833 ps, source: A}\n- {key: width, value: 64, source: A}\n"
    "- {key: burst, value: 8, source: A}\n- {key: beats, value: 2, source: A}\n"
    "- {key: pseudo, value: 1, source: A}\n- {key: ranks, value: 1, source: A}\n"
    "- {key: groups, value: 4, source: A}\n- {key: banks, value: 4, source: A}\n"
    "- {key: rows, value: 32768, source: A}\n- {key: columns, value: 1024, source: A}\n"
    "- {key: buses, value: 1, source: A}\n- {key: act, value: 1, source: A}\n"
    "- {key: pre, value: 1, source: A}\n- {key: col, value: 1, source: A}\n"
    "- {key: ref, value: 1, source: A}\n- {key: CL, value: 16, source: A}\n"
    "- {key: CWL, value: 16, source: A}\n- {key: RCDRD, value: 13.32..15 ns, source: A}\n"
    "- {key: RP, value: 16, source: A}\n- {key: RAS, value: 39, source: A}\n"
    "- {key: RC, value: 55, source: A}\n- {key: RTP, value: 9..12, source: A}\n"
    "- {key: WR, value: 18, source: A}\n- {key: WTRS, value: 3, source: A}\n"
    "- {key: RRDS, value: 4, source: A}\n- {key: FAW, value: 26, source: A}\n"
    "- {key: CCDS, value: 4, source: A}\n- {key: RTW, value: 6, source: A}\n"
    "- {key: REFI, value: 7000..7800 ns, source: A}\n- {key: RFC, value: 312, source: A}\n";

static enum sq_status parse_with(const char *from, const char *to, enum sq_dram_end end,
                                 struct sq_dram_device *d, struct sq_error *err)
{
    char text[sizeof good + 400];
    const char *const at = strstr(good, from);
    assert_non_null(at);
    const int n =
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    return sq_dram_device_parse(text, (size_t)n, "test.yaml", end, d, err);
}

SQ_TEST(a_device_is_read_at_both_ends)
{
    struct sq_dram_device fast, slow;
    assert_ok(parse_with("", "", SQ_DRAM_FAST, &fast, NULL));
    assert_ok(parse_with("", "", SQ_DRAM_SLOW, &slow, NULL));
    assert_true(fast.is_range && slow.is_range);
    assert_int_equal(fast.t[SQ_DRAM_T_RCDRD], 16); // 13.32 ns are 15.99 clocks
    assert_int_equal(slow.t[SQ_DRAM_T_RCDRD], 19);
    assert_int_equal(slow.t[SQ_DRAM_T_RCDWR], 19); // as RCDRD
    assert_int_equal(fast.t[SQ_DRAM_T_RTP], 9);
    assert_int_equal(slow.t[SQ_DRAM_T_RTP], 12);
    assert_int_equal(fast.t[SQ_DRAM_T_REFI], 9364); // fewer refreshes
    assert_int_equal(slow.t[SQ_DRAM_T_REFI], 8404);
    assert_int_equal(fast.t[SQ_DRAM_T_CCDL], 4);
    assert_int_equal(fast.t[SQ_DRAM_T_REFIpb], 0);
    assert_int_equal(fast.clock_ps, 833);
}

static const char with_energy[] =
    "- {key: Eact, value: 100 pJ, source: A}\n- {key: Eread, value: 20 pJ, source: A}\n"
    "- {key: Ewrite, value: 30 pJ, source: A}\n- {key: Erefresh, value: 1600 pJ, source: A}\n"
    "- {key: background, value: 2..3.5 mW, source: A}\n- {key: CL, ";

SQ_TEST(energies_count_commands_and_time)
{
    struct sq_dram_device d;
    const struct sq_dram_options o = {.channels = 2};
    assert_ok(parse_with("- {key: CL, ", with_energy, SQ_DRAM_FAST, &d, NULL));
    const struct sq_dram_setup setup = setup_of(&d, &o);
    const struct sq_dram_stats s = {.command = {1, 9, 9, 10, 100, 1000, 10000, 2, 16}};
    double pj[2];
    sq_dram_picojoules(&setup, &s, 1e-6, pj);
    const double work = 100 + 110 * 20 + 11000 * 30 + 2 * 1600 + 16 * 100;
    assert_true(fabs(pj[0] - work - 4000) < 1e-6 && fabs(pj[1] - work - 7000) < 1e-6);
}

static unsigned with_joules;

// Data sheets: 2 to 15 pJ for a bit that is read, an activate dearer than a burst's half, a refresh dearer than it.
static void judge_energy(const struct sq_dram_device *d)
{
    const struct sq_dram_energy *const e = &d->energy;
    const double bits = 8 * (double)sq_dram_burst_nbytes(d);
    if (!e->is_there)
        return;
    with_joules++;
    assert_true(e->read_pj > 2 * bits && e->read_pj < 15 * bits && e->write_pj < e->read_pj);
    assert_true(2 * e->act_pj > e->read_pj && e->refresh_pj > e->act_pj);
    assert_true(e->background_mw[0] > 0 && e->background_mw[1] > e->background_mw[0]);
}

SQ_TEST(energies_of_devices_are_in_the_range_of_data_sheets)
{
    with_joules = 0;
    for_devices(judge_energy);
    assert_int_equal(with_joules, 4);
}

SQ_TEST(damaged_devices_are_refused)
{
    static const char *const bad[][2] = {
        {"833 ps", "833"},
        {"833 ps", "99 ps"},
        {"833 ps", "700..833 ps"},
        {"key: CL, ", "key: CR, "},
        {"key: CL, ", "key: RP, "},
        {"- {key: CL, value: 16, source: A}\n", ""},
        {"- {key: rows, value: 32768, source: A}\n", ""},
        {"CL, value: 16, source: A", "CL, value: 16, source: B"},
        {"CL, value: 16, source: A", "CL, value: 16, sauce: A"},
        {"CL, value: 16", "CL, value: -16"},
        {"CL, value: 16", "CL, value: 16 mm"},
        {"CL, value: 16", "CL, value: 18..16"},
        {"CL, value: 16", "CL, value: 16..16"},
        {"CL, value: 16", "CL, value: 16.."},
        {"CL, value: 16", "CL, value: 1e9"},
        {"width, value: 64", "width, value: 60"},
        {"groups, value: 4", "groups, value: 3"},
        {"banks, value: 4", "banks, value: 0"},
        {"rows, value: 32768", "rows, value: 4..8"},
        {"CCDS, value: 4", "CCDS, value: 3"},
        {"RTW, value: 6", "RTW, value: 3"},
        {"RFC, value: 312", "RFC, value: 9400"},
        {"RFC, value: 312", "RFCpb, value: 312"},
        {"columns, value: 1024", "columns, value: 1000"},
        {"- {key: CL, ", "- {key: Eact, value: 9 pJ, source: A}\n- {key: CL, "},
        {"- {key: CL, ", "- {key: Eact, value: 9, source: A}\n- {key: CL, "},
        {"- {key: CL, ", "- {key: background, value: 9..2 mW, source: A}\n- {key: CL, "}};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sq_dram_device d;
        struct sq_error err = {.text = ""};
        if (parse_with(bad[i][0], bad[i][1], SQ_DRAM_FAST, &d, &err) == SQ_OK)
            fail_msg("'%s' for '%s' was taken", bad[i][1], bad[i][0]);
        if (!strstr(err.text, "need") && !strstr(err.text, "key"))
            fail_msg("%s", err.text);
    }
}

SQ_TEST(options_out_of_range_are_refused)
{
    static const struct sq_dram_options bad[] = {
        {.channels = 3}, {.channels = 32}, {.queue = 17}, {.refresh = SQ_DRAM_REFRESH_BANK}};
    struct sq_dram_device d;
    struct sq_error err;
    assert_ok(sq_dram_device_named("ddr4-2400", SQ_DRAM_FAST, &d, NULL));
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sq_dram_setup s;
        assert_int_not_equal(sq_dram_setup_init(&d, &bad[i], &s, &err), SQ_OK);
        assert_non_null(strstr(err.text, "need"));
    }
    assert_int_equal(sq_dram_device_named("ddr9", SQ_DRAM_FAST, &d, &err), SQ_ERR_ARG);
    assert_non_null(strstr(err.text, "hbm3"));
}
