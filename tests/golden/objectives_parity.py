#!/usr/bin/python3
"""Golden of the objectives of chat training: SFT, nanochat's RL, GRPO, its kin and DPO in plain PyTorch, 10 steps.

Writes, beside itself, objectives_parity.json (settings, loss of every step, what the objective says besides) and
objectives_parity.safetensors (every gradient of the first step). Everything runs in float64 on values that are exact
in float32. With --float32 it prints how far a float32 run of this same script is, and writes nothing.

Written from: karpathy/nanochat's scripts/chat_sft.py and scripts/chat_rl.py at 3a5e0bc (2025-10-13), GRPO
(arXiv:2402.03300), its clip with two bounds (DAPO, arXiv:2503.14476), the estimate k3 of a divergence (Schulman 2020),
DPO (arXiv:2305.18290) with smoothed labels (Mitchell 2023); GSPO (arXiv:2507.18071), SAPO (arXiv:2511.20347), CISPO
(arXiv:2506.13585), BNPO and Dr. GRPO (arXiv:2503.20783) as modelscope/twinkle defines them.

Needs python3 with torch and numpy: /usr/bin/python3 tests/golden/objectives_parity.py
"""
import json
import pathlib
import sys

import torch

from nanochat_parity import orthogonalise, parameters_of, token_losses, tokens_of, write_safetensors

MODEL = dict(sequence_len=12, vocab_size=41, n_layer=2, n_head=2, n_kv_head=2, n_embd=16, batch=8, ignore_every=0)
STEPS = 10
RATES = dict(embedding=0.2, unembedding=0.004, matrix=0.02)
# lr_frac: of the rates; they fall to 0 at the last step. Momentum of Muon: 0.95. No clipping.
CASES = [
    dict(name="sft", lr_frac=0.02, micro_batches=2),
    dict(name="rl", lr_frac=0.05, examples=2, passes=2),
    dict(name="grpo", lr_frac=0.2, updates=2, group=4, clip_low=0.2, clip_high=0.28, kl_weight=0.04),
    dict(name="dpo", lr_frac=0.05, beta=0.5, label_smoothing=0.1),
    dict(name="gspo", lr_frac=0.2, updates=2, group=4, clip_low=0.1, clip_high=0.15, kl_weight=0.04),
    dict(name="sapo", lr_frac=0.2, updates=2, group=4, gate_up=1.0, gate_down=1.05, kl_weight=0.04),
    dict(name="cispo", lr_frac=0.2, updates=2, group=4, clip_low=0.2, clip_high=0.28, kl_weight=0.0),
    dict(name="bnpo", lr_frac=0.2, updates=2, group=4, clip_low=0.2, clip_high=0.28, kl_weight=0.04),
    dict(name="dr_grpo", lr_frac=0.2, updates=2, group=4, clip_low=0.2, clip_high=0.28, kl_weight=0.04,
         longest_answer=10),
]


def conversation_batch(index):
    """Row r has a prompt of 2 + r % 3 tokens without targets, and (r + index) % 4 tokens of padding, 40, behind."""
    inputs, targets = tokens_of(MODEL, index)
    length = MODEL["sequence_len"]
    for r in range(MODEL["batch"]):
        end = length - (r + index) % 4
        targets[r, : 2 + r % 3] = -1
        targets[r, end:] = -1
        inputs[r, end:] = MODEL["vocab_size"] - 1
    return inputs, targets


def rewards_of(targets):
    """1 where the ids of a row's targets sum to a multiple of 3, else 0; a row without any would be 1."""
    return (targets.clamp(min=0).sum(dim=1) % 3 == 0).to(torch.float64)


class Policy:
    def __init__(self, dtype):
        self.p = parameters_of(MODEL, dtype)

    def log_probs(self, inputs, targets):
        return -token_losses(MODEL, self.p, inputs, targets)

    def frozen_log_probs(self, inputs, targets):
        with torch.no_grad():
            return self.log_probs(inputs, targets)


