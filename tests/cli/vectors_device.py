#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A unit for NVFP4, IF4 or RaZeR that knows nothing of sqsim: rationals, and one rounding function.

vectors_device.py FORMAT SUITE ANSWERS [DEFECT]: reads the cases of `sqsim quantize --vectors --format FORMAT`, looks at
their "in" only, and writes its own "out". DEFECT is one of the faults that people report of such units:
  roundtrip  the code of 3 encodes as that of 4        away   ties go away from zero
  lsb        a block's sum loses its last bit          wide   blocks are added in binary64
  reverse    blocks are added from the last one        flush  subnormal scales are zero
  nan        scales beyond 448 become code 0x7f        late   answers of the last rule are missing
  sign       the sign of a scale is not looked at      first  the sign is that of no search
"""
import bisect
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
    e = x.numerator.bit_length() - x.denominator.bit_length()
    if abs(x) < Fraction(2) ** e:
        e -= 1
    unit = Fraction(2) ** max(e - 23, -149)
    return round(x / unit) * unit


def bits32(x):
    return struct.unpack("<I", struct.pack("<f", float(x)))[0]


def nearest(table, x, away=False):
    """The code of the nearest value of a rising table; halves to the even code, or to the larger one."""
    above = bisect.bisect_left(table, x)
    near = range(max(above - 1, 0), min(above + 1, len(table)))
    return min(near, key=lambda c: (abs(table[c] - x), -c if away else c % 2))


class Unit:
    """Of NVFP4; `sign` is the top bit of the code of the block's scale, 0 there."""
    SIGNS = (0,)

    def __init__(self, defect):
        self.defect = defect

    def element(self, code, sign):
        return -E2M1[code & 7] if code & 8 else E2M1[code & 7]

    def encode(self, x, is_negative, sign):
        code = nearest(E2M1, abs(x), self.defect == "away")
        if self.defect == "roundtrip" and code == 5:
            code = 6
        return code | (8 if is_negative else 0)

    def top(self, sign):
        return 6

    def scale(self, code):
        code &= 127
        return Fraction(0) if self.defect == "flush" and code < 8 else E4M3[code]

    def sign(self, code):
        return 0 if self.defect == "sign" else code >> 7

    def scale_code(self, xs, g):
        """The code of each sign, and of them that of the smaller squared error; the first of equals."""
        best, least = None, None
        for sign in self.SIGNS:
            t = round32(round32(max(abs(value(x)) for x in xs) / self.top(sign)) / g)
            if self.defect == "nan" and t > 464:
                return 127
            code = nearest(E4M3, t, self.defect == "away") | sign << 7
            step = round32(self.scale(code) * g)
            back = [round32(self.element(c, sign) * step) for c in self.codes(xs, step, sign)]
            error = sum((value(x) - v) ** 2 for x, v in zip(xs, back))
            if least is None or (error < least and self.defect != "first"):
                best, least = code, error
        return best

    def codes(self, xs, step, sign):
        return [self.encode(round32(value(x) / step), x >> 31, sign) if step else 0 for x in xs]

    def sum(self, w, x, w_sign, x_sign):
        p = sum(self.element(a, w_sign) * self.element(b, x_sign) for a, b in zip(w, x))
        return Fraction(int(p * 2), 2) if self.defect == "lsb" else p  # multiples of 1/4 are exact

    def product(self, i, order):
        y = Fraction(0)
        for j in order:
            p = self.sum(i["w_code"][16 * j:16 * j + 16], i["x_code"][16 * j:16 * j + 16],
                         self.sign(i["w_scale"][j]), self.sign(i["x_scale"][j]))
            t = p * self.scale(i["w_scale"][j]) * self.scale(i["x_scale"][j])
            y = y + t if self.defect == "wide" else round32(y + round32(t))
        return bits32(round32(y))

    def answer(self, rule, i):
        sign = self.sign(i["scale"][0]) if "scale" in i else 0
        if rule == "decode":
            return {"value": [bits32(self.element(i["code"][0], sign))]}
        if rule in ("encode", "tie"):
            return {"code": [self.encode(value(i["x"][0]), i["x"][0] >> 31, sign)]}
        if rule == "scale":
            return {"scale": [self.scale_code(i["x"], value(i["global"][0]))]}
        if rule == "code":
            return {"code": self.codes(i["x"], round32(self.scale(i["scale"][0]) * value(i["global"][0])), sign)}
        blocks = range(len(i["w_scale"]))
        return {"y": [self.product(i, reversed(blocks) if self.defect == "reverse" else blocks)]}


class If4(Unit):
    """A block is E2M1, or with the sign INT4, whose largest is 7."""
    SIGNS = (0, 1)

    def top(self, sign):
        return 7 if sign else 6

    def element(self, code, sign):
        return Fraction((code ^ 8) - 8) if sign else super().element(code, sign)

    def encode(self, x, is_negative, sign):
        return max(-7, min(7, round(x))) & 15 if sign else super().encode(x, is_negative, sign)


class Razer(Unit):
    """Code 8 is 5, or with the sign -5, and goes to what is nearer to it than to any other value."""
    SIGNS = (0, 1)

    def element(self, code, sign):
        return Fraction(-5 if sign else 5) if code == 8 else super().element(code, sign)

    def encode(self, x, is_negative, sign):
        code = super().encode(x, is_negative, sign)
        code = 0 if code == 8 else code
        return 8 if abs(x - (-5 if sign else 5)) < abs(x - self.element(code, sign)) else code


def main():
    unit = {"nvfp4": Unit, "if4": If4, "razer": Razer}[sys.argv[1]](sys.argv[4] if len(sys.argv) > 4 else "")
    with open(sys.argv[2], encoding="ascii") as suite, open(sys.argv[3], "w", encoding="ascii") as out:
        for line in suite:
            case = json.loads(line)
            if unit.defect == "late" and case["rule"] == "accumulate":
                continue
            answer = {"rule": case["rule"], "case": case["case"], "out": unit.answer(case["rule"], case["in"])}
            out.write(json.dumps(answer) + "\n")


main()
