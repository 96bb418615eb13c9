// SPDX-License-Identifier: Apache-2.0
// Compares names of tensors with those that a Llama block has (sq_checkpoint_names.h).
#include "sim/llm/sq_checkpoint_names.h"

#include <stdio.h>
#include <string.h>

static bool is_one_of(const char *name, const char *const *list)
{
    for (size_t i = 0; list[i]; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

// The rest of "model.layers.N." with its N; NULL where the name is another.
static const char *block_part(const char *name, unsigned *block)
{
    static const char prefix[] = "model.layers.";
    const char *digit = name + sizeof prefix - 1;
    int n = 0;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0 || *digit < '0' || *digit > '9' ||
        (digit[0] == '0' && digit[1] != '.') || sscanf(digit, "%4u.%n", block, &n) != 1 || n == 0)
        return NULL;
    return digit + n;
}

// Whether the forward pass reads a tensor, or may leave it out: the frequencies of the rotary
// embedding, which older files hold, follow from the config.
static bool has_place(const struct sq_model_config *c, bool is_gguf, const char *name)
{
    static const char *const top[] = {"model.embed_tokens.weight", "model.norm.weight",
                                      "lm_head.weight", "model.rotary_emb.inv_freq", NULL};
    static const char *const part[] = {"self_attn.q_proj.weight",
                                       "self_attn.k_proj.weight",
                                       "self_attn.v_proj.weight",
                                       "self_attn.o_proj.weight",
                                       "mlp.gate_proj.weight",
                                       "mlp.up_proj.weight",
                                       "mlp.down_proj.weight",
                                       "input_layernorm.weight",
                                       "post_attention_layernorm.weight",
                                       "self_attn.rotary_emb.inv_freq",
                                       NULL};
    static const char *const bias[] = {"self_attn.q_proj.bias", "self_attn.k_proj.bias",
                                       "self_attn.v_proj.bias", NULL};
    static const char *const of_head[] = {"self_attn.q_norm.weight", "self_attn.k_norm.weight",
                                          NULL};
    static const char *const post[] = {"pre_feedforward_layernorm.weight",
                                       "post_feedforward_layernorm.weight", NULL};
    unsigned block;
    const char *rest = block_part(name, &block);
    if (!rest)
        return is_one_of(name, top) || (is_gguf && strcmp(name, "rope_freqs.weight") == 0);
    return block < c->n_layers &&
           (is_one_of(rest, part) || (c->has_qkv_bias && is_one_of(rest, bias)) ||
            (c->has_qk_norm && is_one_of(rest, of_head)) ||
            (c->has_post_norm && is_one_of(rest, post)));
}

enum sq_status sq_checkpoint_check_name(const struct sq_model_config *c, bool is_gguf,
                                        const char *name, struct sq_error *err)
{
    unsigned block;
    if (has_place(c, is_gguf, name))
        return SQ_OK;
    if (block_part(name, &block) && block >= c->n_layers)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "tensor '%.80s' is of block %u, need 0..%zu by num_hidden_layers", name,
                       block, c->n_layers - 1);
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                   "tensor '%.80s' has no place in a Llama-type model, need a checkpoint whose "
                   "weights are whole: no scales or adapters beside them",
                   name);
}

bool sq_is_beside_weights(const char *name)
{
    static const char *const word[] = {"scale",  "scales", "zero", "zeros",
                                       "qzeros", "absmax", "lora", NULL};
    for (const char *c = name; *c;) {
        const size_t n = strcspn(c, "._");
        char text[8] = "";
        if (n < sizeof text)
            memcpy(text, c, n);
        const bool is_last = !strchr(c, '.');
        if (is_one_of(text, word) && (is_last || strcmp(text, "lora") == 0))
            return true;
        c += n + (c[n] != '\0');
    }
    return false;
}
