// SPDX-License-Identifier: Apache-2.0
// sqsim run --explain: where a number comes from.
#include <math.h>
#include <string.h>

#include "sim/block/core/sq_core_run.h"
#include "sim/cli/run/sq_cmd_run.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/machine/sq_roofline.h"

const char *const sq_run_topics[] = {"cycles", "table10", "v13", "roofline", NULL};

static void put_summary(const struct sq_cli_column *row, const char *basis)
{
    sq_cli_put_summary(row, sq_cli_provenance("shapes", basis, 0));
}

// ---- cycles ---------------------------------------------------------------------------------

static enum sq_status explain_cycles(const struct sq_run_request *in, const struct sq_format *f,
                                     const struct sq_core_config *core, struct sq_error *err)
{
    static const struct sq_rates free_streams = {1, 1, 1, 1};
    const uint64_t m = in->gemm.m, n = in->gemm.n, k = in->gemm.k;
    struct sq_job job;
    const size_t k_padded = sq_k_padded(f, k);
    const struct sq_core_config g = sq_gemm_core(core, f, k_padded);
    SQ_TRY(sq_gemm_job(&g, f, m, n, k_padded, &job, err));
    const uint64_t bound = sq_job_bound(&g, &job);
    const struct sq_core_stats s = sq_core_run_fast(&g, &job, &free_streams);
    const uint64_t tiles = (m + g.rows - 1) / g.rows * ((n + g.cols - 1) / g.cols);
    const uint64_t scalesim = sq_scalesim_os_cycles(m, n, k, g.rows, g.cols);
    const unsigned low = sq_core_low_steps(&g), high = sq_core_high_steps(&g);
    const double ideal = (double)m * (double)n * (double)k / g.rows / g.cols;
    const uint64_t skew = g.rows + g.cols - 2;
    const struct sq_cli_column row[] = {
        SQ_KEYS("m", m, "n", n, "k", k),
        SQ_KEYS("ideal_cycles", sq_cli_amount(ideal / g.low_lanes), "bound_cycles", bound),
        SQ_KEYS("cycles", s.cycles, "scalesim_os_cycles", scalesim),
        SQ_KEYS("scalesim_skew_cycles", skew * tiles), SQ_COLUMNS_END};
    if (in->is_json) {
        put_summary(row, "closed forms and cycle model (equal to RTL)");
        return SQ_OK;
    }
    printf("Y[%llu][%llu] = X W^T, K = %llu (stored %zu), core %ux%u, L = %u, H = %u\n",
           (unsigned long long)m, (unsigned long long)n, (unsigned long long)k, k_padded, g.rows,
           g.cols, g.low_lanes, g.high_lanes);
    printf("ideal        %12.1f  M N K / (rows cols L)\n", ideal / g.low_lanes);
    printf("bound        %12llu  = %llu tiles x %llu groups x %u banks x max(ceil(b/L) = %u, "
           "ceil(k/H) = %u)\n",
           (unsigned long long)bound, (unsigned long long)tiles,
           (unsigned long long)(job.groups / tiles), job.group_banks, low, high);
    if (g.bank > f->bank)
        printf("  banks of %u with k = %u: %u of b = %u side by side, which L has room for\n",
               g.bank, g.high_per_bank, g.bank / f->bank, f->bank);
    printf("cycle model  %12llu  = bound + %llu: fill of the first bank, pipelines and drain, once "
           "per job (= RTL)\n",
           (unsigned long long)s.cycles, (unsigned long long)(s.cycles - bound));
    printf("SCALE-Sim OS %12llu  = (K + R + C - 2) ceil(M/R) ceil(N/C) - 1, one MAC per PE\n",
           (unsigned long long)scalesim);
    printf("  %llu of them are K per tile, %llu the systolic skew R + C - 2, paid again for every "
           "tile,\n  and the last -1 counts from zero. This core broadcasts rows and columns: no "
           "skew, tiles follow\n  each other without a gap, and L multipliers of a PE take %u "
           "elements of K per cycle.\n",
           (unsigned long long)(k * tiles), (unsigned long long)(skew * tiles), g.low_lanes);
    printf("  With L = 1 the bound is K per tile as well: what is left is skew against drain.\n");
    return SQ_OK;
}

