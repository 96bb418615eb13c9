// SPDX-License-Identifier: Apache-2.0
// Writes the registers (sq_regs.h) for the tools of others: SystemRDL 2.0, and IP-XACT as IEEE 1685-2014 has it. A register
// without named fields has one field, VALUE.
#include "sim/block/top/sq_regs.h"

static const char *const about = "The registers of the chip sq_top, behind AXI4-Lite, 32 bits an "
                                 "access. docs/registers.md says more.";

// The fields of a register into f[], or VALUE; returns how many.
static unsigned fields_of(const struct sq_reg *r, struct sq_reg_field *f)
{
    unsigned n = 0;
    for (; n < SQ_REG_FIELDS_MAX && r->field[n].name; n++)
        f[n] = r->field[n];
    if (n == 0)
        f[n++] = (struct sq_reg_field){"VALUE", 0, 32, r->text};
    return n;
}

// ---- SystemRDL --------------------------------------------------------------------------------------

static void put_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', out);
}

// What software and hardware may do, by enum sq_reg_access.
static const char *const rdl_access[] = {
    [SQ_REG_READ] = "sw = r; hw = w;",
    [SQ_REG_WRITE] = "sw = w; hw = r; singlepulse; reset = 0;",
    [SQ_REG_BOTH] = "sw = rw; hw = r; reset = 0;",
    [SQ_REG_CLEAR] = "sw = rw; hw = r; onwrite = woclr; hwset; reset = 0;",
};

void sq_regs_write_rdl(FILE *out)
{
    struct sq_reg_field f[SQ_REG_FIELDS_MAX];
    fprintf(out,
            "// SPDX-License-Identifier: Apache-2.0\n// %s\n// %s\naddrmap sq_top {\n"
            "    name = \"sq_top\";\n    desc = ",
            about, SQ_REGS_WRITTEN);
    put_quoted(out, about);
    fprintf(out, ";\n    default regwidth = 32;\n    default accesswidth = 32;\n");
    for (unsigned i = 0; i < sq_n_regs; i++) {
        const struct sq_reg *const r = &sq_regs[i];
        const unsigned n = fields_of(r, f);
        fprintf(out, "    reg { desc = ");
        put_quoted(out, r->text);
        fprintf(out, ";\n");
        for (unsigned k = 0; k < n; k++) {
            fprintf(out, "        field { desc = ");
            put_quoted(out, f[k].text);
            fprintf(out, "; %s } %s[%u:%u];\n", rdl_access[r->access], f[k].name,
                    f[k].low + f[k].width - 1, f[k].low);
        }
        fprintf(out, "    } %s @ 0x%02x;\n", r->name, r->offset);
    }
    fprintf(out, "};\n");
}

// ---- IP-XACT ----------------------------------------------------------------------------------------

// An element with a text, in the line of the tag around it.
static void put_element(FILE *out, const char *name, const char *text)
{
    fprintf(out, "<ipxact:%s>", name);
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        default:
            fputc(*text, out);
        }
    fprintf(out, "</ipxact:%s>", name);
}

static void put_number(FILE *out, const char *name, const char *form, unsigned value)
{
    char text[16];
    snprintf(text, sizeof text, form[0] == 'x' ? "0x%x" : "%u", value);
    put_element(out, name, text);
}

// Begins a line that is so many levels deep.
static void put_tag(FILE *out, unsigned level, const char *tag)
{
    fprintf(out, "\n%*s<%sipxact:%s>", 2 * (int)level, "", tag[0] == '/' ? "/" : "",
            tag + (tag[0] == '/'));
}

static void put_field(FILE *out, const struct sq_reg_field *f, enum sq_reg_access access)
{
    static const char *const word[] = {"read-only", "write-only", "read-write", "read-write"};
    put_tag(out, 5, "field");
    put_element(out, "name", f->name);
    put_element(out, "description", f->text);
    put_number(out, "bitOffset", "u", f->low);
    put_number(out, "bitWidth", "u", f->width);
    put_element(out, "access", word[access]);
    if (access == SQ_REG_CLEAR)
        put_element(out, "modifiedWriteValue", "oneToClear");
    fputs("</ipxact:field>", out);
}

void sq_regs_write_ipxact(FILE *out)
{
    struct sq_reg_field f[SQ_REG_FIELDS_MAX];
    fprintf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
        "<!-- %s -->\n"
        "<ipxact:component xmlns:ipxact=\"http://www.accellera.org/XMLSchema/IPXACT/1685-2014\">",
        SQ_REGS_WRITTEN);
    put_element(out, "vendor", "sqsim");
    put_element(out, "library", "sqsim");
    put_element(out, "name", "sq_top");
    put_number(out, "version", "u", SQ_REG_VERSION_VALUE);
    put_tag(out, 1, "memoryMaps");
    put_tag(out, 2, "memoryMap");
    put_element(out, "name", "sq_top");
    put_tag(out, 3, "addressBlock");
    put_element(out, "name", "registers");
    put_number(out, "baseAddress", "x", 0);
    put_number(out, "range", "x", SQ_REG_END);
    put_number(out, "width", "u", 32);
    for (unsigned i = 0; i < sq_n_regs; i++) {
        const unsigned n = fields_of(&sq_regs[i], f);
        put_tag(out, 4, "register");
        put_element(out, "name", sq_regs[i].name);
        put_element(out, "description", sq_regs[i].text);
        put_number(out, "addressOffset", "x", sq_regs[i].offset);
        put_number(out, "size", "u", 32);
        for (unsigned k = 0; k < n; k++)
            put_field(out, &f[k], sq_regs[i].access);
        fputs("</ipxact:register>", out);
    }
    put_tag(out, 3, "/addressBlock");
    put_number(out, "addressUnitBits", "u", 8);
    put_tag(out, 2, "/memoryMap");
    put_tag(out, 1, "/memoryMaps");
    put_element(out, "description", about);
    fprintf(out, "\n</ipxact:component>\n");
}
