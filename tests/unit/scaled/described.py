#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Formats as data (SPEC Q.9) a second time: slow, and written from SPEC alone.

    described.py random PROGRAM DIR FIRST COUNT SEED   so many random descriptions, of the numbers from FIRST
    described.py cases PROGRAM DIR FIRST COUNT SEED    what `sqsim quantize --vectors` asks of a unit for them
    described.py files PROGRAM DIR FILE...             these descriptions, on random weights
    described.py vectors PROGRAM DIR                   the worked vectors V22 to V28 of SPEC, program and model
    described.py values PROGRAM DIR FILE...            grids of these descriptions against what defines their values
    described.py authors PROGRAM DIR hif4|mxfp4 FILE   a description against its authors' arithmetic, restated here

Each encodes random weights by PROGRAM and by the model here, and compares codes, scales, exponents and the scale
above the blocks byte for byte; with LIBRARY (libsqsim.so) in the environment the decoded weights and products too. A line on
what differs first; exit 1 where something does.

Numbers are Python floats. One operation of binary32 is one of binary64, rounded to binary32: that is the one rounding
that SPEC asks for, since a product of two binary32 is exact in binary64, and a quotient in binary64 lies exactly halfway
between two binary32 only where it is exact (53 bits are more than 2 * 24 + 1). Sums and multiples by powers of two that
SPEC calls exact are exact in binary64.
"""
import bisect
import ctypes
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
from fractions import Fraction


def fl(x):
    """The nearest binary32 of a binary64, ties to even."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def fl_exact(x):
    """The nearest binary32 of a rational, ties to even."""
    if x == 0:
        return 0.0
    unit = Fraction(2) ** max(floor_log2(abs(x)) - 23, -149)
    return fl(float(round(x / unit) * unit)) if abs(x) < Fraction(2) ** 128 else math.copysign(math.inf, x)


def to_24_bits(x):
    """A rational rounded to 24 bits, whatever its exponent."""
    unit = Fraction(2) ** (floor_log2(x) - 23)
    return round(x / unit) * unit


def bf(x):
    """The nearest bfloat16 of a normal binary64, ties to even."""
    m, e = math.frexp(x)
    return math.ldexp(round(m * 256), e - 8)


# ---- the description: as much of YAML as it needs --------------------------------------------------------------
class Reader:
    """Mappings and lists, in blocks or in flow; scalars stay text, ~ is None."""

    def __init__(self, text):
        self.lines = []
        for line in text.splitlines():
            line = re.sub(r"(^|\s)#.*", "", line).rstrip()
            if line.strip() and not line.startswith("---"):
                self.lines.append((len(line) - len(line.lstrip()), line.strip()))
        # A list or mapping in flow may go on in the next lines.
        joined = []
        for indent, line in self.lines:
            if joined and sum(joined[-1][1].count(c) for c in "[{") > sum(joined[-1][1].count(c) for c in "]}"):
                joined[-1] = (joined[-1][0], joined[-1][1] + " " + line)
            else:
                joined.append((indent, line))
        self.lines = joined

    def read(self):
        return self.block(self.lines[0][0])

    def block(self, indent):
        if self.lines[0][1].startswith("- "):
            items = []
            while self.lines and self.lines[0][0] == indent and self.lines[0][1].startswith("- "):
                first, line = self.lines[0]
                rest = line[2:].lstrip()
                self.lines[0] = (first + len(line) - len(rest), rest)
                items.append(self.value() if rest[0] in "[{" else self.block(self.lines[0][0]))
            return items
        pairs = {}
        while self.lines and self.lines[0][0] == indent and not self.lines[0][1].startswith("- "):
            key, rest = re.match(r"([^:]+):\s*(.*)", self.lines[0][1]).groups()
            if rest:
                self.lines[0] = (indent, rest)
                pairs[key] = self.value()
            else:
                self.lines.pop(0)
                pairs[key] = self.block(self.lines[0][0])
        return pairs

    def value(self):
        text = self.lines.pop(0)[1]
        if text[0] not in "[{":
            return self.scalar(text)
        self.tokens = re.findall(r"[\[\]{},]|[^\[\]{},]+", text)
        return self.flow()

    @staticmethod
    def scalar(text):
        text = text.strip()
        return None if text == "~" else text.strip("'\"")

    def flow(self):
        token = self.tokens.pop(0).strip()
        close = {"[": "]", "{": "}"}[token]
        items, key = [], None
        pending = None
        while True:
            token = self.tokens.pop(0)
            if token == close:
                break
            if token in "[{":
                self.tokens.insert(0, token)
                pending = self.flow()
            elif token == ",":
                items.append((key, pending))
                key = pending = None
            elif token.strip():
                if close == "}":
                    key, rest = re.match(r"\s*([^:]+):\s*(.*)", token).groups()
                    pending = self.scalar(rest) if rest.strip() else None
                else:
                    pending = self.scalar(token)
            else:
                continue
            filled = token != ","
        if filled:
            items.append((key, pending))
        return dict(items) if close == "}" else [v for _, v in items]


# ---- types of scales: their values by ascending code -----------------------------------------------------------------
def float_values(exponent_bits, fraction_bits, bias, has_subnormals):
    values = []
    for code in range(1 << (exponent_bits + fraction_bits)):
        e, m = code >> fraction_bits, code & ((1 << fraction_bits) - 1)
        if e == 0 and has_subnormals:
            values.append(math.ldexp(m, 1 - bias - fraction_bits))
        else:
            values.append(math.ldexp((1 << fraction_bits) + m, e - bias - fraction_bits))
    return values[:-1]  # the uppermost code is no number


SCALES = {
    "e4m3": float_values(4, 3, 7, True),
    "ue5m3": float_values(5, 3, 15, True),
    "e6m2": float_values(6, 2, 48, False),
    "e8m0": [math.ldexp(1, c - 127) for c in range(255)],
}


class FloatScale:
    """binary16, bfloat16, binary32: sign, exponent, fraction bits and bias; codes by arithmetic, since there are too many."""

    def __init__(self, exponent_bits, fraction_bits):
        self.f, self.bias, self.width = fraction_bits, (1 << (exponent_bits - 1)) - 1, 1 + exponent_bits + fraction_bits
        self.last = ((1 << exponent_bits) - 1 << fraction_bits) - 1

    def __getitem__(self, code):
        e, m = (code & (1 << self.width - 1) - 1) >> self.f, code & (1 << self.f) - 1
        v = math.ldexp(m + ((1 << self.f) if e else 0), max(e, 1) - self.bias - self.f)
        return -v if code >> self.width - 1 else v

    def code(self, x):
        if x == 0:
            return 0
        e = max(floor_log2(abs(x)), 1 - self.bias)
        m = round(Fraction(abs(x)) / Fraction(2) ** (e - self.f))  # ties to even
        return min((e + self.bias - 1 << self.f) + m, self.last) | (1 << self.width - 1 if x < 0 else 0)


SCALES.update(f16=FloatScale(5, 10), bf16=FloatScale(8, 7), f32=FloatScale(8, 23))


