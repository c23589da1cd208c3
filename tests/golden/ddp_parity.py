#!/usr/bin/python3
"""Golden of data parallelism: BASE of two and of four processes in torch.nn.parallel.DistributedDataParallel over gloo.

Each rank has one micro-batch of a step; gradients are averaged by DDP, clipped by their norm, and every rank makes the
same update. Twenty steps in float32, with batches, model and optimizers of stages_parity.py. Writes ddp_parity.json
beside itself: settings as a suite says them, the mean loss of each step, and of every tensor the first step's gradient
and the last weights as stages_parity.py's seen() has them (norm, products with eight vectors of random signs).

Needs python3 with torch and numpy (Debian: python3-torch): /usr/bin/python3 tests/golden/ddp_parity.py
"""
import json
import os
import pathlib

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

from chat_batches import BOS, Stream
from nanochat_parity import token_losses
from stages_parity import CONVERSATIONS, Trained, seen, warming_momentum

FOLDER = pathlib.Path(__file__).resolve().parent
STEPS, DOCUMENTS, ROWS, LENGTH = 20, 60, 2, 12
MODEL = dict(sequence_len=LENGTH, vocab_size=265, n_layer=1, n_head=1, n_kv_head=1, n_embd=64)


def settings_of(ranks):
    return dict(depth=1, sequence_len=LENGTH, device_batch_size=ROWS, total_batch_tokens=ROWS * LENGTH * ranks,
                iterations=STEPS, grad_clip=0.5, warmup_ratio=0.0, warmdown_ratio=0.0, eval_every=0, eval_tokens=24,
                sample_every=0)


class Model(torch.nn.Module):
    def __init__(self, case):
        super().__init__()
        self.trained = Trained(case, torch.float32)
        self.trained.p = {name: torch.nn.Parameter(w.detach()) for name, w in self.trained.p.items()}
        for name, w in self.trained.p.items():
            self.register_parameter(name.replace(".", "/"), w)

    def forward(self, inputs, targets):
        return token_losses(MODEL, self.trained.p, inputs, targets).mean()


def rank_of(rank, ranks, port, out):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    settings = settings_of(ranks)
    model = Model(dict(stage="base", settings=settings, model=MODEL))
    parallel = DistributedDataParallel(model)
    texts = (" ".join(c) for c in CONVERSATIONS[:DOCUMENTS])
    loader = Stream([([BOS, *text.encode()], None) for text in texts], settings)
    losses, gradients = [], None
    for step in range(STEPS):
        batches = [loader.next() for _ in range(ranks)]
        loss = parallel(*batches[rank])
        loss.backward()
        mean = loss.detach().double()
        dist.all_reduce(mean)
        losses.append(mean.item() / ranks)
        torch.nn.utils.clip_grad_norm_(parallel.parameters(), settings["grad_clip"])
        if gradients is None:
            gradients = {name: seen(w.grad) for name, w in model.trained.p.items()}
        model.trained.step(1.0, warming_momentum(step))
        parallel.zero_grad()
    if rank == 0:
        out.put(dict(ranks=ranks, settings=settings, losses=losses, gradients=gradients,
                     weights={name: seen(w) for name, w in model.trained.p.items()}))
    dist.destroy_process_group()


def run(ranks):
    out = mp.get_context("spawn").SimpleQueue()
    mp.spawn(rank_of, args=(ranks, 29500 + ranks, out), nprocs=ranks)
    return out.get()


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


def main():
    cases = [rounded(run(ranks)) for ranks in (2, 4)]
    for case in cases:
        print(case["ranks"], "ranks, losses", *(f"{loss:.4f}" for loss in case["losses"]))
    rows = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (FOLDER / "ddp_parity.json").write_text(f'{{"documents":{DOCUMENTS},"cases":[\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()
