#!/usr/bin/env python3
"""Writes a result file of another harness of a given size, as that harness writes it.

  make_big.py FORMAT PATH MEGABYTES [--seed N]

The rows follow from the seed alone: two files of one size and other seeds have the same questions and
other answers, so that they pair item by item. For measuring how long a reader takes and what it holds
(big_files.sh); the readers' tests have small files of their own.
"""
import argparse
import hashlib
import json
import os
import random
import sys
import zipfile

WORDS = ("what which of the following best describes an electron moving through copper wire when its "
         "temperature rises and resistance grows because lattice vibrations scatter charge").split()


def texts(words, count=997):
    rng = random.Random(words)
    return [" ".join(rng.choice(WORDS) for _ in range(words)) for _ in range(count)]


QUESTIONS, CHOICES, ANSWERS = texts(18), texts(3), texts(30)


def digest(value):
    return hashlib.sha256(value.encode()).hexdigest()


class Item:
    """One choice question: the question by its number, the answer by the seed too."""

    def __init__(self, number, seed):
        self.number = number
        self.question = f"{QUESTIONS[number % 997]} in case {number}?"
        self.choices = [CHOICES[(number * 7 + i * 31) % 997] for i in range(4)]
        self.gold = number * 5 % 4
        drawn = digest(f"{number} {seed}")
        self.right = int(digest(str(number))[:4], 16) % 10 < 6 if drawn[0] != "0" else int(drawn[1:4], 16) % 10 < 6
        self.chosen = self.gold if self.right else (self.gold + 1) % 4
        self.losses = [-2 - int(drawn[4 + 4 * i:8 + 4 * i], 16) / 4096 for i in range(4)]
        self.losses[self.chosen] = -1.5
        self.answer = f"{ANSWERS[(number + seed) % 997]} {drawn[:8]}"


def lm_eval(seed):
    """samples_<task>_<time>.jsonl"""
    for number in range(10**9):
        item = Item(number, seed)
        yield json.dumps({
            "doc_id": number,
            "doc": {"question": item.question, "choices": item.choices, "answer": item.gold},
            "target": item.gold,
            "arguments": {f"gen_args_{i}": {"arg_0": "Q", "arg_1": " " + c} for i, c in enumerate(item.choices)},
            "filtered_resps": [[loss, False] for loss in item.losses],
            "doc_hash": digest(item.question), "prompt_hash": digest("p" + item.question),
            "target_hash": digest(str(item.gold)), "acc": 1.0 if item.right else 0.0,
        }) + "\n"


def evalscope(seed):
    """reviews/<model>/<dataset>_<subset>.jsonl"""
    for number in range(10**9):
        item = Item(number, seed)
        yield json.dumps({
            "index": number, "input": "**User**: \n" + item.question, "target": "ABCD"[item.gold],
            "sample_score": {"score": {
                "value": {"acc": 1.0 if item.right else 0.0}, "extracted_prediction": "ABCD"[item.chosen],
                "prediction": item.answer, "explanation": None, "metadata": {},
                "main_score_name": "acc"}, "sample_id": 0, "group_id": number, "sample_metadata": {}},
        }, ensure_ascii=False) + "\n"


def inspect_sample(item):
    return json.dumps({
        "id": item.number, "epoch": 1, "input": item.question, "choices": item.choices,
        "target": "ABCD"[item.gold],
        "messages": [{"role": "user", "content": item.question}, {"role": "assistant", "content": item.answer}],
        "output": {"model": "m", "completion": item.answer},
        "scores": {"choice": {"value": "C" if item.right else "I", "answer": "ABCD"[item.chosen]}},
        "events": [{"event": "model", "output": item.answer, "input": item.question}],
    })


INSPECT_HEAD = {
    "version": 2, "status": "success",
    "eval": {"created": "2026-01-02T03:04:05+00:00", "task": "quiz", "model": "vllm/m", "config": {},
             "packages": {"inspect_ai": "0.3.150"}},
    "plan": {}, "results": {"scores": [{"name": "choice", "scorer": "choice", "metrics": {}}]},
}


