#!/usr/bin/python3
"""Two tiny random models in Hugging Face's folder form and their logits, from PyTorch in float64.

Written from the published definitions of transformers' modeling_gpt2.py and modeling_llama.py; no code of theirs is
used. Writes, beside itself, hugging_face/gpt2 (one file, "transformer." in front of the names, the old mask buffers,
GPT-2's vocab.json and merges.txt) and hugging_face/llama (two shards with an index, grouped heads, another rotary
base), each with logits.json.

Needs python3 with torch and numpy: /usr/bin/python3 tests/golden/hugging_face.py
"""
import json
import pathlib
import struct

import numpy as np
import torch
import torch.nn.functional as F

FOLDER = pathlib.Path(__file__).resolve().parent / "hugging_face"
TOKENS = [256, 72, 101, 257, 111, 32, 258, 33, 0, 255, 72]
GPT2 = dict(model_type="gpt2", n_positions=128, vocab_size=260, n_embd=16, n_layer=2, n_head=2, n_inner=None,
            activation_function="gelu_new", layer_norm_epsilon=1e-5, resid_pdrop=0.1, torch_dtype="float32")
LLAMA = dict(model_type="llama", max_position_embeddings=128, vocab_size=264, hidden_size=24, intermediate_size=40,
             num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-6, rope_theta=500000.0,
             hidden_act="silu", rope_scaling=None, attention_bias=False, tie_word_embeddings=False)


def write_safetensors(path, tensors):
    """tensors: name → float32 array; little endian, in order of name."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name in sorted(tensors):
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape),
                        "data_offsets": [offset, offset + tensors[name].nbytes]}
        offset += tensors[name].nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(np.ascontiguousarray(tensors[name]).tobytes() for name in sorted(tensors))
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Draw:
    """Float32 values whose 8 lowest bits are 0, so that the files compress; gains near 1."""

    def __init__(self, seed):
        self.random, self.made = np.random.default_rng(seed), {}

    def __call__(self, name, *shape, scale=0.4, offset=0.0):
        values = (offset + scale * self.random.uniform(-1, 1, shape)).astype("<f4")
        self.made[name] = (values.view("<u4") & np.uint32(0xFFFFFF00)).view("<f4")


def attend(q, k, v):  # (heads, T, width)
    t = q.shape[1]
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(torch.triu(torch.ones(t, t, dtype=torch.bool), 1), float("-inf"))
    return torch.softmax(scores, -1) @ v


def heads(x, count):  # (T, count·width) → (count, T, width)
    return x.view(len(x), count, -1).transpose(0, 1)


def joined(x):
    return x.transpose(0, 1).reshape(x.shape[1], -1)


def gpt2_weights():
    draw, c = Draw(2), GPT2["n_embd"]
    draw("transformer.wte.weight", GPT2["vocab_size"], c, scale=1)
    draw("transformer.wpe.weight", GPT2["n_positions"], c)
    for i in range(GPT2["n_layer"]):
        h = f"transformer.h.{i}."
        for norm in ("ln_1", "ln_2"):
            draw(h + norm + ".weight", c, offset=1)
            draw(h + norm + ".bias", c)
        for name, rows, columns in (("attn.c_attn", c, 3 * c), ("attn.c_proj", c, c), ("mlp.c_fc", c, 4 * c),
                                    ("mlp.c_proj", 4 * c, c)):
            draw(h + name + ".weight", rows, columns)  # Conv1D: (in, out)
            draw(h + name + ".bias", columns)
        draw.made[h + "attn.bias"] = np.tril(np.ones((1, 1, 24, 24), np.float32))
        draw.made[h + "attn.masked_bias"] = np.array(-1e4, np.float32)
    draw("transformer.ln_f.weight", c, offset=1)
    draw("transformer.ln_f.bias", c)
    return draw.made


def gpt2_logits(w):
    p = {name.removeprefix("transformer."): torch.tensor(v, dtype=torch.float64) for name, v in w.items()}
    norm = lambda x, name: F.layer_norm(x, x.shape[-1:], p[name + ".weight"], p[name + ".bias"], 1e-5)
    conv = lambda x, name: x @ p[name + ".weight"] + p[name + ".bias"]
    x = p["wte.weight"][TOKENS] + p["wpe.weight"][: len(TOKENS)]
    for i in range(GPT2["n_layer"]):
        h = f"h.{i}."
        q, k, v = (heads(y, GPT2["n_head"]) for y in conv(norm(x, h + "ln_1"), h + "attn.c_attn").chunk(3, -1))
        x = x + conv(joined(attend(q, k, v)), h + "attn.c_proj")
        x = x + conv(F.gelu(conv(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate="tanh"), h + "mlp.c_proj")
    return norm(x, "ln_f") @ p["wte.weight"].T


def llama_weights():
    draw, c, f = Draw(3), LLAMA["hidden_size"], LLAMA["intermediate_size"]
    kv = c // LLAMA["num_attention_heads"] * LLAMA["num_key_value_heads"]
    draw("model.embed_tokens.weight", LLAMA["vocab_size"], c, scale=1)
    for i in range(LLAMA["num_hidden_layers"]):
        h = f"model.layers.{i}."
        draw(h + "input_layernorm.weight", c, offset=1)
        shapes = {"self_attn.q_proj": (c, c), "self_attn.k_proj": (kv, c), "self_attn.v_proj": (kv, c),
                  "self_attn.o_proj": (c, c), "mlp.gate_proj": (f, c), "mlp.up_proj": (f, c), "mlp.down_proj": (c, f)}
        for name, (rows, columns) in shapes.items():
            draw(h + name + ".weight", rows, columns)
        draw(h + "post_attention_layernorm.weight", c, offset=1)
    draw("model.norm.weight", c, offset=1)
    draw("lm_head.weight", LLAMA["vocab_size"], c)
    return draw.made


def llama_logits(w):
    p = {name: torch.tensor(v, dtype=torch.float64) for name, v in w.items()}
    norm = lambda x, name: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6) * p[name + ".weight"]
    count, groups = LLAMA["num_attention_heads"], LLAMA["num_key_value_heads"]
    width = LLAMA["hidden_size"] // count
    angle = torch.arange(len(TOKENS))[:, None] * LLAMA["rope_theta"] ** (-torch.arange(0, width, 2).double() / width)
    cos, sin = torch.cat([angle, angle], -1).cos(), torch.cat([angle, angle], -1).sin()

    def turned(x):  # rotate_half
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    x = p["model.embed_tokens.weight"][TOKENS]
    for i in range(LLAMA["num_hidden_layers"]):
        h = f"model.layers.{i}."
        linear = lambda y, name: y @ p[h + name + ".weight"].T
        n = norm(x, h + "input_layernorm")
        q = turned(heads(linear(n, "self_attn.q_proj"), count))
        k = turned(heads(linear(n, "self_attn.k_proj"), groups)).repeat_interleave(count // groups, 0)
        v = heads(linear(n, "self_attn.v_proj"), groups).repeat_interleave(count // groups, 0)
        x = x + linear(joined(attend(q, k, v)), "self_attn.o_proj")
        n = norm(x, h + "post_attention_layernorm")
        x = x + linear(F.silu(linear(n, "mlp.gate_proj")) * linear(n, "mlp.up_proj"), "mlp.down_proj")
    return norm(x, "model.norm") @ p["lm_head.weight"].T


def write_logits(folder, logits):
    rows = ",\n".join("  " + json.dumps([float(f"{v:.8g}") for v in row]) for row in logits.tolist())
    (folder / "logits.json").write_text(f'{{"tokens": {json.dumps(TOKENS)},\n "logits": [\n{rows}\n]}}\n')


CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")  # as Llama 3's tokenizer.json spells it


def bytes_and_merges():
    """256 bytes and three merges; printable Latin-1 stands for itself, other bytes for U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    text = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}
    vocabulary = {text[b]: i for i, b in enumerate(printable + others)}
    return vocabulary | {"th": 256, "the": 257, text[32] + "c": 258}, ["t h", "th e", f"{text[32]} c"]


