// SPDX-License-Identifier: Apache-2.0
// The format options that several commands share (sq_cli.h).
#include <errno.h>
#include <string.h>

#include "sim/cli/sq_cli.h"
#include "sim/format/grid/sq_grid_format.h"

enum {
    KEY_FORMAT = 0x1000,
    KEY_HIGH_BITS,
    KEY_LOW_BITS,
    KEY_BANK,
    KEY_SPARSITY,
    KEY_GROUP,
    KEY_ACT_BITS,
};

struct sq_cli_format sq_cli_format_default(struct sq_error *err)
{
    struct sq_format f = sq_format_default();
    return (struct sq_cli_format){
        .format = f, .sparsity = sq_format_sparsity(&f), .act_bits = 8, .err = err};
}

static enum sq_status set_uint(const char *option, const char *text, uint64_t min, uint64_t max,
                               unsigned *value, struct sq_error *err)
{
    uint64_t v;
    SQ_TRY(sq_cli_uint(option, text, min, max, &v, err));
    *value = (unsigned)v;
    return SQ_OK;
}

static enum sq_status set_group(const char *text, unsigned *group, struct sq_error *err)
{
    uint64_t v = 0;
    if (strcmp(text, "row") != 0 && (sq_cli_uint("", text, 0, 128, &v, NULL) != SQ_OK ||
                                     (v != 0 && v != 32 && v != 64 && v != 128)))
        return SQ_FAIL(err, SQ_ERR_ARG, "--group = %.40s, need 32, 64, 128 or row", text);
    *group = (unsigned)v;
    return SQ_OK;
}

// The combination, once everything was read.
static enum sq_status settle(struct sq_cli_format *in)
{
    struct sq_error *err = in->err, inner;
    struct sq_format *f = &in->format;
    enum sq_status status =
        sq_format_high_per_bank(f->bank, in->sparsity, &f->high_per_bank, &inner);
    if (status == SQ_OK)
        status = sq_format_check(f, &inner);
    return status == SQ_OK ? SQ_OK : SQ_FAIL(err, status, "--%.200s", inner.text);
}

static error_t parse_format(int key, char *arg, struct argp_state *state)
{
    struct sq_cli_format *in = state->input;
    enum sq_status status = SQ_OK;
    static const char *const format[] = {"sq_w"}; // whose banks a core has
    size_t index;
    switch (key) {
    case KEY_FORMAT:
        status = sq_cli_name("--format", arg, format, 1, &index, in->err);
        break;
    case KEY_HIGH_BITS:
        status = set_uint("--high-bits", arg, 4, 8, &in->format.high_bits, in->err);
        break;
    case KEY_LOW_BITS:
        status = set_uint("--low-bits", arg, 2, 4, &in->format.low_bits, in->err);
        break;
    case KEY_BANK:
        status = set_uint("--bank", arg, SQ_BANK_MIN, SQ_BANK_MAX, &in->format.bank, in->err);
        break;
    case KEY_SPARSITY:
        status = sq_cli_double("--sparsity", arg, 0.5, 0.9375, &in->sparsity, in->err);
        break;
    case KEY_GROUP:
        status = set_group(arg, &in->format.group, in->err);
        break;
    case ARGP_KEY_END:
        status = settle(in);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return status == SQ_OK ? 0 : EINVAL;
}

static error_t parse_act(int key, char *arg, struct argp_state *state)
{
    struct sq_cli_format *in = state->input;
    uint64_t v;
    if (key != KEY_ACT_BITS)
        return ARGP_ERR_UNKNOWN;
    if (sq_cli_uint("", arg, 4, 8, &v, NULL) != SQ_OK || (v != 4 && v != 8)) {
        (void)SQ_FAIL(in->err, SQ_ERR_ARG, "--act-bits = %.40s, need 4 or 8", arg);
        return EINVAL;
    }
    in->act_bits = (unsigned)v;
    return 0;
}

static const struct argp_option format_options[] = {
    {"format", KEY_FORMAT, "F", 0, "stored format: sq_w (SQ-format on weights)", 1},
    {"high-bits", KEY_HIGH_BITS, "N", 0, "bits of a high code: 8 or 4 (8)", 1},
    {"low-bits", KEY_LOW_BITS, "N", 0, "bits of a low code: 4, 3 or 2 (4)", 1},
    {"bank", KEY_BANK, "N", 0, "elements per bank: 4, 8, 16, 32, 64 or 128 (32)", 1},
    {"sparsity", KEY_SPARSITY, "S", 0, "fraction of low codes: 0.5, 0.75, 0.875 or 0.9375 (0.75)",
     1},
    {"group", KEY_GROUP, "N", 0, "elements per scale: 32, 64, 128 or row (128)", 1},
    {0}};
const struct argp sq_cli_format_argp = {.options = format_options, .parser = parse_format};

static const struct argp_option act_options[] = {
    {"act-bits", KEY_ACT_BITS, "N", 0, "bits of an activation: 8 or 4 (8)", 1}, {0}};
const struct argp sq_cli_act_argp = {.options = act_options, .parser = parse_act};

void sq_cli_format_text(const struct sq_format *f, char text[64])
{
    sq_banks_text(f, text);
}

void sq_cli_format_json(const struct sq_format *f, json_t *object)
{
    json_object_set_new(object, "format", json_string("sq_w"));
    json_object_set_new(object, "high_bits", json_integer(f->high_bits));
    json_object_set_new(object, "low_bits", json_integer(f->low_bits));
    json_object_set_new(object, "bank", json_integer(f->bank));
    json_object_set_new(object, "high_per_bank", json_integer(f->high_per_bank));
    json_object_set_new(object, "sparsity", json_real(sq_format_sparsity(f)));
    json_object_set_new(object, "group", json_integer(f->group));
}
