#!/usr/bin/env python3
"""Golden vectors of CORE's three task types, from nanochat's published semantics; standard library only.

    python3 tests/golden/core_golden.py > tests/golden/core_golden.json

A toy tokenizer and a toy model stand in for real ones; tests/evals implements both rules again in C++:

tokenizer  bytes 0..255, then MERGES, then the nine specials of nanochat; text is split by nanochat's
           pattern (the sample texts use no letters or digits on which re and PCRE differ), a piece that is
           a token is that token, else the adjacent pair whose bytes have the lowest id merges, leftmost first
model      token t after b tokens of which the last is p:
           log-probability -((3 p + 7 t + 5 b) mod 17) / 8; argmax t, or t + 1 when (p + t) mod 7 = 0
"""
import hashlib
import json
import random
import re
import struct

MERGES = ["th", "the", " the", "in", "an", "er", " a", " c", "at", " cat", " m", "on", " s", "ou", " b",
          "Answ", "An", "sw", "Answer", " red", "re", " fox", "ed"]
SPECIALS = 9
BOS = 256 + len(MERGES)
VOCAB = BOS + SPECIALS
LETTER, DIGIT = r"[^\W\d_]", r"\d"
PATTERN = re.compile(
    rf"'(?i:[sdmt]|ll|ve|re)|(?:[^\r\n\w]|_)?+{LETTER}+|{DIGIT}{{1,2}}| ?(?:[^\s\w]|_)++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
RANKS = {bytes([i]): i for i in range(256)} | {m.encode(): 256 + i for i, m in enumerate(MERGES)}


def encode(text):
    ids = [BOS]
    for piece in PATTERN.findall(text):
        data = piece.encode()
        parts = [data] if data in RANKS else [bytes([b]) for b in data]
        while True:
            ranked = [(RANKS[a + b], i) for i, (a, b) in enumerate(zip(parts, parts[1:])) if a + b in RANKS]
            if not ranked:
                break
            i = min(ranked)[1]
            parts[i:i + 2] = [parts[i] + parts[i + 1]]
        ids += [RANKS[part] for part in parts]
    assert b"".join(p.encode() for p in PATTERN.findall(text)) == text.encode()
    return ids


def score(before, token):
    p, b = before[-1], len(before)
    return -((3 * p + 7 * token + 5 * b) % 17) / 8, (token + 1) % VOCAB if (p + token) % 7 == 0 else token


def netstring(text):
    data = text if isinstance(text, bytes) else str(text).encode()
    return str(len(data)).encode() + b":" + data


def item_bytes(kind, row):
    out = netstring(kind)
    if kind == "multiple_choice":
        return out + netstring(row["query"]) + netstring(len(row["choices"])) + b"".join(
            map(netstring, row["choices"])) + netstring(row["gold"])
    if kind == "schema":
        return out + netstring(len(row["context_options"])) + b"".join(
            map(netstring, row["context_options"])) + netstring(row["continuation"]) + netstring(row["gold"])
    return out + netstring(row["context"]) + netstring(row["continuation"])


def render(kind, delimiter, row, examples):
    if kind == "multiple_choice":
        prefix = "".join(e["query"] + delimiter + e["choices"][e["gold"]] + "\n\n" for e in examples)
        return [prefix + row["query"] + delimiter + choice for choice in row["choices"]]
    if kind == "schema":
        prefix = "".join(e["context_options"][e["gold"]] + delimiter + e["continuation"] + "\n\n" for e in examples)
        return [prefix + option + delimiter + row["continuation"] for option in row["context_options"]]
    prefix = "".join(e["context"].strip() + delimiter + e["continuation"] + "\n\n" for e in examples)
    without = prefix + row["context"].strip() + delimiter
    return [without.strip(), without + row["continuation"]]


def common(sequences, direction):
    length = min(map(len, sequences))
    indices = range(length) if direction == "left" else range(-1, -length - 1, -1)
    for i, index in enumerate(indices):
        if any(s[index] != sequences[0][index] for s in sequences):
            return i
    return length


def spans(kind, sequences):
    if kind == "multiple_choice":
        start = common(sequences, "left")
        return sequences, [start] * len(sequences), [len(s) for s in sequences]
    if kind == "schema":
        suffix = common(sequences, "right")
        return sequences, [len(s) - suffix for s in sequences], [len(s) for s in sequences]
    without, with_ = sequences
    assert len(without) < len(with_) and with_[:len(without)] == without
    return [with_], [len(without)], [len(with_)]


def fp32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def order_of(rows, max_per_task):
    order = list(range(len(rows)))
    random.Random(1337).shuffle(order)
    return order[:max_per_task] if max_per_task > 0 else order


def examples_of(case, kept, idx):
    if case["shots"] == 0:
        return []
    rng = random.Random(case["few_shot_seed"] + idx)
    return rng.sample([i for i in range(kept) if i != idx], case["shots"])


def evaluate(case, limit):
    kind, rows = case["type"], [json.loads(line) for line in case["rows"]]
    seen, ids = {}, []
    for row in rows:
        data = item_bytes(kind, row)
        before = seen.get(data, 0)
        seen[data] = before + 1
        ids.append(hashlib.sha256(data + (netstring(before) if before else b"")).hexdigest()[:16])
    order = order_of(rows, case["max_per_task"])
    items_hash, prompts_hash, records = hashlib.sha256(), hashlib.sha256(), []
    cut = False
    for idx, position in enumerate(order):
        row = rows[position]
        examples = examples_of(case, len(order), idx)
        prompts = render(kind, case["delimiter"], row, [rows[order[e]] for e in examples])
        items_hash.update(netstring(item_bytes(kind, row)))
        for prompt in prompts:
            prompts_hash.update(netstring(prompt))
        tokens, starts, ends = spans(kind, [encode(p) for p in prompts])
        for i, sequence in enumerate(tokens):
            if len(sequence) > limit:
                crop = len(sequence) - limit
                tokens[i], starts[i], ends[i], cut = sequence[-limit:], starts[i] - crop, ends[i] - crop, True
        scored = [[score(t[:i], t[i]) for i in range(s, e)] for t, s, e in zip(tokens, starts, ends)]
        losses = [fp32(sum(-log_prob for log_prob, _ in s) / len(s)) if s else float("nan") for s in scored]
        if kind == "language_modeling":
            prediction = [argmax for _, argmax in scored[0]]
            ok = prediction == tokens[0][starts[0]:ends[0]]
        else:
            prediction = losses.index(min(losses))
            ok = prediction == row["gold"]
        records.append({
            "id": ids[position], "examples": examples, "prompts": prompts, "tokens": tokens, "starts": starts,
            "ends": ends, "prediction": prediction, "ok": ok,
            "mean_log_probs": [None if loss != loss else -loss for loss in losses]})
    accuracy = sum(r["ok"] for r in records) / len(records)
    chance = 0.01 * case["baseline"]
    return case | {"order": order, "items": records, "accuracy": accuracy, "cut": cut,
                   "centred": (accuracy - chance) / (1 - chance),
                   "items_hash": items_hash.hexdigest(), "prompts_hash": prompts_hash.hexdigest()}


def case(name, kind, rows, delimiter=" ", shots=0, max_per_task=-1, baseline=0, few_shot_seed=1234):
    return {"name": name, "type": kind, "delimiter": delimiter, "shots": shots, "max_per_task": max_per_task,
            "baseline": baseline, "few_shot_seed": few_shot_seed,
            "rows": [json.dumps(row, ensure_ascii=False) for row in rows]}


def mc(query, choices, gold):
    return {"query": query, "choices": choices, "gold": gold}


def schema(options, continuation, gold):
    return {"context_options": options, "continuation": continuation, "gold": gold}


def lm(context, continuation):
    return {"context": context, "continuation": continuation}


CHOICE = [
    mc("Question: what is on the mat", ["a cat", "the sea", "12 trees", "an inn"], 0),
    # Answers that begin with the same token: the common prefix reaches into them.
    mc("Question: who sat", ["the cat", "the fox", "the moth", "the bat"], 2),
    mc("Question: which is red\n", [" a fox", "a fox", "the sea", "bread"], 1),
    mc("", ["on", "in", "at"], 1),
    mc("Question: d\u00e9j\u00e0 vu?  ", ["\u00e9t\u00e9", "caf\u00e9", "na\u00efve"], 2),
    mc("Answer: ", ["yes", "no"], 1),
    mc("Question: who sat", ["the cat", "the fox", "the moth", "the bat"], 2),  # a double
    mc("It's the cat's; we'll see", ["they've", "I'd"], 0),
]
# A choice that is a token prefix of the other has an empty span: NaN in front wins, NaN elsewhere never does.
PREFIX = [
    mc("Who ran?", ["red", "red fox"], 0),
    mc("Who ran?", ["red fox", "red"], 1),
    mc("Who sat?", ["red fox", "red"], 0),
]
SCHEMA = [
    schema(["The cat sat because the cat", "The cat sat because the mat"], "was old.", 1),
    # Contexts that end alike: the common suffix reaches into them.
    schema(["Ann told the man that in the end", "Eve asked the man that in the end"], "he was on the mat", 0),
    schema(["The red fox", "A red fox"], "ran", 0),
    schema(["Bob gave a book to Tim, and Bob", "Bob gave a book to Tim, and Tim"], "read it.", 1),
    schema(["Short", "A much longer context than the other"], "was the end", 1),
]
MODELLING = [
    lm("The cat sat on the", "mat"),
    lm("  \u00a0Spaces around \u2003", "are stripped \n"),
    lm("Question: 2 + 2\nAnswer:", "4"),
    lm("Context: the end.\nQuestion: what?\nAnswer: ", "the end"),
    lm("A (", ") ]"),
    lm("One two", " three"),
    lm("The cat sat on the", "mat"),  # a double
    lm("an inn in an", "inn"),
]
CASES = [
    case("choice", "multiple_choice", CHOICE, baseline=25),
    case("choice_few_shot", "multiple_choice", CHOICE, "\nAnswer: ", shots=3, baseline=25),
    case("choice_cropped", "multiple_choice", CHOICE, "\nAnswer: ", shots=2, max_per_task=5, few_shot_seed=99),
    case("choice_is_prefix", "multiple_choice", PREFIX, baseline=50),
    case("schema", "schema", SCHEMA, baseline=50),
    case("schema_few_shot", "schema", SCHEMA, shots=2, baseline=50),
    case("modelling", "language_modeling", MODELLING),
    case("modelling_few_shot", "language_modeling", MODELLING, "\nAnswer: ", shots=4),
]


def main():
    long, short = 4096, 60
    evaluated = [evaluate(c, long) | {"context_length": long} for c in CASES]
    cut = case("choice_cut_to_context", "multiple_choice", CHOICE, "\nAnswer: ", shots=3, baseline=25)
    evaluated.append(evaluate(cut, short) | {"context_length": short})
    spaces = [i for i in range(0x110000) if chr(i).isspace()]
    parts = [json.dumps(c | {"items": "ITEMS"}, sort_keys=True).replace(
        '"ITEMS"', "[\n" + ",\n".join(json.dumps(i, sort_keys=True) for i in c["items"]) + "]") for c in evaluated]
    print(f'{{"merges": {json.dumps(MERGES)},\n"spaces": {spaces},\n"cases": [\n' + ",\n".join(parts) + "]}")


if __name__ == "__main__":
    main()
