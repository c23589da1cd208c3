#!/usr/bin/env python3
"""Writes random_streams.json: what CPython's random.Random and numpy's default_rng draw.

    python3 tests/golden/random_streams.py > tests/golden/random_streams.json
"""
import json
import random

import numpy

SEEDS = [0, 1, 42, 1337, 2**32, 2**63 + 5]


def cpython(seed):
    draw = random.Random(seed)
    out = {"seed": seed, "words": [draw.getrandbits(32) for _ in range(700)][-3:]}
    out["random"] = [draw.random() for _ in range(3)]
    out["below"] = [[n, draw.randrange(n)] for n in (1, 2, 7, 1000, 2**31, 2**32, 2**32 + 1, 2**40, 2**63)]
    order = list(range(50))
    draw.shuffle(order)
    out["shuffled"] = order
    out["samples"] = [[n, k, draw.sample(range(n), k)]
                      for n, k in ((5, 5), (21, 3), (22, 3), (85, 10), (86, 10), (100, 6), (1000, 0))]
    return out


def of_numpy(seed):
    draw = numpy.random.default_rng(seed)
    out = {"seed": seed, "random": draw.random(4).tolist()}
    out["permutation"] = draw.permutation(37).tolist()
    out["then"] = int(draw.integers(0, 2**64, dtype=numpy.uint64))
    return out


print(json.dumps({"cpython": [cpython(s) for s in SEEDS], "numpy": [of_numpy(s) for s in SEEDS]}))
