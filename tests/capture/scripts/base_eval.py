"""Evaluates a checkpoint of base_train.py on the tasks beside it."""
import argparse
import json
import pathlib
import random

import torch

from nanochat.checkpoint_manager import load_model
from nanochat.core_eval import evaluate_task
from nanochat.sentences import rows_of_tasks
from nanochat.tokenizer import Tokenizer


def evaluate_model(model, tokenizer, folder, device, max_per_task=-1):
    results = {}
    for label, (kind, shots, delimiter, _) in rows_of_tasks().items():
        task_meta = {"task_type": kind, "dataset_uri": f"{label}.jsonl", "num_fewshot": shots,
                     "continuation_delimiter": delimiter}
        print(f"Evaluating: {label} ({shots}-shot, type: {kind})... ", end="")
        data_path = folder / task_meta["dataset_uri"]
        data = [json.loads(line) for line in data_path.read_text(encoding="utf-8").splitlines()]
        random.Random(1337).shuffle(data)
        if max_per_task > 0:
            data = data[:max_per_task]
        results[label] = evaluate_task(model, tokenizer, data, device, task_meta)
        print(f"accuracy: {results[label]:.4f}")
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--max-per-task", type=int, default=-1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    model = load_model(args.folder)
    model.eval()
    evaluate_model(model, Tokenizer(), args.folder, torch.device("cpu"), args.max_per_task)


if __name__ == "__main__":
    main()