def inspect_json(seed):
    head = json.dumps(INSPECT_HEAD)
    yield head[:-1] + ', "samples": ['
    for number in range(10**9):
        yield ("" if number == 0 else ",\n") + inspect_sample(Item(number, seed))


def helm_instances(seed):
    """per_instance_stats.json; run_spec.json lies beside it."""
    def stat(name, value):
        return {"name": {"name": name, "split": "test"}, "count": 1, "sum": value, "sum_squared": value,
                "min": value, "max": value, "mean": value, "variance": 0.0, "stddev": 0.0}
    yield "[\n"
    for number in range(10**9):
        item = Item(number, seed)
        score = 1.0 if item.right else 0.0
        stats = [stat(name, 3) for name in ("num_references", "num_train_trials", "num_prompt_tokens",
                                            "num_completion_tokens", "num_output_tokens")]
        yield ("" if number == 0 else ",\n") + json.dumps(
            {"instance_id": f"id{number}", "train_trial_index": 0,
             "stats": stats + [stat("exact_match", score), stat("quasi_exact_match", score)]}, indent=2)


def opencompass(seed):
    """results/<model>/<dataset>.json with details"""
    yield '{"accuracy": 60.0, "details": {"type": "GEN"'
    for number in range(10**9):
        item = Item(number, seed)
        yield ",\n" + json.dumps(str(number)) + ": " + json.dumps({
            "prompt": [{"role": "HUMAN", "prompt": item.question}], "origin_prediction": item.answer,
            "predictions": "ABCD"[item.chosen], "references": "ABCD"[item.gold], "correct": item.right})


def opencompass_predictions(seed):
    yield "{"
    for number in range(10**9):
        item = Item(number, seed)
        yield ("" if number == 0 else ",\n") + json.dumps(str(number)) + ": " + json.dumps({
            "origin_prompt": item.question, "prediction": item.answer, "gold": "ABCD"[item.gold]})


# What comes before the end of the size, and what closes it.
PLAIN = {"lm_eval": (lm_eval, ""), "evalscope": (evalscope, ""), "inspect_json": (inspect_json, "]}"),
         "helm": (helm_instances, "\n]\n"), "opencompass": (opencompass, "}}"),
         "opencompass_predictions": (opencompass_predictions, "}")}


def write_plain(path, size, parts, end):
    written = 0
    with open(path, "w", encoding="utf-8") as file:
        for part in parts:
            file.write(part)
            written += len(part)
            if written >= size:
                break
        file.write(end)


def write_archive(path, size, seed):
    """.eval: a sample a file; `size` is that of the samples before they are packed."""
    written = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(10**9):
            sample = inspect_sample(Item(number, seed))
            archive.writestr(f"samples/{number}_epoch_1.json", sample)
            written += len(sample)
            if written >= size:
                break
        archive.writestr("header.json", json.dumps(INSPECT_HEAD))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format", choices=[*PLAIN, "inspect_eval"])
    parser.add_argument("path")
    parser.add_argument("megabytes", type=float)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.makedirs(os.path.dirname(os.path.abspath(options.path)), exist_ok=True)
    size = int(options.megabytes * 1e6)
    if options.format == "inspect_eval":
        write_archive(options.path, size, options.seed)
        return
    rows, end = PLAIN[options.format]
    write_plain(options.path, size, rows(options.seed), end)
    if options.format == "helm":
        beside = os.path.join(os.path.dirname(os.path.abspath(options.path)), "run_spec.json")
        with open(beside, "w", encoding="utf-8") as file:
            json.dump({"name": "quiz:model=m", "scenario_spec": {"class_name": "quiz", "args": {}},
                       "adapter_spec": {"model": "m", "model_deployment": "m", "max_train_instances": 5}}, file)


if __name__ == "__main__":
    sys.exit(main())
