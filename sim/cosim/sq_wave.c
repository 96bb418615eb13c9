// SPDX-License-Identifier: Apache-2.0
// Runs a case again with a trace, and writes the view for GTKWave (sq_wave.h).
#include "sim/cosim/sq_wave.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cosim/sq_port.h"
#include "sim/cosim/sq_rtl_bridge.h"
#include "sim/io/sq_file.h"

#define WINDOW_CYCLES 200u // dumped before the divergent cycle
#define AFTER_CYCLES 6u    // and after it
#define SHOWN_CYCLES 14u   // before it, in the window of the viewer
#define UNITS 1000u        // of the dump, in a cycle

// GTKWave's window, the part of it that has waves, and how it tells numbers.
#define WIDTH 1400
#define HEIGHT 760
#define WAVE_WIDTH 990
#define FRAME 200.0 // the zoom is -log2(units in so many pixels)
#define HEX "@22"
#define BINARY "@28"
#define DECIMAL "@420"
#define RED 1
#define GREEN 4

#define TOP "TOP." SQ_RTL_VIEW "."

static void heading(FILE *out, const char *text)
{
    fprintf(out, "@200\n-%s\n", text);
}

// A signal of the top: BEFORE NAME AFTER.
static void put(FILE *out, const char *format, int color, const char *label, const char *before,
                const char *name, const char *after, size_t bits)
{
    fprintf(out, "%s\n", format);
    if (color)
        fprintf(out, "[color] %d\n", color);
    fprintf(out, "+{%s} " TOP "%s%s%s", label, before, name, after);
    if (bits > 1)
        fprintf(out, "[%zu:0]", bits - 1);
    fprintf(out, "\n");
}

// What the RTL says and, below it, the model.
static void put_pair(FILE *out, const char *format, const char *label, const char *rtl,
                     const char *model, const char *name, const char *suffix, size_t bits,
                     bool differs)
{
    char text[160];
    const char end[] = {'_', *suffix, '\0'};
    snprintf(text, sizeof text, "%s rtl", label);
    put(out, format, differs ? RED : 0, text, rtl, name, end, bits);
    snprintf(text, sizeof text, "%s model", label);
    put(out, format, differs ? GREEN : 0, text, model, name, "_i", bits);
}

static const char *format_of(size_t bits)
{
    return bits <= 8 ? BINARY : HEX;
}

// ---- what differs -----------------------------------------------------------------------------

// One element of field f of outputs or status, both sides and the bits that differ.
static void put_element(FILE *out, const struct sq_field *f, const char *prefix, unsigned index)
{
    char label[64], model[32];
    if (f->count == 1) {
        snprintf(model, sizeof model, "model_%s", prefix);
        put_pair(out, format_of(f->width), f->name, prefix, model, f->name, "o", f->width, true);
        return;
    }
    const char *format = format_of(f->width);
    snprintf(label, sizeof label, "%s[%u] rtl", f->name, index);
    put(out, format, RED, label, "one_", f->name, "", f->width);
    snprintf(label, sizeof label, "%s[%u] model", f->name, index);
    put(out, format, GREEN, label, "one_model_", f->name, "", f->width);
    snprintf(label, sizeof label, "%s[%u] differs", f->name, index);
    put(out, format, 0, label, "one_differs_", f->name, "", f->width);
}

// A signal of a stream that the block makes, from RTL and model.
static void put_made(FILE *out, const char *format, const char *label, const struct sq_port *s,
                     const char *signal, size_t bits, bool differs)
{
    char text[160];
    snprintf(text, sizeof text, "%s rtl", label);
    put(out, format, differs ? RED : 0, text, "", sq_pin(s, signal, 'o').text, "", bits);
    snprintf(text, sizeof text, "%s model", label);
    put(out, format, differs ? GREEN : 0, text, "model_", sq_pin(s, signal, 'i').text, "", bits);
}

static void put_in(FILE *out, const char *format, const char *label, const struct sq_port *s,
                   const char *signal, size_t bits)
{
    put(out, format, 0, label, "", sq_pin(s, signal, 'i').text, "", bits);
}

// What the block says on a stream, valid or ready, beside what the stream's other end says, if that is `what`.
static void put_if(FILE *out, const struct sq_port *s, const char *own, const char *other,
                   const char *what)
{
    const struct sq_pin pin = sq_pin(s, own, 'o');
    if (strcmp(pin.text, what) != 0)
        return;
    put_in(out, BINARY, other, s, other, 1);
    put_made(out, BINARY, pin.text, s, own, 1, true);
}

