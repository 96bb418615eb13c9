// SPDX-License-Identifier: Apache-2.0
// The bit-for-bit part of gpu-measure (gpu/measure/sq_golden.cu) as a whole, in the emulator: real weights
// and activations of the shipped model through every encoder and integer kernel, into trace files,
// and back through the replay by the golden model. And the slow references of gpu/sq_reference.cu
// against the kernels they judge on a GPU.
//
// Directed: every trace; then every trace with one bit changed at the first, a middle and the last
// byte of every tensor must be refused, so the replay cannot pass by not looking. They say that the
// emulator made them, and a check that wants traces of a GPU refuses them.
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/gpu/gpu_fixture.h"

#include "gpu/measure/sq_golden.cuh"
#include "gpu/sq_reference.cuh"

extern "C" {
#include "gpu/measure/sq_stored.h"
#include "sim/format/file/sq_operand_file.h"
#include "sim/format/file/sq_trace.h"
}

namespace
{

char directory[] = "/tmp/sq-gpu-XXXXXX";

std::string path_of(const char *name)
{
    return std::string(directory) + "/" + name + ".safetensors";
}

int make_traces(void **state)
{
    (void)state;
    if (!mkdtemp(directory) || mkdir((std::string(directory) + "/operand").c_str(), 0700) != 0)
        return 1;
    return 0;
}

int remove_traces(void **state)
{
    (void)state;
    for (const char *name : kSqGoldenTraces)
        unlink(path_of(name).c_str());
    unlink(path_of("operand/sq_w").c_str());
    rmdir((std::string(directory) + "/operand").c_str());
    return rmdir(directory);
}

SQ_TEST(traces_replay)
{
    const SqGoldenInfo info = {"traces/tiny-llama", directory, "emulated", "none", 1};
    size_t n = 0, n_files = 0, n_again = 0;
    CHECK_OK(sq_golden_traces(&info, nullptr, &n, err));
    assert_true(n > 5 * 16 * 128);
    CHECK_OK(sq_stored_check(directory, "emulator", &n_files, &n_again, err));
    CHECK_EQ(n_files, kSqGoldenCount, "files: ");
    CHECK_EQ(n_again, n, "values: ");
    assert_int_equal(sq_stored_check(directory, "cuda", &n_files, &n_again, nullptr),
                     SQ_ERR_UNSUPPORTED);
    struct sq_operand_file operand;
    struct sq_operand o;
    CHECK_OK(sq_operand_file_open(&operand, path_of("operand/sq_w").c_str(), err));
    CHECK_OK(sq_operand_file_load(&operand, 0, &o, err));
    CHECK_EQ(o.m.n, 128, "operand: ");
    sq_operand_free(&o);
    sq_operand_file_close(&operand);
}

// One bit of the file; the replay must refuse it, and take it back.
void check_bit(const char *name, const char *tensor, long at, int bit)
{
    FILE *f = fopen(path_of(name).c_str(), "rb+");
    assert_non_null(f);
    fseek(f, at, SEEK_SET);
    const int old = fgetc(f);
    for (int value : {old ^ 1 << bit, old}) {
        fseek(f, at, SEEK_SET);
        fputc(value, f);
        fflush(f);
        size_t n;
        const enum sq_status status = sq_trace_check(path_of(name).c_str(), &n, nullptr);
        CHECK_EQ(status == SQ_OK, value == old, "%s %s byte %ld bit %d: ", name, tensor, at, bit);
    }
    fclose(f);
}

// Renames the digest of the whole file: the replay itself is to be tested.
void drop_digest(const char *name)
{
    FILE *f = fopen(path_of(name).c_str(), "rb+");
    assert_non_null(f);
    std::string head(4096, '\0');
    head.resize(fread(&head[0], 1, head.size(), f));
    const size_t at = head.find("\"sq_digest\"");
    assert_true(at != std::string::npos);
    fseek(f, static_cast<long>(at), SEEK_SET);
    fputs("\"no_digest\"", f);
    fclose(f);
}

struct Place {
    std::string tensor;
    long at, nbytes;
};

SQ_TEST(a_changed_bit_is_found)
{
    struct sq_rng r = {fixture_seed()};
    size_t n_checked = 0;
    for (const char *name : kSqGoldenTraces) {
        struct sq_safetensors st;
        std::vector<Place> places;
        drop_digest(name);
        CHECK_OK(sq_safetensors_open(&st, path_of(name).c_str(), err));
        for (size_t i = 0; i < st.n_tensors; i++)
            places.push_back({st.tensor[i].name, static_cast<long>(st.tensor[i].data - st.map.data),
                              static_cast<long>(st.tensor[i].nbytes)});
        sq_safetensors_close(&st);
        for (const Place &p : places)
            for (long offset : {0l, p.nbytes / 2, p.nbytes - 1}) {
                check_bit(name, p.tensor.c_str(), p.at + offset,
                          static_cast<int>(sq_rng_below(&r, 8)));
                n_checked++;
            }
    }
    assert_true(n_checked >= 3 * 7 * kSqGoldenCount);
}

SQ_TEST(references_agree_with_kernels)
{
    struct sq_rng r = {fixture_seed()};
    const int m = 21, n = 34, k = 96, rows = 7, row0 = 2, step = 3;
    std::vector<int> x(static_cast<size_t>(m * k)), w(static_cast<size_t>(n * k));
    for (int &c : x)
        c = random_code(&r, 8);
    for (int &c : w)
        c = random_code(&r, 4);
    Buffer<uint8_t> x8(x.size()), natural(w.size() / 2), halves(w.size() / 2);
    pack_bytes(x, &x8);
    pack_natural(w, &natural);
    CHECK_OK(sq_repack4(natural.data, static_cast<size_t>(n), k, nullptr, k, SQ_ORDER_HALVES4,
                        halves.data, nullptr, err));
    const std::vector<float> one(64, 1.0f);
    Buffer<float> y(static_cast<size_t>(m * n));
    Buffer<int32_t> p(static_cast<size_t>(m * n));
    const SqGemmImma g = {m,       n,          {},         {x8.data, halves.data, k},
                          nullptr, one.data(), one.data(), y.data,
                          nullptr, p.data};
    CHECK_OK(sq_gemm_imma(SQ_IMMA_W4A8, &g, nullptr, err));
    std::vector<int64_t> want(static_cast<size_t>(rows * n));
    const SqRefPart part = {x8.data, halves.data, k, SQ_ORDER_BYTES, SQ_ORDER_HALVES4};
    CHECK_OK(sq_ref_integer(&part, n, rows, row0, step, want.data(), nullptr, err));
    SqDifference d = {};
    CHECK_OK(sq_compare_i32(p.data, want.data(), n, rows, row0, step, &d, nullptr, err));
    CHECK_EQ(d.n_wrong, 0, "equal: ");
    p[static_cast<size_t>((row0 + 4 * step) * n + 5)]++;
    CHECK_OK(sq_compare_i32(p.data, want.data(), n, rows, row0, step, &d, nullptr, err));
    CHECK_EQ(d.n_wrong, 1, "one wrong: ");
    CHECK_EQ(d.first, (row0 + 4 * step) * n + 5, "its place: ");
}

} // namespace

SQ_BEFORE_ALL(make_traces)
SQ_AFTER_ALL(remove_traces)
