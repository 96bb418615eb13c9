// SPDX-License-Identifier: Apache-2.0
// sqsim cosim --block topk, meta24, array: the blocks of sq_stream_block.h.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/cli/sq_cmd_cosim.h"
#include "sim/cosim/sq_stream_cosim.h"

// A point as the values of its parameters, in the order of the RTL.
static void print_point(const struct sq_cosim_args *in, const struct sq_stream_point *p)
{
    printf("%-14s", p->name);
    for (size_t i = 0; in->stream->param[i]; i++)
        printf(" %s=%u", in->stream->param[i], p->value[i]);
}

int sq_cosim_stream_list(const struct sq_cosim_args *in)
{
    for (size_t i = 0; i < in->stream->n_points; i++) {
        print_point(in, &in->stream->points[i]);
        printf("%s\n", in->stream->points[i].is_quick ? "  quick" : "");
    }
    return SQ_EXIT_OK;
}

// The points that --point names, each once; all of them without --point.
enum sq_status sq_cosim_stream_points(const struct sq_cosim_args *in,
                                      const struct sq_stream_point **chosen, size_t *n_chosen)
{
    const struct sq_stream_block *b = in->stream;
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
    *n_chosen = 0;
    for (size_t i = 0; i < b->n_points; i++)
        if (in->n_wanted == 0 || is_chosen[i])
            chosen[(*n_chosen)++] = &b->points[i];
    return SQ_OK;
}

static void report_point(const struct sq_cosim_args *in, const struct sq_stream_point *p,
                         const struct sq_stream_outcome *r)
{
    if (!in->is_json) {
        printf("%-14s %6llu %10llu %9llu %5llu %5llu%s\n", p->name, (unsigned long long)r->cases,
               (unsigned long long)r->cycles, (unsigned long long)r->beats,
               (unsigned long long)r->value_mismatches, (unsigned long long)r->cycle_mismatches,
               r->is_exhausted ? "  every input" : "");
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "block", json_string(in->stream->name));
    json_object_set_new(o, "point", json_string(p->name));
    for (size_t i = 0; in->stream->param[i]; i++)
        json_object_set_new(o, in->stream->param[i], json_integer(p->value[i]));
    json_object_set_new(o, "cases", json_integer((json_int_t)r->cases));
    json_object_set_new(o, "cycles", json_integer((json_int_t)r->cycles));
    json_object_set_new(o, "beats", json_integer((json_int_t)r->beats));
    json_object_set_new(o, "exhausted", json_boolean(r->is_exhausted));
    json_object_set_new(o, "value_mismatches", json_integer((json_int_t)r->value_mismatches));
    json_object_set_new(o, "cycle_mismatches", json_integer((json_int_t)r->cycle_mismatches));
    sq_cli_json_line(o);
}

// ---- a divergence ---------------------------------------------------------------------------

static void print_beat(const struct sq_stream_shape *s, const int32_t *beat)
{
    for (size_t f = 0; f < s->n_in; f++) {
        const struct sq_field *field = &s->in[f];
        printf("    %-6s", field->name);
        for (size_t i = 0; i < field->count; i++, beat++)
            printf(" %0*x", (int)(field->width + 3) / 4,
                   (unsigned)*beat & (UINT32_MAX >> (32 - field->width)));
        printf("\n");
    }
}

// The input beats of the wrong output beat.
static void print_operands(const struct sq_stream_case *c, const struct sq_mismatch *m)
{
    struct sq_stream_shape s;
    size_t first = 0;
    c->block->shape(c->point->value, &s);
    for (uint64_t g = 0; g < m->tile; g++)
        first += c->group_len[g];
    for (uint32_t b = 0; b < c->group_len[m->tile] && b < 4; b++) {
        printf("  beat %zu, element 0 first:\n", first + b);
        print_beat(&s, c->beats + (first + b) * sq_field_offset(s.in, s.n_in));
    }
}

static void leave_wave(const struct sq_cosim_args *in, const struct sq_stream_case *c,
                       const struct sq_core_cosim_result *r, const char *label)
{
    char home_dir[1024], dir[1200];
    struct sq_error err;
    snprintf(home_dir, sizeof home_dir, "%s/build/cosim", sq_cli_home());
    const char *base = in->output ? in->output : home_dir;
    (void)mkdir(base, 0777); // sq_stream_dump reports what is wrong with it
    snprintf(dir, sizeof dir, "%.1000s/%s", base, label);
    if (sq_stream_dump(c, in->is_netlist, r, sq_cli_home(), dir, &err) == SQ_OK)
        printf("  waveform: cd %s && gtkwave wave.gtkw\n", dir);
    else
        printf("  no waveform: %s\n", err.text);
}

