#!/usr/bin/env python3
"""Writes statistics.json: golden values for results/stats/stats.hpp, from exact fractions and brute force only.

Nothing here shares an algorithm with the code under test: McNemar by integer binomials, intervals in 60-digit
decimals, t by numerical integration, power by numerical integration over the
density of the sample standard deviation.
    /usr/bin/python3 tests/golden/statistics.py > tests/golden/statistics.json
"""
import json
import math
from decimal import Decimal as D, getcontext
from fractions import Fraction as F

getcontext().prec = 60
Z = D("1.959963984540054")


def tail(n, start, weight):
    total = sum(math.comb(n, j) for j in range(start + 1, n + 1)) + F(weight) * math.comb(n, start)
    return total / 2**n


def mcnemar(b, c):
    n = b + c
    hi = max(b, c)
    one = lambda weight: float(tail(n, b, weight)) if n else 1.0
    two = lambda weight: 1.0 if b == c else float(min(F(1), 2 * tail(n, hi, weight)))
    return {"b": b, "c": c, "mid_two": two(F(1, 2)), "exact_two": two(1), "mid_worse": one(F(1, 2)),
            "exact_worse": one(1)}


def wilson(s, n, z=Z):
    p = D(s) / n
    centre = p + z * z / (2 * n)
    half = z * (p * (1 - p) / n + z * z / (4 * n * n)).sqrt()
    scale = 1 + z * z / n
    return (centre - half) / scale, (centre + half) / scale


def newcombe(a, b, c, d, z=Z):
    n = a + b + c + d
    p1, p2 = D(a + b) / n, D(a + c) / n
    l1, u1 = wilson(a + b, n, z)
    l2, u2 = wilson(a + c, n, z)
    product = (a + b) * (c + d) * (a + c) * (b + d)
    phi = D(0)
    if product:
        cross = D(a * d - b * c)
        if cross > 0:
            cross = max(cross - D(n) / 2, D(0))
        phi = cross / D(product).sqrt()
    delta = p1 - p2
    low = delta - ((p1 - l1)**2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2)**2).sqrt()
    high = delta + ((u1 - p1)**2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2)**2).sqrt()
    return [float(-high), float(-low)]


def simpson(f, lo, hi, cells):
    h = (hi - lo) / cells
    total = f(lo) + f(hi)
    for i in range(1, cells):
        total += f(lo + i * h) * (4 if i % 2 else 2)
    return total * h / 3


def t_cdf(t, df):
    front = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    area = simpson(lambda x: front * (1 + x * x / df)**(-(df + 1) / 2), 0.0, abs(t), 20000)
    return 0.5 + area if t > 0 else 0.5 - area


def t_quantile(p, df):
    lo, hi = -400.0, 400.0
    for _ in range(60):
        mid = (lo + hi) / 2
        if t_cdf(mid, df) < p:
            lo = mid
        else:
            hi = mid
    return (lo + hi) / 2


def power(ncp, df, critical, two_sided):
    phi = lambda z: 0.5 * math.erfc(-z / math.sqrt(2))
    front = math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)

    def f(s):
        if s == 0:
            return 0.0
        density = math.exp(front + (df - 1) * math.log(s) - df * s * s / 2)
        reject = phi(ncp - critical * s) + (phi(-ncp - critical * s) if two_sided else 0)
        return density * reject

    return simpson(f, 0.0, 10.0, 4000)


def solve_power(df, critical, two_sided):
    lo, hi = 0.0, 40.0
    for _ in range(45):
        mid = (lo + hi) / 2
        if power(mid, df, critical, two_sided) < 0.8:
            lo = mid
        else:
            hi = mid
    return (lo + hi) / 2


def welch(a, b):
    mean = lambda v: sum(v, F(0)) / len(v)
    a, b = [F(x) for x in a], [F(x) for x in b]
    var = lambda v: sum((x - mean(v))**2 for x in v) / (len(v) - 1)
    va, vb = var(a) / len(a), var(b) / len(b)
    t = float(mean(b) - mean(a)) / math.sqrt(float(va + vb))
    df = float((va + vb)**2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1)))
    below = t_cdf(t, df)
    half = t_quantile(0.975, df) * math.sqrt(float(va + vb))
    diff = float(mean(b) - mean(a))
    return {"a": [float(x) for x in a], "b": [float(x) for x in b], "t": t, "df": df, "p_below": below,
            "low95": diff - half, "high95": diff + half}


def paired_t(a, b):
    a, b = [F(x) for x in a], [F(x) for x in b]
    d = [y - x for x, y in zip(a, b)]
    m = len(d)
    mean = sum(d, F(0)) / m
    error = math.sqrt(float(sum((x - mean)**2 for x in d) / (m - 1) / m))
    half = t_quantile(0.975, m - 1) * error
    return {"a": [float(x) for x in a], "b": [float(x) for x in b], "t": float(mean) / error,
            "p_below": t_cdf(float(mean) / error, m - 1), "low95": float(mean) - half, "high95": float(mean) + half}


