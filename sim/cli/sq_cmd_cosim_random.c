// SPDX-License-Identifier: Apache-2.0
// sqsim cosim: the points of a block, random cases over them, a waveform of one.
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
        printf(" %s=%u", b->param[i], p->value[i]);
}

static void put_point(json_t *o, const struct sq_block *b, const struct sq_point *p)
{
    struct sq_core_config c;
    json_object_set_new(o, "block", json_string(b->name));
    json_object_set_new(o, "point", json_string(p->name));
    for (size_t i = 0; !b->get_core && b->param[i]; i++)
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
        printf("%-*s %6s %10s %9s %5s %5s\n", in->block->get_core ? 62 : 14, "point", "cases",
               "cycles", "beats", "value", "cycle");
}

static void report_point(const struct sq_cosim_args *in, const struct sq_point *p,
                         const struct sq_outcome *r)
{
    if (!in->is_json) {
        print_point(in->block, p, false);
        printf(" %6llu %10llu %9llu %5llu %5llu%s\n", (unsigned long long)r->cases,
               (unsigned long long)r->cycles, (unsigned long long)r->beats,
               (unsigned long long)r->value_mismatches, (unsigned long long)r->cycle_mismatches,
               r->is_exhausted ? "  every input" : "");
        return;
    }
    json_t *o = json_object();
    put_point(o, in->block, p);
    json_object_set_new(o, "cases", json_integer((json_int_t)r->cases));
    json_object_set_new(o, "cycles", json_integer((json_int_t)r->cycles));
    json_object_set_new(o, "beats", json_integer((json_int_t)r->beats));
    if (!in->block->get_core)
        json_object_set_new(o, "exhausted", json_boolean(r->is_exhausted));
    json_object_set_new(o, "value_mismatches", json_integer((json_int_t)r->value_mismatches));
    json_object_set_new(o, "cycle_mismatches", json_integer((json_int_t)r->cycle_mismatches));
    sq_cli_json_line(o);
}

static void print_failure(const struct sq_cosim_args *in, const struct sq_outcome *o)
{
    char label[160];
    snprintf(label, sizeof label, "%s-%s-seed%llu-case%llu", in->block->name,
             o->failing.point->name, (unsigned long long)in->seed,
             (unsigned long long)o->failing_case);
    sq_cosim_print_failure(in, label, &o->failing, &o->result);
}

int sq_cosim_waves(const struct sq_cosim_args *in)
{
    const struct sq_result whole = {0};
    struct sq_case c;
    struct sq_error err;
    enum sq_status status = sq_case_draw(in->block, &in->points[0], in->seed, 0, false, &c, &err);
    if (status == SQ_OK) {
        status = sq_wave_dump(&c, in->is_netlist, &whole, sq_cli_home(), in->waves, &err);
        sq_case_free(&c);
    }
    if (status != SQ_OK)
        return sq_cli_fail("cosim", &err);
    printf("waveform: cd %s && gtkwave wave.gtkw\n", in->waves);
    return SQ_EXIT_OK;
}

int sq_cosim_random(const struct sq_cosim_args *in, struct sq_cosim_total *total)
{
    const struct sq_point *points[SQ_COSIM_MAX_POINTS];
    struct sq_outcome out[SQ_COSIM_MAX_POINTS];
    const struct sq_campaign campaign = {.block = in->block,
                                         .points = points,
                                         .n_points = in->n_points,
                                         .cases = in->cases,
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
        total->beats += out[i].beats;
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
