// SPDX-License-Identifier: Apache-2.0
// Holds the table of registers, and writes the package, the C header and the page from it
// (sq_regs.h).
#include "sim/block/top/sq_regs.h"

#include <stdbool.h>

#define LEN(a) (sizeof(a) / sizeof(a)[0])

// clang-format off
#define ROW(row, at, may, ...) {.name = #row, .offset = (at), .access = SQ_REG_##may, .text = __VA_ARGS__}
// clang-format on
#define REG(name, access, ...) ROW(name, SQ_REG_##name, access, __VA_ARGS__)
const struct sq_reg sq_regs[] = {
    REG(ID, READ, "\"STOP\" as four characters, the first in the low byte"),
    REG(VERSION, READ, "of these registers; another number means that they differ from this page"),
    REG(ARRAY, READ, "the size of a tile of outputs",
        {{"ROWS", 0, 8, "rows of a tile (tokens)"},
         {"COLS", 8, 8, "columns of a tile (channels)"},
         {"BANK", 16, 16, "elements of K in a beat of operands"}}),
    REG(CODES, READ, "what goes in and comes out",
        {{"ACT", 0, 8, "bits of an activation"},
         {"WEIGHT", 8, 8, "bits of a weight"},
         {"OUT", 16, 8, "0 binary32, 1 bfloat16, 2 INT8"},
         {"ENCODE", 24, 1, "1: descriptors of kind encode run, which make activations of bfloat16"},
         {"VECTOR", 25, 1, "1: descriptors of kind vector run, passes over rows of binary32"}}),
    REG(BUFFER, READ, "what half a buffer of operands holds",
        {{"ACT", 0, 16, "beats of activations"}, {"WEIGHT", 16, 16, "beats of weights"}}),
    REG(BUS, READ, "bytes of a beat on the memory bus"),
    REG(ENGINE, READ,
        "how operands are stored, as sq_engine_array has it; FORM 3 is sq_engine_scaled, to which "
        "SCALED belongs",
        {{"LAYOUT", 0, 4,
          "0 dense, 1 mask codes, 2 split codes, 3 compact, 4 two of four; 5 kept groups of "
          "weights with an index (sq_engine_gqsa)"},
         {"ON_ACTS", 4, 1, "the activations have this layout, else the weights"},
         {"ONE_ACC", 5, 1, "one sum, else one of low and one of high codes"},
         {"FORM", 6, 2,
          "scales: 0 one, 1 two a channel, 2 two a token, 3 above blocks with their own"},
         {"HIGH_W", 8, 8, "bits of a high code"},
         {"HIGH", 16, 16, "high codes of a bank"}}),
    REG(SCALED, READ,
        "how blocks of both operands are stored, as sq_engine_scaled has it; 0 with another FORM",
        {{"ELEMENT", 0, 8,
          "0 INT4, 1 INT5, 2 E2M1, 3 E2M3, 4 E3M2, 5 E4M3, 6 E5M2, 8 MXINT8, 9 E2M1 with a place "
          "(MX+), 10 IF4, 11 RaZeR, 12 a table of a description"},
         {"SCALE", 8, 8, "of a block: 1 E4M3, 2 E8M0, 4 UE5M3, 5 E6M2, 6 F16, 7 BF16, 8 F32"},
         {"HIGH", 16, 8,
          "the high codes of a block, if ENGINE.HIGH is not 0: 0 upper nibbles with mask bits, 1 "
          "at a scale of the row, 2 at a second scale of the block"}}),
    REG(CONTROL, WRITE,
        "a write of START while a layer or the ring runs is answered with SLVERR and changes "
        "nothing",
        {{"START", SQ_CONTROL_START, 1, "a 1 runs the layer that DESCRIPTOR points at"},
         {"ABORT", SQ_CONTROL_ABORT, 1,
          "a 1 without START ends the layer that runs, and the ring behind it; without meaning "
          "where nothing runs"}}),
    REG(STATUS, READ,
        "state of the layer that runs, or else of the last one; a start clears all but BUSY",
        {{"BUSY", SQ_STATUS_BUSY, 1, "a layer runs"},
         {"REFUSED", SQ_STATUS_REFUSED, 1, "the descriptor cannot be run; nothing was written"},
         {"OPERAND", SQ_STATUS_OPERAND, 1, "an operand with wrong parity was multiplied"},
         {"ABORTED", SQ_STATUS_ABORTED, 1,
          "the layer was ended by ABORT; its outputs mean nothing"},
         {"READ", SQ_STATUS_READ, 3,
          "the first error of reads: 2 SLVERR, 3 DECERR, 4 LAST too early, 5 LAST too late"},
         {"EXPIRED", SQ_STATUS_EXPIRED, 1,
          "the layer was ended by WATCHDOG; its outputs mean nothing"},
         {"WRITTEN", SQ_STATUS_WRITTEN, 3, "the first error of writes: 2 SLVERR, 3 DECERR"},
         {"ENGINE", SQ_STATUS_ENGINE, 3,
          "errors in operands: bit 0 a code that stands for no value, bit 1 a scale that is no "
          "positive number, bit 2 a malformed mask or index"}}),
    REG(IRQ_ENABLE, BOTH, "which states raise the interrupt",
        {{"DONE", SQ_IRQ_DONE, 1, "1: the interrupt output is high while IRQ_STATE.DONE is"},
         {"ERROR", SQ_IRQ_ERROR, 1, "the same of IRQ_STATE.ERROR"}}),
    REG(IRQ_STATE, CLEAR, "what has happened since it was cleared",
        {{"DONE", SQ_IRQ_DONE, 1,
          "the layer of START has ended, with an error or without; the ring has come to TAIL or "
          "was aborted; or a descriptor of it with KIND.NOTICE has its record"},
         {"ERROR", SQ_IRQ_ERROR, 1, "a layer has ended with a STATUS other than 0"}}),
    REG(DESCRIPTOR, BOTH, "address of the descriptor of the layer, in bytes; its low 32 bits"),
    REG(CYCLES, READ,
        "cycles of the layer; of this counter and of those below, which a start clears, the low 32 "
        "bits of 64"),
    REG(BUSY_CYCLES, READ, "cycles in which the engine took operands"),
    REG(WAIT_CYCLES, READ, "cycles in which an operand was missing"),
    REG(BLOCKED_CYCLES, READ,
        "cycles in which both operands were there and the engine took none; BUSY, WAIT and BLOCKED "
        "sum to CYCLES"),
    REG(READ_BEATS, READ, "beats that came from memory"),
    REG(WRITE_BEATS, READ, "beats that went to memory"),
    REG(COUNTER_HIGH, READ,
        "the high 32 bits of the counter that was read last, of the cycle in which it was read"),
    REG(SCALES, READ, "what half a buffer of scales holds",
        {{"ROWS", 0, 16, "beats of the scales of rows"},
         {"COLS", 16, 16, "beats of the scales of columns"}}),
    REG(SUMS, READ, "what half the buffer of sums holds, between chunks of K",
        {{"TILES", 0, 16, "tiles of outputs"},
         {"PARTS", 16, 1,
          "integers of a scale group that goes on wait beside the sums; else in their place, so "
          "that CHUNK.PART needs a layer of one group and one sum of a PE. Without meaning where "
          "ENGINE.FORM is 3, which takes CHUNK.PART"}}),
    REG(RING_BASE, BOTH,
        "address of the ring in memory, in bytes, its low 32 bits; bits 6..0 are 0. A write makes "
        "HEAD and TAIL 0; while a layer or the ring runs it is answered with SLVERR and changes "
        "nothing"),
    REG(RING_SIZE, BOTH,
        "slots of the ring, of 128 bytes; 0: there is none. Writes as those of RING_BASE",
        {{"SLOTS", 0, 16, "slots"}}),
    REG(HEAD, READ, "the slot whose descriptor runs, or is the next to run",
        {{"SLOT", 0, 16, "its number, from 0 on"}}),
    REG(TAIL, BOTH,
        "the first slot that is not to be run. A write runs the ring from HEAD up to there, around "
        "its end; it is answered with SLVERR and changes nothing unless it is less than RING_SIZE "
        "and the ring ends at 2^48 or before, and while the layer of START runs or an abort is "
        "under way",
        {{"SLOT", 0, 16, "its number"}}),
    REG(WATCHDOG, BOTH,
        "cycles behind which a layer is ended that still runs, as by ABORT, but the ring goes on; "
        "0: never"),
    REG(READ_WAIT, READ,
        "a counter as CYCLES: cycles in which a beat that was asked for could be taken and none "
        "came: latency or bandwidth of the memory"),
    REG(READ_FULL, READ,
        "a counter: cycles in which a beat came and was not taken, since the buffers had no room"),
    REG(WRITE_WAIT, READ,
        "a counter: cycles in which an address or a beat of a write was offered and the memory "
        "took it not"),
    REG(DESCRIPTOR_HIGH, BOTH,
        "the high half of the address of DESCRIPTOR; a start takes both as they stand",
        {{"ADDRESS", 0, 16, "bits 47..32"}}),
    REG(RING_BASE_HIGH, BOTH,
        "the high half of the address of RING_BASE. Writes as those of RING_BASE",
        {{"ADDRESS", 0, 16, "bits 47..32"}}),
    REG(ATTEND, READ,
        "the attention unit; 0: there is none, and descriptors of kind attend are refused",
        {{"QUERIES", 0, 4, "queries that share a cache, at most"},
         {"INT8", 4, 1, "keys and values are INT8 with a scale, else binary16"},
         {"HEAD", 5, 4, "elements of a head, at most: 2 to the power of this"}}),
};
const unsigned sq_n_regs = LEN(sq_regs);

