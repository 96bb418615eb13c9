// SPDX-License-Identifier: Apache-2.0
// A format beside its base on the accelerator and on a GPU: how many times faster it is there as
// simulated, as predicted, by the roofline, and as measured.
//
// All figures of a line are of the same GEMMs: of the shapes of which the file has a time of both
// (then geometric means of the speedups), or, where no file of the machine has any, of the row's
// workload (then ratios of sums, and nothing is measured). Model and roofline are those that were
// fitted to other GPUs (sq_gpu_cross.h).
//
// A static SQ split is composed: a GEMM whose K is split takes the shares of the times that its two
// data types need for all of K, as if one kernel did both and the change cost nothing. `parts` also
// adds up the times of two GEMMs, each of its own part of K, one after the other, where the file has
// them; between two measured K of the same M and N a time is interpolated, beyond them it is not.
#pragma once

#include "sim/gpu/sq_gpu_cross.h"
#include "sim/gpu/sq_gpu_predict.h"
#include "sim/machine/sq_machine_run.h"

// The simulated speedup times the steps, one after the other, is the measured one, or the predicted
// one where nothing was measured.
enum sq_gpu_step {
    SQ_GPU_STEP_SHEET, // to the data sheet of the GPU: other rates, other bytes for each operation
    SQ_GPU_STEP_POWER, // shares of them that last, most of all by the power limit
    SQ_GPU_STEP_FIXED, // launch, tail
    SQ_GPU_STEP_QUANTIZING, // of activations, where it is timed too
    SQ_GPU_STEP_LIBRARY,    // what the model does not explain: the kernels of the library
    SQ_GPU_N_STEPS
};
const char *sq_gpu_step_name(enum sq_gpu_step step); // "data sheet", "power", ...

struct sq_gpu_joined_row {
    uint64_t min_m, max_m; // of shapes that count
    bool is_simulated;     // `fast` and `slow` are set
    struct sq_recipe fast, slow;
    bool has_kernels; // else the products of both formats (sq_gpu_of_recipe)
    struct sq_gpu_kernel fast_kernel, slow_kernel;
    struct sq_workload workload; // of the caller
};

// NaN: not there.
struct sq_gpu_joined_line {
    size_t row, file;
    size_t shapes; // that were measured; 0: of the workload
    double simulated, measured, predicted, roofline;
    double step[SQ_GPU_N_STEPS]; // the first is NaN where nothing is simulated
    struct {
        size_t shapes;
        double one_kernel, two_kernels; // of these shapes, measured
    } parts;
};

// A measured shape of a line.
struct sq_gpu_joined_point {
    size_t row;
    uint64_t m;
    double measured, predicted; // speedups
};

struct sq_gpu_joined {
    size_t n;
    struct sq_gpu_joined_line *line; // owned, by row and file
    size_t n_points;
    struct sq_gpu_joined_point *point; // owned
};

// Makes a line for every row and file that has both times; where no file of a machine has them, one for
// the machine, unless it lacks a kind. gpu[i] is the machine of records g[i], as given to `cross`. Refusals of
// sq_mapping_run.
enum sq_status sq_gpu_joined(const struct sq_gpu_joined_row row[], size_t n_rows,
                             const struct sq_machine *accelerator, const struct sq_gpu_cross *cross,
                             const struct sq_gpu_records g[], struct sq_gpu_joined *joined,
                             struct sq_error *err);
void sq_gpu_joined_free(struct sq_gpu_joined *joined);
