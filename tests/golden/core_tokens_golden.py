#!/usr/bin/env python3
"""First 20 items of all 22 tasks of CORE on all rows, with GPT-2's tokenizer; no data, only small numbers and hashes.

    python3 tests/golden/core_tokens_golden.py DATA_FOLDER > tests/golden/core_tokens_golden.json

Rows, few-shot draws, prompts and spans by the rules of core_golden.py (Python's own random); the encoder here is the
textbook's: merges of vocab.bpe by rank, ids of encoder.json. Needs python3-regex. The two HellaSwag tasks take the
approximate file. An item is [row, few-shot positions, hash of the prompts, hash of the token ids, starts, ends];
hashes are the first 16 digits of SHA-256, ids are written as decimals with commas, sequences with newlines between.
"""
import csv
import functools
import hashlib
import json
import pathlib
import sys

import regex

from core_golden import examples_of, netstring, order_of, render, spans

ITEMS = 20
PATTERN = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def byte_names():
    """GPT-2's printable stand-ins of the 256 bytes."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xa1, 0xad), *range(0xae, 0x100)]
    rest = [b for b in range(256) if b not in printable]
    return {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(rest)}


class Gpt2:
    def __init__(self, folder):
        self.names = byte_names()
        self.ids = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
        lines = (folder / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:]
        self.ranks = {tuple(line.split(" ")): rank for rank, line in enumerate(lines) if line}
        self.bos = self.ids["<|endoftext|>"]
        self.piece = functools.lru_cache(None)(self.piece)

    def piece(self, text):
        parts = [self.names[b] for b in text.encode()]
        while len(parts) > 1:
            best = min(zip(parts, parts[1:]), key=lambda pair: self.ranks.get(pair, 1 << 30))
            if best not in self.ranks:
                break
            merged, i = [], 0
            while i < len(parts):
                if tuple(parts[i:i + 2]) == best:
                    merged.append("".join(best))
                    i += 2
                else:
                    merged.append(parts[i])
                    i += 1
            parts = merged
        return [self.ids[part] for part in parts]

    def encode(self, text):
        return [self.bos] + [i for piece in PATTERN.findall(text) for i in self.piece(piece)]


def short(data):
    return hashlib.sha256(data).hexdigest()[:16]


def main():
    folder = pathlib.Path(sys.argv[1])
    gpt2 = Gpt2(folder / "tokenizers/gpt2")
    tasks = {}
    with open(folder / "reference/core_tasks.csv", newline="", encoding="utf-8") as table:
        for task in csv.DictReader(table):
            path = folder / "core/eval_data" / task["dataset_uri"]
            if task["label"].startswith("hellaswag"):
                path = folder / "core/derived/hellaswag_APPROX.jsonl"
            with open(path, encoding="utf-8") as lines:
                rows = [json.loads(line.strip()) for line in lines]
            kind, delimiter = task["type"], task["continuation_delimiter"].replace("\\n", "\n")
            case = {"shots": int(task["num_fewshot"]), "few_shot_seed": 1234}
            order, items = order_of(rows, -1), []
            for idx in range(ITEMS):
                examples = examples_of(case, len(order), idx)
                prompts = render(kind, delimiter, rows[order[idx]], [rows[order[e]] for e in examples])
                tokens, starts, ends = spans(kind, [gpt2.encode(p) for p in prompts])
                ids = "\n".join(",".join(map(str, sequence)) for sequence in tokens)
                items.append([order[idx], examples, short(b"".join(map(netstring, prompts))), short(ids.encode()),
                              starts, ends])
            tasks[task["label"]] = items
            print(task["label"], file=sys.stderr)
    lines = [f'"{label}": [\n' + ",\n".join(json.dumps(i, separators=(",", ":")) for i in items) + "]"
             for label, items in tasks.items()]
    print("{" + ",\n".join(lines) + "}")


main()
