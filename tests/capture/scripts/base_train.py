"""Trains the small GPT on generated sentences; prints and saves as nanochat does."""
import argparse
import pathlib
import random
import time

import torch

from nanochat.checkpoint_manager import save_checkpoint
from nanochat.gpt import GPT, GPTConfig
from nanochat.sentences import sentence, write_tasks
from nanochat.tokenizer import Tokenizer

parser = argparse.ArgumentParser()
parser.add_argument("--folder", required=True)
parser.add_argument("--num-iterations", type=int, default=120)
parser.add_argument("--learning-rate", type=float, default=0.003)
args = parser.parse_args()
user_config = {key: value for key, value in vars(args).items() if key != "folder"}
torch.manual_seed(42)
torch.set_num_threads(1)
num_iterations, total_batch_size, grad_accum_steps = args.num_iterations, 2048, 2
config, tokenizer = GPTConfig(), Tokenizer()
model_config_kwargs = dict(vars(config))
model = GPT(config)
model.init_weights()
rng, buffer = random.Random(42), []


def batch():
    rows, length = total_batch_size // grad_accum_steps // config.sequence_len, config.sequence_len
    while len(buffer) < rows * length + 1:
        buffer.extend(tokenizer(" ".join(sentence(rng) for _ in range(4)), prepend=tokenizer.get_bos_token_id()))
    ids = torch.tensor(buffer[: rows * length + 1])
    del buffer[: rows * length + 1]
    return ids[:-1].view(rows, length), ids[1:].view(rows, length)


validation = [batch() for _ in range(4)]
optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, betas=(0.9, 0.95), weight_decay=0.0)
for group in optimizer.param_groups:
    group["initial_lr"] = group["lr"]
for step in range(num_iterations + 1):
    if step in (0, num_iterations):
        with torch.no_grad():
            bpb = sum(model(x, y).item() for x, y in validation) / len(validation) / 0.6931471805599453
        print(f"Step {step:05d} | Validation bpb: {bpb:.6f}")
    if step == num_iterations:
        meta = {"step": step, "model_config": model_config_kwargs}
        save_checkpoint(args.folder, step, model.state_dict(), None, meta)
        break
    start = time.time()
    for _ in range(grad_accum_steps):
        loss = model(*batch()) / grad_accum_steps
        loss.backward()
    lrm = 1.0 if step <= 0.5 * num_iterations else 2 * (1 - step / num_iterations)
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] * lrm
    optimizer.step()
    model.zero_grad(set_to_none=True)
    dt = time.time() - start
    print(f"step {step:05d}/{num_iterations:05d} | loss: {loss.item() * grad_accum_steps:.6f} | lrm: {lrm:.2f} | "
          f"dt: {dt * 1000:.2f}ms | tok/sec: {int(total_batch_size / dt):,}")
write_tasks(args.folder)
(pathlib.Path(args.folder) / "tokenizer.pkl").write_bytes(tokenizer.enc.pickled())
