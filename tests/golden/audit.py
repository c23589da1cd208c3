#!/usr/bin/env python3
"""Writes audit.json: golden values for results/audit, by brute force and exact fractions only.

    /usr/bin/python3 tests/golden/audit.py > tests/golden/audit.json
"""
import csv
import json
import math
import pathlib
import random
import struct
from fractions import Fraction as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = {"ARC-Challenge": 1172, "ARC-Easy": 2376, "GSM8K": 1319, "HumanEval": 164, "MMLU": 14042, "SpellingBee": 256}
GUESSING = {"ARC-Challenge": F(1, 4), "ARC-Easy": F(1, 4), "MMLU": F(1, 4)}
CHANCE = {"hellaswag_zeroshot": "25", "arc_easy": "25", "arc_challenge": "25", "copa": "50", "commonsense_qa": "20", "piqa": "50",
          "openbook_qa": "25", "hellaswag": "25", "winograd": "50", "winogrande": "50", "agi_eval_lsat_ar": "20", "boolq": "62",
          "bigbench_language_identification": "9.1"}
CHANCE_V2 = dict(CHANCE, commonsense_qa="40.3", agi_eval_lsat_ar="25", bigbench_language_identification="25")


def published(name):
    return json.loads((ROOT / "results/published" / f"{name}.json").read_text())


def cells(run, stage):
    for part in run["stages"]:
        if part["name"] == stage:
            return {cell["task"]: cell["value"] for cell in part["cells"]}
    return {}


def fp32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def held(k, n):
    """k/n as a program holds it: exactly, or as the mean of fp32 marks, divided or multiplied by fp32(1/n)."""
    return [F(k, n), F(fp32(k / n)), F(fp32(fp32(1 / n) * k))]


def right_answers(text, n):
    """k whose share of n is printed as text, whichever way a 5 is rounded."""
    digits = len(text.split(".")[1])
    unit = F(1, 10**digits)
    near = [k for k in range(n + 1) if abs(F(k, n) - F(text)) <= unit]
    return [k for k in near if any(abs(share - F(text)) <= unit / 2 for share in held(k, n))]


def printable(n, digits):
    """How many values of so many digits are shares of n items: the number of texts that some k can be printed as."""
    texts = set()
    for k in range(n + 1):
        for share in held(k, n):
            scaled = share * 10**digits
            texts.add(math.floor(scaled + F(1, 2)))
            texts.add(math.ceil(scaled - F(1, 2)))
    return len(texts)


def chatcore(scores, with_spelling):
    names = ["ARC-Easy", "ARC-Challenge", "MMLU", "GSM8K", "HumanEval"] + (["SpellingBee"] if with_spelling else [])
    centred = [(F(scores[t]) - GUESSING.get(t, F(0))) / (1 - GUESSING.get(t, F(0))) for t in names]
    variance = sum(float(F(scores[t]) * (1 - F(scores[t])) / SIZES[t] / (1 - GUESSING.get(t, F(0)))**2) for t in names)
    return {"value": float(sum(centred) / len(names)), "standard_error": math.sqrt(variance) / len(names)}


def core(scores, sizes, chance):
    total, variance = F(0), 0.0
    for task, text in scores.items():
        b = F(chance.get(task, "0")) / 100
        a = F(text)
        total += (a - b) / (1 - b)
        variance += float(a * (1 - a) / sizes[task] / (1 - b)**2)
    return {"value": float(total / len(scores)), "standard_error": math.sqrt(variance) / len(scores)}


def two_sided(z):
    return math.erfc(abs(z) / math.sqrt(2))


def proportions(a, n_a, b, n_b):
    a, b = float(a), float(b)
    pooled = (a * n_a + b * n_b) / (n_a + n_b)
    z = (b - a) / math.sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
    half = 1.959963984540054 * math.sqrt(a * (1 - a) / n_a + b * (1 - b) / n_b)
    return {"difference": b - a, "z": z, "p": two_sided(z), "low": b - a - half, "high": b - a + half}