def gpt2_vocabulary(folder):
    vocabulary, merges = bytes_and_merges()
    (folder / "vocab.json").write_text(json.dumps(vocabulary | {"<|endoftext|>": 259}))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n")


def llama_vocabulary(folder):
    vocabulary, merges = bytes_and_merges()
    specials = ["<|begin_of_text|>", "<|end_of_text|>", "<|reserved_0|>", "<|reserved_1|>", "<|eot_id|>"]
    added = [dict(id=259 + i, content=name, special=True, normalized=False) for i, name in enumerate(specials)]
    split = dict(type="Split", pattern=dict(Regex=CL100K), behavior="Isolated", invert=False)
    to_characters = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=False)
    model = dict(type="BPE", dropout=None, unk_token=None, byte_fallback=False, ignore_merges=True, vocab=vocabulary,
                 merges=[merge.split(" ") for merge in merges])
    text = json.dumps(dict(version="1.0", truncation=None, padding=None, added_tokens=added, normalizer=None,
                           pre_tokenizer=dict(type="Sequence", pretokenizers=[split, to_characters]), model=model))
    (folder / "tokenizer.json").write_text(text + "\n")


def main():
    torch.set_num_threads(1)
    for name, config in (("gpt2", GPT2), ("llama", LLAMA)):
        (FOLDER / name).mkdir(parents=True, exist_ok=True)
        (FOLDER / name / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    weights = gpt2_weights()
    write_safetensors(FOLDER / "gpt2" / "model.safetensors", weights)
    write_logits(FOLDER / "gpt2", gpt2_logits(weights))
    gpt2_vocabulary(FOLDER / "gpt2")
    weights = llama_weights()
    where = {name: f"model-0000{1 + (i % 2)}-of-00002.safetensors" for i, name in enumerate(sorted(weights))}
    for shard in sorted(set(where.values())):
        write_safetensors(FOLDER / "llama" / shard, {n: v for n, v in weights.items() if where[n] == shard})
    index = {"metadata": {"total_size": sum(v.nbytes for v in weights.values())}, "weight_map": where}
    (FOLDER / "llama" / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")
    write_logits(FOLDER / "llama", llama_logits(weights))
    llama_vocabulary(FOLDER / "llama")


if __name__ == "__main__":
    main()
