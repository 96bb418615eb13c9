// SPDX-License-Identifier: Apache-2.0
// gpu-measure: checks first, then times, then writes. On a machine without a GPU it checks what is
// stored (records and traces) and says, with exit code 3, that nothing was measured.
//
//   1 traces/gpu: every encoder and integer kernel on a real layer, replayed by the golden model
//   2 every kernel on 30 shapes against slow references (M = 1, 33, 257), decode kernels on 12
//   3 ceilings: copy, read-only sum, BF16, FP8, INT8 and 2:4 products of 8192^3
//   4 times: prefill at M = 4096 and 2048, encoders, decode kernels, M = 256, 16 and 1 on some
//     layers; the budget in seconds is the first argument (400), what it does not reach is named
//
// «sq_gpu_measure check» does 1, and 2 on one small odd shape, and writes no records: short enough
// to run under compute-sanitizer. «sq_gpu_measure profile» launches the decode kernels on one large
// layer, each three times, checked: for a profiler.
//
// Records go to reports/gpu/DEVICE.jsonl (replaced), a summary to stdout. Clocks are read, never
// set.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>

#include "gpu/sq_golden.cuh"
#include "gpu/sq_kernels.cuh"
#include "gpu/sq_layer_bench.cuh"
#include "gpu/sq_reference.cuh"
#include "gpu/sq_vendor.cuh"

extern "C" {
#include "gpu/sq_stored.h"
#include "sim/io/sq_file.h"
}

namespace
{

const SqLayerShape kLayers[] = {
    {"llama-2-7b", "o", 0, 4096, 4096},        {"llama-3-8b", "qkv", 0, 6144, 4096},
    {"llama-2-7b", "down", 0, 4096, 11008},    {"llama-3-8b", "down", 0, 4096, 14336},
    {"llama-2-7b", "gate_up", 0, 22016, 4096}, {"llama-3-8b", "gate_up", 0, 28672, 4096},
    {"llama-2-70b", "o", 0, 8192, 8192},       {"llama-2-70b", "qkv", 0, 10240, 8192},
    {"llama-2-70b", "down", 0, 8192, 28672},   {"llama-2-70b", "gate_up", 0, 57344, 8192},
};
constexpr int kCheckTokens[] = {1, 33, 257};
constexpr int kDecodeTokens[] = {1, 4, 8}; // all layers at 1, two at the others
constexpr int kSamples = 50;
constexpr uint64_t kSeed = 1;

double seconds_now()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

std::string first_line_of(const char *command)
{
    char text[256] = "";
    FILE *p = popen(command, "r");
    if (p && !fgets(text, sizeof text, p))
        text[0] = 0;
    if (p)
        pclose(p);
    text[strcspn(text, "\n")] = 0;
    return text[0] ? text : "unknown";
}

// Strings that the records point to.
struct Facts {
    std::string ts, revision, device, cc, driver, cublaslt, cusparselt, nvcc, sha256, slug;
};

Facts facts_of(const cudaDeviceProp &p)
{
    Facts f;
    char text[64];
    const time_t now = time(nullptr);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    f.ts = text;
    f.revision = SQ_REVISION;
    f.device = p.name;
    f.cc = std::to_string(p.major) + "." + std::to_string(p.minor);
    f.driver = sq_driver_version();
    f.cublaslt = sq_cublaslt_version();
    f.cusparselt = sq_cusparselt_version();
    f.nvcc = std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__) +
             "." + std::to_string(__CUDACC_VER_BUILD__);
    f.sha256 = first_line_of("sha256sum /proc/$PPID/exe | cut -d' ' -f1");
    for (char c : f.device)
        f.slug += isalnum(static_cast<unsigned char>(c))
                      ? static_cast<char>(tolower(static_cast<unsigned char>(c)))
                      : '_';
    return f;
}

