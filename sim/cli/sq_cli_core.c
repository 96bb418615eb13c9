// SPDX-License-Identifier: Apache-2.0
// Holds the options of core and banks, checks them together, and writes them as JSON
// (sq_cli_core.h).
#include "sim/cli/sq_cli_core.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "sim/block/top/sq_axi_memory.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/format/sq_format_ops.h"

// ---- banks --------------------------------------------------------------------------------------

struct sq_cli_banks sq_cli_banks_default(void)
{
    const struct sq_format f = sq_format_default();
    return (struct sq_cli_banks){.format = f, .sparsity = sq_format_sparsity(&f), .act_bits = 8};
}

// The combination, once everything was read.
enum sq_status sq_cli_banks_end(void *banks, struct sq_error *err)
{
    struct sq_cli_banks *in = banks;
    struct sq_format *f = &in->format;
    struct sq_error inner;
    enum sq_status status =
        sq_format_high_per_bank(f->bank, in->sparsity, &f->high_per_bank, &inner);
    SQ_THEN(status, sq_format_check(f, &inner));
    return status == SQ_OK ? SQ_OK : SQ_FAIL(err, status, "--%.200s", inner.text);
}

static const char *const groups[] = {"32", "64", "128", "row", NULL};
static const char *const four_or_eight[] = {"4", "8", NULL};

#define AT(field) SQ_CLI_AT(struct sq_cli_banks, field), .group = SQ_CLI_OF_FORMAT
const struct sq_cli_row sq_cli_banks_rows[] = {
    SQ_CLI_WORD("format", "F", sq_core_format_names, AT(stored),
                "stored format: SQ-format on weights"),
    SQ_CLI_NUMBER("high-bits", "N", four_or_eight, AT(format.high_bits), "bits of a high code"),
    SQ_CLI_UINT("low-bits", "N", 2, 4, AT(format.low_bits), "bits of a low code"),
    SQ_CLI_UINT("bank", "N", SQ_BANK_MIN, SQ_BANK_MAX, AT(format.bank),
                "elements per bank, a power of two"),
    SQ_CLI_REAL("sparsity", "S", 0.5, 0.9375, AT(sparsity),
                "fraction of low codes: 1/2, 3/4, 7/8 or 15/16"),
    SQ_CLI_NUMBER("group", "N", groups, AT(format.group), "elements per scale"),
    SQ_CLI_NUMBER("act-bits", "N", four_or_eight, AT(act_bits), "bits of an activation"),
    SQ_CLI_END};
#undef AT

void sq_cli_banks_text(const struct sq_format *f, char text[64])
{
    sq_banks_text(f, text);
}

json_t *sq_cli_banks_json(const struct sq_format *f)
{
    const struct sq_cli_column row[] = {
        SQ_KEYS("format", sq_core_format_names[0], "high_bits", f->high_bits),
        SQ_KEYS("low_bits", f->low_bits, "bank", f->bank, "high_per_bank", f->high_per_bank),
        SQ_KEYS("sparsity", sq_format_sparsity(f), "group", f->group), SQ_COLUMNS_END};
    return sq_cli_object(row);
}

// ---- core ---------------------------------------------------------------------------------------

static const char *const gathers[] = {"crossbar", "log", NULL};

#define AT(field, number)                                                                          \
    SQ_CLI_AT(struct sq_cli_core, config.field),                                                   \
        .group = SQ_CLI_OF_CORE, .given = offsetof(struct sq_cli_core, is_given[number])
const struct sq_cli_row sq_cli_core_rows[] = {
    SQ_CLI_UINT("rows", "N", 1, 64, AT(rows, 0), "PE rows = tokens"),
    SQ_CLI_UINT("cols", "N", 1, 64, AT(cols, 1), "PE columns = output channels"),
    SQ_CLI_UINT("low-lanes", "N", 1, 128, AT(low_lanes, 2), "low multipliers per PE"),
    SQ_CLI_UINT("high-lanes", "N", 1, 64, AT(high_lanes, 3),
                "high multipliers per PE, at most the bank"),
    SQ_CLI_WORD("gather", "A", gathers, AT(gather, 4), "gather architecture"),
    SQ_CLI_END};
#undef AT

enum sq_status sq_cli_core_end(void *core, struct sq_error *err)
{
    struct sq_cli_core *in = core;
    (void)err;
    for (unsigned i = 0; i < 5; i++)
        in->given = in->given || in->is_given[i];
    return SQ_OK;
}

enum sq_status sq_cli_core_config(const struct sq_cli_core *core, const struct sq_cli_banks *banks,
                                  struct sq_core_config *config, struct sq_error *err)
{
    struct sq_error inner;
    *config = core->config;
    config->act_bits = banks->act_bits;
    config->high_bits = banks->format.high_bits;
    config->low_bits = banks->format.low_bits;
    config->bank = banks->format.bank;
    config->high_per_bank = banks->format.high_per_bank;
    const enum sq_status status = sq_core_config_check(config, &inner);
    return status == SQ_OK ? SQ_OK : SQ_FAIL(err, status, "--%.200s", inner.text);
}

json_t *sq_cli_core_json(const struct sq_core_config *c)
{
    const struct sq_cli_column row[] = {
        SQ_KEYS("rows", c->rows, "cols", c->cols, "low_lanes", c->low_lanes),
        SQ_KEYS("high_lanes", c->high_lanes, "act_bits", c->act_bits, "gather", gathers[c->gather]),
        SQ_COLUMNS_END};
    return sq_cli_object(row);
}

json_t *sq_cli_parameters_json(const struct sq_block *b, const unsigned *value)
{
    json_t *o = json_object();
    for (size_t i = 0; b->param[i]; i++)
        if (*b->param[i])
            json_object_set_new(o, b->param[i], json_integer(value[i]));
    return o;
}

enum sq_status sq_cli_base(void *in, const struct sq_cli_row *row, const char *text,
                           struct sq_error *err)
{
    const bool is_hex = text[0] == '0' && text[1] == 'x' && isxdigit((unsigned char)text[2]);
    char *end = NULL;
    errno = 0;
    const unsigned long long v = strtoull(text, &end, is_hex ? 16 : 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0 || v % SQ_AXI_PAGE != 0 ||
        v >= SQ_ADDR_END)
        return SQ_FAIL(err, SQ_ERR_ARG, "--base = %.40s, need a multiple of %d, 0..0x%llx", text,
                       SQ_AXI_PAGE, (unsigned long long)SQ_ADDR_END - SQ_AXI_PAGE);
    *(uint64_t *)((char *)in + row->offset) = v;
    return SQ_OK;
}
