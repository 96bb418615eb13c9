// SPDX-License-Identifier: Apache-2.0
// Recipes on a machine, for tests: any format, any of its options.
#pragma once

#include <stdlib.h>
#include <string.h>

#include "models/sq_rng.h"
#include "sim/format/sq_format_ops.h"
#include "tests/test.h"

// The recipe of the defaults on a machine.
static inline struct sq_recipe default_of(const struct sq_format_ops *f)
{
    struct sq_recipe r;
    assert_ok(sq_format_recipe(f, SQ_IN_RUN, NULL, &r, NULL));
    return r;
}

// An option by its name, where the format has it.
static inline void set_option(struct sq_recipe *r, const char *name, double value)
{
    const struct sq_format_option *o = sq_option_find(r->format, SQ_IN_RUN, name);
    if (o)
        sq_option_put(o, value, r);
}

// The value of an option that it has.
static inline double option_of(const struct sq_recipe *r, const char *name)
{
    return sq_option_get(sq_option_find(r->format, SQ_IN_RUN, name), r);
}

// Within what the format's options may be.
static inline struct sq_recipe random_recipe_of(struct sq_rng *rng, const struct sq_format_ops *f)
{
    for (;;) {
        struct sq_recipe r = default_of(f);
        for (const struct sq_format_option *o = f->option; o->name; o++) {
            double v = 0;
            if (!(o->taken & SQ_IN_RUN) || strcmp(o->name, "low-bits") == 0 ||
                sq_rng_below(rng, 4) == 0)
                continue;
            if (strcmp(o->name, "bank") == 0)
                v = 4u << sq_rng_below(rng, 6);
            else if (strcmp(o->name, "sparsity") == 0 && o->max == 0.9375)
                v = 1 - 0.5 / (1 << sq_rng_below(rng, 4));
            else if (o->choice) {
                size_t n = 0;
                while (o->choice[n])
                    n++;
                const size_t i = sq_rng_below(rng, (uint32_t)n);
                v = o->kind == SQ_OPTION_NAME ? o->min + (double)i : strtod(o->choice[i], NULL);
            } else if (o->kind == SQ_OPTION_UINT)
                v = (uint32_t)o->min + sq_rng_below(rng, (uint32_t)(o->max - o->min) + 1);
            else
                v = o->min + (o->max - o->min) * 0.01 * sq_rng_below(rng, 101);
            sq_option_put(o, v, &r);
        }
        if (sq_format_settle(SQ_IN_RUN, NULL, &r, NULL) == SQ_OK &&
            sq_cost_check(&r, NULL) == SQ_OK)
            return r;
    }
}

static inline struct sq_recipe random_recipe(struct sq_rng *rng)
{
    const struct sq_format_ops *f = sq_formats[sq_rng_below(rng, (uint32_t)sq_n_formats())];
    if (sq_rng_below(rng, 6) == 0) // both paths
        f = sq_formats[0];
    return random_recipe_of(rng, f);
}
