#!/usr/bin/env python3
"""Token ids of texts under llama2.c's tokenizer.bin, by the rule of its run.c (encode()), written from
that rule: a space in front, code points or bytes + 3, then the adjacent pair whose concatenation has the
best score is merged, leftmost first.
    tests/golden/llama2c_tokenizer.py DATA/models/stories260K/tok512.bin > tests/golden/llama2c_tokenizer.json
"""
import json
import struct
import sys

TEXTS = [
    "", "a", " ", "  ", "Once upon a time", "Once upon a time, there was a little girl named Lily.",
    "\n", "\n\nLily's mom said, \"Lily, let's go to the park.\"\n", "the the  the   the",
    "na\u00efve caf\u00e9 \u2122 \u200a \u4f60\u597d \U0001f600", "ALL CAPITALS 0123456789 [x] ~^\\`",
    "tab\tand\u0000nul", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "hehehehehehehehehe she ate the tea then the end and " * 3,
]


def load(path):
    data = open(path, "rb").read()
    at, pieces = 4, []
    while at < len(data):
        score, size = struct.unpack_from("<fi", data, at)
        pieces.append((data[at + 8:at + 8 + size], score))
        at += 8 + size
    return pieces


def encode(pieces, text):
    ids_of = {piece: i for i, (piece, _) in enumerate(pieces)}
    ids = []
    if text:
        ids.append(ids_of[b" "])
    for character in text:
        bytes_ = character.encode()
        ids.extend([ids_of[bytes_]] if bytes_ in ids_of else [b + 3 for b in bytes_])
    while True:
        best_score, best = -1e10, None
        for i in range(len(ids) - 1):
            joined = ids_of.get(pieces[ids[i]][0] + pieces[ids[i + 1]][0])
            if joined is not None and pieces[joined][1] > best_score:
                best_score, best = pieces[joined][1], (i, joined)
        if best is None:
            return ids
        ids[best[0]:best[0] + 2] = [best[1]]


def main():
    pieces = load(sys.argv[1])
    cases = [{"text": text, "ids": encode(pieces, text)} for text in TEXTS]
    print("[\n" + ",\n".join(" " + json.dumps(case) for case in cases) + "\n]")


main()
