// SPDX-License-Identifier: Apache-2.0
// The elementwise functions of a Llama block in binary32, with an exponential in vectors.
#ifndef SQ_SOFTMAX_H
#define SQ_SOFTMAX_H

#include <stddef.h>

// Softmax of row[0..n), n >= 1; the rest of row[width] becomes 0.
void sq_softmax_prefix(float *row, size_t n, size_t width);

// gate = silu(gate) * up, silu(g) = g / (1 + e^-g), of n elements.
void sq_swiglu(float *gate, const float *up, size_t n);

#endif
