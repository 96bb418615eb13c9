// SPDX-License-Identifier: Apache-2.0
// gpu-measure: checks and times the kernels, and writes records. Without a GPU it checks the stored
// records and traces and says, with exit code 3, that nothing was measured.
//
// Every family of kernels runs in a child process with a time limit, so that one that hangs or kills
// its CUDA context harms no other:
//   golden    encoders and integer kernels on a real layer (traces/gpu), replayed by the golden model
//   ceilings  copy, read-only sum, products of 8192^3 by the libraries
//   decode, imma, encode, sp24, wgmma: compared with slow references on their shapes (M = 1, 33, 257, and
//             one small shape whole), then timed beside the libraries, M = 4096, 256, 16, 1, 2048
// The first argument is the budget in seconds (400). Each record is written as soon as it is made, so
// whatever ends the program leaves a valid file.
//
// «sq_gpu_measure check» checks all families on small shapes in one process and writes no records, for
// compute-sanitizer. «sq_gpu_measure profile» launches and checks the decode kernels on one large layer,
// three times each, for a profiler. Records go to reports/gpu/DEVICE.jsonl, which is replaced unless `more`
// is given, and a summary to stdout. Clocks and the reasons why they were lowered are read, never set.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <unistd.h>

#include "gpu/measure/sq_facts.cuh"
#include "gpu/measure/sq_golden.cuh"
#include "gpu/measure/sq_layer_bench.cuh"
#include "gpu/measure/sq_vendor.cuh"
#include "gpu/sq_kernels.cuh"
#include "gpu/sq_reference.cuh"

extern "C" {
#include "gpu/measure/sq_stored.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_process.h"
}

#if !defined(SQ_EMULATE) && CUDART_VERSION < 12050
#error                                                                                             \
    "the kernels need CUDA 12.5 or newer: mma.sp::ordered_metadata, cudaGetDriverEntryPointByVersion"
#endif