void fill_run(struct sq_record_run *run, const Facts &f, const cudaDeviceProp &p)
{
    run->ts_utc = f.ts.c_str();
    run->revision = f.revision.c_str();
    run->is_dirty = strstr(f.revision.c_str(), "-dirty") != nullptr;
    run->device = f.device.c_str();
    run->cc = f.cc.c_str();
    run->driver = f.driver.c_str();
    run->sms = p.multiProcessorCount;
    run->l2_mb = p.l2CacheSize >> 20;
    run->mem_gib = static_cast<int>(p.totalGlobalMem >> 30);
    run->nvcc = f.nvcc.c_str();
    run->flags = SQ_NVCC_FLAGS;
    run->cublaslt = f.cublaslt.c_str();
    run->cusparselt = f.cusparselt.c_str();
    run->binary_sha256 = f.sha256.c_str();
}

// ---- ceilings ----------------------------------------------------------------------------------

// Products of 8192^3 on random data, one candidate list so that they share the clocks.
enum sq_status measure_peaks(SqBench *b, struct sq_error *err)
{
    constexpr int kSize = 8192;
    constexpr size_t kElements = static_cast<size_t>(kSize) * kSize;
    const size_t mark = b->arena.used();
    const cudaStream_t stream = b->stream;
    uint16_t *x = b->arena.take<uint16_t>(kElements), *w = b->arena.take<uint16_t>(kElements);
    uint8_t *x8 = b->arena.take<uint8_t>(kElements), *w8 = b->arena.take<uint8_t>(kElements);
    uint8_t *xf = b->arena.take<uint8_t>(kElements), *wf = b->arena.take<uint8_t>(kElements);
    uint8_t *values = b->arena.take<uint8_t>(kElements / 2);
    uint32_t *meta = b->arena.take<uint32_t>(kElements / 32),
             *y = b->arena.take<uint32_t>(kElements);
    uint16_t *order = b->arena.take<uint16_t>(kSize);
    float *s = b->arena.take<float>(2 * kSize);
    unsigned *refused = b->arena.take<unsigned>(1);
    if (!refused)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "no room for products of %d^3", kSize);
    std::vector<uint16_t> identity(kSize);
    for (int i = 0; i < kSize; i++)
        identity[static_cast<size_t>(i)] = static_cast<uint16_t>(i);
    SQ_CUDA_TRY(cudaMemcpy(order, identity.data(), 2 * kSize, cudaMemcpyHostToDevice), err);
    SQ_TRY(sq_random_bf16(x, kSize, kSize, 1, kSeed, stream, err));
    SQ_TRY(sq_random_bf16(w, kSize, kSize, 1, kSeed + 1, stream, err));
    const SqEncodeToken tokens[] = {{kSize, kSize, 8, x, x8, s},
                                    {kSize, kSize, 8, w, w8, s + kSize}};
    const SqEncodePair pairs[] = {{kSize, kSize, 0, x, order, order, xf, nullptr, s},
                                  {kSize, kSize, 0, w, order, order, wf, nullptr, s + kSize}};
    for (int i = 0; i < 2; i++) {
        SQ_TRY(sq_encode_token(&tokens[i], stream, err));
        SQ_TRY(sq_encode_pair(&pairs[i], stream, err));
    }
    const SqCompress24 c = {kSize,   kSize,  reinterpret_cast<int8_t *>(w8), true, values, meta,
                            nullptr, refused};
    SQ_TRY(sq_compress24(&c, stream, err));
    SQ_CUDA_TRY(cudaStreamSynchronize(stream), err);

    const void *const operand[][2] = {{x, w}, {xf, wf}, {x8, w8}};
    double *const peak[] = {&b->run.bf16_tflops, &b->run.fp8_tflops, &b->run.int8_tops,
                            &b->run.sp24_int8_tops};
    std::vector<std::unique_ptr<SqVendorGemm>> gemms;
    std::vector<SqCandidate> list;
    std::vector<double *> to;
    for (int type = 0; type < 3; type++) {
        std::unique_ptr<SqVendorGemm> gemm;
        struct sq_error why = {};
        const void *const a = operand[type][0], *const d = operand[type][1];
        if (sq_cublaslt_gemm(static_cast<SqVendorType>(type), kSize, kSize, kSize, a, d, y,
                             b->workspace, b->workspace_nbytes, stream, &gemm, &why) != SQ_OK) {
            b->skipped["ceiling of cuBLASLt type " + std::to_string(type)] = why.text;
            continue;
        }
        SqVendorGemm *const g = gemm.get();
        gemms.push_back(std::move(gemm));
        SqCandidate candidate;
        candidate.launch = [=](int, cudaStream_t st, struct sq_error *e) {
            return g->run(a, d, y, st, e);
        };
        list.push_back(candidate);
        to.push_back(peak[type]);
    }
    const SqGemmSp24 sp = {
        kSize, kSize, kSize, x8, values, meta, s, s + kSize, reinterpret_cast<float *>(y), nullptr};
    SqCandidate sparse;
    sparse.launch = [=](int, cudaStream_t st, struct sq_error *e) {
        return sq_gemm_sp24(&sp, st, e);
    };
    list.push_back(sparse);
    to.push_back(peak[3]);
    const enum sq_status status = sq_time_candidates(&list, kSamples, stream, err);
    b->arena.rewind(mark);
    SQ_TRY(status);
    const double macs = static_cast<double>(kElements) * kSize;
    for (size_t i = 0; i < list.size(); i++)
        *to[i] = 2 * macs / list[i].record.median_us / 1e6;
    b->run.sp24_int8_tops /= 2; // executed, not dense-equivalent
    return SQ_OK;
}

