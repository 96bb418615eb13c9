// SPDX-License-Identifier: Apache-2.0
// Vectors of SPEC on the verilated RTL and, in lock step, on the cycle model: V5 (dynamic mask by
// both TopK units, sums of the compact array), V6 (2:4 select, products, all 16 nibbles), V13
// (cycles of the parallel weight unit), and the boundary of D.2: the high path is hidden iff
// s >= 1 - 1/r. The words of V5 and V6 are read off the ports and compared with those of SPEC, not
// with a model.
//
// Exhausted: the 16 nibbles; of D.2 the last sparsity below each boundary and the first on it, for
// r = 2, 4, 8, 16. Timing does not depend on rows and columns, so V13 runs on one PE with the lanes
// of the vector and its tiles are scaled: the period of a group is measured on two lengths of job.
#include "models/array/sq_array.h"
#include "models/core/sq_topk.h"
#include "sim/block/core/sq_core_block.h"
#include "sim/cosim/sq_lockstep.h"
#include "sim/cosim/sq_port.h"
#include "sim/cosim/sq_rtl_build.h"
#include "tests/sim/block_fixture.h"
#include "tests/skip.h"
#include "tests/unit/fixture.h"

// False: no Verilator here.
static bool build(const struct sq_rtl_point *point, struct sq_rtl *rtl)
{
    struct sq_error err = {.text = ""};
    bool built;
    const char *home = getenv("SQSIM_HOME");
    const enum sq_status status = sq_rtl_load(rtl, point, home ? home : ".", &built, &err);
    if (status == SQ_ERR_TOOL) {
        printf("# skipped: %s\n", err.text);
        return false;
    }
    CHECK_EQ(status, SQ_OK, "%s\n", err.text);
    return true;
}

// ---- stream blocks --------------------------------------------------------------------------

// Offers one beat until it is taken and waits for the answer; returns the cycles from one to the
// other. `out` holds the elements of all output fields.
static unsigned ask(const struct sq_rtl_api *api, const struct sq_ports *s, const int32_t *beat,
                    int32_t *out)
{
    struct sq_port_words in, got;
    assert_true(sq_port_alloc(&in, s->in, s->n_in) && sq_port_alloc(&got, s->out, s->n_out));
    sq_port_put(&in, 0, s->n_in, beat);
    void *model = api->create(1, NULL, 0, 0);
    uint8_t valid = 1, answer[2] = {0, 0}; // ready, valid
    unsigned cycles = 0;
    bool is_taken = false;
    for (unsigned cycle = 0; cycle < 100 && !answer[1]; cycle++) {
        api->comb(model, &valid, 1, (const uint32_t *const *)in.word, answer);
        cycles += is_taken;
        if (valid && answer[0])
            is_taken = true;
        if (answer[1])
            api->beat(model, got.word);
        api->clock(model);
        valid = !is_taken;
    }
    assert_true(answer[1]);
    api->destroy(model);
    sq_port_get(&got, out);
    sq_port_free(&in);
    sq_port_free(&got);
    return cycles;
}

// The same beat in lock step with cycle model and golden model, under every pair of stalls.
static void lock_step(const struct sq_block *block, const struct sq_point *point,
                      const struct sq_rtl_api *api, const int32_t *beat)
{
    enum { REPEATS = 9 };
    const struct sq_ports s = sq_ports_of(block, point->value);
    const size_t len = sq_field_offset(s.in, s.n_in);
    struct sq_case c = {.block = block,
                        .point = point,
                        .seed = fixture_seed(),
                        .n_groups = REPEATS,
                        .n_beats = REPEATS};
    assert_ok(sq_case_alloc(&c, NULL));
    c.stall_seed[0] = c.seed;
    c.stall_seed[SQ_SINK] = c.seed + 1;
    for (size_t i = 0; i < REPEATS; i++) {
        memcpy(c.beats + i * len, beat, len * sizeof *beat);
        c.len[i][0] = 1;
    }
    for (unsigned i = 0; i < SQ_N_STALL_KINDS; i++)
        for (unsigned j = 0; j < SQ_N_STALL_KINDS; j++) {
            struct sq_result r;
            c.stall[0] = (struct sq_stall){(enum sq_stall_kind)i, 3};
            c.stall[SQ_SINK] = (struct sq_stall){(enum sq_stall_kind)j, 2};
            assert_ok(sq_lockstep_run(&c, api, NULL, &r, NULL));
            CHECK_EQ(r.mismatch.kind, SQ_MISMATCH_NONE, "stalls %u %u: %s\n", i, j,
                     r.mismatch.what);
            assert_int_equal(r.n_out, REPEATS);
        }
    sq_case_free(&c);
}

