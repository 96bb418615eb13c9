#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""smollm2.py GGUF TOKENS: losses of weights rounded to nearest in five formats, by numpy.

Written from the formulas of docs/spec, without a line of sqsim; the package gguf reads the file. A line
a format: name, nats a token over the first sequence. Of weights, since rounded activations differ in
chance with the last bit of every sum before them."""
import json
import struct
import sys
import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

f32 = np.float32
HEADS, KV, LAYERS, DIM, THETA = 9, 3, 30, 64, 1e5
W = {t.name: dequantize(t.data, t.tensor_type) for t in GGUFReader(sys.argv[1]).tensors}


def half_split(w, heads):  # rows of a head in pairs -> halves
    return w.reshape(heads, DIM // 2, 2, -1).swapaxes(1, 2).reshape(w.shape)


for b in range(LAYERS):
    W[f'blk.{b}.attn_q.weight'] = half_split(W[f'blk.{b}.attn_q.weight'], HEADS)
    W[f'blk.{b}.attn_k.weight'] = half_split(W[f'blk.{b}.attn_k.weight'], KV)

with open(sys.argv[2], 'rb') as f:
    head = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
    body = f.read()
part = {k: body[slice(*head[k]['data_offsets'])] for k in ('ids', 'offsets')}
IDS = np.frombuffer(part['ids'], np.int32)[:np.frombuffer(part['offsets'], np.int64)[1]]


# ---- formats of weights, w[n][k] ----------------------------------------------------------------
def step(amax, most):
    s = (amax / f32(most)).astype(f32)
    return np.where(s > 0, s, f32(1))


def groups(w, n):  # [rows][groups][n], the last group filled with zeros
    return np.pad(w, ((0, 0), (0, -w.shape[1] % n))).reshape(len(w), -1, n)


def integers(x, bits):
    most = 2 ** (bits - 1) - 1
    s = step(np.abs(x).max(-1, keepdims=True), most)
    return np.clip(np.rint(x / s), -most, most) * s


def dense(w, bits):
    return integers(groups(w, 128), bits).reshape(len(w), -1)[:, :w.shape[1]]


def high_of(banks, k):  # the k largest of a bank, of equal ones the first
    order = np.argsort(-np.abs(banks), -1, kind='stable')[..., :k]
    mask = np.zeros(banks.shape, bool)
    np.put_along_axis(mask, order, True, -1)
    return mask


def own(w, bank, k):
    x = groups(w, 128)
    mask = high_of(x.reshape(len(w), -1, bank), k).reshape(x.shape)
    y = np.where(mask, integers(np.where(mask, x, f32(0)), 8), integers(np.where(mask, f32(0), x), 4))
    return y.reshape(len(w), -1)[:, :w.shape[1]]


def e4m3(x):
    x = np.minimum(x, f32(448)).astype(np.float64)
    q = 2.0 ** (np.maximum(np.floor(np.log2(np.maximum(x, 2.0 ** -20))), -6) - 3)
    return np.minimum(np.rint(x / q) * q, 448).astype(f32)


def e2m1(x):
    a = np.minimum(np.abs(x), f32(6))
    q = np.where(a < 2, .5, np.where(a < 4, 1, 2)).astype(f32)
    return np.sign(x) * np.minimum(np.rint(a / q) * q, f32(6))


def nvfp4(w):
    blocks = groups(w, 16)
    g = np.abs(w).max() / f32(448 * 6)
    s = e4m3(np.abs(blocks).max(-1, keepdims=True) / f32(6) / g) * g
    return np.where(s > 0, e2m1(blocks / np.where(s > 0, s, f32(1))) * s, f32(0)).reshape(w.shape)


def split(w, bank, k):  # the step of five with the least squared error
    banks = groups(w, bank)
    mask = high_of(banks, k)
    low = np.abs(np.where(mask, 0, banks)).max(-1, keepdims=True)
    high = np.abs(np.where(mask, banks, 0)).max(-1, keepdims=True)
    t = np.maximum(low / f32(7), high / f32(119))
    g = np.maximum(low.max() / f32(448 * 7), high.max() / f32(448 * 119))
    best, least = None, None
    for i in range(5):
        s = e4m3(t * f32(1 - i / 16) / g) * g
        q = np.rint(banks / np.where(s > 0, s, f32(1)))
        v = np.where(s > 0, np.where(mask, np.clip(q, -136, 119), np.clip(q, -7, 7)) * s, f32(0)).astype(f32)
        e = ((banks.astype(np.float64) - v) ** 2).sum(-1, keepdims=True)
        best, least = (v, e) if best is None else (np.where(e < least, v, best), np.minimum(e, least))
    return best.reshape(w.shape)


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


def loss(q):
    h, n = W['token_embd.weight'][IDS], len(IDS)
    for i in range(LAYERS):
        w = {k.split('.')[2]: v if v.ndim < 2 else q(v) for k, v in W.items() if k.startswith(f'blk.{i}.')}
        x = norm(h, w['attn_norm'])
        Q, K, V = heads(x @ w['attn_q'].T, HEADS), heads(x @ w['attn_k'].T, KV), heads(x @ w['attn_v'].T, KV)
        Q, K, V = rotate(Q), rotate(K).repeat(HEADS // KV, 0), V.repeat(HEADS // KV, 0)
        a = Q @ K.swapaxes(1, 2) / f32(np.sqrt(DIM)) + np.triu(np.full((n, n), -np.inf, f32), 1)
        a = np.exp(a - a.max(-1, keepdims=True))
        o = ((a / a.sum(-1, keepdims=True)) @ V).swapaxes(0, 1).reshape(n, -1)
        h = h + o @ w['attn_output'].T
        x = norm(h, w['ffn_norm'])
        g = x @ w['ffn_gate'].T
        h = h + (g / (1 + np.exp(-g)) * (x @ w['ffn_up'].T)) @ w['ffn_down'].T
    y = (norm(h, W['output_norm.weight']) @ W['token_embd.weight'].T).astype(np.float64)[:-1]
    y -= y.max(-1, keepdims=True)
    return (np.log(np.exp(y).sum(-1)) - y[np.arange(n - 1), IDS[1:]]).mean()


for name, f in {'reference': lambda w: w, 'int6': lambda w: dense(w, 6), 'int4': lambda w: dense(w, 4),
                'sq': lambda w: own(w, 32, 8), 'nvfp4': nvfp4, 'split': lambda w: split(w, 16, 2)}.items():
    print(name, f'{loss(f):.6f}', flush=True)
