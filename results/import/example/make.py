#!/usr/bin/env python3
"""Writes gpu_results and npu_results beside itself: two lm-evaluation-harness runs of an invented model, for the
README. Arithmetic stands in for the tasks' questions; marks are drawn so that GSM8K falls, ARC-Challenge and
HellaSwag do not. Standard library only; equal bytes on every run.
  python3 results/import/example/make.py
"""
import hashlib
import json
import random
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIDES = {"gpu": ("bfloat16", "2026-11-20T08-00-00.000000", 1792742400.0),
         "npu": ("float16", "2026-11-26T08-00-00.000000", 1793260800.0)}
# task: items, metric, share that the GPU answers, shares of its right and wrong answers that change on the NPU
TASKS = {"gsm8k": (400, "exact_match", .62, .13, .04),
         "arc_challenge": (300, "acc", .55, .02, .016),
         "hellaswag": (400, "acc", .71, .012, .02)}


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def question(task, number, draw):
    a, b = draw.randrange(10, 99), draw.randrange(10, 99)
    return f"[{task} {number}] What is {a} + {b}?", a + b


def sample(task, number, ask, answer, right, metric):
    said = answer if right else answer + 1 + number % 7
    line = {"doc_id": number, "doc": {"question": ask}, "target": str(answer)}
    if metric == "acc":
        margins = (-1.0, -2.5) if right else (-2.5, -1.0)
        line["resps"] = [[[str(margin), "False"]] for margin in margins]
        line["arguments"] = {f"gen_args_{i}": {"arg_0": ask, "arg_1": f" {answer + i}"} for i in range(2)}
        line["target"] = "0"
    else:
        line["resps"] = [[f" {said}"]]
        line["filtered_resps"] = [str(said)]
        line["arguments"] = {"gen_args_0": {"arg_0": ask, "arg_1": {"until": ["\n"], "do_sample": False,
                                                                    "temperature": 0.0}}}
    line |= {"filter": "strict-match" if metric == "exact_match" else "none", "metrics": [metric],
             "doc_hash": digest(ask + str(answer)), metric: float(right)}
    return line


def main():
    draw = random.Random(20261126)
    marks = {"gpu": {}, "npu": {}}
    questions = {}
    for task, (items, _, share, lost, won) in TASKS.items():
        questions[task] = [question(task, number, draw) for number in range(items)]
        marks["gpu"][task] = [draw.random() < share for _ in range(items)]
        marks["npu"][task] = [(draw.random() >= lost) if right else (draw.random() < won)
                              for right in marks["gpu"][task]]
    for side, (dtype, when, date) in SIDES.items():
        folder = HERE / f"{side}_results" / "Example-1B"
        folder.mkdir(parents=True, exist_ok=True)
        results, configs, sizes = {}, {}, {}
        for task, (items, metric, *_) in TASKS.items():
            right = marks[side][task]
            share = sum(right) / items
            filtered = "strict-match" if metric == "exact_match" else "none"
            results[task] = {"alias": task, f"{metric},{filtered}": share,
                             f"{metric}_stderr,{filtered}": (share * (1 - share) / (items - 1)) ** .5}
            configs[task] = {"task": task, "num_fewshot": 5, "metric_list": [
                {"metric": metric, "aggregation": "mean", "higher_is_better": True}],
                "output_type": "generate_until" if metric == "exact_match" else "multiple_choice",
                "metadata": {"version": 1.0}}
            sizes[task] = {"original": items, "effective": items}
            lines = [sample(task, number, *questions[task][number], right[number], metric)
                     for number in range(items)]
            text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
            (folder / f"samples_{task}_{when}.jsonl").write_text(text)
        summary = {"results": results, "configs": configs, "versions": {task: 1.0 for task in TASKS},
                   "n-shot": {task: 5 for task in TASKS}, "n-samples": sizes,
                   "higher_is_better": {task: {metric: True} for task, (_, metric, *_) in TASKS.items()},
                   "config": {"model": "hf", "model_args": f"pretrained=Example-1B,dtype={dtype}",
                              "model_dtype": f"torch.{dtype}", "batch_size": 16, "limit": None, "random_seed": 0,
                              "numpy_random_seed": 1234, "torch_random_seed": 1234, "fewshot_random_seed": 1234},
                   "date": date, "lm_eval_version": "0.4.9", "model_source": "hf", "model_name": "Example-1B",
                   "model_name_sanitized": "Example-1B"}
        (folder / f"results_{when}.json").write_text(json.dumps(summary, indent=1) + "\n")


main()
