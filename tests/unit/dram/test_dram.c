// SPDX-License-Identifier: Apache-2.0
// A DRAM that keeps time. Each device, both ends of its ranges: every pair of commands in every relation of their banks
// is illegal at t-1 and legal at t, and two ranks, which no device has, on a copy; latencies by formula; streams at the peak
// less refresh; one bank; the window of four activates; turns. Random devices, maps, policies and traffic: a second judge
// (oracle_dram.h) reads every trace, nothing waits for ever, clocks add up. Maps: bijections, by linear algebra.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_rng.h"
#include "sim/dram/sq_dram_measure.h"
#include "sim/dram/sq_dram_state.h"
#include "tests/unit/dram/dram_fixture.h"
#include "tests/unit/dram/oracle_dram.h"

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

TEST_OF_DEVICES(pairs_of_two_ranks)
{
    struct sq_dram_device two = *d;
    two.ranks = 2;
    two.t[SQ_DRAM_T_RTRS] = 3;
    if (sq_dram_n_banks(&two) <= SQ_DRAM_BANKS_MAX)
        judge_pairs(&two);
}

// Five activates: RRD apart as far as that goes, then the window.
TEST_OF_DEVICES(the_fifth_activate_waits_for_the_window)
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

// ---- what a device gives --------------------------------------------------------------------

TEST_OF_DEVICES(unloaded_latencies_follow_the_formula)
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

static struct sq_dram_rate rate_of(const struct sq_dram_setup *s, enum sq_dram_pattern p,
                                   uint32_t bursts)
{
    struct sq_dram_rate r;
    assert_ok(sq_dram_measure(s, p, bursts, fixture_seed(), &r, NULL));
    return r;
}

// Without refresh all of the peak but for the first row and what ACT and PRE take of the command bus; with it less by
// RFC and the time in which rows are closed and opened, which is less than RC and a read.
TEST_OF_DEVICES(streams_reach_the_peak_less_refresh)
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

TEST_OF_DEVICES(one_bank_gives_a_burst_for_each_cycle_of_rows)
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

// Random reads: at most four bursts in FAW, in 4 RRDS and in the clocks that their commands take of the bus; DDR4 gets there.
TEST_OF_DEVICES(random_reads_meet_the_window_of_activates)
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

