#!/usr/bin/python3
"""Golden of the described decoder: GPT-2, Llama and two later nanochats in plain PyTorch, and LoRA on two of them.

Writes, beside itself, decoder_parity.json (configurations, parameters, losses of some AdamW+Muon steps, gradient
norms) and decoder_parity.safetensors (every gradient of the first step). Everything runs in float64 on values that
are exact in float32. With --float32 it prints how far a float32 run of this same script is, and writes nothing.

Written from: GPT-2 (Radford et al. 2019), Llama (Touvron et al. 2023), LoRA (Hu et al. 2021), and the facts of
karpathy/nanochat's nanochat/gpt.py at 92d63d4 (2026-07-03) and at 124f49b (2026-02-15). Rotary tables are float32
here; nanochat rounds them to its compute type (before 2026-03-04: always to bf16).

Needs python3 with torch and numpy: /usr/bin/python3 tests/golden/decoder_parity.py
"""
import json
import pathlib
import sys

import numpy as np
import torch

from nanochat_parity import orthogonalise, tokens_of, uniform, write_safetensors

FP32_EPSILON = 2.0**-23
NANOCHAT = dict(
    head_dim=0, hidden=0, norm="rms", norm_epsilon=FP32_EPSILON, embedding_norm=True, positions="rotary_reversed",
    rotary_base=10000.0, qk_norm=True, qk_scale=1.0, mlp="relu_squared", biases=False, softcap=15.0, softcap_fp32=True,
    tied_head=False, windows=[0], value_embeddings=False, value_gate_channels=0, value_gate_scale=0.0,
    residual_lambdas=False, smear=False, backout=False, vocab_multiple=64)
LLAMA = dict(NANOCHAT, norm="rms_gain", norm_epsilon=1e-5, embedding_norm=False, positions="rotary_halves",
             qk_norm=False, mlp="swiglu", softcap=0.0, softcap_fp32=False, vocab_multiple=1)
GPT2 = dict(LLAMA, norm="layer", positions="learned", mlp="gelu", biases=True, tied_head=True)
# windows: a query at i sees the keys j with i - window <= j <= i (flash attention's left window); 0: all of them.
# nanochat tiles a pattern of short and long over the layers, and the last one is long in any case.
FEBRUARY = dict(NANOCHAT, value_embeddings=True, value_gate_channels=32, value_gate_scale=2.0, residual_lambdas=True)
JULY = dict(FEBRUARY, rotary_base=100000.0, qk_scale=1.2, value_gate_channels=12, value_gate_scale=3.0, smear=True,
            backout=True)
SMEAR_CHANNELS = 24


def case_of(name, sizes, architecture, batch, ignore_every, steps, lora=None):
    names = ("sequence_len", "vocab_size", "n_layer", "n_head", "n_kv_head", "n_embd")
    case = dict(zip(names, sizes), name=name, architecture=architecture, batch=batch, ignore_every=ignore_every,
                steps=steps)
    return dict(case, lora=lora) if lora else case


LORA = dict(rank=2, alpha=4.0, targets=["attn.c_q", "attn.c_v", "mlp.c_fc"])
LLAMA_SIZES, LLAMA_SHAPE = (13, 31, 2, 4, 2, 24), dict(LLAMA, hidden=40)
JULY_SIZES, JULY_SHAPE = (16, 61, 5, 4, 2, 32), dict(JULY, hidden=32, windows=[3, 5, 4, 0, 0])
CASES = [
    case_of("gpt2", (12, 29, 2, 2, 2, 20), GPT2, 3, 0, 20),
    case_of("llama", LLAMA_SIZES, LLAMA_SHAPE, 3, 0, 20),
    case_of("llama_pairs", (11, 37, 1, 4, 1, 16),
            dict(LLAMA, head_dim=8, hidden=24, positions="rotary_pairs", rotary_base=500000.0, tied_head=True),
            2, 5, 20),
    case_of("nanochat-2026-07", JULY_SIZES, JULY_SHAPE, 3, 7, 20),
    case_of("nanochat-2026-02", (14, 61, 2, 4, 2, 40), dict(FEBRUARY, hidden=24), 3, 0, 20),
    case_of("llama_lora", LLAMA_SIZES, LLAMA_SHAPE, 3, 0, 20, LORA),
    case_of("nanochat-2026-07_lora", JULY_SIZES, JULY_SHAPE, 3, 7, 20, LORA),
]