def sft(case, step, policy, reference, state):
    total = 0.0
    for micro_batch in range(case["micro_batches"]):
        inputs, targets = conversation_batch(step * case["micro_batches"] + micro_batch)
        loss = -policy.log_probs(inputs, targets).sum() / (targets >= 0).sum()
        (loss / case["micro_batches"]).backward()
        total += loss.item() / case["micro_batches"]
    return total, {}


def rl(case, step, policy, reference, state):
    total = 0.0
    for example in range(case["examples"]):
        first = (step * case["examples"] + example) * case["passes"]
        batches = [conversation_batch(first + i) for i in range(case["passes"])]
        rewards = torch.cat([rewards_of(targets) for _, targets in batches])
        advantages = (rewards - rewards.mean()).chunk(case["passes"])
        for (inputs, targets), advantage in zip(batches, advantages):
            log_probs = policy.log_probs(inputs, targets)
            objective = (log_probs * advantage.to(log_probs.dtype)[:, None]).sum()
            valid = max(int((targets >= 0).sum()), 1)
            loss = -objective / (valid * case["passes"] * case["examples"])
            loss.backward()
            total += loss.item()
    return total, {}


def shared(case, losses, mask):
    if case["name"] in ("cispo", "bnpo"):
        return (losses * mask).sum() / mask.sum()
    if case["name"] == "dr_grpo":
        return (losses * mask).sum() / (len(mask) * case["longest_answer"])
    return ((losses * mask).sum(dim=1) / mask.sum(dim=1)).mean()


def by_ratio(case, log_probs, old, a, mask):
    """Losses of tokens without the divergence, their ratios, and which of them a limit acts on."""
    log_ratio, name = log_probs - old, case["name"]
    if name == "gspo":
        log_ratio = ((log_ratio * mask).sum(dim=1, keepdim=True) / mask.sum(dim=1, keepdim=True)).expand_as(mask)
    ratio = torch.exp(log_ratio)
    if name == "sapo":
        gates = {which: 4 / case[which] * torch.sigmoid(case[which] * (ratio - 1)) for which in ("gate_up", "gate_down")}
        return -torch.where(a > 0, gates["gate_up"], gates["gate_down"]) * a, ratio, torch.zeros_like(mask)
    low, high = ratio < 1 - case["clip_low"], ratio > 1 + case["clip_high"]
    if name == "cispo":
        with torch.no_grad():
            weight = torch.where(high, 1 + case["clip_high"], ratio)
        return -weight * a * log_probs, ratio, high
    clipped = torch.clamp(ratio, 1 - case["clip_low"], 1 + case["clip_high"])
    return -torch.min(ratio * a, clipped * a), ratio, ((a > 0) & high) | ((a < 0) & low)


