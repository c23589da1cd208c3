"""Orders of nanochat's task mixtures and what its chat loaders make of them, over 2,000 steps.

Written from the description of tasks/common.py, scripts/mid_train.py and scripts/chat_sft.py of
karpathy/nanochat at 3a5e0bc, and of the packing loader of scripts/chat_sft.py at 00255c1: datasets are shuffled by numpy's default_rng(42).permutation, mixtures by
random.Random(42).shuffle. Run: python3 tests/golden/mixtures.py > tests/golden/mixtures.json (needs numpy).
"""
import hashlib
import json
import random
from collections import deque

import numpy

STEPS = 2000


def order_digest(entries):
    text = "".join(f"{task},{row};" for task, row in entries)
    return hashlib.sha256(text.encode()).hexdigest()


def mixture(name, rows, slices, per_step):
    """rows: of each dataset; slices: how many of its shuffled rows are taken; per_step: examples of a step."""
    views = [numpy.random.default_rng(42).permutation(n)[:k] for n, k in zip(rows, slices)]
    entries = [(task, place) for task, k in enumerate(slices) for place in range(k)]
    random.Random(42).shuffle(entries)
    taken = [entries[i % len(entries)] for i in range(STEPS * per_step)]
    resolved = [(task, int(views[task][place])) for task, place in taken]
    return {"name": name, "rows": rows, "slices": slices, "per_step": per_step, "size": len(entries),
            "digest": order_digest(resolved), "first": resolved[:4], "last_step": resolved[-per_step:][:4]}


# Made conversations whose lengths and ids follow from their number.
def conversation(i):
    length = 5 + i * 7919 % 97
    ids = [(i * 31 + t * 17) % 500 for t in range(length)]
    mask = [0] + [1 if (i + t) % 3 else 0 for t in range(1, length)]
    return ids, mask


def stream(count, rank, world, rows, length, accumulation):
    """Batches of the loader of mid_train.py, its progress, and how many updates it makes."""
    buffer, cursor, wrapped = deque(), rank, False
    digest, progress, running, updates = hashlib.sha256(), 0.0, [], None
    needed = rows * length + 1
    for batch in range(STEPS):
        while len(buffer) < needed:
            buffer.extend(conversation(cursor)[0])
            cursor += world
            if cursor >= count:
                cursor -= count
                wrapped = True
        tokens = [buffer.popleft() for _ in range(needed)]
        digest.update("".join(f"{x}," for x in tokens).encode())
        progress = max(progress, cursor / count)
        running.append(progress)
        # Batch 0 is fetched before the first update; update u fetches batches u A + 1 … (u + 1) A.
        if updates is None and wrapped and batch % accumulation == 0:
            updates = batch // accumulation
    if updates is None:
        raise SystemExit("the stream does not wrap: make it shorter")
    return {"count": count, "rank": rank, "world": world, "rows": rows, "length": length,
            "accumulation": accumulation, "digest": digest.hexdigest(), "updates": updates,
            "progress": [running[(u + 1) * accumulation] for u in range(updates)]}


def padded_rows(count, rank, world, rows, pad):
    """Batches of the loader of chat_sft.py: one conversation a row."""
    digest, batch, batches = hashlib.sha256(), [], 0
    while True:
        for i in range(rank, count, world):
            batch.append(conversation(i))
            if len(batch) < rows:
                continue
            columns = max(len(ids) for ids, _ in batch) - 1
            for ids, mask in batch:
                inputs = ids[:-1] + [pad] * (columns - len(ids) + 1)
                targets = [t if m else -1 for t, m in zip(ids[1:], mask[1:])]
                targets += [-1] * (columns - len(targets))
                digest.update("".join(f"{x},{y};" for x, y in zip(inputs, targets)).encode())
            batch, batches = [], batches + 1
            if batches == STEPS:
                return {"count": count, "rank": rank, "world": world, "rows": rows, "pad": pad,
                        "digest": digest.hexdigest()}


def packed(count, rank, world, rows, length, buffer, pad, accumulation):
    """Batches of the packing loader: into the rest of a row goes the longest waiting conversation that fits."""
    digest, waiting, entering, used = hashlib.sha256(), [], rank, rank
    shares, largest, updates, padding = [], 0.0, None, 0
    for batch in range(STEPS):
        for _ in range(rows):
            row = []  # (token, whether it is trained on)
            while len(row) <= length:
                while len(waiting) < buffer:
                    waiting.append(entering)
                    entering = (entering + world) % count
                sizes = [len(conversation(i)[0]) for i in waiting]
                fitting = [size for size in sizes if size <= length + 1 - len(row)]
                if not fitting:
                    break
                ids, mask = conversation(waiting.pop(sizes.index(max(fitting))))
                row += zip(ids, mask)
                used += world
            padding += length + 1 - len(row)
            row += [(pad, 0)] * (length + 1 - len(row))
            for (token, _), (target, counts) in zip(row, row[1:]):
                digest.update(f"{token},{target if counts else -1};".encode())
        largest = max(largest, used / count)
        shares.append(largest)
        if updates is None and used >= count and batch % accumulation == 0:
            updates = batch // accumulation
    return {"count": count, "rank": rank, "world": world, "rows": rows, "length": length, "buffer": buffer,
            "pad": pad, "accumulation": accumulation, "padding": padding, "digest": digest.hexdigest(),
            "updates": updates, "progress": [shares[(u + 1) * accumulation] for u in range(updates)]}


print(json.dumps({
    "mixtures": [
        mixture("mid_train", [460341, 99842, 7473], [460341, 99842, 7473], 64),
        mixture("mid_validation", [24229, 14042, 1319], [24229, 5200, 420], 8),
        mixture("sft_train", [2251, 1119, 7473, 460341], [2251, 1119, 7473, 10000], 32),
    ],
    "streams": [stream(2000, 0, 1, 2, 32, 2), stream(5000, 1, 3, 3, 17, 1)],
    "padded": [padded_rows(3001, 0, 1, 4, 499), padded_rows(3001, 2, 3, 4, 7)],
    "packed": [packed(2000, 0, 1, 3, 128, 100, 499, 2), packed(3001, 1, 3, 2, 100, 7, 7, 1)],
}, indent=1))
