#!/usr/bin/env python3
"""Writes nights as npubench nightly leaves them, made from one real run: <date>/<suite>/<node>-<key>/record.json.

    tests/store/nights.py RUN FOLDER COUNT

RUN is a run folder of `npubench run`. Each night has keys, weights, dates and training metrics of its own; the other
files are links to those of RUN.
"""
import datetime
import hashlib
import json
import os
import random
import sys
from pathlib import Path

FIRST_DAY = datetime.date(2021, 1, 1)


class Number(float):
    """A number that keeps the text it was read from: other programs round-trip it with other digits."""

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number.text = text
        return number


def read(text):
    return json.loads(text, parse_float=Number)


def canonical(value):
    """One line, keys sorted: what a record's checksum is taken of."""
    if isinstance(value, dict):
        return "{" + ",".join(canonical(k) + ":" + canonical(value[k]) for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, Number):
        return value.text
    return json.dumps(value, ensure_ascii=False)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def checksum(record):
    return digest(canonical({k: v for k, v in record.items() if k != "checksum"}))


def damage(path):
    """Why a record is not whole; None: it is."""
    try:
        record = read(path.read_text())
    except ValueError as error:
        return f"{path}: {error}"
    return None if record.get("checksum") == checksum(record) else f"{path}: its checksum is another"


class Template:
    """A run in memory, of which nights are made."""

    def __init__(self, run):
        self.run = run
        self.nodes = {path.parent.name: path.read_text() for path in sorted(run.glob("*/record.json"))}
        assert self.nodes, f"{run}: no records"
        assert not any(damage(run / node / "record.json") for node in self.nodes), f"{run}: damaged"
        self.keys = {read(text)["node_key"] for text in self.nodes.values()}
        self.listed = read((run / "run.json").read_text())["nodes"]

    def night(self, folder, number):
        """Writes night `number` (0: the oldest) into folder/<date>/<suite>, the list of nodes last. Returns that path."""
        draw = random.Random(number)
        day = FIRST_DAY + datetime.timedelta(days=number)
        keys = {key: digest(f"{key} {number}") for key in self.keys}
        run = folder / day.isoformat() / self.run.name

        def renamed(node):
            return next((node[:-8] + new[:8] for old, new in keys.items() if node.endswith(old[:8])), node)

        for node, text in self.nodes.items():
            for old, new in keys.items():
                text = text.replace(old, new)
            record = read(text)
            for key in ("started_at", "finished_at"):
                record["environment"][key] = f"{day.isoformat()}T03:{draw.randrange(60):02}:00Z"
            if "weights" in record["subject"]:
                record["subject"]["weights"] = digest(f"{record['subject']['weights']} {number}")
            for metric in record["metrics"]:
                if metric["name"] in ("val_bpb", "train_loss"):
                    # Whole 1,024ths: npubench does not write every number with the fewest digits, as Python does.
                    metric["value"] = Number(repr(round(metric["value"] * (1 + draw.gauss(0, 0.002)) * 1024) / 1024))
            record["checksum"] = checksum(record)
            to = run / renamed(node)
            to.mkdir(parents=True)
            for file in (self.run / node).rglob("*"):
                if file.is_file() and file.name != "record.json":
                    (to / file.relative_to(self.run / node)).parent.mkdir(parents=True, exist_ok=True)
                    os.link(file, to / file.relative_to(self.run / node))
            (to / "record.json").write_text(canonical(record) + "\n")
        (run / "run.json").write_text(json.dumps({"nodes": [renamed(node) for node in self.listed]}))
        return run


def main():
    run, folder, count = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    template = Template(run)
    for number in range(count):
        template.night(folder, number)
    print(f"{count} nights of {len(template.nodes)} records in {folder}")


if __name__ == "__main__":
    main()
