// SPDX-License-Identifier: Apache-2.0
// sqsim cosim --block core, gather: the two blocks with a parameter set of their own.
#include <string.h>
#include <sys/stat.h>

#include "sim/cli/sq_cmd_cosim.h"

// ---- the table of points --------------------------------------------------------------------

static void print_point(const struct sq_cosim_point *p)
{
    const struct sq_core_config *c = &p->config;
    printf("%-6s %ux%u L=%-3u H=%-2u bank=%-3u k=%-2u act=%u w=%u/%u %-8s", p->name, c->rows,
           c->cols, c->low_lanes, c->high_lanes, c->bank, c->high_per_bank, c->act_bits,
           c->high_bits, c->low_bits, c->gather == SQ_GATHER_LOG ? "log" : "crossbar");
}

int sq_cosim_core_list(void)
{
    const struct sq_cosim_point *table;
    const size_t n = sq_cosim_points(&table);
    for (size_t i = 0; i < n; i++) {
        print_point(&table[i]);
        printf("%s\n", table[i].quick ? "  quick" : "");
    }
    return SQ_EXIT_OK;
}

// "p01", "quick" or "all": adds to the list.
static enum sq_status add_points(struct sq_cosim_args *in, const char *name)
{
    const struct sq_cosim_point *table;
    const size_t n = sq_cosim_points(&table);
    const char *names[SQ_COSIM_MAX_POINTS] = {"quick", "all"};
    size_t index;
    for (size_t i = 0; i < n; i++)
        names[i + 2] = table[i].name;
    SQ_TRY(sq_cli_name("--point", name, names, n + 2, &index, in->err));
    for (size_t i = 0; i < n; i++) {
        const bool wanted = index == 1 || (index == 0 && table[i].quick) || index == i + 2;
        bool known = false;
        for (size_t j = 0; j < in->n_points; j++)
            known = known || in->points[j].name == table[i].name;
        if (wanted && !known)
            in->points[in->n_points++] = table[i];
    }
    return SQ_OK;
}

enum sq_status sq_cosim_core_points(struct sq_cosim_args *in)
{
    for (size_t i = 0; i < in->n_wanted; i++)
        SQ_TRY(add_points(in, in->wanted[i]));
    return in->n_points > 0 ? SQ_OK : add_points(in, "all");
}

// ---- a divergence ---------------------------------------------------------------------------

static void print_hex(const char *name, const int8_t *v, unsigned n, unsigned bits)
{
    printf("    %-4s", name);
    for (unsigned i = 0; i < n; i++)
        printf(" %0*x", bits > 4 ? 2 : 1, (unsigned)v[i] & ((1u << bits) - 1));
    printf("\n");
}

// The operands of a wrong value: the banks of its tile, row and column.
static void print_operands(const struct sq_owned_case *o, const struct sq_mismatch *m)
{
    const struct sq_core_config *g = &o->c.config;
    const struct sq_core_operands *x = &o->c.operands;
    uint64_t bank = 0, tile = m->tile;
    unsigned j = 0;
    for (; j + 1 < o->c.n_jobs && tile >= o->c.job[j].groups; j++) {
        tile -= o->c.job[j].groups;
        bank += (uint64_t)o->c.job[j].groups * o->c.job[j].group_banks;
    }
    bank += tile * o->c.job[j].group_banks;
    for (uint64_t b = bank; b < bank + o->c.job[j].group_banks && b < bank + 4 && b < x->n_banks;
         b++) {
        printf("  bank %llu of row %u, column %u, element 0 first:\n", (unsigned long long)b,
               m->row, m->col);
        print_hex("act", x->act + (b * g->rows + m->row) * g->bank, g->bank, g->act_bits);
        print_hex("lo", x->lo + (b * g->cols + m->col) * g->bank, g->bank, g->low_bits);
        print_hex("hi", x->hi + (b * g->cols + m->col) * g->high_per_bank, g->high_per_bank,
                  g->high_bits);
    }
}

void sq_cosim_print_failure(const struct sq_cosim_args *in, const struct sq_cosim_failure *f)
{
    const struct sq_mismatch *m = &f->result->mismatch;
    const struct sq_core_case *c = &f->failing->c;
    static const char *const stalls[] = {"free", "interval", "random", "burst", "starve"};
    printf("MISMATCH %s: cycle %llu, tile %llu: %s rtl 0x%llx (%lld), model 0x%llx (%lld)\n",
           f->label, (unsigned long long)m->cycle, (unsigned long long)m->tile, m->what,
           (unsigned long long)m->got & 0xffffffff, (long long)m->got,
           (unsigned long long)m->want & 0xffffffff, (long long)m->want);
    printf("  shrunk to %u job(s):", c->n_jobs);
    for (unsigned i = 0; i < c->n_jobs; i++)
        printf(" %u group(s) of %u bank(s)", c->job[i].groups, c->job[i].group_banks);
    printf("; stalls");
    for (unsigned i = 0; i < 4; i++)
        printf(" %s=%s/%u", (const char *[]){"act", "lo", "hi", "out"}[i], stalls[c->stall[i].kind],
               c->stall[i].n);
    printf("; seed %llu\n", (unsigned long long)c->seed);
    if (m->kind == SQ_MISMATCH_VALUE && in->block == SQ_RTL_CORE)
        print_operands(f->failing, m);
    fflush(stdout);

    struct sq_error err;
    char home_dir[1024], dir[1200];
    snprintf(home_dir, sizeof home_dir, "%s/build/cosim", sq_cli_home());
    const char *base = in->output ? in->output : home_dir;
    (void)mkdir(base, 0777); // sq_cosim_dump reports what is wrong with it
    snprintf(dir, sizeof dir, "%.1000s/%s", base, f->label);
    if (sq_cosim_dump(in->block, f->failing, in->is_netlist, f->result, sq_cli_home(), dir, &err) ==
        SQ_OK)
        printf("  waveform: cd %s && gtkwave wave.gtkw\n", dir);
    else
        printf("  no waveform: %s\n", err.text);
}