void sq_cosim_stream_failure(const struct sq_cosim_args *in, const char *label,
                             const struct sq_stream_case *c,
                             const struct sq_core_cosim_result *result)
{
    static const char *const stalls[] = {"free", "interval", "random", "burst", "starve"};
    const struct sq_mismatch *m = &result->mismatch;
    printf("MISMATCH %s: cycle %llu, beat %llu: %s[%u] rtl 0x%llx (%lld), model 0x%llx (%lld)\n",
           label, (unsigned long long)m->cycle, (unsigned long long)m->tile, m->what, m->col,
           (unsigned long long)m->got & 0xffffffff, (long long)m->got,
           (unsigned long long)m->want & 0xffffffff, (long long)m->want);
    printf("  shrunk to %zu output beat(s) of %zu input beat(s); stalls in=%s/%u out=%s/%u; seed "
           "%llu\n",
           c->n_groups, c->n_beats, stalls[c->stall[0].kind], c->stall[0].n,
           stalls[c->stall[1].kind], c->stall[1].n, (unsigned long long)c->seed);
    if (m->kind == SQ_MISMATCH_VALUE)
        print_operands(c, m);
    fflush(stdout);
    leave_wave(in, c, result, label);
}

static void print_failure(const struct sq_cosim_args *in, const struct sq_stream_outcome *o)
{
    char label[160];
    snprintf(label, sizeof label, "%s-%s-seed%llu-case%llu", in->stream->name,
             o->failing.point->name, (unsigned long long)in->seed,
             (unsigned long long)o->failing_case);
    sq_cosim_stream_failure(in, label, &o->failing, &o->result);
}

// ---- runs -----------------------------------------------------------------------------------

static void progress(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    sq_cli_progress("cosim", done, total);
}

int sq_cosim_stream_waves(const struct sq_cosim_args *in)
{
    const struct sq_stream_point *points[SQ_COSIM_MAX_POINTS];
    size_t n;
    struct sq_core_cosim_result whole = {0};
    struct sq_stream_case c;
    struct sq_error err;
    if (sq_cosim_stream_points(in, points, &n) != SQ_OK)
        return sq_cli_fail("cosim", in->err);
    enum sq_status status = sq_stream_case(in->stream, points[0], in->seed, 0, false, &c, &err);
    if (status == SQ_OK) {
        status = sq_stream_dump(&c, in->is_netlist, &whole, sq_cli_home(), in->waves, &err);
        sq_stream_case_free(&c);
    }
    if (status != SQ_OK)
        return sq_cli_fail("cosim", &err);
    printf("waveform: cd %s && gtkwave wave.gtkw\n", in->waves);
    return SQ_EXIT_OK;
}

int sq_cosim_stream(const struct sq_cosim_args *in, struct sq_cosim_total *total)
{
    const struct sq_stream_point *points[SQ_COSIM_MAX_POINTS];
    struct sq_stream_outcome out[SQ_COSIM_MAX_POINTS];
    struct sq_error err;
    size_t n;
    if (sq_cosim_stream_points(in, points, &n) != SQ_OK)
        return sq_cli_fail("cosim", in->err);

    const struct sq_stream_campaign campaign = {.block = in->stream,
                                                .points = points,
                                                .n_points = n,
                                                .cases = in->cases,
                                                .seed = in->seed,
                                                .netlist = in->is_netlist,
                                                .coverage = in->coverage,
                                                .jobs = in->jobs,
                                                .home = sq_cli_home(),
                                                .progress = progress};
    const enum sq_status status = sq_stream_campaign_run(&campaign, out, &err);
    if (status == SQ_OK && !in->is_json)
        printf("%-14s %6s %10s %9s %5s %5s\n", "point", "cases", "cycles", "beats", "value",
               "cycle");
    for (size_t i = 0; i < n; i++) {
        if (status == SQ_OK)
            report_point(in, points[i], &out[i]);
        total->cases += out[i].cases;
        total->beats += out[i].beats;
        total->value_mismatches += out[i].value_mismatches;
        total->cycle_mismatches += out[i].cycle_mismatches;
    }
    for (size_t i = 0; i < n; i++) {
        const bool failed = out[i].result.mismatch.kind != SQ_MISMATCH_NONE;
        if (status == SQ_OK && failed && !in->is_json)
            print_failure(in, &out[i]);
        sq_stream_case_free(&out[i].failing);
    }
    if (status != SQ_OK)
        return sq_cli_fail("cosim", &err);
    total->points += n;
    return SQ_EXIT_OK;
}
