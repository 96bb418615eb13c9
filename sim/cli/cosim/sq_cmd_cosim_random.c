// SPDX-License-Identifier: Apache-2.0
// sqsim cosim: the points of a block, random cases over them, a waveform of one.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cosim/sq_cmd_cosim.h"
#include "sim/cosim/sq_campaign.h"
#include "sim/cosim/sq_wave.h"

enum { POINT_NBYTES = 400 };

// ---- points ---------------------------------------------------------------------------------

// The name of a point: a core's sizes; with values, the parameters of another block as in the RTL.
static const char *point_text(const struct sq_block *b, const struct sq_point *p, bool has_values,
                              char text[POINT_NBYTES])
{
    struct sq_core_config c;
    if (b->get_core) {
        b->get_core(p->value, &c);
        snprintf(text, POINT_NBYTES,
                 "%-6s %ux%u L=%-3u H=%-2u bank=%-3u k=%-2u act=%u w=%u/%u %-8s", p->name, c.rows,
                 c.cols, c.low_lanes, c.high_lanes, c.bank, c.high_per_bank, c.act_bits,
                 c.high_bits, c.low_bits, c.gather == SQ_GATHER_LOG ? "log" : "crossbar");
        return text;
    }
    size_t at = (size_t)snprintf(text, POINT_NBYTES, "%-14s", p->name);
    for (size_t i = 0; has_values && b->param[i] && at < POINT_NBYTES; i++)
        if (*b->param[i])
            at +=
                (size_t)snprintf(text + at, POINT_NBYTES - at, " %s=%u", b->param[i], p->value[i]);
    return text;
}

static json_t *point_json(const struct sq_block *b, const struct sq_point *p)
{
    const bool is_core = b->get_core != NULL;
    struct sq_core_config c = {0};
    if (is_core)
        b->get_core(p->value, &c);
    const struct sq_cli_column row[] = {
        SQ_KEYS("block", b->name, "point", p->name),
        SQ_MEMBERS(is_core ? sq_cli_core_json(&c) : sq_cli_parameters_json(b, p->value)),
        SQ_KEY_IF(is_core, "bank", c.bank),
        SQ_KEY_IF(is_core, "high_per_bank", c.high_per_bank),
        SQ_KEY_IF(is_core, "high_bits", c.high_bits),
        SQ_KEY_IF(is_core, "low_bits", c.low_bits),
        SQ_COLUMNS_END};
    return sq_cli_object(row);
}

