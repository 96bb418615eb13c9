// SPDX-License-Identifier: Apache-2.0
// Sizes up to the documented limits and beyond them, through every path that counts cycles or
// bytes: core, machine (all formats), GPU. A GEMM is either refused in one sentence, or its figures
// are right: cycles >= bound = the bound summed here in 128 bits, causes that sum to the cycles,
// utilisation in 0..1, at least the bytes that any machine must move. Sampled: sizes, machines and
// formats, by their logarithm, with the corners (1, 2^24, 2^24 + 1, 2^40, 2^64 - 1) drawn often.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include "models/sq_rng.h"
#include "sim/block/core/sq_core_run.h"
#include "sim/gpu/sq_gpu_predict.h"
#include "sim/io/sq_checked.h"
#include "sim/machine/sq_machine_run.h"
#include "sim/machine/sq_roofline.h"
#include "tests/sim/random_recipe.h"
#include "tests/unit/fixture.h"

__extension__ typedef unsigned __int128 wide;

// Log-uniform in 2^0..2^bits.
static uint64_t spread(struct sq_rng *r, unsigned bits)
{
    return (uint64_t)exp2(sq_rng_unit(r) * bits);
}

static uint64_t random_size(struct sq_rng *r)
{
    static const uint64_t corner[] = {
        1, (1 << 24) - 1, 1 << 24, (1 << 24) + 1, UINT64_C(1) << 40, UINT64_MAX, 0};
    const unsigned pick = sq_rng_below(r, 40);
    return pick < 4 ? 1 << 24 : pick < 4 + 7 ? corner[pick - 4] : spread(r, 24);
}

static struct sq_core_config random_core(struct sq_rng *r)
{
    struct sq_core_config c = sq_core_config_default();
    c.rows = (unsigned)spread(r, 6);
    c.cols = (unsigned)spread(r, 6);
    c.low_lanes = (unsigned)spread(r, 7);
    c.high_lanes = (unsigned)spread(r, 6);
    return c;
}

static struct sq_machine random_machine(struct sq_rng *r)
{
    struct sq_machine m = {.name = "random", .core = random_core(r)};
    m.cores = sq_rng_below(r, 2) ? 1 : 1u << sq_rng_below(r, 11);
    m.clock_hz = 1e6 * exp10(4 * sq_rng_unit(r));
    m.dram_bytes_per_s = 1e6 * exp10(9 * sq_rng_unit(r));
    m.burst_nbytes = 16u << sq_rng_below(r, 9);
    m.dram_latency = sq_rng_below(r, 2) ? spread(r, 23) : 0;
    m.act_nbytes = UINT64_C(64) << between(r, 6, 24);
    m.weight_nbytes = UINT64_C(64) << between(r, 6, 24);
    m.out_nbytes = UINT64_C(64) << between(r, 8, 24);
    sq_machine_derive(&m);
    return m;
}

// The unit over all steps, from the classes of a plan.
static wide compute_of(const struct sq_mapping *p)
{
    wide sum = 0;
    for (unsigned i = 0; i < SQ_STEP_CLASSES; i++) {
        const wide m = i & 1 ? 1 : p->count_m - 1, n = i & 2 ? 1 : p->count_n - 1;
        const wide k = i & 4 ? 1 : p->count_k - 1;
        const struct sq_tile_list list = sq_mapping_list(p, i);
        if (p->step[i].job.tiles > 0)
            sum += m * n * k * sq_unit_bound(&p->cost.unit, &p->step[i].job, &list);
    }
    return sum;
}

static void check_run(const struct sq_machine *m, const struct sq_recipe *s,
                      const struct sq_mapping *p)
{
    const struct sq_gemm *g = &p->gemm;
    const struct sq_machine_stats a = sq_machine_run_fast(m, p, NULL);
    long double nbytes = 0;
    assert_true((wide)p->sum.compute == compute_of(p));
    assert_true(a.cycles >= p->bound && a.cycles <= p->limit && p->limit <= SQ_COUNT_MAX);
    assert_int_equal(sq_unit_causes_sum(a.low) + a.index + a.memory, a.cycles);
    assert_int_equal(sq_unit_causes_sum(a.high) + a.index + a.memory, a.cycles);
    const double low = sq_mapping_use_low(m, p, (double)a.cycles);
    const double high = sq_mapping_use_high(m, p, (double)a.cycles);
    assert_true(low >= 0 && low <= 1 && high >= 0 && high <= 1);
    assert_true(low > 0 || strcmp(s->format->name, "gqsa") == 0); // which may keep no group
    // Every output leaves once, every activation is read at least once (2 bits or more).
    assert_true((wide)a.nbytes[SQ_STREAM_OUT] == (wide)2 * g->m * g->n);
    assert_true((wide)a.nbytes[SQ_STREAM_ACT] * 4 >= (wide)g->m * g->k);
    if (strcmp(s->format->name, "gqsa") != 0 && strcmp(s->format->name, "spqt") != 0)
        assert_true((wide)a.nbytes[SQ_STREAM_LO] * 4 >= (wide)g->n * g->k);
    for (unsigned i = 0; i < SQ_N_STREAMS; i++)
        nbytes += (long double)a.nbytes[i];
    const long double per_cycle =
        (long double)m->burst_nbytes * (long double)m->burst_den / (long double)m->burst_num;
    assert_true((long double)p->sum.dram * per_cycle >= nbytes * (1 - 1e-15L));
}

