// SPDX-License-Identifier: Apache-2.0
// Time and traffic, through the table of the format (sq_cost.h).
#include "sim/format/sq_cost.h"

#include <math.h>

#include "sim/format/sq_format_ops.h"

const char *sq_stream_name(enum sq_stream_id id)
{
    static const char *const names[SQ_N_STREAMS] = {"act",   "act_scale", "lo",  "hi",
                                                    "index", "scale",     "out", "partial"};
    return names[id];
}

enum sq_status sq_cost_check(const struct sq_recipe *r, struct sq_error *err)
{
    return r->format->check_cost(r, err);
}

bool sq_cost_is_core(const struct sq_recipe *r)
{
    return !r->format->cycles_per_element;
}

unsigned sq_cost_lanes(const struct sq_recipe *r, const struct sq_core_config *core, uint64_t m,
                       uint64_t k)
{
    const double n = floor(1 / r->format->cycles_per_element(r, core, m, k) + 1e-9);
    return n < 1 ? 1 : n > 65536 ? 65536 : (unsigned)n;
}

uint64_t sq_cost_lead_in(const struct sq_recipe *r, uint64_t k)
{
    return r->format->lead_in ? r->format->lead_in(r, k) : 0;
}

void sq_cost_nbytes(const struct sq_recipe *r, uint64_t m, uint64_t n, uint64_t m_all,
                    const struct sq_stretch *t, uint64_t nbytes[SQ_N_STREAMS])
{
    const struct sq_format_ops *f = r->format;
    const double act = f->act_nbits ? f->act_nbits(r) : sq_recipe_act_bits(r);
    for (unsigned id = SQ_STREAM_LO; id <= SQ_STREAM_SCALE; id++)
        nbytes[id] = 0;
    f->weight_nbytes(r, n, m_all, t, nbytes);
    nbytes[SQ_STREAM_ACT] = m * sq_cost_bytes((double)t->elements * act);
    nbytes[SQ_STREAM_ACT_SCALE] = 4 * (f->act_scales ? f->act_scales : 1) * m;
}

// ---- for the formats ------------------------------------------------------------------------

double sq_cost_products(const struct sq_core_config *core, unsigned a, unsigned b)
{
    const unsigned cells =
        (core->low_lanes * core->low_bits + core->high_lanes * core->high_bits) * core->act_bits;
    return cells / (a * b) > 0 ? cells / (a * b) : 1;
}

uint64_t sq_cost_bytes(double nbits)
{
    return (uint64_t)ceil(nbits / 8 - 1e-6);
}

enum sq_status sq_cost_check_act(const struct sq_recipe *r, bool has_16, struct sq_error *err)
{
    const unsigned bits = sq_recipe_act_bits(r);
    if (bits != 4 && bits != 8 && !(has_16 && bits == 16))
        return SQ_FAIL(err, SQ_ERR_RANGE, "act-bits = %u, need 4%s for %s", bits,
                       has_16 ? ", 8 or 16" : " or 8", r->format->name);
    return SQ_OK;
}