#define WORD(name, ...) ROW(name, 4 * SQ_DESC_##name, BOTH, __VA_ARGS__)
const struct sq_reg sq_desc[] = {
    WORD(KIND, "kind of the descriptor, and the order of blocks",
         {{"KIND", 0, 16,
           "5351h; 4551h is an encoder, 5651h a pass of the vector unit, 4151h attention (below)"},
          {"COLS_OUTER", SQ_DESC_COLS_OUTER, 1,
           "0: all blocks of columns for one block of rows; 1: the other way round"},
          {"NOTICE", SQ_DESC_NOTICE, 1,
           "in the ring: 1 sets IRQ_STATE.DONE when its record is written, unless the layer was "
           "ended early"},
          {"CODES", SQ_DESC_CODES, 1, "of an encoder: 1: the outputs are INT8 codes, which move"}}),
    WORD(ACT, "low 32 bits of the address of the activations"),
    WORD(WEIGHT, "low 32 bits of the address of the weights"),
    WORD(ROW_SCALE, "low 32 bits of the address of the scales of the rows"),
    WORD(COL_SCALE, "low 32 bits of the address of the scales of the columns"),
    WORD(OUT, "low 32 bits of the address of the outputs"),
    WORD(TILES, "size of the layer",
         {{"ROWS", 0, 16, "tiles of rows"}, {"COLS", 16, 16, "tiles of columns"}}),
    WORD(BLOCK,
         "size of a block, whose operands fill half a buffer each at most; ROWS x COLS is at most "
         "65535, also where TILES is less",
         {{"ROWS", 0, 16, "tiles of rows"}, {"COLS", 16, 16, "tiles of columns"}}),
    WORD(
        BEATS, "length of a tile along K",
        {{"BEATS", 0, 16,
          "beats of a scale group; with LAYOUT 5 beats of activations of a tile of rows, all of K"},
         {"GROUPS", 16, 16,
          "scale groups; with LAYOUT 5 beats of weights of a block of columns, one of the kept "
          "groups each"}}),
    WORD(CHUNK,
         "of K, that half a buffer holds for a block; with fewer than all groups a block has at "
         "most SUMS.TILES tiles (with LAYOUT 5 any number)",
         {{"GROUPS", 0, 16, "scale groups, at most BEATS.GROUPS"},
          {"PART", 16, 16,
           "0, or with GROUPS = 1 beats of a scale group that is longer than a chunk, fewer than "
           "BEATS.BEATS; with LAYOUT 5 blocks of columns that the layer has"}}),
    WORD(OPERANDS_HIGH, "bits 47..32 of addresses",
         {{"ACT", 0, 16, "of ACT"}, {"WEIGHT", 16, 16, "of WEIGHT"}}),
    WORD(SCALES_HIGH, "bits 47..32 of addresses",
         {{"ROWS", 0, 16, "of ROW_SCALE"}, {"COLS", 16, 16, "of COL_SCALE"}}),
    WORD(OUT_HIGH, "bits 47..32 of an address", {{"OUT", 0, 16, "of OUT"}}),
    WORD(VECTOR, "of a pass of the vector unit alone",
         {{"F", 0, 2, "f: 0 x as it is, 1 e^x, 2 1 / x, 3 1 / sqrt(x)"},
          {"B", 2, 2, "b: 0 a constant, 1 a row, 2 one element a row, 3 a itself"},
          {"C", 4, 2, "c: 0 a constant, 1 a row, 2 one element a row"},
          {"RED", 6, 2,
           "of the y: 0 nothing, 1 their sum, 2 the largest, 3 the index of the first largest"},
          {"ALL", 8, 1, "RED goes over all rows, else over each"},
          {"Y", 9, 2, "y is: 0 not written, 1 written as binary32, 2 as bfloat16, 3 as binary16"},
          {"A_HALF", 11, 1, "1: a is bfloat16, else binary32"},
          {"B_HALF", 12, 1, "the same of b"},
          {"C_HALF", 13, 1, "the same of c"},
          {"Y_BYTE", 14, 1, "with Y = 3: the low 8 bits of y are written"}}),
};
const unsigned sq_n_desc = LEN(sq_desc);

