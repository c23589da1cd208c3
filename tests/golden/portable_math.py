#!/usr/bin/env python3
"""Writes portable_math.txt: function values to 50 digits, each as a sum of two doubles.

Independent of the code under test and of libm: Python's decimal arithmetic only. One line per point:
function, arguments, high and low part of the exact value, all as hexadecimal doubles.
    python3 tests/golden/portable_math.py > tests/golden/portable_math.txt
"""
import random
from decimal import Decimal as D, getcontext

getcontext().prec = 120
getcontext().Emin, getcontext().Emax = -10**9, 10**9
PI = None


def arctan_inverse(n):
    total, term, k = D(0), D(1) / n, 1
    while abs(term) > D(10) ** -130:
        total += term / k
        term /= -n * n
        k += 2
    return total


PI = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))
LN2 = D(2).ln()


def series(first, ratio, stop=D(10) ** -118):
    """first + first*ratio(1) + first*ratio(1)*ratio(2) + …"""
    total, term, k = D(0), first, 1
    while abs(term) > stop * max(abs(total), D(10) ** -400):
        total += term
        term *= ratio(k)
        k += 1
    return total


def sin(x):
    x = x - 2 * PI * (x / (2 * PI)).to_integral_value()
    return series(x, lambda k: -x * x / ((2 * k) * (2 * k + 1))) if x else D(0)


def cos(x):
    x = x - 2 * PI * (x / (2 * PI)).to_integral_value()
    return series(D(1), lambda k: -x * x / ((2 * k - 1) * (2 * k)))


def expm1(x):
    return x.exp() - 1 if abs(x) > D("1e-30") else x + x * x / 2


def log1p(x):
    return (1 + x).ln() if abs(x) > D("1e-30") else x - x * x / 2


def tanh(x):
    e = expm1(2 * x)
    return e / (e + 2)


def bell(z):  # integral of exp(-t^2/2) from 0 to z
    return series(z, lambda k: z * z / (2 * k + 1)) * (-z * z / 2).exp()


def cdf(z):
    if z > -15:
        return D("0.5") + bell(z) / (2 * PI).sqrt()
    fraction = -z
    for n in range(3000, 0, -1):
        fraction = -z + n / fraction
    return (-z * z / 2).exp() / (2 * PI).sqrt() / fraction


def erf(x):
    return 2 * bell(x * D(2).sqrt()) / (2 * PI).sqrt()


BERNOULLI = None


def bernoulli(count):
    from fractions import Fraction
    from math import comb
    b = [Fraction(1)]
    for m in range(1, count + 1):
        b.append(-sum(comb(m + 1, k) * b[k] for k in range(m)) / (m + 1))
    return b


def lgamma(x):
    global BERNOULLI
    BERNOULLI = BERNOULLI or bernoulli(60)
    shift = D(1)
    while x < 60:
        shift *= x
        x += 1
    total = (x - D("0.5")) * x.ln() - x + (2 * PI).ln() / 2
    for k in range(1, 30):
        b = BERNOULLI[2 * k]
        total += D(b.numerator) / D(b.denominator) / (2 * k * (2 * k - 1) * x ** (2 * k - 1))
    return total - shift.ln()


def quantile(p):
    low, high = D(-40), D(40)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if cdf(middle) < p else (low, middle)
    z = (low + high) / 2
    for _ in range(4):
        z -= (cdf(z) - p) * (2 * PI).sqrt() * (z * z / 2).exp()
    return z


def emit(name, exact, *arguments):
    high = float(exact)
    low = float(exact - D(high))
    print(name, *(float(a).hex() for a in arguments), high.hex(), low.hex())


def points(name, function, fixed, ranges, count=24):
    values = list(fixed)
    for low, high in ranges:
        values += [random.uniform(low, high) for _ in range(count)]
    for x in values:
        emit(name, function(D(x)), x)


def main():
    random.seed(20240607)
    near = [s * 2.0 ** -k for k in (1, 10, 27, 30, 53, 60) for s in (1, -1)]
    points("exp", lambda x: x.exp(), [0.0, 1.0, -1.0, 709.7, -708.3, -740.0] + near,
           [(-1, 1), (-20, 20), (-700, 700)])
    points("expm1", expm1, [1.0, -1.0, 0.3465735902799726, 0.34657359027997264, 40.0, -30.0] + near,
           [(-1, 1), (-5, 5), (-50, 700)])
    points("log", lambda x: x.ln(),
           [0.5, 2.0, 10.0, 5e-324, 1e-310, 1.7e308, 1 + 2.0 ** -52, 1 - 2.0 ** -53, 1.4142135623730951,
            0.7071067811865476], [(0.5, 2), (0.99, 1.01), (0, 1e6), (1e-300, 1e-299)])
    points("log1p", log1p, [1.0, -0.5, 1e300, -0.2928932188134524, 0.41421356237309515, -1 + 2.0 ** -53]
           + near, [(-0.9, 1), (-0.01, 0.01), (0, 1e6)])
    points("log2", lambda x: x.ln() / LN2, [2.0, 8.0, 0.25, 3.0, 10.0, 5e-324, 1 + 2.0 ** -52,
           1 - 2.0 ** -53], [(0.5, 2), (0.99, 1.01), (0, 1e6)])
    quarter = [float(PI / 2 * k) for k in (1, 2, 3, 4, 5, 7, 100, 12345, 60001)]
    points("sin", sin, quarter + [1e5, -1e5, 1e-30] + near, [(-0.8, 0.8), (-7, 7), (-1e5, 1e5)], 40)
    points("cos", cos, quarter + [0.0, 1e5, -1e5] + near, [(-0.8, 0.8), (-7, 7), (-1e5, 1e5)], 40)
    points("tanh", tanh, [1.0, -1.0, 21.9, 22.1, -30.0] + near, [(-1, 1), (-22, 22)])
    for x in [1.0, 2.0, 1e-300, 1e-5, 0.5, 1.5, 3.0, 11.9, 12.1, 171.5, 1e6, 1e100]:
        emit("lgamma", lgamma(D(x)), x)
    points("lgamma", lgamma, [], [(0.01, 3), (3, 15), (15, 1000)])
    points("erf", erf, [0.0, 1.7999, 1.8001, 5.9, -1.0, 1e-300, 1e-9], [(-1, 1), (-6, 6)])
    points("normal_cdf", cdf, [0.0, -1.4999, -1.5001, -2.5, 2.5, -8.0, -20.0, -37.0, 8.2], [(-3, 3), (-12, 8)])
    for base, exponent in [(2.0, 0.5), (0.95, 1234.0), (0.999, 100000.0), (10.0, -12.5), (1.0001, 1e6),
                           (3.0, 600.25), (1e-300, 1.01), (7.5, -64.0), (1.5, 65.0), (0.5, 1000.5),
                           (1e10, -31.0)]:
        emit("pow", (D(base).ln() * D(exponent)).exp(), base, exponent)
    for _ in range(60):
        base, exponent = random.uniform(0.01, 100), random.uniform(-100, 100)
        emit("pow", (D(base).ln() * D(exponent)).exp(), base, exponent)
    getcontext().prec = 60
    for p in [0.5, 0.025, 0.975, 0.02425, 0.0243, 1e-300, 1e-10, 1 - 2.0 ** -53, 0.999, 0.25, 0.1]:
        emit("normal_quantile", quantile(D(p)), p)
    for _ in range(10):
        p = random.uniform(0, 1)
        emit("normal_quantile", quantile(D(p)), p)


main()
