// SPDX-License-Identifier: Apache-2.0
// What SpQt fetches and how long its index unit takes, by hand (SPEC P10, G.8).
#include <math.h>

#include "models/sq_rng.h"
#include "sim/format/spqt/sq_spqt_cost.h"
#include "sim/format/spqt/sq_spqt_recipe.h"
#include "sim/format/sq_work_split.h"
#include "tests/test.h"

// Expected active columns of the busiest of `workers` >= 1 that own fixed slices of ceil(k / workers)
// columns (G.8, B2): sum over t of 1 - P(Binomial(slice, active) <= t)^workers.
static double spqt_busiest(uint64_t k, uint64_t workers, double active)
{
    const uint64_t slice = (k + workers - 1) / workers;
    if (active <= 0 || active >= 1)
        return active <= 0 ? 0 : (double)slice;
    // P(count = t) by its ratio to the one before, in logarithms: the first ones are tiny.
    const double odds = log(active) - log1p(-active);
    double log_p = (double)slice * log1p(-active), cumulative = 0, sum = 0;
    for (uint64_t t = 0; t < slice; t++) {
        cumulative += exp(log_p);
        sum += 1 - pow(fmin(cumulative, 1), (double)workers);
        log_p += odds + log((double)(slice - t) / (double)(t + 1));
    }
    return sum;
}

// SPEC P10 and G.8. By hand, half of the columns active and bursts of 64: four superblocks of 144
// bytes are nine bursts, of which three hold the end of one superblock and the start of the next.
SQ_TEST(test_spqt_cost)
{
    static const double p = 0.5;
    assert_true(fabs(sq_spqt_fetched(SQ_SPQT_ZIGZAG, 64, p) - (6 * p + 3 * 0.75) / 9) < 1e-12);
    // 144 = 9 x 16: no burst holds two superblocks, and none is half needed.
    assert_true(sq_spqt_fetched(SQ_SPQT_ZIGZAG, 16, p) == p);
    assert_true(sq_spqt_fetched(SQ_SPQT_ZIGZAG, 0, 0.3) == 1 - 0.7);
    // Row: the first of nine bursts of 16 holds the scales of 256 columns, the others 32 columns.
    assert_true(fabs(sq_spqt_fetched(SQ_SPQT_ROW, 16, 0.01) -
                     (1 - pow(0.99, 256) + 8 * (1 - pow(0.99, 32))) / 9) < 1e-12);
    assert_true(fabs(sq_spqt_fetched(SQ_SPQT_ROW, 0, p) - 1) < 1e-15);
    for (unsigned layout = 0; layout < SQ_SPQT_LAYOUTS; layout++)
        for (unsigned burst = 0; burst <= 4096; burst = burst < 300 ? burst + 1 : burst + 97) {
            const enum sq_spqt_layout l = (enum sq_spqt_layout)layout;
            double last = 0;
            for (unsigned i = 0; i <= 20; i++) { // more columns, more bytes, none left out
                const double a = i / 20., now = sq_spqt_fetched(l, burst, a);
                assert_true(now >= a - 1e-12 && now <= 1 && now >= last);
                last = now;
            }
            assert_true(sq_spqt_fetched(l, burst, 0) == 0 && sq_spqt_fetched(l, burst, 1) == 1);
        }
    // K = 4096, 64 workers, 50 %: the sum in exact integers; SPEC G.8 has 41.4 of 64.
    assert_true(fabs(spqt_busiest(4096, 64, 0.5) - 41.31159398719409) < 1e-9);
    assert_true(fabs(spqt_busiest(4096, 1, 0.25) - 1024) < 1e-6); // the mean
    assert_true(fabs(spqt_busiest(2, 2, 0.5) - 0.75) < 1e-12);    // 1 - 1/4
    assert_true(fabs(spqt_busiest(4, 2, 0.5) - (0.4375 + 15. / 16)) < 1e-12);
    assert_true(spqt_busiest(4096, 64, 1) == 64 && spqt_busiest(4096, 64, 0) == 0);
    // The same from masks, by the definition of sq_work_split.h.
    struct sq_rng r = {1};
    double sum = 0;
    enum { K = 4096, MASKS = 1000 };
    for (unsigned i = 0; i < MASKS; i++) {
        static uint32_t idx[K];
        size_t n = 0;
        for (uint32_t c = 0; c < K; c++)
            if (sq_rng_below(&r, 2))
                idx[n++] = c;
        sum += (double)sq_work_split_columns(idx, n, K, 64, true);
    }
    assert_true(fabs(sum / MASKS - spqt_busiest(K, 64, 0.5)) < 0.2); // 4 sigma
    // 128 segments of 32 with 16 columns each, 8 a beat: 256 beats, the first after 3 cycles.
    assert_int_equal(sq_spqt_index_cycles(4096, 0.5), 3 + 256);
    assert_int_equal(sq_spqt_index_cycles(4096, 0.25), 3 + 128);
    // Nothing active: the segments pass, one a cycle, and an empty beat ends the vector.
    assert_int_equal(sq_spqt_index_cycles(4096, 0), 3 + 128);
    assert_int_equal(sq_spqt_index_cycles(4096, 1), 3 + 512);
}
