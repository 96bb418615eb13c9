// SPDX-License-Identifier: Apache-2.0
// A device for the measurement where there is none: memory from the heap, times by a formula, no
// vendor library. For test_jobs, and for fake_measure, the whole measuring program on the emulator.
//
// SQ_FAKE_FAULT = FAMILY:KIND:WHERE makes the child of one family (SQ_FAMILY, which the program
// sets) hang, fail or crash when it opens the device or times kernels.
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#include "gpu/measure/sq_layer_bench.cuh"
#include "gpu/measure/sq_vendor.cuh"

namespace
{

constexpr double kT0 = 2.5, kBytesPerUs = 4e6;

bool is_fault(const char *where, const char *kind)
{
    const char *fault = getenv("SQ_FAKE_FAULT"), *family = getenv("SQ_FAMILY");
    return fault && family &&
           strstr(fault, (std::string(family) + ":" + kind + ":" + where).c_str());
}
void fault(const char *where)
{
    while (is_fault(where, "hang"))
        pause();
    if (is_fault(where, "crash"))
        abort();
}

} // namespace

enum sq_status SqArena::init(size_t nbytes, struct sq_error *err)
{
    fault("open");
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
    fault("time");
    if (is_fault("time", "fail"))
        return SQ_FAIL(err, SQ_ERR_TOOL, "cudaGraphLaunch: an illegal memory access");
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

// ---- what fake_measure needs as well ----

SqClocks sq_read_clocks()
{
    return {1000, 1000, 0, 0, 0};
}
std::string sq_driver_version()
{
    return "emulator";
}
std::string sq_cublaslt_version()
{
    return "none";
}
std::string sq_cusparselt_version()
{
    return "none";
}
enum sq_status sq_measure_memory(SqArena *, cudaStream_t, double *copy_gbps, double *read_gbps,
                                 struct sq_error *)
{
    *copy_gbps = 4000;
    *read_gbps = 4200;
    return SQ_OK;
}