// ---- phases ------------------------------------------------------------------------------------

// Layers in the order of kLayers that decode kernels with several tokens and small products take.
constexpr int kSomeLayers[] = {0, 5};

enum sq_status check_shapes(SqBench *b, struct sq_error *err)
{
    int n_checks = 0, n_shapes = 0;
    for (SqLayerShape s : kLayers)
        for (int m : kCheckTokens) {
            s.m = m;
            SQ_TRY(sq_bench_layer(b, &s, SQ_BENCH_CHECK, 0, nullptr, &n_checks, err));
            n_shapes++;
        }
    for (SqLayerShape s : kLayers) {
        s.m = 1;
        SQ_TRY(sq_bench_layer(b, &s, SQ_BENCH_DECODE, 0, nullptr, &n_checks, err));
        n_shapes++;
    }
    for (int m : {3, 8}) {
        SqLayerShape s = kLayers[0];
        s.m = m;
        SQ_TRY(sq_bench_layer(b, &s, SQ_BENCH_DECODE, 0, nullptr, &n_checks, err));
        n_shapes++;
    }
    printf("check     %d kernel runs on %d shapes agree with the references, %d do not\n", n_checks,
           n_shapes, b->n_wrong);
    return SQ_OK;
}

enum sq_status check_small(SqBench *b, struct sq_error *err)
{
    int n_checks = 0;
    const SqLayerShape product = {"none", "small", 33, 528, 1280};
    const SqLayerShape decode[] = {{"none", "small", 1, 512, 1280},
                                   {"none", "small", 3, 512, 1280}};
    SQ_TRY(sq_bench_layer(b, &product, SQ_BENCH_CHECK, 0, nullptr, &n_checks, err));
    for (const SqLayerShape &s : decode)
        SQ_TRY(sq_bench_layer(b, &s, SQ_BENCH_DECODE, 0, nullptr, &n_checks, err));
    printf("check     %d kernels on small shapes agree, %d do not\n", n_checks, b->n_wrong);
    return b->n_wrong ? SQ_FAIL(err, SQ_ERR_DAMAGED, "%d checks failed", b->n_wrong) : SQ_OK;
}

struct Work {
    SqLayerShape shape;
    SqBenchWhat what;
};

