// SPDX-License-Identifier: Apache-2.0
// Reverse mode of the block of a Llama and of the end of the model, in binary32: forward with what the backward
// pass needs, gradients of seven weight matrices and of the input. Products are OpenBLAS's, on one thread.
#pragma once

#include <stddef.h>

#include "models/sq_status.h"

enum { SQ_GRAD_LAYERS = 7 }; // q k v o gate up down, as in sq_llama.h

// Sequences of tokens that go through together; rotation[position][head_dim] as sq_llama has it.
struct sq_grad_shape {
    size_t hidden, intermediate, n_heads, n_kv_heads, head_dim;
    double eps, query_scale;
    const float *rotation;
    size_t n_sequences, length; // each of `length` tokens
};

struct sq_block_grad {
    struct sq_grad_shape shape;
    const float *norm[2];              // gains, [hidden]
    const float *w[SQ_GRAD_LAYERS];    // [n][k]
    const float *bias[SQ_GRAD_LAYERS]; // [n]; NULL: none
    // private: activations and gradients of them
    float *memory, *in, *x1, *q, *k, *v, *p, *a, *mid, *x2, *gate, *up, *act;
    float *d_x, *d_q, *d_k, *d_v, *d_a, *d_p, *d_gate, *d_up;
};

// Memory for the shape, whose products with sizes of binary32 must fit a size_t; SQ_ERR_MEMORY.
enum sq_status sq_block_grad_init(struct sq_block_grad *b, const struct sq_grad_shape *shape,
                                  struct sq_error *err);
void sq_block_grad_free(struct sq_block_grad *b);

// in[n_sequences * length][hidden] -> out, which may be in.
void sq_block_grad_forward(struct sq_block_grad *b, const float *in, float *out);
// After it: d[tokens][hidden], the loss by the output, becomes the loss by the input; d_w[i], where not NULL,
// receives the loss by w[i].
void sq_block_grad_backward(struct sq_block_grad *b, float *d, float *const d_w[SQ_GRAD_LAYERS]);

// The end of the model: KL in nats of head(norm(h)) from head(reference), mean of n tokens, where reference[n][hidden]
// is normed already; the loss by h into d_h[n][hidden]. head: [vocab][hidden]. scratch: 2 n (vocab + hidden) floats.
double sq_head_grad(const float *h, const float *gain, double eps, const float *head,
                    const float *reference, size_t n, size_t hidden, size_t vocab, float *d_h,
                    float *scratch);
