// SPDX-License-Identifier: Apache-2.0
// sqsim compare --cross: leave-one-GPU-out, the model and the roofline side by side.
#include <math.h>

#include "sim/cli/compare/sq_cmd_compare.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/gpu/sq_gpu_cross.h"

// ---- output ---------------------------------------------------------------------------------

static const char *rows_of(const struct sq_gpu_cross_line *l, char text[16])
{
    if (l->rows_of == SQ_GPU_CROSS_KIND)
        snprintf(text, 16, "%s%s", sq_gpu_dtype_name(l->dtype), l->is_sparse ? " 2:4" : "");
    else
        snprintf(text, 16, "%s", l->rows_of == SQ_GPU_CROSS_ALL ? "all" : "kernels");
    return text;
}

static void print_rank(double rank)
{
    if (isnan(rank))
        printf(" %5s", "-");
    else
        printf(" %5.2f", rank);
}

static void print_line(const struct sq_gpu_cross_line *l)
{
    char text[16];
    printf("  %-9s %-6s %5zu", rows_of(l, text), l->is_small ? "1..64" : ">=128", l->rows);
    for (unsigned is_own = 0; is_own < 2; is_own++) {
        const struct sq_gpu_score *m = &l->score[is_own][SQ_GPU_MODEL];
        const struct sq_gpu_score *r = &l->score[is_own][SQ_GPU_ROOFLINE];
        printf(" |%7.1f %%%7.1f %%", 100 * m->error, 100 * r->error);
        print_rank(m->rank);
        print_rank(r->rank);
    }
    printf("\n");
}

static void print_law(const char *name, const struct sq_gpu_law *law)
{
    printf(
        "%s: share %.3g, per watt %.3g, watts %.3g, sparse %.3g, launch %.3g us, alone %.3g, DRAM "
        "%.3g, quantize %.3g, tail %.4g, knee %.3g\n",
        name, law->share, law->per_watt, law->watts, law->sparse, 1e6 * law->launch_s, law->alone,
        law->dram, law->quantize, law->tail, law->knee);
}

static void print_text(const struct sq_compare_input *in, const struct sq_gpu_cross *cross)
{
    printf("%-24s |%-31s |%s\n", "", " GPU left out of the fit", " one shape in ten fitted");
    printf("%-24s |%-19s %-11s |%-19s %s\n", "", " median error", "speedup", " median error",
           "speedup");
    printf("  %-9s %-6s %5s |%9s%10s%5s%6s  |%9s%10s%5s%6s\n", "rows", "M", "n", "model",
           "roofline", "rank", "roof", "model", "roofline", "rank", "roof");
    for (size_t i = 0; i < cross->n; i++) {
        const struct sq_gpu_cross_line *l = &cross->line[i];
        if (i == 0 || l->file != cross->line[i - 1].file) {
            const bool is_all = l->file == SQ_GPU_CROSS_MAX;
            printf("%s%s%s\n", is_all ? "all files" : sq_cli_text(in->name[l->file]),
                   is_all ? "" : " on ", is_all ? "" : sq_cli_text(in->gpu[l->file].name));
        }
        print_line(l);
    }
    print_law("law of all files", &cross->law);
    print_law("law of sqsim", &sq_gpu_law);
}

static json_t *json_score(const struct sq_gpu_score *s)
{
    const struct sq_cli_column row[] = {
        SQ_KEYS("median_abs_error", s->error, "speedup", s->speedup),
        SQ_KEYS("median_speedup_error", s->speedup_error, "spearman", s->rank), SQ_COLUMNS_END};
    return sq_cli_object(row);
}

static json_t *json_scores(const struct sq_gpu_score s[])
{
    return json_pack("{s:o, s:o}", "model", json_score(&s[SQ_GPU_MODEL]), "roofline",
                     json_score(&s[SQ_GPU_ROOFLINE]));
}