def grpo(case, step, policy, reference, state):
    inputs, targets = conversation_batch(step // case["updates"])
    if step % case["updates"] == 0:
        state["old"] = policy.frozen_log_probs(inputs, targets)
    rewards = rewards_of(targets).view(-1, case["group"])
    advantages = (rewards - rewards.mean(dim=1, keepdim=True)) / (rewards.std(dim=1, keepdim=True) + 1e-8)
    log_probs, mask = policy.log_probs(inputs, targets), targets >= 0
    a = advantages.view(-1, 1).to(log_probs.dtype)
    losses, ratio, cut = by_ratio(case, log_probs, state["old"], a, mask)
    away = reference.frozen_log_probs(inputs, targets) - log_probs
    divergence = torch.exp(away) - away - 1
    loss = shared(case, losses + case["kl_weight"] * divergence, mask)
    loss.backward()
    return loss.item(), {"ratio_min": ratio[mask].min().item(), "ratio_max": ratio[mask].max().item(),
                         "clip_fraction": cut[mask].double().mean().item(),
                         "reference_kl": divergence[mask].mean().item()}


def dpo(case, step, policy, reference, state):
    """Rows 2i are chosen, rows 2i + 1 rejected."""
    inputs, targets = conversation_batch(step)
    sums = policy.log_probs(inputs, targets).sum(dim=1)
    rewards = case["beta"] * (sums - reference.frozen_log_probs(inputs, targets).sum(dim=1))
    margins = rewards[0::2] - rewards[1::2]
    log_sigmoid, s = torch.nn.functional.logsigmoid, case["label_smoothing"]
    loss = -((1 - s) * log_sigmoid(margins) + s * log_sigmoid(-margins)).mean()
    loss.backward()
    return loss.item(), {"margin": margins.mean().item(), "accuracy": (margins > 0).double().mean().item()}


OBJECTIVES = dict(sft=sft, rl=rl, dpo=dpo, **dict.fromkeys(("grpo", "gspo", "sapo", "cispo", "bnpo", "dr_grpo"), grpo))


def update(policy, state, step, case):
    width, lrm = (MODEL["n_embd"] / 768) ** -0.5, (1 - step / STEPS) * case["lr_frac"]
    with torch.no_grad():
        for name, w in policy.p.items():
            g, s = w.grad, state.setdefault(name, {})
            if name.startswith("transformer.h."):
                s["buf"] = 0.95 * s.get("buf", torch.zeros_like(w)) + 0.05 * g
                u = 0.05 * g + 0.95 * s["buf"]
                w -= RATES["matrix"] * lrm * max(1.0, w.shape[0] / w.shape[1]) ** 0.5 * orthogonalise(u)
            else:
                t, rate = step + 1, RATES["embedding" if "wte" in name else "unembedding"] * width * lrm
                s["m"] = 0.8 * s.get("m", torch.zeros_like(w)) + 0.2 * g
                s["v"] = 0.95 * s.get("v", torch.zeros_like(w)) + 0.05 * g * g
                w -= rate * (1 - 0.95**t) ** 0.5 / (1 - 0.8**t) * s["m"] / (torch.sqrt(s["v"]) + 1e-10)


def run(case, dtype):
    policy, reference = Policy(dtype), Policy(dtype)
    optimizer, rollout, gradients, losses, metrics = {}, {}, {}, [], []
    for step in range(STEPS):
        for w in policy.p.values():
            w.grad = None
        loss, more = OBJECTIVES[case["name"]](case, step, policy, reference, rollout)
        losses.append(loss)
        metrics.append(more)
        if step == 0:
            gradients = {name: w.grad.clone() for name, w in policy.p.items()}
        update(policy, optimizer, step, case)
    return gradients, losses, metrics


def compared(case, gradients, losses):
    near, near_losses, _ = run(case, torch.float32)
    away = {n: ((near[n] - g).norm() / g.norm()).item() for n, g in gradients.items()}
    worst = max(away, key=away.get)
    off = max(abs(a - b) for a, b in zip(near_losses, losses)) / max(abs(b) for b in losses)
    print(f"{case['name']}: gradients {away[worst]:.2g} ({worst}), losses {off:.2g} of the largest one")


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(__file__).resolve().parent
    tensors, cases = {}, []
    for case in CASES:
        gradients, losses, metrics = run(case, torch.float64)
        if "--float32" in sys.argv[1:]:
            compared(case, gradients, losses)
            continue
        for name, g in gradients.items():
            tensors[f"{case['name']}/{name}"] = g.numpy()
        cases.append(dict(case, losses=losses, **({"metrics": metrics} if metrics[0] else {})))
    if cases:
        write_safetensors(folder / "objectives_parity.safetensors", tensors)
        rows = ",\n".join("  " + json.dumps(case) for case in cases)
        text = f'{{"model": {json.dumps(MODEL)},\n "steps": {STEPS}, "cases": [\n{rows}\n]}}\n'
        json.loads(text)
        (folder / "objectives_parity.json").write_text(text)


if __name__ == "__main__":
    main()
