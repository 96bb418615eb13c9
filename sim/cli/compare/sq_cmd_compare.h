// SPDX-License-Identifier: Apache-2.0
// Parts of `sqsim compare`. Program code.
#pragma once

#include "sim/cli/sq_cli_row.h"
#include "sim/gpu/sq_gpu_cross.h"
#include "sim/io/sq_file.h"

// ---- plots ----------------------------------------------------------------------------------

// A picture that gnuplot draws from `script`, which is memory; foreign texts go there by
// sq_put_gnuplot only.
struct sq_compare_plot {
    struct sq_outfile out;
    const char *path;
    FILE *script;
    char *text; // of the script
    size_t nbytes;
};
// Terminal and output are set, 1000 wide. SQ_ERR_ARG for a name that ends in neither .svg nor .png.
enum sq_status sq_compare_plot_open(struct sq_compare_plot *p, const char *path, unsigned height,
                                    struct sq_error *err);
// The file appears when gnuplot has succeeded. SQ_ERR_TOOL where it is missing or fails.
enum sq_status sq_compare_plot_close(struct sq_compare_plot *p, struct sq_error *err);

// ---- rows -----------------------------------------------------------------------------------

const char *sq_compare_name(const char *path);                // the file's name without its folders
const char *sq_compare_sparsity(const struct sq_gpu_gemm *g); // "dense", "2:4", "split"
// A line for each reason; the same as [{"rows", "line", "reason"}].
void sq_compare_print_left(const struct sq_gpu_lefts *left);
json_t *sq_compare_json_left(const struct sq_gpu_lefts *left);
// A line for each calibration row that the fitted machine is far from; their lines in the file.
void sq_compare_print_outliers(const struct sq_gpu *gpu, const struct sq_gpu_records *g);
json_t *sq_compare_json_outliers(const struct sq_gpu *gpu, const struct sq_gpu_records *g);

// ---- predictions ----------------------------------------------------------------------------

enum { SQ_COMPARE_MAX = 4 };
struct sq_compare_predict {
    const char *machine; // NULL: sim/machines/h200.yaml
    const char *records; // NULL: none
    const char *workload[SQ_COMPARE_MAX];
    uint64_t m[SQ_COMPARE_MAX];
    size_t n_workloads, n_m; // 0: the defaults
    const char *plot;        // NULL: none
    bool is_json;
};
// Prints the table, or one JSON object per cell and the summary.
enum sq_status sq_compare_predict(const struct sq_compare_predict *p, struct sq_error *err);

// ---- measured times alone -------------------------------------------------------------------

// JSON records, one a line (reports/gpu): a row for each kernel and number of tokens.
enum sq_status sq_compare_measured(const char *path, bool is_json, struct sq_error *err);

// ---- several files --------------------------------------------------------------------------

struct sq_compare_input {
    size_t n;
    char name[SQ_GPU_CROSS_MAX][64]; // of the files
    struct sq_gpu gpu[SQ_GPU_CROSS_MAX];
    struct sq_gpu_records g[SQ_GPU_CROSS_MAX];
};
// n files and their machines, 0: those of the repository; *in is zeroed. Free it, which is of
// malloc, in any case.
enum sq_status sq_compare_input_read(const char *const records[], const char *const machine[],
                                     size_t n, struct sq_compare_input *in, struct sq_error *err);
void sq_compare_input_free(struct sq_compare_input *in);

// Leave one GPU out. `plot`: NULL for none.
enum sq_status sq_compare_cross(const struct sq_compare_input *in, const char *plot, bool is_json,
                                struct sq_error *err);

// Attention: n files of aiconfigurator's measured times and their machines.
enum sq_status sq_compare_attention(const char *const records[], const char *const machine[],
                                    size_t n, bool is_json, struct sq_error *err);

// Formats on accelerator and GPUs side by side. `formats`: path of the table of formats, NULL: the
// repository's (traces/gpu_measured/formats.csv); `machine`: of the accelerator, NULL: default.yaml.
enum sq_status sq_compare_joined(const struct sq_compare_input *in, const char *formats,
                                 const char *plot, bool is_json, struct sq_error *err);
