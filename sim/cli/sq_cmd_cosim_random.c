// SPDX-License-Identifier: Apache-2.0
// sqsim cosim: the points of a block, random cases over them, a waveform of one.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cmd_cosim.h"
#include "sim/cosim/sq_campaign.h"
#include "sim/cosim/sq_wave.h"

// ---- points ---------------------------------------------------------------------------------

// Of a core by its sizes; of another block, with values, by its parameters as in the RTL.
static void print_point(const struct sq_block *b, const struct sq_point *p, bool has_values)
{
    struct sq_core_config c;
    if (b->get_core) {
        b->get_core(p->value, &c);
        printf("%-6s %ux%u L=%-3u H=%-2u bank=%-3u k=%-2u act=%u w=%u/%u %-8s", p->name, c.rows,
               c.cols, c.low_lanes, c.high_lanes, c.bank, c.high_per_bank, c.act_bits, c.high_bits,
               c.low_bits, c.gather == SQ_GATHER_LOG ? "log" : "crossbar");
        return;
    }
    printf("%-14s", p->name);
    for (size_t i = 0; has_values && b->param[i]; i++)
        if (*b->param[i])
            printf(" %s=%u", b->param[i], p->value[i]);
}

static void put_point(json_t *o, const struct sq_block *b, const struct sq_point *p)
{
    struct sq_core_config c;
    json_object_set_new(o, "block", json_string(b->name));
    json_object_set_new(o, "point", json_string(p->name));
    for (size_t i = 0; !b->get_core && b->param[i]; i++)
        if (*b->param[i])
            json_object_set_new(o, b->param[i], json_integer(p->value[i]));
    if (!b->get_core)
        return;
    b->get_core(p->value, &c);
    sq_cli_core_json(&c, o);
    json_object_set_new(o, "bank", json_integer(c.bank));
    json_object_set_new(o, "high_per_bank", json_integer(c.high_per_bank));
    json_object_set_new(o, "high_bits", json_integer(c.high_bits));
    json_object_set_new(o, "low_bits", json_integer(c.low_bits));
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

static void list_json(const struct sq_block *b, const struct sq_point *p)
{
    json_t *o = json_object(), *parameters = json_object();
    json_object_set_new(o, "block", json_string(b->name));
    json_object_set_new(o, "top", json_string(b->top));
    json_object_set_new(o, "point", json_string(p->name));
    json_object_set_new(o, "quick", json_boolean(p->is_quick));
    for (size_t i = 0; b->param[i]; i++)
        if (*b->param[i])
            json_object_set_new(parameters, b->param[i], json_integer(p->value[i]));
    json_object_set_new(o, "parameters", parameters);
    json_object_set_new(o, "coverage_cases",
                        json_integer(is_covered(b, p) ? b->coverage_cases : 0));
    for (size_t i = 0; i < b->n_faults; i++)
        if (strcmp(b->faults[i].point, p->name) == 0) {
            json_object_set_new(o, "mutants", json_integer(b->faults[i].n));
            json_object_set_new(o, "mutant_cases", json_integer(b->faults[i].cases));
        }
    sq_cli_json_line(o);
}

int sq_cosim_list(const struct sq_cosim_args *in)
{
    for (size_t b = 0; b < sq_n_blocks; b++) {
        const struct sq_block *block = sq_blocks[b];
        for (size_t i = 0; (in->is_all || block == in->block) && i < block->n_points; i++) {
            if (in->is_json) {
                list_json(block, &block->points[i]);
                continue;
            }
            print_point(block, &block->points[i], true);
            printf("%s\n", block->points[i].is_quick ? "  quick" : "");
        }
    }
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

static void print_head(const struct sq_cosim_args *in)
{
    if (!in->is_json)
        printf("%-*s %6s %10s %10s %8s %9s %5s %5s\n", in->block->get_core ? 62 : 14, "point",
               "cases", "cycles", "handshakes", "tiles", "integers", "value", "cycle");
}

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

static void put_reach(json_t *object, const struct sq_block *b, const struct sq_point *p,
                      const struct sq_outcome *r)
{
    const struct sq_ports ports = sq_ports_of(b, p->value);
    json_t *o = json_object();
    double reach;
    for (size_t f = 0; f < ports.n_out; f++)
        if (reach_of(b, p, r, f, &reach))
            json_object_set_new(o, ports.out[f].name, json_real(reach));
    json_object_set_new(object, "reach", o);
}

static json_t *failure_json(const struct sq_cosim_args *in, const struct sq_outcome *o)
{
    const struct sq_mismatch *const m = &o->result.mismatch;
    char *const again = sq_cosim_command(in, &o->failing, &o->failing_case);
    json_t *f = json_object();
    json_object_set_new(f, "case", json_integer((json_int_t)o->failing_case));
    json_object_set_new(f, "kind", json_string(sq_cosim_kind(m->kind)));
    json_object_set_new(f, "signal", sq_cli_json_text(m->what));
    json_object_set_new(f, "groups", json_integer((json_int_t)o->failing.n_groups));
    json_object_set_new(f, "cycle", json_integer((json_int_t)m->cycle));
    json_object_set_new(f, "beat", json_integer((json_int_t)m->beat));
    json_object_set_new(f, "rtl", json_integer((json_int_t)m->got));
    json_object_set_new(f, "model", json_integer((json_int_t)m->want));
    json_object_set_new(f, "again", sq_cli_json_text(again ? again : ""));
    free(again);
    return f;
}

static void report_point(const struct sq_cosim_args *in, const struct sq_point *p,
                         const struct sq_outcome *r)
{
    const struct sq_ports ports = sq_ports_of(in->block, p->value);
    const struct sq_compared *const c = &r->compared;
    double reach;
    if (!in->is_json) {
        print_point(in->block, p, false);
        printf(" %6llu %10llu %10llu %8llu %9llu %5llu %5llu%s", (unsigned long long)r->cases,
               (unsigned long long)c->cycles, (unsigned long long)c->beats,
               (unsigned long long)c->tiles, (unsigned long long)c->integers,
               (unsigned long long)r->value_mismatches, (unsigned long long)r->cycle_mismatches,
               r->is_exhausted ? "  every input" : "");
        for (size_t f = 0; f < ports.n_out; f++)
            if (reach_of(in->block, p, r, f, &reach))
                printf("  %s %.0f %%", ports.out[f].name, floor(100 * reach));
        printf("\n");
        return;
    }
    json_t *o = json_object();
    put_point(o, in->block, p);
    json_object_set_new(o, "cases", json_integer((json_int_t)r->cases));
    json_object_set_new(o, "first_case", json_integer((json_int_t)in->number));
    sq_cosim_put_compared(o, c, true);
    json_object_set_new(o, "resets", json_integer((json_int_t)r->resets));
    put_reach(o, in->block, p, r);
    if (!in->block->get_core)
        json_object_set_new(o, "exhausted", json_boolean(r->is_exhausted));
    json_object_set_new(o, "value_mismatches", json_integer((json_int_t)r->value_mismatches));
    json_object_set_new(o, "cycle_mismatches", json_integer((json_int_t)r->cycle_mismatches));
    if (r->result.mismatch.kind != SQ_MISMATCH_NONE)
        json_object_set_new(o, "failure", failure_json(in, r));
    sq_cli_json_line(o);
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
    json_t *o = json_object();
    json_object_set_new(o, "summary", json_true());
    put_point(o, c->block, c->point);
    json_object_set_new(o, "case", json_integer((json_int_t)number));
    json_object_set_new(o, "cycles", json_integer((json_int_t)r->compared.cycles));
    json_object_set_new(o, "kind", json_string(sq_cosim_kind(m->kind)));
    if (*text) {
        json_object_set_new(o, "cycle", json_integer((json_int_t)m->cycle));
        json_object_set_new(o, "difference", sq_cli_json_text(text));
    }
    json_object_set_new(o, "waves", sq_cli_json_text(in->waves));
    json_object_set_new(o, "provenance",
                        sq_cli_provenance("synthetic", "measured (RTL simulation)", in->seed));
    sq_cli_json_line(o);
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
                                         .cases = in->has_case ? in->n_points : in->cases,
                                         .first = in->number,
                                         .seed = in->seed,
                                         .netlist = in->is_netlist,
                                         .coverage = in->coverage,
                                         .jobs = in->jobs,
                                         .home = sq_cli_home(),
                                         .progress = sq_cosim_progress};
    struct sq_error err;
    for (size_t i = 0; i < in->n_points; i++)
        points[i] = &in->points[i];
    const enum sq_status status = sq_campaign_run(&campaign, out, &err);
    if (status == SQ_OK)
        print_head(in);
    for (size_t i = 0; i < in->n_points; i++) {
        if (status == SQ_OK)
            report_point(in, points[i], &out[i]);
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
