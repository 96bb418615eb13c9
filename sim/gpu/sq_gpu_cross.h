// SPDX-License-Identifier: Apache-2.0
// Leave-one-GPU-out: compares two predictors, the law (sq_gpu_law.h) and a roofline of three constants, with the
// times of a GPU (a file of records) that they were not fitted to, and again after a fit to one in ten of its shapes.
//
//   uncalibrated  model: a law fitted to the files of all other machines.
//                 roofline: the geometric mean over those files of its constants (share of the nominal
//                 rate, share of the DRAM's peak, t0) of the same kind; if no other machine has the
//                 kind, of all kinds of its sparsity
//   calibrated    model: each kind fitted to the file, starting from that law (sq_gpu_fit)
//                 roofline: each kind fitted to the file
//
// Machines with one name are one machine. Of a machine file only the data sheet counts. All figures are of
// rows outside the calibration sets.
#pragma once

#include "sim/gpu/sq_gpu_fit.h"
#include "sim/gpu/sq_gpu_roofline.h"

enum { SQ_GPU_CROSS_MAX = 16 }; // files

enum { SQ_GPU_MODEL, SQ_GPU_ROOFLINE, SQ_GPU_N_PREDICTORS };

// How good one predictor is.
struct sq_gpu_score {
    double error;   // median of |predicted / measured - 1|
    double speedup; // median of predicted speedups (sq_gpu_is_speedup); NaN where there is none
    double speedup_error; // median of |predicted / measured - 1| of them
    double rank;          // rank correlation with the measured ones
};

// The rows that a line summarizes.
enum sq_gpu_cross_rows {
    SQ_GPU_CROSS_KIND,    // of one kind
    SQ_GPU_CROSS_KERNELS, // that time the kernel alone
    SQ_GPU_CROSS_ALL,
};

struct sq_gpu_cross_line {
    size_t file; // SQ_GPU_CROSS_MAX: all files
    enum sq_gpu_cross_rows rows_of;
    enum sq_gpu_dtype dtype; // of SQ_GPU_CROSS_KIND
    bool is_sparse;
    bool is_small; // M of 1..64, else from 128 on
    size_t rows, pairs;
    double speedup;                                    // median of the measured ones
    struct sq_gpu_score score[2][SQ_GPU_N_PREDICTORS]; // [1]: calibrated
};

// A row outside the calibration sets, and its predictions.
struct sq_gpu_cross_point {
    struct sq_gpu_gemm gemm;
    size_t file;
    double measured_s, predicted_s[2][SQ_GPU_N_PREDICTORS]; // as `score`
};

// The predictors of a file's GPU.
struct sq_gpu_cross_file {
    struct sq_gpu gpu[2]; // by the law of the others; [1]: then fitted to the file
    struct sq_gpu_roofline roofline[2];
};

struct sq_gpu_cross {
    size_t n_files;
    struct sq_gpu_cross_file *file; // owned
    size_t n_points;
    struct sq_gpu_cross_point *point; // owned; those that all predictors have a kind for
    size_t n;
    struct sq_gpu_cross_line *line; // owned: by files and M, kinds first; all files last
    struct sq_gpu_law law;          // fitted to all files
};

// n files, gpu[i] the machine of records g[i]. `progress` (NULL: none) is called after each file.
// SQ_ERR_ARG for fewer than two machines by name; refusals of the fits.
enum sq_status sq_gpu_cross(const struct sq_gpu gpu[], const struct sq_gpu_records g[], size_t n,
                            void (*progress)(size_t done, size_t total), struct sq_gpu_cross *cross,
                            struct sq_error *err);

// Seconds of a product on the GPU of a file; 0 where the predictor has no such kind, and for an SQ split
// by the roofline. is_own: calibrated.
double sq_gpu_cross_seconds(const struct sq_gpu_cross_file *file, bool is_own, unsigned predictor,
                            const struct sq_gpu_gemm *gemm);
void sq_gpu_cross_free(struct sq_gpu_cross *cross);
