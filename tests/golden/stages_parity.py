#!/usr/bin/python3
"""Golden of whole stages: what nanochat's scripts do with the same documents and conversations, in plain PyTorch.

BASE, MID, SFT, packed SFT, SFT of adapters, DPO and RL of one and of three updates a rollout, ten updates each (DPO
and RL: the first of many, so that rates stay high and rewards mixed): batches, losses, gradients and updates, with batches, schedules and optimizers of this script's own. Writes, beside itself,
stages_parity.json (conversations, settings as a suite says them, batches, losses) and stages_parity.safetensors: for
each update and tensor the norm of its gradient and of its update, and their products with eight vectors of random
signs. The root mean square of the differences of these products is the norm of the difference, within a third.
Everything runs in float64 on values that are exact in float32; with --float32 it prints how far a float32 run of this
same script is, and writes nothing.

What a stage draws is not drawn again: samples of RL and the first adapters are read from stages_drawn.json. Their
rewards, advantages and all that follows are computed here. After a change of what is drawn:
  /usr/bin/python3 tests/golden/stages_parity.py --undrawn    # the settings alone
  NB_ACCEPT=1 nb_test_model_train --gtest_filter='*StagesParity*'
  /usr/bin/python3 tests/golden/stages_parity.py

Written from karpathy/nanochat: scripts/base_train.py, mid_train.py, chat_sft.py and chat_rl.py at 3a5e0bc (2025-10-13), the rate of
b8076dd, chat_sft.py at 00255c1 (packed); DPO (arXiv:2305.18290); GRPO (arXiv:2402.03300) with two bounds, as
modelscope/twinkle has it (1a1d884), with GSPO, SAPO, BNPO and Dr. GRPO; CISPO with passes weighed by tokens as there
since 057fc61.

Needs python3 with torch and numpy: /usr/bin/python3 tests/golden/stages_parity.py
"""
import json
import pathlib
import sys

import numpy as np
import torch

from chat_batches import ASSISTANT_END, BOS, Packs, Stream, one_pass, padded, rendered, tensors_of
from nanochat_parity import orthogonalise, parameters_of, token_losses, uniform, write_safetensors

FOLDER = pathlib.Path(__file__).resolve().parent
MODEL = dict(sequence_len=24, vocab_size=265, n_layer=2, n_head=2, n_kv_head=2, n_embd=16)
SIGNS, STEPS_BEFORE, LIKELY = 8, 3, "12"
UPDATES = 10

CONVERSATIONS = [["+".join(str((i + k) % 7) for k in range(1 + i % 3)) + "?", str(i % 5) + "!" * (i * i % 4)]
                 for i in range(200)]
