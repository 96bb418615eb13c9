// SPDX-License-Identifier: Apache-2.0
// Parts of `sqsim compare`. Program code.
#ifndef SQ_CMD_COMPARE_H
#define SQ_CMD_COMPARE_H

#include "sim/cli/sq_cli.h"
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
// Terminal and output are set. SQ_ERR_ARG for a name that ends in neither .svg nor .png.
enum sq_status sq_compare_plot_open(struct sq_compare_plot *p, const char *path,
                                    struct sq_error *err);
// The file appears when gnuplot has succeeded. SQ_ERR_TOOL where it is missing or fails.
enum sq_status sq_compare_plot_close(struct sq_compare_plot *p, struct sq_error *err);

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
enum sq_status sq_compare_add_workload(struct sq_compare_predict *p, const char *path,
                                       struct sq_error *err);
enum sq_status sq_compare_add_m(struct sq_compare_predict *p, const char *text,
                                struct sq_error *err);
// Prints the table, or one JSON object per cell and the summary.
enum sq_status sq_compare_predict(const struct sq_compare_predict *p, struct sq_error *err);

#endif
