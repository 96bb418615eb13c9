// SPDX-License-Identifier: Apache-2.0
// Checks formats and cores, and derives what follows from their fields (sq_config.h).
#include "models/core/sq_config.h"

#include <stdbool.h>
#include <stddef.h>

struct sq_format sq_format_default(void)
{
    return (struct sq_format){
        .high_bits = 8, .low_bits = 4, .bank = 32, .high_per_bank = 8, .group = 128};
}

static bool is_pair(unsigned high, unsigned low)
{
    return (high == 8 && (low == 4 || low == 3 || low == 2)) ||
           (high == 4 && (low == 3 || low == 2));
}

static bool is_bank(unsigned bank)
{
    return bank >= SQ_BANK_MIN && bank <= SQ_BANK_MAX && (bank & (bank - 1)) == 0;
}

// k = b/2, b/4, b/8 or b/16, and at least 1.
static bool is_high_per_bank(unsigned bank, unsigned k)
{
    for (unsigned ratio = 2; ratio <= 16; ratio *= 2)
        if (k >= 1 && k * ratio == bank)
            return true;
    return false;
}

// What a format and a core must have in common.
static enum sq_status check_bank(unsigned high, unsigned low, unsigned bank, unsigned k,
                                 struct sq_error *err)
{
    SQ_FAIL_IF(!is_pair(high, low), err, SQ_ERR_UNSUPPORTED,
               "high-bits/low-bits = %u/%u, need 8/4, 8/3, 8/2, 4/3 or 4/2", high, low);
    SQ_FAIL_IF(!is_bank(bank), err, SQ_ERR_UNSUPPORTED, "bank = %u, need 4, 8, 16, 32, 64 or 128",
               bank);
    if (!is_high_per_bank(bank, k))
        return SQ_FAIL(
            err, SQ_ERR_UNSUPPORTED,
            "high codes per bank = %u for bank = %u, need bank/2, /4, /8 or /16 and >= 1", k, bank);
    return SQ_OK;
}

enum sq_status sq_format_check(const struct sq_format *f, struct sq_error *err)
{
    SQ_TRY(check_bank(f->high_bits, f->low_bits, f->bank, f->high_per_bank, err));
    SQ_FAIL_IF(f->group != 0 && f->group != 32 && f->group != 64 && f->group != 128, err,
               SQ_ERR_UNSUPPORTED, "group = %u, need 32, 64, 128 or 0 (whole row)", f->group);
    SQ_FAIL_IF(f->group % f->bank != 0, err, SQ_ERR_SHAPE, "group = %u is no multiple of bank = %u",
               f->group, f->bank);
    return SQ_OK;
}

enum sq_status sq_format_high_per_bank(unsigned bank, double sparsity, unsigned *k,
                                       struct sq_error *err)
{
    static const double legal[] = {.5, .75, .875, .9375};
    SQ_FAIL_IF(!is_bank(bank), err, SQ_ERR_UNSUPPORTED, "bank = %u, need 4, 8, 16, 32, 64 or 128",
               bank);
    for (unsigned i = 0; i < 4; i++) {
        if (sparsity != legal[i])
            continue;
        *k = bank >> (i + 1);
        SQ_FAIL_IF(*k == 0, err, SQ_ERR_SHAPE,
                   "sparsity = %g leaves no high code in bank = %u, need bank >= %u", sparsity,
                   bank, 1u << (i + 1));
        return SQ_OK;
    }
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "sparsity = %g, need 0.5, 0.75, 0.875 or 0.9375",
                   sparsity);
}

double sq_format_sparsity(const struct sq_format *f)
{
    return 1.0 - (double)f->high_per_bank / (double)f->bank;
}

double sq_format_equivalent_bits(const struct sq_format *f)
{
    return (double)f->low_bits + (1.0 - sq_format_sparsity(f)) * (double)f->high_bits;
}

struct sq_core_config sq_core_config_default(void)
{
    struct sq_format f = sq_format_default();
    return (struct sq_core_config){.rows = 32,
                                   .cols = 32,
                                   .low_lanes = 16,
                                   .high_lanes = 4,
                                   .act_bits = 8,
                                   .high_bits = f.high_bits,
                                   .low_bits = f.low_bits,
                                   .bank = f.bank,
                                   .high_per_bank = f.high_per_bank,
                                   .gather = SQ_GATHER_CROSSBAR};
}

enum sq_status sq_core_config_check(const struct sq_core_config *c, struct sq_error *err)
{
    const struct {
        const char *name;
        unsigned value, max;
    } size[] = {
        {"rows", c->rows, 64},
        {"cols", c->cols, 64},
        {"low-lanes", c->low_lanes, 128},
        {"high-lanes", c->high_lanes, 64},
    };
    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++)
        SQ_FAIL_IF(size[i].value < 1 || size[i].value > size[i].max, err, SQ_ERR_RANGE,
                   "%s = %u, need 1..%u", size[i].name, size[i].value, size[i].max);
    SQ_FAIL_IF(c->act_bits != 4 && c->act_bits != 8, err, SQ_ERR_UNSUPPORTED,
               "act-bits = %u, need 4 or 8", c->act_bits);
    SQ_FAIL_IF(c->gather != SQ_GATHER_CROSSBAR && c->gather != SQ_GATHER_LOG, err,
               SQ_ERR_UNSUPPORTED, "gather = %d, need crossbar or log", (int)c->gather);
    SQ_TRY(check_bank(c->high_bits, c->low_bits, c->bank, c->high_per_bank, err));
    SQ_FAIL_IF(c->high_lanes > c->bank, err, SQ_ERR_RANGE, "high-lanes = %u, need <= bank = %u",
               c->high_lanes, c->bank);
    return SQ_OK;
}

unsigned sq_core_low_steps(const struct sq_core_config *c)
{
    return (c->bank + c->low_lanes - 1) / c->low_lanes;
}

unsigned sq_core_high_steps(const struct sq_core_config *c)
{
    return (c->high_per_bank + c->high_lanes - 1) / c->high_lanes;
}
