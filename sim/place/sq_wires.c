// SPDX-License-Identifier: Apache-2.0
// Places a netlist, has it timed, and changes it until it meets its period (sq_wires.h).
#include "sim/place/sq_wires.h"

#include <jansson.h>
#include <math.h>
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

// A placement with what OpenSTA says of it.
struct timed {
    struct sq_place p;
    struct sq_spef_sum sum;
    struct sq_synth_delay delay;
    char *report, *slack;
};

static void free_timed(struct timed *t)
{
    free(t->sum.of_net);
    free(t->report);
    free(t->slack);
    sq_place_free(&t->p);
}

// Into t->delay, and the longest path without any wires into *bare_ns, where that is asked for.
static enum sq_status time_texts(const struct sq_synth *s, const struct sq_synth_block *block,
                                 const char *clock, struct timed *t, const char *verilog,
                                 const char *spef, double *bare_ns, struct sq_error *err)
{
    char name[24];
    clock_name(&t->p, clock, name);
    if (bare_ns) {
        SQ_TRY(sq_synth_time(s, block, name, verilog, NULL, &t->delay, &t->report, &t->slack, err));
        free(t->report);
        *bare_ns = t->delay.path_ns;
    }
    return sq_synth_time(s, block, name, verilog, spef, &t->delay, &t->report, &t->slack, err);
}

static enum sq_status time_it(const struct sq_synth *s, const struct sq_synth_block *block,
                              const char *clock, struct timed *t, double *bare_ns,
                              struct sq_error *err)
{
    const struct sq_wires *const w = s->on_area_context;
    SQ_FREED char *verilog = NULL, *spef = NULL;
    size_t n;
    FILE *out = open_memstream(&verilog, &n);
    SQ_NEED(out, err, "a netlist");
    sq_spef_verilog(out, &t->p, block->top);
    fclose(out);
    t->sum.of_net = calloc(t->p.n_nets + 1, sizeof(double));
    out = open_memstream(&spef, &n);
    enum sq_status status = SQ_HAVE(out && t->sum.of_net, err, "a netlist");
    SQ_THEN(status, sq_spef_write(out, &t->p, block->top, &w->layer, &t->sum, err));
    if (out)
        fclose(out);
    SQ_THEN(status, time_texts(s, block, clock, t, verilog, spef, bare_ns, err));
    return status;
}

static const struct sq_liberty *memory_of(const struct sq_synth_block *b)
{
    return b->macro ? &b->macro->lib : NULL;
}

// ---- repair -----------------------------------------------------------------------------------

// The shares of max_capacitance that late drivers are left with, one after another.
static const double shares[] = {.35, .18, .09, .05, .03, .02, .014};
static const double NEAR = .95;  // of the longest path: what is changed at once
static const double GAIN = .999; // of it: what a change has to leave, at most
enum { N_SHARES = sizeof shares / sizeof shares[0], ROUNDS = 24 };

// Places that are near each other have numbers that are near each other: their bits in turn.
static double order_of(const struct sq_place *p, const struct sq_place_pin *pin)
{
    const uint32_t x = (uint32_t)(1023 * fmin(fmax(sq_place_x(p, pin) / p->width, 0), 1));
    const uint32_t y = (uint32_t)(1023 * fmin(fmax(sq_place_y(p, pin) / p->height, 0), 1));
    uint32_t order = 0;
    for (unsigned i = 0; i < 10; i++)
        order |= (x >> i & 1) << 2 * i | (y >> i & 1) << (2 * i + 1);
    return order;
}

// Lines "c7/Y ns"; a pin that no path goes through is never late.
static void read_slacks(const struct timed *t, double *slack)
{
    const struct sq_place *const p = &t->p;
    for (size_t i = 0; i < p->n_pins; i++)
        slack[i] = INFINITY;
    for (const char *line = t->slack; line && *line; line = strchr(line, '\n')) {
        unsigned cell;
        char name[SQ_LIB_NAME_LEN];
        double ns;
        line += *line == '\n';
        if (sscanf(line, "c%u/%63s %lf", &cell, name, &ns) != 3 || cell >= p->n_cells)
            continue;
        for (uint32_t i = 0; i < p->cell[cell].n_pins; i++)
            if (strcmp(p->pin[p->cell[cell].pin + i].lef->name, name) == 0)
                slack[p->cell[cell].pin + i] = ns;
    }
}

