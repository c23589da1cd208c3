#!/usr/bin/python3
"""Golden of the GPT and its optimizers: plain PyTorch, written from the published description of nanochat.

Writes, beside itself, nanochat_parity.json (configurations, losses of 20 AdamW+Muon steps, gradient norms) and
nanochat_parity.safetensors (every gradient of the first step). Everything runs in float64 on values that are exact
in float32, so a float32 implementation can be held to its own rounding error. With --float32 it prints how far
a float32 run of this same script is from it, and writes nothing.

Needs python3 with torch and numpy: /usr/bin/python3 tests/golden/nanochat_parity.py
"""
import json
import pathlib
import struct
import sys

import numpy as np
import torch

CASES = [
    dict(name="mha", sequence_len=32, vocab_size=96, n_layer=2, n_head=4, n_kv_head=4, n_embd=64,
         batch=4, ignore_every=0, steps=20),
    dict(name="gqa", sequence_len=17, vocab_size=61, n_layer=1, n_head=4, n_kv_head=2, n_embd=64,
         batch=5, ignore_every=7, steps=3),
]
GOLDEN64 = np.uint64(0x9E3779B97F4A7C15)


def splitmix(stream, count):
    """count 64-bit values of splitmix64, started at stream * 0xD1B54A32D192ED03."""
    with np.errstate(over="ignore"):
        z = np.uint64(stream) * np.uint64(0xD1B54A32D192ED03)
        z = z + (np.arange(count, dtype=np.uint64) + np.uint64(1)) * GOLDEN64
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def uniform(stream, shape, scale):
    """Uniform in [-scale, scale): 24 bits, so exact in float32 for a power-of-two scale."""
    z = splitmix(stream, int(np.prod(shape)))
    return (((z >> np.uint64(40)).astype(np.float64) - 2.0**23) * 2.0**-23 * scale).reshape(shape)


def tokens_of(case, step):
    rows, length = case["batch"], case["sequence_len"]
    z = splitmix(1000 + step, rows * length + 1)
    ids = ((z >> np.uint64(33)) % np.uint64(case["vocab_size"])).astype(np.int64)
    inputs, targets = ids[:-1].reshape(rows, length), ids[1:].copy()
    if case["ignore_every"]:
        targets[:: case["ignore_every"]] = -1
    return torch.tensor(inputs), torch.tensor(targets.reshape(rows, length))


def parameters_of(case, dtype):
    c, v, hd = case["n_embd"], case["vocab_size"], case["n_embd"] // case["n_head"]
    shapes = [("transformer.wte.weight", (v, c), 1.0), ("lm_head.weight", (v, c), 0.125)]
    for i in range(case["n_layer"]):
        h = f"transformer.h.{i}."
        shapes += [(h + "attn.c_q.weight", (case["n_head"] * hd, c), 0.125),
                   (h + "attn.c_k.weight", (case["n_kv_head"] * hd, c), 0.125),
                   (h + "attn.c_v.weight", (case["n_kv_head"] * hd, c), 0.125),
                   (h + "attn.c_proj.weight", (c, c), 0.125),
                   (h + "mlp.c_fc.weight", (4 * c, c), 0.125),
                   (h + "mlp.c_proj.weight", (c, 4 * c), 0.0625)]
    return {name: torch.tensor(uniform(stream + 1, shape, scale), dtype=dtype, requires_grad=True)
            for stream, (name, shape, scale) in enumerate(shapes)}


def rms(x):
    return x / torch.sqrt((x * x).mean(dim=-1, keepdim=True) + 1.1920928955078125e-07)


def rotary_tables(length, head_dim):
    """Angles in float32 as the original computes them; cos and sin rounded to float32."""
    exponent = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
    inv_freq = np.float32(1.0) / np.float32(10000.0) ** exponent
    angle = np.outer(np.arange(length, dtype=np.float32), inv_freq).astype(np.float32).astype(np.float64)
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def rotate(x, cos, sin):  # x: (B, H, T, D); the sign is nanochat's
    half = x.shape[-1] // 2
    x1, x2 = x[..., :half], x[..., half:]
    return torch.cat([x1 * cos + x2 * sin, -x1 * sin + x2 * cos], dim=-1)


