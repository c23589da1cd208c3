#!/usr/bin/env python3
"""Bits per byte of a few texts under the toy tokenizer and the toy model of core_golden.py; standard library only.

    python3 tests/golden/bits_per_byte.py > tests/golden/bits_per_byte.json

Every token but <|bos|> is scored once. Target number t (from 1; <|bos|> is 0) lies in the window that begins at
((t - 1) // (context - 1)) * (context - 1), and what the model has seen before it is what lies between the two.
"""
import json
import math

from core_golden import encode, score

TEXTS = ["the cat on the red fox", "Answer: in an error, the fox sat.\r\n\r\n  12345\n", "a", "naïve – 北京 🦊 the",
         "The answer in the house is at " * 9]
CONTEXTS = [2, 3, 8, 17, 4096]


def nats(tokens, context):
    total = []
    for t in range(1, len(tokens)):
        begin = (t - 1) // (context - 1) * (context - 1)
        total.append(-score(tokens[begin:t], tokens[t])[0])
    return math.fsum(total), len(total)  # eighths: exact in any order


cases = []
for context in CONTEXTS:
    per_text = [nats(encode(text), context) for text in TEXTS]
    size = sum(len(text.encode()) for text in TEXTS)
    cases.append({"context": context, "nats": [n for n, _ in per_text], "tokens": [t for _, t in per_text],
                  "bits_per_byte": sum(n for n, _ in per_text) / math.log(2) / size,
                  "nats_per_token": sum(n for n, _ in per_text) / sum(t for _, t in per_text)})
print(json.dumps({"texts": TEXTS, "cases": cases}, indent=1))
