#!/usr/bin/env python3
"""Writes main_effects.json: golden values for results/compare/factorial.hpp over made-up tables.

Nothing here shares an algorithm with the code under test. Effects and their variance come from least squares with
exact fractions: one column a factor; the noise is the residual of the
two-way table by fitting all configurations and seeds as indicator columns. Student's quantile by numerical integration and
bisection, Fieller's bounds by scanning for the sign change of |a - r b| - t sd(a - r b).
    /usr/bin/python3 tests/golden/main_effects.py > tests/golden/main_effects.json
"""
import itertools
import json
import math
from fractions import Fraction as F


def solve(rows, right):
    """Solves a square system in fractions."""
    n = len(rows)
    m = [row[:] + [r] for row, r in zip(rows, right)]
    for i in range(n):
        p = next(k for k in range(i, n) if m[k][i] != 0)
        m[i], m[p] = m[p], m[i]
        m[i] = [v / m[i][i] for v in m[i]]
        for k in range(n):
            if k != i and m[k][i] != 0:
                m[k] = [a - m[k][i] * b for a, b in zip(m[k], m[i])]
    return [row[-1] for row in m]


def least_squares(design, y):
    normal = [[sum(r[i] * r[j] for r in design) for j in range(len(design[0]))] for i in range(len(design[0]))]
    return solve(normal, [sum(r[i] * v for r, v in zip(design, y)) for i in range(len(design[0]))])


def t_quantile(p, df):
    """By Simpson's rule over the density and bisection."""
    c = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    f = lambda x: c * (1 + x * x / df)**(-(df + 1) / 2)

    def cdf(t, cells=20000):
        h = t / cells
        return .5 + h / 3 * (f(0) + f(t) + sum((4 if i % 2 else 2) * f(i * h) for i in range(1, cells)))

    lo, hi = 0.0, 20.0
    for _ in range(60):
        mid = (lo + hi) / 2
        lo, hi = (mid, hi) if cdf(mid) < p else (lo, mid)
    return (lo + hi) / 2


def fieller(a, b, vaa, vab, vbb, t):
    """Bounds of the ratios r with |a - r b| <= t sd(a - r b), by bisection from the estimate outwards."""
    excess = lambda r: abs(a - r * b) - t * math.sqrt(max(0, vaa - 2 * r * vab + r * r * vbb))
    if abs(b) <= t * math.sqrt(vbb):
        return None
    start = a / b
    bounds = []
    for sign in (-1, 1):
        step = 1e-6
        while excess(start + sign * step) <= 0:
            step *= 2
            assert step < 1e12
        lo, hi = 0.0, step
        for _ in range(200):
            mid = (lo + hi) / 2
            lo, hi = (mid, hi) if excess(start + sign * mid) <= 0 else (lo, mid)
        bounds.append(start + sign * (lo + hi) / 2)
    return bounds


def table(levels, values):
    configurations, seeds, k = len(levels), len(values[0]), len(levels[0])
    cells = [(a, s) for a in range(configurations) for s in range(seeds)]
    y = [values[a][s] for a, s in cells]
    # Effects: y = constant + sum of factor columns (±1/2) + seeds, so that a coefficient is high minus low.
    half = lambda high: F(1, 2) if high else F(-1, 2)
    seed_columns = lambda s: [F(int(s == q)) for q in range(1, seeds)]
    beta = least_squares([[F(1)] + [half(h) for h in levels[a]] + seed_columns(s) for a, s in cells], y)
    effects = beta[1:1 + k]
    # Noise: what configurations and seeds as indicators leave.
    full = [[F(int(a == q)) for q in range(configurations)] + seed_columns(s) for a, s in cells]
    df = (configurations - 1) * (seeds - 1)
    mean = [sum(v) / seeds for v in values]
    gap = mean[-1] - mean[0]
    rest = gap - sum(effects)
    result = {"levels": levels, "values": [[float(v) for v in row] for row in values], "df": df,
              "low": float(mean[0]), "high": float(mean[-1])}
    names = [("gap", gap)] + [(f"effect{i}", e) for i, e in enumerate(effects)] + [("rest", rest)]
    if df:
        fit = least_squares(full, y)
        residual = [v - sum(c * b for c, b in zip(row, fit)) for row, v in zip(full, y)]
        variance = sum(r * r for r in residual) / df
        result["sd"] = math.sqrt(variance)
        t = t_quantile(.975, df)
        # Variances of sums over cells, by the weights that make each estimate from y.
        weights = {"gap": [F(int(a == configurations - 1) - int(a == 0), seeds) for a, s in cells]}
        for i in range(k):
            weights[f"effect{i}"] = [F(1 if levels[a][i] else -1) / (F(configurations * seeds) / 2) for a, s in cells]
        weights["rest"] = [g - sum(weights[f"effect{i}"][c] for i in range(k))
                           for c, g in enumerate(weights["gap"])]
        for name, value in names:
            assert sum(w * v for w, v in zip(weights[name], y)) == value
    for name, value in names:
        one = {"value": float(value), "share": float(value / gap) if gap else None}
        if df:
            v = lambda p, q: float(variance * sum(x * z for x, z in zip(weights[p], weights[q])))
            half_width = t * math.sqrt(v(name, name))
            one["interval95"] = [float(value) - half_width, float(value) + half_width]
            if name != "gap":
                one["share95"] = fieller(float(value), float(gap), v(name, name), v(name, "gap"), v("gap", "gap"), t)
        result[name] = one
    return result


def fraction(free, generators):
    """All combinations of the free factors, the others by products of ±1; first free factor fastest."""
    rows = []
    for code in itertools.product((False, True), repeat=free):
        row = list(reversed(code))
        for generator in generators:
            product = 1
            for i in generator:
                product *= 1 if row[i] else -1
            row.append(product > 0)
        rows.append(row)
    return rows


def made_up(levels, seeds, effects, noise, interaction):
    """Values in thousandths from a small congruence, so that they are exact and anyone can make them again."""
    state, values = 12345, []
    for row in levels:
        values.append([])
        for s in range(seeds):
            state = (state * 1103515245 + 12345) % 2**31
            value = 1500 + 17 * s + sum(e for e, h in zip(effects, row) if h) + interaction * (row[0] and row[1])
            values[-1].append(F(value + state // 65536 % (2 * noise + 1) - noise, 1000))
    return values


def words(levels):
    """All sets of factors whose product is the same in every configuration, shortest first; letters without I."""
    letters, found = "ABCDEFGHJKLM", []
    for size in range(1, len(levels[0]) + 1):
        for some in itertools.combinations(range(len(levels[0])), size):
            products = {math.prod(1 if row[i] else -1 for i in some) for row in levels}
            if len(products) == 1:
                found.append("".join(letters[i] for i in some))
    return found


def main():
    seven = fraction(4, [(0, 1, 2), (1, 2, 3), (0, 2, 3)])
    three = fraction(3, [])
    cases = {
        "seven factors, sixteen configurations, three seeds": (seven, 3, [120, 60, 0, -25, 12, 4, 1], 12, 30),
        "three factors, all combinations, two seeds": (three, 2, [50, -20, 5], 8, 15),
        "one seed": (three, 1, [50, -20, 5], 8, 15),
        "a gap that is not apart from 0": (three, 3, [20, -21, 1], 80, 0),
    }
    out = {"cases": []}
    for name, (levels, seeds, effects, noise, interaction) in cases.items():
        case = table(levels, made_up(levels, seeds, effects, noise, interaction))
        case["name"] = name
        case["words"] = words(levels)
        out["cases"].append(case)
    print(json.dumps(out, indent=1))


main()
