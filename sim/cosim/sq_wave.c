// SPDX-License-Identifier: Apache-2.0
#include "sim/cosim/sq_wave.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/io/sq_file.h"

#define WINDOW_CYCLES 200u // dumped before the divergent cycle

// A group of the save file: valid, ready and the fields of a stream.
static void write_group(FILE *out, const char *top, const char *name, bool is_in,
                        const struct sq_field *field, size_t n_fields)
{
    fprintf(out, "@200\n-Stream %s\n", name);
    fprintf(out, "@28\n+{%s: valid} TOP.%s.%s_valid_%c\n", name, top, name, is_in ? 'i' : 'o');
    fprintf(out, "+{%s: ready} TOP.%s.%s_ready_%c\n", name, top, name, is_in ? 'o' : 'i');
    for (size_t f = 0; f < n_fields; f++) {
        const size_t bits = field[f].count * field[f].width;
        fprintf(out, "@22\n+{%s: %s} TOP.%s.%s_%s_%c", name, field[f].name, top, name,
                field[f].name, is_in ? 'i' : 'o');
        if (bits > 1)
            fprintf(out, "[%zu:0]", bits - 1);
        fprintf(out, "\n");
    }
}

// Named signals under headings.
static void write_waves(FILE *out, const char *top, const struct sq_wave *w)
{
    for (; w->label; w++)
        if (w->path)
            fprintf(out, "%s\n+{%s} TOP.%s.%s\n", strchr(w->path, '[') ? "@24" : "@28", w->label,
                    top, w->path); // decimal, binary
        else
            fprintf(out, "@200\n-%s\n", w->label);
}

// All ports, a group per stream.
static void write_ports(FILE *out, const char *top, const struct sq_ports *p)
{
    fprintf(out, "@28\n+{clock} TOP.%s.clk_i\n+{reset (low)} TOP.%s.rst_ni\n", top, top);
    for (size_t i = 0, f = 0; i < SQ_STREAMS_MAX && p->stream[i].n_fields > 0; i++) {
        write_group(out, top, p->stream[i].name, true, p->in + f, p->stream[i].n_fields);
        f += p->stream[i].n_fields;
    }
    write_group(out, top, "out", false, p->out, p->n_out);
}

// A GTKWave save file, a marker on the divergent cycle.
static enum sq_status write_gtkw(const struct sq_case *c, const char *path, uint64_t time,
                                 struct sq_error *err)
{
    const struct sq_ports ports = sq_ports_of(c->block, c->point->value);
    const unsigned long long at = time;
    struct sq_outfile out;
    SQ_TRY(sq_outfile_open(&out, path, err));
    fprintf(out.stream, "[dumpfile] \"wave.fst\"\n[timestart] %llu\n*%s %llu -1\n",
            at > 40 ? at - 40 : 0, c->block->waves ? "-3.2" : "-2.0", at);
    fprintf(out.stream, "[size] 1200 680\n[sst_width] 1\n[signals_width] 260\n[sst_expanded] 0\n");
    if (c->block->waves)
        write_waves(out.stream, c->block->top, c->block->waves);
    else
        write_ports(out.stream, c->block->top, &ports);
    return sq_outfile_commit(&out, err);
}

enum sq_status sq_wave_dump(const struct sq_case *c, bool netlist, const struct sq_result *result,
                            const char *home, const char *dir, struct sq_error *err)
{
    const uint64_t at = result->mismatch.cycle;
    const struct sq_rtl_point point = {
        .block = c->block, .point = c->point, .netlist = netlist, .trace = true};
    struct sq_result again;
    struct sq_rtl rtl;
    bool built;
    char path[1200];

    if (strlen(dir) > 1000 || (mkdir(dir, 0777) != 0 && errno != EEXIST))
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make %s: %s", sq_path_tail(dir), strerror(errno));
    SQ_TRY(sq_rtl_load(&rtl, &point, home, &built, err));
    snprintf(path, sizeof path, "%s/wave.fst", dir);
    const enum sq_status status =
        sq_lockstep_run(c, rtl.api, path, at > WINDOW_CYCLES ? at - WINDOW_CYCLES : 0, &again, err);
    sq_rtl_unload(&rtl);
    SQ_TRY(status);
    snprintf(path, sizeof path, "%s/wave.gtkw", dir);
    return write_gtkw(c, path, 2 * (at + SQ_RTL_RESET_CYCLES) + 1, err);
}