namespace
{

#ifdef SQ_EMULATE // tests/gpu/measure.t: the same program, on shapes that an emulator can take
const SqLayerShape kLayers[] = {
    {"none", "a", 0, 256, 256}, {"none", "b", 0, 256, 512}, {"none", "c", 0, 512, 256}};
constexpr int kSomeLayers[] = {0};
constexpr size_t kProductLayers = 0; // of prefill
constexpr int kPrefill = 16, kPrefillShort = 16, kPeakSize = 32, kMemoryMib = 64;
constexpr int kCheckTokens[] = {1}, kSmallTokens[] = {3}, kMoreTokens[] = {3};
constexpr SqLayerShape kSmallShape = {"none", "small", 3, 272, 256};
#else
const SqLayerShape kLayers[] = {
    {"llama-2-7b", "o", 0, 4096, 4096},        {"llama-3-8b", "qkv", 0, 6144, 4096},
    {"llama-2-7b", "down", 0, 4096, 11008},    {"llama-3-8b", "down", 0, 4096, 14336},
    {"llama-2-7b", "gate_up", 0, 22016, 4096}, {"llama-3-8b", "gate_up", 0, 28672, 4096},
    {"llama-2-70b", "o", 0, 8192, 8192},       {"llama-2-70b", "qkv", 0, 10240, 8192},
    {"llama-2-70b", "down", 0, 8192, 28672},   {"llama-2-70b", "gate_up", 0, 57344, 8192},
};
constexpr size_t kProductLayers = sizeof kLayers / sizeof kLayers[0];
constexpr SqLayerShape kSmallShape = {"none", "small", 33, 528, 1280};
constexpr int kSomeLayers[] = {0, 5}; // of several tokens decoded, of small products
constexpr int kPrefill = 4096, kPrefillShort = 2048, kPeakSize = 8192;
constexpr int kCheckTokens[] = {1, 33, 257}, kSmallTokens[] = {256, 16, 1}, kMoreTokens[] = {4, 8};
#endif
constexpr int kSamples = 50;
constexpr uint64_t kSeed = 1;

double seconds_now()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// ---- phases ------------------------------------------------------------------------------------

bool is_family(const SqBench *b, const char *name)
{
    return !b->family || strcmp(b->family, name) == 0;
}

// Checks every token of one small shape with irregular sizes; a family begins with it.
enum sq_status check_small(SqBench *b, int *n_checks, struct sq_error *err)
{
    const SqLayerShape decode[] = {{"none", "small", 1, 512, kSmallShape.k},
                                   {"none", "small", 3, 512, kSmallShape.k}};
    if (is_family(b, "decode"))
        for (const SqLayerShape &s : decode)
            SQ_TRY(sq_bench_layer(b, &s, SQ_BENCH_DECODE, 0, nullptr, n_checks, err));
    if (!b->family || strcmp(b->family, "decode") != 0)
        SQ_TRY(sq_bench_layer(b, &kSmallShape, SQ_BENCH_CHECK, 0, nullptr, n_checks, err));
    return SQ_OK;
}

enum sq_status check_shapes(SqBench *b, struct sq_error *err)
{
    const bool is_decode = strcmp(b->family, "decode") == 0;
    int n_checks = 0;
    SQ_TRY(check_small(b, &n_checks, err));
    for (size_t i = 0; i < kProductLayers; i++)
        for (int m : kCheckTokens) {
            SqLayerShape s = kLayers[i];
            s.m = m;
            if (!is_decode)
                SQ_TRY(sq_bench_layer(b, &s, SQ_BENCH_CHECK, 0, nullptr, &n_checks, err));
            else if (m == 1)
                SQ_TRY(sq_bench_layer(b, &s, SQ_BENCH_DECODE, 0, nullptr, &n_checks, err));
        }
    printf("check     %-8s %d kernel runs agree with the references, %d do not\n", b->family,
           n_checks, b->n_wrong);
    fflush(stdout);
    return SQ_OK;
}

struct Work {
    SqLayerShape shape;
    SqBenchWhat what;
};

// The shapes on which a family is timed, the most important first, in case the budget ends.
std::vector<Work> plan(const char *family)
{
    std::vector<Work> work;
    const bool is_decode = strcmp(family, "decode") == 0, is_encode = strcmp(family, "encode") == 0;
    const auto add = [&](SqLayerShape s, int m, SqBenchWhat what) {
        s.m = m;
        work.push_back({s, what});
    };
    if (is_decode) {
        for (const SqLayerShape &s : kLayers)
            add(s, 1, SQ_BENCH_DECODE);
        for (int i : kSomeLayers)
            for (int m : kMoreTokens)
                add(kLayers[i], m, SQ_BENCH_DECODE);
        return work;
    }
    if (!is_encode)
        for (size_t i = 0; i < kProductLayers; i++)
            add(kLayers[i], kPrefill, SQ_BENCH_GEMM);
    for (int i : kSomeLayers)
        add(kLayers[i], kPrefill, SQ_BENCH_ENCODE);
    if (is_encode)
        return work;
    if (strcmp(family, "sp24") == 0) // has no encoder of its own
        work.resize(kProductLayers);
    for (int i : kSomeLayers)
        for (int m : kSmallTokens)
            add(kLayers[i], m, SQ_BENCH_GEMM);
    for (size_t i = 0; i < kProductLayers; i++)
        add(kLayers[i], kPrefillShort, SQ_BENCH_GEMM);
    return work;
}

const char *name_of(SqBenchWhat what)
{
    return what == SQ_BENCH_DECODE ? "decode" : what == SQ_BENCH_ENCODE ? "encode" : "product";
}

// The work of plan() that the file has no records of yet. A record with a note or an encoder in its
// time stands for the encoding of its shape, any other for the product.
std::vector<Work> left_over(const char *family, const char *path)
{
    std::set<std::string> stored;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        const char *kernel, *model, *layer, *includes, *notes;
        int m;
        json_t *record = json_loads(line.c_str(), 0, nullptr);
        if (record &&
            json_unpack(record, "{s:{s:s},s:{s:s,s:s,s:i},s:{s:s},s:s}", "kernel", "name", &kernel,
                        "problem", "model", &model, "layer", &layer, "M", &m, "timing", "includes",
                        &includes, "notes", &notes) == 0 &&
            strncmp(kernel, "cu", 2) != 0 && strcmp(sq_family_of(kernel), family) == 0)
            stored.insert(std::string(*notes || strstr(includes, "encode") ? "encode " : "") +
                          model + " " + layer + " " + std::to_string(m));
        json_decref(record);
    }
    std::vector<Work> work = plan(family);
    const auto is_stored = [&](const Work &w) {
        return stored.count(std::string(w.what == SQ_BENCH_ENCODE ? "encode " : "") +
                            w.shape.model + " " + w.shape.layer + " " + std::to_string(w.shape.m)) >
               0;
    };
    work.erase(std::remove_if(work.begin(), work.end(), is_stored), work.end());
    return work;
}