#define RECORD(name, word, ...) ROW(name, 4 * (SQ_DESC_WORDS + (word)), READ, __VA_ARGS__)
#define COUNT(name, i, text) RECORD(name, SQ_RECORD_CYCLES + 2 * SQ_COUNT_##i, text)
const struct sq_reg sq_record[] = {
    RECORD(STATUS, SQ_RECORD_STATUS,
           "register STATUS as it was at the end of the layer, without BUSY",
           {{"DONE", SQ_RECORD_DONE, 1, "always 1: the record was written"}}),
    RECORD(SLOT, SQ_RECORD_SLOT, "number of the slot"),
    COUNT(CYCLES, CYCLES, "the counter of this name; 64 bits, low half first"),
    COUNT(BUSY_CYCLES, BUSY, "the same"),
    COUNT(WAIT_CYCLES, WAIT, "the same"),
    COUNT(BLOCKED_CYCLES, BLOCKED, "the same"),
    COUNT(READ_BEATS, READ, "the same"),
    COUNT(WRITE_BEATS, WRITE, "of outputs; those of the record are not counted"),
};

uint32_t sq_desc_named(unsigned word)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < sq_n_desc; i++) {
        if (sq_desc[i].offset != 4 * word || word == SQ_DESC_VECTOR)
            continue;
        if (!sq_desc[i].field[0].name)
            return UINT32_MAX;
        for (const struct sq_reg_field *f = sq_desc[i].field; f->name; f++)
            bits |= ((1u << f->width) - 1) << f->low;
    }
    return word == SQ_DESC_KIND ? bits & ~(1u << SQ_DESC_CODES) : bits; // which is of encoders
}

