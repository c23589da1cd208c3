"""Trains the small GPT on generated sentences; prints and saves as nanochat does, with its names of settings."""
import argparse
import pathlib
import random
import time

import torch

from nanochat.checkpoint_manager import save_checkpoint
from nanochat.gpt import GPT, GPTConfig
from nanochat.optim import setup_optimizers
from nanochat.sentences import sentence, write_tasks, write_texts
from nanochat.tokenizer import Tokenizer

parser = argparse.ArgumentParser()
parser.add_argument("--folder", required=True)
parser.add_argument("--run", default="dummy")
parser.add_argument("--depth", type=int, default=0, help="width 64 x depth, as nanochat; 0: the small default")
parser.add_argument("--max-seq-len", type=int, default=64)
parser.add_argument("--num-iterations", type=int, default=120)
parser.add_argument("--device-batch-size", type=int, default=16)
parser.add_argument("--total-batch-size", type=int, default=2048)
parser.add_argument("--embedding-lr", type=float, default=0.2)
parser.add_argument("--unembedding-lr", type=float, default=0.004)
parser.add_argument("--matrix-lr", type=float, default=0.02)
parser.add_argument("--weight-decay", type=float, default=0.0)
parser.add_argument("--grad-clip", type=float, default=1.0)
parser.add_argument("--eval-every", type=int, default=-1)
parser.add_argument("--eval-tokens", type=int, default=4096)
parser.add_argument("--core-metric-every", type=int, default=-1)
args = parser.parse_args()
user_config = {key: value for key, value in vars(args).items() if key != "folder"}
warmup_ratio, warmdown_ratio, final_lr_frac = 0.0, 0.5, 0.0
torch.manual_seed(42)
torch.set_num_threads(1)
num_iterations, total_batch_size = args.num_iterations, args.total_batch_size
grad_accum_steps = total_batch_size // (args.device_batch_size * args.max_seq_len)
config, tokenizer = GPTConfig(sequence_len=args.max_seq_len), Tokenizer()
if args.depth:
    heads = max(1, args.depth // 2)
    config = GPTConfig(args.max_seq_len, config.vocab_size, args.depth, heads, heads, 64 * args.depth)
model_config_kwargs = dict(vars(config))
model = GPT(config)
model.init_weights()


def batches(seed):
    rng, buffer = random.Random(seed), []
    size = args.device_batch_size * args.max_seq_len + 1
    while True:
        while len(buffer) < size:
            buffer.extend(tokenizer(" ".join(sentence(rng) for _ in range(4)), prepend=tokenizer.get_bos_token_id()))
        ids = torch.tensor(buffer[:size])
        del buffer[:size]
        yield ids[:-1].view(-1, args.max_seq_len), ids[1:].view(-1, args.max_seq_len)


validation_batches = batches(43)
validation = [next(validation_batches) for _ in range(max(1, args.eval_tokens // args.device_batch_size //
                                                          args.max_seq_len))]
train_loader = batches(42)
optimizers = setup_optimizers(model, args.unembedding_lr, args.embedding_lr, args.matrix_lr, args.weight_decay)
for step in range(num_iterations + 1):
    if step in (0, num_iterations) or args.eval_every > 0 and step % args.eval_every == 0:
        with torch.no_grad():
            bpb = sum(model(x, y).item() for x, y in validation) / len(validation) / 0.6931471805599453
        print(f"Step {step:05d} | Validation bpb: {bpb:.6f}")
    if step == num_iterations:
        meta = {"step": step, "model_config": model_config_kwargs, "user_config": user_config}
        save_checkpoint(args.folder, step, model.state_dict(), None, meta)
        break
    start = time.time()
    for _ in range(grad_accum_steps):
        x, y = next(train_loader)
        loss = model(x, y) / grad_accum_steps
        loss.backward()
    if args.grad_clip > 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
    falling = round(warmdown_ratio * num_iterations)
    lrm = 1.0 if step <= num_iterations - falling else (num_iterations - step) / falling
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"] * lrm
        optimizer.step()
    model.zero_grad(set_to_none=True)
    dt = time.time() - start
    print(f"step {step:05d}/{num_iterations:05d} | loss: {loss.item() * grad_accum_steps:.6f} | lrm: {lrm:.2f} | "
          f"dt: {dt * 1000:.2f}ms | tok/sec: {int(total_batch_size / dt):,}")
write_tasks(args.folder)
write_texts(args.folder)
(pathlib.Path(args.folder) / "tokenizer.pkl").write_bytes(tokenizer.enc.pickled())
