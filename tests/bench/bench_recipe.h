// SPDX-License-Identifier: Apache-2.0
// Recipes of all formats for benchmarks, from their tables: nothing here names a format.
#pragma once

#include "sim/format/sq_format_ops.h"
#include "tests/bench/bench.h"

// The format as `sqsim eval` has it without options; with `is_rtn` rounded to nearest and pruned by
// magnitude where it has these options, so that encoding does not take longer than what is
// measured.
static inline struct sq_recipe bench_recipe(const struct sq_format_ops *f, bool is_rtn)
{
    static const char *const cheap[][2] = {{"algorithm", "rtn"}, {"prune", "magnitude"}};
    struct sq_given given = {.n = 0};
    struct sq_recipe r;
    struct sq_error err;
    for (size_t i = 0; is_rtn && i < sizeof cheap / sizeof cheap[0]; i++) {
        const struct sq_format_option *o = sq_option_find(f, SQ_IN_EVAL, cheap[i][0]);
        if (!o || o->kind == SQ_OPTION_REFUSED)
            continue;
        given.option[given.n].name = cheap[i][0];
        given.option[given.n++].text = cheap[i][1];
    }
    bench_need(sq_format_recipe(f, SQ_IN_EVAL, &given, &r, &err), &err);
    return r;
}

// What the recipe's encoder wants of a layer's inputs, from t tokens x[t][k].
struct bench_input {
    struct sq_calibration calibration;
    struct sq_factor factor;
    struct sq_quant_input in;
};

static inline void bench_input_init(struct bench_input *b, const struct sq_recipe *r,
                                    const float *x, size_t t, size_t k)
{
    const unsigned needs = sq_recipe_needs(r);
    struct sq_error err;
    *b = (struct bench_input){.in = {.sample = NULL}};
    if (needs & SQ_NEED_INPUTS) {
        bench_need(sq_calibration_init(&b->calibration, k,
                                       (needs & SQ_NEED_HESSIAN) == SQ_NEED_HESSIAN, &err),
                   &err);
        bench_need(sq_calibration_add(&b->calibration, x, t, &err), &err);
        b->in.calibration = &b->calibration;
    }
    if ((needs & SQ_NEED_FACTOR) == SQ_NEED_FACTOR) {
        bench_need(sq_factor_init(&b->factor, &b->calibration, NULL, r->percdamp, &err), &err);
        b->in.factor = &b->factor;
    }
    if (needs & SQ_NEED_SAMPLE) {
        b->in.sample = x;
        b->in.n_sample = t;
    }
}

static inline void bench_input_free(struct bench_input *b)
{
    sq_calibration_free(&b->calibration);
    sq_factor_free(&b->factor);
}