// The named bits of a word where `whole` words have them all, `half` ones the low 16: a bit for each word.
#define OF(word) (1u << SQ_DESC_##word)
static uint32_t bits_in(unsigned word, uint32_t whole, uint32_t half)
{
    return whole >> word & 1 ? UINT32_MAX : half >> word & 1 ? 0xffff : 0;
}

static uint32_t kind_or(unsigned word, uint32_t bits)
{
    return word == SQ_DESC_KIND ? 0xffff | 1u << SQ_DESC_NOTICE : bits;
}

uint32_t sq_desc_encode_named(unsigned word)
{
    const uint32_t whole = OF(ACT) | OF(ROW_SCALE) | OF(OUT) | OF(TILES);
    const uint32_t half = OF(BEATS) | OF(OPERANDS_HIGH) | OF(SCALES_HIGH) | OF(OUT_HIGH);
    return kind_or(word, bits_in(word, whole, half)) |
           (word == SQ_DESC_KIND ? 1u << SQ_DESC_CODES : 0);
}

uint32_t sq_desc_vector_named(unsigned word)
{
    const uint32_t whole = (OF(TILES) - OF(ACT)) | (OF(OUT_HIGH) - OF(BLOCK));
    return word == SQ_DESC_VECTOR ? 0x7fff
                                  : kind_or(word, bits_in(word, whole, OF(TILES) | OF(OUT_HIGH)));
}

