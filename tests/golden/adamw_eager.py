#!/usr/bin/env python3
"""AdamW of nanochat's bf16 embedding as an eager stack runs it: the nine pointwise kernels of DistAdamW.step
(karpathy/nanochat adamw.py, original release, without torch.compile), each computed in fp32 and stored as bf16.
Exact rational arithmetic, rounded to nearest even; an op with a product and a sum (add_ with alpha, addcmul_) is one
fused multiply-add, as on a device. Python's standard library alone.

  python3 tests/golden/adamw_eager.py > tests/golden/adamw_eager.txt

A line: element, step (0: before the first), then the bits of gradient, parameter, m, v in hex."""
import math
import random
import struct
from fractions import Fraction

LR, BETA1, BETA2, EPS, STEPS, ELEMENTS = 0.15491933384829668, 0.8, 0.95, 1e-10, 4, 96


def to_format(x, bits, lowest):
    """x rounded to `bits` of significand, the last place no smaller than 2^lowest."""
    if x == 0:
        return Fraction(0)
    exponent = abs(x).numerator.bit_length() - abs(x).denominator.bit_length()
    if abs(x) < Fraction(2) ** exponent:
        exponent -= 1
    place = Fraction(2) ** max(exponent - bits + 1, lowest)
    return round(x / place) * place  # Python rounds halves to even


def fp32(x):
    return to_format(Fraction(x), 24, -149)


def bf16(x):
    return to_format(Fraction(x), 8, -133)


def sqrt32(x):
    """The correctly rounded fp32 square root: of 60 bits or more, the last one sticky."""
    if x == 0:
        return x
    shift = 2 * max(0, 64 - x.numerator.bit_length() + x.denominator.bit_length())
    scaled = x * Fraction(2) ** shift
    root = math.isqrt(int(scaled))
    exact = root * root == scaled
    return fp32((Fraction(root) + (0 if exact else Fraction(1, 2))) / Fraction(2) ** (shift // 2))


def bits(x):
    return struct.unpack("<I", struct.pack("<f", float(x)))[0]


def store(x):
    """What a kernel computes in fp32 and stores in bf16."""
    return bf16(fp32(x))


def step(p, g, m, v, t):
    b1, rest1, b2, rest2 = fp32(BETA1), fp32(1.0 - BETA1), fp32(BETA2), fp32(1.0 - BETA2)
    size = fp32(LR * math.sqrt(1.0 - BETA2**t) / (1.0 - BETA1**t))
    m = store(m * b1)  # exp_avg.mul_(beta1)
    m = store(rest1 * g + m)  # .add_(g, alpha=1 - beta1)
    v = store(v * b2)  # exp_avg_sq.mul_(beta2)
    v = store(fp32(rest2 * g) * g + v)  # .addcmul_(g, g, value=1 - beta2)
    d = bf16(sqrt32(v))  # denom = exp_avg_sq.sqrt()
    d = store(d + fp32(EPS))  # .add_(eps)
    u = store(m / d)  # update = exp_avg.div(denom)
    u = store(u * size)  # .mul_(step_size)
    return store(p - u), m, v  # p.add_(update, alpha=-1)


def main():
    draw = random.Random(20251013)
    print("# tests/golden/adamw_eager.py: element, step, bits of gradient, parameter, m, v")
    for element in range(ELEMENTS):
        p, m, v = bf16(draw.gauss(0, 1)), Fraction(0), Fraction(0)
        print(element, 0, *(f"{bits(x):08x}" for x in (0, p, m, v)))
        for t in range(1, STEPS + 1):
            # Tokens that are not in a batch have no gradient; sizes as in training.
            g = bf16(draw.gauss(0, 1) * 10 ** draw.uniform(-6, -1)) if draw.random() > 0.2 else Fraction(0)
            p, m, v = step(p, g, m, v, t)
            print(element, t, *(f"{bits(x):08x}" for x in (g, p, m, v)))


main()
