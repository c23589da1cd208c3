"""nanochat's CORE evaluation loop (core_eval.py, base_eval.py) in plain PyTorch, for comparison with `npubench eval`.

Same weights (a training's folder), same items, prompts and spans (tests/golden/core_golden.py, after nanochat's
core_eval.py); one forward pass an item, its choices as the batch, right-padded with <|bos|>, as nanochat does. Tokenizing is
not timed. Prints seconds and predictions; compares them with the items that npubench wrote.
    eval_versus_pytorch.py score TRAINING DATA TASKS N OUT.json      run PyTorch (NB_TORCH=bf16: under autocast)
    eval_versus_pytorch.py compare OUT.json EVAL_FOLDER              seconds and predictions against ours
"""
import base64
import csv
import functools
import json
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests" / "golden"))
from core_golden import examples_of, order_of, render, spans  # noqa: E402

CLOSE_NAT = 1e-5  # two choices this close may change places between two ways of adding in fp32


class Tokenizer:
    """Our tokenizer.json with nanochat's split pattern; pieces are remembered."""

    def __init__(self, path):
        import regex
        data = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        self.ranks = {base64.b64decode(t): i for i, t in enumerate(data["tokens"]) if t is not None}
        self.bos = data["specials"]["<|bos|>"]
        self.pattern = regex.compile(
            r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*"""
            r"""|\s*[\r\n]|\s+(?!\S)|\s+""")
        self.piece = functools.lru_cache(None)(self.piece)

    def piece(self, text):
        data = text.encode()
        parts = [data] if data in self.ranks else [data[i:i + 1] for i in range(len(data))]
        while True:
            ranked = [(self.ranks[a + b], i) for i, (a, b) in enumerate(zip(parts, parts[1:])) if a + b in self.ranks]
            if not ranked:
                return [self.ranks[part] for part in parts]
            i = min(ranked)[1]
            parts[i:i + 2] = [parts[i] + parts[i + 1]]

    def encode(self, text):
        return [self.bos] + [i for piece in self.pattern.findall(text) for i in self.piece(piece)]


def read_safetensors(path):
    import torch
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8:8 + size]), memoryview(data)[8 + size:]
    dtypes = {"F32": torch.float32, "BF16": torch.bfloat16}
    out = {}
    for name, entry in header.items():
        if name.startswith(("transformer.", "lm_head.")):  # the rest is optimizer and loader
            begin, end = entry["data_offsets"]
            raw = torch.frombuffer(bytearray(body[begin:end]), dtype=dtypes[entry["dtype"]])
            out[name] = raw.reshape(entry["shape"]).float()
    return out


class Decoder:
    """nanochat's gpt.py, forward only, fp32."""

    def __init__(self, weights, heads, positions):
        import torch
        self.w, self.heads = weights, heads
        self.layers = 1 + max(int(n.split(".")[2]) for n in weights if n.startswith("transformer.h."))
        width = weights["lm_head.weight"].shape[1]
        dim = width // heads
        angle = torch.outer(torch.arange(positions).float(), 10000.0 ** (-torch.arange(0, dim, 2).float() / dim))
        self.cos, self.sin = angle.cos(), angle.sin()

    def rotate(self, x):
        half, time_ = x.shape[-1] // 2, x.shape[-2]
        import torch
        a, b, cos, sin = x[..., :half], x[..., half:], self.cos[:time_], self.sin[:time_]
        return torch.cat([a * cos + b * sin, b * cos - a * sin], -1)

    def logits(self, ids):
        import torch
        import torch.nn.functional as F
        norm = lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1.1920929e-07)
        batch, length = ids.shape
        x = norm(F.embedding(ids, self.w["transformer.wte.weight"]))
        mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        for layer in range(self.layers):
            w = lambda name: self.w[f"transformer.h.{layer}.{name}.weight"]
            y = norm(x)
            q, k, v = [F.linear(y, w(f"attn.c_{p}")).view(batch, length, self.heads, -1).transpose(1, 2)
                       for p in "qkv"]
            q, k = norm(self.rotate(q)), norm(self.rotate(k))
            if hasattr(F, "scaled_dot_product_attention"):
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                scores = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
                y = torch.softmax(scores.masked_fill(mask, float("-inf")), -1) @ v
            x = x + F.linear(y.transpose(1, 2).reshape(batch, length, -1), w("attn.c_proj"))
            x = x + F.linear(F.relu(F.linear(norm(x), w("mlp.c_fc"))).square(), w("mlp.c_proj"))
        return 15 * torch.tanh(F.linear(norm(x), self.w["lm_head.weight"]) / 15)


