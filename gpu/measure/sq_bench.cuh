// SPDX-License-Identifier: Apache-2.0
// Measuring: device memory by the arena, the state of the device (read, never set), and times by
// graph replay over rotated buffers, candidates interleaved (gpu/README.md, "On a GPU").
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/sq_cuda.cuh"

extern "C" {
#include "gpu/measure/sq_record.h"
}

// One allocation, handed out from the front; reset gives everything back. Not zeroed.
class SqArena
{
  public:
    enum sq_status init(size_t nbytes, struct sq_error *err);
    ~SqArena();
    // NULL where it does not fit.
    template <class T> T *take(size_t n)
    {
        return static_cast<T *>(take_bytes(n * sizeof(T)));
    }
    size_t used() const
    {
        return used_;
    }
    size_t left() const
    {
        return size_ - used_;
    }
    void rewind(size_t used)
    {
        used_ = used;
    }

  private:
    void *take_bytes(size_t nbytes);
    uint8_t *base_ = nullptr;
    size_t size_ = 0, used_ = 0;
};

struct SqClocks {
    unsigned sm_mhz, mem_mhz, power_mw, temp_c; // 0: not readable
    unsigned long long throttle_reasons;        // NVML's bit set
};
SqClocks sq_read_clocks();
std::string sq_driver_version();

// Launches with operand copy `buffer`.
using SqLaunch = std::function<enum sq_status(int buffer, cudaStream_t, struct sq_error *)>;

struct SqCandidate {
    struct sq_record record; // all but the timing part is the caller's
    SqLaunch launch;
    int n_buffers = 1;
};

// Times all candidates against each other: two passes of `samples` rounds, each round replays the
// graph of every candidate once. Then one launch at a time, and, where operands are rotated,
// without rotation. Fills the timing part and the clocks of every record.
enum sq_status sq_time_candidates(std::vector<SqCandidate> *list, int samples, cudaStream_t stream,
                                  struct sq_error *err);

// Whether a launch can be captured into a graph: what a library does inside is its own affair.
bool sq_is_capturable(const SqLaunch &launch, cudaStream_t stream);

// Copies of an operand of `nbytes` that exceed the L2 cache four times, 2..64.
int sq_n_copies(size_t nbytes);

// Ceilings of memory, GB/s: device-to-device copy (bytes read plus written) and a read-only sum.
enum sq_status sq_measure_memory(SqArena *arena, cudaStream_t stream, double *copy_gbps,
                                 double *read_gbps, struct sq_error *err);
