#!/usr/bin/env python3
"""What nanochat's rule makes of choices that begin others: their span is empty, its mean NaN. Needs torch.

    /usr/bin/python3 tests/golden/prefix_choices.py > tests/golden/prefix_choices.json

min    lists of losses in every order, and the index that Python's min finds (core_eval.py:
       mean_losses.index(min(mean_losses)))
items  choices in every order, as tokens (<|bos|> = 256, then bytes); the loss of token t after b tokens of which
       the last is p is ((3 p + 7 t + 5 b) mod 17) / 8. Where the spans start, which are empty, what is predicted,
       and for each gold whether it is predicted for all, for none or for some losses (tried: 1, 2, 3 for each span
       that is not empty)
"""
import itertools
import json
import math

import torch

BOS, QUERY, DELIMITER = 256, "Q:", " "
LOSSES = [["nan", 1], ["nan", "inf"], ["nan", "nan"], ["nan", 1, 2], ["nan", 1, 1], ["nan", "nan", 1], ["nan", "inf", 1],
          ["nan", "nan", "inf"], [1, 1, 2, "nan"], [0.5, 1, "nan", "nan"]]
CHOICES = [["can squish  water", "can squish  watermelon"], ["ab", "abc", "abd"], ["C", "Co", "Cp", "Cu"], ["ab", "ab"],
           ["ab", "ab", "abc"], ["ab", "abc", "abcd"], ["", "a"], ["ab", "abc", "q"]]


def picked(mean_losses):
    return mean_losses.index(min(mean_losses))


def common_prefix(sequences):
    shortest = min(len(s) for s in sequences)
    for i in range(shortest):
        if not all(s[i] == sequences[0][i] for s in sequences):
            return i
    return shortest


def mean_losses_of(sequences, start):
    means = []
    for tokens in sequences:
        losses = torch.tensor([((3 * tokens[i] + 7 * tokens[i + 1] + 5 * (i + 1)) % 17) / 8 for i in
                               range(len(tokens) - 1)] + [float("nan")])
        means.append(losses[start - 1:len(tokens) - 1].mean().item())
    return means


def fate(gold, is_empty):
    free = [[float("nan")] if empty else [1.0, 2.0, 3.0] for empty in is_empty]
    hits = [picked(list(losses)) == gold for losses in itertools.product(*free)]
    return "right" if all(hits) else "wrong" if not any(hits) else ""


def orders(values):
    return sorted(set(itertools.permutations(values)), key=lambda order: [str(v) for v in order])


def item(choices):
    sequences = [[BOS, *(QUERY + DELIMITER + choice).encode()] for choice in choices]
    start = common_prefix(sequences)
    means = mean_losses_of(sequences, start)
    is_empty = [len(s) == start for s in sequences]
    assert is_empty == [math.isnan(mean) for mean in means]
    return {"choices": choices, "start": start, "prediction": picked(means),
            "fate": [fate(gold, is_empty) for gold in range(len(choices))]}


golden = {"min": [{"losses": order, "index": picked([float(v) for v in order])} for values in LOSSES
                  for order in orders(values)],
          "items": [item(list(order)) for choices in CHOICES for order in orders(choices)]}
print("{")
for name, rows in golden.items():
    print(f' "{name}": [\n  ' + ",\n  ".join(json.dumps(row) for row in rows) + "\n ]" + ("," if name == "min" else ""))
print("}")
