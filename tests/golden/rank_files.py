#!/usr/bin/env python3
"""Digests of token ids of every text file under the five public vocabularies, by an encoder written from
tiktoken's definition: the published split pattern (python3-regex), then byte pairs of lowest rank, leftmost
first. Slow on purpose, apart from remembering pieces.
    tests/golden/rank_files.py DATA > tests/golden/rank_files.json      (about two minutes)
"""
import base64
import hashlib
import json
import os
import struct
import sys

import regex

GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
CL100K = (r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"""
          r"""|\s*[\r\n]|\s+(?!\S)|\s+""")
O200K = "|".join([
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""\p{N}{1,3}""", r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""", r"""\s*[\r\n]+""", r"""\s+(?!\S)""", r"""\s+"""])
VOCABULARIES = {"r50k_base": GPT2, "p50k_base": GPT2, "cl100k_base": CL100K, "o200k_base": O200K}


def read_ranks(path):
    with open(path, "rb") as file:
        return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in file if line.strip())}


def merge(ranks, piece):
    if piece in ranks:
        return [ranks[piece]]
    parts = [piece[i:i + 1] for i in range(len(piece))]
    while True:
        best, at = None, -1
        for i in range(len(parts) - 1):
            rank = ranks.get(parts[i] + parts[i + 1])
            if rank is not None and (best is None or rank < best):
                best, at = rank, i
        if best is None:
            return [ranks[part] for part in parts]
        parts[at:at + 2] = [parts[at] + parts[at + 1]]


def text_files(root):
    found = []
    for folder, _, names in os.walk(os.path.join(root, "text")):
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


def main():
    root = sys.argv[1]
    out = {}
    for name, pattern in VOCABULARIES.items():
        ranks = read_ranks(os.path.join(root, "tokenizers", "tiktoken", name + ".tiktoken"))
        split, known = regex.compile(pattern), {}
        digest, tokens, size = hashlib.sha256(), 0, 0
        for path in text_files(root):
            with open(os.path.join(root, path), "rb") as file:
                data = file.read()
            size += len(data)
            ids = []
            for match in split.finditer(data.decode("utf-8")):
                piece = match.group()
                if piece not in known:
                    known[piece] = merge(ranks, piece.encode())
                ids += known[piece]
            tokens += len(ids)
            digest.update(struct.pack(f"<{len(ids)}I", *ids))
        out[name] = {"bytes": size, "tokens": tokens, "sha256": digest.hexdigest()}
    print(json.dumps(out, indent=1))


main()