def scale_code(values, x):
    """The nearest, ties to the even code, held to the ends."""
    if isinstance(values, FloatScale):
        return values.code(x)
    i = bisect.bisect_left(values, x)
    if i == 0 or i == len(values):
        return min(i, len(values) - 1)
    below, above = x - values[i - 1], values[i] - x
    if below == above:
        return i if i % 2 == 0 else i - 1
    return i if above < below else i - 1


def floor_log2(x):
    """Of a positive rational."""
    x = Fraction(x)
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


def named_grid(word, bits):
    """int, mxint, uint, offset, twos and eXmY as lists of texts."""
    n, half = 1 << bits, 1 << bits - 1
    if word == "uint":
        values = list(range(n))
    elif word == "offset":
        values = [c - half for c in range(n)]
    elif word in ("int", "mxint", "twos"):
        values = [c if c < half else None if c == half and word != "twos" else c - n for c in range(n)]
        if word == "mxint":  # as MXINT8, in units of 1/64
            values = [None if v is None else Fraction(v) / 2 ** (bits - 2) for v in values]
    else:
        x, y = int(word[1]), int(word[3])
        assert x + y + 1 == bits
        bias = 2 ** (x - 1) - 1
        values = [Fraction(m, 2 ** y) * Fraction(2) ** (1 - bias) if e == 0 else (1 + Fraction(m, 2 ** y)) * Fraction(2) ** (e - bias)
                  for e in range(2 ** x) for m in range(2 ** y)]
        if word == "e4m3":
            values[-1] = None
    return [None if v is None else str(v) for v in values]


# ---- grids -----------------------------------------------------------------------------------------------------------
class Grid:
    def __init__(self, name, texts, bits, is_away):
        self.name, self.bits, self.is_away = name, bits, is_away
        texts = named_grid(texts, bits) if isinstance(texts, str) else texts
        given = [None if t is None else float(Fraction(t)) for t in texts]
        self.is_signed = len(given) == 1 << (bits - 1)
        assert self.is_signed or len(given) == 1 << bits, f"{name} has {len(given)} values"
        self.value = {c: v for c, v in enumerate(given) if v is not None}
        if self.is_signed:
            self.value.update({c | 1 << (bits - 1): -v for c, v in list(self.value.items())})
        # What a quotient is compared with: of magnitudes those without a sign; of two zeros the lower code.
        self.sorted = []
        for c, v in sorted((c, v) for c, v in enumerate(given) if v is not None):
            if v not in [u for u, _ in self.sorted]:
                self.sorted.append((v, c))
        self.sorted.sort()
        self.given = given

    def code(self, q):
        if self.is_signed:
            return self.nearest(abs(q)) | (int(math.copysign(1, q) < 0) << (self.bits - 1))
        return self.nearest(q)

    def nearest(self, q):
        q = min(max(q, self.sorted[0][0]), self.sorted[-1][0])
        best = min(abs(q - v) for v, _ in self.sorted)  # exact where two may be equal
        near = [c for v, c in self.sorted if abs(q - v) == best]
        if len(near) == 1:
            return near[0]
        if self.is_away:
            return max(near, key=lambda c: (abs(self.value[c]), -self.value[c]))  # of two signs the one below 0
        lone = 1 << (self.bits - 1)  # where two's complement has no value, and what has no sign of its own
        if lone in near and self.value[lone] != 0:
            near.remove(lone)
            return near[0]
        even = [c for c in near if c % 2 == 0]
        if near[0] >> (self.bits - 1) == near[1] >> (self.bits - 1) and len(even) == 1:
            return even[0]
        return min(near)

    def zero(self):
        return self.nearest(0.0)