SQ_TEST(test_machine)
{
    struct sq_rng r = {fixture_seed()};
    unsigned sizes = 0, counts = 0, tiles = 0, done = 0;
    for (unsigned i = 0; i < 1200; i++) {
        const struct sq_machine m = random_machine(&r);
        const struct sq_recipe s = random_recipe(&r);
        const struct sq_gemm g = {random_size(&r), random_size(&r), random_size(&r)};
        struct sq_mapping p;
        struct sq_error err;
        if (sq_mapping_make(&m, &s, &g, &p, &err) == SQ_OK) {
            check_run(&m, &s, &p);
            done++;
            continue;
        }
        assert_true(err.code == SQ_ERR_RANGE || err.code == SQ_ERR_UNSUPPORTED);
        const bool is_over = strstr(err.text, "more than 9223372036854775807") != NULL;
        sizes += strstr(err.text, "need 1..16777216") != NULL;
        tiles += strstr(err.text, "does not hold one tile") != NULL;
        counts += is_over;
        // Never refused without need: one MAC cannot cost 2^33 bytes.
        assert_true(!is_over || (long double)g.m * (long double)g.n * (long double)g.k > 0x1p30L);
    }
    assert_true(sizes > 50 && counts > 5 && tiles > 5 && done > 200);
}

// What the program printed with exit 0: 835596.8 % of the low path, cycles below the bound.
SQ_TEST(test_limits_together)
{
    const struct sq_gemm huge = {SQ_GEMM_MAX, SQ_GEMM_MAX, SQ_GEMM_MAX};
    struct sq_machine m;
    struct sq_error err;
    struct sq_mapping p;
    assert_ok(sq_machine_load("sim/machines/default.yaml", &m, NULL));
    m.core.rows = m.core.cols = m.core.low_lanes = m.core.high_lanes = 1;
    for (size_t i = 0; sq_formats[i]; i++) {
        const struct sq_recipe s = default_of(sq_formats[i]);
        m.core.rows = m.core.cols = s.format->cost->law ? 3 : 1; // multipliers of one engine
        m.core.low_lanes = s.format->cost->law ? 128 : 1;
        assert_int_equal(sq_mapping_make(&m, &s, &huge, &p, &err), SQ_ERR_RANGE);
        assert_non_null(strstr(err.text, "more than 9223372036854775807"));
    }
}

SQ_TEST(test_core)
{
    static const struct sq_rates free_streams = {1, 1, 1, 1};
    struct sq_rng r = {fixture_seed() + 1};
    unsigned refused = 0, done = 0;
    for (unsigned i = 0; i < 2000; i++) {
        const struct sq_core_config c = random_core(&r);
        const struct sq_format f = sq_format_default();
        const uint64_t m = random_size(&r), n = random_size(&r);
        const uint64_t k = sq_k_padded(&f, 1 + spread(&r, 31));
        struct sq_job job;
        struct sq_error err;
        if (m == 0 || n == 0)
            continue;
        if (sq_core_config_check(&c, NULL) != SQ_OK)
            continue;
        if (sq_gemm_job(&c, &f, m, n, k, &job, &err) != SQ_OK) {
            assert_int_equal(err.code, SQ_ERR_RANGE);
            refused++;
            continue;
        }
        const wide tiles = ((wide)m + c.rows - 1) / c.rows * (((wide)n + c.cols - 1) / c.cols);
        assert_true(tiles * sq_n_groups(&f, k) == job.groups);
        const struct sq_core_stats s = sq_core_run_fast(&c, &job, &free_streams);
        assert_true(s.cycles >= sq_job_bound(&c, &job));
        assert_int_equal(sq_causes_sum(s.low), s.cycles);
        assert_int_equal(sq_causes_sum(s.high), s.cycles);
        const double low = sq_utilisation_low(&c, m, n, k, s.cycles);
        const double high = sq_utilisation_high(&c, m, n, k, s.cycles);
        assert_true(low > 0 && low <= 1 && high > 0 && high <= 1);
        done++;
    }
    assert_true(refused > 100 && done > 100);
}

