#!/usr/bin/env python3
"""Writes more_statistics.json: golden values for results/stats/pass_at_k.hpp, stats_bootstrap.hpp, stats_composite.hpp
and margin_shift.hpp, by enumeration, exact fractions and numpy only.

Nothing here shares an algorithm with the code under test: pass@k by listing every subset, the bootstrap's
distribution by listing every multinomial table or by numpy's own generator, acceleration by leaving out clusters one by
one, Benjamini-Hochberg by its definition as a minimum over cut-offs.
    /usr/bin/python3 tests/golden/more_statistics.py > tests/golden/more_statistics.json
"""
import itertools
import json
import math
from fractions import Fraction as F

import numpy as np

PHI = lambda z: 0.5 * math.erfc(-z / math.sqrt(2))


def phi_inverse(p):
    lo, hi = -10.0, 10.0
    for _ in range(200):
        mid = (lo + hi) / 2
        lo, hi = (mid, hi) if PHI(mid) < p else (lo, mid)
    return (lo + hi) / 2


def pass_at_k(n, c, k):
    """Share of the subsets of k samples that hold a right one."""
    subsets = list(itertools.combinations(range(n), k))
    return F(sum(min(s) < c for s in subsets), len(subsets))


def multinomial_moments(table):
    """Mean, SD and quantiles of (c* − b*)/n over every table, by convolution of n draws in exact fractions."""
    a, b, c, d = table
    n = a + b + c + d
    step = {-1: F(b, n), 0: F(a + d, n), 1: F(c, n)}
    law = {0: F(1)}
    for _ in range(n):
        fresh = {}
        for at, p in law.items():
            for move, q in step.items():
                if q:
                    fresh[at + move] = fresh.get(at + move, F(0)) + p * q
        law = fresh
    mean = sum(k * p for k, p in law.items()) / n
    var = sum((F(k, n) - mean)**2 * p for k, p in law.items())
    below, quantiles = F(0), {}
    for k in sorted(law):
        below += law[k]
        for q in (F(1, 40), F(39, 40)):
            if q not in quantiles and below >= q:
                quantiles[q] = k / n
    estimate = c - b
    bias = phi_inverse(float(sum(p for k, p in law.items() if k < estimate) + law.get(estimate, F(0)) / 2))
    return {"table": table, "mean": float(mean), "sd": math.sqrt(var), "low": quantiles[F(1, 40)],
            "high": quantiles[F(39, 40)], "bias": bias}


def acceleration(values, clusters):
    names = sorted(set(clusters))
    without = []
    for name in names:
        rest = [v for v, c in zip(values, clusters) if c != name]
        without.append(sum(rest) / len(rest))
    mean = sum(without) / len(without)
    return sum((mean - t)**3 for t in without) / (6 * sum((mean - t)**2 for t in without)**1.5)


def cluster_bootstrap(values, clusters, draws=400000):
    rng = np.random.default_rng(5)
    names = sorted(set(clusters))
    sums = np.array([sum(v for v, c in zip(values, clusters) if c == name) for name in names])
    sizes = np.array([clusters.count(name) for name in names])
    picked = rng.integers(0, len(names), size=(draws, len(names)))
    means = sums[picked].sum(1) / sizes[picked].sum(1)
    estimate = sum(values) / len(values)
    a = acceleration(values, clusters)
    z0 = phi_inverse(float((means < estimate).mean() + (means == estimate).mean() / 2))
    ends = [PHI(z0 + (z0 + z) / (1 - a * (z0 + z))) for z in (-1.959963984540054, 1.959963984540054)]
    return {"values": values, "clusters": clusters, "estimate": estimate, "sd": float(means.std(ddof=1)),
            "acceleration": a, "percentile": [float(x) for x in np.quantile(means, (.025, .975))],
            "bca": [float(x) for x in np.quantile(means, ends)]}


def benjamini_hochberg(p):
    """q_i = the smallest level at which hypothesis i is rejected, tried at every cut-off."""
    m = len(p)
    out = []
    for x in p:
        levels = []
        for cut in sorted(p):
            if x <= cut:
                k = sum(y <= cut for y in p)
                levels.append(min(1.0, cut * m / k))
        out.append(min(levels))
    return {"p": p, "q": out}


