// SPDX-License-Identifier: Apache-2.0
// The core options that several commands share (sq_cli.h).
#include <errno.h>

#include "sim/cli/sq_cli.h"

enum {
    KEY_ROWS = 0x1100,
    KEY_COLS,
    KEY_LOW_LANES,
    KEY_HIGH_LANES,
    KEY_GATHER,
};

static const char *const gathers[] = {"crossbar", "log"};

struct sq_cli_core sq_cli_core_default(struct sq_error *err)
{
    return (struct sq_cli_core){.config = sq_core_config_default(), .err = err};
}

static enum sq_status set(const char *option, const char *text, uint64_t max, unsigned *value,
                          struct sq_error *err)
{
    uint64_t v;
    SQ_TRY(sq_cli_uint(option, text, 1, max, &v, err));
    *value = (unsigned)v;
    return SQ_OK;
}

static error_t parse_core(int key, char *arg, struct argp_state *state)
{
    struct sq_cli_core *in = state->input;
    enum sq_status status = SQ_OK;
    size_t index;
    switch (key) {
    case KEY_ROWS:
        status = set("--rows", arg, 64, &in->config.rows, in->err);
        break;
    case KEY_COLS:
        status = set("--cols", arg, 64, &in->config.cols, in->err);
        break;
    case KEY_LOW_LANES:
        status = set("--low-lanes", arg, 128, &in->config.low_lanes, in->err);
        break;
    case KEY_HIGH_LANES:
        status = set("--high-lanes", arg, 64, &in->config.high_lanes, in->err);
        break;
    case KEY_GATHER:
        status = sq_cli_name("--gather", arg, gathers, 2, &index, in->err);
        if (status == SQ_OK)
            in->config.gather = (enum sq_gather_arch)index;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    in->given = in->is_given[key - KEY_ROWS] = true;
    return status == SQ_OK ? 0 : EINVAL;
}

static const struct argp_option core_options[] = {
    {"rows", KEY_ROWS, "N", 0, "PE rows = tokens, 1..64 (32)", 2},
    {"cols", KEY_COLS, "N", 0, "PE columns = output channels, 1..64 (32)", 2},
    {"low-lanes", KEY_LOW_LANES, "N", 0, "low multipliers per PE, 1..128 (16)", 2},
    {"high-lanes", KEY_HIGH_LANES, "N", 0, "high multipliers per PE, 1..64, at most the bank (4)",
     2},
    {"gather", KEY_GATHER, "A", 0, "gather architecture: crossbar or log (crossbar)", 2},
    {0}};
const struct argp sq_cli_core_argp = {.options = core_options, .parser = parse_core};

enum sq_status sq_cli_core_config(const struct sq_cli_core *core,
                                  const struct sq_cli_format *format, struct sq_core_config *config,
                                  struct sq_error *err)
{
    struct sq_error inner;
    *config = core->config;
    config->act_bits = format->act_bits;
    config->high_bits = format->format.high_bits;
    config->low_bits = format->format.low_bits;
    config->bank = format->format.bank;
    config->high_per_bank = format->format.high_per_bank;
    const enum sq_status status = sq_core_config_check(config, &inner);
    return status == SQ_OK ? SQ_OK : SQ_FAIL(err, status, "--%.200s", inner.text);
}

void sq_cli_core_json(const struct sq_core_config *config, json_t *object)
{
    json_object_set_new(object, "rows", json_integer(config->rows));
    json_object_set_new(object, "cols", json_integer(config->cols));
    json_object_set_new(object, "low_lanes", json_integer(config->low_lanes));
    json_object_set_new(object, "high_lanes", json_integer(config->high_lanes));
    json_object_set_new(object, "act_bits", json_integer(config->act_bits));
    json_object_set_new(object, "gather", json_string(gathers[config->gather]));
}