SQ_TEST(test_gpu)
{
    struct sq_rng r = {fixture_seed() + 2};
    struct sq_gpu gpu;
    unsigned refused = 0, done = 0;
    assert_ok(sq_gpu_load("sim/machines/h200.yaml", &gpu, NULL));
    for (unsigned i = 0; i < 2000; i++) {
        const struct sq_recipe s = random_recipe(&r);
        struct sq_workload_row row = {.gemm = {random_size(&r), random_size(&r), random_size(&r)},
                                      .count = 1 + spread(&r, 19)};
        const struct sq_workload w = {.n = 1, .row = &row};
        struct sq_gpu_total t;
        struct sq_error err;
        const enum sq_status status = sq_gpu_total_recipe(&gpu, &s, &w, NULL, &t, &err);
        const uint64_t size[3] = {row.gemm.m, row.gemm.n, row.gemm.k};
        bool fits = true;
        for (unsigned d = 0; d < 3; d++)
            fits = fits && size[d] >= 1 && size[d] <= SQ_GEMM_MAX;
        if (!s.format->gpu) {
            assert_int_equal(status, SQ_ERR_ARG);
            assert_non_null(strstr(err.text, "not modelled on a GPU"));
            continue;
        }
        assert_int_equal(status, fits ? SQ_OK : SQ_ERR_RANGE);
        if (!fits) {
            assert_non_null(strstr(err.text, "need 1..16777216"));
            refused++;
            continue;
        }
        // Outputs of two bytes, and activations of one, at the bandwidth of the DRAM.
        const double m = (double)row.gemm.m;
        const double nbytes = 2 * m * (double)row.gemm.n + m * (double)row.gemm.k;
        assert_true(isfinite(t.seconds) && t.seconds >= t.dram_s && t.launch_s < t.seconds);
        assert_true(t.dram_s >= 0.999 * (double)row.count * nbytes / gpu.dram_peak);
        done++;
    }
    assert_true(refused > 50 && done > 100);
}

SQ_TEST(test_saturation)
{
    uint64_t sum = 1;
    assert_int_equal(sq_sat_add(UINT64_MAX - 1, 1), UINT64_MAX);
    assert_int_equal(sq_sat_add(UINT64_MAX, 1), SQ_COUNT_OVER);
    assert_int_equal(sq_sat_mul(UINT64_C(1) << 32, UINT64_C(1) << 32), SQ_COUNT_OVER);
    assert_int_equal(sq_sat_mul(UINT32_MAX, UINT32_MAX), (uint64_t)UINT32_MAX * UINT32_MAX);
    assert_int_equal(sq_sat_mul(0, SQ_COUNT_OVER), 0);
    sq_sat_sum(&sum, 3, 5);
    assert_int_equal(sum, 16);
    sq_sat_sum(&sum, UINT64_MAX, 2);
    sq_sat_sum(&sum, 1, 1);
    assert_int_equal(sum, SQ_COUNT_OVER); // sticks
    assert_true(sq_utilisation(1 + 1e-12, 1) == 1 && sq_utilisation(1, 4) == 0.25);
    // The largest sizes that the closed forms take.
    assert_true(sq_scalesim_os_cycles(1 << 20, 1 << 20, 1 << 20, 1, 1) == UINT64_C(1) << 60 ||
                sq_scalesim_os_cycles(1 << 20, 1 << 20, 1 << 20, 1, 1) == (UINT64_C(1) << 60) - 1);
    assert_int_equal(sq_scalesim_os_cycles(1 << 24, 1 << 24, 1 << 24, 1, 1), SQ_COUNT_OVER);
    assert_int_equal(sq_roof_dense_cycles(1 << 24, 1 << 24, 1 << 24, 1), SQ_COUNT_OVER);
    assert_int_equal(sq_roof_weight_cycles(1 << 24, 1 << 24, 1 << 24, 1, 1, .5), SQ_COUNT_OVER);
    assert_int_equal(sq_roof_act_cycles(1 << 24, 1 << 24, 1 << 24, 1, 1, .5), SQ_COUNT_OVER);
}
