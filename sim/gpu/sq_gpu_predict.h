// SPDX-License-Identifier: Apache-2.0
// Predicts the time of a workload's GEMMs on a GPU (sq_gpu.h), beside their measured times. Every
// GEMM is cold: the layers of a model use each weight once per pass.
//
// A stored format runs on a GPU as its kernel in gpu/ does:
//   stored bytes at the bandwidth of the DRAM, decoded on the way to a tensor core product of
//     dense up to 8 bits, SQ on activations   INT8 (W16A16: BF16); no INT4 on Hopper, so both parts
//                                             of a split run at the rate of INT8
//     sp24                                    INT8 2:4
//     sq_w, gqsa, spqt, spqr                  BF16: several scales meet within one product; pruned
//                                             groups and skipped columns are not left out
// The instructions that decode are left out. Up to SQ_GPU_GEMV_TOKENS tokens the kernel has no tiles.
// A format without a kernel in gpu/ (the block-scaled ones) is not modelled, and is refused.
#pragma once

#include "sim/format/sq_recipe.h"
#include "sim/gpu/sq_gpu_records.h"
#include "sim/machine/sq_workload.h"

enum { SQ_GPU_GEMV_TOKENS = 8 };

// A kind of product by its name, sizes left 0.
struct sq_gpu_kernel {
    char name[32]; // "INT8", "W4A8", "FP8 2:4", "SQ BF16+FP8 s=0.5", "SQ INT8+INT4 s=0.5"
    struct sq_gpu_gemm gemm;
};
enum { SQ_GPU_KERNELS_MAX = 2 * SQ_GPU_N_DTYPES + 1 + 2 * 5 };
// Lists the kernels whose kinds the machine has: dense BF16 first, INT8, FP8, INT4, FP8B, NVFP4, W8A16,
// W4A16, W4A8, 2:4 of each, and the static SQ splits (BF16, FP8) and (INT8, INT4) with s = 0, .5, .75,
// .875, 1, the weights of the second in 4 bits. Returns how many.
unsigned sq_gpu_kernels(const struct sq_gpu *gpu, struct sq_gpu_kernel kernel[SQ_GPU_KERNELS_MAX]);
// The kernel of such a name, of any machine; a split may have any share above 0 and below 1 and any two
// data types. SQ_ERR_ARG for a name of no kernel.
enum sq_status sq_gpu_kernel_parse(const char *name, struct sq_gpu_kernel *kernel,
                                   struct sq_error *err);

// The product of a stored format that has one (its table has a `gpu`).
struct sq_gpu_gemm sq_gpu_of_recipe(const struct sq_recipe *r, const struct sq_gemm *size);

// A workload in one kernel or one format. Times are sums over rows times their count.
struct sq_gpu_total {
    double seconds;
    double launch_s, dram_s; // of it, where nothing would overlap
    double measured_s;       // NaN unless every shape was measured
    size_t shapes, measured; // rows of the workload; those with a record
};
// records may be NULL. Of several records of one shape the fastest counts. Refusals:
// sq_gpu_time_gemm.
enum sq_status sq_gpu_total_kernel(const struct sq_gpu *gpu, const struct sq_gpu_kernel *kernel,
                                   const struct sq_workload *w,
                                   const struct sq_gpu_records *records, struct sq_gpu_total *total,
                                   struct sq_error *err);
enum sq_status sq_gpu_total_recipe(const struct sq_gpu *gpu, const struct sq_recipe *r,
                                   const struct sq_workload *w,
                                   const struct sq_gpu_records *records, struct sq_gpu_total *total,
                                   struct sq_error *err);

// Adds the totals of the rows of a workload, one after the other, to their sum.
void sq_gpu_total_add(struct sq_gpu_total *sum, const struct sq_gpu_total *t);

// The fastest record of a GEMM, NULL where there is none.
const struct sq_gpu_record *sq_gpu_find_record(const struct sq_gpu_records *records,
                                               const struct sq_gpu_gemm *gemm);

// Where measured - predicted comes from: one ceiling of the machine after the other is replaced by
// the one that the record's run measured, 0 where it has none; rest is what then remains. The four
// add up to the gap.
struct sq_gpu_gap {
    double predicted_s, launch_s, dram_s, rate_s, rest_s;
};
enum sq_status sq_gpu_explain(const struct sq_gpu *gpu, const struct sq_gpu_record *record,
                              struct sq_gpu_gap *gap, struct sq_error *err);
