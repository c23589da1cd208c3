#!/usr/bin/env python3
"""Hashes of the items and prompts of CORE's real tasks, by the rules of core_golden.py; no data, only hashes.

    python3 tests/golden/core_bundle_golden.py DATA_FOLDER > tests/golden/core_bundle_golden.json

Tasks, shots and delimiters come from the data folder's reference/core_tasks.csv, the first 200 rows of each shuffle
are kept; the two HellaSwag tasks are left out, since their file is not there.
"""
import csv
import hashlib
import json
import pathlib
import sys

from core_golden import examples_of, item_bytes, netstring, order_of, render

MAX_PER_TASK = 200


def main():
    folder = pathlib.Path(sys.argv[1])
    result = {}
    with open(folder / "reference/core_tasks.csv", newline="", encoding="utf-8") as table:
        tasks = [task for task in csv.DictReader(table) if not task["label"].startswith("hellaswag")]
    for task in tasks:
        with open(folder / "core/eval_data" / task["dataset_uri"], encoding="utf-8") as lines:
            rows = [json.loads(line.strip()) for line in lines]
        case = {"shots": int(task["num_fewshot"]), "few_shot_seed": 1234}
        delimiter = task["continuation_delimiter"].replace("\\n", "\n")
        order = order_of(rows, MAX_PER_TASK)
        items, prompts = hashlib.sha256(), hashlib.sha256()
        for idx, position in enumerate(order):
            examples = [rows[order[e]] for e in examples_of(case, len(order), idx)]
            items.update(netstring(item_bytes(task["type"], rows[position])))
            for prompt in render(task["type"], delimiter, rows[position], examples):
                prompts.update(netstring(prompt))
        result[task["label"]] = {"items": items.hexdigest(), "prompts": prompts.hexdigest()}
    print(json.dumps({"max_per_task": MAX_PER_TASK, "tasks": result}, indent=1))


main()
