// SPDX-License-Identifier: Apache-2.0
// The measurement without a GPU (gpu/sq_layer_bench.cu, sq_gemv_jobs.cu): the jobs of the decode
// kernels and of the encoders make their operands, launch on every operand copy and pass their own
// checks in the emulator; their records are accepted. Stand-ins: memory from the heap, times by a
// formula, no vendor library.
//
// Directed: one token and three; the launch overhead of the stand-in clock is found by the fit.
#include "tests/gpu/gpu_fixture.h"

#include "gpu/sq_layer_bench.cuh"
#include "gpu/sq_vendor.cuh"

extern "C" {
#include "sim/io/sq_json.h"
}

// ---- stand-ins ---------------------------------------------------------------------------------

namespace
{

constexpr double kT0 = 2.5, kBytesPerUs = 4e6;

} // namespace

enum sq_status SqArena::init(size_t nbytes, struct sq_error *err)
{
    base_ = static_cast<uint8_t *>(aligned_alloc(1024, nbytes));
    size_ = nbytes;
    return base_ ? SQ_OK : SQ_FAIL(err, SQ_ERR_MEMORY, "no %zu bytes", nbytes);
}
SqArena::~SqArena()
{
    free(base_);
}
void *SqArena::take_bytes(size_t nbytes)
{
    const size_t padded = (nbytes + 1023) / 1024 * 1024;
    if (padded > size_ - used_)
        return nullptr;
    used_ += padded;
    memset(base_ + used_ - padded, 0xa5, padded);
    return base_ + used_ - padded;
}
bool sq_is_capturable(const SqLaunch &, cudaStream_t)
{
    return true;
}
int sq_n_copies(size_t)
{
    return 3;
}
enum sq_status sq_time_candidates(std::vector<SqCandidate> *list, int samples, cudaStream_t stream,
                                  struct sq_error *err)
{
    for (SqCandidate &c : *list) {
        struct sq_record *const r = &c.record;
        for (int i = 0; i < c.n_buffers; i++)
            SQ_TRY(c.launch(i, stream, err));
        r->buffers = c.n_buffers;
        r->samples = samples;
        r->single_us = kT0 + r->bytes_counted / kBytesPerUs;
        r->median_us = r->p10_us = r->p90_us = r->min_us = r->single_us;
        r->pass2_median_us = r->warm_us = r->single_us;
    }
    return SQ_OK;
}
enum sq_status sq_cublaslt_gemm(SqVendorType, int, int, int, const void *, const void *, void *,
                                void *, size_t, cudaStream_t, std::unique_ptr<SqVendorGemm> *,
                                struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "no library");
}
enum sq_status sq_cusparselt_gemm(SqVendorType, int, int, int, const void *, const void *, void *,
                                  cudaStream_t, std::unique_ptr<SqVendorGemm> *,
                                  struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "no library");
}

// ---- tests -------------------------------------------------------------------------------------

namespace
{

struct Fixture {
    Fixture()
    {
        if (bench.arena.init(64u << 20, nullptr) != SQ_OK)
            fail_msg("no memory");
        bench.cc_major = 8;
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

void decode(void **state)
{
    (void)state;
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
    CHECK_OK(sq_bench_write_decode(&f.bench, out, err));
    CHECK_EQ(n_lines(out), 34, "records: ");
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

void encoders(void **state)
{
    (void)state;
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

} // namespace

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decode),
        cmocka_unit_test(encoders),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
