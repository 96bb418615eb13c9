// SPDX-License-Identifier: Apache-2.0
#include "sim/cosim/sq_rtl_bridge.h"

static void write_comb(FILE *out, const struct sq_ports *p)
{
    size_t f = 0;
    unsigned s = 0;
    fprintf(out, "static void comb(void *opaque, const uint8_t *valid, uint8_t out_ready,\n"
                 "                 const uint32_t *const *in, uint8_t *answer)\n{\n"
                 "    auto *model = static_cast<sq_bridge::Model<Top> *>(opaque);\n"
                 "    Top &top = *model->top;\n");
    for (; s < SQ_STREAMS_MAX && p->stream[s].n_fields > 0; s++) {
        const char *name = p->stream[s].name;
        fprintf(out, "    top.%s_valid_i = valid[%u];\n", name, s);
        for (size_t i = 0; i < p->stream[s].n_fields; i++, f++)
            fprintf(out, "    sq_bridge::put(top.%s_%s_i, in[%zu]);\n", name, p->in[f].name, f);
    }
    fprintf(out, "    top.out_ready_i = out_ready;\n    model->comb();\n");
    for (unsigned i = 0; i < s; i++)
        fprintf(out, "    answer[%u] = top.%s_ready_o;\n", i, p->stream[i].name);
    fprintf(out, "    answer[%u] = top.out_valid_o;\n}\n", s);
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

void sq_rtl_write_bridge(FILE *out, const struct sq_block *block, const struct sq_ports *p)
{
    fprintf(out, "#include \"sq_bridge.h\"\n#include \"V%s.h\"\nusing Top = V%s;\n", block->top,
            block->top);
    write_comb(out, p);
    write_get(out, "beat", "out_", p->out, p->n_out);
    write_get(out, "status", "", p->status, p->n_status);
    fprintf(out, "extern \"C\" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)\n{\n"
                 "    static const sq_rtl_api api = {sq_bridge::create<Top>,\n"
                 "        sq_bridge::destroy<Top>, comb, sq_bridge::clock<Top>, beat, status,\n"
                 "        sq_bridge::no_assertions<Top>, sq_bridge::select_mutant, "
                 "sq_bridge::write_coverage<Top>};\n"
                 "    return &api;\n}\n");
}
