#!/usr/bin/env python3
"""Kills a training and an evaluation at random moments, flips bits in what they left, and lets them go on.

    tests/store/interrupted.py NPUBENCH [kills] [flips] [train|eval]

Of each kind `kills` runs (60) are killed with SIGKILL at a moment of their own share of the time and started again, and
`flips` times (200) one bit is flipped in a copy of an interrupted run: of checkpoints and their headers, of partial
items, of every other file of the results folder; every twentieth time a file is cut, emptied, zeroed or swapped. The
same command must then end with the record and the files of an undisturbed run, or with one sentence and another exit
code than 0; never with another result. Prints what happened how often, and every sentence that went with a refusal.
"""
import hashlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from nights import canonical, damage, read

OF_THE_HOST = ("environment", "host_metrics", "host_artifacts", "checksum")
TRAIN = ("train --depth 2 --steps 12 --device h100_sxm --sequence-len 64 --total-batch-tokens 2048 "
         "--checkpoint-every 2 --sample-every 4 --threads 1 --quiet").split()
EVAL = "--task mw --max-per-task 60 --batch 4 --threads 1 --quiet".split()


class Kind:
    """One command that is interrupted: how it is started, and which of its files matter most."""

    def __init__(self, name, program, folder):
        self.name, self.program, self.folder = name, program, folder
        self.model = folder / "model"

    def command(self, results):
        if self.name == "train":
            return [self.program, *TRAIN, "--results-dir", str(results)]
        return [self.program, "eval", "--model", str(next(self.model.glob("train-d2/train-*"))), *EVAL,
                "--results-dir", str(results)]

    def prepare(self):
        if self.name == "eval":
            subprocess.run([self.program, *TRAIN, "--results-dir", str(self.model)], check=True, capture_output=True)

    def is_well_under_way(self, results):
        """Two checkpoints, or some items."""
        if self.name == "train":
            return len(list(results.glob("*/train-*/checkpoints/step_*"))) >= 2
        return any(path.read_bytes().count(b"\n") >= 8 for path in results.glob("*/*/partial/*.jsonl"))

    def precious(self, results):
        pattern = "*/train-*/checkpoints/step_*" if self.name == "train" else "*/*/partial/*.jsonl"
        return sorted(results.glob(pattern))


def outcome(results):
    """Every record without what differs from run to run; every file that it lists has its digest."""
    found = {}
    for path in sorted(results.glob("*/*/record.json")):
        problem = damage(path)
        assert problem is None, problem
        record = read(path.read_text())
        for file, digest in record["artifacts"].items():
            assert hashlib.sha256((path.parent / file).read_bytes()).hexdigest() == digest, f"{path.parent / file}"
        found[path.parent.name] = canonical({k: v for k, v in record.items() if k not in OF_THE_HOST})
    return found


def run(words):
    # Sentences may quote what a flipped bit has made of a text.
    return subprocess.run(words, capture_output=True, text=True, errors="backslashreplace")


def kill(words, when):
    """Kills it once `when` says so; False: it had ended before."""
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while child.poll() is None and not when():
        time.sleep(0.002)
    child.send_signal(signal.SIGKILL)
    return child.wait() == -signal.SIGKILL


def interrupted(kind, results):
    while not kill(kind.command(results), lambda: kind.is_well_under_way(results)):
        shutil.rmtree(results)
    assert kind.precious(results)


def header_bytes(path):
    return 8 + int.from_bytes(path.read_bytes()[:8], "little")


def flip(kind, results, draw):
    """Changes one file; returns which and how, in words."""
    precious = kind.precious(results)
    every = sorted(path for path in results.rglob("*") if path.is_file() and path.stat().st_size > 0)
    draws = draw.random()
    # Of two checkpoints mostly the newer one: the other is read when that is damaged.
    path = draw.choice(precious + precious[1:] * 3 if draws < 0.75 else every)
    size = path.stat().st_size
    if draw.random() < 0.05:
        data = path.read_bytes()
        how = draw.choice(["cut", "emptied", "zeroed", "swapped"])
        other = draw.choice([one for one in (precious if path in precious else every) if one != path] or [path])
        path.write_bytes({"cut": data[:draw.randrange(size)], "emptied": b"", "zeroed": bytes(size),
                          "swapped": other.read_bytes()}[how])
        return path, how
    in_header = kind.name == "train" and path in precious and draws < 0.5
    place = draw.randrange(header_bytes(path) if in_header else size)
    with open(path, "r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1 << draw.randrange(8)]))
    return path, "bit of its header flipped" if in_header else "bit flipped"


def what(path):
    return re.sub(r"-[0-9a-f]{8}$", "", path.parent.name) + "/" + re.sub(r"\d+", "#", path.name)


def main():
    program = sys.argv[1]
    kills, flips = (int(sys.argv[i]) if len(sys.argv) > i else n for i, n in ((2, 60), (3, 200)))
    kinds = sys.argv[4:5] or ["train", "eval"]
    for name in kinds:
        draw, begun = random.Random(20240825), time.monotonic()
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            kind = Kind(name, program, folder)
            kind.prepare()
            started = time.monotonic()
            whole = run(kind.command(folder / "whole"))
            assert whole.returncode == 0, whole.stderr
            long_s = time.monotonic() - started
            want = outcome(folder / "whole")
            results = folder / "results"

            killed = 0
            while killed < kills:
                end = time.monotonic() + long_s * (killed + draw.random()) / kills
                was_killed = kill(kind.command(results), lambda: time.monotonic() >= end)
                killed += was_killed
                done = run(kind.command(results))
                assert done.returncode == 0, f"after a kill: exit {done.returncode}: {done.stderr}"
                assert outcome(results) == want, "after a kill: another result"
                if not was_killed:
                    long_s *= 0.95  # the machine was faster this time
                shutil.rmtree(results)
            print(f"{name}: {killed} kills, each ended with the undisturbed run's bytes", flush=True)

            interrupted(kind, folder / "half")
            seen, refused, where, wrong = Counter(), Counter(), Counter(), []
            for i in range(flips):
                shutil.copytree(folder / "half", results, symlinks=True)
                path, how = flip(kind, results, draw)
                done = run(kind.command(results))
                said = done.stderr.replace(str(results), "…").strip()
                if done.returncode != 0:
                    verdict = "refused with a sentence" if said or done.stdout else "refused without a word"
                    refused[f"exit {done.returncode}: {what(path)}, {how}: {said or done.stdout.strip()}"] += 1
                elif outcome(results) == want:
                    verdict = "same bytes, with a sentence" if said else "same bytes, nothing said"
                else:
                    verdict = "ANOTHER RESULT"
                    wrong.append(f"{what(path)}, {how}: {said}")
                seen[verdict] += 1
                where[f"{what(path)}: {verdict}"] += 1
                shutil.rmtree(results)
            print(f"{name}: {flips} changed files: {dict(seen)}; {time.monotonic() - begun:.0f} s")
            for text, n in sorted(where.items()):
                print(f"    {n:4} {text}")
            for text, n in refused.items():
                print(f"  {n} × {text}")
            assert not wrong and not seen["refused without a word"], "\n".join(wrong)


main()
