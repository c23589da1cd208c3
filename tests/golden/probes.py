#!/usr/bin/env python3
"""Prints the right answers of evals/probes' merge_rank: BPE by its definition, slow and plain.

    /usr/bin/python3 tests/golden/probes.py
"""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TOKENS = [bytes([b]) for b in range(256)] + [bytes([a, b]) for a in range(256) for b in range(256)]
TOKENS += [(a + b + c).encode() for a in LETTERS for b in LETTERS for c in LETTERS]
TOKENS += [word.encode() for word in ("abcd", "wxyz", "efgh", "abcdefgh", "zzzz")]
IDS = {token: i for i, token in enumerate(TOKENS)}
TEXTS = ["ab", "cab", "abc", "zyx", "abcd", "abcde", "wxyz", "zzzz", "zzzzz", "abcdefgh", "hgfedcba", "azbycxdw", "zyx" * 25, "abcde" * 14]  # beyond 64 letters merges go by another way


def encode(text):
    if text.encode() in IDS:
        return [IDS[text.encode()]]
    parts = [bytes([b]) for b in text.encode()]
    while True:
        pairs = [(IDS[a + b], i) for i, (a, b) in enumerate(zip(parts, parts[1:])) if a + b in IDS]
        if not pairs:
            return [IDS[p] for p in parts]
        _, i = min(pairs)
        parts[i:i + 2] = [parts[i] + parts[i + 1]]


for text in TEXTS:
    print(f'    {{"{text}", "{" ".join(map(str, encode(text)))}"}},')
