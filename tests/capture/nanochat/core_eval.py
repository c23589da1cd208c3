"""CORE's three kinds of task, with the functions that nanochat's core_eval.py has."""
import random

import torch


def example_of(kind, row, delimiter):
    if kind == "multiple_choice":
        return row["query"] + delimiter + row["choices"][row["gold"]]
    if kind == "schema":
        return row["context_options"][row["gold"]] + delimiter + row["continuation"]
    return row["context"].strip() + delimiter + row["continuation"]


def render(kind, row, delimiter, examples):
    prefix = "".join(example_of(kind, e, delimiter) + "\n\n" for e in examples)
    if kind == "multiple_choice":
        return [prefix + row["query"] + delimiter + choice for choice in row["choices"]]
    if kind == "schema":
        return [prefix + option + delimiter + row["continuation"] for option in row["context_options"]]
    without = prefix + row["context"].strip() + delimiter
    return [without.strip(), without + row["continuation"]]


def shared(sequences, step):
    """Tokens that all have in common, from the front (1) or from the back (-1)."""
    count = 0
    for column in zip(*(s[::step] for s in sequences)):
        if len(set(column)) > 1:
            break
        count += 1
    return count


def batch_sequences_mc(tokenizer, prompts):
    tokens = tokenizer(prompts, prepend=tokenizer.get_bos_token_id())
    return tokens, [shared(tokens, 1)] * len(tokens), [len(t) for t in tokens]


def batch_sequences_schema(tokenizer, prompts):
    tokens = tokenizer(prompts, prepend=tokenizer.get_bos_token_id())
    return tokens, [len(t) - shared(tokens, -1) for t in tokens], [len(t) for t in tokens]


def batch_sequences_lm(tokenizer, prompts):
    without, whole = tokenizer(prompts, prepend=tokenizer.get_bos_token_id())
    assert len(without) < len(whole) and whole[: len(without)] == without
    return [whole], [len(without)], [len(whole)]


@torch.no_grad()
def forward_model(model, input_ids):
    logits = model(input_ids)
    targets = torch.roll(input_ids, -1, 1)
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    losses = losses.view_as(input_ids)
    losses[:, -1] = float("nan")
    return losses, logits.argmax(-1)


@torch.no_grad()
def evaluate_example(idx, model, tokenizer, data, device, task_meta):
    row, kind, shots = data[idx], task_meta["task_type"], task_meta["num_fewshot"]
    others = [i for i in range(len(data)) if i != idx]
    examples = [data[i] for i in random.Random(1234 + idx).sample(others, shots)] if shots else []
    prompts = render(kind, row, task_meta["continuation_delimiter"], examples)
    batch = {"multiple_choice": batch_sequences_mc, "schema": batch_sequences_schema,
             "language_modeling": batch_sequences_lm}[kind]
    tokens, starts, ends = batch(tokenizer, prompts)
    ids = torch.full((len(tokens), max(map(len, tokens))), tokenizer.get_bos_token_id())
    for i, t in enumerate(tokens):
        ids[i, : len(t)] = torch.tensor(t)
    losses, predictions = forward_model(model, ids.to(device))
    if kind == "language_modeling":
        return torch.equal(predictions[0, starts[0] - 1: ends[0] - 1].cpu(), ids[0, starts[0]: ends[0]])
    means = [losses[i, s - 1: e - 1].mean().item() for i, (s, e) in enumerate(zip(starts, ends))]
    return means.index(min(means)) == row["gold"]


def evaluate_task(model, tokenizer, data, device, task_meta):
    right = [float(evaluate_example(i, model, tokenizer, data, device, task_meta)) for i in range(len(data))]
    return sum(right) / len(right)