uint32_t sq_desc_attend_named(unsigned word)
{
    const uint32_t whole = (OF(SCALES_HIGH) - OF(ACT)) & ~OF(COL_SCALE);
    return kind_or(word, bits_in(word, whole, OF(SCALES_HIGH) | OF(OUT_HIGH)));
}

// The half of a word in which the high half of an address stands.
static unsigned high_word(unsigned low)
{
    return SQ_DESC_OPERANDS_HIGH + (low - SQ_DESC_ACT) / 2;
}
static unsigned high_shift(unsigned low)
{
    return 16 * ((low - SQ_DESC_ACT) % 2);
}

uint64_t sq_desc_address(const uint32_t word[SQ_DESC_WORDS], unsigned low)
{
    return (uint64_t)(word[high_word(low)] >> high_shift(low) & 0xffff) << 32 | word[low];
}

void sq_desc_set_address(uint32_t word[SQ_DESC_WORDS], unsigned low, uint64_t address)
{
    uint32_t *const high = &word[high_word(low)];
    word[low] = (uint32_t)address;
    *high = (*high & ~(UINT32_C(0xffff) << high_shift(low))) | (uint32_t)(address >> 32 & 0xffff)
                                                                   << high_shift(low);
}

// ---- the three files ------------------------------------------------------------------------

static const char *const licence = "// SPDX-License-Identifier: Apache-2.0\n";

struct table {
    const char *prefix;
    const struct sq_reg *reg;
    unsigned n;
};

static void each_field(FILE *out, const struct table *t,
                       void (*put)(FILE *out, const char *name, const struct sq_reg_field *f))
{
    char name[64];
    for (unsigned i = 0; i < t->n; i++)
        for (const struct sq_reg_field *f = t->reg[i].field; f->name; f++) {
            snprintf(name, sizeof name, "%s_%s_%s", t->prefix, t->reg[i].name, f->name);
            put(out, name, f);
        }
}

static void put_package_field(FILE *out, const char *name, const struct sq_reg_field *f)
{
    fprintf(out, "  localparam int unsigned %s_LOW = %u; localparam int unsigned %s_W = %u;\n",
            name, f->low, name, f->width);
}

static void write_package_table(FILE *out, const struct table *t, unsigned unit)
{
    for (unsigned i = 0; i < t->n; i++)
        fprintf(out, "  localparam int unsigned %s_%s = %u;\n", t->prefix, t->reg[i].name,
                t->reg[i].offset / unit);
    each_field(out, t, put_package_field);
}

static const struct table tables[] = {{"REG", sq_regs, LEN(sq_regs)},
                                      {"DESC", sq_desc, LEN(sq_desc)},
                                      {"RECORD", sq_record, LEN(sq_record)}};

static void write_named(FILE *out, const char *name, uint32_t (*named)(unsigned word))
{
    fprintf(out, "  localparam logic [32*DESC_WORDS-1:0] %s = {", name);
    for (unsigned i = SQ_DESC_WORDS; i-- > 0;)
        fprintf(out, "%s32'h%08x%s", i % 4 == 3 ? "\n    " : " ", named(i), i ? "," : "\n  };\n");
}