# AdamW multiplies its rates by (n_embd / 768)^-0.5; Muon multiplies its rate by max(1, rows / columns)^0.5.
RATES = dict(table=0.2, value_table=0.1, head=0.004, vector=0.004, adapter=0.004, matrix=0.02)


def group_of(name, shape):
    if name.startswith("value_embeds."):
        return "value_table"
    if ".wte." in name or ".wpe." in name:
        return "table"
    if name == "lm_head.weight":
        return "head"
    if ".lora_" in name:
        return "adapter"
    return "matrix" if ".h." in name and len(shape) == 2 and ".ve_gate." not in name else "vector"


def has_value_embedding(case, layer):  # every other layer, counted from the last
    return case["architecture"]["value_embeddings"] and (case["n_layer"] - 1 - layer) % 2 == 0


def head_dim(case):
    return case["architecture"]["head_dim"] or case["n_embd"] // case["n_head"]


def linear_shapes(case):
    a, c, d = case["architecture"], case["n_embd"], head_dim(case)
    hidden = a["hidden"] or 4 * c
    attention = {"attn.c_q": (case["n_head"] * d, c), "attn.c_k": (case["n_kv_head"] * d, c),
                 "attn.c_v": (case["n_kv_head"] * d, c), "attn.c_proj": (c, case["n_head"] * d)}
    gate = {"mlp.c_gate": (hidden, c)} if a["mlp"] == "swiglu" else {}
    return attention, {**gate, "mlp.c_fc": (hidden, c), "mlp.c_proj": (c, hidden)}