// One beat through one point: words on the ports, latency, lock step. False: skipped.
static bool replay(const char *name, const struct sq_point *point, const int32_t *beat,
                   const int32_t *want, unsigned latency)
{
    const struct sq_block *block = block_named(name);
    const struct sq_rtl_point p = {.block = block, .point = point};
    const struct sq_ports s = sq_ports_of(block, point->value);
    struct sq_rtl rtl;
    int32_t out[256];
    if (!build(&p, &rtl))
        return false;
    CHECK_EQ(ask(rtl.api, &s, beat, out), latency, "%s: latency\n", point->name);
    for (size_t i = 0; i < sq_field_offset(s.out, s.n_out); i++)
        CHECK_EQ(out[i], want[i], "%s: word %zu\n", point->name, i);
    lock_step(block, point, rtl.api, beat);
    sq_rtl_unload(&rtl);
    return true;
}

// x = [.1, -8, .4, .7, -.3, 6, -.7, .2] as magnitudes of FP16; mask {1, 5}.
SQ_TEST(v5_mask)
{
    static const int32_t mag[8] = {0x2e66, 0x4800, 0x3666, 0x399a, 0x34cd, 0x4600, 0x399a, 0x3266};
    static const int32_t mask[8] = {0, 1, 0, 0, 0, 1, 0, 0};
    static const struct sq_point rank = {"v5", false, {8, 2, 15, SQ_TOPK_RANK}};
    static const struct sq_point radix = {"v5r", false, {8, 2, 15, SQ_TOPK_RADIX}};
    if (replay("topk", &rank, mag, mask, 2))
        assert_true(replay("topk", &radix, mag, mask, 16));
}

// Its codes against integer weights: P_lo = 81, P_hi = 316.
SQ_TEST(v5_sums)
{
    static const int32_t beat[1 + 8 + 6 + 2 + 8] = {1,                               // last
                                                    1,    2,  -3, 4,  -5, 6, -7, 0,  // weights
                                                    1,    4,  7,  -3, -7, 2,         // low plane
                                                    -127, 95,                        // high plane
                                                    0,    1,  0,  0,  0,  1, 0,  0}; // mask
    static const int32_t want[3] = {81, 316, 0};
    // rows, cols, banks, bank, k, high codes, compact, on activations, two accumulators, bits
    static const struct sq_point points[] = {
        {"v5", false, {1, 1, 1, 8, 2, 2, SQ_ARRAY_COMPACT, 1, 0, 4, 4, 8, SQ_GATHER_CROSSBAR}},
        {"v5_log", false, {1, 1, 1, 8, 2, 2, SQ_ARRAY_COMPACT, 1, 0, 4, 4, 8, SQ_GATHER_LOG}}};
    if (replay("array", &points[0], beat, want, 4))
        assert_true(replay("array", &points[1], beat, want, 4));
}

// Row [0,5,0,-3, 7,0,0,9, 0,0,0,4, 0,0,0,0], metadata 0x4ccd: the row itself as activations gives
// back the stored values, its products with them the sum of their squares.
static const int32_t v6_row[16] = {0, 5, 0, -3, 7, 0, 0, 9, 0, 0, 0, 4, 0, 0, 0, 0};
static const int32_t v6_values[8] = {5, -3, 7, 9, 0, 4, 0, 0};
static const int32_t v6_meta[4] = {0xd, 0xc, 0xc, 0x4};

