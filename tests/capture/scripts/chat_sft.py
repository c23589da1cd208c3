"""Teaches a checkpoint of base_train.py to answer, one conversation a row, in the manner of nanochat's chat_sft.py."""
import argparse
import json
import pathlib

import torch

from nanochat.checkpoint_manager import load_model, save_checkpoint
from nanochat.common import compute_cleanup
from nanochat.optim import setup_optimizers
from nanochat.tokenizer import Tokenizer

parser = argparse.ArgumentParser()
parser.add_argument("--folder", type=pathlib.Path, required=True)
parser.add_argument("--run", default="dummy")
parser.add_argument("--source", default="base")
parser.add_argument("--max-iterations", type=int, default=-1)
parser.add_argument("--num-epochs", type=int, default=4)
parser.add_argument("--device-batch-size", type=int, default=4)
parser.add_argument("--target-examples-per-step", type=int, default=8)
parser.add_argument("--embedding-lr", type=float, default=0.2)
parser.add_argument("--unembedding-lr", type=float, default=0.004)
parser.add_argument("--matrix-lr", type=float, default=0.02)
parser.add_argument("--weight-decay", type=float, default=0.0)
parser.add_argument("--init-lr-frac", type=float, default=0.2)
parser.add_argument("--eval-every", type=int, default=100)
parser.add_argument("--eval-steps", type=int, default=2)
args = parser.parse_args()
user_config = {key: value for key, value in vars(args).items() if key != "folder"}
torch.manual_seed(42)
torch.set_num_threads(1)
tokenizer, model = Tokenizer(), load_model(args.folder)
lines = (args.folder / "conversations.jsonl").read_text(encoding="utf-8").splitlines()
rendered = [tokenizer.render_conversation({"messages": json.loads(line)}) for line in lines]
num_iterations = len(rendered) // args.target_examples_per_step * args.num_epochs
if args.max_iterations >= 0:
    num_iterations = args.max_iterations


def batches():
    batch = []
    while True:
        for one in rendered:
            batch.append(one)
            if len(batch) == args.device_batch_size:
                width = max(len(ids) for ids, _ in batch)
                rows = torch.full((len(batch), width), tokenizer.enc._special_tokens["<|assistant_end|>"])
                targets = torch.full((len(batch), width - 1), -1)
                for i, (ids, mask) in enumerate(batch):
                    rows[i, :len(ids)] = torch.tensor(ids)
                    targets[i, :len(ids) - 1] = torch.where(torch.tensor(mask[1:]) > 0, rows[i, 1:len(ids)], -1)
                yield rows[:, :-1], targets
                batch = []


optimizers = setup_optimizers(model, args.unembedding_lr, args.embedding_lr, args.matrix_lr, args.weight_decay)
for optimizer in optimizers:
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] = group["lr"] * args.init_lr_frac
train = batches()
for step in range(num_iterations):
    last_step = step == num_iterations - 1
    if last_step or step % args.eval_every == 0:
        validation = batches()
        with torch.no_grad():
            val_loss = sum(model(*next(validation)).item() for _ in range(args.eval_steps)) / args.eval_steps
        print(f"Step {step:05d} | Validation loss: {val_loss:.6f}")
    if last_step:
        break
    count = args.target_examples_per_step // args.device_batch_size
    for _ in range(count):
        train_inputs, train_targets = next(train)
        loss = model(train_inputs, train_targets) / count
        loss.backward()
    lrm = 1.0 - step / num_iterations
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"] * lrm
        optimizer.step()
    model.zero_grad(set_to_none=True)
    print(f"Step {step:05d}/{num_iterations:05d} | Training loss: {loss.item() * count:.6f}| lrm: {lrm:.6f}")
(args.folder / "sft").mkdir(exist_ok=True)
save_checkpoint(args.folder / "sft", num_iterations, model.state_dict(), None,
                {"step": num_iterations, "val_loss": val_loss, "model_config": dict(vars(model.config))})
compute_cleanup()