static void put_handshake(FILE *out, const struct sq_ports *p, const char *what)
{
    for (size_t s = 0; s < SQ_STREAMS_MAX && p->stream[s].n_fields > 0; s++)
        put_if(out, &p->stream[s], "ready", "valid", what);
    for (size_t s = 0; s < SQ_ASKS_MAX && p->ask[s].n_fields > 0; s++)
        put_if(out, &p->ask[s], "valid", "ready", what);
    for (size_t s = 0; s < SQ_REPLIES_MAX && p->reply[s].n_fields > 0; s++)
        put_if(out, &p->reply[s], "ready", "valid", what);
}

// A field that is asked of the environment, whole.
static void put_ask(FILE *out, const struct sq_ports *p, size_t field)
{
    const struct sq_field *f = &p->ask_field[field];
    size_t s = 0;
    while (field >= p->ask[s].n_fields)
        field -= p->ask[s++].n_fields;
    put_made(out, HEX, f->name, &p->ask[s], f->name, f->count * f->width, true);
}

static void put_difference(FILE *out, const struct sq_case *c, const struct sq_ports *p,
                           const struct sq_mismatch *m)
{
    char place[48] = "";
    if (m->kind == SQ_MISMATCH_VALUE && !m->is_status && !m->is_ask)
        sq_element_place(c->block, c->point->value, m->field, m->index, place);
    fprintf(out, "@200\n-cycle %llu%s\n", (unsigned long long)m->cycle, place);
    if (m->is_ask)
        put_ask(out, p, m->field);
    else if (m->is_status)
        put_element(out, &p->status[m->field], "", m->index);
    else if (m->kind == SQ_MISMATCH_VALUE)
        put_element(out, &p->out[m->field], "out_", m->index);
    else if (strcmp(m->what, "out_valid_o") == 0)
        put_pair(out, BINARY, "out valid", "", "model_", "out_valid", "o", 1, true);
    else
        put_handshake(out, p, m->what);
}

// ---- streams ----------------------------------------------------------------------------------

static void put_input(FILE *out, const struct sq_port *s, const struct sq_field *field)
{
    char text[64];
    snprintf(text, sizeof text, "Stream %s", s->name);
    heading(out, text);
    put_in(out, BINARY, "valid", s, "valid", 1);
    put_made(out, BINARY, "ready", s, "ready", 1, false);
    for (size_t f = 0; f < s->n_fields; f++)
        put_in(out, HEX, field[f].name, s, field[f].name, field[f].count * field[f].width);
}

static void put_output(FILE *out, const struct sq_ports *p)
{
    if (p->n_out == 0)
        return;
    heading(out, "Stream out");
    put_pair(out, BINARY, "valid", "", "model_", "out_valid", "o", 1, false);
    put(out, BINARY, 0, "ready", "", "out_ready", "_i", 1);
    for (size_t f = 0; f < p->n_out; f++)
        put_pair(out, HEX, p->out[f].name, "out_", "model_out_", p->out[f].name, "o",
                 p->out[f].count * p->out[f].width, false);
}

// What goes to the environment of the block and what comes from it.
static void put_env(FILE *out, const struct sq_ports *p)
{
    char text[64];
    for (size_t s = 0, f = 0; s < SQ_ASKS_MAX && p->ask[s].n_fields > 0; s++) {
        snprintf(text, sizeof text, "Stream %s", p->ask[s].name);
        heading(out, text);
        put_made(out, BINARY, "valid", &p->ask[s], "valid", 1, false);
        put_in(out, BINARY, "ready", &p->ask[s], "ready", 1);
        for (const size_t end = f + p->ask[s].n_fields; f < end; f++)
            put_made(out, HEX, p->ask_field[f].name, &p->ask[s], p->ask_field[f].name,
                     p->ask_field[f].count * p->ask_field[f].width, false);
    }
    for (size_t s = 0, f = 0; s < SQ_REPLIES_MAX && p->reply[s].n_fields > 0; s++) {
        put_input(out, &p->reply[s], p->reply_field + f);
        f += p->reply[s].n_fields;
    }
}

static void put_status(FILE *out, const struct sq_ports *p)
{
    if (p->n_status > 0)
        heading(out, "Status");
    for (size_t f = 0; f < p->n_status; f++)
        put_pair(out, HEX, p->status[f].name, "", "model_", p->status[f].name, "o",
                 p->status[f].count * p->status[f].width, false);
}

// Named signals below the block, under headings.
static void put_inside(FILE *out, const struct sq_wave *w)
{
    for (; w && w->label; w++)
        if (w->path)
            fprintf(out, "%s\n+{%s} " TOP "rtl.%s\n", strchr(w->path, '[') ? DECIMAL : BINARY,
                    w->label, w->path);
        else
            heading(out, w->label);
}

// ---- the save file ----------------------------------------------------------------------------

