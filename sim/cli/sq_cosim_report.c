// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sq_cosim_report.h"

#include <string.h>
#include <sys/stat.h>

#include "sim/cosim/sq_wave.h"

const char *sq_cosim_block_name(const struct sq_cosim_args *in)
{
    return in->is_all || in->is_trace ? "all" : in->block->name;
}

void sq_cosim_progress(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    sq_cli_progress("cosim", done, total);
}

int sq_cosim_summary(const struct sq_cosim_args *in, const char *unit, size_t n,
                     const struct sq_cosim_total *t, const char *data)
{
    const bool failed = t->value_mismatches + t->cycle_mismatches > 0;
    if (!in->is_json) {
        printf("%s: %zu %s, %llu cases, %llu beats compared with %s, %llu value mismatches, %llu "
               "cycle mismatches, seed %llu\n",
               failed ? "FAIL" : "PASS", n, unit, (unsigned long long)t->cases,
               (unsigned long long)t->beats, in->is_netlist ? "the netlist" : "RTL",
               (unsigned long long)t->value_mismatches, (unsigned long long)t->cycle_mismatches,
               (unsigned long long)in->seed);
    } else {
        json_t *o = json_object();
        json_object_set_new(o, "summary", json_true());
        json_object_set_new(o, "block", json_string(sq_cosim_block_name(in)));
        json_object_set_new(o, unit, json_integer((json_int_t)n));
        json_object_set_new(o, "cases", json_integer((json_int_t)t->cases));
        json_object_set_new(o, "beats", json_integer((json_int_t)t->beats));
        json_object_set_new(o, "value_mismatches", json_integer((json_int_t)t->value_mismatches));
        json_object_set_new(o, "cycle_mismatches", json_integer((json_int_t)t->cycle_mismatches));
        json_object_set_new(o, "seed", json_integer((json_int_t)in->seed));
        json_object_set_new(o, "netlist", json_boolean(in->is_netlist));
        json_object_set_new(o, "provenance",
                            sq_cli_provenance(data, "measured (RTL simulation)", in->seed));
        sq_cli_json_line(o);
    }
    return failed ? SQ_EXIT_CHECK_FAILED : SQ_EXIT_OK;
}

// ---- a divergence ---------------------------------------------------------------------------

// What the field carries; of a stream with one field `data`, that is the stream.
static void print_beat(const struct sq_ports *p, const int32_t *beat)
{
    size_t f = 0;
    for (size_t s = 0; s < SQ_STREAMS_MAX && p->stream[s].n_fields > 0; s++)
        for (size_t end = f + p->stream[s].n_fields; f < end; f++) {
            const struct sq_field *field = &p->in[f];
            const bool is_data = strcmp(field->name, "data") == 0 && p->stream[s].n_fields == 1;
            printf("    %-6s", is_data ? p->stream[s].name : field->name);
            for (size_t i = 0; i < field->count; i++, beat++)
                printf(" %0*x", (int)(field->width + 3) / 4,
                       (unsigned)*beat & (UINT32_MAX >> (32 - field->width)));
            printf("\n");
        }
}

// The first input beats of the group with the wrong output.
static void print_operands(const struct sq_case *c, const struct sq_mismatch *m)
{
    const struct sq_ports p = sq_ports_of(c->block, c->point->value);
    size_t first = 0;
    for (size_t g = 0; g < m->group; g++)
        first += sq_case_records(c, g);
    for (size_t b = 0; b < sq_case_records(c, m->group) && b < 4; b++) {
        printf("  beat %zu, element 0 first:\n", first + b);
        print_beat(&p, c->beats + (first + b) * sq_field_offset(p.in, p.n_in));
    }
}

static void print_stalls(const struct sq_case *c)
{
    static const char *const kinds[] = {"free", "interval", "random", "burst", "starve", "idle"};
    const struct sq_ports p = sq_ports_of(c->block, c->point->value);
    for (unsigned i = 0; i < SQ_SIDES; i++)
        if (i == SQ_SINK || p.stream[i].n_fields > 0)
            printf(" %s=%s/%u", i == SQ_SINK ? "out" : p.stream[i].name, kinds[c->stall[i].kind],
                   c->stall[i].n);
}

static void leave_wave(const struct sq_cosim_args *in, const struct sq_case *c,
                       const struct sq_result *r, const char *label)
{
    char home_dir[1024], dir[1200];
    struct sq_error err;
    snprintf(home_dir, sizeof home_dir, "%s/build/cosim", sq_cli_home());
    const char *base = in->output ? in->output : home_dir;
    (void)mkdir(base, 0777); // sq_wave_dump reports what is wrong with it
    snprintf(dir, sizeof dir, "%.1000s/%s", base, label);
    if (sq_wave_dump(c, in->is_netlist, r, sq_cli_home(), dir, &err) == SQ_OK)
        printf("  waveform: cd %s && gtkwave wave.gtkw\n", dir);
    else
        printf("  no waveform: %s\n", err.text);
}

void sq_cosim_print_failure(const struct sq_cosim_args *in, const char *label,
                            const struct sq_case *c, const struct sq_result *result)
{
    const struct sq_mismatch *m = &result->mismatch;
    printf("MISMATCH %s: cycle %llu, beat %llu: %s", label, (unsigned long long)m->cycle,
           (unsigned long long)m->beat, m->what);
    if (m->kind == SQ_MISMATCH_VALUE)
        printf("[%u]", m->index);
    printf(" rtl 0x%llx (%lld), model 0x%llx (%lld)", (unsigned long long)m->got & 0xffffffff,
           (long long)m->got, (unsigned long long)m->want & 0xffffffff, (long long)m->want);
    if (m->kind == SQ_MISMATCH_HANG)
        printf("; no progress for %llu cycles", (unsigned long long)m->quiet);
    printf("\n  shrunk to %zu %s(s), %zu input beat(s); stalls", c->n_groups, c->block->group,
           c->n_beats);
    print_stalls(c);
    printf("; seed %llu\n", (unsigned long long)c->seed);
    if (m->kind == SQ_MISMATCH_VALUE)
        print_operands(c, m);
    fflush(stdout);
    leave_wave(in, c, result, label);
}