enum sq_status time_shapes(SqBench *b, const std::vector<Work> &work, double deadline, FILE *out,
                           struct sq_error *err)
{
    int n_checks = 0;
    for (const Work &w : work) {
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
    return SQ_OK;
}

enum sq_status profile(SqBench *b, struct sq_error *err)
{
    int n_checks = 0;
    SqLayerShape s = kLayers[kSomeLayers[sizeof kSomeLayers / sizeof kSomeLayers[0] - 1]];
    s.m = 1;
    SQ_TRY(sq_bench_layer(b, &s, SQ_BENCH_DECODE, 0, nullptr, &n_checks, err));
    printf("profile   %d kernels on %s %s agree, %d do not\n", n_checks, s.model, s.layer,
           b->n_wrong);
    return b->n_wrong ? SQ_FAIL(err, SQ_ERR_DAMAGED, "%d checks failed", b->n_wrong) : SQ_OK;
}

enum sq_status replay_golden(SqBench *b, const SqFacts &facts, struct sq_error *err)
{
    const SqGoldenInfo golden = {"traces/tiny-llama", "traces/gpu", facts.device.c_str(),
                                 facts.driver.c_str(), kSeed};
    size_t n_values = 0;
    struct sq_error wrong = {};
    const enum sq_status is_golden = sq_golden_traces(&golden, b->stream, &n_values, &wrong);
    SQ_CUDA_TRY(cudaStreamSynchronize(b->stream), err); // a dead device ends here
    b->is_golden = is_golden == SQ_OK;
    if (!b->is_golden)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s", wrong.text);
    printf("golden    %zu values of %zu traces equal the golden model\n", n_values, kSqGoldenCount);
    return SQ_OK;
}

// ---- the child of one family -------------------------------------------------------------------

// The file in which a child leaves results for later children; a line is a name and a number.
std::string state_path(const SqFacts &f)
{
    return "reports/gpu/" + f.slug + ".state";
}

struct Shared {
    const char *name;
    double *value;
};
std::vector<Shared> shared_of(struct sq_record_run *r)
{
    return {{"copy_gbps", &r->copy_gbps},     {"read_gbps", &r->read_gbps},
            {"bf16_tflops", &r->bf16_tflops}, {"fp8_tflops", &r->fp8_tflops},
            {"int8_tops", &r->int8_tops},     {"sp24_int8_tops", &r->sp24_int8_tops}};
}

void read_state(SqBench *b, const SqFacts &f)
{
    char name[64];
    double value;
    FILE *in = fopen(state_path(f).c_str(), "r");
    while (in && fscanf(in, "%63s %lf", name, &value) == 2) {
        b->is_golden |= strcmp(name, "golden") == 0 && value > 0;
        b->is_more |= strcmp(name, "more") == 0 && value > 0;
        for (const Shared &s : shared_of(&b->run))
            if (strcmp(name, s.name) == 0)
                *s.value = value;
    }
    if (in)
        fclose(in);
}

void add_state(const SqFacts &f, const char *name, double value)
{
    FILE *out = fopen(state_path(f).c_str(), "a");
    if (!out)
        return;
    fprintf(out, "%s %.17g\n", name, value);
    fclose(out);
}

enum sq_status measure_ceilings(SqBench *b, const SqFacts &facts, struct sq_error *err)
{
    SQ_TRY(sq_measure_memory(&b->arena, b->stream, &b->run.copy_gbps, &b->run.read_gbps, err));
    for (int i = 0; i < 2; i++)
        add_state(facts, shared_of(&b->run)[i].name, *shared_of(&b->run)[i].value);
    SQ_TRY(sq_measure_peaks(b, kPeakSize, kSamples, err));
    for (size_t i = 2; i < shared_of(&b->run).size(); i++)
        add_state(facts, shared_of(&b->run)[i].name, *shared_of(&b->run)[i].value);
    printf("ceilings  copy %.0f GB/s, read %.0f GB/s, BF16 %.0f, FP8 %.0f, INT8 %.0f TOPS, "
           "2:4 INT8 %.0f TOPS executed (0: no library)\n",
           b->run.copy_gbps, b->run.read_gbps, b->run.bf16_tflops, b->run.fp8_tflops,
           b->run.int8_tops, b->run.sp24_int8_tops);
    return SQ_OK;
}

// Writes the decode records again, with the launch overhead that is fitted over all of them, in one
// step, so that the file is valid at every moment.
enum sq_status rewrite_decode(SqBench *b, const std::string &path, size_t nbytes_before,
                              struct sq_error *err)
{
    struct sq_file_view map;
    struct sq_outfile out;
    if (b->decode.empty())
        return SQ_OK;
    SQ_TRY(sq_file_map(path.c_str(), &map, err));
    enum sq_status status = sq_outfile_open(&out, path.c_str(), err);
    if (status == SQ_OK && nbytes_before > 0)
        fwrite(map.data, 1, nbytes_before, out.stream);
    SQ_THEN(status, sq_bench_write_decode(b, out.stream, err));
    sq_file_unmap(&map);
    if (status == SQ_OK)
        return sq_outfile_commit(&out, err);
    sq_outfile_abort(&out);
    return status;
}

enum sq_status measure_family(SqBench *b, const SqFacts &facts, double deadline,
                              struct sq_error *err)
{
    const std::string path = "reports/gpu/" + facts.slug + ".jsonl";
    if (strcmp(b->family, "golden") == 0) {
        SQ_TRY(replay_golden(b, facts, err));
        add_state(facts, "golden", 1);
        return SQ_OK;
    }
    if (strcmp(b->family, "ceilings") == 0)
        return measure_ceilings(b, facts, err);
    const std::vector<Work> work =
        b->is_more ? left_over(b->family, path.c_str()) : plan(b->family);
    if (work.empty()) {
        printf("stored    %-8s all %zu shapes\n", b->family, plan(b->family).size());
        return SQ_OK;
    }
    SQ_TRY(check_shapes(b, err));
    FILE *out = fopen(path.c_str(), "a");
    if (!out)
        return SQ_FAIL(err, SQ_ERR_IO, "'%s' cannot be written", path.c_str());
    setvbuf(out, nullptr, _IOFBF, 1 << 20); // a line is one write
    fseek(out, 0, SEEK_END);
    const size_t before = static_cast<size_t>(ftell(out));
    const enum sq_status status = time_shapes(b, work, deadline, out, err);
    fclose(out);
    SQ_TRY(status);
    SQ_TRY(rewrite_decode(b, path, before, err));
    for (const auto &s : b->skipped)
        printf("skipped   %s: %s\n", s.first.c_str(), s.second.c_str());
    if (b->n_wrong)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%d checks failed", b->n_wrong);
    return SQ_OK;
}

enum sq_status check_all(SqBench *b, const SqFacts &facts, struct sq_error *err)
{
    int n_checks = 0;
    SQ_TRY(replay_golden(b, facts, err));
    SQ_TRY(check_small(b, &n_checks, err));
    printf("check     %d kernels on small shapes agree, %d do not\n", n_checks, b->n_wrong);
    return b->n_wrong ? SQ_FAIL(err, SQ_ERR_DAMAGED, "%d checks failed", b->n_wrong) : SQ_OK;
}

// ---- all families, one after the other ----------------------------------------------------------

// In this order: what needs the least of the GPU first, warpgroups and copy engine last. A family may
// use `share` of the time that is left when it starts.
struct Family {
    const char *name;
    double share;
};
constexpr Family kFamilies[] = {{"golden", 0.15}, {"ceilings", 0.15}, {"decode", 0.3},
                                {"imma", 0.35},   {"encode", 0.3},    {"sp24", 0.4},
                                {"wgmma", 1}};
constexpr double kLeast = 2, kClosing = 5; // seconds: to start a family; to end it by force

// The exit code of the child; 124 or 137 where its time was up.
int run_family(const char *self, const Family &f, double seconds)
{
    struct sq_error err = {};
    const std::string limit = std::to_string(seconds), killing = std::to_string(kClosing);
    const std::string own = std::to_string(std::max(0.0, seconds - kClosing));
    std::vector<std::string> text = {"timeout", "-k", killing, limit, self, "family", f.name, own};
    std::vector<char *> argv;
    for (std::string &t : text)
        argv.push_back(&t[0]);
    argv.push_back(nullptr);
    int code = 1;
    if (sq_process_run_on(nullptr, argv.data(), -1, 1, 2, &code, &err) != SQ_OK) {
        fprintf(stderr, "gpu-measure: %s\n", err.text);
        return 1;
    }
    return code;
}

int measure_all(const SqFacts &facts, double budget, bool is_more)
{
    const double begin = seconds_now();
    const std::string path = "reports/gpu/" + facts.slug + ".jsonl";
    char self[4096] = "";
    size_t n_records = 0;
    int n_failed = 0;
    struct sq_error err = {};
    FILE *out = fopen(path.c_str(), is_more ? "a" : "w");
    if (!out || readlink("/proc/self/exe", self, sizeof self - 1) < 0) {
        fprintf(stderr, "gpu-measure: '%s' cannot be written\n", path.c_str());
        return 1;
    }
    fclose(out);
    remove(state_path(facts).c_str());
    add_state(facts, "more", is_more);
    for (const Family &f : kFamilies) {
        const double left = begin + budget - seconds_now();
        if (left < kLeast) {
            printf("family    %-8s not run: the budget of %.0f s is used up\n", f.name, budget);
            n_failed++;
            continue;
        }
        fflush(stdout);
        const int code = run_family(self, f, std::max(kLeast, f.share * left));
        n_failed += code != 0;
        printf("family    %-8s %s\n", f.name,
               code == 0                    ? "done"
               : code == 124 || code == 137 ? "ended: its time was up"
               : code > 128                 ? "ended by a signal"
                                            : "failed");
    }
    remove(state_path(facts).c_str());
    if (sq_record_check_file(path.c_str(), &n_records, &err) != SQ_OK) {
        fprintf(stderr, "gpu-measure: %s\n", err.text);
        return 1;
    }
    printf("records   %zu in %s, %.0f s\n", n_records, path.c_str(), seconds_now() - begin);
    return n_failed ? 1 : 0;
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
    b->n_sms = p.multiProcessorCount;
    b->seed = kSeed;
    b->workspace_nbytes = 64u << 20;
    SQ_CUDA_TRY(cudaStreamCreate(&b->stream), err);
    SQ_CUDA_TRY(cudaMalloc(&b->workspace, b->workspace_nbytes), err);
    SQ_CUDA_TRY(cudaMemGetInfo(&free_nbytes, &total), err);
#ifdef SQ_EMULATE
    free_nbytes = static_cast<size_t>(kMemoryMib) << 20;
#endif
    return b->arena.init(free_nbytes / 10 * 8, err);
}

// One process that uses the device: a family, check or profile.
enum sq_status use_device(SqBench *b, const cudaDeviceProp &p, const SqFacts &facts,
                          double deadline, bool is_profile, struct sq_error *err)
{
    sq_facts_fill(&b->run, facts, p);
    read_state(b, facts);
    SQ_TRY(open_bench(b, p, err));
    return is_profile  ? profile(b, err)
           : b->family ? measure_family(b, facts, deadline, err)
                       : check_all(b, facts, err);
}

} // namespace

