// SPDX-License-Identifier: Apache-2.0
// Prints divergences with operands and stalls, and summaries, for people and as JSON
// (sq_cosim_report.h).
#include "sim/cli/cosim/sq_cosim_report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/block/top/sq_top_host.h"
#include "sim/cosim/sq_wave.h"
#include "sim/io/sq_quote.h"

const char *sq_cosim_block_name(const struct sq_cosim_args *in)
{
    return in->is_all || in->is_trace ? "all" : in->block->name;
}

const char *sq_cosim_kind(enum sq_mismatch_kind kind)
{
    static const char *const names[] = {
        [SQ_MISMATCH_NONE] = "none",           [SQ_MISMATCH_VALUE] = "value",
        [SQ_MISMATCH_HANDSHAKE] = "handshake", [SQ_MISMATCH_COUNTER] = "counter",
        [SQ_MISMATCH_HANG] = "hang",           [SQ_MISMATCH_ASSERTION] = "assertion"};
    return names[kind];
}

// The counts of what was compared, as an object; `has_cycles` false where `cycles` is taken.
static json_t *compared_json(const struct sq_compared *c, bool has_cycles)
{
    const struct sq_cli_column row[] = {SQ_KEY_IF(has_cycles, "cycles", c->cycles),
                                        SQ_KEYS("beats", c->beats, "tiles", c->tiles, "integers",
                                                c->integers, "resets", c->resets, "active",
                                                c->active),
                                        SQ_COLUMNS_END};
    return sq_cli_object(row);
}

void sq_cosim_progress(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    sq_cli_progress("cosim", done, total);
}

int sq_cosim_summary(const struct sq_cosim_args *in, const char *unit, size_t n,
                     const struct sq_cosim_total *t, const char *data)
{
    // A campaign whose cases do nothing finds nothing; single cases may end by resets alone.
    enum { FEW = 8 };
    const bool is_idle = t->cases >= FEW && 2 * t->compared.active < t->cases && !in->has_case;
    const bool failed = t->value_mismatches + t->cycle_mismatches > 0 || is_idle;
    if (!in->is_json) {
        printf(
            "%s: %zu %s, %llu cases, %llu%s with outputs; compared with %s: %llu cycles, %llu "
            "handshakes, %llu tiles, "
            "%llu integers, %llu resets; %llu value mismatches, %llu cycle mismatches, seed %llu\n",
            failed ? "FAIL" : "PASS", n, unit, (unsigned long long)t->cases,
            (unsigned long long)t->compared.active, is_idle ? " (need half)" : "",
            in->is_netlist ? "the netlist" : "RTL", (unsigned long long)t->compared.cycles,
            (unsigned long long)t->compared.beats, (unsigned long long)t->compared.tiles,
            (unsigned long long)t->compared.integers, (unsigned long long)t->compared.resets,
            (unsigned long long)t->value_mismatches, (unsigned long long)t->cycle_mismatches,
            (unsigned long long)in->seed);
    } else {
        const struct sq_cli_column row[] = {
            SQ_KEYS("block", *t->blocks ? t->blocks : sq_cosim_block_name(in), unit, n),
            SQ_KEY_IF(in->is_model, "format",
                      in->options.is_all ? "all" : in->options.format->name),
            SQ_KEYS("cases", t->cases),
            SQ_MEMBERS(compared_json(&t->compared, true)),
            SQ_KEYS("value_mismatches", t->value_mismatches, "cycle_mismatches",
                    t->cycle_mismatches),
            SQ_KEYS("seed", in->seed, "netlist", in->is_netlist),
            SQ_COLUMNS_END};
        sq_cli_put_summary(row, sq_cli_provenance(data, "measured (RTL simulation)", in->seed));
    }
    return failed ? SQ_EXIT_CHECK_FAILED : SQ_EXIT_OK;
}

// ---- routes ---------------------------------------------------------------------------------

bool sq_cosim_is_chip(const struct sq_cosim_args *in)
{
    return in->block == &sq_top_block && !in->is_all && (in->is_model || in->is_trace);
}

struct sq_route_options sq_cosim_route_options(const struct sq_cosim_args *in,
                                               const struct sq_core_config *core)
{
    struct sq_chip chip = in->machine ? in->chip : (struct sq_chip){.depth = in->depth};
    chip.base = in->base;
    return (struct sq_route_options){.config = *core,
                                     .array_rows = in->machine      ? in->array[0]
                                                   : in->core.given ? core->rows
                                                                    : 1,
                                     .array_cols = in->machine      ? in->array[1]
                                                   : in->core.given ? core->cols
                                                                    : 2,
                                     .chip = chip,
                                     .netlist = in->is_netlist,
                                     .is_free =
                                         (in->is_trace && !sq_cosim_is_chip(in)) || in->is_free,
                                     .seed = in->seed,
                                     .home = sq_cli_home()};
}

// The chip's own counters of the layer, as the host read them.
static json_t *json_counters(const struct sq_route_outcome *out)
{
    static const char *const name[SQ_HOST_COUNTERS] = {"chip_cycles", "chip_busy", "chip_wait",
                                                       "chip_blocked"};
    const bool is_ring = out->stream.env.what >= SQ_HOST_RINGS; // whose layers have theirs
    const struct sq_top_given *const given = is_ring ? NULL : out->stream.env.given;
    json_t *const o = json_object();
    for (size_t i = 0; out->stream.block == &sq_top_block && given && i < SQ_HOST_COUNTERS; i++)
        json_object_set_new(o, name[i], json_integer((json_int_t)given->counted[i]));
    return o;
}

