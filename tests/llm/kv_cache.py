#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kv_cache.py MODEL SEQUENCES: loss and KL of the embedded model with keys and values in a format, by numpy.

Written from the formulas of docs/spec, without a line of sqsim. A line a format: name, nats a token, KL against
the model as it is. A row is a head of one token."""
import sys
import numpy as np
from numpy_llama import Llama, as_it_is, f32, sequences

MODEL = Llama(sys.argv[1])
SETS = sequences(sys.argv[1] + '/tokens_eval.safetensors')[:int(sys.argv[2])]


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


REFERENCE = [MODEL.log_p(s) for s in SETS]
for name, f in {'bf16': as_it_is, 'int8': lambda x: integers(x, 8), 'int4': lambda x: integers(x, 4),
                'int4-before': lambda x: integers(x, 4), 'mxfp8': lambda x: mx(x, e4m3, 8),
                'mxfp4': lambda x: mx(x, e2m1, 2), 'nvfp4': nvfp4}.items():
    nats = kl = count = 0
    for ids, p in zip(SETS, REFERENCE):
        y = MODEL.log_p(ids, as_it_is, f, name.endswith('before'))
        nats -= y[np.arange(len(y)), ids[1:]].sum()
        kl += (np.exp(p) * (p - y)).sum()
        count += len(y)
    print(name, f'{nats / count:.7f} {kl / count:.7f}', flush=True)
