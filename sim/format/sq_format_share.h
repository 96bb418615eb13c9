// SPDX-License-Identifier: Apache-2.0
// The part of a format's table that `sqsim run --share` reads: how evenly the work of an encoded layer
// can be shared out.
#ifndef SQ_FORMAT_SHARE_H
#define SQ_FORMAT_SHARE_H

#include "sim/format/sq_format_values.h"

// Who shares it.
struct sq_sharing {
    size_t workers, tile_rows;
    const float *x; // [m][k] tokens, where the format asks for them
    size_t m;
};

struct sq_format_share {
    // What the slowest worker has to do, the ideal first, summed over tokens; returns through *n
    // how many figures.
    enum sq_status (*loads)(const void *state, const struct sq_sharing *s,
                            struct sq_figure figure[SQ_FIGURES_MAX], size_t *n,
                            struct sq_error *err);
    const char *unit; // "groups"
    bool needs_tokens;
    const char *text; // what the columns are, where they are no loads of workers; NULL: they are
};

#endif