void sq_cosim_put_route(struct sq_cli_table *table, const struct sq_cli_column *first,
                        int block_width, int shape_width, const struct sq_route_outcome *out)
{
    const struct sq_block *b = out->stream.block;
    const bool has_parameters = b && !b->get_core;
    const struct sq_cli_column row[] = {
        SQ_ROW(first),
        SQ_COLUMN("block", out->block, "block", -block_width),
        SQ_COLUMN("shape", out->shape, "shape", -shape_width),
        SQ_MEMBERS(has_parameters ? sq_cli_parameters_json(b, out->point.value) : NULL),
        SQ_MEMBERS(json_counters(out)),
        SQ_COLUMN("values", out->values, "values", 9),
        SQ_COLUMN(NULL, out->compared.beats, "handshakes", 10),
        SQ_MEMBERS(compared_json(&out->compared, false)),
        SQ_COLUMN("cycles", out->cycles, "cycles", 9),
        SQ_COLUMN("value_mismatches", out->value_mismatches, "value", 5),
        SQ_COLUMN("cycle_mismatches", out->cycle_mismatches, "cycle", 5),
        SQ_KEY_IF(*out->difference, "difference", out->difference),
        SQ_COLUMNS_END};
    sq_cli_put(table, row);
    if (!table->is_json)
        fflush(stdout);
}

void sq_cosim_print_route(const struct sq_cosim_args *in, const char *name, const char *label,
                          const struct sq_route_outcome *out)
{
    if (*out->difference)
        printf("MISMATCH %s, %s: %s\n", name, out->block, out->difference);
    if (out->result.mismatch.kind != SQ_MISMATCH_NONE)
        sq_cosim_print_failure(in, label, &out->stream, NULL, &out->result);
}

void sq_cosim_add_route(struct sq_cosim_total *t, const struct sq_route_outcome *out)
{
    const size_t at = strlen(t->blocks);
    if (!strstr(t->blocks, out->block)) // no name holds another that comes later
        snprintf(t->blocks + at, sizeof t->blocks - at, "%s%s", at ? ", " : "", out->block);
    t->cases++;
    sq_compared_add(&t->compared, &out->compared);
    t->value_mismatches += out->value_mismatches;
    t->cycle_mismatches += out->cycle_mismatches;
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
    if (m->group == c->n_groups) // behind the last one
        return;
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
    struct sq_result traced = *r;
    char dir[1200], name[SQ_FILE_NAME_MAX + 1];
    struct sq_error err;
    const char *base = in->output ? in->output : sq_cli_cache_path("cosim");
    (void)mkdir(base, 0777);    // sq_wave_dump reports what is wrong with it
    sq_quote_file(name, label); // it begins with a layer's name
    snprintf(dir, sizeof dir, "%.900s/%s", base, name);
    if (sq_wave_dump(c, in->is_netlist, &traced, sq_cli_home(), dir, &err) == SQ_OK)
        printf("  waveform: cd %s && gtkwave wave.gtkw\n", dir);
    else
        printf("  no waveform: %s\n", err.text);
}

char *sq_cosim_command(const struct sq_cosim_args *in, const struct sq_case *c,
                       const uint64_t *number)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return NULL;
    fprintf(out, "sqsim cosim");
    const bool is_custom = strcmp(c->point->name, "custom") == 0;
    if (number && !is_custom) // of a table
        fprintf(out, " --block %s --point %s --seed %llu%s", c->block->name, c->point->name,
                (unsigned long long)in->seed, in->is_netlist ? " --netlist" : "");
    for (int i = 1; i < in->argc && (!number || is_custom); i++) {
        fputc(' ', out);
        sq_put_argument(out, in->argv[i]);
    }
    if (number && !(is_custom && in->has_case)) // or it is among the arguments
        fprintf(out, " --case %llu", (unsigned long long)*number);
    fclose(out);
    return text;
}

void sq_cosim_print_failure(const struct sq_cosim_args *in, const char *label,
                            const struct sq_case *c, const uint64_t *number,
                            const struct sq_result *result)
{
    const struct sq_mismatch *m = &result->mismatch;
    char *const again = sq_cosim_command(in, c, number);
    char text[200];
    sq_mismatch_text(c, m, text, sizeof text);
    printf("MISMATCH %s: cycle %llu, beat %llu: %s", label, (unsigned long long)m->cycle,
           (unsigned long long)m->beat, text);
    // The work of a case is its groups, or its environment's.
    printf("\n  shrunk to %zu %s(s), %zu input beat(s); stalls",
           c->n_groups + (c->env.end - c->env.begin), c->block->group, c->n_beats);
    print_stalls(c);
    if (c->reset_every > 0)
        printf("; reset every %llu cycles", (unsigned long long)c->reset_every);
    printf("; seed %llu\n", (unsigned long long)c->seed);
    if (again)
        printf("  again: %s\n", again);
    free(again);
    print_operands(c, m);
    fflush(stdout);
    leave_wave(in, c, result, label);
}
