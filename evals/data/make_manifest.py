#!/usr/bin/env python3
"""Writes evals/data/manifest.json from a data folder's own manifest.json and SHA256SUMS.

    python3 evals/data/make_manifest.py DATA_FOLDER > evals/data/manifest.json

Names, sizes, checksums and licences only; no data. Every checksum must stand in both lists.
"""
import json
import pathlib
import re
import sys

SKIP = re.compile(
    r"(^|/)(LICENSE|README|NOTE|OLMO_REPO_LICENSE|LLM_FOUNDRY_LICENSE|EVAL_GAUNTLET)[^/]*$"
    r"|LICENSE|^mmlu/csv_hendrycks|^nanochat_reports/|^core/dclm_evals/|\.zip$")

# Folders that say nothing to whoever reads a suite.
SHORTER = [
    (re.compile(r"^core/eval_data/[^/]+/"), "core/"),
    (re.compile(r"^core/derived/"), "core/"),
    (re.compile(r"^core/eval_bundle_meta/"), "core_meta/"),
    (re.compile(r"^core/dclm_meta/"), "dclm_meta/"),
    (re.compile(r"^(arc|mmlu)/jsonl/"), r"\1/"),
]
RENAMED = {
    "humaneval/completions/reflexion__humaneval-py..gz_simple_1_gpt-4_pass_at_k_1_py":
        "humaneval/completions_gpt4",
    "humaneval/HumanEval.jsonl": "humaneval/HumanEval",
    "core/hellaswag_APPROX": "core/hellaswag_approx",
    "core/hellaswag_subset_with_exact_endings": "core/hellaswag_exact_endings",
}
# Tasks whose id is not the dataset's name.
TASKS = {
    "core/hellaswag": ["hellaswag_zeroshot", "hellaswag"],
    "core/hellaswag_approx": ["hellaswag_zeroshot_approx", "hellaswag_approx"],
    "core/jeopardy_all": ["jeopardy"],
    "core/winograd_wsc": ["winograd"],
    "core/hellaswag_exact_endings": [],
    "humaneval/HumanEval": ["humaneval"],
    "arc/arc_easy_test": ["chat_arc_easy"],
    "arc/arc_challenge_test": ["chat_arc_challenge"],
    "mmlu/test": ["mmlu"],
    "gsm8k/test": ["gsm8k"],
    "words/words_alpha": ["spellingbee"],
}
NOTES = {
    "core/hellaswag": "the bundle's own file; only its git blob id is known",
    "core/hellaswag_approx": "approximate: some endings differ from the bundle's by one leading blank",
    "core/arc_easy": "82 rows differ from AI2's ARC (distractors, gold); published CORE contains this",
    "core/arc_challenge": "26 rows differ from AI2's ARC (distractors, gold); published CORE contains this",
}
# The file of which only git's id is known; see core/derived/NOTE.md of the data folder.
HELLASWAG = {
    "name": "core/hellaswag",
    "path": "core/eval_data/language_understanding/hellaswag.jsonl",
    "git_blob": "448321079fdc140bd8566b16b24eda9ceacd3501",
    "rows": 10042,
    "licence": "MIT (HellaSwag)",
    "origin": "mosaicml/llm-foundry@8c8dd48f72168c5d51e2f7b151595892a8fba43d:"
              "scripts/eval/local_data/language_understanding/hellaswag.jsonl",
    "tasks": TASKS["core/hellaswag"],
    "note": NOTES["core/hellaswag"],
}


def short_path(path):
    for pattern, replacement in SHORTER:
        path = pattern.sub(replacement, path)
    return path


def main():
    folder = pathlib.Path(sys.argv[1])
    sums = dict(reversed(line.split(maxsplit=1))
                for line in (folder / "SHA256SUMS").read_text().splitlines())
    rows = [row for row in json.loads((folder / "manifest.json").read_text())
            if not SKIP.search(row["path"])]
    stems = [re.sub(r"\.[^./]+$", "", short_path(row["path"])) for row in rows]
    files = [HELLASWAG]
    for row, stem in zip(rows, stems):
        if sums[row["path"]] != row["sha256"]:
            sys.exit(f"{row['path']}: manifest.json and SHA256SUMS disagree")
        name = stem if stems.count(stem) == 1 else short_path(row["path"])
        name = RENAMED.get(name, name)
        entry = {"name": name, "path": row["path"], "size_bytes": row["bytes"],
                 "sha256": row["sha256"], "rows": row["rows"], "licence": row["licence"],
                 "origin": row["origin"]}
        tasks = TASKS.get(name, [name[5:]] if name.startswith("core/") else [])
        if tasks:
            entry["tasks"] = tasks
        if name in NOTES:
            entry["note"] = NOTES[name]
        files.append({key: value for key, value in entry.items() if value is not None})
    files.sort(key=lambda entry: entry["name"])
    lines = ",\n".join("  " + json.dumps(entry, ensure_ascii=False, sort_keys=True) for entry in files)
    print('{"schema": 1, "files": [\n' + lines + "\n]}")


main()
