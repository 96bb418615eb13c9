// SPDX-License-Identifier: Apache-2.0
// Hands out device memory, reads the clocks of the device, and times candidates by graph replay
// (sq_bench.cuh).
#include "gpu/measure/sq_bench.cuh"

#include <algorithm>
#include <dlfcn.h>

// ---- memory ------------------------------------------------------------------------------------

enum sq_status SqArena::init(size_t nbytes, struct sq_error *err)
{
    SQ_CUDA_TRY(cudaMalloc(&base_, nbytes), err);
    size_ = nbytes;
    return SQ_OK;
}

SqArena::~SqArena()
{
    cudaFree(base_);
}

void *SqArena::take_bytes(size_t nbytes)
{
    const size_t padded = (nbytes + 1023) / 1024 * 1024;
    if (padded > size_ - used_)
        return nullptr;
    void *p = base_ + used_;
    used_ += padded;
    return p;
}

// ---- device state ------------------------------------------------------------------------------
// NVML is opened at run time: it comes with the driver, and not every toolkit has its header. Only
// queries are looked up.

namespace
{

struct Nvml {
    int (*clock)(void *, int, unsigned *) = nullptr;
    int (*power)(void *, unsigned *) = nullptr;
    int (*temperature)(void *, int, unsigned *) = nullptr;
    int (*driver)(char *, unsigned) = nullptr;
    int (*throttle)(void *, unsigned long long *) = nullptr;
    void *device = nullptr;
};

template <class F> void look_up(void *library, const char *name, F *f)
{
    *f = reinterpret_cast<F>(dlsym(library, name));
}

const Nvml &nvml()
{
    static const Nvml found = [] {
        Nvml n;
        void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
        int (*init)() = nullptr;
        int (*handle)(const char *, void **) = nullptr;
        if (!library)
            return n;
        look_up(library, "nvmlInit_v2", &init);
        look_up(library, "nvmlDeviceGetHandleByPciBusId_v2", &handle);
        char bus[32] = "";
        cudaDeviceGetPCIBusId(bus, sizeof bus, 0);
        if (!init || !handle || init() != 0 || handle(bus, &n.device) != 0)
            return Nvml();
        look_up(library, "nvmlDeviceGetClockInfo", &n.clock);
        look_up(library, "nvmlDeviceGetPowerUsage", &n.power);
        look_up(library, "nvmlDeviceGetTemperature", &n.temperature);
        look_up(library, "nvmlSystemGetDriverVersion", &n.driver);
        look_up(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &n.throttle);
        return n;
    }();
    return found;
}

} // namespace

SqClocks sq_read_clocks()
{
    const Nvml &n = nvml();
    SqClocks c = {};
    if (n.clock) {
        n.clock(n.device, 1, &c.sm_mhz); // NVML_CLOCK_SM
        n.clock(n.device, 2, &c.mem_mhz);
    }
    if (n.power)
        n.power(n.device, &c.power_mw);
    if (n.temperature)
        n.temperature(n.device, 0, &c.temp_c);
    if (n.throttle)
        n.throttle(n.device, &c.throttle_reasons);
    return c;
}

std::string sq_driver_version()
{
    char text[96] = "";
    if (nvml().driver && nvml().driver(text, sizeof text) == 0)
        return text;
    int version = 0;
    cudaDriverGetVersion(&version);
    return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// ---- times -------------------------------------------------------------------------------------

namespace
{

constexpr int kWarmup = 20, kMaxLaunches = 2048, kExtraSamples = 15;
constexpr double kMinSampleUs = 1000;

struct Replay {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    int launches = 0, warmup = kWarmup;
    std::vector<float> us[2]; // per launch, of the two passes
    double warm_us = 0, single_us = 0;
};

enum sq_status capture(const SqCandidate &c, int launches, int n_buffers, Replay *r,
                       cudaStream_t stream, struct sq_error *err)
{
    if (r->exec)
        cudaGraphExecDestroy(r->exec);
    if (r->graph)
        cudaGraphDestroy(r->graph);
    r->exec = nullptr;
    r->graph = nullptr;
    SQ_CUDA_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), err);
    enum sq_status status = SQ_OK;
    for (int i = 0; i < launches && status == SQ_OK; i++)
        status = c.launch(i % n_buffers, stream, err);
    SQ_CUDA_TRY(cudaStreamEndCapture(stream, &r->graph), err);
    SQ_TRY(status);
    SQ_CUDA_TRY(cudaGraphInstantiate(&r->exec, r->graph, 0), err);
    r->launches = launches;
    return SQ_OK;
}

double quantile(std::vector<float> v, double q)
{
    std::sort(v.begin(), v.end());
    return static_cast<double>(v[static_cast<size_t>(q * static_cast<double>(v.size() - 1) + 0.5)]);
}

