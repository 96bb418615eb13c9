// SPDX-License-Identifier: Apache-2.0
// Products of block-scaled formats with the sums of a tensor core (SPEC Q.11): chunks of products that are aligned to
// the largest of them, cut off below so many bits, and added to an accumulator of limited width.
#ifndef SQ_BS_ACCUMULATE_H
#define SQ_BS_ACCUMULATE_H

#include "models/scaled/sq_bs.h"

enum { SQ_BS_FRACTION_MIN = 7, SQ_BS_FRACTION_MAX = 52, SQ_BS_CHUNK_MAX = 512 };

struct sq_bs_accumulator {
    unsigned fraction; // bits kept below the leading one of the largest term, 7..52
    unsigned chunk;    // products that are aligned together, 1..512
};

// Row `row` of a format of one part as elements times the scale of their block, without what is above: exact. out[c->k]
void sq_bs_accumulate_load(const struct sq_bs *c, size_t row, double *out);
// The sum of w[i] x[i], i < k, in ascending chunks.
double sq_bs_accumulate(const struct sq_bs_accumulator *a, const double *w, const double *x,
                        size_t k);

#endif
