// SPDX-License-Identifier: Apache-2.0
// Writes the C++ and the SystemVerilog that join a block to the simulator (sq_rtl_bridge.h).
#include "sim/cosim/sq_rtl_bridge.h"

#include "sim/cosim/sq_port.h"

static void write_comb(FILE *out, const struct sq_ports *p, const char *tied)
{
    size_t f = 0;
    unsigned s = 0;
    fprintf(out, "static void comb(void *opaque, const uint8_t *valid, uint8_t out_ready,\n"
                 "                 const uint32_t *const *in, uint8_t *answer)\n{\n"
                 "    auto *model = static_cast<sq_bridge::Model<Top> *>(opaque);\n"
                 "    Top &top = *model->top;\n");
    if (tied)
        fprintf(out, "    top.%s = 0;\n", tied);
    for (; s < SQ_STREAMS_MAX && p->stream[s].n_fields > 0; s++) {
        const struct sq_port *stream = &p->stream[s];
        fprintf(out, "    top.%s = valid[%u];\n", sq_pin(stream, "valid", 'i').text, s);
        for (size_t i = 0; i < stream->n_fields; i++, f++)
            fprintf(out, "    sq_bridge::put(top.%s, in[%zu]);\n",
                    sq_pin(stream, p->in[f].name, 'i').text, f);
    }
    fprintf(out, "%s    model->comb();\n    (void)valid, (void)out_ready, (void)in;\n",
            p->n_out > 0 ? "    top.out_ready_i = out_ready;\n" : "");
    for (unsigned i = 0; i < s; i++)
        fprintf(out, "    answer[%u] = top.%s;\n", i, sq_pin(&p->stream[i], "ready", 'o').text);
    fprintf(out, "    answer[%u] = %s;\n}\n", s, p->n_out > 0 ? "top.out_valid_o" : "0");
}

// Reads n ports PREFIXname_o.
static void write_get(FILE *out, const char *function, const char *prefix,
                      const struct sq_field *field, size_t n)
{
    fprintf(out,
            "static void %s(void *opaque, uint32_t *const *word)\n{\n"
            "    const Top &top = *static_cast<sq_bridge::Model<Top> *>(opaque)->top;\n",
            function);
    for (size_t f = 0; f < n; f++)
        fprintf(out, "    sq_bridge::get(top.%s%s_o, word[%zu]);\n", prefix, field[f].name, f);
    fprintf(out, "    (void)top, (void)word;\n}\n");
}

// The stream of each field, in order.
static const struct sq_port *stream_of(const struct sq_port *stream, size_t field)
{
    while (field >= stream->n_fields)
        field -= (stream++)->n_fields;
    return stream;
}

static size_t count_streams(const struct sq_port *stream, size_t max)
{
    size_t n = 0;
    while (n < max && stream[n].n_fields > 0)
        n++;
    return n;
}

// Both directions of the streams of an environment.
static void write_env(FILE *out, const struct sq_ports *p, bool is_traced)
{
    const size_t asks = count_streams(p->ask, SQ_ASKS_MAX);
    const size_t replies = count_streams(p->reply, SQ_REPLIES_MAX);
    static const char top[] =
        "    Top &top = *static_cast<sq_bridge::Model<Top> *>(opaque)->top;\n";
    fprintf(
        out,
        "static void drive_env(void *opaque, const uint8_t *side, const uint32_t *const *reply)\n"
        "{\n%s",
        top);
    for (size_t s = 0; s < asks; s++)
        fprintf(out, "    top.%s = side[%zu];\n", sq_pin(&p->ask[s], "ready", 'i').text, s);
    for (size_t s = 0; s < replies; s++)
        fprintf(out, "    top.%s = side[%zu];\n", sq_pin(&p->reply[s], "valid", 'i').text,
                asks + s);
    for (size_t f = 0; f < p->n_reply; f++)
        fprintf(out, "    sq_bridge::put(top.%s, reply[%zu]);\n",
                sq_pin(stream_of(p->reply, f), p->reply_field[f].name, 'i').text, f);
    fprintf(out,
            "}\nstatic void read_env(void *opaque, uint8_t *side, uint32_t *const *ask)\n{\n%s",
            top);
    for (size_t s = 0; s < asks; s++)
        fprintf(out, "    side[%zu] = top.%s;\n", s, sq_pin(&p->ask[s], "valid", 'o').text);
    for (size_t s = 0; s < replies; s++)
        fprintf(out, "    side[%zu] = top.%s;\n", asks + s,
                sq_pin(&p->reply[s], "ready", 'o').text);
    for (size_t f = 0; f < p->n_ask; f++)
        fprintf(out, "    sq_bridge::get(top.%s, ask[%zu]);\n",
                sq_pin(stream_of(p->ask, f), p->ask_field[f].name, 'o').text, f);
    fprintf(out, "}\n");
    if (!is_traced)
        return;
    fprintf(out,
            "static void show_env(void *opaque, const uint8_t *side, const uint32_t *const *ask)\n"
            "{\n%s",
            top);
    for (size_t s = 0; s < asks; s++)
        fprintf(out, "    top.model_%s = side[%zu];\n", sq_pin(&p->ask[s], "valid", 'i').text, s);
    for (size_t s = 0; s < replies; s++)
        fprintf(out, "    top.model_%s = side[%zu];\n", sq_pin(&p->reply[s], "ready", 'i').text,
                asks + s);
    for (size_t f = 0; f < p->n_ask; f++)
        fprintf(out, "    sq_bridge::put(top.model_%s, ask[%zu]);\n",
                sq_pin(stream_of(p->ask, f), p->ask_field[f].name, 'i').text, f);
    fprintf(out, "}\n");
}