// The netlist of `t` with larger cells and buffers at one share, placed and timed into *next; n: how many.
static enum sq_status change(const struct sq_synth *s, const struct sq_synth_block *block,
                             const char *clock, const struct timed *t, double share,
                             struct timed *next, size_t n[2], struct sq_error *err)
{
    const struct sq_wires *const w = s->on_area_context;
    const struct sq_place *const p = &t->p;
    double *const pins = calloc(2 * p->n_pins + 1, sizeof *pins), *const order = pins + p->n_pins;
    json_t *const root = json_deep_copy(p->root);
    const struct sq_synth_loads loads = {
        t->sum.of_net, pins, order,
        SQ_SYNTH_CLOCK - fmax(block->period_ns, NEAR * t->delay.period_ns), share};
    enum sq_status status = SQ_HAVE(pins && root, err, "a netlist");
    for (size_t i = 0; i < p->n_pins && status == SQ_OK; i++)
        order[i] = order_of(p, &p->pin[i]);
    for (size_t i = 0; i < p->n_nets && status == SQ_OK; i++)
        t->sum.of_net[i] = p->net[i].is_ideal ? -1 : t->sum.of_net[i];
    if (status == SQ_OK) {
        read_slacks(t, pins);
        status = sq_synth_repair(s, block, root, &loads, n, err);
    }
    free(pins);
    if (status != SQ_OK || n[0] + n[1] == 0) {
        json_decref(root);
        return status;
    }
    SQ_TRY(sq_place_take(&next->p, root, clock, w->lef, memory_of(block), err));
    SQ_TRY(sq_place_again(&next->p, p, w->utilisation, err));
    return time_it(s, block, clock, next, NULL, err);
}

// Each share as long as it helps; stops when the period stands.
static enum sq_status repair(const struct sq_synth *s, const struct sq_synth_block *block,
                             struct sq_synth_result *r, struct timed *t, struct sq_error *err)
{
    enum sq_status status = SQ_OK;
    bool is_changed = false;
    for (size_t i = 0, round = 0;
         i < N_SHARES && round < ROUNDS && status == SQ_OK && t->delay.period_ns > block->period_ns;
         round++) {
        struct timed next = {.report = NULL};
        size_t n[2] = {0, 0};
        status = change(s, block, r->clock, t, shares[i], &next, n, err);
        const bool is_better =
            status == SQ_OK && n[0] + n[1] > 0 && next.delay.period_ns < GAIN * t->delay.period_ns;
        if (is_better) {
            struct timed was = *t;
            *t = next;
            next = was;
            r->wires.n_sized += (unsigned)n[0];
            r->wires.n_buffers += (unsigned)n[1];
            is_changed = true;
        } else {
            i++;
        }
        free_timed(&next);
    }
    return status == SQ_OK && is_changed ? sq_synth_recount(s, block, t->p.root, r, err) : status;
}

// ---- together ---------------------------------------------------------------------------------

static enum sq_status place(const struct sq_synth *s, const struct sq_synth_block *block,
                            struct sq_synth_result *r, struct timed *t, struct sq_error *err)
{
    const struct sq_wires *const w = s->on_area_context;
    char *path;
    SQ_TRY(sq_synth_mapped(s, block, &path, err));
    const enum sq_status status =
        sq_place_read(&t->p, path, r->clock, w->lef, memory_of(block), err);
    free(path);
    SQ_TRY(status);
    SQ_TRY(sq_place_run(&t->p, w->utilisation, w->seed, err));
    SQ_TRY(time_it(s, block, r->clock, t, &r->wires.without_ns, err));
    r->wires.placed_ns = t->delay.path_ns;
    return block->period_ns > 0 ? repair(s, block, r, t, err) : SQ_OK;
}

enum sq_status sq_wires_place(const struct sq_synth *s, const struct sq_synth_block *block,
                              struct sq_synth_result *result, struct sq_place *p, char **report,
                              struct sq_error *err)
{
    const double start = now_s();
    struct timed t = {.report = NULL};
    const enum sq_status status = place(s, block, result, &t, err);
    if (status == SQ_OK) {
        result->critical_path_ns = t.delay.path_ns;
        result->min_period_ns = t.delay.period_ns;
        result->wires.length_um = t.sum.length_um;
        result->wires.farads = t.sum.farads;
        result->wires.utilisation = t.p.area / (t.p.width * t.p.height);
        result->wires.seconds = now_s() - start;
        *p = t.p;
        *report = t.report;
        t.p = (struct sq_place){0};
        t.report = NULL;
    }
    free_timed(&t);
    return status;
}

enum sq_status sq_wires_on_area(const struct sq_synth *s, const struct sq_synth_block *block,
                                struct sq_synth_result *result, struct sq_error *err)
{
    const struct sq_wires *const w = s->on_area_context;
    SQ_CLOSED(sq_place_free) struct sq_place p = {0};
    SQ_FREED char *report = NULL;
    result->wires.library_ns = result->critical_path_ns;
    for (size_t i = 0; i < result->n_parts; i++)
        result->part[i].path_ns = NAN; // those of a chip have no placed wires
    if (w->is_later)
        return SQ_OK;
    SQ_TRY(sq_wires_place(s, block, result, &p, &report, err));
    return SQ_OK;
}
