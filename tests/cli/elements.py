# SPDX-License-Identifier: Apache-2.0
"""Elements of models/scaled/sq_element.h against ml_dtypes, which no one of this project wrote.

    elements.py PROGRAM          every code; every tie with its neighbours; 10^7 random binary32
    elements.py PROGRAM --all    every finite binary32, 2^32 patterns, of E2M1 and E4M3

Ours saturate (SPEC Q.1), ml_dtypes makes NaN or infinity of what is too large in E4M3FN and E5M2:
inputs are clipped to the largest value first, which changes nothing below it. Exit 0: no difference;
1: differences, the first of each element printed; 77: ml_dtypes is not installed.
"""
import subprocess
import sys

try:
    import ml_dtypes
    import numpy as np
except ImportError:
    sys.exit(77)

TYPES = {
    "e2m1": ml_dtypes.float4_e2m1fn, "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn, "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}
BITS = {"e2m1": 4, "e2m3": 6, "e3m2": 6, "e4m3": 8, "e5m2": 8}
failed = 0


def ours(element, mode, data):
    return subprocess.run([sys.argv[1], element, mode], input=data.tobytes(), stdout=subprocess.PIPE,
                          check=True).stdout


def compare(element, x, what):
    """How many of x, finite, were compared; says which differs first."""
    global failed
    t, top = TYPES[element], float(ml_dtypes.finfo(TYPES[element]).max)
    got = np.frombuffer(ours(element, "encode", x), np.uint8)
    want = np.clip(x, np.float32(-top), np.float32(top)).astype(t).view(np.uint8)
    bad = np.flatnonzero(got != want)
    if len(bad):
        i = bad[0]
        failed = 1
        print(f"{element} {what}: {len(bad)} differ, first {x[i]!r}: {got[i]:#x}, ml_dtypes {want[i]:#x}")
    return len(x)


def codes(element):
    global failed
    t = ml_dtypes.float8_e8m0fnu if element == "e8m0" else TYPES[element]
    code = np.arange(1 << BITS.get(element, 8), dtype=np.uint8)
    got = np.frombuffer(ours(element, "decode", code), np.float32)
    want = code.view(t).astype(np.float32) + np.float32(0)  # a decoded -0 is 0
    same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
    if not same.all():
        failed = 1
        print(f"{element}: code {np.flatnonzero(~same)[0]:#x} decodes differently")
    return want[np.isfinite(want)]


def quick():
    codes("e8m0")
    rng = np.random.default_rng(1)
    for element in TYPES:
        v = np.unique(codes(element))
        tie = ((v[1:].astype(np.float64) + v[:-1]) / 2).astype(np.float32)  # exact
        near = np.concatenate([v, tie, -v[v == 0], [v[-1] * 1.03125, v[-1] * 1.25]]).astype(np.float32)
        for step in (near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))):
            compare(element, step, "ties")
        bits = rng.integers(0, 1 << 32, 1_000_000, dtype=np.uint32).view(np.float32)
        spread = rng.standard_normal(1_000_000, np.float32) * np.float32(v[-1] / 3)
        n = compare(element, bits[np.isfinite(bits)], "random patterns") + compare(element, spread, "random")
        print(f"{element}: {len(v)} values, {len(near) * 3} near ties, {n} random")


def every():
    for element in ("e2m1", "e4m3"):
        n = 0
        for first in range(0, 1 << 32, 1 << 24):
            x = np.arange(first, first + (1 << 24), dtype=np.uint64).astype(np.uint32).view(np.float32)
            n += compare(element, x[np.isfinite(x)], "all")
        print(f"{element}: {n} finite binary32")


every() if "--all" in sys.argv[2:] else quick()
sys.exit(failed)
