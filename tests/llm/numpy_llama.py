#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""numpy_llama.py MODEL ID...: what the tests of models are judged by: Llama by numpy, without a line of sqsim.

As a program it says for each ID behind the first which token it takes for the most likely one after those before, and
by how much its logit leads. MODEL is a Hugging Face directory with one safetensors file, or a GGUF file, which the
package gguf reads."""
import json
import os
import struct
import sys
import numpy as np

f32 = np.float32
GGUF_NAMES = {'attn_q': 'self_attn.q_proj', 'attn_k': 'self_attn.k_proj', 'attn_v': 'self_attn.v_proj',
              'attn_output': 'self_attn.o_proj', 'ffn_gate': 'mlp.gate_proj', 'ffn_up': 'mlp.up_proj',
              'ffn_down': 'mlp.down_proj', 'attn_norm': 'input_layernorm', 'ffn_norm': 'post_attention_layernorm'}


def tensors(path):
    """The tensors of a safetensors file by name."""
    with open(path, 'rb') as f:
        head = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
        body = f.read()
    kinds = {'F16': np.float16, 'F32': np.float32, 'I32': np.int32, 'I64': np.int64}
    return {k: np.frombuffer(body[slice(*v['data_offsets'])], kinds[v['dtype']]).reshape(v['shape'])
            for k, v in head.items() if k != '__metadata__'}


def sequences(path):
    """The sequences of a token file."""
    t = tensors(path)
    return [t['ids'][a:b] for a, b in zip(t['offsets'], t['offsets'][1:])]


def norm(x, w):
    return (x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-5)).astype(f32) * w


def as_it_is(x):
    return x


class Llama:
    """layer[i] has the weights of a block, [n, k], by the names of Hugging Face."""

    def __init__(self, path):
        if os.path.isdir(path):
            self._read_folder(path)
        else:
            self._read_gguf(path)

    def _read_folder(self, path):
        w = {k: v.astype(f32) for k, v in tensors(path + '/model.safetensors').items()}
        with open(path + '/config.json') as f:
            c = json.load(f)
        self.heads, self.kv, self.theta = c['num_attention_heads'], c['num_key_value_heads'], c['rope_theta']
        self.embedding, self.norm = w['model.embed_tokens.weight'], w['model.norm.weight']
        self.layer = [{k.split(f'layers.{i}.')[1][:-7]: v for k, v in w.items() if f'layers.{i}.' in k}
                      for i in range(c['num_hidden_layers'])]
        self.dim = len(self.layer[0]['self_attn.q_proj']) // self.heads

    def _read_gguf(self, path):
        from gguf import GGUFReader
        from gguf.quants import dequantize
        file = GGUFReader(path)
        w = {t.name: dequantize(t.data, t.tensor_type) for t in file.tensors}
        number = lambda key: file.fields['llama.' + key].parts[-1][0].item()
        self.heads, self.kv = number('attention.head_count'), number('attention.head_count_kv')
        self.theta = number('rope.freq_base')
        self.embedding, self.norm = w['token_embd.weight'], w['output_norm.weight']
        self.layer = [{GGUF_NAMES[k.split('.')[2]]: v for k, v in w.items() if k.startswith(f'blk.{i}.')}
                      for i in range(number('block_count'))]
        self.dim = len(self.layer[0]['self_attn.q_proj']) // self.heads
        for layer in self.layer:
            for name, n in (('self_attn.q_proj', self.heads), ('self_attn.k_proj', self.kv)):
                v = layer[name]  # rows of a head in pairs -> halves
                layer[name] = v.reshape(n, self.dim // 2, 2, -1).swapaxes(1, 2).reshape(v.shape)

    def _rotate(self, x):
        n, half = x.shape[-2], self.dim // 2
        angle = np.arange(n)[:, None] * self.theta ** (-2.0 * np.arange(half) / self.dim)
        c, s = np.cos(angle).astype(f32), np.sin(angle).astype(f32)
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * c - b * s, b * c + a * s], -1)

    def logits(self, ids, of_weights=as_it_is, of_cache=as_it_is, is_before=False):
        """[len(ids), words], binary64. of_weights: what becomes of the weights of a linear layer; of_cache: of keys, with
        is_before before they are rotated, and of values."""
        h, n, share = self.embedding[ids], len(ids), self.heads // self.kv
        heads = lambda x, m: x.reshape(len(x), m, self.dim).swapaxes(0, 1)
        for layer in self.layer:
            w = {k: v if v.ndim < 2 else of_weights(v) for k, v in layer.items()}
            x = norm(h, w['input_layernorm'])
            q, k, v = (heads(x @ w[f'self_attn.{p}_proj'].T, m) for p, m in (('q', self.heads), ('k', self.kv), ('v', self.kv)))
            k = self._rotate(of_cache(k)) if is_before else of_cache(self._rotate(k))
            q, k, v = self._rotate(q), k.repeat(share, 0), of_cache(v).repeat(share, 0)
            a = q @ k.swapaxes(1, 2) / f32(np.sqrt(self.dim)) + np.triu(np.full((n, n), -np.inf, f32), 1)
            a = np.exp(a - a.max(-1, keepdims=True))
            o = ((a / a.sum(-1, keepdims=True)) @ v).swapaxes(0, 1).reshape(n, -1)
            h = h + o @ w['self_attn.o_proj'].T
            x = norm(h, w['post_attention_layernorm'])
            g = x @ w['mlp.gate_proj'].T
            h = h + (g / (1 + np.exp(-g)) * (x @ w['mlp.up_proj'].T)) @ w['mlp.down_proj'].T
        return (norm(h, self.norm) @ self.embedding.T).astype(np.float64)

    def log_p(self, ids, *choice):
        """Of every token but the last, log p of the word behind it, [len(ids) - 1, words]."""
        y = self.logits(ids, *choice)[:-1]
        y -= y.max(-1, keepdims=True)
        return y - np.log(np.exp(y).sum(-1, keepdims=True))


if __name__ == '__main__':
    IDS = np.array([int(i) for i in sys.argv[2:]])
    for given, y in zip(IDS[1:], Llama(sys.argv[1]).logits(IDS)[:-1]):
        order = np.argsort(-y, kind='stable')
        print(given, order[0], f'{y[order[0]] - y[order[1]]:.6f}')
