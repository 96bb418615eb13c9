#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kv_cache.py MODEL SEQUENCES: loss and KL of the embedded model with keys and values in a format, by numpy.

Written from the formulas of docs/spec, without a line of sqsim. A line a format: name, nats a token, KL against
the model as it is. A row is a head of one token."""
import json
import struct
import sys
import numpy as np

f32 = np.float32
HEADS, KV, LAYERS, DIM, THETA = 8, 4, 2, 32, 1e4


def tensors(path):
    with open(path, 'rb') as f:
        head = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
        body = f.read()
    kinds = {'F16': np.float16, 'I32': np.int32, 'I64': np.int64}
    return {k: np.frombuffer(body[slice(*v['data_offsets'])], kinds[v['dtype']]).reshape(v['shape'])
            for k, v in head.items() if k != '__metadata__'}


W = {k: v.astype(f32) for k, v in tensors(sys.argv[1] + '/model.safetensors').items()}
TOKENS = tensors(sys.argv[1] + '/tokens_eval.safetensors')
SETS = [TOKENS['ids'][a:b] for a, b in zip(TOKENS['offsets'], TOKENS['offsets'][1:])][:int(sys.argv[2])]


# ---- formats of rows x[..][DIM] -----------------------------------------------------------------
def largest(x):
    return np.abs(x).max(-1, keepdims=True)


def integers(x, bits):
    most = f32(2 ** (bits - 1) - 1)
    s = largest(x) / most
    s = np.where(s > 0, s, f32(1))
    return (np.clip(np.rint(x / s), -most, most) * s).astype(f32)


def minifloat(x, mantissa, least, most):  # sign and magnitude, rounded to nearest even, saturated
    a = np.abs(x).astype(np.float64)
    q = 2.0 ** (np.maximum(np.floor(np.log2(np.maximum(a, 2.0 ** -40))), least) - mantissa)
    return (np.sign(x) * np.minimum(np.rint(a / q) * q, most)).astype(f32)


def e4m3(x):
    return minifloat(x, 3, -6, 448)


def e2m1(x):
    return minifloat(x, 1, 0, 6)


def blocks(x, n):
    return x.reshape(*x.shape[:-1], -1, n)


def mx(x, element, exponent):
    b = blocks(x, 32)
    m = np.maximum(largest(b).astype(np.float64), 2.0 ** -100)
    s = 2.0 ** (np.floor(np.log2(m)) - exponent)
    return (element(b / s) * s).astype(f32).reshape(x.shape)


def nvfp4(x):  # the scale above the blocks is of the row
    b, g = blocks(x, 16), (largest(x) / f32(448 * 6))[..., None]
    s = e4m3(largest(b) / f32(6) / np.where(g > 0, g, f32(1))) * g
    return np.where(s > 0, e2m1(b / np.where(s > 0, s, f32(1))) * s, f32(0)).astype(f32).reshape(x.shape)


# ---- the model ----------------------------------------------------------------------------------
def norm(x, w):
    return (x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-5)).astype(f32) * w


def rotate(x):
    n, half = x.shape[-2], DIM // 2
    angle = np.arange(n)[:, None] * THETA ** (-2.0 * np.arange(half) / DIM)
    c, s = np.cos(angle).astype(f32), np.sin(angle).astype(f32)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * c - b * s, b * c + a * s], -1)


def heads(x, n):
    return x.reshape(len(x), n, DIM).swapaxes(0, 1)


def log_p(ids, q, is_before):
    h, n = W['model.embed_tokens.weight'][ids], len(ids)
    for i in range(LAYERS):
        w = {k.split(f'layers.{i}.')[1][:-7]: v for k, v in W.items() if f'layers.{i}.' in k}
        x = norm(h, w['input_layernorm'])
        Q, K, V = (heads(x @ w[f'self_attn.{p}_proj'].T, m) for p, m in (('q', HEADS), ('k', KV), ('v', KV)))
        K = rotate(q(K)) if is_before else q(rotate(K))
        Q, K, V = rotate(Q), K.repeat(HEADS // KV, 0), q(V).repeat(HEADS // KV, 0)
        a = Q @ K.swapaxes(1, 2) / f32(np.sqrt(DIM)) + np.triu(np.full((n, n), -np.inf, f32), 1)
        a = np.exp(a - a.max(-1, keepdims=True))
        h = h + ((a / a.sum(-1, keepdims=True)) @ V).swapaxes(0, 1).reshape(n, -1) @ w['self_attn.o_proj'].T
        x = norm(h, w['post_attention_layernorm'])
        g = x @ w['mlp.gate_proj'].T
        h = h + (g / (1 + np.exp(-g)) * (x @ w['mlp.up_proj'].T)) @ w['mlp.down_proj'].T
    y = (norm(h, W['model.norm.weight']) @ W['model.embed_tokens.weight'].T).astype(np.float64)[:-1]
    y -= y.max(-1, keepdims=True)
    return y - np.log(np.exp(y).sum(-1, keepdims=True))


REFERENCE = [log_p(s, lambda x: x, False) for s in SETS]
for name, f in {'bf16': lambda x: x, 'int8': lambda x: integers(x, 8), 'int4': lambda x: integers(x, 4),
                'int4-before': lambda x: integers(x, 4), 'mxfp8': lambda x: mx(x, e4m3, 8),
                'mxfp4': lambda x: mx(x, e2m1, 2), 'nvfp4': nvfp4}.items():
    nats = kl = count = 0
    for ids, p in zip(SETS, REFERENCE):
        y = log_p(ids, f, name.endswith('before'))
        nats -= y[np.arange(len(y)), ids[1:]].sum()
        kl += (np.exp(p) * (p - y)).sum()
        count += len(y)
    print(name, f'{nats / count:.7f} {kl / count:.7f}', flush=True)
