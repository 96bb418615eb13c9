// SPDX-License-Identifier: Apache-2.0
// Measurement records: one JSON object a line, reports/gpu/*.jsonl, schema version 1.
//
// A record holds raw numbers (times, counted bytes, multiplications, ceilings, the baselines'
// times) and numbers derived from them. Derived numbers are recomputed whenever a record is read:
// one that does not follow from the raw ones is refused (SQ_ERR_DAMAGED). So no table can drift
// from its data.
//
//   derived.gbps             = bytes_counted / median_us / 1e3
//   derived.pct_of_copy      = 100 gbps / ceilings.copy_gbps;  pct_of_read: of ceilings.read_gbps
//                              (a ceiling of 0 was not measured, and what follows from it is 0)
//   derived.tops_dense_equiv = 2 macs_dense / median_us / 1e6;  tops_executed: of macs_executed
//   derived.floor_us         = max(bytes_counted / copy_gbps / 1e3,
//                                  2 macs_executed / peak_tops / 1e6)
//   derived.speedup_vs.NAME  = timing.baselines_us.NAME / median_us
//
// Rules beyond types: source is measured, published, projected or simulated, published needs a
// citation; int4_mode native only on compute capability 8.0, 8.6, 8.7, 8.9; min <= p10 <= median <=
// p90; a measured record has passed its check. timing.warm_us (one operand copy, so in L2 where it
// fits), single_us (events around one launch) and t0_fit_us (their fit over the shapes of a kernel)
// are 0 where they were not taken.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"
#include "sim/io/sq_digest.h"

#define SQ_RECORD_SCHEMA 1
#define SQ_RECORD_MAX_BASELINES 12

struct sq_record_baseline {
    const char *name;
    double median_us;
};

// Everything of one record that differs from its neighbours; strings stay the caller's.
struct sq_record {
    // kernel
    const char *name, *variant, *impl, *path; // impl: ours, cublaslt, cusparselt
    const char *mma, *int4_mode;              // "wgmma.bf16+e4m3", ...; none, native, ...
    // problem
    const char *op, *model, *layer, *format; // op: gemm, gemv, encode, copy
    int m, n, k, bank, group;
    double bits_per_element, sparsity;
    const char *dtype_x, *dtype_w, *dtype_acc, *dtype_out;
    uint64_t seed;
    struct sq_digest input_digest;
    // timing
    int buffers, launches_per_sample, samples, warmup;
    double median_us, p10_us, p90_us, min_us, pass2_median_us;
    double warm_us, single_us, t0_fit_us;
    const char *includes; // "gemm", "encode+gemm", ...
    struct sq_record_baseline baseline[SQ_RECORD_MAX_BASELINES];
    int n_baselines;
    // work
    double bytes_counted, macs_dense, macs_executed;
    double peak_tops; // measured ceiling of this kind of multiplication; 0: none
    // check
    bool is_exact, is_by_traces; // by_traces: not on this shape, but on that of traces/gpu
    double rel_fro, max_abs;
    // clocks, read before and after; 0 where not readable
    unsigned sm_mhz_before, sm_mhz_after, mem_mhz, power_mw, temp_c;
    unsigned long long throttle_reasons; // NVML's bit set, before or after; 1: idle
    const char *notes;
};

// What all records of a run share.
struct sq_record_run {
    const char *ts_utc, *revision;
    bool is_dirty;
    const char *device, *cc, *driver;
    int sms, l2_mb, mem_gib;
    const char *nvcc, *flags, *cublaslt, *cusparselt, *binary_sha256;
    double copy_gbps, read_gbps, bf16_tflops, int8_tops, fp8_tflops, sp24_int8_tops;
};

// A new JSON object with its derived fields; the caller owns it. NULL: out of memory.
json_t *sq_record_json(const struct sq_record_run *run, const struct sq_record *r);

// One record as read from a file; `what` opens the sentence.
enum sq_status sq_record_check(const json_t *record, const char *what, struct sq_error *err);

// Every line of a file; *n counts records. Refuses two records of one id.
enum sq_status sq_record_check_file(const char *path, size_t *n, struct sq_error *err);