SQ_TEST(v6)
{
    SQ_NEED_ROOM("sp24");
    static const struct sq_point select = {"v6", false, {1, 4, 8}};
    static const struct sq_point products = {
        "v6", false, {1, 1, 2, 8, 1, 1, SQ_ARRAY_SP24, 0, 1, 8, 8, 8, 0}};
    int32_t beat[1 + 16 + 8 + 2 + 4] = {0}, want[8 + 4] = {0};
    memcpy(beat, v6_meta, sizeof v6_meta);
    memcpy(beat + 4, v6_row, sizeof v6_row);
    memcpy(want, v6_values, sizeof v6_values);
    if (!replay("meta24", &select, beat, want, 2))
        return;
    beat[0] = 1; // last
    memcpy(beat + 1, v6_row, sizeof v6_row);
    memcpy(beat + 17, v6_values, sizeof v6_values);
    beat[25] = beat[26] = 0; // high codes: none
    memcpy(beat + 27, v6_meta, sizeof v6_meta);
    const int32_t sums[3] = {5 * 5 + 3 * 3 + 7 * 7 + 9 * 9 + 4 * 4, 0, 0};
    assert_true(replay("array", &products, beat, sums, 3));
}

// SPEC E.2 spelled out: six nibbles are legal, ten raise the flag and select nothing.
SQ_TEST(every_nibble)
{
    SQ_NEED_ROOM("sp24");
    static const int8_t pair[16][2] = {{-1},   {-1},   {-1}, {-1}, {0, 1}, {-1},   {-1},   {-1},
                                       {0, 2}, {1, 2}, {-1}, {-1}, {0, 3}, {1, 3}, {2, 3}, {-1}};
    static const struct sq_point point = {"nibbles", false, {1, 1, 8}};
    const struct sq_rtl_point p = {.block = block_named("meta24"), .point = &point};
    const struct sq_ports s = sq_ports_of(p.block, point.value);
    struct sq_rtl rtl;
    unsigned n_illegal = 0;
    if (!build(&p, &rtl))
        return;
    for (int32_t nibble = 0; nibble < 16; nibble++) {
        const int32_t beat[5] = {nibble, -128, 127, 3, -4};
        const bool is_legal = pair[nibble][0] >= 0;
        int32_t out[3];
        (void)ask(rtl.api, &s, beat, out);
        CHECK_EQ(out[2], !is_legal, "nibble %d\n", nibble);
        for (unsigned i = 0; i < 2; i++)
            CHECK_EQ(out[i], is_legal ? beat[1 + pair[nibble][i]] : 0, "nibble %d\n", nibble);
        n_illegal += !is_legal;
    }
    assert_int_equal(n_illegal, 10);
    sq_rtl_unload(&rtl);
}

// ---- cycles of the core ---------------------------------------------------------------------

// A job with free streams in lock step; its counters are those of the RTL, compared at its end.
static struct sq_core_stats run_job(const struct sq_core_config *config,
                                    const struct sq_rtl_api *api, struct sq_job job)
{
    const struct sq_point point = sq_core_point(config);
    const size_t n = (size_t)job.group_banks * job.groups;
    struct sq_case c = {.point = &point};
    struct sq_rng rng = {fixture_seed()};
    struct sq_result r;
    int8_t *const act = fixture_exact(n * config->bank), *const lo =
                                                             fixture_exact(n * config->bank);
    int8_t *const hi = calloc(n, config->high_per_bank);
    for (size_t i = 0; i < n * config->bank; i++) { // one row, one column
        act[i] = (int8_t)sq_sign_extend((uint32_t)sq_rng_next(&rng), config->act_bits);
        lo[i] = (int8_t)sq_sign_extend((uint32_t)sq_rng_next(&rng), config->low_bits);
    }
    const struct sq_core_operands o = {n, act, lo, hi};
    assert_ok(sq_core_case(&c, &job, &o, fixture_seed(), NULL));
    assert_ok(sq_lockstep_run(&c, api, NULL, &r, NULL));
    CHECK_EQ(r.mismatch.kind, SQ_MISMATCH_NONE, "bank %u k %u: %s\n", config->bank,
             config->high_per_bank, r.mismatch.what);
    assert_int_equal(r.n_out, job.groups);
    sq_case_free(&c);
    free(hi);
    return sq_core_stats_of(r.status);
}

