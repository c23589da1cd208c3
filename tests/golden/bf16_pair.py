#!/usr/bin/env python3
"""Golden results of one lane of VDPBF16PS, in exact rational arithmetic.

Intel SDM, VDPBF16PS: the second elements of the pair are multiplied and added first, then the first ones; each
fused multiply-add is rounded once to nearest even; denormal inputs are read as zero, and a result that is still
below 2^-126 after rounding with an unbounded exponent becomes a zero of its sign. Writes bf16_pair.txt beside this
file: a line is "c a0 a1 b0 b1 result", fp32 bits in hex (the a and b are representable in bf16), any NaN as nan.
"""
import random
from fractions import Fraction
from pathlib import Path

INF, NAN = "inf", "nan"
SMALLEST = Fraction(2) ** -126


class Number:
    """Sign (0, 1) and magnitude: a Fraction, INF, or NAN."""

    def __init__(self, sign, size):
        self.sign, self.size = sign, size


def decode(bits):
    sign, exponent, mantissa = bits >> 31, bits >> 23 & 255, bits & 0x7FFFFF
    if exponent == 255:
        return Number(sign, NAN if mantissa else INF)
    if exponent == 0:  # denormals are read as zero
        return Number(sign, Fraction(0))
    return Number(sign, Fraction(0x800000 + mantissa) * Fraction(2) ** (exponent - 150))


def rounded_bits(sign, size):
    """Nearest fp32 of a positive Fraction, ties to even, with the flush after rounding."""
    exponent = 0
    while size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while size < Fraction(2) ** exponent:
        exponent -= 1
    scaled = size / Fraction(2) ** (exponent - 23)
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1):
        whole += 1
    if whole == 1 << 24:
        whole, exponent = 1 << 23, exponent + 1
    if exponent > 127:
        return sign << 31 | 0x7F800000
    if exponent < -126:
        return sign << 31
    return sign << 31 | (exponent + 127) << 23 | (whole - (1 << 23))


def fma(a, b, c):
    """Bits of a*b + c, or None for NaN."""
    a, b, c = decode(a), decode(b), decode(c)
    if NAN in (a.size, b.size, c.size):
        return None
    sign = a.sign ^ b.sign
    if INF in (a.size, b.size):
        if 0 in (a.size, b.size) or (c.size == INF and c.sign != sign):
            return None
        return sign << 31 | 0x7F800000
    if c.size == INF:
        return c.sign << 31 | 0x7F800000
    product = a.size * b.size
    total = (-product if sign else product) + (-c.size if c.sign else c.size)
    if total == 0:  # -0 only from -0 + -0
        return 0x80000000 if sign and c.sign and product == 0 and c.size == 0 else 0
    return rounded_bits(int(total < 0), abs(total))


def pair(c, a0, a1, b0, b1):
    first = fma(a1, b1, c)
    return None if first is None else fma(a0, b0, first)


def fp32(x):
    """Bits of a small literal: "2^e", "m*2^e", "0", "-0", "inf", "-inf", "nan"; m a whole number."""
    sign = x.startswith("-")
    x = x.lstrip("-")
    if x in ("0", "inf", "nan"):
        return sign << 31 | {"0": 0, "inf": 0x7F800000, "nan": 0x7FC00000}[x]
    m, power = x.split("*") if "*" in x else ("1", x)
    size = Fraction(int(m)) * Fraction(2) ** int(power[2:])
    if size < SMALLEST:  # a denormal pattern
        return sign << 31 | int(size / Fraction(2) ** -149)
    return rounded_bits(int(sign), size)


DIRECTED = """
2^0 2^-24 -2^0 2^0 2^0          | the second of the pair first: keeps 2^-24
2^-126 0 -2^-75 0 2^-75         | below 2^-126 after rounding: zero
2^-126 0 -2^-75 0 2^-76         | rounds up to 2^-126: stays
2^-126 0 -2^-75 0 3*2^-77       | just under that tie: zero
-2^-126 0 2^-75 0 2^-75         | the same, negative zero
0 2^-70 0 2^-70 0               | a denormal product
0 2^-63 0 2^-63 0               | the smallest normal product
0 2^-63 2^-70 2^-63 2^-70       | a denormal sum is lost before the second fma
2^-149 0 0 0 0                  | a denormal c
0 0 2^-130 0 2^100              | a denormal factor
0 2^-130 0 -2^100 0             | and its sign: +0 + -0
-0 0 0 -0 -0                    | -0 + -0 twice
-0 0 0 0 0                      | -0 + +0
-0 0 -0 2^0 2^0                 | -0 then +0
0 2^127 2^127 2^0 2^0           | overflow
0 -2^127 2^127 2^1 2^1          | inf absorbs the finite product -2^128
inf 0 -2^100 0 2^100            | inf absorbs
inf 0 inf 0 -2^0                | inf - inf in the first
0 inf 0 0 0                     | inf * 0
0 0 -inf 0 2^-100               | -inf
0 2^0 nan 2^0 0                 | nan * 0
nan 2^0 2^0 2^0 2^0             | nan c
2^0 2^-24 2^-24 2^0 2^0         | two ties to even: 1
2^0 2^-24 129*2^-31 2^0 2^0     | above the tie, then a tie to even
16777215*2^104 0 2^103 0 2^0    | the largest finite and half an ulp: inf
16777215*2^104 0 255*2^95 0 2^0 | and less than half: stays
0 2^-28 2^-28 2^-28 2^-28       | the floor's products: 2^-56 each
0 2^-56 2^-56 2^-56 -2^-56      | 2^-112 - 2^-112
0 255*2^-7 255*2^-7 255*2^-7 255*2^-7 | widest mantissas
"""


def main():
    cases = []
    for line in DIRECTED.strip().splitlines():
        cases.append([fp32(word) for word in line.split("|")[0].split()])
    draw = random.Random(20261121)

    def bf16(low, high):
        return draw.getrandbits(1) << 31 | draw.randint(low, high) << 23 | draw.getrandbits(7) << 16

    for i in range(400):
        # Near one another's exponents, so that sums round, cancel and underflow; sometimes anything.
        middle = draw.choice([127, 127, 64, 66, 5, 190])
        low, high = (0, 255) if i % 5 == 0 else (max(0, middle - 4), middle + 4)
        a0, a1, b0, b1 = (bf16(low, high) for _ in range(4))
        at = min(254, max(0, 2 * middle - 127 + draw.randint(-12, 12)))
        c = draw.getrandbits(1) << 31 | at << 23 | draw.getrandbits(23)
        cases.append([c, a0, a1, b0, b1])
    lines = []
    for case in cases:
        result = pair(*case)
        lines.append(" ".join(f"{x:08x}" for x in case) + (" nan" if result is None else f" {result:08x}"))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