// In the order of importance, in case the budget ends.
std::vector<Work> plan()
{
    std::vector<Work> work;
    const auto add = [&](SqLayerShape s, int m, SqBenchWhat what) {
        s.m = m;
        work.push_back({s, what});
    };
    for (const SqLayerShape &s : kLayers)
        add(s, kDecodeTokens[0], SQ_BENCH_DECODE);
    for (const SqLayerShape &s : kLayers)
        add(s, 4096, SQ_BENCH_GEMM);
    for (int i : kSomeLayers)
        add(kLayers[i], 4096, SQ_BENCH_ENCODE);
    for (int i : kSomeLayers)
        for (int m : {256, 16, 1})
            add(kLayers[i], m, SQ_BENCH_GEMM);
    for (int i : kSomeLayers)
        for (int m : {kDecodeTokens[1], kDecodeTokens[2]})
            add(kLayers[i], m, SQ_BENCH_DECODE);
    for (const SqLayerShape &s : kLayers)
        add(s, 2048, SQ_BENCH_GEMM);
    return work;
}

const char *name_of(SqBenchWhat what)
{
    return what == SQ_BENCH_DECODE ? "decode" : what == SQ_BENCH_ENCODE ? "encode" : "product";
}

enum sq_status time_shapes(SqBench *b, double deadline, FILE *out, struct sq_error *err)
{
    int n_checks = 0;
    for (const Work &w : plan()) {
        const double begin = seconds_now();
        const SqLayerShape &s = w.shape;
        const std::string name = std::string(name_of(w.what)) + " " + s.model + " " + s.layer +
                                 " M=" + std::to_string(s.m);
        if (begin > deadline) {
            b->skipped[name] = "the time budget was used up";
            continue;
        }
        SQ_TRY(sq_bench_layer(b, &s, w.what, kSamples, out, &n_checks, err));
        printf("time      %-40s %5.1f s\n", name.c_str(), seconds_now() - begin);
        fflush(stdout);
    }
    return sq_bench_write_decode(b, out, err);
}

enum sq_status profile(SqBench *b, struct sq_error *err)
{
    int n_checks = 0;
    SqLayerShape s = kLayers[5];
    s.m = 1;
    SQ_TRY(sq_bench_layer(b, &s, SQ_BENCH_DECODE, 0, nullptr, &n_checks, err));
    printf("profile   %d kernels on %s %s agree, %d do not\n", n_checks, s.model, s.layer,
           b->n_wrong);
    return b->n_wrong ? SQ_FAIL(err, SQ_ERR_DAMAGED, "%d checks failed", b->n_wrong) : SQ_OK;
}

// budget 0: checks only.
enum sq_status measure(SqBench *b, const Facts &facts, double budget, struct sq_error *err)
{
    const double begin = seconds_now();
    const SqGoldenInfo golden = {"traces/tiny-llama", "traces/gpu", facts.device.c_str(),
                                 facts.driver.c_str(), kSeed};
    size_t n_values = 0;
    struct sq_error wrong = {};
    const enum sq_status is_golden = sq_golden_traces(&golden, b->stream, &n_values, &wrong);
    SQ_CUDA_TRY(cudaStreamSynchronize(b->stream), err); // a dead device ends here
    if (is_golden == SQ_OK) {
        printf("golden    %zu values of %zu traces equal the golden model\n", n_values,
               kSqGoldenCount);
    } else {
        b->n_wrong++;
        printf("WRONG     %s\n", wrong.text);
    }
    if (budget == 0)
        return check_small(b, err);
    SQ_TRY(check_shapes(b, err));
    SQ_TRY(sq_measure_memory(&b->arena, b->stream, &b->run.copy_gbps, &b->run.read_gbps, err));
    SQ_TRY(measure_peaks(b, err));
    printf(
        "ceilings  copy %.0f GB/s, read %.0f GB/s, BF16 %.0f, FP8 %.0f, INT8 %.0f TOPS, 2:4 INT8 "
        "%.0f TOPS executed\n",
        b->run.copy_gbps, b->run.read_gbps, b->run.bf16_tflops, b->run.fp8_tflops, b->run.int8_tops,
        b->run.sp24_int8_tops);
    struct sq_outfile out;
    const std::string path = "reports/gpu/" + facts.slug + ".jsonl";
    SQ_TRY(sq_outfile_open(&out, path.c_str(), err));
    const enum sq_status status = time_shapes(b, begin + budget, out.stream, err);
    if (status != SQ_OK) {
        sq_outfile_abort(&out);
        return status;
    }
    SQ_TRY(sq_outfile_commit(&out, err));
    size_t n_records = 0;
    SQ_TRY(sq_record_check_file(path.c_str(), &n_records, err));
    for (const auto &s : b->skipped)
        printf("skipped   %s: %s\n", s.first.c_str(), s.second.c_str());
    printf("records   %zu in %s, %.0f s\n", n_records, path.c_str(), seconds_now() - begin);
    if (b->n_wrong)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%d checks failed", b->n_wrong);
    return SQ_OK;
}

