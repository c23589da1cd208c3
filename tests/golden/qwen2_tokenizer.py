#!/usr/bin/env python3
"""Golden values of Qwen2's tokenizer form, made without our code: tests/golden/qwen2_tokenizer.json.

    python3 tests/golden/qwen2_tokenizer.py > tests/golden/qwen2_tokenizer.json

NFC is that of Python's unicodedata, the split that of the `regex` module (Debian: python3-regex) with the pattern of
Qwen2's tokenizer.json, the merges a plain loop. The vocabulary is small and made here.
"""
import json
import unicodedata

import regex

PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEXTS = [
    "Hello, world", "The quick brown fox's den", "I'M YOU'RE they'd WE'LL it's", " two  spaces   here ", "12345 6,789.01",
    "x1y22z333", "\ttab\n\nlines\r\n end\n", "   \n  \n x", "caf\u00e9 and cafe\u0301", "\u212b \u2126 \u1e9b\u0323",
    "\u6607\u817e\u5904\u7406\u5668 910B", "\u4f60\u597d\uff0c\u4e16\u754c\uff01", "\uac00 \u1100\u1161 \u1100\u1161\u11a8",
    "\U0001f642 \U0001f1e8\U0001f1f3 ok", "\u00bd \u00b2 \u2163 \u0663", "a\u00a0b\u3000c", "e\u0301\u0327 x\u0327\u0301",
    "<|im_start|>user", "snake_case camelCase", "\u0958 \u2adc \ufb1d", "",
]


def byte_characters():
    """GPT-2's printable character of every byte."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, more = {b: chr(b) for b in kept}, 0
    for b in range(256):
        if b not in table:
            table[b] = chr(256 + more)
            more += 1
    return table


CHARACTER = byte_characters()


def spelt(text):
    return "".join(CHARACTER[b] for b in text.encode())


def pieces_of(text):
    return [match.group() for match in regex.finditer(PATTERN, unicodedata.normalize("NFC", text))]


def ids_of(piece, vocabulary, ranks):
    parts = list(spelt(piece))
    while True:
        best = min(((ranks[pair], i) for i, pair in enumerate(zip(parts, parts[1:])) if pair in ranks), default=None)
        if best is None:
            return [vocabulary[part] for part in parts]
        i = best[1]
        parts[i:i + 2] = [parts[i] + parts[i + 1]]


def main():
    vocabulary = {CHARACTER[b]: i for i, b in enumerate(range(256))}
    merges = []
    for text in ["he", "ll", " t", " the", "in", "er", "lo", " w", "or", " wor", "12", "\u00e9", "f\u00e9", "\u4e16", "\u4f60",
                 "'s", "  ", "\n\n", "ca", "caf\u00e9"]:
        # Each is joined from what the merges before it leave of it.
        while True:
            ranks = {pair: rank for rank, pair in enumerate(merges)}
            parts = list(spelt(text))
            while True:
                best = min(((ranks[p], i) for i, p in enumerate(zip(parts, parts[1:])) if p in ranks), default=None)
                if best is None:
                    break
                parts[best[1]:best[1] + 2] = [parts[best[1]] + parts[best[1] + 1]]
            if len(parts) == 1:
                break
            merges.append((parts[0], parts[1]))
            vocabulary.setdefault(parts[0] + parts[1], len(vocabulary))
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [{"id": len(vocabulary) + i, "content": name, "special": True} for i, name in enumerate(SPECIALS)],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}]},
        "model": {"type": "BPE", "byte_fallback": False, "vocab": vocabulary, "merges": [" ".join(pair) for pair in merges]},
    }
    cases = [{"text": text, "nfc": unicodedata.normalize("NFC", text), "pieces": pieces_of(text),
              "ids": [i for piece in pieces_of(text) for i in ids_of(piece, vocabulary, ranks)]} for text in TEXTS]
    print(json.dumps({"tokenizer": tokenizer, "cases": cases}, sort_keys=True))


main()
