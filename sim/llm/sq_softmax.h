// SPDX-License-Identifier: Apache-2.0
// The elementwise functions of a Llama block in binary32, with an exponential in vectors.
#pragma once

#include <stddef.h>

// Softmax of row[0..n), n >= 1.
void sq_softmax(float *row, size_t n);

// gate = silu(gate) * up, silu(g) = g / (1 + e^-g), of n elements.
void sq_swiglu(float *gate, const float *up, size_t n);

// gate = gelu(gate) * up, gelu(g) = g / (1 + e^-2u), u = sqrt(2 / pi) (g + 0.044715 g^3): the form
// by tanh, of n elements.
void sq_geglu(float *gate, const float *up, size_t n);