int verify_stored(const char *why)
{
    struct sq_error err = {};
    size_t n_files = 0, n_values = 0;
    for (const char *directory : {"reports/gpu", "traces/gpu"}) {
        size_t files, values;
        if (sq_stored_check(directory, "cuda", &files, &values, &err) != SQ_OK) {
            fprintf(stderr, "gpu-measure: %s\n", err.text);
            return 1;
        }
        n_files += files;
        n_values += values;
    }
    printf("gpu-measure: %zu stored files agree (%zu records and values)\n", n_files, n_values);
    fprintf(stderr, "gpu-measure: nothing measured: %s\n", why);
    return 3;
}

enum sq_status open_bench(SqBench *b, const cudaDeviceProp &p, struct sq_error *err)
{
    size_t free_nbytes = 0, total = 0;
    b->cc_major = p.major;
    b->cc_minor = p.minor;
    b->n_sms = p.multiProcessorCount;
    b->seed = kSeed;
    b->workspace_nbytes = 64u << 20;
    SQ_CUDA_TRY(cudaStreamCreate(&b->stream), err);
    SQ_CUDA_TRY(cudaMalloc(&b->workspace, b->workspace_nbytes), err);
    SQ_CUDA_TRY(cudaMemGetInfo(&free_nbytes, &total), err);
    return b->arena.init(free_nbytes / 10 * 8, err);
}

} // namespace

int main(int argc, char **argv)
{
    int n_devices = 0;
    const bool is_check = argc > 1 && strcmp(argv[1], "check") == 0;
    const bool is_profile = argc > 1 && strcmp(argv[1], "profile") == 0;
    const double budget = is_check || is_profile ? 0 : argc > 1 ? atof(argv[1]) : 400;
    if (argc > 2 || (!is_check && !is_profile && !(budget > 0))) {
        fprintf(stderr, "gpu-measure: usage: sq_gpu_measure [SECONDS | check | profile]\n");
        return 2;
    }
    const cudaError_t found = cudaGetDeviceCount(&n_devices);
    if (found != cudaSuccess || n_devices == 0)
        return verify_stored(found != cudaSuccess ? cudaGetErrorString(found) : "no GPU");
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess || properties.major < 8)
        return verify_stored("the GPU is older than compute capability 8.0");
    const Facts facts = facts_of(properties);
    struct sq_error err = {};
    auto bench = std::make_unique<SqBench>();
    fill_run(&bench->run, facts, properties);
    printf("device    %s, %d SMs, driver %s, revision %s\n", facts.device.c_str(),
           properties.multiProcessorCount, facts.driver.c_str(), facts.revision.c_str());
    enum sq_status status = open_bench(bench.get(), properties, &err);
    if (status == SQ_OK)
        status =
            is_profile ? profile(bench.get(), &err) : measure(bench.get(), facts, budget, &err);
    if (status == SQ_OK)
        return 0;
    fprintf(stderr, "gpu-measure: %s\n", err.text);
    return status == SQ_ERR_TOOL ? 3 : 1;
}
