#!/usr/bin/env python3
"""Training steps, or scoring forwards, of nanochat's GPT (gpt.py, base_train.py) in plain PyTorch.

The yardstick of versus_pytorch.py, which starts it with the environment that is best on this host: same model,
batch and optimizer (AdamW for embedding and head, Muon for the blocks' matrices, clipping) as npubench_step. One
step for each line of stdin; each answers one line of JSON. Written for Debian's PyTorch 1.13; where a step can be
written in more than one way, a flag chooses, and versus_pytorch.py takes what is fastest.
"""
import argparse
import json
import sys
import time

import torch
import torch.nn.functional as F

EPSILON = 1.1920929e-07


def rms_norm_mean(x):
    return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + EPSILON).to(x.dtype)


def rms_norm_vector(x):
    """The root of the sum by one reduction, without the array of squares."""
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
    return x * (x.shape[-1] ** 0.5 / norm.clamp_min(1e-12)).to(x.dtype)


def attention_masked(q, k, v, mask):
    scores = (q @ k.transpose(-1, -2)) * (q.shape[-1] ** -0.5)
    return torch.softmax(scores.masked_fill(mask, float("-inf")), -1).to(v.dtype) @ v


def attention_fused_mask(q, k, v, mask):
    """Scale and mask inside the product: mask is 0 and -inf."""
    batch, heads, length, dim = q.shape
    scores = torch.baddbmm(mask, q.reshape(-1, length, dim), k.reshape(-1, length, dim).transpose(1, 2),
                           alpha=dim ** -0.5)
    y = torch.bmm(torch.softmax(scores, -1), v.reshape(-1, length, dim))
    return y.view(batch, heads, length, dim)


class Block(torch.nn.Module):
    def __init__(self, width, heads, how):
        super().__init__()
        self.heads = heads
        self.how = how
        linear = lambda inner, out: torch.nn.Linear(inner, out, bias=False)
        self.q, self.k, self.v, self.proj = [linear(width, width) for _ in range(4)]
        self.up, self.down = linear(width, 4 * width), linear(4 * width, width)

    def rotate(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos + b * sin, b * cos - a * sin], -1)

    def forward(self, x, cos, sin, mask):
        batch, length, width = x.shape
        norm = self.how.norm
        y = norm(x)
        q, k, v = [f(y).view(batch, length, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v)]
        y = self.how.attention(norm(self.rotate(q, cos, sin)), norm(self.rotate(k, cos, sin)), v, mask)
        x = x + self.proj(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.relu(self.up(norm(x))).square())


class How:
    def __init__(self, args):
        self.norm = {"mean": rms_norm_mean, "vector": rms_norm_vector}[args.norm]
        self.is_fused = args.attention == "fused_mask"
        self.attention = attention_fused_mask if self.is_fused else attention_masked


class Decoder(torch.nn.Module):
    def __init__(self, depth, vocabulary, length, how):
        super().__init__()
        width = 64 * depth
        heads = max(1, (width + 127) // 128)
        dim = width // heads
        self.how = how
        self.wte = torch.nn.Embedding(vocabulary, width)
        self.blocks = torch.nn.ModuleList([Block(width, heads, how) for _ in range(depth)])
        self.head = torch.nn.Linear(width, vocabulary, bias=False)
        angle = torch.outer(torch.arange(length).float(), 10000.0 ** (-torch.arange(0, dim, 2) / dim))
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        mask = torch.zeros(length, length).masked_fill(hidden, float("-inf"))[None] if how.is_fused else hidden
        self.register_buffer("mask", mask)

    def forward(self, ids):
        cos, sin, mask = self.cos, self.sin, self.mask
        x = self.how.norm(self.wte(ids).to(cos.dtype))
        for block in self.blocks:
            x = block(x, cos, sin, mask)
        return 15 * torch.tanh(self.head(self.how.norm(x)) / 15)


def newton_schulz(g, dtype):
    x = g.to(dtype)
    flip = x.shape[0] > x.shape[1]
    x = x.T if flip else x
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        a = x @ x.T
        b = torch.addmm(a, a, a, beta=-4.7750, alpha=2.0315)
        x = torch.addmm(x, b, x, beta=3.4445)
    return x.T if flip else x


class Training:
    def __init__(self, args):
        self.args = args
        self.dtype = torch.bfloat16 if args.dtype == "bf16" else torch.float32
        self.model = Decoder(args.depth, args.vocabulary, args.length, How(args))
        for name in ("cos", "sin") + (("mask",) if self.model.how.is_fused else ()):
            setattr(self.model, name, getattr(self.model, name).to(self.dtype))
        self.matrices = [p for b in self.model.blocks for p in b.parameters()]
        self.others = [self.model.wte.weight, self.model.head.weight]
        self.adam = torch.optim.AdamW(self.others, lr=1e-3, betas=(0.8, 0.95), eps=1e-10, weight_decay=0.0)
        self.momenta = [torch.zeros_like(p) for p in self.matrices]
        self.micro = args.tokens // (args.rows * args.length)

    def batch(self):
        ids = torch.randint(self.args.vocabulary, (self.args.rows, self.args.length + 1))
        return ids[:, :-1], ids[:, 1:]

    def step(self):
        total = 0.0
        # One context a step: the weights are cast once for all micro-batches.
        with torch.autocast("cpu", torch.bfloat16, enabled=self.dtype is torch.bfloat16):
            for _ in range(self.micro):
                inputs, targets = self.batch()
                logits = self.model(inputs)
                loss = F.cross_entropy(logits.float().flatten(0, 1), targets.flatten()) / self.micro
                loss.backward()
                total += loss.item()
        torch.nn.utils.clip_grad_norm_(self.matrices + self.others, 1.0)
        self.adam.step()
        with torch.no_grad():
            for p, momentum in zip(self.matrices, self.momenta):
                momentum.lerp_(p.grad, 0.05)
                update = newton_schulz(p.grad.lerp(momentum, 0.95), self.dtype)
                p.add_(update.float(), alpha=-0.02 * max(1.0, p.shape[0] / p.shape[1]) ** 0.5)
        for p in self.matrices + self.others:
            p.grad = None
        return total


class Scoring(Training):
    """The log-probability of every token; the weights stand in the format of the products."""

    def __init__(self, args):
        super().__init__(args)
        self.model = self.model.to(self.dtype).eval()
        if args.jit:
            with torch.no_grad():
                traced = torch.jit.trace(self.model, self.batch()[0], check_trace=False)
                self.model = torch.jit.optimize_for_inference(torch.jit.freeze(traced))

    def step(self):
        total = 0.0
        with torch.inference_mode():
            for _ in range(self.micro):
                inputs, targets = self.batch()
                logits = self.model(inputs).float().flatten(0, 1)
                total += F.cross_entropy(logits, targets.flatten()).item() / self.micro
                logits.argmax(-1)
        return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=4096)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--forward", action="store_true", help="scoring alone")
    parser.add_argument("--attention", choices=["masked", "fused_mask"], default="masked")
    parser.add_argument("--norm", choices=["mean", "vector"], default="mean")
    parser.add_argument("--jit", action="store_true", help="with --forward: freeze and optimize_for_inference")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    work = (Scoring if args.forward else Training)(args)
    work.step()
    print(json.dumps({"ready": True, "torch": torch.__version__, "blas": torch.__config__.show().count("MKL")}),
          flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        loss = work.step()
        print(json.dumps({"seconds": time.perf_counter() - start, "loss": loss}), flush=True)


if __name__ == "__main__":
    main()