void sq_regs_write_package(FILE *out)
{
    static const struct {
        const char *name;
        unsigned value;
    } number[] = {{"ID_VALUE", SQ_REG_ID_VALUE},
                  {"VERSION_VALUE", SQ_REG_VERSION_VALUE},
                  {"DESC_KIND_VALUE", SQ_DESC_KIND_VALUE},
                  {"DESC_KIND_ENCODE", SQ_DESC_KIND_ENCODE},
                  {"DESC_KIND_VECTOR", SQ_DESC_KIND_VECTOR},
                  {"DESC_KIND_ATTEND", SQ_DESC_KIND_ATTEND},
                  {"DESC_WORDS", SQ_DESC_WORDS},
                  {"DESC_JOB_TILES", SQ_DESC_JOB_TILES}};
    fprintf(
        out,
        "%s// The registers of sq_top in words of 32 bits, and the words of a descriptor. A field "
        "begins at bit _LOW\n// and has _W bits.\n// %s\npackage sq_regs_pkg;\n\n",
        licence, SQ_REGS_WRITTEN);
    for (size_t i = 0; i < LEN(number); i++)
        fprintf(out, "  localparam int unsigned %s = %u;\n", number[i].name, number[i].value);
    fprintf(out, "  // The bits that have a name, of a layer, an encoder, a vector, attention; the "
                 "last word is first.\n");
    write_named(out, "DESC_NAMED", sq_desc_named);
    write_named(out, "DESC_ENCODE_NAMED", sq_desc_encode_named);
    write_named(out, "DESC_VECTOR_NAMED", sq_desc_vector_named);
    write_named(out, "DESC_ATTEND_NAMED", sq_desc_attend_named);
    fprintf(out, "\n");
    write_package_table(out, &tables[0], 4);
    fprintf(out, "\n");
    write_package_table(out, &tables[1], 4);
    fprintf(
        out,
        "\n  // An address of a descriptor, whose low half is that word; the high halves stand in "
        "their order from\n  // OPERANDS_HIGH on.\n"
        "  function automatic logic [%u:0] desc_address(logic [32*DESC_WORDS-1:0] desc, int "
        "unsigned low);\n"
        "    desc_address = {desc[32*DESC_OPERANDS_HIGH+16*(low-DESC_ACT) +: 16], desc[32*low +: "
        "32]};\n"
        "  endfunction\n\nendpackage\n",
        SQ_ADDR_BITS - 1u);
}

static void put_header_field(FILE *out, const char *name, const struct sq_reg_field *f)
{
    fprintf(out, "#define SQ_%s_SHIFT %uu\n", name, f->low);
    fprintf(out, "#define SQ_%s_MASK 0x%xu // %s\n", name, (1u << f->width) - 1, f->text);
}

void sq_regs_write_header(FILE *out)
{
    fprintf(
        out,
        "%s// For drivers of sq_top: offsets of its registers and of the words of a descriptor, in "
        "bytes; a field\n// is (word >> _SHIFT) & _MASK. What they mean is in docs/registers.md.\n"
        "// %s\n#ifndef SQ_REGS_DRIVER_H\n#define SQ_REGS_DRIVER_H\n\n// clang-format off\n",
        licence, SQ_REGS_WRITTEN);
    fprintf(out, "#define SQ_REG_ID_VALUE 0x%xu\n", (unsigned)SQ_REG_ID_VALUE);
    fprintf(out, "#define SQ_REG_VERSION_VALUE %uu\n", (unsigned)SQ_REG_VERSION_VALUE);
    fprintf(out, "#define SQ_DESC_KIND_VALUE 0x%xu\n", (unsigned)SQ_DESC_KIND_VALUE);
    fprintf(out, "#define SQ_DESC_KIND_ENCODE 0x%xu\n", (unsigned)SQ_DESC_KIND_ENCODE);
    fprintf(out, "#define SQ_DESC_KIND_VECTOR 0x%xu\n", (unsigned)SQ_DESC_KIND_VECTOR);
    fprintf(out, "#define SQ_DESC_KIND_ATTEND 0x%xu\n", (unsigned)SQ_DESC_KIND_ATTEND);
    fprintf(out, "#define SQ_DESC_NBYTES %uu\n", 4u * SQ_DESC_WORDS);
    fprintf(out, "#define SQ_SLOT_NBYTES %uu\n", (unsigned)SQ_SLOT_NBYTES);
    for (unsigned t = 0; t < LEN(tables); t++) {
        fprintf(out, "\n");
        for (unsigned i = 0; i < tables[t].n; i++)
            fprintf(out, "#define SQ_%s_%s_OFFSET 0x%02xu\n", tables[t].prefix,
                    tables[t].reg[i].name, tables[t].reg[i].offset);
        each_field(out, &tables[t], put_header_field);
    }
    fprintf(out, "\n#endif\n");
}

static const char *bits_of(const struct sq_reg_field *f, char text[16])
{
    if (f->width == 1)
        snprintf(text, 16, "%u", f->low);
    else
        snprintf(text, 16, "%u..%u", f->low + f->width - 1, f->low);
    return text;
}

