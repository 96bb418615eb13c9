#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""smollm2.py GGUF TOKENS: losses of weights rounded to nearest in five formats, by numpy.

Written from the formulas of docs/spec, without a line of sqsim; the package gguf reads the file. A line
a format: name, nats a token over the first sequence. Of weights, since rounded activations differ in
chance with the last bit of every sum before them."""
import sys
import numpy as np
from numpy_llama import Llama, f32, sequences


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


MODEL, IDS = Llama(sys.argv[1]), sequences(sys.argv[2])[0]
for name, f in {'reference': lambda w: w, 'int6': lambda w: dense(w, 6), 'int4': lambda w: dense(w, 4),
                'sq': lambda w: own(w, 32, 8), 'nvfp4': nvfp4, 'split': lambda w: split(w, 16, 2)}.items():
    y = MODEL.log_p(IDS, f)
    print(name, f'{-y[np.arange(len(y)), IDS[1:]].mean():.6f}', flush=True)
