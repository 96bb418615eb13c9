// SPDX-License-Identifier: Apache-2.0
// Forward pass of a Llama-type decoder in binary32: RMSNorm, rotary embedding (half-split, as
// Hugging Face's rotate_half), grouped-query causal attention, SwiGLU, tied or own lm_head; and what
// Qwen and Gemma 3 have besides (sq_model_config.h).
//
// All tokens go through one linear layer before the next layer is read, so memory is the largest
// layer plus the activations of the token set. A hook sees the input of every linear layer and may
// compute its output instead (the bit-exact model of a format).
//
// Results do not depend on the number of threads (models/quant/sq_blas.h).
#pragma once

#include "sim/block/vector/sq_vector_steps.h"
#include "sim/format/sq_cache_format.h"
#include "sim/llm/sq_checkpoint.h"
#include "sim/llm/text/sq_tokens.h"

// One linear layer about to be computed: y[m][n] = x[m][k] w[n][k]^T, m = all tokens of the set.
struct sq_llama_linear {
    size_t layer;     // index into ck->layer; block * 7 + {q, k, v, o, gate, up, down}
    const char *name; // ck->layer[layer].name
    size_t shared;    // the first layer with this very input: q for q, k, v; gate for gate, up
    size_t m, n, k;
    const float *x; // valid during the call
    float *y;
    // Where this is the first layer with its input: y of it and of the layers right behind it with
    // the same input, which a hook may fill at once; it is still called for each.
    size_t n_shared; // 0: another layer is the first
    float *shared_y[3];
    struct sq_llama *model; // private
};
// Its weights w[n][k], valid during the hook's call; they are read when they are asked for.
enum sq_status sq_llama_weights(const struct sq_llama_linear *l, const float **w,
                                struct sq_error *err);

// Called before each linear layer. Sets *is_done where it has filled l->y; otherwise the product is
// computed in binary32. A status other than SQ_OK ends the pass and is passed on.
typedef enum sq_status sq_llama_hook(void *context, const struct sq_llama_linear *l, bool *is_done,
                                     struct sq_error *err);

enum { SQ_LLAMA_ATTEND = 1 << 16 };

// One token set on its way through a model. The checkpoint and the tokens belong to the caller and
// outlive it.
struct sq_llama {
    const struct sq_checkpoint *ck;
    const struct sq_tokens *tokens;
    float *h; // the residual stream [tokens][hidden_size]
    float *x; // [tokens][hidden_size] after sq_llama_norm, private before
    // What attention reads of keys and values is what a cache in this format gives back, the caller's; NULL, as
    // sq_llama_init leaves it: they stay as they are. Keys are encoded after their rotation, or before it.
    const struct sq_recipe *cache;
    bool is_cached_before;
    // Lanes of a vector unit (models/vector/sq_vector.h) that computes softmax; 0, as sq_llama_init leaves it: none does.
    // SQ_LLAMA_ATTEND: the attention unit (models/vector/sq_attend.h) computes scores, softmax and sums, of keys and
    // values in binary16 where there is no `cache`.
    unsigned softmax_lanes;
    bool
        has_int8; // with that unit, without `cache`: INT8 as passes of a vector unit write it (sq_attend.h)
    // Bytes of the bus of a vector unit that computes norms, rotary embeddings, SiLU times up and residuals; 0, as
    // sq_llama_init leaves it: none does.
    uint32_t steps_nbytes;
    // private
    float *q, *k, *v, *gate, *up, *w;
    bool is_beside;  // all but h is another's
    size_t past;     // tokens before these, whose keys and values are kept
    size_t fed;      // of the piece at hand
    size_t capacity; // of kept, in tokens; 0: there is none, k and v are of these tokens
    float *kept;     // [blocks][keys, values][capacity][key heads * head_dim]
    size_t held;     // the layer whose weights w holds; SIZE_MAX: none
    float *rotation; // [positions][head_dim]: cosines, then sines, of the head_dim/2 angles
    float *local;    // the same of the blocks with a window; NULL: there are none
};

// Embeds the tokens. SQ_ERR_UNSUPPORTED where *ck is no model; SQ_ERR_INDEX for a token outside the
// vocabulary; SQ_ERR_NON_FINITE for weights. After a failure *s is empty.
enum sq_status sq_llama_init(struct sq_llama *s, const struct sq_checkpoint *ck,
                             const struct sq_tokens *tokens, struct sq_error *err);
// The same beside another pass of the same model and tokens, with which it shares all memory but
// the residual stream: blocks of the two may take turns, *of must live longer.
enum sq_status sq_llama_init_beside(struct sq_llama *s, const struct sq_llama *of,
                                    struct sq_error *err);
// A pass over one sequence, piece after piece: keys and values of up to `capacity` tokens are kept, and every
// token computes what it computes in a pass over all of them. sq_llama_next comes before each piece, blocks and
// norm after it. tokens: of the longest piece, one sequence; it is not embedded.
enum sq_status sq_llama_init_cached(struct sq_llama *s, const struct sq_checkpoint *ck,
                                    const struct sq_tokens *tokens, size_t capacity,
                                    struct sq_error *err);
// The next piece, no longer than the longest. SQ_ERR_RANGE where the capacity ends; SQ_ERR_INDEX as above.
enum sq_status sq_llama_next(struct sq_llama *s, const struct sq_tokens *tokens,
                             struct sq_error *err);
void sq_llama_free(struct sq_llama *s);

// Decoder block `block`, to be called for 0, 1, .. n_layers-1 in order; hook may be NULL.
enum sq_status sq_llama_block(struct sq_llama *s, size_t block, sq_llama_hook *hook, void *context,
                              struct sq_error *err);

// After the last block: the final norm of s->h into s->x, what lm_head multiplies (sq_logits.h).
enum sq_status sq_llama_norm(struct sq_llama *s, struct sq_error *err);

// After the last block: final norm, lm_head, and the sum of -log p(token) in nats over all tokens
// that are predicted (sq_tokens_first_predicted), summed in binary64 by ascending index. Divide by
// sq_tokens_predicted for the loss; its exponential is the perplexity (SPEC J.5).
// SQ_ERR_NON_FINITE where a logit is NaN or infinite.
enum sq_status sq_llama_nll(struct sq_llama *s, double *nll, struct sq_error *err);

// All of it: mean loss per predicted token.
enum sq_status sq_llama_loss(const struct sq_checkpoint *ck, const struct sq_tokens *tokens,
                             sq_llama_hook *hook, void *context, double *loss,
                             struct sq_error *err);