// What the models say, on the inputs that only the top of a trace has.
static void write_show(FILE *out, const struct sq_ports *p)
{
    unsigned s = 0;
    fprintf(out,
            "static void show(void *opaque, const uint8_t *answer, const uint32_t *const *out,\n"
            "                 const uint32_t *const *status, uint32_t element)\n{\n"
            "    Top &top = *static_cast<sq_bridge::Model<Top> *>(opaque)->top;\n");
    for (; s < SQ_STREAMS_MAX && p->stream[s].n_fields > 0; s++)
        fprintf(out, "    top.model_%s = answer[%u];\n", sq_pin(&p->stream[s], "ready", 'i').text,
                s);
    if (p->n_out > 0)
        fprintf(out, "    top.model_out_valid_i = answer[%u];\n", s);
    for (size_t f = 0; f < p->n_out; f++)
        fprintf(out, "    sq_bridge::put(top.model_out_%s_i, out[%zu]);\n", p->out[f].name, f);
    for (size_t f = 0; f < p->n_status; f++)
        fprintf(out, "    sq_bridge::put(top.model_%s_i, status[%zu]);\n", p->status[f].name, f);
    fprintf(out, "    top.element_i = element;\n    (void)answer, (void)out, (void)status;\n}\n");
}

void sq_rtl_write_bridge(FILE *out, const struct sq_block *block, const struct sq_ports *p,
                         bool is_traced)
{
    fprintf(out, "#include \"sq_bridge.h\"\n#include \"V%s.h\"\nusing Top = V%s;\n", block->top,
            block->top);
    write_comb(out, p, is_traced ? NULL : block->tied);
    write_get(out, "beat", "out_", p->out, p->n_out);
    write_get(out, "status", "", p->status, p->n_status);
    if (is_traced)
        write_show(out, p);
    if (block->env)
        write_env(out, p, is_traced);
    fprintf(out,
            "extern \"C\" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)\n{\n"
            "    static const sq_rtl_api api = {sq_bridge::create<Top>,\n"
            "        sq_bridge::destroy<Top>, comb, %s, %s,\n"
            "        sq_bridge::clock<Top>, sq_bridge::reset<Top>,\n"
            "        %s, beat, status,\n"
            "        sq_bridge::no_assertions<Top>, sq_bridge::select_mutant, "
            "sq_bridge::write_coverage<Top>};\n"
            "    return &api;\n}\n",
            block->env ? "drive_env, read_env" : "nullptr, nullptr",
            block->env && is_traced ? "show_env" : "nullptr", is_traced ? "show" : "nullptr");
}

// ---- the top of a trace -----------------------------------------------------------------------

static void write_port(FILE *out, const char *direction, const char *prefix, const char *name,
                       size_t bits)
{
    fprintf(out, ",\n  %s logic ", direction);
    if (bits > 1)
        fprintf(out, "[%zu:0] ", bits - 1);
    fprintf(out, "%s%s", prefix, name);
}

// An output PREFIXname_o of the block, and the input that has the model's value.
static void write_pair(FILE *out, const char *prefix, const struct sq_field *f)
{
    char name[48];
    snprintf(name, sizeof name, "%s%s_o", prefix, f->name);
    write_port(out, "output", "", name, f->count * f->width);
    snprintf(name, sizeof name, "%s%s_i", prefix, f->name);
    write_port(out, "input", "model_", name, f->count * f->width);
}

// A signal that a stream brings.
static void write_in(FILE *out, const struct sq_port *s, const char *signal, size_t bits)
{
    write_port(out, "input", "", sq_pin(s, signal, 'i').text, bits);
}

// A signal of a stream that the block makes, and the input that has the model's value.
static void write_made(FILE *out, const struct sq_port *s, const char *signal, size_t bits)
{
    write_port(out, "output", "", sq_pin(s, signal, 'o').text, bits);
    write_port(out, "input", "model_", sq_pin(s, signal, 'i').text, bits);
}

// A stream into the block.
static void write_view_input(FILE *out, const struct sq_port *s, const struct sq_field *field)
{
    write_in(out, s, "valid", 1);
    write_made(out, s, "ready", 1);
    for (size_t f = 0; f < s->n_fields; f++)
        write_in(out, s, field[f].name, field[f].count * field[f].width);
}

// A stream from the block to its environment.
static void write_view_ask(FILE *out, const struct sq_port *s, const struct sq_field *field)
{
    write_made(out, s, "valid", 1);
    write_in(out, s, "ready", 1);
    for (size_t f = 0; f < s->n_fields; f++)
        write_made(out, s, field[f].name, field[f].count * field[f].width);
}