def holm(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    adjusted, most = [0.0] * len(values), 0.0
    for rank, i in enumerate(order):
        most = max(most, (len(values) - rank) * values[i])
        adjusted[i] = min(1.0, most)
    return adjusted


table = published("seed_result_table")
gpu, npu = table["runs"]
out = {"grim": [], "retention": [], "differences": [], "chatcore": []}
for stage in ("MID", "SFT", "RL"):
    for task, text in cells(gpu, stage).items():
        other = cells(npu, stage)[task]
        if task == "ChatCORE":
            for run in (gpu, npu):
                out["chatcore"].append({"run": run["name"], "stage": stage, "reported": cells(run, stage)[task],
                                        **chatcore(cells(run, stage), False)})
            continue
        n, b = SIZES[task], GUESSING.get(task, F(0))
        for run, value in (("GPU", text), ("NPU", other)):
            out["grim"].append({"run": run, "stage": stage, "task": task, "value": value, "n": n,
                                "right": right_answers(value, n), "wanted": float(F(value) * n)})
        p, q = float(other), float(text)
        spread = 1.959963984540054 * math.sqrt((1 - p) / (p * n) + (1 - q) / (q * n))
        out["retention"].append({"stage": stage, "task": task, "raw": p / q, "low": p / q * math.exp(-spread),
                                 "high": p / q * math.exp(spread), "centred": float((F(other) - b) / (F(text) - b))})
        out["differences"].append({"stage": stage, "task": task, "n": n, "a": text, "b": other,
                                   **proportions(text, n, other, n)})
for row, p in zip(out["differences"], holm([row["p"] for row in out["differences"]])):
    row["p_holm"] = p
out["sizes"] = {text: [n for n in range(1, 165) if right_answers(text, n)] for text in ("0.0239", "0.0420")}
out["below_guessing"] = {"guessing": (.2091 - .25) / math.sqrt(.25 * .75 / 14042),
                         "worst": (.2091 - .2295) / math.sqrt(.2295 * .7705 / 14042)}

out["six_tasks"] = []
for name in ("ascend_910c_d20", "ascend_910c_d32"):
    run = published(name)["runs"][0]
    for stage in ("SFT", "RL"):
        scores = cells(run, stage)
        out["six_tasks"].append({"table": name, "stage": stage, "five": chatcore(scores, False), "six": chatcore(scores, True)})
    base = [part for part in run["stages"] if part["name"] == "BASE"][0]["cells"]
    scores = {cell["task"]: cell["value"] for cell in base if cell["task"] != "CORE"}
    sizes = {cell["task"]: cell["n"] for cell in base if cell["task"] != "CORE"}
    out[name] = {"v1": core(scores, sizes, CHANCE), "v2": core(scores, sizes, CHANCE_V2)}
d32 = published("ascend_910c_d32")["runs"][0]
sft, rl = cells(d32, "SFT"), cells(d32, "RL")
tasks = [t for t in sft if t != "ChatCORE"]
rows = [{"task": t, **proportions(sft[t], SIZES[t], rl[t], SIZES[t])} for t in tasks]
for row, p in zip(rows, holm([row["p"] for row in rows])):
    row["p_holm"] = p
out["sft_to_rl"] = rows

# Memory: the coefficient of activations that gives the measured d20 its 33,720.95 MiB.
V, C, L, T, B, W = 32768, 1280, 20, 2048, 8, 16
embedding, matrices, values = V * C, 12 * C * C * L, (L // 2) * V * C
weights = 2 * (embedding + values) + 4 * (embedding + matrices)
state = 2 * 2 * (embedding + values) + 2 * 4 * embedding + 4 * matrices
rest = 33720.95 * 2**20 - 2 * weights - state / W - 16 * V * B * T
out["bytes_per_activation"] = rest / (C * L * B * T)


def eager(depth, vocab, sequence, batch, cards):
    c = 64 * depth
    e, m = vocab * c, 12 * c * c * depth
    tokens = batch * sequence
    return (2 * (2 * e + 4 * (e + m)) + (4 * e + 8 * e + 4 * m) / cards + 50.6 * c * depth * tokens + 16 * vocab * tokens)


out["eager"] = [{"depth": d, "vocab": v, "sequence": t, "batch": b, "cards": w, "bytes": eager(d, v, t, b, w)}
                for d, v, t, b, w in ((12, 65536, 2048, 16, 8), (8, 65536, 2048, 8, 1), (12, 265, 512, 2, 4), (20, 65536, 2048, 12, 8))]

# Honest cards of nanochat's core_eval.py: k right answers of n, averaged in fp32, printed with six digits. On exact
# fractions alone some of them are no share at all.
rng = random.Random(40)
COUNTED = [n for n in (2376, 1172, 100, 1221, 1838, 500, 5153, 273, 1267, 1000, 230, 1320, 210, 32, 7983, 3270, 2117)]
out["fp32_cards"] = []
for card in range(100):
    cells = []
    for n in COUNTED:
        k = rng.randint(0, n)
        cells.append({"n": n, "k": k, "text": "%.6f" % fp32(fp32(1 / n) * k if card % 2 else k / n)})
    out["fp32_cards"].append(cells)
out["exact_fails"] = sum(any(all(abs(F(k, c["n"]) - F(c["text"])) > F(1, 2 * 10**6) for k in (c["k"] - 1, c["k"], c["k"] + 1))
                             for c in cells) for cells in out["fp32_cards"])
out["fp32_cards"] = [" ".join(f"{c['k']}/{c['n']}={c['text']}" for c in cells) for cells in out["fp32_cards"]]
out["coqa"] = {"n": 7983, "value": "0.268946", "right": right_answers("0.268946", 7983)}
out["printable"] = [{"n": n, "digits": digits, "values": printable(n, digits)} for n, digits in ((7983, 6), (3270, 6), (1319, 5))]
print(json.dumps(out, indent=1))
