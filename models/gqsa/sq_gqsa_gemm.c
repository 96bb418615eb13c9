// SPDX-License-Identifier: Apache-2.0
// The product of GQSA with binary32 activations for many tokens (SPEC F.5). A lane is a token, so
// every output adds its columns and its groups in the order of sq_gqsa_gemv.
#include <string.h>

#include "models/gqsa/sq_gqsa.h"
#include "models/number/sq_grid.h"
#include "models/number/sq_half.h"
#include "models/number/sq_lanes.h"

enum { VECTORS = 4, TOKENS = VECTORS * SQ_LANES, MAX_GROUP = 128 };

// A row: x is [column][token], y[token].
SQ_LANES_BODY void row_body(const struct sq_gqsa *m, size_t row, const float *x, float *y)
{
    sq_lanes sum[VECTORS] = {{0}};
    for (size_t e = m->row_index[row]; e < m->row_index[row + 1]; e++) {
        const float *at = x + (size_t)m->groups[e] * m->group * TOKENS;
        const float scale = sq_gqsa_scale(m, e);
        sq_lanes inner[VECTORS] = {{0}};
        float w[MAX_GROUP];
        for (size_t i = 0; i < m->group; i++)
            w[i] = sq_gqsa_value(m, e, i);
        for (size_t i = 0; i < m->group; i++, at += TOKENS)
#pragma GCC unroll 4
            for (unsigned v = 0; v < VECTORS; v++)
                inner[v] += w[i] * *sq_lanes_from(at + v * SQ_LANES);
#pragma GCC unroll 4
        for (unsigned v = 0; v < VECTORS; v++)
            sum[v] += inner[v] * scale;
    }
#pragma GCC unroll 4
    for (unsigned v = 0; v < VECTORS; v++)
        *sq_lanes_to(y + v * SQ_LANES) = sum[v] + 0.0f;
}

SQ_LANES_EACH(void, , row, (const struct sq_gqsa *m, size_t row, const float *x, float *y), m, row,
              x, y)

size_t sq_gqsa_gemm_scratch(const struct sq_gqsa *m)
{
    return m->k * TOKENS * sizeof(float);
}

void sq_gqsa_gemm(const struct sq_gqsa *m, const float *x, size_t n_tokens, float *y, void *scratch,
                  unsigned level)
{
    void (*const row_product)(const struct sq_gqsa *, size_t, const float *, float *) =
        SQ_LANES_AT(row, (enum sq_lanes_level)level);
    float *const columns = scratch;
    for (size_t first = 0; first < n_tokens; first += TOKENS) {
        const size_t n = n_tokens - first < TOKENS ? n_tokens - first : TOKENS;
        memset(columns, 0, sq_gqsa_gemm_scratch(m));
        for (size_t t = 0; t < n; t++)
            for (size_t i = 0; i < m->k; i++)
                columns[i * TOKENS + t] = x[(first + t) * m->k + i];
        for (size_t row = 0; row < m->n; row++) {
            float out[TOKENS];
            row_product(m, row, columns, out);
            for (size_t t = 0; t < n; t++)
                y[(first + t) * m->n + row] = out[t];
        }
    }
}