// ---- table 10 -------------------------------------------------------------------------------

static void explain_table10(bool is_json)
{
    struct sq_cli_table table = {.is_json = is_json};
    double worst = 0;
    if (!is_json)
        printf("T / T(W4A8) = (1-s) + s/r, r = T(W4A8) / T(W4A4) of the paper's end points\n");
    for (unsigned i = 0; i < SQ_TABLE10_MODELS; i++)
        for (unsigned j = 0; j < 3; j++) {
            const struct sq_table10 *t = &sq_table10[i];
            const double here = sq_table10_speedup(t, j), diff = here - t->paper_speedup[j];
            const struct sq_cli_column row[] = {
                SQ_COLUMN("model", t->model, "model", -12),
                SQ_COLUMN("r", sq_cli_amount(t->w4a8_s / t->w4a4_s), "r", 7, .as = "%.3f"),
                SQ_COLUMN("sparsity", sq_cli_amount(t->sparsity[j]), "s", 7, .as = "%.3f"),
                SQ_COLUMN("paper_speedup", sq_cli_amount(t->paper_speedup[j]), "paper", 9,
                          .as = "%.2f"),
                SQ_COLUMN("speedup", sq_cli_amount(here), "here", 9, .as = "%.3f"),
                SQ_COLUMN(NULL, diff, "diff", 7, .as = "%+.3f"),
                SQ_COLUMN(NULL, here * t->w4a4_s / t->w4a8_s, "W4A4 share", 10, .as = "%.1f%%",
                          .scale = 100),
                SQ_COLUMN("paper_gb", t->paper_s[j] * t->paper_gb_per_s[j], "paper GB", 10,
                          .as = "%.0f"),
                SQ_COLUMNS_END};
            worst = fmax(worst, fabs(diff));
            sq_cli_put(&table, row);
        }
    const struct sq_cli_column row[] = {SQ_KEYS("worst_difference", sq_cli_amount(worst)),
                                        SQ_COLUMNS_END};
    if (is_json)
        put_summary(row, "closed form; paper figures quoted");
    else
        printf("No constant is taken from the rows that are predicted. 8B comes out slower in the "
               "paper:\n"
               "gather and quantisation, left out here, weigh more in small GEMM.\n"
               "paper GB: its time by its bandwidth, the bytes that both say were moved.\n");
}

// ---- V13 ------------------------------------------------------------------------------------

static void explain_v13(bool is_json)
{
    static const double s[] = {.5, .75, .875, .9375};
    const uint64_t m = 2048, n = 4096, k = 4096, lo = 4096, hi = 1024;
    struct sq_cli_table table = {0};
    json_t *weight = json_array(), *act = json_array();
    if (!is_json)
        printf("M=2048, N=K=4096, 4096 low and 1024 high MAC per cycle\nW8A8 %26llu\n",
               (unsigned long long)sq_roof_dense_cycles(m, n, k, hi));
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t w = sq_roof_weight_cycles(m, n, k, lo, hi, s[i]);
        const uint64_t a = sq_roof_act_cycles(m, n, k, lo, hi, s[i]);
        json_array_append_new(weight, json_integer((json_int_t)w));
        json_array_append_new(act, json_integer((json_int_t)a));
        const struct sq_cli_column row[] = {
            SQ_COLUMN(NULL, s[i], "s", -8, .as = "%g"), SQ_COLUMN(NULL, w, "weights, parallel", 22),
            SQ_COLUMN(NULL, a, "activations, serial", 22), SQ_COLUMNS_END};
        if (!is_json)
            sq_cli_put(&table, row);
    }
    const struct sq_cli_column row[] = {
        SQ_KEYS("weight_parallel", weight, "activation_serial", act),
        SQ_KEYS("w8a8", sq_roof_dense_cycles(m, n, k, hi)), SQ_COLUMNS_END};
    json_t *o = sq_cli_summary(row, sq_cli_provenance("shapes", "closed form", 0));
    if (is_json)
        sq_cli_json_line(o);
    else
        json_decref(o);
}

// ---- roofline -------------------------------------------------------------------------------

