#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A unit for NVFP4 that knows nothing of sqsim: rationals, and one rounding function.

vectors_device.py SUITE ANSWERS [DEFECT]: reads the cases of `sqsim vectors --format nvfp4`, looks at
their "in" only, and writes its own "out". DEFECT is one of the faults that people report of such units:
  roundtrip  the code of 3 encodes as that of 4        away   ties go away from zero
  lsb        a block's sum loses its last bit          wide   blocks are added in binary64
  reverse    blocks are added from the last one        flush  subnormal scales are zero
  nan        scales beyond 448 become code 0x7f        late   answers of the last rule are missing
"""
import json
import struct
import sys
from fractions import Fraction

E2M1 = [Fraction(n, 2) for n in (0, 1, 2, 3, 4, 6, 8, 12)]
E4M3 = [Fraction(m, 512) if e == 0 else Fraction(8 + m) * Fraction(2) ** (e - 10)
        for e in range(16) for m in range(8)][:127]


def value(bits):
    return Fraction(struct.unpack("<f", struct.pack("<I", bits))[0])


def round32(x):
    """The nearest binary32 of a rational, ties to even; none here overflows."""
    if x == 0:
        return x
    e = 0
    while abs(x) >= Fraction(2) ** (e + 1):
        e += 1
    while abs(x) < Fraction(2) ** e:
        e -= 1
    unit = Fraction(2) ** max(e - 23, -149)
    return round(x / unit) * unit


def bits32(x):
    return struct.unpack("<I", struct.pack("<f", float(x)))[0]


def nearest(table, x, away=False):
    """The code of the nearest value; halves to the even code, or to the larger one."""
    best = min(range(len(table)), key=lambda c: (abs(table[c] - x), c if not away else -c))
    for c in range(len(table)):
        if abs(table[c] - x) == abs(table[best] - x) and not away and c % 2 == 0:
            best = c
    return best


class Unit:
    def __init__(self, defect):
        self.defect = defect

    def element(self, code):
        return -E2M1[code & 7] if code & 8 else E2M1[code & 7]

    def encode(self, x, sign):
        code = nearest(E2M1, abs(x), self.defect == "away")
        if self.defect == "roundtrip" and code == 5:
            code = 6
        return code | (8 if sign else 0)

    def scale(self, code):
        return Fraction(0) if self.defect == "flush" and code < 8 else E4M3[code]

    def sum(self, w, x):
        p = sum(self.element(a) * self.element(b) for a, b in zip(w, x))
        return Fraction(int(p * 2), 2) if self.defect == "lsb" else p  # multiples of 1/4 are exact

    def product(self, i, order):
        y = Fraction(0)
        for j in order:
            p = self.sum(i["w_code"][16 * j:16 * j + 16], i["x_code"][16 * j:16 * j + 16])
            t = p * self.scale(i["w_scale"][j]) * self.scale(i["x_scale"][j])
            y = y + t if self.defect == "wide" else round32(y + round32(t))
        return bits32(round32(y))

    def answer(self, rule, i):
        if rule == "decode":
            return {"value": [bits32(self.element(i["code"][0]))]}
        if rule in ("encode", "tie"):
            return {"code": [self.encode(value(i["x"][0]), i["x"][0] >> 31)]}
        if rule == "scale":
            amax = max(abs(value(x)) for x in i["x"])
            t = round32(round32(amax / 6) / value(i["global"][0]))
            if self.defect == "nan" and t > 464:
                return {"scale": [127]}
            return {"scale": [nearest(E4M3, t, self.defect == "away")]}
        if rule == "code":
            step = round32(self.scale(i["scale"][0]) * value(i["global"][0]))
            return {"code": [self.encode(round32(value(x) / step), x >> 31) if step else 0 for x in i["x"]]}
        blocks = range(len(i["w_scale"]))
        return {"y": [self.product(i, reversed(blocks) if self.defect == "reverse" else blocks)]}


def main():
    unit = Unit(sys.argv[3] if len(sys.argv) > 3 else "")
    with open(sys.argv[1], encoding="ascii") as suite, open(sys.argv[2], "w", encoding="ascii") as out:
        for line in suite:
            case = json.loads(line)
            if unit.defect == "late" and case["rule"] == "accumulate":
                continue
            answer = {"rule": case["rule"], "case": case["case"], "out": unit.answer(case["rule"], case["in"])}
            out.write(json.dumps(answer) + "\n")


main()