// The window of the viewer holds cycles [from, to).
static void put_view(FILE *out, uint64_t from, uint64_t to, const struct sq_mismatch *m)
{
    const unsigned long long start = UNITS * from;
    fprintf(out, "[dumpfile] \"wave.fst\"\n[timestart] %llu\n[size] %d %d\n", start, WIDTH, HEIGHT);
    fprintf(out, "*%.6f ", -log2((double)(UNITS * (to - from)) * FRAME / WAVE_WIDTH));
    if (m->kind == SQ_MISMATCH_NONE)
        fprintf(out, "-1 -1\n");
    else
        fprintf(out, "%llu -1\n", (unsigned long long)(UNITS * m->cycle));
    fprintf(out, "[sst_width] 1\n[signals_width] 330\n[sst_expanded] 0\n");
}

static enum sq_status write_gtkw(const struct sq_case *c, const char *path,
                                 const struct sq_result *r, struct sq_error *err)
{
    const struct sq_ports p = sq_ports_of(c->block, c->point->value);
    const struct sq_mismatch *m = &r->mismatch;
    const bool differs = m->kind != SQ_MISMATCH_NONE;
    const uint64_t from = m->cycle > SHOWN_CYCLES ? m->cycle - SHOWN_CYCLES : 0;
    const uint64_t end =
        r->compared.cycles < 2 * SHOWN_CYCLES ? r->compared.cycles : 2 * SHOWN_CYCLES;
    struct sq_outfile out;
    SQ_TRY(sq_outfile_open(&out, path, err));
    put_view(out.stream, from, differs ? m->cycle + AFTER_CYCLES : end > 0 ? end : 1, m);
    heading(out.stream, "1 ns is a cycle");
    put(out.stream, BINARY, 0, "clock", "", "clk", "_i", 1);
    put(out.stream, BINARY, 0, "reset (low)", "", "rst", "_ni", 1);
    if (differs)
        put_difference(out.stream, c, &p, m);
    put_output(out.stream, &p);
    for (size_t i = 0, f = 0; i < SQ_STREAMS_MAX && p.stream[i].n_fields > 0; i++) {
        put_input(out.stream, &p.stream[i], p.in + f);
        f += p.stream[i].n_fields;
    }
    put_env(out.stream, &p);
    put_status(out.stream, &p);
    put_inside(out.stream, c->block->waves);
    return sq_outfile_commit(&out, err);
}

// Runs the case twice: where the traced object goes wrong, and once more with that window. Its
// registers without reset start from other values than those of the object that was first run.
static enum sq_status run(const struct sq_case *c, const struct sq_rtl_api *rtl, const char *path,
                          struct sq_result *result, struct sq_error *err)
{
    struct sq_result first, dumped;
    SQ_TRY(sq_lockstep_run(c, rtl, NULL, &first, err));
    if (first.mismatch.kind != SQ_MISMATCH_NONE || result->mismatch.kind == SQ_MISMATCH_NONE)
        *result = first;
    const struct sq_mismatch *m = &result->mismatch;
    const bool differs = m->kind != SQ_MISMATCH_NONE;
    const struct sq_window window = {.fst_path = path,
                                     .from =
                                         m->cycle > WINDOW_CYCLES ? m->cycle - WINDOW_CYCLES : 0,
                                     .to = differs ? m->cycle + AFTER_CYCLES : UINT64_MAX,
                                     .element = m->index};
    return sq_lockstep_run(c, rtl, &window, &dumped, err);
}

enum sq_status sq_wave_dump(const struct sq_case *c, bool netlist, struct sq_result *result,
                            const char *home, const char *dir, struct sq_error *err)
{
    const struct sq_rtl_point point = {
        .block = c->block, .point = c->point, .netlist = netlist, .trace = true, .is_brief = true};
    struct sq_rtl rtl;
    bool built;
    char path[1200], unfinished[1204];

    if (strlen(dir) > 1000 || (mkdir(dir, 0777) != 0 && errno != EEXIST))
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make %s: %s", sq_path_tail(dir), strerror(errno));
    SQ_TRY(sq_rtl_load(&rtl, &point, home, &built, err));
    // Verilator opens files by their name, so that a link would be followed: it gets a new one.
    snprintf(path, sizeof path, "%s/wave.fst", dir);
    snprintf(unfinished, sizeof unfinished, "%s.new", path);
    (void)unlink(unfinished);
    enum sq_status status = run(c, rtl.api, unfinished, result, err);
    sq_rtl_unload(&rtl);
    if (status == SQ_OK && rename(unfinished, path) != 0)
        status =
            SQ_FAIL(err, SQ_ERR_IO, "cannot write %s: %s", sq_path_tail(path), strerror(errno));
    if (status != SQ_OK)
        (void)unlink(unfinished);
    SQ_TRY(status);
    snprintf(path, sizeof path, "%s/wave.gtkw", dir);
    return write_gtkw(c, path, result, err);
}