def described_parameters(case):
    """Name, shape, scale and offset in order: element values are float32(offset + uniform in ±scale)."""
    a, c, layers = case["architecture"], case["n_embd"], case["n_layer"]
    vocab = -(-case["vocab_size"] // a["vocab_multiple"]) * a["vocab_multiple"]
    attention, mlp = linear_shapes(case)
    out = []

    def add(name, shape, scale, offset=0.0):
        out.append(dict(name=name, shape=list(shape), scale=scale, offset=offset, group=group_of(name, shape)))

    def add_norm(name):
        if a["norm"] != "rms":
            add(name + ".weight", (c,), 0.25, 1.0)
        if a["norm"] == "layer":
            add(name + ".bias", (c,), 0.25)

    def add_linears(prefix, shapes):
        for name, shape in shapes.items():
            add(prefix + name + ".weight", shape, 0.125 if name == "mlp.c_proj" else 0.25)
            if a["biases"]:
                add(prefix + name + ".bias", shape[:1], 0.25)

    add("transformer.wte.weight", (vocab, c), 1.0)
    if a["positions"] == "learned":
        add("transformer.wpe.weight", (case["sequence_len"], c), 0.5)
    for i in range(layers):
        if has_value_embedding(case, i):
            add(f"value_embeds.{i}.weight", (vocab, case["n_kv_head"] * head_dim(case)), 0.5)
    for i in range(layers):
        h = f"transformer.h.{i}."
        add_norm(h + "ln_1")
        add_linears(h, attention)
        if has_value_embedding(case, i):
            add(h + "attn.ve_gate.weight", (case["n_kv_head"], a["value_gate_channels"]), 0.5)
        add_norm(h + "ln_2")
        add_linears(h, mlp)
    add_norm("transformer.ln_f")
    if not a["tied_head"]:
        add("lm_head.weight", (vocab, c), 0.25)
    if a["residual_lambdas"]:
        add("resid_lambdas", (layers,), 0.25, 1.0)
        add("x0_lambdas", (layers,), 0.25, 0.25)
    if a["smear"]:
        add("smear_gate.weight", (1, SMEAR_CHANNELS), 0.5)
        add("smear_lambda", (1,), 0.25, 0.5)
    if a["backout"]:
        add("backout_lambda", (1,), 0.125, 0.25)
    return out


def described_adapters(case):
    """A (rank, inputs) then B (outputs, rank) of every target; their streams follow those of the parameters."""
    out = []
    if "lora" in case:
        rank = case["lora"]["rank"]
        attention, mlp = linear_shapes(case)
        for i in range(case["n_layer"]):
            for name, (rows, columns) in {**attention, **mlp}.items():
                if name in case["lora"]["targets"]:
                    for kind, shape in (("a", (rank, columns)), ("b", (rows, rank))):
                        full = f"transformer.h.{i}.{name}.lora_{kind}"
                        out.append(dict(name=full, shape=list(shape), scale=0.25, offset=0.0, group="adapter"))
    return out


def tensors_of(described, first_stream, dtype, trained):
    out = {}
    for stream, d in enumerate(described, first_stream):
        values = (d["offset"] + uniform(stream, d["shape"], d["scale"])).astype(np.float32)
        out[d["name"]] = torch.tensor(values, dtype=dtype, requires_grad=trained)
    return out


def rotary_tables(length, width, base):
    """Angles in float32, then cos and sin rounded to float32."""
    exponent = np.arange(0, width, 2, dtype=np.float32) / np.float32(width)
    inv_freq = np.float32(1.0) / np.float32(base) ** exponent
    angle = np.outer(np.arange(length, dtype=np.float32), inv_freq).astype(np.float32).astype(np.float64)
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def turned(x, cos, sin, layout):  # x: (B, H, T, D)
    if layout == "rotary_pairs":
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    a, b = x.chunk(2, dim=-1)
    if layout == "rotary_reversed":
        sin = -sin
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def rms(x, epsilon):
    return x / torch.sqrt((x * x).mean(dim=-1, keepdim=True) + epsilon)


class Decoder:
    def __init__(self, case, tensors):
        self.case, self.a, self.p = case, case["architecture"], tensors

    def norm(self, x, name):
        if self.a["norm"] == "layer":
            x = x - x.mean(dim=-1, keepdim=True)  # then its mean square is the (biased) variance
        y = rms(x, self.a["norm_epsilon"])
        if self.a["norm"] != "rms":
            y = y * self.p[name + ".weight"]
        return y + self.p[name + ".bias"] if self.a["norm"] == "layer" else y

    def linear(self, x, name):
        y = x @ self.p[name + ".weight"].T
        if self.a["biases"]:
            y = y + self.p[name + ".bias"]
        if name + ".lora_a" in self.p:
            factor = self.case["lora"]["alpha"] / self.case["lora"]["rank"]
            y = y + factor * ((x @ self.p[name + ".lora_a"].T) @ self.p[name + ".lora_b"].T)
        return y

    def attention(self, x, i, tokens):
        a, (b, t, _) = self.a, x.shape
        h, kv, d = self.case["n_head"], self.case["n_kv_head"], head_dim(self.case)
        name = f"transformer.h.{i}.attn."
        heads = lambda y, count: y.view(b, t, count, d).transpose(1, 2)
        q = heads(self.linear(x, name + "c_q"), h)
        k = heads(self.linear(x, name + "c_k"), kv)
        v = heads(self.linear(x, name + "c_v"), kv)
        if has_value_embedding(self.case, i):
            channels = x[..., : a["value_gate_channels"]]
            gate = a["value_gate_scale"] * torch.sigmoid(channels @ self.p[name + "ve_gate.weight"].T)  # (B, T, kv)
            v = v + gate.transpose(1, 2)[..., None] * heads(self.p[f"value_embeds.{i}.weight"][tokens], kv)
        if a["positions"] != "learned":
            cos, sin = (torch.tensor(y, dtype=x.dtype) for y in rotary_tables(t, d, a["rotary_base"]))
            q, k = (turned(y, cos, sin, a["positions"]) for y in (q, k))
        if a["qk_norm"]:
            q, k = (rms(y, a["norm_epsilon"]) for y in (q, k))
        q, k = q * a["qk_scale"], k * a["qk_scale"]
        k, v = (y.repeat_interleave(h // kv, dim=1) for y in (k, v))
        window = a["windows"][i % len(a["windows"])] if i + 1 < self.case["n_layer"] else 0
        distance = torch.arange(t)[:, None] - torch.arange(t)[None, :]
        hidden = (distance < 0) | (distance > (window or t))
        scores = ((q @ k.transpose(-2, -1)) / d**0.5).masked_fill(hidden, float("-inf"))
        y = torch.softmax(scores, dim=-1) @ v
        return self.linear(y.transpose(1, 2).reshape(b, t, h * d), name + "c_proj")

    def mlp(self, x, i):
        name = f"transformer.h.{i}.mlp."
        up = self.linear(x, name + "c_fc")
        if self.a["mlp"] == "swiglu":
            gate = self.linear(x, name + "c_gate")
            up = gate * torch.sigmoid(gate) * up
        elif self.a["mlp"] == "gelu":
            up = 0.5 * up * (1 + torch.tanh((2 / np.pi) ** 0.5 * (up + 0.044715 * up**3)))
        else:
            up = torch.relu(up) ** 2
        return self.linear(up, name + "c_proj")

    def logits(self, tokens):
        a, p, layers = self.a, self.p, self.case["n_layer"]
        x = p["transformer.wte.weight"][tokens]
        if a["positions"] == "learned":
            x = x + p["transformer.wpe.weight"][: tokens.shape[1]]
        if a["embedding_norm"]:
            x = rms(x, a["norm_epsilon"])
        if a["smear"]:
            now, before = x[:, 1:], x[:, :-1]
            gate = p["smear_lambda"] * torch.sigmoid(now[..., :SMEAR_CHANNELS] @ p["smear_gate.weight"].T)
            x = torch.cat([x[:, :1], now + gate * before], dim=1)
        first = x
        for i in range(layers):
            if a["residual_lambdas"]:
                x = p["resid_lambdas"][i] * x + p["x0_lambdas"][i] * first
            x = x + self.attention(self.norm(x, f"transformer.h.{i}.ln_1"), i, tokens)
            x = x + self.mlp(self.norm(x, f"transformer.h.{i}.ln_2"), i)
            if i == layers // 2:
                middle = x
        if a["backout"]:
            x = x - p["backout_lambda"] * middle
        head = p["transformer.wte.weight" if a["tied_head"] else "lm_head.weight"]
        logits = (self.norm(x, "transformer.ln_f") @ head.T)[..., : self.case["vocab_size"]]
        return a["softcap"] * torch.tanh(logits / a["softcap"]) if a["softcap"] else logits

    def loss(self, tokens, targets):
        logits = self.logits(tokens)
        picked = torch.gather(logits, 2, targets.clamp(min=0)[..., None])[..., 0]
        counted = targets >= 0
        return (torch.logsumexp(logits, dim=-1) - picked)[counted].sum() / counted.sum()


def run(case, dtype):
    described, adapters = described_parameters(case), described_adapters(case)
    base = tensors_of(described, 1, dtype, not adapters)
    added = tensors_of(adapters, 1 + len(described), dtype, True)
    trained = adapters or described
    p = {**base, **added}
    decoder = Decoder(case, p)
    state = {d["name"]: {} for d in trained}
    steps, width = case["steps"], (case["n_embd"] / 768) ** -0.5
    first_gradients, losses, norms = {}, [], []
    for step in range(steps):
        for d in trained:
            p[d["name"]].grad = None
        loss = decoder.loss(*tokens_of(case, step))
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            first_gradients = {d["name"]: p[d["name"]].grad.clone() for d in trained}
        norm = torch.sqrt(sum((p[d["name"]].grad ** 2).sum() for d in trained))
        norms.append(norm.item())
        clip = min(1.0, 1.0 / (norm.item() + 1e-6))
        warmdown = round(0.2 * steps)
        lrm = 1.0 if step <= steps - warmdown else (steps - step) / warmdown
        fraction = min(step / 300, 1.0)
        momentum = (1 - fraction) * 0.85 + fraction * 0.95
        with torch.no_grad():
            for d in trained:
                w, s, rate = p[d["name"]], state[d["name"]], RATES[d["group"]] * lrm
                g = w.grad * clip
                if d["group"] == "matrix":
                    s["buf"] = momentum * s.get("buf", torch.zeros_like(w)) + (1 - momentum) * g
                    u = (1 - momentum) * g + momentum * s["buf"]
                    w -= rate * max(1.0, w.shape[0] / w.shape[1]) ** 0.5 * orthogonalise(u)
                else:
                    t = step + 1
                    s["m"] = 0.8 * s.get("m", torch.zeros_like(w)) + 0.2 * g
                    s["v"] = 0.95 * s.get("v", torch.zeros_like(w)) + 0.05 * g * g
                    rate *= width * (1 - 0.95**t) ** 0.5 / (1 - 0.8**t)
                    w -= rate * s["m"] / (torch.sqrt(s["v"]) + 1e-10)
    return first_gradients, losses, norms


def is_zero(name):  # adds the same to every score of a query, which softmax forgets: its gradient is rounding error
    return name.endswith("attn.c_k.bias")


def compared(case, gradients, losses, norms):
    near, near_losses, near_norms = run(case, torch.float32)
    away = {n: ((near[n] - g).norm() / g.norm()).item() for n, g in gradients.items() if not is_zero(n)}
    worst = max(away, key=away.get)
    relative = lambda ours, theirs: max(abs(a - b) / b for a, b in zip(ours, theirs))
    print(f"{case['name']}: gradients {away[worst]:.2g} ({worst}), losses {relative(near_losses, losses):.2g}, "
          f"gradient norms {relative(near_norms, norms):.2g}")


def text_of(case, gradients, losses, norms):
    sizes = {k: case[k] for k in ("sequence_len", "vocab_size", "n_layer", "n_head", "n_kv_head", "n_embd")}
    fields = {"name": case["name"], "config": dict(sizes, architecture=case["architecture"]),
              "batch": case["batch"], "ignore_every": case["ignore_every"], "steps": case["steps"],
              "losses": losses, "gradient_norms": norms,
              "norms": {n: 0.0 if is_zero(n) else g.norm().item() for n, g in gradients.items()},
              "zero_gradients": [n for n in gradients if is_zero(n)]}
    if "lora" in case:
        fields["lora"] = case["lora"]
    rows = lambda described: "[\n" + ",\n".join("    " + json.dumps(d) for d in described) + "]"
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in fields.items()]
    lines.append(f'"parameters": {rows(described_parameters(case))}')
    if "lora" in case:
        lines.append(f'"adapters": {rows(described_adapters(case))}')
    return "  {" + ",\n   ".join(lines) + "}"


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(__file__).resolve().parent
    tensors, texts = {}, []
    for case in CASES:
        result = run(case, torch.float64)
        if "--float32" in sys.argv[1:]:
            compared(case, *result)
            continue
        for name, g in result[0].items():
            tensors[f"{case['name']}/{name}"] = (torch.zeros_like(g) if is_zero(name) else g).numpy()
        texts.append(text_of(case, *result))
    if texts:
        write_safetensors(folder / "decoder_parity.safetensors", tensors)
        rates = json.dumps(dict(RATES, adamw_times="(n_embd / 768)^-0.5", matrix_times="max(1, rows / columns)^0.5"))
        text = f'{{"rates": {rates},\n "cases": [\n' + ",\n".join(texts) + "\n]}\n"
        json.loads(text)
        (folder / "decoder_parity.json").write_text(text)


if __name__ == "__main__":
    main()
