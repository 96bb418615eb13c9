// SPDX-License-Identifier: Apache-2.0
// Places a netlist and has it timed (sq_wires.h).
#include "sim/place/sq_wires.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// The clock as Verilog calls it (sq_spef.h).
static void clock_name(const struct sq_place *p, const char *clock, char name[24])
{
    name[0] = '\0';
    for (size_t i = 0; i < p->n_ports; i++)
        if (strcmp(p->cell[p->n_cells + i].name, clock) == 0)
            snprintf(name, 24, "p%zu", i);
}

static enum sq_status time_both(const struct sq_synth *s, const struct sq_synth_block *block,
                                const struct sq_place *p, const char *verilog, const char *spef,
                                struct sq_synth_result *r, char **report, struct sq_error *err)
{
    struct sq_synth_delay delay;
    char clock[24];
    clock_name(p, r->clock, clock);
    SQ_TRY(sq_synth_time(s, block, clock, verilog, NULL, &delay, report, err));
    free(*report);
    r->wires.without_ns = delay.path_ns;
    SQ_TRY(sq_synth_time(s, block, clock, verilog, spef, &delay, report, err));
    r->critical_path_ns = delay.path_ns;
    r->min_period_ns = delay.period_ns;
    return SQ_OK;
}

static enum sq_status write_and_time(const struct sq_synth *s, const struct sq_synth_block *block,
                                     const struct sq_place *p, const struct sq_wires *w,
                                     struct sq_synth_result *r, char **report, struct sq_error *err)
{
    char *text[2] = {NULL, NULL};
    size_t n;
    struct sq_spef_sum sum = {.of_net = NULL};
    FILE *out = open_memstream(&text[0], &n);
    SQ_NEED(out, err, "a netlist");
    sq_spef_verilog(out, p, block->top);
    fclose(out);
    out = open_memstream(&text[1], &n);
    enum sq_status status = SQ_HAVE(out, err, "a netlist");
    if (out) {
        status = sq_spef_write(out, p, block->top, &w->layer, &sum, err);
        fclose(out);
    }
    if (status == SQ_OK)
        status = time_both(s, block, p, text[0], text[1], r, report, err);
    if (status == SQ_OK) {
        r->wires.length_um = sum.length_um;
        r->wires.farads = sum.farads;
    }
    free(text[0]);
    free(text[1]);
    return status;
}

enum sq_status sq_wires_place(const struct sq_synth *s, const struct sq_synth_block *block,
                              struct sq_synth_result *result, struct sq_place *p, char **report,
                              struct sq_error *err)
{
    const struct sq_wires *const w = s->on_area_context;
    const double start = now_s();
    char *path;
    *report = NULL;
    SQ_TRY(sq_synth_mapped(s, block, &path, err));
    enum sq_status status = sq_place_read(p, path, result->clock, w->lef, err);
    free(path);
    SQ_TRY(status);
    status = sq_place_run(p, w->utilisation, w->seed, err);
    if (status == SQ_OK)
        status = write_and_time(s, block, p, w, result, report, err);
    if (status != SQ_OK) {
        sq_place_free(p);
        return status;
    }
    result->wires.is_placed = true;
    result->wires.utilisation = p->area / (p->width * p->height);
    result->wires.seconds = now_s() - start;
    return SQ_OK;
}

enum sq_status sq_wires_on_area(const struct sq_synth *s, const struct sq_synth_block *block,
                                struct sq_synth_result *result, struct sq_error *err)
{
    struct sq_place p;
    char *report;
    result->wires.library_ns = result->critical_path_ns;
    SQ_TRY(sq_wires_place(s, block, result, &p, &report, err));
    free(report);
    sq_place_free(&p);
    return SQ_OK;
}