// ---- random cases ---------------------------------------------------------------------------

static void progress(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    sq_cli_progress("cosim", done, total);
}

static void report_point(const struct sq_cosim_args *in, const struct sq_cosim_point *p,
                         const struct sq_campaign_point *r)
{
    if (!in->is_json) {
        print_point(p);
        printf(" %6llu %10llu %9llu %5llu %5llu\n", (unsigned long long)r->cases,
               (unsigned long long)r->cycles, (unsigned long long)r->beats,
               (unsigned long long)r->value_mismatches, (unsigned long long)r->cycle_mismatches);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "block", json_string(sq_cosim_block_name(in)));
    json_object_set_new(o, "point", json_string(p->name));
    sq_cli_core_json(&p->config, o);
    json_object_set_new(o, "bank", json_integer(p->config.bank));
    json_object_set_new(o, "high_per_bank", json_integer(p->config.high_per_bank));
    json_object_set_new(o, "high_bits", json_integer(p->config.high_bits));
    json_object_set_new(o, "low_bits", json_integer(p->config.low_bits));
    json_object_set_new(o, "cases", json_integer((json_int_t)r->cases));
    json_object_set_new(o, "cycles", json_integer((json_int_t)r->cycles));
    json_object_set_new(o, "beats", json_integer((json_int_t)r->beats));
    json_object_set_new(o, "value_mismatches", json_integer((json_int_t)r->value_mismatches));
    json_object_set_new(o, "cycle_mismatches", json_integer((json_int_t)r->cycle_mismatches));
    sq_cli_json_line(o);
}

int sq_cosim_core(const struct sq_cosim_args *in, struct sq_cosim_total *total)
{
    struct sq_campaign_point result[SQ_COSIM_MAX_POINTS];
    struct sq_error err;
    const struct sq_campaign campaign = {.block = in->block,
                                         .points = in->points,
                                         .n_points = in->n_points,
                                         .cases = in->cases,
                                         .seed = in->seed,
                                         .netlist = in->is_netlist,
                                         .coverage = in->coverage,
                                         .jobs = in->jobs,
                                         .home = sq_cli_home(),
                                         .progress = progress};
    if (sq_campaign_run(&campaign, result, &err) != SQ_OK) {
        sq_campaign_free(result, in->n_points);
        return sq_cli_fail("cosim", &err);
    }
    if (!in->is_json)
        printf("%-62s %6s %10s %9s %5s %5s\n", "point", "cases", "cycles", "beats", "value",
               "cycle");
    for (size_t i = 0; i < in->n_points; i++) {
        const struct sq_campaign_point *r = &result[i];
        report_point(in, &in->points[i], r);
        total->cases += r->cases;
        total->beats += r->beats;
        total->value_mismatches += r->value_mismatches;
        total->cycle_mismatches += r->cycle_mismatches;
    }
    for (size_t i = 0; i < in->n_points && !in->is_json; i++) {
        char label[96];
        if (result[i].result.mismatch.kind == SQ_MISMATCH_NONE)
            continue;
        snprintf(label, sizeof label, "%s-seed%llu-case%llu", in->points[i].name,
                 (unsigned long long)in->seed, (unsigned long long)result[i].failing_case);
        const struct sq_cosim_failure f = {label, &result[i].failing, &result[i].result};
        sq_cosim_print_failure(in, &f);
    }
    sq_campaign_free(result, in->n_points);
    total->points += in->n_points;
    return SQ_EXIT_OK;
}

// A waveform of case 0 of the first point.
int sq_cosim_core_waves(const struct sq_cosim_args *in)
{
    struct sq_core_config config = in->points[0].config;
    struct sq_core_cosim_result whole = {0};
    struct sq_owned_case o;
    struct sq_error err;
    if (in->block == SQ_RTL_GATHER)
        config.cols = 1;
    enum sq_status status = sq_cosim_case(&config, in->seed, 0, &o, &err);
    if (status != SQ_OK)
        return sq_cli_fail("cosim", &err);
    status = sq_cosim_dump(in->block, &o, in->is_netlist, &whole, sq_cli_home(), in->waves, &err);
    sq_owned_case_free(&o);
    if (status != SQ_OK)
        return sq_cli_fail("cosim", &err);
    printf("waveform: cd %s && gtkwave wave.gtkw\n", in->waves);
    return SQ_EXIT_OK;
}