static void print_json(const struct sq_compare_input *in, const struct sq_gpu_cross *cross)
{
    struct sq_cli_table table = {.is_json = true};
    for (size_t i = 0; i < cross->n; i++) {
        const struct sq_gpu_cross_line *l = &cross->line[i];
        const bool is_all = l->file == SQ_GPU_CROSS_MAX;
        char text[16];
        const struct sq_cli_column row[] = {
            SQ_KEYS("records", is_all ? "all" : in->name[l->file]),
            SQ_KEYS("machine", is_all ? "all" : in->gpu[l->file].name, "kind", rows_of(l, text)),
            SQ_KEYS("m", l->is_small ? "1..64" : ">=128", "rows", l->rows, "speedups", l->pairs),
            SQ_KEYS("measured_speedup", l->speedup, "uncalibrated", json_scores(l->score[0])),
            SQ_KEYS("calibrated", json_scores(l->score[1])),
            SQ_COLUMNS_END};
        sq_cli_put(&table, row);
    }
    const struct sq_gpu_law *w = &cross->law;
    const struct sq_cli_column law[] = {
        SQ_KEYS("share", w->share, "per_watt", w->per_watt, "watts", w->watts),
        SQ_KEYS("sparse", w->sparse, "quantize", w->quantize),
        SQ_KEYS("launch_us", 1e6 * w->launch_s, "alone", w->alone, "dram", w->dram),
        SQ_KEYS("tail", w->tail, "knee", w->knee), SQ_COLUMNS_END};
    const struct sq_cli_column row[] = {SQ_KEYS("files", in->n, "law", sq_cli_object(law)),
                                        SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance("real", "modelled, against measured times", 0));
}

// ---- plot -----------------------------------------------------------------------------------

// A panel for each data type, and one for 2:4 of all.
enum { N_PANELS = 8 };
static const enum sq_gpu_dtype panels[N_PANELS - 1] = {
    SQ_GPU_BF16, SQ_GPU_INT8, SQ_GPU_FP8, SQ_GPU_FP8B, SQ_GPU_NVFP4, SQ_GPU_W8A16, SQ_GPU_W4A16};

static bool is_in_panel(const struct sq_gpu_gemm *g, unsigned panel)
{
    return panel < N_PANELS - 1 ? !g->is_sparse && g->dtype == panels[panel] : g->is_sparse;
}

static void plot_points(const struct sq_gpu_cross *c, FILE *f)
{
    for (unsigned p = 0; p < N_PANELS; p++)
        for (unsigned is_small = 0; is_small < 2; is_small++) {
            fprintf(f, "$p%u_%u << EOD\n", p, is_small);
            for (size_t i = 0; i < c->n_points; i++) {
                const struct sq_gpu_cross_point *x = &c->point[i];
                if (is_in_panel(&x->gemm, p) && (x->gemm.m <= 64) == (is_small == 1))
                    fprintf(f, "%.3g %.3g\n", 1e6 * x->measured_s,
                            1e6 * x->predicted_s[0][SQ_GPU_MODEL]);
            }
            fprintf(f, "0 0\nEOD\n"); // no block is empty
        }
}

static enum sq_status plot(const char *path, const struct sq_gpu_cross *c, struct sq_error *err)
{
    struct sq_compare_plot p;
    SQ_TRY(sq_compare_plot_open(&p, path, 480, err));
    plot_points(c, p.script);
    fputs("set multiplot layout 2,4 title 'GPUs that the law was not fitted to: predicted over "
          "measured time, us'\n"
          "set logscale xy\nset xrange [3:30000]\nset yrange [3:30000]\nset format '10^{%T}'\n"
          "set key top left samplen .5\n",
          p.script);
    for (unsigned i = 0; i < N_PANELS; i++)
        fprintf(
            p.script,
            "set title '%s'\nplot $p%u_0 title 'M >= 65' pt 7 ps .2, $p%u_1 title 'M <= 64' pt 7 "
            "ps .2, x notitle lc 'black'\n",
            i < N_PANELS - 1 ? sq_gpu_dtype_name(panels[i]) : "2:4", i, i);
    return sq_compare_plot_close(&p, err);
}

// ---- command --------------------------------------------------------------------------------

static void progress(size_t done, size_t total)
{
    sq_cli_progress("files fitted", done, total);
}

enum sq_status sq_compare_cross(const struct sq_compare_input *in, const char *picture,
                                bool is_json, struct sq_error *err)
{
    SQ_CLOSED(sq_gpu_cross_free) struct sq_gpu_cross c = {0};
    SQ_TRY(sq_gpu_cross(in->gpu, in->g, in->n, progress, &c, err));
    sq_cli_progress_end();
    if (is_json)
        print_json(in, &c);
    else
        print_text(in, &c);
    return picture ? plot(picture, &c, err) : SQ_OK;
}