# ---- the format ------------------------------------------------------------------------------------------------------
class Format:
    def __init__(self, text):
        self.text = text
        d = Reader(text).read()
        self.name = d["name"]
        self.bits = int(d["elements"]["bits"])
        is_away = d["elements"].get("ties") == "away"
        self.grids = [Grid(n, v, self.bits, is_away) for n, v in d["elements"]["grids"].items()]
        top, *levels = d["blocks"]
        self.integer = None  # of sub-blocks: length, bits, whether with a sign
        if levels and levels[0]["scale"] != "pow2":
            sign, bits = re.fullmatch(r"(u?)int(\d)", levels[0]["scale"]).groups()
            self.integer = int(levels.pop()["length"]), int(bits), not sign
        self.length, self.scale = int(top["length"]), top["scale"]
        self.values = SCALES[self.scale]
        self.levels = self.read_levels(levels)
        rules = top.get("rule", "") if isinstance(top.get("rule", ""), list) else [top.get("rule", "")]
        parts = [re.fullmatch(r"(floor|ceil|even)?\s*\(?\s*(?:(amax|max|range|rms|mean|l2|least_squares|percentile\(\s*[^)]+\))\s*/\s*([^)\s]+))?\s*\)?",
                              r).groups() for r in rules]
        self.exponent_rule = parts[0][0]
        self.statistic = (parts[0][1] or "amax").split("(")[0]
        if self.statistic == "percentile":
            self.percentile = fl(float(parts[0][1].split("(")[1].rstrip(")")))
        self.zero = top.get("zero", "none")
        self.zero_bits = 16 if self.zero in ("f16", "min") else int(top.get("zero_bits", self.bits)) if self.zero == "int" else 0
        self.keep, self.keep_unit = [int(n) for n in top.get("keep", [0, 0])], 2 if top.get("keep_by") == "pairs" else 1
        divisors = [fl(float(Fraction(c)) if c else self.largest * 2.0 ** self.reach) for _, _, c in parts]
        if len(divisors) == 1:
            self.tries = [(g, divisors[0]) for g in range(len(self.grids))]
        elif len(self.grids) == 1:
            self.tries = [(0, c) for c in divisors]
        else:
            assert len(divisors) == len(self.grids)
            self.tries = list(enumerate(divisors))
        self.below, self.above = [int(n) for n in top.get("search", [0, 0])]
        self.is_searched = "search" in top
        self.is_absolute = top.get("by") == "absolute_error"
        self.is_sign = top.get("stored") == "scale_sign"
        self.grid_bits = 0 if self.is_sign else (len(self.grids) - 1).bit_length()
        self.tensor_scale, self.operands = d["tensor_scale"], d.get("operands", "both")
        self.has_global = self.tensor_scale != "none"
        self.is_bfloat16 = top.get("divide") == "bfloat16"

    def read_levels(self, levels):
        """(length, bits, at) from the outer one; `at` not given: the power of two above the largest value with the exponents below."""
        self.largest = max(abs(v) for g in self.grids for v in g.value.values())
        self.reach, read = 0, []
        for level in reversed(levels):
            bits = int(level["bits"])
            at = float(Fraction(level["at"])) if "at" in level else 2.0 ** (floor_log2(self.largest * 2.0 ** self.reach) + 1)
            read.insert(0, (int(level["length"]), bits, fl(at)))
            self.reach += (1 << bits) - 1
        return read

    def above_blocks(self, rows):
        """The binary32 above the blocks of weights."""
        amax = max(abs(x) for row in rows for x in row)
        if not self.has_global or amax == 0:
            return 1.0
        return fl(amax / fl(self.values[-1] * self.tries[0][1])) or 1.0

    def above_token(self, token):
        """That of a token of activations: `token2` the smallest power of two at which nothing is out of reach."""
        amax, limit = max(map(abs, token)), fl(self.values[-1] * self.tries[0][1])
        if self.tensor_scale != "token2" or amax == 0:
            return self.above_blocks([token])
        if amax < 2.0 ** -126:
            return 1.0
        e = floor_log2(Fraction(amax) / Fraction(limit))
        e += Fraction(2) ** e * Fraction(limit) < Fraction(amax)
        return fl(2.0 ** e) or 1.0

    def dropped(self, x):
        """A block in which the elements that are not kept are 0."""
        n, m, unit, x = *self.keep, self.keep_unit, list(x)
        for first in range(0, self.length if m else 0, m or 1):
            units = [list(range(i, i + unit)) for i in range(first, first + m, unit)]
            units.sort(key=lambda u: -fl(sum(abs(x[i]) for i in u)))  # stable
            for i in sum(units[n // unit:], []):
                x[i] = 0.0
        return x

    def stored(self, codes, zero):
        """Of the codes of a block those that are stored, and the bits that say which."""
        n, m, unit = *self.keep, self.keep_unit
        if not m:
            return codes, []
        out, bits = [], []
        for first in range(0, self.length, m):
            units = [codes[i:i + unit] for i in range(first, first + m, unit)]
            order = sorted(range(len(units)), key=lambda u: units[u] == [zero] * unit)
            kept = sorted(order[:n // unit])
            out += sum((units[u] for u in kept), [])
            bits += [int(u in kept) for u in range(len(units))]
        return out, bits

    def divided(self, x, amax):
        """What the rule divides."""
        total = 0.0
        for v in x:
            total += abs(v) if self.statistic == "mean" else v * v
        if self.statistic == "max":
            return max(x) if max(x) >= -min(x) else min(x)
        if self.statistic == "range":
            return fl(max(x) - min(x)) if self.zero != "int" else fl(max(max(x), 0.0) - min(min(x), 0.0))
        if self.statistic == "percentile":
            return sorted(abs(v) for v in x)[math.ceil(self.percentile * self.length / 100) - 1]
        return {"mean": fl(total / self.length), "rms": fl(math.sqrt(total / self.length)), "l2": fl(math.sqrt(total))}.get(self.statistic, amax)

    def fitted(self, x, grid, code, g):
        """least_squares: four times the scale that fits the elements which the scale before gives."""
        for _ in range(4):
            step, products, squares = self.step(code, g), 0.0, 0.0
            for v in x if step else []:
                e = self.grids[grid].value[self.grids[grid].code(fl(v / step))]
                products += v * e
                squares += e * e
            fit = fl(products / squares) if squares else 0.0
            code = scale_code(self.values, fl(fit / g)) if fit > 0 else code
        return code

    def zero_point(self, x, step):
        """The stored zero point, what it adds to quotients, and what to values."""
        lowest, half = min(x), FloatScale(5, 10)
        if self.zero == "int":
            z = min(max(round(fl(-min(lowest, 0.0) / step)), 0), (1 << self.zero_bits) - 1) if step else 0
            return z, float(z), 0.0
        if self.zero == "min":
            return half.code(lowest), 0.0, half[half.code(lowest)]
        if self.zero == "f16":
            code = half.code(fl(-lowest / step)) if step else 0
            return code, 0.0, fl(-(half[code] * step))
        return 0, 0.0, 0.0

    def first_code(self, grid, c, amax, g):
        if self.is_bfloat16:
            return scale_code(self.values, bf(amax * bf(1 / c)))
        if self.scale != "e8m0":
            return scale_code(self.values, fl(fl(amax / c) / g))
        if self.exponent_rule == "ceil":
            e = floor_log2(Fraction(amax) / Fraction(c))
            e += Fraction(c) * Fraction(2) ** e < Fraction(amax)
        else:
            x = Fraction(amax)
            if self.exponent_rule == "even":
                low = Fraction(2) ** floor_log2(c)
                m = sum(low <= v < 2 * low for v, _ in self.grids[grid].sorted).bit_length() - 1
                unit = Fraction(2) ** (floor_log2(x) - m)
                x = math.floor(x / unit + Fraction(1, 2)) * unit
            e = floor_log2(x) - floor_log2(c)
        return min(max(e + 127, 0), 254)

    def step(self, code, g):
        s = self.values[code]
        return s if self.scale == "e8m0" else fl(s * g)

    def quotient(self, x, step):
        return x * bf(1 / step) if self.is_bfloat16 else fl(x / step)

    def attempt(self, x, grid, code, g):
        """Exponents of the levels, codes, and what they stand for, of the real elements of a block."""
        step = self.step(code, g)
        self.z, up, offset = self.zero_point(x, step) if any(x) else (0, 0.0, 0.0)
        exponents, outer = [], [0] * self.length
        for length, bits, at in self.levels:
            mine = []
            for i in range(0, self.length, length):
                amax = max([abs(v) for v in x[i:i + length]], default=0.0)
                e = 0
                if step > 0:
                    q = math.ldexp(self.quotient(amax, step), -outer[i])
                    while e < (1 << bits) - 1 and math.ldexp(q, -e) >= at:
                        e += 1
                mine.append(e)
            exponents.append(mine)
            outer = [o + mine[i // length] for i, o in enumerate(outer)]
        codes, values = [], []
        for i in range(self.length):
            v = x[i] if i < len(x) else 0.0
            if step == 0:
                code = self.grids[grid].zero()
            elif self.zero != "none":
                code = self.grids[grid].code(fl(fl(fl(v - offset) / step) + up))
            else:
                code = self.grids[grid].code(self.quotient(v, fl(math.ldexp(step, outer[i]))))
            codes.append(code)
            values.append(fl(fl(math.ldexp(self.grids[grid].value[code] - up, outer[i]) * step) + offset))
        return exponents, codes, values

    def with_integers(self, x):
        """Sub-blocks with integers: code of the scale, the integers of scales and of minima, codes and values."""
        length, bits, is_signed = self.integer
        top, grid, half = (1 << bits - is_signed) - 1, self.grids[0], FloatScale(5, 10)
        parts = [x[i:i + length] for i in range(0, self.length, length)]
        if self.zero == "min":
            wanted = [fl(max(max(p), 0.0) - min(min(p), 0.0)) for p in parts]
        else:
            wanted = [max(abs(v) for v in p) if self.statistic == "amax" else max(p) if max(p) >= -min(p) else min(p) for p in parts]
        wanted = [fl(w / self.tries[0][1]) for w in wanted]
        below = [-min(min(p), 0.0) if self.zero == "min" else 0.0 for p in parts]
        code, least = self.values.code(fl(max(map(abs, wanted)) / top)), half.code(fl(max(below) / top))
        s, m = self.values[code], half[least]
        near = lambda v, by, low: min(max(round(fl(v / by)), low), top) if by else 0
        integers, minima = [near(a, s, -top - 1 if is_signed else 0) for a in wanted], [near(b, m, 0) for b in below]
        self.z, codes, values = least, [], []
        for p, i, k in zip(parts, integers, minima):
            step, less = fl(i * s), fl(k * m)
            codes += [grid.code(fl((fl(v + less) if self.zero == "min" else v) / step) if step else 0.0) for v in p]
            values += [fl(fl(grid.value[c] * step) - less) for c in codes[-length:]]
        return code, [i & (1 << bits) - 1 for i in integers] + (minima if self.zero == "min" else []), codes, values

    def block(self, x, g):
        """Of real elements x: grid, code of the scale, exponents, codes, values."""
        x = self.dropped(x + [0.0] * (self.length - len(x)))  # elements behind the last count as zeros
        amax = max(abs(v) for v in x)
        if self.integer:
            code, self.integers_of, *rest = self.with_integers(x)
            return (0, code, []) + tuple(rest)
        if amax == 0:
            return (self.tries[0][0], 0) + self.attempt(x, self.tries[0][0], 0, g)
        best = None
        for grid, c in self.tries:
            first = self.first_code(grid, c, self.divided(x, amax), g)
            if self.statistic == "least_squares":
                first = self.fitted(x, grid, first, g)
            near = range(first - self.below, first + self.above + 1) if self.is_searched else []
            for code in [first] + [min(max(n, 0), len(self.values) - 1) for n in near]:
                got = self.attempt(x, grid, code, g)
                zero = self.z
                error = 0.0
                for v, w in zip(x, got[2]):
                    error += abs(v - w) if self.is_absolute else (v - w) * (v - w)
                if best is None or error < best[0]:
                    best = (error, (grid, code) + got)
        self.z = zero
        return best[1]

    def encode(self, rows):
        """The tensors of a file, as bytes by name, and the decoded rows."""
        g = self.above_blocks(rows)
        out = {"codes": b"", "scale": b""}
        if self.has_global:
            out["global"] = struct.pack("<f", g)
        if self.grid_bits or self.levels or self.zero_bits or self.integer:
            out["sub"] = b""
        if self.keep[1]:
            out["mask"] = b""
        decoded = []
        for row in rows:
            codes, mask, sub, back = Bits(), Bits(), Bits(), []
            for first in range(0, len(row), self.length):
                grid, scale, exponents, block, values = self.block(row[first:first + self.length], g)
                out["scale"] += (scale | (grid << 7 if self.is_sign else 0)).to_bytes({"f16": 2, "bf16": 2, "f32": 4}.get(self.scale, 1), "little")
                sub.put(grid, self.grid_bits)
                for (_, bits, _), level in zip(self.levels, exponents):
                    for e in level:
                        sub.put(e, bits)
                for i in self.integers_of if self.integer else []:
                    sub.put(i, self.integer[1])
                sub.put(self.z, self.zero_bits)
                block, kept = self.stored(block, self.grids[grid].zero())
                for bit in kept:
                    mask.put(bit, 1)
                for c in block:
                    codes.put(c, self.bits)
                back += [v + 0.0 for v in values]
            out["codes"] += codes.bytes()
            for name, stream in (("sub", sub), ("mask", mask)):
                if name in out:
                    out[name] += stream.bytes()
            decoded.append(back[:len(row)])
        return out, decoded


    def integers(self, row, g):
        """A row as products take it: of each block its scale and its elements."""
        for first in range(0, len(row), self.length):
            grid, code, exponents, codes, _ = self.block(row[first:first + self.length], g)
            up = [sum(level[i // length] for (length, _, _), level in zip(self.levels, exponents)) for i in range(self.length)]
            real = len(row) - first  # elements behind the last are zeros
            z = self.z if self.zero == "int" else 0
            yield Fraction(self.values[code]), [(Fraction(self.grids[grid].value[c]) - z) * 2 ** u if i < real else Fraction(0)
                                                for i, (c, u) in enumerate(zip(codes, up))]

    def blocks(self, row, g, is_weight):
        """The blocks of Q.7: with minima four of each, codes and ones in turn."""
        for j, (s, elements) in enumerate(self.integers(row, g)):
            if self.zero != "min":
                yield s, elements
                continue
            m = Fraction(SCALES["f16"][self.z]), [Fraction(j * self.length + i < len(row)) for i in range(self.length)]
            for u in range(4):
                yield m if (u & 1 if is_weight else u >> 1) else (s, elements)

    def product(self, rows, tokens):
        """y[m][n] by SPEC Q.7."""
        y, g_w = [], self.above_blocks(rows)
        weights = [list(self.blocks(row, g_w, True)) for row in rows] if self.operands == "both" else []
        for token in tokens:
            if self.operands == "weights":
                back = self.encode(rows)[1]
                y.append([fl(sum_in_order(v * x for v, x in zip(row, token))) + 0.0 for row in back])
                continue
            g = self.above_token(token)
            both, line = to_24_bits(Fraction(g_w) * Fraction(g)), []
            x = list(self.blocks(token, g, False))
            for w in weights:
                total = 0.0
                for (s_w, a), (s_x, b) in zip(w, x):
                    p = fl_exact(sum(u * v for u, v in zip(a, b)))
                    s = s_w * s_x and to_24_bits(s_w * s_x)
                    total = fl(total + fl_exact(Fraction(p) * s))
                line.append(fl_exact(Fraction(total) * both) + 0.0)
            y.append(line)
        return y


def sum_in_order(terms):
    total = 0.0
    for t in terms:
        total += t
    return total


class Bits:
    """A stream, least significant bit first."""

    def __init__(self):
        self.value, self.n = 0, 0

    def put(self, x, n):
        self.value |= (x & (1 << n) - 1) << self.n
        self.n += n

    def bytes(self):
        return self.value.to_bytes((self.n + 7) // 8, "little")


# ---- files and the program -----------------------------------------------------------------------------------------
def write_weights(path, rows):
    data = b"".join(struct.pack(f"<{len(r)}f", *r) for r in rows)
    header = json.dumps({"w.weight": {"dtype": "F32", "shape": [len(rows), len(rows[0])], "data_offsets": [0, len(data)]}})
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(header)) + header.encode() + data)


def read_tensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    at = {n: t["data_offsets"] for n, t in header.items() if n != "__metadata__"}
    return {n.split(".")[-1]: data[a:b] for n, (a, b) in at.items()}, header.get("__metadata__", {})


def by_library(path, n, k, tokens):
    """What the library makes of a file: its decoded rows, and the product with tokens. None without LIBRARY."""
    if "LIBRARY" not in os.environ:
        return None
    lib, m = ctypes.CDLL(os.environ["LIBRARY"]), len(tokens)
    error, file, layer = ctypes.create_string_buffer(512), ctypes.c_void_p(), ctypes.c_void_p()
    w, x, y = (ctypes.c_float * (n * k))(), (ctypes.c_float * (m * k))(*sum(tokens, [])), (ctypes.c_float * (m * n))()
    for call in (lambda: lib.sqsim_file_open(path.encode(), None, ctypes.byref(file), error),
                 lambda: lib.sqsim_file_load(file, ctypes.c_size_t(0), ctypes.byref(layer), error),
                 lambda: lib.sqsim_decode(layer, w, error),
                 lambda: lib.sqsim_product(layer, x, ctypes.c_size_t(m), y, error)):
        if call():
            raise AssertionError(error.raw[4:].split(b"\0")[0].decode())
    lib.sqsim_layer_free(layer)
    lib.sqsim_file_close(file)
    return [list(w[i * k:(i + 1) * k]) for i in range(n)], [list(y[i * n:(i + 1) * n]) for i in range(m)]


def first_difference(what, got, want):
    for i, (a, b) in enumerate(zip(got, want)):
        for j, (v, u) in enumerate(zip(a, b)):
            if struct.pack("<f", v) != struct.pack("<f", u):
                return f"{what}[{i}][{j}] is {v!r}, want {u!r}"
    return None


def compare(program, where, text, rows, tokens):
    """None, or a sentence on what differs between program and model."""
    yaml, weights, encoded = (os.path.join(where, n) for n in ("d.yaml", "w.safetensors", "e.st"))
    with open(yaml, "w") as f:
        f.write(text)
    write_weights(weights, rows)
    static = ["--act-scale", "token"] if "tensor_scale: tensor" in text else []  # of activations, which need calibration
    for command in (["quantize", weights, "--format", yaml, "-o", encoded] + static, ["inspect", encoded]):
        done = subprocess.run([program] + command, capture_output=True, text=True)
        if done.returncode:
            return f"{command[0]}: exit {done.returncode}: {done.stderr.strip()}"
    f = Format(text)
    want, back = f.encode(rows)
    got, metadata = read_tensors(encoded)
    if set(got) != set(want):
        return f"tensors {sorted(got)}, want {sorted(want)}"
    for name in ("global", "scale", "sub", "mask", "codes"):
        if got.get(name) != want.get(name):
            a, b = got[name], want[name]
            if len(a) != len(b):
                return f"{name}: {len(a)} bytes, want {len(b)}"
            i = next(i for i in range(len(a)) if a[i] != b[i])
            return f"{name}: byte {i} of {len(a)} is {a[i]:#04x}, want {b[i]:#04x}"
    if "description" not in metadata:
        return "the file has no description"
    read = by_library(encoded, len(rows), len(rows[0]), tokens)
    return read and (first_difference("decoded", read[0], back) or
                     first_difference("product", read[1], f.product(rows, tokens)))


# ---- cases of a unit ------------------------------------------------------------------------------------------------
def real(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def taken_apart(f, scale, sub):
    """Grid, code of the scale, and the exponents of elements, from what is stored beside the codes."""
    grid = scale >> 7 if f.is_sign else sub[0] >> 4 if sub else 0
    leaf = f.length // len(sub) if sub else f.length
    up = [sum(sub[e // leaf] >> 2 * l & 3 for l in range(len(f.levels))) for e in range(f.length)]
    return grid, scale & 127 if f.is_sign else scale, up


def put_together(f, grid, code, exponents):
    leaf = f.levels[-1][0] if f.levels else f.length
    sub = [(0 if f.is_sign else grid << 4) | sum(level[at // length] << 2 * l for l, ((length, _, _), level)
                                                 in enumerate(zip(f.levels, exponents))) for at in range(0, f.length, leaf)]
    out = {"scale": [code | (grid << 7 if f.is_sign else 0)]}
    return {**out, "sub": sub} if f.grid_bits or f.levels else out


def answer(f, rule, i):
    """What the case i of `sqsim quantize --vectors` asks of a unit for the format f."""
    if rule in ("decode", "encode", "tie"):
        grid = f.grids[i["grid"][0] if "grid" in i else i["scale"][0] >> 7 if "scale" in i else 0]
        if rule == "decode":
            return {"value": [struct.unpack("<I", struct.pack("<f", grid.value[i["code"][0]] + 0.0))[0]]}
        return {"code": [grid.code(real(i["x"][0]))]}
    if rule in ("scale", "code"):
        x, g = [real(bits) for bits in i["x"]], real(i["global"][0]) if "global" in i else 1.0
        if rule == "scale":
            return put_together(f, *f.block(x, g)[:3])
        grid, code, _ = taken_apart(f, i["scale"][0], i.get("sub", []))
        return {"code": f.attempt(x, grid, code, g)[1]}
    total, blocks = 0.0, len(i["w_scale"])
    for j in range(blocks):
        sides = []
        for side in "wx":
            sub = i.get(side + "_sub", [])
            sub = sub[len(sub) // blocks * j:len(sub) // blocks * (j + 1)]
            grid, code, up = taken_apart(f, i[side + "_scale"][j], sub)
            codes = i[side + "_code"][j * f.length:(j + 1) * f.length]
            sides.append((Fraction(f.values[code]), [Fraction(f.grids[grid].value[c]) * 2 ** u for c, u in zip(codes, up)]))
        (s_w, a), (s_x, b) = sides
        p = fl_exact(sum(u * v for u, v in zip(a, b)))
        total = fl(total + fl_exact(Fraction(p) * s_w * s_x))
    return {"y": [struct.unpack("<I", struct.pack("<f", total))[0]]}


def cases(program, where, text):
    """None, or the first case of the suite of a format whose answer is another here."""
    with open(os.path.join(where, "d.yaml"), "w") as yaml:
        yaml.write(text)
    done = subprocess.run([program, "quantize", "--vectors", "--format", yaml.name, "--output", where], capture_output=True, text=True)
    if done.returncode:
        return f"vectors: exit {done.returncode}: {done.stderr.strip()}"
    f = Format(text)
    with open(os.path.join(where, f"{f.name}.jsonl")) as suite:
        for line in suite:
            case = json.loads(line)
            got = answer(f, case["rule"], case["in"])
            if got != case["out"]:
                return f"rule {case['rule']}, case {case['case']}: {case['out']}, want {got}"
    return None


# ---- random descriptions and weights ---------------------------------------------------------------------------------
def number(rng, x):
    """A multiple of 2^-9 as text."""
    text = f"{x:.9f}".rstrip("0").rstrip(".") if x % 1 else str(int(x))
    return re.sub(r"^(-?)0\.", r"\1.", text) if rng.random() < .5 else text


def random_grid(rng, bits, unit, most):
    """A list of values in the order of their codes: signed or not, with codes of no value, and 0 somewhere."""
    if bits == 1:
        return [v * unit for v in rng.sample([v for v in range(-min(most, 9), min(most, 9) + 1)], 2)]
    most = int(most)
    is_signed = rng.random() < .6
    n = 1 << (bits - is_signed)
    pool = [i for i in range(0 if is_signed else -most, most + 1) if i]
    kept = rng.sample(pool, min(n - 1, len(pool)))
    order = rng.random()
    values = [0] + (sorted(kept) if order < .4 else sorted(kept, key=lambda v: (v < 0, abs(v))) if order < .7 else kept)
    if order > .9:
        rng.shuffle(values)
    holes = n - len(values)
    if n > 4 and rng.random() < .2:
        holes = min(holes + rng.randrange(n // 4), n - 2)
    while len([v for v in values if v is not None]) + holes > n:
        values.remove(rng.choice([v for v in values if v]))
    for _ in range(holes):
        values.insert(rng.randrange(len(values) + 1), None)
    if not is_signed and rng.random() < .2:  # a second code of zero
        values[rng.choice([i for i, v in enumerate(values) if v != 0])] = 0
    if not any(values):
        return random_grid(rng, bits, unit, most)
    return [None if v is None else v * unit for v in values]


def with_integers(rng, name):
    """Sub-blocks with integers: scales of scales."""
    inner = rng.choice([8, 16, 32, 64])
    length = inner * rng.choice([n for n in (2, 4, 8, 16) if inner * n <= 256])
    has_min, bits = rng.random() < .5, rng.randrange(2, 7)
    sign = "u" if has_min or rng.random() < .3 else ""
    rule = "range" if has_min else rng.choice(["amax", "max"]) if not sign else "amax"
    grid = rng.choice(["uint", "offset", "twos"] if has_min else ["uint", "offset", "twos", "int"])
    top = {"length": str(length), "scale": rng.choice(["f16", "f16", "bf16", "f32"]), "rule": f"{rule} / {'-' * (rule == 'max' and rng.random() < .5)}{(1 << bits) - 1}"}
    if has_min:
        top["zero"] = "min"
    return {"name": name, "elements": {"bits": str(bits), "grids": {"g": grid}}, "tensor_scale": "none", "operands": "weights",
            "blocks": [top, {"length": str(inner), "scale": f"{sign}int{rng.choice([4, 6, 8])}"}]}


def random_description(rng, name):
    levels = rng.choice([0, 0, 0, 1, 2])
    length = rng.choice([8, 16, 16, 32, 32, 64, 128, 256] if not levels else [16, 32, 64])
    level, inner, exponents = [], length, 0
    for _ in range(levels):
        inner = rng.choice([l for l in (4, 8, 16, 32) if l < inner] or [0])
        if inner:
            bits = rng.choice([1, 1, 2])
            level.append({"length": inner, "scale": "pow2", "bits": bits})
            if rng.random() < .7:
                level[-1]["at"] = number(rng, rng.choice([1, 1.75, 2, 3.5, 4, 6]))
            exponents += (1 << bits) - 1
    if (127 >> exponents) < 3:
        return random_description(rng, name)
    bits, n_grids = rng.choice([1, 2, 3, 4, 4, 4, 5, 6, 7, 8]), rng.choice([1, 1, 1, 2, 2, 3, 4, rng.randrange(5, 17)])
    unit, most = 2.0 ** -rng.choice([0, 1, 1, 2, 3, 7, 9]), min(2047 >> exponents, rng.choice([6, 12, 31, 127, 2000]))
    scale = rng.choice(["e4m3", "e4m3", "e8m0", "ue5m3", "e6m2", "f16", "f16", "bf16", "f32"])
    zero = rng.choice(["none", "int", "f16", "min"]) if levels == 0 and scale != "e8m0" else "none"
    if zero != "none" or bits == 1:
        n_grids = 1
    grids = {f"g{i}": random_grid(rng, bits, unit, min(most, 512 / unit)) for i in range(n_grids)}
    if zero != "none" or ((1 << bits + 2) << exponents <= 2047 and rng.random() < .3):
        words = ["uint", "twos", "offset"] + ["int", "mxint"] * (bits > 1) + [f"e{x}m{bits - 1 - x}" for x in range(1, min(bits, 5))]
        if n_grids > 1 or levels:  # together they reach at most 2047
            words = [w for w in words if w in ("int", "uint", "twos", "offset", "e1m2", "e2m1")]
        grids = {name: rng.choice(words) if zero == "none" else rng.choice(["uint", "uint", "twos", "offset"]) for name in grids}
    if n_grids == 1 and rng.random() < .15:  # a grid may lack 0
        grids = {n: g if isinstance(g, str) or len({v for v in g if v}) < 2 or min(v or 0 for v in g) == 0 and len(g) < 1 << bits else
                 [v or None for v in g] for n, g in grids.items()}
    tops = [max(abs(float(Fraction(v))) for v in (named_grid(g, bits) if isinstance(g, str) else g) if v) for g in grids.values()]

    def divisor(top):
        return number(rng, top if rng.random() < .6 else rng.choice([.5, 1, 3, 3.7, 6, 7, min(1024, 100 * top)]))

    shared = rng.random()
    if n_grids == 1:
        divisors = [divisor(tops[0]) for _ in range(1 if shared < .6 else rng.randrange(2, 17))]
    else:
        divisors = [divisor(max(tops))] if shared < .3 else [divisor(t) for t in tops]
    divisors = list(dict.fromkeys(divisors)) if n_grids == 1 else divisors
    statistic = "amax"
    if zero != "none":
        divisors, statistic = [number(rng, tops[0] if rng.random() < .5 else (1 << bits) - 1)], "range"
    elif scale != "e8m0" and rng.random() < .4:
        usual = ["rms", "mean", "l2", f"percentile({rng.choice([1, 50, 90, 99, 99.9, 100])})"]
        statistic = rng.choice(usual + ["least_squares"] * (2 * (not level)) + ["max"] * (2 * (scale in ("f16", "bf16", "f32") and not level)))
        if statistic == "max" and rng.random() < .7:
            divisors = [f"-{c}" for c in divisors]
    rules = [f"{statistic} / {c}" for c in divisors]
    if scale == "e8m0":
        word = rng.choice(["floor", "ceil", "even"])
        tries = zip([[None if v is None else float(Fraction(v)) for v in named_grid(g, bits)] if isinstance(g, str) else g for g in grids.values()] * (len(divisors) if n_grids == 1 else 1), divisors * (n_grids if len(divisors) == 1 else 1))
        for g, c in tries:
            low = 2.0 ** floor_log2(Fraction(c))
            n = len({abs(v) if min(u or 0 for u in g) < 0 else v for v in g if v is not None and low <= v < 2 * low})
            if word == "even" and (n == 0 or n & (n - 1)):
                word = "ceil"
        rules = [f"{word}({r})" for r in rules]
    top = {"length": length, "scale": scale, "rule": rules[0] if len(rules) == 1 else rules}
    if zero != "none":
        top["zero"] = zero
        if zero == "int" and rng.random() < .5:
            top["zero_bits"] = str(rng.randrange(1, 9))
    has_0 = all(isinstance(g, str) or 0 in g for g in grids.values())
    if not level and zero == "none" and statistic != "max" and has_0 and rng.random() < .2:
        unit, m = rng.choice([1, 1, 2]), rng.choice([m for m in (4, 8, 16) if m <= length])
        top["keep"] = [str(unit * rng.randrange(1, m // unit)), str(m)]
        if unit == 2 or rng.random() < .2:
            top["keep_by"] = "pairs" if unit == 2 else "elements"
    is_plain = statistic == "amax" and scale not in ("f16", "bf16", "f32")
    if statistic == "amax" and len(rules) == 1 and rng.random() < .1:
        if scale == "e8m0":
            top["rule"] = rng.choice(["floor", "ceil"])
        else:
            del top["rule"]
    if scale != "e8m0" and zero == "none" and statistic != "least_squares" and scale not in ("f16", "bf16", "f32") and rng.random() < .4:
        top["search"] = [str(rng.randrange(0, 17)), str(rng.randrange(0, 17))]
        if top["search"] == ["0", "0"]:
            top["search"] = ["1", "0"]
    if n_grids > 1 or len(rules) > 1 or "search" in top:
        top["by"] = rng.choice(["squared_error", "squared_error", "absolute_error"])
    if n_grids > 1:
        top["stored"] = "scale_sign" if n_grids == 2 and scale == "e4m3" and rng.random() < .7 else "bits"
    tensor = "none" if scale in ("e8m0", "f16", "bf16", "f32") or zero != "none" else rng.choice(["none", "token", "token2", "tensor"])
    has_1 = scale == "f16" and (any(g in ("int", "uint", "twos", "offset") for g in grids.values() if isinstance(g, str)) or
                                any(0 in g and 1 in g for g in grids.values() if not isinstance(g, str)))
    operands = rng.choice(["both", "weights"]) if tensor in ("none", "token") and (zero in ("none", "int") or (zero == "min" and has_1 and bits > 1)) else "both" if zero == "none" else "weights"
    elements = {"bits": bits, "grids": grids}
    if rng.random() < .2:
        elements["ties"] = rng.choice(["away", "even"])
    if tensor == "none" and scale not in ("e8m0", "bf16", "f32") and statistic == "amax" and rng.random() < .4:
        top["divide"] = rng.choice(["bfloat16", "bfloat16", "binary32"])
    return {"name": name, "elements": elements, "blocks": [top] + level, "tensor_scale": tensor, "operands": operands}


def as_text(rng, d):
    """The description as YAML, in blocks or in flow."""
    def scalar(v):
        return "~" if v is None else v if isinstance(v, str) else number(rng, v)

    def flow(v):
        if isinstance(v, dict):
            return "{" + ", ".join(f"{k}: {flow(u)}" for k, u in v.items()) + "}"
        return "[" + ", ".join(flow(u) for u in v) + "]" if isinstance(v, list) else scalar(v)

    out = [f"name: {d['name']}  # of a test"]
    if rng.random() < .5:
        out.append("source: nobody, nowhere")
    if rng.random() < .3:
        out.append(f"elements: {flow(d['elements'])}")
    else:
        out += ["elements:"] + [f"  {k}: {v}" for k, v in d["elements"].items() if k != "grids"]
        if rng.random() < .3:
            out.append(f"  grids: {flow(d['elements']['grids'])}")
        else:
            out += ["  grids:"] + [f"    {n}: {flow(v)}" for n, v in d["elements"]["grids"].items()]
    out.append("blocks:")
    for b in d["blocks"]:
        if rng.random() < .5:
            out.append(f"  - {flow(b)}")
        else:
            out += [("  - " if i == 0 else "    ") + f"{k}: {flow(v)}" for i, (k, v) in enumerate(b.items())]
    out += [f"tensor_scale: {d['tensor_scale']}", f"operands: {d['operands']}"][:1 + (d["operands"] == "weights" or rng.random() < .7)]
    return "\n".join(out) + "\n"


def random_weights(rng, f, k=None):
    """Rows with what is hard: ties, zeros of both signs, blocks far apart, numbers next to ties."""
    n = rng.randrange(1, 4)
    k = k or rng.choice([f.length, 2 * f.length, 2 * f.length + rng.randrange(1, f.length), rng.randrange(1, f.length + 1)])
    spread, base, rows = rng.choice([0, 2, 10, 30]), rng.choice([0, 0, 0, -20, 20, -100]), []
    values = sorted({abs(v) for g in f.grids for v in g.value.values()})
    halves = values + [(a + b) / 2 for a, b in zip(values, values[1:])]
    for _ in range(n):
        row = []
        for first in range(0, k, f.length):
            kind, e = rng.random(), base + rng.randrange(-spread, spread + 1)
            for _ in range(min(f.length, k - first)):
                x = rng.gauss(0, 1) if kind < .5 else rng.choice(halves) if kind < .85 else 0.0
                if kind < .1 and rng.random() < .1:
                    x *= 30
                x = fl(math.ldexp(x * rng.choice([1, -1]), e))
                if .5 <= kind < .85 and rng.random() < .2:
                    x = struct.unpack("<f", struct.pack("<I", max(0, struct.unpack("<I", struct.pack("<f", x))[0] + rng.choice([1, -1]))))[0]
                row.append(x if math.isfinite(x) else 1.0)
        rows.append(row)
    return rows


# ---- the arithmetic of a format's authors ----------------------------------------------------------------------------
def hif4_by_authors(x):
    """64 values as the numpy reference of HiFloat4 leaves them: rational but for its bfloat16 steps."""
    def bf16(v):
        v = Fraction(v)
        unit = Fraction(2) ** (floor_log2(v) - 7)
        return round(v / unit) * unit
    mags = [Fraction(abs(v)) for v in x]
    scale = max(mags) * bf16(Fraction(1, 7))
    scale = min(max(bf16(scale), Fraction(2) ** -48) if scale else Fraction(2) ** -48, Fraction(49152))
    unit = Fraction(2) ** (floor_log2(scale) - 2)
    scale = round(scale / unit) * unit
    inverse, out = bf16(1 / scale), []
    for i in range(64):
        eight, four = i // 8 * 8, i // 4 * 4
        e = int(max(mags[eight:eight + 8]) * inverse >= 4)
        e += max(mags[four:four + 4]) * inverse / 2 ** e >= 2
        m = min(math.floor(mags[i] * inverse / 2 ** e * 4 + Fraction(1, 2)), 7)
        out.append(float(Fraction(m, 4) * 2 ** e * scale) * (-1 if x[i] < 0 else 1))
    return out


def mxfp4_by_authors(x):
    """32 values by the integer arithmetic of compressed-tensors' scales, on bfloat16, and its table of boundaries of E2M1."""
    bits = struct.unpack("<I", struct.pack("<f", max(abs(v) for v in x)))[0] >> 16
    e = (bits + (1 << 5) >> 7) - 2
    if bits == 0:
        return [0.0] * 32
    out = []
    for v in x:
        q = abs(v) / 2.0 ** (e - 127)
        for top, is_in, value in ((.25, 1, 0), (.75, 0, .5), (1.25, 1, 1), (1.75, 0, 1.5), (2.5, 1, 2), (3.5, 0, 3), (5, 1, 4)):
            if q < top or (q == top and is_in):
                break
        else:
            value = 6
        out.append(math.copysign(value * 2.0 ** (e - 127), v) + 0.0)
    return out


def authors(program, where, which, path):
    """100 tensors, ten in a file: the program equals the model, and the model's values are those of the authors."""
    with open(path) as f:
        text = f.read()
    rule, length = {"hif4": (hif4_by_authors, 64), "mxfp4": (mxfp4_by_authors, 32)}[which]
    for t in range(10):
        rng, rows = random.Random(f"{which} {t}"), []
        for tensor in range(10):
            e, spread = rng.randrange(-12, 13), rng.choice([0, 0, 3, 8])
            row = [fl(math.ldexp(rng.gauss(0, 1), e + rng.randrange(-spread, spread + 1))) for _ in range(4 * length)]
            if which == "mxfp4" or tensor % 3 == 0:  # bfloat16, as weights of real files
                row = [struct.unpack("<f", struct.pack("<I", struct.unpack("<I", struct.pack("<f", v))[0] & 0xFFFF0000))[0]
                       for v in row]
            if tensor == 3:
                row[:length] = [0.0] * length
            rows += [row[:2 * length], row[2 * length:]]
        said = compare(program, where, text, rows, rows[:1])
        want = [[v for i in range(0, len(row), length) for v in rule(row[i:i + length])] for row in rows]
        if said is None and Format(text).encode(rows)[1] != want:
            said = "the authors have other values"
        if said:
            print(f"tensors {10 * t}..: {said}")
            return 1
    print(f"{which}: 100 tensors")
    return 0


# ---- ways to call it ---------------------------------------------------------------------------------------------------
def random_ones(program, where, first, count, seed):
    failed = 0
    for i in range(int(first), int(first) + int(count)):
        rng = random.Random(f"{seed} {i}")
        text = as_text(rng, (with_integers if i % 10 == 9 else random_description)(rng, f"random_{i}"))
        f = Format(text)
        rows = random_weights(rng, f)
        said = compare(program, where, text, rows, random_weights(rng, f, len(rows[0])))
        if said:
            failed += 1
            print(f"description {i} of seed {seed}: {said}")
            with open(os.path.join(where, f"failed_{i}.yaml"), "w") as f:
                f.write(text)
    print(f"{count} descriptions, {failed} differ")
    return failed


def random_cases(program, where, first, count, seed):
    failed = 0
    for i in range(int(first), int(first) + int(count)):
        rng = random.Random(f"{seed} {i}")
        text = as_text(rng, random_description(rng, f"random_{i}"))
        said = cases(program, where, text)
        said = None if said and re.search("no RTL|RTL has|vectors have", said) else said
        if said:
            failed += 1
            print(f"description {i} of seed {seed}: {said}"[:400])
    print(f"cases of {count} descriptions, {failed} differ")
    return failed


VECTORS = (  # elements, block, numbers, tensors in hexadecimal as they lie in a file
    ("bits: 4, grids: {q: uint}", "scale: f16, rule: range / 15, zero: int", [-3, 0, 4.5, 1.25, 2, -.75, .5, 0], "609f4a67", "0038", "06"),
    ("bits: 4, grids: {q: offset}", "scale: f16, rule: max / -8", [6, -8, 3.5, .5, 0, -1.5, 7.9, 1], "0e8c689f", "003c", None),
    ("bits: 2, grids: {q: uint}", "scale: bf16, rule: range / 3, zero: min", [1.5, 3, 2.25, 2.5, 1.75, 1.5, 2, 2.75], "9cd0", "003f", "003e"),
    ("bits: 1, grids: {q: [-1, 1]}", "scale: f16, rule: mean / 1", [1, -2, .5, 0, -.25, 3, 1, .25], "e5", "003c", None),
    ("bits: 3, grids: {q: int}", "scale: f32, rule: least_squares / 3", [1, -2, .5, 0, -.25, 3, 1, .25], "318005", "0000803f", None),
    ("bits: 4, grids: {q: int}", "scale: f16, rule: amax / 7, keep: [2, 4]", [1, -7, 3, -3, 0, 0, 0, 5], "3950", "003c", None, "96"),
    ("bits: 4, grids: {q: int}", "scale: f16, rule: amax / 7, keep: [4, 8], keep_by: pairs", [1, -7, 3, -3, 0, 0, 0, 7], "9170", "003c", None, "09"))


def vectors(program, where):
    for i, (elements, block, row, *want) in enumerate(VECTORS):
        text = f"name: v{22 + i}\nelements: {{{elements}}}\nblocks: [{{length: 8, {block}}}]\ntensor_scale: none\noperands: weights\n"
        row = [fl(v) for v in row]
        said = compare(program, where, text, [row], [row])
        got = read_tensors(os.path.join(where, "e.st"))[0]
        if said or [got[n].hex() if n in got else None for n in ("codes", "scale", "sub", "mask")] != (want + [None])[:4]:
            print(f"V{22 + i}: {said or got}")
            return 1
    print(f"{len(VECTORS)} vectors")
    return 0


def given_ones(program, where, *files):
    failed = 0
    for path in files:
        with open(path) as f:
            text = f.read()
        rng = random.Random(path.rsplit("/", 1)[-1])
        for _ in range(3):
            f = Format(text)
            rows = random_weights(rng, f)
            said = compare(program, where, text, rows, random_weights(rng, f, len(rows[0])))
            if said:
                failed += 1
                print(f"{path}: {said}")
                break
    print(f"{len(files)} files, {failed} differ")
    return failed


NORMAL_FLOAT = [-1, -.6961928, -.52507305, -.39491749, -.28444138, -.18477343, -.09105004, 0, .0795803, .1609302, .2461123, .33791524, .44070983, .562617, .72295684, 1]


def defined(name):
    """What papers and programs give of a format: the values of each grid by code, of magnitudes those without a sign."""
    two = [0, .5, 1, 1.5, 2, 3, 4, 6]
    def both(v, zero=None):
        return [*v, zero, *(-x for x in v[1:])]
    def up(by):
        return [None if x is None else x + by for x in both(two)]
    pairs = {7.5: (5.5, 4.5), 7: (5.5, 4.5), 6.5: (5, 4), 6: (5, 4), 5.5: (4.5, 3.5), 5: (4.5, 3.5), 4.5: (4, 3.5)}
    dialects = [[0, .5, 1, 1.5, 2, 3, x, top] for top, of in pairs.items() for x in of] + [[0, .5, 1, 1.5, 2, 3, 3.5, 4], [0, .5, 1, 1.5, 2, 2.5, 3, 4]]
    return {"blockdialect": dialects, "sfp4": [both(two), up(.5), up(-.5)], "bitmod_fp4": [both(two, x) for x in (5, -5, 8, -8)],
            "mixfp4": [two, [i / 2 for i in range(8)]], "if4_search": [two, [*range(8), None, *range(-7, 0)]],
            "hif4": [[i / 4 for i in range(8)]], "turboquant2": [[.4528, 1.51]], "turboquant4": [[.1284, .3881, .6568, .9424, 1.256, 1.618, 2.069, 2.733]],
            "nf4": [[round(127 * x) for x in NORMAL_FLOAT]], "bnb_nf4": [[512 * x for x in NORMAL_FLOAT]],
            "bitnet_b1": [[-1, 1]], "q1_0": [[-1, 1]], "q2_0": [[-1, 0, 1, None]], "ternary128": [[0, 1]],
            "iq4_nl": [[-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]]}.get(name, [two])


def values(_program, _where, *files):
    """Of the descriptions that list values: their grids are those that define the format, to a 512th."""
    failed = 0
    for path in files:
        with open(path) as f:
            text = f.read()
        form = Format(text)
        if not re.search(r":\s*\[[^]]*\d", text[text.index("grids:"):text.index("\nblocks:")]):
            continue
        want, got = defined(form.name), [g.given for g in form.grids]
        if len(got) != len(want) or any(len(g) != len(w) or any(abs((x or 0) - (y or 0)) > 1 / 512 or (x is None) != (y is None) for x, y in zip(g, w)) for g, w in zip(got, want)):
            failed += 1
            print(f"{path}: {got}, want {want}")
    return failed


if __name__ == "__main__":
    ways = {"values": values, "random": random_ones, "cases": random_cases, "files": given_ones, "vectors": vectors, "authors": authors}
    sys.exit(1 if ways[sys.argv[1]](*sys.argv[2:]) else 0)
