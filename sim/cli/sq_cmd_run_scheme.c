// SPDX-License-Identifier: Apache-2.0
// The format options of `sqsim run` on a machine: which go with which --format, and what they mean
// there.
#include <string.h>

#include "sim/cli/sq_cmd_run.h"

// --sparsity and --group as the SQ-format has them.
static enum sq_status settle_sq(const struct sq_run_format *in, struct sq_cli_format *format,
                                struct sq_error *err)
{
    struct sq_format *f = &format->format;
    double sparsity = format->sparsity;
    uint64_t group = f->group;
    struct sq_error inner;
    if (in->group && strcmp(in->group, "row") == 0)
        group = 0;
    else if (in->group &&
             (sq_cli_uint("", in->group, 32, 128, &group, NULL) != SQ_OK || (group & (group - 1))))
        return SQ_FAIL(err, SQ_ERR_ARG, "--group = %.40s, need 32, 64, 128 or row", in->group);
    if (in->sparsity)
        SQ_TRY(sq_cli_double("--sparsity", in->sparsity, 0.5, 0.9375, &sparsity, err));
    f->group = (unsigned)group;
    enum sq_status status = sq_format_high_per_bank(f->bank, sparsity, &f->high_per_bank, &inner);
    if (status == SQ_OK)
        status = sq_format_check(f, &inner);
    return status == SQ_OK ? SQ_OK : SQ_FAIL(err, status, "--%.200s", inner.text);
}

static const char *unused_option(const struct sq_run_format *in, enum sq_scheme_kind kind)
{
    const bool is_sq =
        kind == SQ_SCHEME_SQ_W || kind == SQ_SCHEME_SQ_A_STATIC || kind == SQ_SCHEME_SQ_A_DYNAMIC;
    const bool is_pruned = kind == SQ_SCHEME_GQSA || kind == SQ_SCHEME_SPQT;
    const struct {
        const char *name;
        bool is_given, has_use;
    } option[] = {
        {"--weight-bits", in->weight_bits != 0,
         kind == SQ_SCHEME_DENSE || (is_sq && kind != SQ_SCHEME_SQ_W)},
        {"--outliers", in->outliers != NULL, kind == SQ_SCHEME_SPQR},
        {"--sparsity", in->sparsity != NULL, is_sq || is_pruned},
        {"--group", in->group != NULL, is_sq || kind == SQ_SCHEME_DENSE || kind == SQ_SCHEME_GQSA},
        {"--layout", in->layout != NULL, kind == SQ_SCHEME_SPQT},
        {"--schedule", in->schedule != NULL, kind == SQ_SCHEME_SPQT},
    };
    for (size_t i = 0; i < sizeof option / sizeof option[0]; i++)
        if (option[i].is_given && !option[i].has_use)
            return option[i].name;
    return NULL;
}

// Index of a name that may not be given: 0 then.
static enum sq_status choice(const char *option, const char *text, const char *const *names,
                             size_t *index, struct sq_error *err)
{
    *index = 0;
    return text ? sq_cli_name(option, text, names, 2, index, err) : SQ_OK;
}

enum sq_status sq_run_settle_format(const struct sq_run_format *in, struct sq_cli_format *format,
                                    struct sq_scheme *s, struct sq_error *err)
{
    const bool is_sq = s->kind == SQ_SCHEME_SQ_W || s->kind == SQ_SCHEME_SQ_A_STATIC ||
                       s->kind == SQ_SCHEME_SQ_A_DYNAMIC;
    const bool has_sparsity = s->kind == SQ_SCHEME_GQSA || s->kind == SQ_SCHEME_SPQT;
    const char *unused = unused_option(in, s->kind);
    uint64_t group = 16;
    size_t layout, schedule;
    if (unused)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s has no use with --format %s", unused,
                       sq_scheme_names[s->kind]);
    s->act_bits = format->act_bits;
    s->weight_bits = in->weight_bits ? in->weight_bits : s->kind == SQ_SCHEME_DENSE ? 8 : 4;
    s->sparsity = 0.5;
    s->outliers = 0.01;
    if (in->outliers)
        SQ_TRY(sq_cli_double("--outliers", in->outliers, 0, 0.25, &s->outliers, err));
    if (has_sparsity && in->sparsity)
        SQ_TRY(sq_cli_double("--sparsity", in->sparsity, 0, 0.99, &s->sparsity, err));
    SQ_TRY(choice("--layout", in->layout, sq_spqt_layout_names, &layout, err));
    SQ_TRY(choice("--schedule", in->schedule, sq_spqt_schedule_names, &schedule, err));
    s->layout = (enum sq_spqt_layout)layout;
    s->schedule = (enum sq_spqt_schedule)schedule;
    if (s->kind == SQ_SCHEME_GQSA && in->group)
        SQ_TRY(sq_cli_uint("--group", in->group, 4, 128, &group, err));
    if (is_sq || s->kind == SQ_SCHEME_DENSE)
        SQ_TRY(settle_sq(in, format, err));
    s->sq = format->format;
    s->group = s->kind == SQ_SCHEME_GQSA   ? (unsigned)group
               : s->kind == SQ_SCHEME_SP24 ? 0
                                           : format->format.group;
    return SQ_OK;
}
