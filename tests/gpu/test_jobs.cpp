// SPDX-License-Identifier: Apache-2.0
// The measurement without a GPU (gpu/measure/sq_layer_bench.cu, sq_gemv_jobs.cu): the jobs of the decode
// kernels and of the encoders make their operands, launch on every operand copy and pass their own
// checks in the emulator; their records are accepted. Stand-ins: memory from the heap, times by a
// formula, no vendor library.
//
// Directed: one token and three; the launch overhead of the stand-in clock is found by the fit.
#include "tests/gpu/gpu_fixture.h"

#include <unistd.h>

#include "gpu/measure/sq_layer_bench.cuh"
#include "gpu/measure/sq_vendor.cuh"
#include "gpu/sq_quant.cuh"
#include "gpu/sq_reference.cuh"

extern "C" {
#include "sim/io/sq_json.h"
}

// ---- tests -------------------------------------------------------------------------------------

namespace
{

constexpr double kT0 = 2.5; // of the fake device

struct Fixture {
    Fixture()
    {
        if (bench.arena.init(64u << 20, nullptr) != SQ_OK)
            fail_msg("no memory");
        bench.cc_major = 8;
        bench.is_golden = true;
        bench.n_sms = 2;
        bench.seed = fixture_seed();
        bench.run.ts_utc = "2026-01-01T00:00:00Z";
        bench.run.revision = bench.run.driver = bench.run.nvcc = bench.run.flags = "x";
        bench.run.cublaslt = bench.run.cusparselt = bench.run.binary_sha256 = "x";
        bench.run.device = "emulator";
        bench.run.cc = "8.0";
        bench.run.copy_gbps = 4000;
        bench.run.read_gbps = 4200;
    }
    SqBench bench = {};
};

size_t n_lines(FILE *f)
{
    size_t n = 0;
    rewind(f);
    for (int c; (c = fgetc(f)) != EOF;)
        n += c == '\n';
    return n;
}

SQ_TEST(decode)
{
    Fixture f;
    FILE *const out = tmpfile();
    int n_checks = 0;
    for (int k : {256, 512, 768}) { // three shapes: enough for a fit
        const SqLayerShape s = {"none", "small", 1, 256, k};
        CHECK_OK(sq_bench_layer(&f.bench, &s, SQ_BENCH_DECODE, 5, out, &n_checks, err));
    }
    const SqLayerShape s = {"none", "small", 3, 256, 256};
    CHECK_OK(sq_bench_layer(&f.bench, &s, SQ_BENCH_DECODE, 5, out, &n_checks, err));
    CHECK_EQ(f.bench.n_wrong, 0, "checks: ");
    CHECK_EQ(n_checks, 3 * 10 + 4, "checks: ");
    for (struct sq_record &r : f.bench.decode)
        CHECK_EQ(r.bytes_counted > 0 && r.macs_executed > 0, 1, "%s %s: ", r.name, r.variant);
    CHECK_EQ(n_lines(out), 34, "records at once: ");
    rewind(out);
    if (ftruncate(fileno(out), 0) != 0)
        fail_msg("truncate");
    CHECK_OK(sq_bench_write_decode(&f.bench, out, err));
    CHECK_EQ(n_lines(out), 34, "records with the fit: ");
    rewind(out);
    char line[8192];
    while (fgets(line, sizeof line, out)) {
        json_t *json;
        CHECK_OK(sq_json_parse("record", line, strlen(line), &json, err));
        CHECK_OK(sq_record_check(json, "record", err));
        const bool is_one =
            json_integer_value(json_object_get(json_object_get(json, "problem"), "M")) == 1;
        const double t0 =
            json_number_value(json_object_get(json_object_get(json, "timing"), "t0_fit_us"));
        assert_true(is_one ? fabs(t0 - kT0) < 1e-6 : t0 == 0); // three shapes, one shape
        json_decref(json);
    }
    fclose(out);
}

SQ_TEST(encoders)
{
    Fixture f;
    FILE *const out = tmpfile();
    int n_checks = 0;
    const SqLayerShape s = {"none", "small", 16, 256, 256};
    CHECK_OK(sq_bench_layer(&f.bench, &s, SQ_BENCH_ENCODE, 5, out, &n_checks, err));
    CHECK_EQ(f.bench.n_wrong, 0, "checks: ");
    assert_true(n_checks >= 10);
    CHECK_EQ(n_lines(out), n_checks, "records: ");
    fclose(out);
}

// What no reference judges at this size is not called exact, and is not timed where the golden
// model did not agree.
SQ_TEST(only_by_traces)
{
    for (int is_golden = 0; is_golden < 2; is_golden++) {
        Fixture f;
        FILE *const out = tmpfile();
        int n_checks = 0, n_by_traces = 0;
        const SqLayerShape s = {"none", "small", 16, 256, 256};
        f.bench.is_golden = is_golden != 0;
        CHECK_OK(sq_bench_layer(&f.bench, &s, SQ_BENCH_ENCODE, 5, out, &n_checks, err));
        rewind(out);
        char line[8192];
        while (fgets(line, sizeof line, out)) {
            const bool is_it = strstr(line, "\"ref\":\"golden_traces\"") != nullptr;
            n_by_traces += is_it;
            assert_true(!is_it || strstr(line, "\"exact\":false"));
            assert_true(is_golden || !strstr(line, "\"name\":\"sq_encode_token\""));
        }
        CHECK_EQ(n_by_traces, is_golden ? 7 : 0, "golden %d: ", is_golden);
        CHECK_EQ(f.bench.n_wrong, is_golden ? 0 : 7, "golden %d: ", is_golden);
        fclose(out);
    }
}

// The compared tokens: of every residue class of small tiles some, first and last, none twice.
SQ_TEST(compared_rows)
{
    for (int m : {1, 2, 15, 16, 17, 33, 256, 257, 2048, 4096, 4097}) {
        const SqRefRows r = sq_ref_rows(m, 16);
        bool is_seen[32] = {};
        int n_seen = 0;
        CHECK_EQ(r.rows, m < 16 ? m : 16, "m %d: ", m);
        CHECK_EQ(r.row0 + (r.rows - 1) * r.step, m - 1, "m %d, the last: ", m);
        assert_true(r.row0 >= 0 && r.row0 <= 33);
        for (int i = 0; i < r.rows; i++) {
            const int place = (r.row0 + i * r.step) % 256 / 8; // row of a wgmma or mma fragment
            n_seen += !is_seen[place];
            is_seen[place] = true;
        }
        if (m >= 256)
            assert_true(n_seen >= 14); // a stride of 256 sees one place
    }
    CHECK_EQ(sq_ref_rows(33, 33).rows, 33, "all of a small shape: ");
    CHECK_EQ(sq_ref_rows(33, 33).step, 1, "all of a small shape: ");
}

// Six numbers of 65,536 that belong elsewhere pass a norm of 1e-2; each is off by more than
// allowed.
SQ_TEST(a_few_wrong_elements)
{
    constexpr int kM = 64, kN = 1024, kK = 128;
    struct sq_rng r = {fixture_seed()};
    Buffer<uint16_t> x(kM * kK), w(kN * kK), y(kM * kN);
    Buffer<double> want(kM * kN), allowed(kM * kN);
    Buffer<float> ones(kN);
    for (size_t i = 0; i < x.size; i++)
        x[i] = sq_to_bf16(random_value(&r));
    for (size_t i = 0; i < w.size; i++)
        w[i] = sq_to_bf16(random_value(&r));
    for (int i = 0; i < kN; i++)
        ones[static_cast<size_t>(i)] = 1;
    const SqGemmPair g = {kM, kN, nullptr,   nullptr,   x.data, w.data,
                          0,  kK, ones.data, ones.data, y.data};
    CHECK_OK(sq_ref_pair(&g, kM, 0, 1, want.data, allowed.data, nullptr, err));
    for (size_t i = 0; i < y.size; i++)
        y[i] = sq_to_bf16(static_cast<float>(want[i]));
    SqDifference d = {};
    CHECK_OK(sq_compare_bf16(y.data, want.data, allowed.data, kN, kM, 0, 1, &d, nullptr, err));
    CHECK_EQ(d.n_wrong, 0, "a right kernel: ");
    for (size_t i = 0; i < 6; i++)
        y[i * 9973] = y[i * 9973 + 1];
    CHECK_OK(sq_compare_bf16(y.data, want.data, allowed.data, kN, kM, 0, 1, &d, nullptr, err));
    assert_true(sqrt(d.sum_error / d.sum_ref) < 3e-2);
    CHECK_EQ(d.n_wrong, 6, "six wrong: ");
}

} // namespace
