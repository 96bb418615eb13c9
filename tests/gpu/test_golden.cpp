// SPDX-License-Identifier: Apache-2.0
// The bit-for-bit part of gpu-measure (gpu/sq_golden.cu) as a whole, in the emulator: real weights
// and activations of the shipped model through every encoder and integer kernel, into trace files,
// and back through the replay by the golden model. And the slow references of gpu/sq_reference.cu
// against the kernels they judge on a GPU.
//
// Directed: every trace; then every trace with one byte of its data changed at five places must be
// refused, so the replay cannot pass by not looking.
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu_fixture.h"

#include "sq_golden.cuh"
#include "sq_reference.cuh"

extern "C" {
#include "sq_replay.h"
#include "sq_trace.h"
}

namespace
{

const char *const kFiles[] = {"sq_w", "sq_a_static", "sq_a_static_s4", "sq_a_dynamic", "sp24"};

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
    for (const char *name : kFiles)
        unlink(path_of(name).c_str());
    unlink(path_of("operand/sq_w").c_str());
    rmdir((std::string(directory) + "/operand").c_str());
    return rmdir(directory);
}

void traces_replay(void **state)
{
    (void)state;
    const SqGoldenInfo info = {"traces/tiny-llama", directory, "emulated", "none", 1};
    size_t n = 0, n_files = 0, n_again = 0;
    CHECK_OK(sq_golden_traces(&info, nullptr, &n, err));
    assert_true(n > 5 * 16 * 128);
    CHECK_OK(sq_replay_directory(directory, &n_files, &n_again, err));
    CHECK_EQ(n_files, LEN(kFiles), "files: ");
    CHECK_EQ(n_again, n, "values: ");
    struct sq_trace operand;
    struct sq_operand o;
    CHECK_OK(sq_trace_open(&operand, path_of("operand/sq_w").c_str(), err));
    CHECK_OK(sq_trace_load(&operand, 0, &o, err));
    CHECK_EQ(o.m.n, 128, "operand: ");
    sq_operand_free(&o);
    sq_trace_close(&operand);
}

// One byte of the file; the replay must refuse it, and take it back.
void check_byte(const char *name, long at)
{
    FILE *f = fopen(path_of(name).c_str(), "rb+");
    assert_non_null(f);
    fseek(f, at, SEEK_SET);
    const int old = fgetc(f);
    for (int value : {old ^ 0x11, old}) {
        fseek(f, at, SEEK_SET);
        fputc(value, f);
        fflush(f);
        size_t n;
        const enum sq_status status = sq_replay_file(path_of(name).c_str(), &n, nullptr);
        CHECK_EQ(status == SQ_OK, value == old, "%s byte %ld: ", name, at);
    }
    fclose(f);
}

// First, middle and last byte of every tensor that a kernel wrote.
void a_changed_byte_is_found(void **state)
{
    (void)state;
    const char *const outputs[] = {"lo",   "hi",   "s_lo", "s_hi",   "y",
                                   "p_lo", "p_hi", "code", "values", "meta"};
    int n_checked = 0;
    for (const char *name : kFiles)
        for (const char *output : outputs) {
            struct sq_safetensors st;
            CHECK_OK(sq_safetensors_open(&st, path_of(name).c_str(), err));
            const struct sq_tensor *t = sq_safetensors_find(&st, output);
            const long at = t ? static_cast<long>(t->data - st.map.data) : 0;
            const long nbytes = t ? static_cast<long>(t->nbytes) : 0;
            sq_safetensors_close(&st);
            if (nbytes == 0)
                continue;
            check_byte(name, at);
            check_byte(name, at + nbytes / 2);
            check_byte(name, at + nbytes - 1);
            n_checked++;
        }
    CHECK_EQ(n_checked, 5 + 3 * 6 + 4, "tensors: ");
}

void references_agree_with_kernels(void **state)
{
    (void)state;
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

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_replay),
        cmocka_unit_test(a_changed_byte_is_found),
        cmocka_unit_test(references_agree_with_kernels),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_traces, remove_traces);
}
