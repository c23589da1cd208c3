#!/usr/bin/env python3
"""Are the records of two run folders the same, and all files that they list? What a clock or the host decides is left
out: "environment", "host_metrics", "host_artifacts", and the checksum over them.
    /usr/bin/python3 tests/workflow/same_records.py A B
"""
import hashlib
import json
import pathlib
import sys

HOST = ("environment", "host_metrics", "host_artifacts", "checksum")


def content(folder):
    record = json.loads((folder / "record.json").read_text())
    for key in HOST:
        record.pop(key, None)
    return json.dumps(record, sort_keys=True, indent=1), record["artifacts"]


def main():
    a, b = (pathlib.Path(p) for p in sys.argv[1:3])
    names = [sorted(f.parent.name for f in side.glob("*/record.json")) for side in (a, b)]
    if names[0] != names[1] or not names[0]:
        sys.exit(f"records differ: {names[0]} and {names[1]}")
    files = 0
    for name in names[0]:
        (text_a, artifacts), (text_b, _) = content(a / name), content(b / name)
        if text_a != text_b:
            lines = [(x, y) for x, y in zip(text_a.splitlines(), text_b.splitlines()) if x != y]
            sys.exit(f"{name}: records differ: {lines[0] if lines else 'in length'}")
        for file, digest in artifacts.items():
            for side in (a, b):
                if hashlib.sha256((side / name / file).read_bytes()).hexdigest() != digest:
                    sys.exit(f"{side / name / file}: not the recorded bytes")
            files += 1
    print(f"PASS: {len(names[0])} records and {files} files are byte for byte those of npubench run")


main()