int main(int argc, char **argv)
{
    int n_devices = 0;
    const std::string what = argc > 1 ? argv[1] : "400";
    const bool is_family = what == "family" && argc == 4;
    const bool is_more = argc == 3 && strcmp(argv[2], "more") == 0;
    const bool is_one = is_family || ((what == "check" || what == "profile") && argc == 2);
    const double seconds = atof(is_family ? argv[3] : what.c_str());
    if (!is_one && (argc > 2 + is_more || !(seconds > 0))) {
        fprintf(stderr, "gpu-measure: usage: sq_gpu_measure [SECONDS [more] | check | profile]\n");
        return 2;
    }
    const cudaError_t found = cudaGetDeviceCount(&n_devices);
    if (found != cudaSuccess || n_devices == 0)
        return verify_stored(found != cudaSuccess ? cudaGetErrorString(found) : "no GPU");
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess || properties.major < 8)
        return verify_stored("the GPU is older than compute capability 8.0");
    const SqFacts facts = sq_facts_of(properties);
    if (!is_one) {
        printf("device    %s, %d SMs, driver %s, revision %s\n", facts.device.c_str(),
               properties.multiProcessorCount, facts.driver.c_str(), facts.revision.c_str());
        return measure_all(facts, seconds, is_more);
    }
    struct sq_error err = {};
    auto bench = std::make_unique<SqBench>();
    bench->family = is_family ? argv[2] : nullptr;
    if (is_family)
        setenv("SQ_FAMILY", argv[2], 1); // for whoever looks at the process, and for test doubles
    const enum sq_status status = use_device(bench.get(), properties, facts,
                                             seconds_now() + seconds, what == "profile", &err);
    if (status == SQ_OK)
        return 0;
    fprintf(stderr, "gpu-measure: %s%s%s\n", is_family ? argv[2] : "", is_family ? ": " : "",
            err.text);
    return 1; // 3 says that there was nothing to measure on
}
