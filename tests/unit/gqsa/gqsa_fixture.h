// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of GQSA: a matrix with its own arrays.
#pragma once

#include "models/gqsa/sq_gqsa.h"
#include "tests/unit/fixture.h"

static inline struct sq_gqsa gqsa_new(size_t n, size_t k_orig, unsigned group, size_t nnz)
{
    struct sq_gqsa m = {
        .n = n, .k = sq_gqsa_padded(k_orig, group), .k_orig = k_orig, .nnz = nnz, .group = group};
    m.row_index = fixture_exact((n + 1) * sizeof *m.row_index);
    m.groups = fixture_exact(nnz * sizeof *m.groups);
    m.codes = fixture_exact(nnz * group * 2); // of up to 16 bits
    m.scale = fixture_exact(nnz * sizeof *m.scale);
    m.zero = fixture_exact(nnz);
    return m;
}