static void write_page_table(FILE *out, const struct table *t, bool has_access)
{
    static const char *const access[] = {"read", "write", "read, write", "read, write 1 to clear"};
    char bits[16];
    fprintf(out, "| offset | name | bits | %swhat |\n|---|---|---|---|%s\n",
            has_access ? "access | " : "", has_access ? "---|" : "");
    for (unsigned i = 0; i < t->n; i++) {
        const struct sq_reg *const r = &t->reg[i];
        fprintf(out, "| %02xh | `%s` | | %s%s%s |\n", r->offset, r->name,
                has_access ? access[r->access] : "", has_access ? " | " : "", r->text);
        for (const struct sq_reg_field *f = r->field; f->name; f++)
            fprintf(out, "| | `%s.%s` | %s | %s%s |\n", r->name, f->name, bits_of(f, bits),
                    has_access ? "| " : "", f->text);
    }
}

void sq_regs_write_page(FILE *out)
{
    fprintf(out, "# Registers of sq_top\n\n<!-- %s -->\n\n", SQ_REGS_WRITTEN);
    fprintf(
        out,
        "`sq_top` is the chip ([rtl/top](../rtl/top/README.md)). A host reaches its registers by "
        "AXI4-Lite, 32 bits at a time. A write\nmust set all bytes of a word (WSTRB is 1111b). "
        "Accesses to an address that is not in the table (one between\ntwo registers, such as "
        "25h, is none either), and writes to a register that can only be read, are answered with\n"
        "SLVERR and change nothing. A register that can only be written reads as 0. Bits without a "
        "name read as 0, and\nwrites to them change nothing. A reset clears all registers but "
        "those that say what the chip is.\n\nTools read the same table as SystemRDL 2.0 "
        "([sq_top.rdl](../rtl/top/sq_top.rdl)) and "
        "IP-XACT\n([sq_top.xml](../rtl/top/sq_top.xml)).\n\n");
    write_page_table(out, &tables[0], true);
    fprintf(out,
            "\n## The descriptor of a layer\n\n"
            "A descriptor has %u words of 32 bits, little-endian. Words and bits that are not "
            "named are 0. All addresses are\nmultiples of a beat of the bus, and neither the "
            "descriptor nor a region goes beyond 2^48. A descriptor that differs is\nrefused "
            "(STATUS.REFUSED). [memory.md](../rtl/top/memory.md) says how the operands lie "
            "there,\n[tiling.md](../rtl/top/tiling.md) in which order blocks are computed.\n\n",
            (unsigned)SQ_DESC_WORDS);
    write_page_table(out, &tables[1], false);
    fprintf(
        out,
        "\n"
        "## The descriptor of an encoder\n\n"
        "With %04xh in KIND.KIND, on a chip with CODES.ENCODE, a descriptor reads what a layer "
        "wrote as bfloat16 and makes the\n"
        "activations of another layer: INT8 with a scale for each token, with ENGINE.FORM 2 low "
        "and high codes with a mask and two scales for each token, with ENGINE.FORM 3 blocks as "
        "SCALED has them. Of the words above it has KIND (without COLS_OUTER) and\n\n"
        "| name | what |\n"
        "|---|---|\n"
        "| `OUT`, `OUT_HIGH` | address of the outputs that it reads |\n"
        "| `ACT`, `ROW_SCALE`, `OPERANDS_HIGH.ACT`, `SCALES_HIGH.ROWS` | addresses of the "
        "activations and of their scales, which it writes |\n"
        "| `TILES` | of those outputs; `COLS` x `ARRAY.COLS` is at most `BEATS` x `ARRAY.BANK` |\n"
        "| `BEATS.BEATS` | beats of the activations of a tile of rows; behind the last column "
        "they are those of zeros |\n\n"
        "and all other bits are 0. With KIND.CODES, on a chip whose CODES.OUT is 2 and "
        "ENGINE.FORM 0 or 1, the outputs are INT8: they go to ACT as they\n"
        "are, and ROW_SCALE is 0, since their scale stands in memory. In each of the three "
        "regions the beats of a tile of rows lie in one piece, which begins a beat of\n"
        "the bus; the next tile lies behind it. An output that is an infinity or NaN counts as 0 "
        "and sets STATUS.ENGINE bit 0.\n",
        (unsigned)SQ_DESC_KIND_ENCODE);
    fprintf(
        out,
        "\n## The descriptor of a vector\n\n"
        "With %04xh in KIND.KIND, on a chip with CODES.VECTOR, a descriptor is a pass of the "
        "vector unit over rows in memory: y = f(a b + c)\nfor each element, and a value that "
        "the y of a row are reduced to ([vector.md](../rtl/top/vector.md)). Of the words above "
        "it has KIND\n(without COLS_OUTER and CODES), VECTOR, and\n\n"
        "| name | what |\n|---|---|\n"
        "| `ACT` | address of a |\n"
        "| `WEIGHT`, `ROW_SCALE` | addresses of b and c; the binary32 itself where it is a "
        "constant, and without meaning where b is a |\n"
        "| `OUT` | address of y, where it is written |\n"
        "| `COL_SCALE` | address of what RED makes, a beat of the bus each, with binary32 or "
        "index in its low 32 bits |\n"
        "| `TILES.ROWS` | rows, at least 1 |\n"
        "| `BLOCK` | elements of a row, at least 1, 32 bits |\n"
        "| `BEATS`, `CHUNK` | beats of the bus from a row to the next: low half a and c, high half "
        "b and y; 0: the same row again |\n\n"
        "and all other bits are 0. A row begins a beat of the bus. At least one of Y and RED is "
        "not 0. No VECTOR.C is 3. With Y_BYTE, Y is 3.\n",
        (unsigned)SQ_DESC_KIND_VECTOR);
    fprintf(
        out,
        "\n## The descriptor of attention\n\n"
        "With %04xh in KIND.KIND, on a chip whose ATTEND is not 0, a descriptor is attention of "
        "queries that share a cache (SPEC R.5): the cache is read\nonce, and each query has a row "
        "of outputs ([attend.md](../rtl/top/attend.md)). Of the words above it has "
        "KIND (without COLS_OUTER\nand CODES) and\n\n"
        "| name | what |\n|---|---|\n"
        "| `ACT` | address of the queries, rows of binary32, the scale of the scores in them |\n"
        "| `WEIGHT`, `ROW_SCALE` | addresses of the first key and of the first value that the "
        "queries see: rows of binary16, or with ATTEND.INT8 a beat of the bus whose low 16 bits "
        "are the scale, and after it a row of INT8 |\n"
        "| `OUT` | address of the outputs, rows of binary32 |\n"
        "| `TILES.ROWS` | queries, 1 .. ATTEND.QUERIES |\n"
        "| `TILES.COLS` | elements of a head, whole beats of codes, at most 2 to the power of "
        "ATTEND.HEAD |\n"
        "| `BLOCK` | keys, 1 .. 65536, 32 bits |\n"
        "| `BEATS`, `CHUNK` | beats of the bus from a row to the next: low half queries and "
        "values, high half keys and outputs; 0: the same row again |\n\n"
        "and all other bits are 0. A row begins a beat of the bus.\n",
        (unsigned)SQ_DESC_KIND_ATTEND);
    fprintf(out,
            "\n## The ring\n\n"
            "The ring is RING_SIZE slots of %u bytes from RING_BASE on. A slot begins with "
            "a\ndescriptor. When its layer has ended, the chip writes the record behind "
            "it, %u bytes, sets HEAD to the next slot, and goes on\nuntil HEAD is TAIL. A layer "
            "that is refused or "
            "has another error has its record, too, and the ring goes on. An error of "
            "the\nrecord's own write is reported "
            "by STATUS.WRITTEN, until the next descriptor begins, and by IRQ_STATE.ERROR, until "
            "that is cleared: a host that finds ERROR set\nand no error in the records looks at "
            "those that it lacks. Since HEAD = TAIL is an empty ring, it holds RING_SIZE - 1 "
            "descriptors at a time;\nwith RING_SIZE = 1 writes to TAIL are answered with OKAY "
            "and nothing runs. Words that are not named are 0.\n\n",
            (unsigned)SQ_SLOT_NBYTES, 4u * (unsigned)SQ_RECORD_WORDS);
    write_page_table(out, &tables[2], false);
}
