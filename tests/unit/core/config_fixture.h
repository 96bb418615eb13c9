// SPDX-License-Identifier: Apache-2.0
// Whether two configs are the same model, as text that a failure can show.
#pragma once

#include "sim/llm/sq_model_config.h"

enum { CONFIG_TEXT = 2048 };

static inline void config_text(const struct sq_model_config *c, char text[CONFIG_TEXT])
{
    const struct sq_rope *const rope[] = {&c->rope, &c->local_rope};
    int n = snprintf(text, CONFIG_TEXT,
                     "%zu %zu %zu %zu %zu %zu %zu %zu eps %.9g tied %d bias %d window %zu qk %d "
                     "post %d offset %d gelu %d scale %.9g query %.9g caps %.9g %.9g local %zu ",
                     c->hidden_size, c->intermediate_size, c->n_layers, c->n_heads, c->n_kv_heads,
                     c->head_dim, c->vocab_size, c->max_position, c->rms_norm_eps,
                     c->tie_word_embeddings, c->has_qkv_bias, c->window, c->has_qk_norm,
                     c->has_post_norm, c->has_offset_gain, c->is_geglu, c->embedding_scale,
                     c->query_scale, c->attention_cap, c->logit_cap, c->local_window);
    for (size_t i = 0; i < 2; i++)
        n += snprintf(text + n, CONFIG_TEXT - (size_t)n,
                      "rope %.9g %.9g %.9g %d %.9g %.9g %.9g %zu ", rope[i]->theta, rope[i]->linear,
                      rope[i]->attention_factor, rope[i]->is_llama3, rope[i]->factor,
                      rope[i]->low_freq_factor, rope[i]->high_freq_factor,
                      rope[i]->original_max_position);
    for (size_t i = 0; i < c->n_layers; i++)
        n += snprintf(text + n, CONFIG_TEXT - (size_t)n, "%d", c->is_local[i]);
}