def composite(tasks):
    """tasks: (n, b, c, r). SE by simulation-free brute force over the items of each task."""
    total, variance, parts = F(0), F(0), []
    count = len(tasks)
    for n, b, c, r in tasks:
        d = [-1] * b + [1] * c + [0] * (n - b - c)
        mean = F(sum(d), n)
        var = sum((x - mean)**2 for x in d) / (n - 1) / n
        scale = 1 / (count * (1 - F(r)))
        total += mean * scale
        variance += var * scale**2
        parts.append(math.sqrt(var * scale**2))
    return {"tasks": [[n, b, c, float(F(r))] for n, b, c, r in tasks], "difference": float(total),
            "standard_error": math.sqrt(variance), "parts": parts}


def shift(before, after, labels):
    """Bias, flip excess and hard flips by their definitions, with numpy."""
    g, h = np.array(before), np.array(after)
    delta = h - g
    s = 1.4826 * float(np.median(np.abs(delta - np.median(delta))))
    expected = float(sum(PHI(-abs(x) / s) for x in g))
    flips = np.sign(g) != np.sign(h)
    f = int(flips.sum())
    p = 1 - sum(math.exp(-expected) * expected**j / math.factorial(j) for j in range(f))
    limit = max(.05, 4 * s)
    hard = [labels[i] for i in range(len(g)) if flips[i] and max(abs(g[i]), abs(h[i])) > limit]
    t = float(delta.mean() / (delta.std(ddof=1) / math.sqrt(len(delta))))
    return {"before": before, "after": after, "labels": labels, "mean": float(delta.mean()), "t": t, "scale": s,
            "expected": expected, "flips": f, "p_excess": p, "limit": limit, "hard": hard,
            "median_size": float(np.median(np.abs(delta)))}


def agreement(pairs):
    """Choice distributions: softmax of log-probabilities, KL(A‖B) each, share of equal best choices."""
    divergences, same = [], 0
    for a, b in pairs:
        pa, pb = np.exp(np.array(a)), np.exp(np.array(b))
        pa, pb = pa / pa.sum(), pb / pb.sum()
        divergences.append(float((pa * np.log(pa / pb)).sum()))
        same += int(np.argmax(a) == np.argmax(b))
    return {"pairs": pairs, "mean": float(np.mean(divergences)), "p999": float(np.quantile(divergences, .999)),
            "same_top": same}


def main():
    rng = np.random.default_rng(11)
    clusters = [0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 4, 5, 5, 6]
    scores = ["0.5", "0.75", "0.5", "0", "0.25", "1", "1", "0.75", "1", "1", "0", "0.5", "0", "0.25"]
    differences = [float(x) for x in ("0.25 0.25 0.5 -0.5 -0.25 0 0 -0.25 0 0.25 1 -0.5 -0.25 0".split())]
    names = [c % 9 for c in range(40)]
    skewed = [round(float(x), 3) for x in rng.exponential(1, 40) - 0.7]
    before = [round(float(x), 4) for x in rng.laplace(0, 1, 60)]
    after = [round(x + float(e), 4) for x, e in zip(before, rng.normal(0.004, 0.03, 60))]
    after[7] = -before[7]  # beyond rounding
    pairs = []
    for _ in range(12):
        a = np.log(rng.dirichlet([1] * 4))
        pairs.append([[round(float(x), 4) for x in a], [round(float(x + e), 4) for x, e in
                                                       zip(a, rng.normal(0, .05, 4))]])
    out = {
        "pass_at_k": [{"n": n, "c": c, "k": k, "p": float(pass_at_k(n, c, k))}
                      for n, c, k in ((5, 0, 1), (5, 2, 1), (10, 3, 5), (10, 10, 3), (10, 1, 10), (12, 4, 2), (1, 1, 1))],
        "multinomial": [multinomial_moments(t) for t in ((60, 12, 5, 43), (100, 3, 0, 61), (20, 30, 22, 8))],
        "cluster_bootstrap": [cluster_bootstrap(differences, clusters), cluster_bootstrap(skewed, names),
                              cluster_bootstrap(skewed, list(range(40)))],
        "benjamini_hochberg": [benjamini_hochberg(p) for p in ([.01, .04, .03, .005], [.5, .2, .9, .001, .02, .02, .6],
                                                               [.9], [.04, .04, .04])],
        "composite": [composite([(164, 3, 1, "0"), (1172, 20, 9, "1/4"), (2376, 40, 44, "1/4"), (1319, 10, 2, "0"),
                                 (14042, 100, 90, "1/4")]),
                      composite([(100, 4, 1, "1/2"), (2000, 10, 11, "0")])],
        "shift": [shift(before, after, [f"item{i}" for i in range(60)])],
        "agreement": [agreement(pairs)],
    }
    print(json.dumps(out, indent=1))


main()
