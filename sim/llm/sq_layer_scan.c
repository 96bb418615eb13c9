// SPDX-License-Identifier: Apache-2.0
// Runs the scan that the recipe's format asks for (sq_layer_scan.h).
#include "sim/llm/sq_layer_scan.h"

#include <stdlib.h>

#include "sim/format/sq_format_ops.h"
#include "sim/llm/sq_sensitivity_scan.h"
#include "sim/llm/sq_sparsity_scan.h"

static enum sq_scan scan_of(const struct sq_recipe *r, double *share)
{
    const struct sq_format_values *v = r->format->values;
    return v->scan ? v->scan(r, share) : SQ_SCAN_NOTHING;
}

bool sq_layer_scan_is_needed(const struct sq_recipe *r)
{
    double share;
    return scan_of(r, &share) != SQ_SCAN_NOTHING;
}

static enum sq_status no_memory(const struct sq_checkpoint *ck, struct sq_error *err)
{
    return SQ_NO_MEMORY(err, "%zu layers", ck->n_layers);
}

enum sq_status sq_layer_scan(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                             const struct sq_recipe *r, struct sq_layer_choice *choice,
                             struct sq_error *err)
{
    double share;
    const enum sq_scan scan = scan_of(r, &share);
    double *number = calloc(ck->n_layers, sizeof *number);
    enum sq_status status = number ? SQ_OK : no_memory(ck, err);
    *choice = (struct sq_layer_choice){0};
    if (status == SQ_OK && scan == SQ_SCAN_DENSE) {
        choice->is_dense = calloc(ck->n_layers, 1);
        status = choice->is_dense
                     ? sq_eval_sensitive(ck, calib, r, share, number, choice->is_dense, err)
                     : no_memory(ck, err);
    }
    if (status == SQ_OK && scan == SQ_SCAN_SPARSITY) {
        status = sq_sparsity_scan_layers(ck, calib, r, share, number, err);
        choice->sparsity = number;
    } else {
        free(number);
    }
    if (status != SQ_OK)
        sq_layer_scan_free(choice);
    return status;
}

void sq_layer_scan_free(struct sq_layer_choice *choice)
{
    free(choice->is_dense);
    free(choice->sparsity);
    *choice = (struct sq_layer_choice){0};
}