def token_losses(case, p, inputs, targets):
    b, t = inputs.shape
    h, kv, hd = case["n_head"], case["n_kv_head"], case["n_embd"] // case["n_head"]
    dtype = p["lm_head.weight"].dtype
    cos, sin = (torch.tensor(table, dtype=dtype) for table in rotary_tables(t, hd))
    hidden = ~torch.tril(torch.ones(t, t, dtype=torch.bool))
    x = rms(p["transformer.wte.weight"][inputs])
    for i in range(case["n_layer"]):
        w = lambda name: p[f"transformer.h.{i}.{name}.weight"]
        n = rms(x)
        q = (n @ w("attn.c_q").T).view(b, t, h, hd).transpose(1, 2)
        k = (n @ w("attn.c_k").T).view(b, t, kv, hd).transpose(1, 2)
        v = (n @ w("attn.c_v").T).view(b, t, kv, hd).transpose(1, 2)
        q, k = rms(rotate(q, cos, sin)), rms(rotate(k, cos, sin))
        k, v = (y.repeat_interleave(h // kv, dim=1) for y in (k, v))
        scores = (q @ k.transpose(-2, -1)) / hd**0.5
        y = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1) @ v
        x = x + y.transpose(1, 2).reshape(b, t, -1) @ w("attn.c_proj").T
        x = x + torch.relu(rms(x) @ w("mlp.c_fc").T) ** 2 @ w("mlp.c_proj").T
    logits = 15.0 * torch.tanh((rms(x) @ p["lm_head.weight"].T) / 15.0)
    picked = torch.gather(logits, 2, targets.clamp(min=0)[..., None])[..., 0]
    return torch.where(targets >= 0, torch.logsumexp(logits, dim=-1) - picked, torch.zeros_like(picked))


def orthogonalise(u):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = u.T if u.shape[0] > u.shape[1] else u
    x = x / (torch.sqrt((x * x).sum()) + 1e-7)
    for _ in range(5):
        m = x @ x.T
        x = a * x + (b * m + c * (m @ m)) @ x
    return x.T if u.shape[0] > u.shape[1] else x


def run(case, dtype):
    p = parameters_of(case, dtype)
    state = {name: {} for name in p}
    steps = case["steps"]
    width = (case["n_embd"] / 768) ** -0.5
    first_gradients, losses, norms = {}, [], []
    for step in range(steps):
        inputs, targets = tokens_of(case, step)
        for w in p.values():
            w.grad = None
        loss = token_losses(case, p, inputs, targets).sum() / (targets >= 0).sum()
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            first_gradients = {name: w.grad.clone() for name, w in p.items()}
        norm = torch.sqrt(sum((w.grad * w.grad).sum() for w in p.values()))
        norms.append(norm.item())
        clip = min(1.0, 1.0 / (norm.item() + 1e-6))
        warmdown = round(0.2 * steps)
        lrm = 1.0 if step <= steps - warmdown else (steps - step) / warmdown
        fraction = min(step / 300, 1.0)
        momentum = (1 - fraction) * 0.85 + fraction * 0.95
        with torch.no_grad():
            for name, w in p.items():
                g, s = w.grad * clip, state[name]
                if name.startswith("transformer.h."):
                    s["buf"] = momentum * s.get("buf", torch.zeros_like(w)) + (1 - momentum) * g
                    u = (1 - momentum) * g + momentum * s["buf"]
                    w -= 0.02 * lrm * max(1.0, w.shape[0] / w.shape[1]) ** 0.5 * orthogonalise(u)
                else:
                    lr = (0.2 if "wte" in name else 0.004) * width * lrm
                    t = step + 1
                    s["m"] = 0.8 * s.get("m", torch.zeros_like(w)) + 0.2 * g
                    s["v"] = 0.95 * s.get("v", torch.zeros_like(w)) + 0.05 * g * g
                    rate = lr * (1 - 0.95**t) ** 0.5 / (1 - 0.8**t)
                    w -= rate * s["m"] / (torch.sqrt(s["v"]) + 1e-10)
    return first_gradients, losses, norms


def write_safetensors(path, tensors):
    header, offset, blobs = {}, 0, []
    for name in sorted(tensors):
        blob = tensors[name].astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape),
                        "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main():
    torch.set_num_threads(1)
    compare = "--float32" in sys.argv[1:]
    folder = pathlib.Path(__file__).resolve().parent
    tensors, summary = {}, []
    for case in CASES:
        gradients, losses, norms = run(case, torch.float64)
        if compare:
            near, near_losses, _ = run(case, torch.float32)
            print(case["name"], "gradients", max(((near[n] - g).norm() / g.norm()).item() for n, g in gradients.items()),
                  "losses", max(abs(a - b) / b for a, b in zip(near_losses, losses)))
            continue
        for name, g in gradients.items():
            tensors[f"{case['name']}/{name}"] = g.numpy().astype(np.float32)
        summary.append(dict(case, losses=losses, gradient_norms=norms,
                            norms={n: g.norm().item() for n, g in gradients.items()}))
    if not compare:
        write_safetensors(folder / "nanochat_parity.safetensors", tensors)
        (folder / "nanochat_parity.json").write_text(json.dumps({"cases": summary}, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
