"""A small GPT as nanochat describes its first one (2025-10), for a CPU in fp32."""
import os
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

ROPE_SHIFT = int(os.environ.get("ROPE_SHIFT", 0))  # the planted fault: positions by which queries are too far on


@dataclass
class GPTConfig:
    sequence_len: int = 64
    vocab_size: int = 265
    n_layer: int = 2
    n_head: int = 2
    n_kv_head: int = 2
    n_embd: int = 64


def norm(x):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1.1920928955078125e-07)


def apply_rotary_emb(x, cos, sin):  # (B, T, H, D), halves by minus the angle
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos + b * sin, b * cos - a * sin], -1)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        c, self.heads, self.groups = config.n_embd, config.n_head, config.n_kv_head
        self.width = c // self.heads
        self.c_q = nn.Linear(c, self.heads * self.width, bias=False)
        self.c_k = nn.Linear(c, self.groups * self.width, bias=False)
        self.c_v = nn.Linear(c, self.groups * self.width, bias=False)
        self.c_proj = nn.Linear(c, c, bias=False)

    def forward(self, x, cos, sin):
        b, t, c = x.shape
        q = self.c_q(x).view(b, t, self.heads, self.width)
        k = self.c_k(x).view(b, t, self.groups, self.width)
        v = self.c_v(x).view(b, t, self.groups, self.width)
        q = apply_rotary_emb(q, cos[:, ROPE_SHIFT: ROPE_SHIFT + t], sin[:, ROPE_SHIFT: ROPE_SHIFT + t])
        k = apply_rotary_emb(k, cos[:, :t], sin[:, :t])
        q, k = norm(q), norm(k)
        q, k, v = (y.transpose(1, 2) for y in (q, k, v))
        scores = q @ k.transpose(-2, -1) / self.width**0.5
        hidden = torch.triu(torch.ones(t, t, dtype=torch.bool, device=x.device), 1)
        y = torch.softmax(scores.masked_fill(hidden, float("-inf")), -1) @ v
        return self.c_proj(y.transpose(1, 2).reshape(b, t, c))


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd, bias=False)
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd, bias=False)

    def forward(self, x):
        return self.c_proj(F.relu(self.c_fc(x)).square())


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attn, self.mlp = Attention(config), MLP(config)

    def forward(self, x, cos, sin):
        x = x + self.attn(norm(x), cos, sin)
        return x + self.mlp(norm(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict({"wte": nn.Embedding(config.vocab_size, config.n_embd),
                                          "h": nn.ModuleList(Block(config) for _ in range(config.n_layer))})
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        width, length = config.n_embd // config.n_head, 10 * config.sequence_len
        frequency = 1.0 / 10000 ** (torch.arange(0, width, 2, dtype=torch.float32) / width)
        angle = torch.outer(torch.arange(length, dtype=torch.float32), frequency)
        for name, table in (("cos", angle.cos()), ("sin", angle.sin())):
            self.register_buffer(name, table[None, :, None, :], persistent=False)

    def init_weights(self):
        for name, p in self.named_parameters():
            deviation = 0 if "c_proj" in name or "lm_head" in name else 1 if "wte" in name else p.shape[1] ** -0.5
            with torch.no_grad():
                p.normal_(0, deviation) if deviation else p.zero_()

    def forward(self, idx, targets=None):
        x = norm(self.transformer.wte(idx))
        for block in self.transformer.h:
            x = block(x, self.cos, self.sin)
        logits = 15 * torch.tanh(self.lm_head(norm(x)) / 15)
        if targets is None:
            return logits
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1), ignore_index=-1)
