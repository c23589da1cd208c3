#!/usr/bin/env python3
"""Kills the gate with SIGKILL at random moments and looks at what is left.

    tests/store/gate_kills.py NPUBENCH [kills]

In each round one process of four is killed, in turn: gate accept, a gate that judges a night and writes JUnit and
Markdown, gate calibrate, gate aa; another acceptance and another gate run beside it. After every round: the pointer
of the suite and the copies in the runs are whole and say what was there before or what one of this round's acceptances
says; every line that history.jsonl and gates.jsonl had is still there in its place, every finished acceptance has its
line and every gated run one, and no line is half; a report file is whole or not there; no record has changed.
"""
import hashlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from nights import Template

SUITE = Path(__file__).resolve().parent.parent / "e2e/shortest.json"
NIGHTS = 12


class Gates:
    """The commands of one round; each names itself in what it writes."""

    def __init__(self, program, home, out):
        self.program, self.home, self.out = program, home, out
        self.runs = sorted(path for path in home.glob("*/shortest"))
        self.twins = [out.parent / "first" / SUITE.stem, out.parent / "second" / SUITE.stem]  # the same keys
        self.number = 0

    def command(self, what, draw):
        self.number += 1
        first, second = draw.sample(self.runs, 2)
        name = f"{what} {self.number}"
        files = {"gate": ["xml", "md"], "calibrate": ["json"]}.get(what, [])
        files = [self.out / f"{self.number}.{kind}" for kind in files]
        words = {
            "accept": ["accept", first, "--who", "test", "--why", name],
            "gate": [first, "--junit", *files[:1], "--markdown", *files[1:]],
            "calibrate": ["calibrate", *self.twins, "--out", *files],
            "aa": ["aa", first, second],
        }[what]
        if what != "calibrate":
            words += ["--results-dir", self.home]
        return name, files, [self.program, "gate", *map(str, words)]


def start(command):
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def records(home):
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in home.glob("*/*/*/record.json")}


def pointers(home):
    return {path: path.read_text() for path in [*home.glob("accepted/*.json"), *home.glob("*/*/accepted.json")]}


def check_lines(path, before, must_have):
    """Lines of a history: what was there stays, what was finished is there. Returns the whole file."""
    text = path.read_text() if path.exists() else ""
    assert text.startswith(before), f"{path}: what was there has changed"
    lines, halves = text.splitlines(), 0
    for line in lines:
        try:
            json.loads(line)
        except ValueError:
            halves += 1
    for name in must_have:
        assert any(name in line for line in lines), f"{path}: no line of {name}"
    return text, halves


def check_file(path):
    if not path.exists():
        return
    text = path.read_text()
    if path.suffix == ".xml":
        ElementTree.fromstring(text)
    elif path.suffix == ".json":
        json.loads(text)
    else:
        assert text.endswith("\n") and "|" in text, f"{path}: half"


def main():
    program, kills = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    draw, killed, started = random.Random(20240818), Counter(), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home, out = folder / "nights", folder / "out"
        out.mkdir()
        for twin in ("first", "second"):
            subprocess.run([program, "run", str(SUITE), "--results-dir", str(folder / twin), "--quiet"], check=True,
                           capture_output=True)
        template = Template(folder / "first" / SUITE.stem)
        for number in range(NIGHTS):
            template.night(home, number)
        gates = Gates(program, home, out)
        long_s = {}
        for what in ("accept", "gate", "calibrate", "aa"):
            begun = time.monotonic()
            done = subprocess.run(gates.command(what, draw)[2], capture_output=True, text=True)
            assert done.returncode in (0, 1, 3, 4), f"{what}: exit {done.returncode}: {done.stderr}"
            long_s[what] = (time.monotonic() - begun) * 1.5
        kept, was = records(home), pointers(home)
        files = [home / "accepted/history.jsonl", home / "gates.jsonl"]
        before = [file.read_text() for file in files]

        for i in range(kills):
            what = ("accept", "gate", "calibrate", "aa")[i % 4]
            commands = [gates.command(kind, draw) for kind in (what, "accept", "gate")]
            children = [start(words) for _, _, words in commands]
            time.sleep(draw.uniform(0, long_s[what]))
            children[0].send_signal(signal.SIGKILL)
            finished = []
            for (label, _, _), child in zip(commands, children):
                said = child.communicate()[1]
                if child.returncode == -signal.SIGKILL:
                    killed[what] += 1
                    continue
                assert child.returncode in (0, 1, 3, 4), f"{label}: exit {child.returncode}: {said}"
                finished.append(label)
            assert commands[1][0] in finished and commands[2][0] in finished

            now = pointers(home)
            assert set(was) <= set(now), "a pointer is gone"
            tonight = {label for label, _, _ in commands}
            for path, text in now.items():
                said = json.loads(text)
                assert text == was.get(path) or said["why"] in tonight, f"{path}: says neither the old nor the new"
            was = now
            accepted = [label for label in finished if label.startswith("accept")]
            before[0], torn = check_lines(files[0], before[0], accepted)
            gated = [words[2] for label, _, words in commands if label.startswith("gate") and label in finished]
            before[1], torn_nights = check_lines(files[1], before[1], [json.dumps(run) for run in gated])
            assert torn + torn_nights == 0, "half a line"
            for _, made, _ in commands:
                for path in made:
                    check_file(path)
            left = [path for path in home.rglob("*") if path.is_file() and ".tmp" in path.name]
            assert records(home) == kept, "a record has changed"

        done = subprocess.run(gates.command("gate", draw)[2], capture_output=True, text=True)
        assert done.returncode in (0, 1), f"the last gate: exit {done.returncode}: {done.stderr}"
        print(f"{sum(killed.values())} processes killed in {kills} rounds, of them "
              f"{', '.join(f'{n} {what}' for what, n in killed.items())}; {before[0].count(chr(10))} acceptances and "
              f"{before[1].count(chr(10))} gated nights in their histories, none half, none lost; "
              f"{len(left)} temporary files left; {time.monotonic() - started:.0f} s")


main()