PAIRS = [[f"{i % 4}+{i // 4 % 5}?", str(i % 4 + i // 4 % 5), str(i % 4 + i // 4 % 5 + 1) + "?" * (i % 2)] for i in range(40)]
RATES = dict(embedding_lr=0.2, unembedding_lr=0.004, matrix_lr=0.02)
ASKED = [[f"{i // 2}?", ("21", "22")[i % 2]] for i in range(4)]  # nobody can know: rewards stay mixed
RL = dict(device_batch_size=4, examples_per_step=4, num_samples=8, max_new_tokens=2, matrix_lr=0.08, unembedding_lr=0.012, init_lr_frac=0.01, iterations=40, eval_every=0,
          eval_examples=1, eval_samples=1)
CASES = [
    # A whole pretraining: the rate falls over its last third, and clipping takes something of every gradient.
    dict(name="base", stage="base", conversations=0, documents=60,
         model=dict(sequence_len=12, vocab_size=265, n_layer=1, n_head=1, n_kv_head=1, n_embd=64),
         settings=dict(depth=1, sequence_len=12, device_batch_size=2, total_batch_tokens=48, iterations=UPDATES + 2,
                       grad_clip=0.5, warmup_ratio=0.25, warmdown_ratio=0.34, final_lr_frac=0.1, eval_every=0,
                       eval_tokens=24, sample_every=0)),
    dict(name="mid", stage="mid", conversations=50,
         settings=dict(sequence_len=12, device_batch_size=2, total_batch_tokens=48, eval_every=0, eval_tokens=24)),
    dict(name="sft", stage="sft", conversations=40,
         settings=dict(device_batch_size=2, target_examples_per_step=4, iterations=UPDATES + 1, init_lr_frac=0.3,
                       eval_every=0, eval_batches=1)),
    dict(name="packed_sft", stage="sft", conversations=118,
         settings=dict(device_batch_size=2, init_lr_frac=0.8, eval_every=0,
                       packed=dict(sequence_len=30, total_batch_tokens=120, buffer=9, warmdown=0.5, eval_tokens=60))),
    # Every sixth conversation is longer than a row.
    dict(name="packed_sft_of_long_ones", stage="sft", conversations=90,
         settings=dict(device_batch_size=2, init_lr_frac=0.8, eval_every=0,
                       packed=dict(sequence_len=11, total_batch_tokens=88, buffer=40, warmdown=0.5, eval_tokens=60))),
    dict(name="lora", stage="sft", conversations=40,
         settings=dict(device_batch_size=2, target_examples_per_step=4, iterations=UPDATES + 1, init_lr_frac=0.1,
                       eval_every=0, eval_batches=1,
                       lora=dict(rank=2, alpha=4, targets=["all"], adapter_lr=0.01, seed=5))),
    dict(name="dpo", stage="dpo", conversations=0, updates=UPDATES,
         settings=dict(device_batch_size=2, target_examples_per_step=4, iterations=40, beta=0.5,
                       label_smoothing=0.1, init_lr_frac=0.05, eval_every=0, eval_batches=1)),
    dict(name="rl", stage="rl", conversations=0, updates=UPDATES, likelier=24.0, questions=ASKED,
         settings=dict(RL)),
    # "1" or "2" is certain, the other one impossible: most tokens' gradients are small enough for epsilon to count.
    dict(name="rl_torch_adamw", stage="rl", conversations=0, updates=UPDATES, likelier=64.0, opposed=True,
         questions=[[f"{i // 2}?", "21"[i % 2]] for i in range(4)],
         settings=dict(RL, max_new_tokens=1, temperature=12, top_k=2, adamw_denominator="bias_corrected")),
    dict(name="rl_of_3_updates", stage="rl", conversations=0, updates=UPDATES + 2, likelier=24.0, questions=ASKED,
         settings=dict(RL, objective="clipped", advantage="mean_std", clip_low=0.1, clip_high=0.15,
                       has_reference=True, kl_weight=0.04, updates_per_rollout=3)),
    dict(name="rl_cispo_by_tokens", stage="rl", conversations=0, updates=UPDATES, likelier=24.0, questions=ASKED,
         settings=dict(RL, objective="cispo", advantage="mean_std", clip_high=0.1, updates_per_rollout=2,
                       pass_weights="tokens")),
    *(dict(name=f"rl_{objective}", stage="rl", conversations=0, updates=UPDATES, likelier=24.0, questions=ASKED,
           settings=dict(RL, objective=objective, advantage="mean_std", has_reference=True, kl_weight=0.04,
                         updates_per_rollout=2, **limits))
      for objective, limits in dict(gspo=dict(clip_low=0.05, clip_high=0.08), sapo=dict(gate_down=1.05),
                                    bnpo=dict(clip_low=0.1, clip_high=0.15), dr_grpo=dict(clip_low=0.1)).items()),
]


class Trained:
    """Weights, perhaps adapters in their place, and both optimizers' state."""

    def __init__(self, case, dtype):
        self.case, self.dtype, settings = case, dtype, case["settings"]
        self.model = case.get("model", MODEL)
        self.p = parameters_of(self.model, dtype)
        with torch.no_grad():
            if case["stage"] == "rl":  # so that samples are often right
                for token in (*LIKELY.encode(), ASSISTANT_END):
                    self.p["lm_head.weight"][token] *= case["likelier"]
                if case.get("opposed"):
                    one, other = LIKELY.encode()
                    self.p["lm_head.weight"][other] = -self.p["lm_head.weight"][one]
        self.adapters, self.state, self.t = {}, {}, 0
        self.scale = settings.get("init_lr_frac", 1)
        self.rates = {name: settings.get(name, rate) for name, rate in RATES.items()}
        if "lora" in settings:
            self.take_adapters(settings["lora"])
        if "packed" in settings:
            self.take_moments()
        self.first = {name: w.detach().clone() for name, w in self.p.items()}

    def take_adapters(self, lora):
        for name, values in drawn()["lora"].items():
            rows = len(self.p[name + ".weight"])
            a = torch.tensor(values, dtype=self.dtype).view(lora["rank"], -1)
            self.adapters[name + ".lora_a"] = a.requires_grad_()
            self.adapters[name + ".lora_b"] = torch.zeros(rows, lora["rank"], dtype=self.dtype, requires_grad=True)

    def take_moments(self):
        """As if the stage before had made STEPS_BEFORE updates."""
        self.t = STEPS_BEFORE
        for stream, (name, w) in enumerate(self.p.items()):
            at = lambda which, scale: torch.tensor(uniform(2000 + 2 * stream + which, w.shape, scale), dtype=self.dtype)
            if name.startswith("transformer.h."):
                self.state[name] = {"buf": at(0, 2.0**-6)}
            else:
                self.state[name] = {"m": at(0, 2.0**-8), "v": at(1, 2.0**-12).abs()}

    def trained(self):
        return self.adapters or self.p

    def losses(self, batch, of=None):
        p = dict(of or self.p)
        if self.adapters and of is None:
            lora = self.case["settings"]["lora"]
            for name in {n.rsplit(".", 1)[0] for n in self.adapters}:
                product = self.adapters[name + ".lora_b"] @ self.adapters[name + ".lora_a"]
                p[name + ".weight"] = p[name + ".weight"].detach() + lora["alpha"] / lora["rank"] * product
        return token_losses(self.model, p, *batch)

    def reference_losses(self, batch):
        with torch.no_grad():
            return self.losses(batch, self.first)

    def step(self, lrm, momentum):
        self.t += 1
        width = (self.model["n_embd"] / 768) ** -0.5
        with torch.no_grad():
            for name, w in self.trained().items():
                g, s = w.grad, self.state.setdefault(name, {})
                if name.startswith("transformer.h.") and not self.adapters:
                    s["buf"] = momentum * s.get("buf", torch.zeros_like(w)) + (1 - momentum) * g
                    u = (1 - momentum) * g + momentum * s["buf"]
                    rate = self.rates["matrix_lr"] * self.scale * lrm
                    w -= rate * max(1.0, w.shape[0] / w.shape[1]) ** 0.5 * orthogonalise(u)
                    continue
                rate = self.rates["embedding_lr" if "wte" in name else "unembedding_lr"] * width * self.scale * lrm
                if self.adapters:
                    rate = self.case["settings"]["lora"]["adapter_lr"] * lrm
                self.adamw(w, g, s, rate)
        for w in self.trained().values():
            w.grad = None

    def adamw(self, w, g, s, rate):
        if self.case["settings"].get("adamw_denominator") == "bias_corrected":
            own = s.setdefault("own", torch.optim.AdamW([w], betas=(0.8, 0.95), eps=1e-10, weight_decay=0))
            own.param_groups[0]["lr"] = rate
            own.step()
            return
        s["m"] = 0.8 * s.get("m", torch.zeros_like(w)) + 0.2 * g
        s["v"] = 0.95 * s.get("v", torch.zeros_like(w)) + 0.05 * g * g
        w -= rate * (1 - 0.95**self.t) ** 0.5 / (1 - 0.8**self.t) * s["m"] / (torch.sqrt(s["v"]) + 1e-10)


def drawn():
    return json.loads((FOLDER / "stages_drawn.json").read_text())


def mean_losses(model, batches):
    """Mean over a micro-batch's targets, then over micro-batches."""
    total = 0.0
    for inputs, targets in batches:
        loss = model.losses((inputs, targets)).sum() / (targets >= 0).sum()
        (loss / len(batches)).backward()
        total += loss.item() / len(batches)
    return total


def linear(step, steps):
    return 1 - step / steps


def warming_momentum(step):
    fraction = min(step / 300, 1)
    return (1 - fraction) * 0.85 + fraction * 0.95


def base(model, settings):
    """base_train.py: documents one after another, gradients clipped by their norm, a trapezoid of rates."""
    n = settings["iterations"]
    warmup, warmdown = round(settings["warmup_ratio"] * n), round(settings["warmdown_ratio"] * n)
    micro_batches = settings["total_batch_tokens"] // (settings["device_batch_size"] * settings["sequence_len"])
    documents = [([BOS, *text.encode()], None) for text in (" ".join(c) for c in CONVERSATIONS[: model.case["documents"]])]
    loader = Stream(documents, settings)
    for step in range(n):
        batches = [loader.next() for _ in range(micro_batches)]
        loss = mean_losses(model, batches)
        torch.nn.utils.clip_grad_norm_(model.p.values(), settings["grad_clip"])
        lrm = 1.0
        if step < warmup:
            lrm = (step + 1) / warmup
        elif step > n - warmdown:
            left = (n - step) / warmdown
            lrm = left + (1 - left) * settings["final_lr_frac"]
        yield batches, loss, lrm, warming_momentum(step)


def mid(model, settings):
    multiplier = lambda progress: 1 if progress < 0.8 else 1 - (progress - 0.8) / 0.2
    micro_batches = settings["total_batch_tokens"] // (settings["device_batch_size"] * settings["sequence_len"])
    loader = Stream([rendered(*c) for c in CONVERSATIONS[: model.case["conversations"]]], settings)
    for step, (batches, lrm) in enumerate(one_pass(loader, micro_batches, multiplier)):
        yield batches, mean_losses(model, batches), lrm, warming_momentum(step)


def packed_sft(model, settings):
    packed = settings["packed"]
    multiplier = lambda progress: max(0.0, min(1.0, 1 - (progress - 1 + packed["warmdown"]) / packed["warmdown"]))
    micro_batches = packed["total_batch_tokens"] // (settings["device_batch_size"] * packed["sequence_len"])
    loader = Packs([rendered(*c) for c in CONVERSATIONS[: model.case["conversations"]]], settings)
    for step, (batches, lrm) in enumerate(one_pass(loader, micro_batches, multiplier)):
        yield batches, mean_losses(model, batches), lrm, warming_momentum(step)


def sft(model, settings):
    if "packed" in settings:
        yield from packed_sft(model, settings)
        return
    every = [rendered(*c) for c in CONVERSATIONS[: model.case["conversations"]]]
    rows, taken = settings["device_batch_size"], 0
    for step in range(settings["iterations"] - 1):  # the last one trains nothing
        batches = []
        for _ in range(settings["target_examples_per_step"] // rows):
            batches.append(padded([every[(taken + i) % len(every)] for i in range(rows)]))
            taken += rows
        yield batches, mean_losses(model, batches), linear(step, settings["iterations"]), 0.95


def dpo(model, settings):
    """The first half of a batch's rows are the chosen answers."""
    log_sigmoid, s = torch.nn.functional.logsigmoid, settings["label_smoothing"]
    count, taken = settings["device_batch_size"], 0
    for step in range(settings["iterations"]):
        batches, total = [], 0.0
        micro_batches = settings["target_examples_per_step"] // count
        for _ in range(micro_batches):
            pairs = [PAIRS[(taken + i) % len(PAIRS)] for i in range(count)]
            taken += count
            batch = padded([rendered(p[0], p[side]) for side in (1, 2) for p in pairs])
            batches.append(batch)
            rewards = settings["beta"] * (model.reference_losses(batch) - model.losses(batch)).sum(dim=1)
            margins = rewards[:count] - rewards[count:]
            loss = -((1 - s) * log_sigmoid(margins) + s * log_sigmoid(-margins)).mean()
            (loss / micro_batches).backward()
            total += loss.item() / micro_batches
        yield batches, total, linear(step, settings["iterations"]), 0.95


def rewards_of(batches, step, settings, questions):
    """1 where the sampled tokens say the answer."""
    rewards = []
    for inputs, targets in batches:
        for row in targets:
            question = (step * settings["examples_per_step"] + len(rewards) // settings["num_samples"]) % len(questions)
            text = bytes(t for t in row.tolist() if 0 <= t < 256)
            rewards.append(float(text.strip() == questions[question][1].encode()))
    return torch.tensor(rewards, dtype=torch.float64).view(-1, settings["num_samples"])


def rl(model, settings):
    taught = 0
    for step, passes in enumerate(drawn()[model.case["name"]]):
        batches = [(tensors_of(b["inputs"]).view(b["rows"], -1), tensors_of(b["targets"]).view(b["rows"], -1))
                   for b in passes]
        rewards = rewards_of(batches, step, settings, model.case["questions"])
        taught += bool((rewards.std(dim=1) > 0).any())
        assert taught >= min(step + 1, 3), f"{model.case['name']}: step {step} teaches nothing"
        advantages = rewards - rewards.mean(dim=1, keepdim=True)
        if settings.get("advantage") == "mean_std":
            advantages = advantages / (rewards.std(dim=1, keepdim=True) + 1e-8)
        weights = advantages.view(len(batches), -1, 1).to(model.dtype)
        with torch.no_grad():
            old = [-model.losses(batch) for batch in batches]
        for _ in range(settings.get("updates_per_rollout", 1)):
            total = 0.0
            for batch, a, before in zip(batches, weights, old):
                share = 1 / len(batches)
                if settings.get("pass_weights") == "tokens":
                    share = (batch[1] >= 0).sum().item() / sum((b[1] >= 0).sum().item() for b in batches)
                loss = rl_loss(model, settings, batch, a, before) * share
                loss.backward()
                total += loss.item()
            yield batches, total, linear(step, settings["iterations"]), 0.95


def rl_loss(model, settings, batch, a, before):
    log_p, mask = -model.losses(batch), (batch[1] >= 0).to(model.dtype)
    if "objective" not in settings:  # chat_rl.py
        return -(log_p * a).sum() / mask.sum().clamp(min=1)
    objective, log_ratio, tokens = settings["objective"], log_p - before, mask.sum(dim=1).clamp(min=1)
    if objective == "gspo":
        log_ratio = ((log_ratio * mask).sum(dim=1) / tokens)[:, None]
    ratio = torch.exp(log_ratio)
    limited = torch.clamp(ratio, 1 - settings.get("clip_low", 0.2), 1 + settings.get("clip_high", 0.2))
    losses = -torch.min(ratio * a, limited * a)
    if objective == "cispo":
        losses = -torch.clamp(ratio, max=1 + settings["clip_high"]).detach() * a * log_p
    if objective == "sapo":
        up, down = (settings.get(gate, 1.0) for gate in ("gate_up", "gate_down"))
        gate = lambda tau: 4 / tau * torch.sigmoid(tau * (ratio - 1))
        losses = -torch.where(a > 0, gate(up), gate(down)) * a
    if "kl_weight" in settings:
        away = -model.reference_losses(batch) - log_p
        losses = losses + settings["kl_weight"] * (torch.exp(away) - away - 1)
    if objective in ("cispo", "bnpo"):
        return (losses * mask).sum() / mask.sum().clamp(min=1)
    if objective == "dr_grpo":
        return (losses * mask).sum() / (len(mask) * settings["max_new_tokens"])
    return ((losses * mask).sum(dim=1) / tokens).mean()


STAGES = dict(base=base, mid=mid, sft=sft, dpo=dpo, rl=rl)


def seen(tensor):
    """Norm, then the products with the signs."""
    flat = tensor.detach().double().numpy().ravel()
    signs = [np.where(uniform(5000 + k, flat.shape, 1.0) < 0, -1.0, 1.0) for k in range(SIGNS)]
    return [np.linalg.norm(flat), *(sign @ flat for sign in signs)]


def run(case, dtype):
    model = Trained(case, dtype)
    names = list(model.trained())
    out = dict(losses=[], rates=[], batches=[], gradients=[], updates=[], names=names)
    for batches, loss, lrm, momentum in STAGES[case["stage"]](model, case["settings"]):
        before = {n: w.detach().clone() for n, w in model.trained().items()}
        out["gradients"].append([seen(w.grad) for w in model.trained().values()])
        model.step(lrm, momentum)
        out["updates"].append([seen(w - before[n]) for n, w in model.trained().items()])
        out["losses"].append(loss)
        out["rates"].append(lrm)
        out["batches"].append(batches)
        if len(out["losses"]) == case.get("updates"):
            break
    return out


def away(near, wanted):
    """The largest relative difference of a tensor in any update."""
    difference = np.sqrt(((near[..., 1:] - wanted[..., 1:]) ** 2).mean(axis=-1)) / np.maximum(wanted[..., 0], 1e-30)
    update, tensor = np.unravel_index(difference.argmax(), difference.shape)
    return difference.max(), update, tensor


def main():
    torch.set_num_threads(1)
    tensors, cases = {}, []
    for case in CASES:
        if "--undrawn" in sys.argv[1:]:
            cases.append(case)
            continue
        out = run(case, torch.float64)
        print(case["name"], len(out["losses"]), "updates, losses", *(f"{loss:.4f}" for loss in out["losses"]))
        if "--float32" in sys.argv[1:]:
            near = run(case, torch.float32)
            for what in ("gradients", "updates"):
                worst, update, tensor = away(np.array(near[what]), np.array(out[what]))
                print(f"  {what} {worst:.2g} (update {update}, {out['names'][tensor]})")
            print("  losses", max(abs(a - b) for a, b in zip(near["losses"], out["losses"])))
            continue
        for what in ("gradients", "updates"):
            tensors[f"{case['name']}/{what}"] = np.array(out[what]).reshape(len(out["losses"]), -1)
        summary = dict(case, losses=out["losses"], rates=out["rates"], tensors=out["names"])
        if case["stage"] != "rl":  # whose batches are in stages_drawn.json
            summary["batches"] = [[dict(rows=len(i), inputs=i.ravel().tolist(), targets=t.ravel().tolist())
                                   for i, t in batches] for batches in out["batches"]]
        cases.append(summary)
    if not cases:
        return
    if tensors:
        write_safetensors(FOLDER / "stages_parity.safetensors", tensors)
    rows = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    head = dict(model=MODEL, signs=SIGNS, steps_before=STEPS_BEFORE, likely=LIKELY,
                conversations=CONVERSATIONS, pairs=PAIRS)
    text = json.dumps(head, separators=(",", ":"))[:-1] + ',\n"cases":[\n' + rows + "\n]}\n"
    json.loads(text)
    (FOLDER / "stages_parity.json").write_text(text)


if __name__ == "__main__":
    main()