def items_of(data, label, limit, tokenizer):
    """(token sequences, starts, ends, gold) of every item; the two HellaSwag tasks take the approximate file."""
    with open(data / "reference" / "core_tasks.csv", newline="", encoding="utf-8") as table:
        task = next(t for t in csv.DictReader(table) if t["label"] == label)
    path = data / "core" / "eval_data" / task["dataset_uri"]
    if label.startswith("hellaswag"):
        path = data / "core" / "derived" / "hellaswag_APPROX.jsonl"
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line.strip()) for line in lines]
    kind, delimiter = task["type"], task["continuation_delimiter"].replace("\\n", "\n")
    case = {"shots": int(task["num_fewshot"]), "few_shot_seed": 1234}
    order = order_of(rows, limit)
    for idx, position in enumerate(order):
        examples = [rows[order[e]] for e in examples_of(case, len(order), idx)]
        prompts = render(kind, delimiter, rows[position], examples)
        yield (*spans(kind, [tokenizer.encode(p) for p in prompts]), rows[position].get("gold"))


def score(folder, data, tasks, limit, out):
    import torch
    import torch.nn.functional as F
    torch.set_num_threads(int(os.environ.get("NB_THREADS", os.cpu_count())))
    is_bf16 = os.environ.get("NB_TORCH", "fp32") == "bf16"
    folder, data = pathlib.Path(folder), pathlib.Path(data)
    record = json.loads((folder / "record.json").read_text())
    checkpoint = folder / next(f for f in record["artifacts"] if f.endswith(".safetensors"))
    weights = read_safetensors(checkpoint)
    width = weights["lm_head.weight"].shape[1]
    gpt = Decoder(weights, max(1, -(-width // 128)), 20480)  # heads: nanochat's depth rule
    tokenizer = Tokenizer(next(p for p in folder.parent.glob("tokenizer*/tokenizer.json")))
    results = {}
    for label in tasks.split(","):
        items = list(items_of(data, label, limit, tokenizer))
        seconds, predictions = 0.0, []
        for sequences, starts, ends, gold in items:
            longest = max(map(len, sequences))
            ids = torch.full((len(sequences), longest), tokenizer.bos, dtype=torch.long)
            for row, sequence in enumerate(sequences):
                ids[row, :len(sequence)] = torch.tensor(sequence)
            begin = time.perf_counter()
            with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=is_bf16):
                logits = gpt.logits(ids)
                targets = torch.roll(ids, -1, 1)
                logits = logits.float()
                losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view(ids.shape)
                if gold is None:
                    guess = logits[0].argmax(-1)
                    predictions.append(bool((guess[starts[0] - 1:ends[0] - 1] == ids[0, starts[0]:ends[0]]).all()))
                else:
                    predictions.append([losses[i, s - 1:e - 1].mean().item() for i, (s, e) in
                                        enumerate(zip(starts, ends))])
            seconds += time.perf_counter() - begin
        results[label] = {"seconds": seconds, "items": len(items), "predictions": predictions}
        print(f"{label}: {len(items)} items, {seconds:.2f} s", flush=True)
    pathlib.Path(out).write_text(json.dumps({"torch": torch.__version__, "tasks": results}))


def compare(out, folder):
    theirs, folder = json.loads(pathlib.Path(out).read_text()), pathlib.Path(folder)
    same = differing = 0
    for label, result in theirs["tasks"].items():
        found = [folder / "items" / f"{name}.jsonl" for name in (label, label + "_approx")]
        path = next(p for p in found if p.exists())
        ours = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert len(ours) == result["items"], (label, len(ours), result["items"])
        for index, (mine, loss) in enumerate(zip(ours, result["predictions"])):
            if isinstance(loss, bool):
                equal, note = bool(mine["o"]) == loss, "exact match differs"
            else:
                best = min(range(len(loss)), key=lambda i: (loss[i], i))
                gap = loss[int(mine["p"])] - loss[best]
                equal, note = int(mine["p"]) == best, f"two choices {gap:.2e} nat apart"
                if not equal and gap < CLOSE_NAT:
                    note += ", a tie in fp32"
            same += equal
            if not equal:
                differing += 1
                print(f"{label} item {index}: {note}")
    print(f"{same} of {same + differing} predictions are the same, {differing} differ (listed above)")


if __name__ == "__main__":
    if len(sys.argv) == 7 and sys.argv[1] == "score":
        score(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), sys.argv[6])
    elif len(sys.argv) == 4 and sys.argv[1] == "compare":
        compare(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)
