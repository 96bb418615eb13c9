// SPDX-License-Identifier: Apache-2.0
// Points that are in no table (sq_block.h).
#include <stdio.h>
#include <string.h>

#include "sim/block/flow/sq_block.h"

size_t sq_param_find(const struct sq_block *block, const char *name)
{
    for (size_t i = 0; block->param[i]; i++)
        if (strcmp(block->param[i], name) == 0)
            return i;
    return SQ_PARAMS_MAX;
}

// "4, 8, 16"
static void powers(unsigned min, unsigned max, char text[96])
{
    size_t n = 0;
    for (unsigned p = 1; p <= max; p *= 2)
        if (p >= min && n < 90)
            n += (size_t)snprintf(text + n, 96 - n, "%s%u", n ? ", " : "", p);
}

static enum sq_status check_range(const struct sq_free *f, unsigned v, struct sq_error *err)
{
    char text[96];
    const bool is_power = (v & (v - 1)) == 0;
    if (v >= f->min && v <= f->max && (is_power || !f->is_power))
        return SQ_OK;
    if (!f->is_power)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s = %u, need %u..%u", f->param, v, f->min, f->max);
    powers(f->min, f->max, text);
    return SQ_FAIL(err, SQ_ERR_RANGE, "%s = %u, need one of %s", f->param, v, text);
}

static const struct sq_free *find_free(const struct sq_block *block, const char *name)
{
    for (const struct sq_free *f = block->free; f && f->param; f++)
        if (strcmp(f->param, name) == 0)
            return f;
    return NULL;
}

// Names of the free parameters, ", " between them.
static void free_names(const struct sq_block *block, char text[160])
{
    size_t n = 0;
    for (const struct sq_free *f = block->free; f->param && n < 150; f++)
        n += (size_t)snprintf(text + n, 160 - n, "%s%s", n ? ", " : "", f->param);
}

static enum sq_status check_given(const struct sq_block *block, const unsigned *value,
                                  uint32_t given, struct sq_error *err)
{
    char names[160];
    for (size_t i = 0; block->param[i]; i++) {
        const struct sq_free *f = find_free(block, block->param[i]);
        if (!(given >> i & 1))
            continue;
        if (f) {
            SQ_TRY(check_range(f, value[i], err));
            continue;
        }
        free_names(block, names);
        return SQ_FAIL(err, SQ_ERR_ARG, "%s of %s comes with --point; free are %s", block->param[i],
                       block->name, names);
    }
    return SQ_OK;
}

// High elements of a bank, where a block has them: as many of a longer bank as before.
static enum sq_status settle_bank(const struct sq_block *block, const struct sq_point *base,
                                  uint32_t given, unsigned *value, struct sq_error *err)
{
    const size_t bank = sq_param_find(block, "BankLen"), k = sq_param_find(block, "HighPerBank");
    if (bank == SQ_PARAMS_MAX || k == SQ_PARAMS_MAX)
        return SQ_OK;
    if (given >> bank & 1 && !(given >> k & 1) && base->value[k] > 0) {
        const unsigned share = base->value[k] * value[bank] / base->value[bank];
        value[k] = share > 0 ? share : 1;
    }
    if (base->value[k] == 0 && value[k] > 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "HighPerBank = %u of point %s, which has no high elements",
                       value[k], base->name);
    if (value[k] >= value[bank])
        return SQ_FAIL(err, SQ_ERR_RANGE, "HighPerBank = %u, need less than BankLen = %u", value[k],
                       value[bank]);
    return SQ_OK;
}

enum sq_status sq_point_own(const struct sq_block *block, const struct sq_point *base,
                            const unsigned *value, uint32_t given, struct sq_point *own,
                            struct sq_error *err)
{
    if (!block->free)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s has only the points of its table", block->name);
    SQ_TRY(check_given(block, value, given, err));
    *own = *base;
    own->name = "custom";
    own->is_quick = false;
    for (size_t i = 0; block->param[i]; i++)
        if (given >> i & 1)
            own->value[i] = value[i];
    SQ_TRY(settle_bank(block, base, given, own->value, err));
    return block->settle ? block->settle(own->value, base->value, given, err) : SQ_OK;
}