static void write_view_ports(FILE *out, const struct sq_ports *p)
{
    fprintf(out, "  input logic clk_i,\n  input logic rst_ni,\n  input logic [31:0] element_i");
    for (size_t s = 0, f = 0; s < SQ_STREAMS_MAX; f += p->stream[s++].n_fields)
        if (p->stream[s].n_fields > 0)
            write_view_input(out, &p->stream[s], p->in + f);
    for (size_t s = 0, f = 0; s < SQ_ASKS_MAX; f += p->ask[s++].n_fields)
        if (p->ask[s].n_fields > 0)
            write_view_ask(out, &p->ask[s], p->ask_field + f);
    for (size_t s = 0, f = 0; s < SQ_REPLIES_MAX; f += p->reply[s++].n_fields)
        if (p->reply[s].n_fields > 0)
            write_view_input(out, &p->reply[s], p->reply_field + f);
    if (p->n_out > 0)
        fprintf(out, ",\n  output logic out_valid_o,\n  input logic model_out_valid_i,\n"
                     "  input logic out_ready_i");
    for (size_t f = 0; f < p->n_out; f++)
        write_pair(out, "out_", &p->out[f]);
    for (size_t f = 0; f < p->n_status; f++)
        write_pair(out, "", &p->status[f]);
}

// Element `element_i` of a field, on both sides, and the bits in which they differ.
static void write_element(FILE *out, const char *prefix, const struct sq_field *f)
{
    const struct {
        const char *name, *from;
        char suffix;
    } side[] = {{"one", "", 'o'}, {"one_model", "model_", 'i'}};
    char range[16] = "";
    if (f->count == 1) // the field is all there is
        return;
    if (f->width > 1)
        snprintf(range, sizeof range, "[%u:0] ", f->width - 1);
    for (size_t i = 0; i < 2; i++)
        fprintf(out, "  wire %s%s_%s = %s%s%s_%c[(element_i %% 32'd%zu) * 32'd%u +: %u];\n", range,
                side[i].name, f->name, side[i].from, prefix, f->name, side[i].suffix, f->count,
                f->width, f->width);
    fprintf(out, "  wire %sone_differs_%s = one_%s ^ one_model_%s;\n", range, f->name, f->name,
            f->name);
}

// Streams of one direction by name; fields of all of them.
static void write_view_streams(FILE *out, const struct sq_port *stream, size_t max,
                               const struct sq_field *field, bool is_input)
{
    const char own = is_input ? 'i' : 'o', other = is_input ? 'o' : 'i';
    for (size_t s = 0, f = 0; s < count_streams(stream, max); s++) {
        fprintf(out, ", .%s, .%s", sq_pin(&stream[s], "valid", own).text,
                sq_pin(&stream[s], "ready", other).text);
        for (size_t i = 0; i < stream[s].n_fields; i++, f++)
            fprintf(out, ", .%s", sq_pin(&stream[s], field[f].name, own).text);
    }
}

// The ports of the block that its table has at this point, by name: the RTL may have others.
static void write_view_connections(FILE *out, const struct sq_ports *p, const char *tied)
{
    fprintf(out, ".clk_i, .rst_ni");
    if (tied)
        fprintf(out, ", .%s(1'b0)", tied);
    write_view_streams(out, p->stream, SQ_STREAMS_MAX, p->in, true);
    write_view_streams(out, p->ask, SQ_ASKS_MAX, p->ask_field, false);
    write_view_streams(out, p->reply, SQ_REPLIES_MAX, p->reply_field, true);
    if (p->n_out > 0)
        fprintf(out, ", .out_valid_o, .out_ready_i");
    for (size_t f = 0; f < p->n_out; f++)
        fprintf(out, ", .out_%s_o", p->out[f].name);
    for (size_t f = 0; f < p->n_status; f++)
        fprintf(out, ", .%s_o", p->status[f].name);
}

void sq_rtl_write_view(FILE *out, const struct sq_block *block, const unsigned *value,
                       const struct sq_ports *p)
{
    size_t n = 0;
    fprintf(out, "/* verilator lint_off UNUSEDSIGNAL */\n/* verilator lint_off WIDTH */\n"
                 "/* verilator lint_off PINMISSING */\n"
                 "module " SQ_RTL_VIEW " (\n");
    write_view_ports(out, p);
    fprintf(out, "\n);\n  %s", block->top);
    for (size_t i = 0; value && block->param[i]; i++)
        if (*block->param[i])
            fprintf(out, "%s.%s(%u)", n++ == 0 ? " #(" : ", ", block->param[i], value[i]);
    fprintf(out, "%s rtl (", n > 0 ? ")" : "");
    write_view_connections(out, p, block->tied);
    fprintf(out, ");\n");
    for (size_t f = 0; f < p->n_out; f++)
        write_element(out, "out_", &p->out[f]);
    for (size_t f = 0; f < p->n_status; f++)
        write_element(out, "", &p->status[f]);
    fprintf(out, "endmodule\n");
}