// A map that keeps a stream in one bank group has a burst each CCDL: 4 of 6 clocks on DDR4-2400.
SQ_TEST(a_stream_in_one_bank_group_is_slower)
{
    const struct sq_dram_device d = device_of("ddr4-2400");
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
    struct sq_rng rng = {fixture_seed()};
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
    const struct sq_dram_device d = device_of("hbm2");
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

// A DRAM of the device, whose commands are noted. The caller frees it.
struct run {
    struct sq_dram_setup setup;
    struct sq_dram d;
    struct traffic t;
};

static struct run *run_of(const struct sq_dram_device *device, const struct sq_dram_options *o)
{
    struct run *const r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->setup = setup_of(device, o);
    r->setup.note = (struct sq_dram_note){note, &r->t};
    sq_dram_init(&r->d, &r->setup);
    return r;
}

// All commands of a channel, and the refreshes until `now`; NULL: they are legal.
static const char *judge_run(const struct run *r, uint32_t channel, unsigned refresh, uint64_t now)
{
    struct judge j = {
        .d = &r->setup.rules.device, .trace = r->t.trace[channel], .n = r->t.n[channel]};
    const char *const why = judge_trace(&j);
    return why ? why : judge_refreshes(&j, refresh, now);
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

static struct sq_dram_stats judge_traffic(uint64_t s, bool settles)
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
    SQ_FREED struct run *const r = run_of(&device, &o);
    struct sq_dram *const d = &r->d;
    uint32_t asked = 0, tag = 0, gone = 0;
    while (gone < BURSTS) {
        ask_some(d, &r->t, &rng, &asked, &tag);
        const uint64_t until = d->now + draw(&rng, 1, 200);
        bool is_there;
        do {
            is_there = sq_dram_run(d, until);
            if (settles)
                sq_dram_settle(d);
            gone += d->n_done;
            for (uint32_t i = 0; i < d->n_done; i++)
                assert_true(d->done[i].time > r->t.asked[d->done[i].tag]);
        } while (!is_there && sq_rng_below(&rng, 4));
        assert_true(d->now < 2000000); // nothing waits for ever
    }
    assert_int_equal(gone, BURSTS);
    struct sq_dram_stats sum = sq_dram_stats_of(d);
    uint64_t clocks = 0;
    for (unsigned i = 0; i < SQ_DRAM_CAUSES; i++)
        clocks += sum.clocks[i];
    assert_int_equal(clocks, d->now * r->setup.channels * device.pseudo);
    for (uint32_t c = 0; c < r->setup.channels; c++) {
        const char *const why = judge_run(r, c, r->setup.refresh, d->now);
        if (why)
            fail_msg("seed %llu, channel %u: %s", (unsigned long long)s, c, why);
    }
    return sum;
}

SQ_TEST(traces_of_random_traffic_pass_the_second_judge)
{
    const char *n = getenv("SQ_TRACES");
    for (uint64_t i = 0, cases = n ? strtoull(n, NULL, 10) : 200; i < cases; i++) {
        const uint64_t s = fixture_seed() * 1000003 + i;
        const struct sq_dram_stats sum = judge_traffic(s, false), settled = judge_traffic(s, true);
        CHECK_EQ(memcmp(&sum, &settled, sizeof sum), 0, "case %llu: causes of settled states\n",
                 (unsigned long long)i);
    }
}

// Reads of one rank without a pause: what a refresh of all banks takes counts from the clock in which it is due, or from the
// end of the burst before it, to the first clock of an activate that it allows.
SQ_TEST(a_refresh_counts_from_its_due_time)
{
    struct sq_rng rng = {fixture_seed()};
    for (unsigned i = 0; i < 30; i++) {
        struct sq_dram_device device = draw_device(&rng);
        const struct sq_dram_options o = {.refresh = SQ_DRAM_REFRESH_ALL};
        device.pseudo = device.ranks = 1;
        SQ_FREED struct run *const r = run_of(&device, &o);
        struct sq_dram *const d = &r->d;
        uint64_t asked = 0, due = 0, from = 0, until = 0, free_at = 0, want = 0;
        while (d->now < 8000) {
            for (; sq_dram_has_room(d); asked++)
                sq_dram_ask(d, asked % 9999 * sq_dram_burst_nbytes(&device), 1, false, 0);
            (void)sq_dram_run(d, 8000);
        }
        for (const struct seen *c = r->t.trace[0]; c < r->t.trace[0] + r->t.n[0]; c++)
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
    }
}

// The same stream, run clock by clock and in leaps, ends alike: each command at its clock.
TEST_OF_DEVICES(traces_of_every_device_pass_and_leaps_change_nothing)
{
    for (unsigned refresh = 0; refresh < 3; refresh++) {
        const struct sq_dram_options o = {.refresh = refresh};
        if (refresh == SQ_DRAM_REFRESH_BANK && !d->t[SQ_DRAM_T_RFCpb])
            continue;
        SQ_FREED struct run *const leaps = run_of(d, &o);
        SQ_FREED struct run *const steps = run_of(d, &o);
        for (unsigned i = 0; i < 2; i++) {
            struct sq_dram *const dram = i ? &steps->d : &leaps->d;
            for (uint32_t k = 0; k < 16; k++)
                sq_dram_ask(dram, k * 70000u, 12000, k % 4 == 3, 0);
            while (dram->now < 40000)
                (void)sq_dram_run(dram, i ? dram->now + 1 : 40000);
        }
        assert_int_equal(leaps->t.n[0], steps->t.n[0]);
        assert_memory_equal(leaps->t.trace[0], steps->t.trace[0],
                            leaps->t.n[0] * sizeof(struct seen));
        const char *const why = judge_run(leaps, 0, refresh, 40000);
        if (why)
            fail_msg("%s: %s", d->name, why);
    }
}

// Reads of an open row without end, and one write of another row of the same bank: it goes when its age is over.
TEST_OF_DEVICES(no_burst_waits_for_ever)
{
    const struct sq_dram_options o = {.age = 600, .refresh = SQ_DRAM_REFRESH_NONE};
    SQ_FREED struct run *const r = run_of(d, &o);
    struct sq_dram *const dram = &r->d;
    const uint64_t row =
        (uint64_t)sq_dram_burst_nbytes(d) * (d->columns / d->burst) * sq_dram_n_banks(d);
    uint64_t went = 0, asked = 0;
    while (dram->now < 20000) {
        for (; sq_dram_has_room(dram); asked++)
            sq_dram_ask(dram, asked == 100 ? row : 0, 1, asked == 100, asked == 100);
        (void)sq_dram_run(dram, dram->now + 50);
        for (uint32_t i = 0; i < dram->n_done; i++)
            went = dram->done[i].tag == 1 ? dram->done[i].time : went;
    }
    assert_true(asked > 1000);
    assert_true(went > 0 && went < 5000);
}

// ---- another clock ------------------------------------------------------------------------------

SQ_TEST(cycles_and_clocks_meet)
{
    const struct sq_dram_device d = device_of("ddr4-2400");
    struct sq_rng rng = {fixture_seed()};
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
