// SPDX-License-Identifier: Apache-2.0
// Scheduling of kept groups (SPEC F.8). Directed: V8, more workers than groups, no work at all.
// Sampled: 4000 random matrices, skewed rows among them, judged by handing out every single group
// in a plain loop: loads sum to nnz, Stream-K is ideal, and no schedule beats the ideal.
#include "sim/format/sq_work_split.h"
#include "tests/unit/fixture.h"

enum { MAX_ROWS = 60, MAX_WORKERS = 40, MAX_NNZ = 300 };

static struct sq_work_split run(enum sq_work_split_kind kind, const uint32_t *nnz, size_t n,
                                size_t workers, size_t tile, uint64_t *load)
{
    struct sq_work_split s;
    assert_ok(sq_work_split(kind, nnz, n, workers, tile, &s, load, NULL));
    return s;
}

SQ_TEST(v8)
{
    const uint32_t nnz[4] = {1, 2, 0, 1};
    uint64_t load[2];
    // Row tiles of one: worker 0 has rows 0 and 2, worker 1 rows 1 and 3.
    const struct sq_work_split slice = run(SQ_SLICE_K, nnz, 4, 2, 1, load);
    assert_int_equal(slice.makespan, 3);
    assert_int_equal(load[0], 1);
    assert_int_equal(load[1], 3);
    const struct sq_work_split stream = run(SQ_STREAM_K, nnz, 4, 2, 1, load);
    assert_int_equal(stream.makespan, 2);
    assert_int_equal(stream.total, 4);
    // Greedy: rows 0 and 1 to workers 0 and 1, row 2 (empty) and row 3 to worker 0.
    const struct sq_work_split dynamic = run(SQ_SLICE_K_DYNAMIC, nnz, 4, 2, 1, load);
    assert_int_equal(dynamic.makespan, 2);
}

SQ_TEST(corners)
{
    const uint32_t nnz[3] = {0, 0, 2};
    uint64_t load[5];
    struct sq_work_split s = run(SQ_STREAM_K, nnz, 3, 5, 1, load);
    assert_int_equal(s.makespan, 1);
    assert_int_equal(s.ideal, 1);
    s = run(SQ_STREAM_K, nnz, 2, 5, 1, load); // no work
    assert_int_equal(s.makespan + s.total + s.ideal, 0);
    s = run(SQ_SLICE_K, nnz, 3, 1, 100, load);
    assert_int_equal(s.makespan, 2);
    struct sq_error err;
    assert_int_equal(sq_work_split(SQ_SLICE_K, nnz, 3, 0, 1, &s, NULL, &err), SQ_ERR_RANGE);
    assert_int_equal(sq_work_split(SQ_SLICE_K, nnz, 3, 1, 0, &s, NULL, &err), SQ_ERR_RANGE);
}

// Every group on its own: which worker has it.
static void judge(size_t workers, const struct sq_work_split *s, const uint64_t *load)
{
    uint64_t count[MAX_WORKERS] = {0};
    for (uint64_t e = 0; e < s->total; e++) {
        size_t p = 0;
        while (!(e >= p * s->total / workers && e < (p + 1) * s->total / workers))
            p++;
        count[p]++;
    }
    for (size_t p = 0; p < workers; p++)
        CHECK_EQ(load[p], count[p], "worker %zu of %zu\n", p, workers);
}

SQ_TEST(random_matrices)
{
    struct sq_rng r = {fixture_seed()};
    for (unsigned round = 0; round < 4000; round++) {
        uint32_t nnz[MAX_ROWS];
        uint64_t load[MAX_WORKERS];
        const size_t n = 1 + sq_rng_below(&r, MAX_ROWS),
                     workers = 1 + sq_rng_below(&r, MAX_WORKERS);
        const size_t tile = 1 + sq_rng_below(&r, 8);
        const uint32_t most = 1 + sq_rng_below(&r, 20);
        for (size_t i = 0; i < n; i++)
            nnz[i] = sq_rng_below(&r, 10) == 0 ? sq_rng_below(&r, MAX_NNZ) : sq_rng_below(&r, most);
        for (unsigned kind = 0; kind < SQ_WORK_SPLITS; kind++) {
            const struct sq_work_split s =
                run((enum sq_work_split_kind)kind, nnz, n, workers, tile, load);
            uint64_t sum = 0, largest = 0, total = 0;
            for (size_t p = 0; p < workers; p++) {
                sum += load[p];
                largest = load[p] > largest ? load[p] : largest;
            }
            for (size_t i = 0; i < n; i++)
                total += nnz[i];
            CHECK_EQ(sum, total, "schedule %u round %u: total work is nnz\n", kind, round);
            CHECK_EQ(s.makespan, largest, "schedule %u round %u\n", kind, round);
            assert_true(s.makespan >= s.ideal && s.ideal == (total + workers - 1) / workers);
            if (kind == SQ_STREAM_K) {
                CHECK_EQ(s.makespan, s.ideal, "round %u: Stream-K is ideal\n", round);
                judge(workers, &s, load);
            }
        }
    }
}