static struct sq_core_config one_pe(unsigned low_lanes, unsigned high_lanes, unsigned bank,
                                    unsigned k)
{
    struct sq_core_config c = sq_core_config_default();
    c.rows = c.cols = 1;
    c.low_lanes = low_lanes;
    c.high_lanes = high_lanes;
    c.bank = bank;
    c.high_per_bank = k;
    c.act_bits = 4;
    c.high_bits = 4;
    c.low_bits = 2;
    return c;
}

// r = L / H: with the sparsity below the boundary the low path waits for the high path and the high
// path gives the time; on the boundary the low path never waits.
SQ_TEST(d2_boundary)
{
    enum { BANK = 16, BANKS = 40, GROUPS = 6 };
    for (unsigned r = 2; r <= 16; r *= 2)
        for (unsigned k = BANK / r; k <= 2 * BANK / r && k <= BANK / 2; k *= 2) {
            const struct sq_core_config c = one_pe(r, 1, BANK, k);
            const struct sq_point point = sq_core_point(&c);
            const struct sq_rtl_point p = {.block = &sq_core_block, .point = &point};
            const bool is_hidden = (BANK - k) * r >= BANK * (r - 1); // s >= 1 - 1/r
            struct sq_rtl rtl;
            assert_int_equal(is_hidden, k == BANK / r);
            if (!build(&p, &rtl))
                return;
            const struct sq_core_stats one = run_job(&c, rtl.api, (struct sq_job){BANKS, 1});
            const struct sq_core_stats all = run_job(&c, rtl.api, (struct sq_job){BANKS, GROUPS});
            const unsigned low = BANK / r, bank_cycles = is_hidden ? low : k;
            CHECK_EQ(all.cycles - one.cycles, (GROUPS - 1) * BANKS * bank_cycles, "r %u k %u\n", r,
                     k);
            CHECK_EQ(all.low[SQ_CAUSE_WAIT_HIGH] == 0, is_hidden, "r %u k %u: low path waits\n", r,
                     k);
            CHECK_EQ(all.low[SQ_CAUSE_BUSY], (uint64_t)GROUPS * BANKS * low, "r %u k %u\n", r, k);
            CHECK_EQ(all.high[SQ_CAUSE_BUSY], (uint64_t)GROUPS * BANKS * k, "r %u k %u\n", r, k);
            sq_rtl_unload(&rtl);
        }
}

// M = 2048, N = K = 4096 on 16 x 16 PEs with L = 16, H = 4 (4096 and 1024 MAC per cycle): 32768
// tiles of 128 banks of 32. The period of a tile on the RTL, times the tiles, is the vector.
SQ_TEST(v13)
{
    enum { BANKS = 4096 / 32, TILES = 2048 / 16 * (4096 / 16) };
    static const struct {
        unsigned k;
        uint64_t cycles;
    } want[] = {{16, 16777216}, {8, 8388608}, {4, 8388608}, {2, 8388608}};
    for (unsigned i = 0; i < LEN(want); i++) {
        const struct sq_core_config c = one_pe(16, 4, 32, want[i].k);
        const struct sq_point point = sq_core_point(&c);
        const struct sq_rtl_point p = {.block = &sq_core_block, .point = &point};
        struct sq_rtl rtl;
        if (!build(&p, &rtl))
            return;
        const uint64_t short_job = run_job(&c, rtl.api, (struct sq_job){BANKS, 2}).cycles;
        const uint64_t long_job = run_job(&c, rtl.api, (struct sq_job){BANKS, 34}).cycles;
        CHECK_EQ((long_job - short_job) % 32, 0, "k %u\n", want[i].k);
        CHECK_EQ((long_job - short_job) / 32 * TILES, want[i].cycles, "k %u\n", want[i].k);
        // What the vector ignores: filling and draining, once.
        assert_in_range(long_job - (long_job - short_job) / 32 * 34, 0, 16);
        sq_rtl_unload(&rtl);
    }
}
