#!/usr/bin/env python3
"""Writes change_points.json: golden values for results/stats/change_points.hpp over made-up nights.

The same definition, written down another way: energies and t statistics with exact fractions, the t distribution by
integrating its density, every split looked at anew. Only the standard library.
    /usr/bin/python3 tests/golden/change_points.py > tests/golden/change_points.json
"""
import json
import math
import random
from fractions import Fraction as F
from itertools import combinations


def tail(t, df):
    """P(T > t), t >= 0: the substitution x = tan(u)*sqrt(df) makes the density cos(u)^(df-1), by Simpson's rule."""
    start, end, cells = math.atan(t / math.sqrt(df)), math.pi / 2, 4000
    density = lambda u: math.cos(u)**(df - 1)
    h = (end - start) / cells
    inner = sum((4 if i % 2 else 2) * density(start + i * h) for i in range(1, cells))
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(math.pi)
    return scale * h / 3 * (density(start) + density(end) * (df == 1) + inner)


def correlation(levels):
    """Of neighbouring nights, from differences one and two nights apart; 0 unless beyond two standard errors."""
    apart = lambda lag: [(b - a)**2 for level in levels for a, b in zip(level, level[lag:])]
    one, two = apart(1), apart(2)
    if not two or sum(one) == 0:
        return 0.0
    phi = float(sum(two) / len(two) / (sum(one) / len(one)) - 1)
    return 0.0 if phi <= 2 / math.sqrt(sum(map(len, levels))) else min(.95, phi)


def of_mean(n, phi):
    """Variance of the mean of n values whose correlations are phi**distance."""
    return sum(phi**abs(i - j) for i in range(n) for j in range(n)) / n**2


def student(left, right, phi):
    a, b = sum(left) / len(left), sum(right) / len(right)
    if a == b:
        return 1.0
    df = len(left) + len(right) - 2
    spread = sum((x - a)**2 for x in left) + sum((x - b)**2 for x in right)
    if spread == 0:
        return 0.0
    if phi == 0:
        squared = (a - b)**2 / (spread / df * (F(1, len(left)) + F(1, len(right))))
    else:
        left_varies, right_varies = of_mean(len(left), phi), of_mean(len(right), phi)
        variance = float(spread) / (len(left) * (1 - left_varies) + len(right) * (1 - right_varies))
        squared = float(a - b)**2 / (variance * (left_varies + right_varies))
        df = max(1.0, df * (1 - phi) / (1 + phi))
    return min(1.0, 2 * tail(math.sqrt(squared), df))


def worst(left, right, phi):
    """The largest p of all values and of leaving any one out."""
    samples = [(left, right)]
    samples += [(left[:i] + left[i + 1:], right) for i in range(len(left))]
    samples += [(left, right[:i] + right[i + 1:]) for i in range(len(right))]
    return max(student(a, b, phi) for a, b in samples)


def energy(left, right):
    n, m = len(left), len(right)
    mean = lambda distances, count: sum(distances, F(0)) / count
    between = mean((abs(a - b) for a in left for b in right), n * m)
    within = lambda s: mean((abs(a - b) for a, b in combinations(s, 2)), math.comb(len(s), 2))
    return F(n * m, n + m) * (2 * between - within(left) - within(right))


def divide(values, begin, end, shortest, p):
    """Change points inside values[begin:end]."""
    choices = range(begin + shortest, end - shortest + 1)
    scored = [(energy(values[begin:k], values[k:end]), -k) for k in choices]
    if not scored or max(scored)[0] <= 0:
        return []
    best = -max(scored)[1]
    parts = values[begin:best], values[best:end]
    if worst(*parts, correlation(parts)) >= p:
        return []
    return divide(values, begin, best, shortest, p) + [best] + divide(values, best, end, shortest, p)


def change_points(values, window=50, shortest=3, p=.001, floor=F(0)):
    values = [F(v) for v in values]
    points, begin = [], 0
    while begin < len(values):
        new = divide(values, begin, min(len(values), begin + window), shortest, 10 * p)
        points += new
        begin = max([begin + window // 2] + new[-1:])
    while True:
        ends = [0] + points + [len(values)]
        levels = [values[a:b] for a, b in zip(ends, ends[1:])]
        phi = correlation(levels)
        rows = [(worst(a, b, phi), abs(sum(a) / len(a) - sum(b) / len(b)), i)
                for i, (a, b) in enumerate(zip(levels, levels[1:]))]
        if not rows:
            return []
        weak = max(rows, key=lambda row: row[0])
        if weak[0] < p:
            weak = min(rows, key=lambda row: row[1])
            if weak[1] >= floor:
                mean = lambda level: float(sum(level) / len(level))
                return [{"index": k, "before": mean(a), "after": mean(b), "p": row[0]}
                        for k, a, b, row in zip(points, levels, levels[1:], rows)]
        del points[weak[2]]


def made_up():
    """(name, values, options): steps, spikes, drifts, nights without any noise."""
    r = random.Random(20240817)
    noise = lambda n, sd=1.0, level=0.0: [round(level + r.gauss(0, sd), 6) for _ in range(n)]
    yield "healthy", noise(60), {}
    yield "step of 3 SD, five nights old", noise(45) + noise(5, 1, 3), {}
    yield "step of 4 SD, four nights old: not yet sure", noise(30) + noise(4, 1, 4), {}
    yield "up and down again", noise(20) + noise(15, 1, 4) + noise(25), {}
    spike = noise(40)
    spike[20] += 50
    yield "one spike", spike, {}
    yield "one spike without noise", [1.0] * 15 + [9.0] + [1.0] * 15, {}
    yield "one spike last", noise(30) + [40.0], {}
    yield "two spikes side by side", [1.0] * 15 + [9.0] * 2 + [1.0] * 15, {}
    yield "counts that change", [734003200.0] * 12 + [734003712.0] * 4, {}
    yield "counts that do not", [.1] * 30, {}
    yield "small step", noise(40, .0002, .354) + noise(40, .0002, .3545), {"floor": .001}
    yield "the same without a floor", noise(40, .0002, .354) + noise(40, .0002, .3545), {}
    yield "slow drift", [round(v + .05 * i, 6) for i, v in enumerate(noise(100))], {}
    yield "three steps in 160 nights", noise(50, .5, 1) + noise(22, .5, 3) + noise(8, .5, 0) + noise(80, .5, 2), {}
    yield "short windows", noise(30, .5, 1) + noise(30, .5, 2.5), {"window": 20}
    r = random.Random(20261127)
    def neighbours(n):
        values = [r.gauss(0, 1)]
        while len(values) < n:
            values.append(.6 * values[-1] + .8 * r.gauss(0, 1))
        return [round(v, 6) for v in values]
    yield "nights that go with the night before", neighbours(90), {}
    yield "a step of 7 SD among such", [v + 7 * (i >= 40) for i, v in enumerate(neighbours(80))], {}
    yield "too short", [1.0, 1.0, 5.0, 5.0, 5.0], {}
    yield "none", [], {}


def main():
    cases = []
    for name, values, options in made_up():
        floor = F(options.get("floor", 0))
        found = change_points(values, window=options.get("window", 50), floor=floor)
        cases.append({"name": name, "values": values, "window": options.get("window", 50),
                      "min_change": float(floor), "points": found})
    print("[")
    print(",\n".join(" " + json.dumps(case) for case in cases))
    print("]")


main()
