#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""smollm2_transformers.py GGUF TOKENS: nats a token of each sequence by transformers' Llama in binary32.

The package gguf dequantizes the weights; transformers (4.x, which has Llama in Flax) does the rest."""
import inspect
import json
import struct
import sys

import jax
import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from transformers import LlamaConfig
from transformers.models.llama import modeling_flax_llama as flax_llama

jax.config.update('jax_default_matmul_precision', 'highest')
fields = GGUFReader(sys.argv[1])
weights = {t.name: dequantize(t.data, t.tensor_type) for t in fields.tensors}
number = lambda key: fields.fields['llama.' + key].parts[-1][0].item()
heads, key_heads = number('attention.head_count'), number('attention.head_count_kv')
embedding = weights['token_embd.weight']
config = LlamaConfig(
    vocab_size=len(embedding), hidden_size=number('embedding_length'), intermediate_size=number('feed_forward_length'),
    num_hidden_layers=number('block_count'), num_attention_heads=heads, num_key_value_heads=key_heads,
    rms_norm_eps=number('attention.layer_norm_rms_epsilon'), rope_theta=number('rope.freq_base'), hidden_act='silu')

# Its Flax model turns positions by powers of 10000 whatever the configuration says.
source = inspect.getsource(flax_llama.create_sinusoidal_positions)
assert source.count('10000') == 1
exec(source.replace('10000', str(config.rope_theta)), flax_llama.__dict__)


def halves(w, n):  # GGUF has the rows of a head in pairs
    return w.reshape(n, len(w) // n // 2, 2, -1).swapaxes(1, 2).reshape(w.shape)


def layer(block):
    get = lambda name: weights[f'blk.{block}.{name}.weight']
    kernel = lambda w: {'kernel': w.T}
    return {'input_layernorm': {'weight': get('attn_norm')}, 'post_attention_layernorm': {'weight': get('ffn_norm')},
            'self_attn': {'q_proj': kernel(halves(get('attn_q'), heads)), 'v_proj': kernel(get('attn_v')),
                          'k_proj': kernel(halves(get('attn_k'), key_heads)), 'o_proj': kernel(get('attn_output'))},
            'mlp': {f'{name}_proj': kernel(get('ffn_' + name)) for name in ('gate', 'up', 'down')}}


params = {'model': {'embed_tokens': {'embedding': embedding}, 'norm': {'weight': weights['output_norm.weight']},
                    'layers': {str(b): layer(b) for b in range(config.num_hidden_layers)}},
          'lm_head': {'kernel': weights.get('output.weight', embedding).T}}
model = flax_llama.FlaxLlamaForCausalLM(config, _do_init=False)

with open(sys.argv[2], 'rb') as f:
    head = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
    body = f.read()
part = {k: body[slice(*head[k]['data_offsets'])] for k in ('ids', 'offsets')}
ids, offsets = np.frombuffer(part['ids'], np.int32), np.frombuffer(part['offsets'], np.int64)
for first, end in zip(offsets[:-1], offsets[1:]):
    x = ids[first:end]
    y = np.asarray(model(x[None], params=params).logits[0], np.float64)[:-1]
    y -= y.max(-1, keepdims=True)
    print(f'{(np.log(np.exp(y).sum(-1)) - y[np.arange(len(y)), x[1:]]).mean():.6f}', flush=True)