enum sq_status time_replay(const Replay &r, cudaEvent_t begin, cudaEvent_t end, cudaStream_t stream,
                           double *us, struct sq_error *err)
{
    float ms = 0;
    SQ_CUDA_TRY(cudaEventRecord(begin, stream), err);
    SQ_CUDA_TRY(cudaGraphLaunch(r.exec, stream), err);
    SQ_CUDA_TRY(cudaEventRecord(end, stream), err);
    SQ_CUDA_TRY(cudaEventSynchronize(end), err);
    SQ_CUDA_TRY(cudaEventElapsedTime(&ms, begin, end), err);
    *us = 1e3 * static_cast<double>(ms);
    return SQ_OK;
}

// Enough launches for a millisecond, a multiple of the number of buffers.
enum sq_status prepare(const SqCandidate &c, Replay *r, cudaEvent_t begin, cudaEvent_t end,
                       cudaStream_t stream, struct sq_error *err)
{
    double us = 0;
    SQ_TRY(c.launch(0, stream, err)); // loads the module outside of the capture
    SQ_CUDA_TRY(cudaStreamSynchronize(stream), err);
    SQ_TRY(capture(c, c.n_buffers, c.n_buffers, r, stream, err));
    for (int i = 0; i < 2; i++)
        SQ_TRY(time_replay(*r, begin, end, stream, &us, err));
    int times = us >= kMinSampleUs ? 1 : static_cast<int>(kMinSampleUs * 1.2 / us) + 1;
    times = std::max(1, std::min(times, kMaxLaunches / c.n_buffers));
    if (times > 1)
        SQ_TRY(capture(c, times * c.n_buffers, c.n_buffers, r, stream, err));
    r->warmup = us > 10 * kMinSampleUs ? 5 : kWarmup;
    for (int i = 0; i < r->warmup; i++)
        SQ_CUDA_TRY(cudaGraphLaunch(r->exec, stream), err);
    return SQ_OK;
}

void fill(struct sq_record *r, const Replay &replay, int n_buffers, const SqClocks &before,
          const SqClocks &after)
{
    const std::vector<float> &first = replay.us[0];
    r->buffers = n_buffers;
    r->launches_per_sample = replay.launches;
    r->samples = static_cast<int>(first.size());
    r->warmup = replay.warmup;
    r->median_us = quantile(first, 0.5);
    r->p10_us = quantile(first, 0.1);
    r->p90_us = quantile(first, 0.9);
    r->min_us = quantile(first, 0);
    r->pass2_median_us = quantile(replay.us[1], 0.5);
    r->warm_us = replay.warm_us;
    r->single_us = replay.single_us;
    r->sm_mhz_before = before.sm_mhz;
    r->sm_mhz_after = after.sm_mhz;
    r->mem_mhz = after.mem_mhz;
    r->power_mw = after.power_mw;
    r->temp_c = after.temp_c;
    r->throttle_reasons = before.throttle_reasons | after.throttle_reasons;
}

// Events around one launch, each on the next operand copy.
enum sq_status time_single(const SqCandidate &c, Replay *r, cudaEvent_t begin, cudaEvent_t end,
                           cudaStream_t stream, struct sq_error *err)
{
    std::vector<float> us;
    for (int i = 0; i < kExtraSamples; i++) {
        float ms = 0;
        SQ_CUDA_TRY(cudaEventRecord(begin, stream), err);
        SQ_TRY(c.launch(i % c.n_buffers, stream, err));
        SQ_CUDA_TRY(cudaEventRecord(end, stream), err);
        SQ_CUDA_TRY(cudaEventSynchronize(end), err);
        SQ_CUDA_TRY(cudaEventElapsedTime(&ms, begin, end), err);
        us.push_back(1e3f * ms);
    }
    r->single_us = quantile(us, 0.5);
    return SQ_OK;
}

// As the samples, but always the first operand copy; the graph of `r` is used up.
enum sq_status time_warm(const SqCandidate &c, Replay *r, cudaEvent_t begin, cudaEvent_t end,
                         cudaStream_t stream, struct sq_error *err)
{
    std::vector<float> us;
    SQ_TRY(capture(c, r->launches, 1, r, stream, err));
    for (int i = 0; i < kExtraSamples + 2; i++) {
        double total = 0;
        SQ_TRY(time_replay(*r, begin, end, stream, &total, err));
        if (i >= 2)
            us.push_back(static_cast<float>(total / r->launches));
    }
    r->warm_us = quantile(us, 0.5);
    return SQ_OK;
}