def one_against(many, one):
    many, one = [F(x) for x in many], F(one)
    m = len(many)
    mean = sum(many, F(0)) / m
    error = math.sqrt(float(sum((x - mean)**2 for x in many) / (m - 1) * (1 + F(1, m))))
    half = t_quantile(0.975, m - 1) * error
    return {"many": [float(x) for x in many], "one": float(one), "t": float(one - mean) / error,
            "low95": float(one - mean) - half, "high95": float(one - mean) + half}


def poisson_at_least(count, expected):
    below = sum(math.exp(-expected) * expected**j / math.factorial(j) for j in range(count))
    return 1 - below


def chi2_cdf(x, df):
    """Integral of the density in u = sqrt(x), which is smooth at 0."""
    front = math.log(2) - df / 2 * math.log(2) - math.lgamma(df / 2)
    density = lambda u: math.exp(front + (df - 1) * math.log(u) - u * u / 2) if u > 0 else (
        math.exp(front) if df == 1 else 0.0)
    return simpson(density, 0.0, math.sqrt(x), 4000)


def sd_upper80(df):
    lo, hi = 1e-9, float(df)
    for _ in range(60):
        mid = (lo + hi) / 2
        if chi2_cdf(mid, df) < 0.2:
            lo = mid
        else:
            hi = mid
    return math.sqrt(df / ((lo + hi) / 2))


def main():
    counts = [(0, 0), (1, 0), (0, 1), (2, 0), (5, 0), (6, 0), (8, 1), (10, 2), (12, 2), (25, 10), (40, 20),
              (60, 40), (40, 60), (7, 7), (500, 500), (520, 480), (1100, 1000), (1000, 1100), (1500, 1300)]
    tables = [(20, 12, 2, 16), (900, 10, 3, 87), (0, 0, 0, 5), (5, 0, 0, 0), (0, 3, 3, 0), (50, 0, 0, 50),
              (10, 7, 0, 0), (400, 30, 60, 510), (20, 0, 6, 138)]
    k = {m: solve_power(2 * m - 2, t_quantile(0.975, 2 * m - 2), True) / math.sqrt(m / 2)
         for m in (2, 3, 5, 10, 20)}
    out = {
        "mcnemar": [mcnemar(b, c) for b, c in counts],
        "wilson": [{"s": s, "n": n, "low": float(wilson(s, n)[0]), "high": float(wilson(s, n)[1])}
                   for s, n in ((0, 10), (10, 10), (1, 3), (53, 164), (7000, 14042))],
        "paired": [{"table": t, "newcombe": newcombe(*t)} for t in tables],
        "t_cdf": [{"t": t, "df": df, "p": t_cdf(t, df)}
                  for t, df in ((0, 3), (1, 1), (-2.5, 2), (2.776, 4), (-0.3, 7.5), (4, 30), (1.96, 200))],
        "t_quantile": [{"p": p, "df": df, "t": t_quantile(p, df)}
                       for p, df in ((.975, 1), (.975, 2), (.975, 4), (.05, 9), (.9, 3.5), (.995, 30))],
        "welch": [welch(("3.0", "3.1", "2.9", "3.2", "3.05"), ("2.5", "2.9", "2.8", "2.4", "2.6")),
                  welch(("1.8830", "1.8835", "1.8826", "1.8829", "1.8833"),
                        ("1.8831", "1.8828", "1.8839", "1.8830", "1.8822", "1.8836"))],
        "seeds_factor": {str(m): v for m, v in k.items()},
        "detectable": [{"df": df, "factor": solve_power(df, t_quantile(0.975, df), True)} for df in (2, 3, 4, 9, 7.5)],
        "paired_t": [paired_t(("0.3551", "0.3520", "0.3570", "0.3533", "0.3542"),
                              ("0.3557", "0.3529", "0.3576", "0.3540", "0.3548")),
                     paired_t(("1", "2", "3"), ("1", "2.5", "2.75"))],
        "one_against": [one_against(("0.3551", "0.3520", "0.3570", "0.3533", "0.3542"), "0.3601"),
                        one_against(("1", "2", "4"), "2")],
        "poisson_at_least": [{"count": c, "expected": e, "p": poisson_at_least(c, e)}
                             for c, e in ((1, 0.5), (3, 0.5), (12, 9.3), (40, 20.0), (5, 30.0), (0, 2.0))],
        "sd_upper80": [{"df": df, "factor": sd_upper80(df)} for df in (1, 2, 4, 9, 19)],
    }
    print(json.dumps(out, indent=1))


main()
