// SPDX-License-Identifier: Apache-2.0
// The table of registers (sq_regs.h) and what is written from it. Exhausted: every offset and field
// of the table, every byte of the five files. With UPDATE=1 the files are written first.
#include "sim/block/top/sq_regs.h"
#include "tests/unit/fixture.h"

static const struct {
    const char *path;
    void (*write)(FILE *out);
} files[] = {{"rtl/top/sq_regs_pkg.sv", sq_regs_write_package},
             {"lib/sq_regs.h", sq_regs_write_header},
             {"docs/registers.md", sq_regs_write_page},
             {"rtl/top/sq_top.rdl", sq_regs_write_rdl},
             {"rtl/top/sq_top.xml", sq_regs_write_ipxact}};

SQ_TEST(generated_files_are_current)
{
    for (size_t i = 0; i < LEN(files); i++)
        check_generated(files[i].path, files[i].write);
}

static void check_table(const struct sq_reg *reg, unsigned n, uint32_t end)
{
    for (unsigned i = 0; i < n; i++) {
        uint32_t seen = 0;
        CHECK_EQ(reg[i].offset % 4, 0, "%s: ", reg[i].name);
        assert_true(reg[i].offset < end);
        assert_true(i == 0 || reg[i].offset > reg[i - 1].offset);
        for (const struct sq_reg_field *f = reg[i].field; f->name; f++) {
            assert_true(f->width >= 1 && f->low + f->width <= 32);
            const uint32_t bits = ((f->width < 32 ? 1u << f->width : 0) - 1) << f->low;
            CHECK_EQ(seen & bits, 0, "%s.%s: ", reg[i].name, f->name);
            seen |= bits;
        }
    }
}

SQ_TEST(offsets_and_fields_do_not_overlap)
{
    check_table(sq_regs, sq_n_regs, SQ_REG_END);
    check_table(sq_desc, sq_n_desc, 4 * SQ_DESC_WORDS);
}