static const struct {
    const char *name;
    double bits; // per weight, scales and metadata included
} decode_formats[] = {
    {"FP16", 16},
    {"W8", 8},
    {"2:4 INT8", 5},
    {"W4 g128", 4.125},
    {"SQ(8,4) s=.75", 6.25},
    {"SQ(8,4) s=.875", 5.25},
};

static void explain_roofline(bool is_json)
{
    // Linear parameters of SPEC I; 4.3 TB/s is a copy measured on an H200.
    static const double params[] = {6476005376.0, 6979321856.0}, rate = 4.3e12;
    static const double batches[] = {1, 8, 32, 128, 512},
                        tutorial[] = {1.45, 1.78, 2.15, 2.42, 2.55};
    static const double fp16_peak = 989e12, sp24_peak = 3958e12, bandwidth = 3.35e12;
    const double n = 4096, k = 4096;
    struct sq_cli_table decode = {.is_json = is_json}, prefill = decode;
    if (!is_json)
        printf(
            "Decode, batch 1: every weight is read once, 2 operations each (1 per byte in FP16): "
            "time = bytes / 4.3 TB/s\n");
    for (size_t i = 0; i < sizeof decode_formats / sizeof decode_formats[0]; i++) {
        const double bits = decode_formats[i].bits;
        const double ms[2] = {params[0] * bits / 8 / rate * 1e3, params[1] * bits / 8 / rate * 1e3};
        const struct sq_cli_column row[] = {
            SQ_COLUMN("format", decode_formats[i].name, "format", -16),
            SQ_COLUMN("bits", sq_cli_amount(bits), "bits", 6, .as = "%.3f"),
            SQ_COLUMN("speedup_over_fp16", sq_cli_amount(16 / bits), "over FP16", 12,
                      .as = "%.2fx"),
            SQ_COLUMN("llama_2_7b_ms", ms[0], "Llama-2-7B", 16, .unit = "ms", .as = "%.2f"),
            SQ_COLUMN("llama_3_8b_ms", ms[1], "Llama-3-8B", 16, .unit = "ms", .as = "%.2f"),
            SQ_COLUMNS_END};
        sq_cli_put(&decode, row);
    }
    if (!is_json)
        printf("\n2:4 INT8 over dense FP16, 4096x4096 on H100 SXM data-sheet figures (989 and 3958 "
               "T, 3.35 TB/s),\nbeside the tutorial's claims (quoted):\n");
    for (unsigned i = 0; i < 5; i++) {
        const double m = batches[i], io = m * n * 2;
        const double dense =
            sq_roof_seconds(m, n, k, fp16_peak, 2 * n * k + 2 * m * k + io, bandwidth);
        const double sp24 =
            sq_roof_seconds(m, n, k, sp24_peak, .625 * n * k + m * k + io, bandwidth);
        const struct sq_cli_column row[] = {
            SQ_COLUMN("batch", sq_cli_amount(m), "batch", -8),
            SQ_COLUMN("roofline_speedup", sq_cli_amount(dense / sp24), "roofline", 10,
                      .as = "%.2fx"),
            SQ_COLUMN("tutorial_speedup", sq_cli_amount(tutorial[i]), "tutorial", 10,
                      .as = "%.2fx"),
            SQ_COLUMNS_END};
        sq_cli_put(&prefill, row);
    }
    const struct sq_cli_column none[] = {SQ_COLUMNS_END};
    if (is_json)
        put_summary(none, "closed form; tutorial figures quoted");
    else
        printf("The tutorial's figures rise with the batch. A roofline does not: the bytes already "
               "say 3.2x at batch 1.\n");
}

enum sq_status sq_run_explain(enum sq_run_topic topic, const struct sq_run_request *in,
                              const struct sq_format *f, const struct sq_core_config *core,
                              struct sq_error *err)
{
    switch (topic) {
    case SQ_RUN_CYCLES:
        return explain_cycles(in, f, core, err);
    case SQ_RUN_TABLE10:
        explain_table10(in->is_json);
        break;
    case SQ_RUN_V13:
        explain_v13(in->is_json);
        break;
    default:
        explain_roofline(in->is_json);
    }
    return SQ_OK;
}
