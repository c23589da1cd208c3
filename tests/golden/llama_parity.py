#!/usr/bin/env python3
"""A small random Llama in llama2.c's file form and its logits in float64, written from the formulas of
llama2.c's run.c (RMS norm with gain, rotary over neighbouring pairs, grouped heads, SwiGLU), numpy only.
    tests/golden/llama_parity.py   writes llama_parity.bin and llama_parity.json beside itself
"""
import json
import os
import struct

import numpy as np

DIM, HIDDEN, LAYERS, HEADS, KV_HEADS, VOCAB, LENGTH = 16, 24, 2, 4, 2, 20, 12
HEAD = DIM // HEADS
KV = KV_HEADS * HEAD
TOKENS = [1, 7, 3, 3, 19, 0, 11, 5, 2]


def weights():
    random = np.random.default_rng(20240229)
    draw = lambda *shape: (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
    gain = lambda *shape: (1 + 0.2 * random.standard_normal(shape)).astype(np.float32)
    return [
        ("embedding", draw(VOCAB, DIM) * 4), ("norm_attention", gain(LAYERS, DIM)),
        ("wq", draw(LAYERS, DIM, DIM)), ("wk", draw(LAYERS, KV, DIM)), ("wv", draw(LAYERS, KV, DIM)),
        ("wo", draw(LAYERS, DIM, DIM)), ("norm_mlp", gain(LAYERS, DIM)), ("w1", draw(LAYERS, HIDDEN, DIM)),
        ("w2", draw(LAYERS, DIM, HIDDEN)), ("w3", draw(LAYERS, HIDDEN, DIM)), ("norm_final", gain(DIM)),
        ("tables", np.zeros(LENGTH * HEAD, np.float32)), ("output", draw(VOCAB, DIM)),
    ]


def norm(x, gain):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gain


def turned(x, heads):  # (T, heads·HEAD): pairs (2i, 2i+1) by position · 10000^(-2i/HEAD)
    x = x.reshape(len(x), heads, HEAD // 2, 2).copy()
    angle = np.arange(len(x))[:, None] * 10000.0 ** (-2 * np.arange(HEAD // 2) / HEAD)[None, :]
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    a, b = x[..., 0].copy(), x[..., 1].copy()
    x[..., 0], x[..., 1] = a * cos - b * sin, a * sin + b * cos
    return x.reshape(len(x), heads, HEAD)


def forward(w, tokens):
    w = {name: value.astype(np.float64) for name, value in w}
    x, time = w["embedding"][tokens], len(tokens)
    for l in range(LAYERS):
        n = norm(x, w["norm_attention"][l])
        q, k = turned(n @ w["wq"][l].T, HEADS), turned(n @ w["wk"][l].T, KV_HEADS)
        v = (n @ w["wv"][l].T).reshape(time, KV_HEADS, HEAD)
        out = np.zeros((time, HEADS, HEAD))
        for h in range(HEADS):
            g = h // (HEADS // KV_HEADS)
            scores = q[:, h] @ k[:, g].T / np.sqrt(HEAD)
            scores[np.triu_indices(time, 1)] = -np.inf
            p = np.exp(scores - scores.max(-1, keepdims=True))
            out[:, h] = p / p.sum(-1, keepdims=True) @ v[:, g]
        x = x + out.reshape(time, DIM) @ w["wo"][l].T
        n = norm(x, w["norm_mlp"][l])
        gate = n @ w["w1"][l].T
        x = x + (gate / (1 + np.exp(-gate)) * (n @ w["w3"][l].T)) @ w["w2"][l].T
    return norm(x, w["norm_final"]) @ w["output"].T


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    w = weights()
    with open(os.path.join(here, "llama_parity.bin"), "wb") as file:
        file.write(struct.pack("<7i", DIM, HIDDEN, LAYERS, HEADS, KV_HEADS, -VOCAB, LENGTH))
        for _, value in w:
            file.write(value.astype("<f4").tobytes())
    logits = forward(w, TOKENS)
    with open(os.path.join(here, "llama_parity.json"), "w") as file:
        rows = ",\n".join("  " + json.dumps([float(f"{v:.9g}") for v in row]) for row in logits)
        file.write(f'{{"tokens": {json.dumps(TOKENS)},\n "logits": [\n{rows}\n]}}\n')


main()
