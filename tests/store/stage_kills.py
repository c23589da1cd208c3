#!/usr/bin/env python3
"""Kills a run of all four stages with SIGKILL at random moments, lets it go on, and compares with one that was left alone.

    tests/store/stage_kills.py NPUBENCH [kills]

Each of the kills has a folder of its own: the run is killed at a moment of its own share of the time, in every second
folder a second time after it went on; then it ends. Every record must be whole and equal to the undisturbed one but for
times, host and environment; every file that a record lists by its hash must have that hash.
"""
import hashlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from nights import canonical, damage, read

SUITE = Path(__file__).resolve().parent.parent / "e2e/stages.json"
OF_THE_HOST = ("environment", "host_metrics", "host_artifacts", "checksum")


def command(program, results):
    return [program, "run", str(SUITE), "--results-dir", str(results), "--quiet", "--threads", "1"]


def records(results):
    """Node -> its record without what differs from run to run."""
    found = {}
    for path in sorted(results.glob(f"{SUITE.stem}/*/record.json")):
        problem = damage(path)
        assert problem is None, problem
        record = read(path.read_text())
        for file, digest in record["artifacts"].items():
            assert hashlib.sha256((path.parent / file).read_bytes()).hexdigest() == digest, f"{path.parent / file}"
        found[path.parent.name] = canonical({k: v for k, v in record.items() if k not in OF_THE_HOST})
    return found


def killed_at(program, results, seconds):
    """Where the run was when it was killed; nothing: it had ended."""
    child = subprocess.Popen(command(program, results), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    if child.wait() != -signal.SIGKILL:
        return None
    at_work = [path.parent.name for path in results.glob(f"{SUITE.stem}/*/working")]
    return at_work[0].rsplit("-", 1)[0] if at_work else "between two nodes"


def main():
    program, kills = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    draw, started, moments = random.Random(20240819), time.monotonic(), Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begun = time.monotonic()
        subprocess.run(command(program, folder / "whole"), check=True, capture_output=True)
        long_s = time.monotonic() - begun
        want = records(folder / "whole")
        done = 0
        while done < kills:
            results = folder / str(done)
            share = min(1, (done + draw.random()) / kills)
            for moment in [share * long_s] + ([draw.random() * (1 - share) * long_s] if done % 2 else []):
                where = killed_at(program, results, moment)
                moments[where or "nothing: it had ended"] += 1
                done += where is not None
            ended = subprocess.run(command(program, results), capture_output=True, text=True)
            assert ended.returncode == 0, ended.stderr
            now = records(results)
            differing = [node for node in want.keys() | now.keys() if want.get(node) != now.get(node)]
            assert not differing, f"killed at {share:.2f} of {long_s:.0f} s, {where}: other records: {differing}"
        print(f"{done} kills ({', '.join(f'{n} in {where}' for where, n in sorted(moments.items()))}): "
              f"{len(want)} records of four stages equal each time, {time.monotonic() - started:.0f} s")


main()