enum sq_status time_all(std::vector<SqCandidate> *list, std::vector<Replay> *replay, int samples,
                        cudaEvent_t begin, cudaEvent_t end, cudaStream_t stream,
                        struct sq_error *err)
{
    for (size_t i = 0; i < list->size(); i++)
        SQ_TRY(prepare((*list)[i], &(*replay)[i], begin, end, stream, err));
    const SqClocks before = sq_read_clocks();
    for (int pass = 0; pass < 2; pass++)
        for (int s = 0; s < samples; s++)
            for (Replay &r : *replay) {
                double us = 0;
                SQ_TRY(time_replay(r, begin, end, stream, &us, err));
                r.us[pass].push_back(static_cast<float>(us / r.launches));
            }
    const SqClocks after = sq_read_clocks();
    for (size_t i = 0; i < list->size(); i++) {
        SQ_TRY(time_single((*list)[i], &(*replay)[i], begin, end, stream, err));
        if ((*list)[i].n_buffers > 1)
            SQ_TRY(time_warm((*list)[i], &(*replay)[i], begin, end, stream, err));
        fill(&(*list)[i].record, (*replay)[i], (*list)[i].n_buffers, before, after);
    }
    return SQ_OK;
}

} // namespace

enum sq_status sq_time_candidates(std::vector<SqCandidate> *list, int samples, cudaStream_t stream,
                                  struct sq_error *err)
{
    std::vector<Replay> replay(list->size());
    cudaEvent_t begin, end;
    SQ_CUDA_TRY(cudaEventCreate(&begin), err);
    SQ_CUDA_TRY(cudaEventCreate(&end), err);
    const enum sq_status status = time_all(list, &replay, samples, begin, end, stream, err);
    for (Replay &r : replay) {
        if (r.exec)
            cudaGraphExecDestroy(r.exec);
        if (r.graph)
            cudaGraphDestroy(r.graph);
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return status;
}

bool sq_is_capturable(const SqLaunch &launch, cudaStream_t stream)
{
    cudaGraph_t graph = nullptr;
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess)
        return false;
    const bool is_launched = launch(0, stream, nullptr) == SQ_OK;
    const bool is_captured = cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph;
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError(); // a refused capture leaves an error behind
    return is_launched && is_captured;
}

int sq_n_copies(size_t nbytes)
{
    constexpr size_t kRotated = 240u << 20; // four times 60 MB of L2
    const size_t n = kRotated / std::max<size_t>(nbytes, 1) + 2;
    return static_cast<int>(std::min<size_t>(n, 64));
}

// ---- ceilings of memory ------------------------------------------------------------------------

namespace
{

constexpr int kSumThreads = 512;

// Every thread keeps four independent 16-byte loads in flight; the sum is written so that it stays.
__global__ void __launch_bounds__(kSumThreads)
    read_sum_kernel(const uint4 *__restrict__ x, size_t n, uint32_t *out)
{
    uint32_t sum = 0;
    const size_t stride = static_cast<size_t>(gridDim.x) * kSumThreads;
    size_t i = static_cast<size_t>(blockIdx.x) * kSumThreads + threadIdx.x;
    for (; i + 3 * stride < n; i += 4 * stride) {
        uint4 v[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            v[j] = __ldg(&x[i + static_cast<size_t>(j) * stride]);
#pragma unroll
        for (int j = 0; j < 4; j++)
            sum += v[j].x + v[j].y + v[j].z + v[j].w;
    }
    for (; i < n; i += stride)
        sum += x[i].x + x[i].y + x[i].z + x[i].w;
    atomicAdd(out, sum);
}

} // namespace

enum sq_status sq_measure_memory(SqArena *arena, cudaStream_t stream, double *copy_gbps,
                                 double *read_gbps, struct sq_error *err)
{
    const size_t nbytes = 2u << 30, mark = arena->used();
    uint8_t *a = arena->take<uint8_t>(nbytes), *b = arena->take<uint8_t>(nbytes);
    uint32_t *out = arena->take<uint32_t>(1);
    if (!out)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "no room for two buffers of %zu bytes", nbytes);
    SQ_CUDA_TRY(cudaMemsetAsync(a, 0x5a, nbytes, stream), err);
    SQ_CUDA_TRY(cudaMemsetAsync(b, 0xa5, nbytes, stream), err);
    int sms = 0;
    SQ_CUDA_TRY(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), err);
    std::vector<SqCandidate> list(2);
    list[0].launch = [=](int, cudaStream_t s, struct sq_error *e) {
        SQ_CUDA_TRY(cudaMemcpyAsync(b, a, nbytes, cudaMemcpyDeviceToDevice, s), e);
        return SQ_OK;
    };
    list[1].launch = [=](int, cudaStream_t s, struct sq_error *e) {
        read_sum_kernel<<<static_cast<unsigned>(4 * sms), kSumThreads, 0, s>>>(
            reinterpret_cast<const uint4 *>(a), nbytes / 16, out);
        return sq_launch_check(e);
    };
    const enum sq_status status = sq_time_candidates(&list, 50, stream, err);
    arena->rewind(mark);
    if (status != SQ_OK)
        return status;
    *copy_gbps = 2.0 * static_cast<double>(nbytes) / list[0].record.median_us / 1e3;
    *read_gbps = static_cast<double>(nbytes) / list[1].record.median_us / 1e3;
    return SQ_OK;
}