// In the list of names, or quick without one.
static bool is_covered(const struct sq_block *b, const struct sq_point *p)
{
    const char *at = b->coverage_points;
    const size_t n = strlen(p->name);
    if (!at)
        return p->is_quick;
    for (; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strncmp(at, p->name, n) == 0 && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

static void put_listed(struct sq_cli_table *table, const struct sq_block *b,
                       const struct sq_point *p)
{
    const struct sq_faults *faults = NULL;
    char text[POINT_NBYTES];
    for (size_t i = 0; i < b->n_faults; i++)
        if (strcmp(b->faults[i].point, p->name) == 0)
            faults = &b->faults[i];
    const struct sq_cli_column row[] = {
        SQ_COLUMN(NULL, point_text(b, p, true, text), "point", 0),
        SQ_COLUMN(NULL, p->is_quick ? " quick" : "", "", 0),
        SQ_KEYS("block", b->name, "top", b->top, "point", p->name, "quick", p->is_quick),
        SQ_KEYS("parameters", sq_cli_parameters_json(b, p->value)),
        SQ_KEYS("coverage_cases", is_covered(b, p) ? b->coverage_cases : 0),
        SQ_KEY_IF(faults, "mutants", faults ? faults->n : 0),
        SQ_KEY_IF(faults, "mutant_cases", faults ? faults->cases : 0),
        SQ_COLUMNS_END};
    sq_cli_put(table, row);
}

int sq_cosim_list(const struct sq_cosim_args *in)
{
    struct sq_cli_table table = {.is_json = in->is_json, .has_head = true}; // without one
    for (size_t b = 0; b < sq_n_blocks; b++)
        for (size_t i = 0; (in->is_all || sq_blocks[b] == in->block) && i < sq_blocks[b]->n_points;
             i++)
            put_listed(&table, sq_blocks[b], &sq_blocks[b]->points[i]);
    return SQ_EXIT_OK;
}

enum sq_status sq_cosim_choose_points(struct sq_cosim_args *in)
{
    const struct sq_block *b = in->block;
    const char *names[SQ_COSIM_MAX_POINTS] = {"quick", "all"};
    bool is_chosen[SQ_COSIM_MAX_POINTS] = {false};
    for (size_t i = 0; i < b->n_points; i++)
        names[i + 2] = b->points[i].name;
    for (size_t w = 0; w < in->n_wanted; w++) {
        size_t index;
        SQ_TRY(sq_cli_name("--point", in->wanted[w], names, b->n_points + 2, &index, in->err));
        for (size_t i = 0; i < b->n_points; i++)
            is_chosen[i] = is_chosen[i] || index == 1 || index == i + 2 ||
                           (index == 0 && b->points[i].is_quick);
    }
    in->n_points = 0;
    for (size_t i = 0; i < b->n_points; i++)
        if (in->n_wanted == 0 || is_chosen[i])
            in->points[in->n_points++] = b->points[i];
    return SQ_OK;
}

// ---- runs -----------------------------------------------------------------------------------

// How far output field f came, of the smaller one of both signs: 1 is all that it must hold.
static bool reach_of(const struct sq_block *b, const struct sq_point *p, const struct sq_outcome *r,
                     size_t f, double *reach)
{
    const int64_t limit = b->limit ? b->limit(p->value, f) : 0;
    const int64_t low = -(int64_t)r->reach[f].low, high = r->reach[f].high;
    const int64_t least = low < high ? low : high;
    if (limit > 0)
        *reach = (double)(least < limit ? least : limit) / (double)limit;
    return limit > 0;
}

// " every input  data 50 %", and the same as an object.
static json_t *reach_json(const struct sq_block *b, const struct sq_point *p,
                          const struct sq_outcome *r, char *text, size_t nbytes)
{
    const struct sq_ports ports = sq_ports_of(b, p->value);
    size_t at = (size_t)snprintf(text, nbytes, "%s", r->is_exhausted ? " every input" : "");
    json_t *o = json_object();
    double reach;
    for (size_t f = 0; f < ports.n_out; f++)
        if (reach_of(b, p, r, f, &reach)) {
            json_object_set_new(o, ports.out[f].name, json_real(reach));
            if (at < nbytes)
                at += (size_t)snprintf(text + at, nbytes - at, "%s %s %.0f %%", at ? " " : "",
                                       ports.out[f].name, floor(100 * reach));
        }
    return o;
}

static json_t *failure_json(const struct sq_cosim_args *in, const struct sq_outcome *o)
{
    const struct sq_mismatch *const m = &o->result.mismatch;
    SQ_FREED char *const again = sq_cosim_command(in, &o->failing, &o->failing_case);
    const struct sq_cli_column row[] = {
        SQ_KEYS("case", o->failing_case, "kind", sq_cosim_kind(m->kind), "signal", m->what),
        SQ_KEYS("groups", o->failing.n_groups, "cycle", m->cycle, "beat", m->beat),
        SQ_KEYS("rtl", m->got, "model", m->want, "again", again ? again : ""), SQ_COLUMNS_END};
    json_t *f = sq_cli_object(row);
    return f;
}

static void report_point(const struct sq_cosim_args *in, struct sq_cli_table *table,
                         const struct sq_point *p, const struct sq_outcome *r)
{
    const struct sq_compared *const c = &r->compared;
    const bool is_core = in->block->get_core, failed = r->result.mismatch.kind != SQ_MISMATCH_NONE;
    char text[POINT_NBYTES], reach[240];
    json_t *reached = reach_json(in->block, p, r, reach, sizeof reach);
    const struct sq_cli_column row[] = {
        SQ_COLUMN(NULL, point_text(in->block, p, false, text), "point", is_core ? -62 : -14),
        SQ_MEMBERS(point_json(in->block, p)),
        SQ_COLUMN("cases", r->cases, "cases", 6),
        SQ_KEYS("first_case", in->number),
        SQ_COLUMN("cycles", c->cycles, "cycles", 10),
        SQ_COLUMN("beats", c->beats, "handshakes", 10),
        SQ_COLUMN("tiles", c->tiles, "tiles", 8),
        SQ_COLUMN("integers", c->integers, "integers", 9),
        SQ_KEYS("resets", c->resets, "active", c->active, "reach", reached),
        SQ_KEY_IF(!is_core, "exhausted", r->is_exhausted),
        SQ_COLUMN("value_mismatches", r->value_mismatches, "value", 5),
        SQ_COLUMN("cycle_mismatches", r->cycle_mismatches, "cycle", 5),
        SQ_COLUMN(NULL, reach, "", 0),
        SQ_KEY_IF(failed, "failure", failed && in->is_json ? failure_json(in, r) : NULL),
        SQ_COLUMNS_END};
    sq_cli_put(table, row);
}

static void print_failure(const struct sq_cosim_args *in, const struct sq_outcome *o)
{
    char label[160];
    snprintf(label, sizeof label, "%s-%s-seed%llu-case%llu", in->block->name,
             o->failing.point->name, (unsigned long long)in->seed,
             (unsigned long long)o->failing_case);
    sq_cosim_print_failure(in, label, &o->failing, &o->failing_case, &o->result);
}

// What --waves says: the case, where its wave is and what it shows.
static int report_wave(const struct sq_cosim_args *in, const struct sq_case *c, uint64_t number,
                       const struct sq_result *r)
{
    const struct sq_mismatch *const m = &r->mismatch;
    char text[200] = "";
    if (m->kind != SQ_MISMATCH_NONE)
        sq_mismatch_text(c, m, text, sizeof text);
    if (!in->is_json) {
        if (*text)
            printf("cycle %llu: %s\n", (unsigned long long)m->cycle, text);
        printf("waveform: cd %s && gtkwave wave.gtkw\n", in->waves);
        return SQ_EXIT_OK;
    }
    const struct sq_cli_column row[] = {
        SQ_MEMBERS(point_json(c->block, c->point)),
        SQ_KEYS("case", number, "cycles", r->compared.cycles, "kind", sq_cosim_kind(m->kind)),
        SQ_KEY_IF(*text, "cycle", m->cycle),
        SQ_KEY_IF(*text, "difference", text),
        SQ_KEYS("waves", in->waves),
        SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance("synthetic", "measured (RTL simulation)", in->seed));
    return SQ_EXIT_OK;
}

int sq_cosim_waves(const struct sq_cosim_args *in)
{
    struct sq_result result = {0};
    struct sq_case c;
    struct sq_error err;
    int code = SQ_EXIT_OK;
    const uint64_t number = in->has_case ? in->number : sq_case_n_fixed(in->block, &in->points[0]);
    enum sq_status status = sq_case_draw(in->block, &in->points[0], in->seed, number, &c, &err);
    if (status == SQ_OK) {
        status = sq_wave_dump(&c, in->is_netlist, &result, sq_cli_home(), in->waves, &err);
        if (status == SQ_OK)
            code = report_wave(in, &c, number, &result);
        sq_case_free(&c);
    }
    return status == SQ_OK ? code : sq_cli_fail("cosim", &err);
}

int sq_cosim_random(const struct sq_cosim_args *in, struct sq_cosim_total *total)
{
    const struct sq_point *points[SQ_COSIM_MAX_POINTS];
    struct sq_outcome out[SQ_COSIM_MAX_POINTS];
    const struct sq_campaign campaign = {.block = in->block,
                                         .points = points,
                                         .n_points = in->n_points,
                                         .cases = in->has_case && !in->has_cases ? in->n_points
                                                                                 : in->cases,
                                         .first = in->number,
                                         .is_one_case = in->has_case,
                                         .seed = in->seed,
                                         .netlist = in->is_netlist,
                                         .coverage = in->coverage,
                                         .jobs = in->jobs,
                                         .home = sq_cli_home(),
                                         .progress = sq_cosim_progress};
    struct sq_cli_table table = {.is_json = in->is_json};
    struct sq_error err;
    for (size_t i = 0; i < in->n_points; i++)
        points[i] = &in->points[i];
    const enum sq_status status = sq_campaign_run(&campaign, out, &err);
    for (size_t i = 0; i < in->n_points; i++) {
        if (status == SQ_OK)
            report_point(in, &table, points[i], &out[i]);
        total->cases += out[i].cases;
        sq_compared_add(&total->compared, &out[i].compared);
        total->value_mismatches += out[i].value_mismatches;
        total->cycle_mismatches += out[i].cycle_mismatches;
    }
    for (size_t i = 0; i < in->n_points; i++) {
        const bool failed = out[i].result.mismatch.kind != SQ_MISMATCH_NONE;
        if (status == SQ_OK && failed && !in->is_json)
            print_failure(in, &out[i]);
        sq_case_free(&out[i].failing);
    }
    if (status != SQ_OK)
        return sq_cli_fail("cosim", &err);
    total->points += in->n_points;
    return SQ_EXIT_OK;
}
