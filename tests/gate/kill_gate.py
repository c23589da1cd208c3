#!/usr/bin/env python3
"""Kills `npubench gate` and `gate accept` with SIGKILL at random moments and looks at what is left.

    tests/gate/kill_gate.py NPUBENCH RUN [kills]

Works on a copy of the run folder. After every kill the pointer is whole (the old or the new one), every line of
history.jsonl and gates.jsonl is JSON, and nothing that was there is gone. What was killed is repeated: the history then
has one line of an acceptance, and gates.jsonl, which has one of this gate already, no other. At the end both work.
"""
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def lines(path):
    """Whole lines that are JSON, and the number of those that are not."""
    if not path.exists():
        return [], 0
    good, bad = [], 0
    for line in path.read_text().split("\n"):
        if not line:
            continue
        try:
            json.loads(line)
            good.append(line)
        except ValueError:
            bad += 1
    return good, bad


def main():
    program, source, kills = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 100
    draw = random.Random(20240817)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / source.name
        shutil.copytree(source, run)
        accept = [program, "gate", "accept", str(run), "--who", "test", "--why"]
        judge = [program, "gate", str(run)]
        started = time.monotonic()
        subprocess.run(accept + ["first"], check=True, capture_output=True)
        subprocess.run(judge, check=True, capture_output=True)
        long_s = (time.monotonic() - started) / 2 * 1.2
        history, gates = Path(folder) / "accepted/history.jsonl", Path(folder) / "gates.jsonl"
        pointer = Path(folder) / "accepted" / (run.name + ".json")
        before = {path: lines(path)[0] for path in (history, gates)}
        killed = 0
        for i in range(kills):
            command = judge if i % 2 else accept + [f"number {i}"]
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(draw.uniform(0, long_s))
            child.send_signal(signal.SIGKILL)
            killed += child.wait() == -signal.SIGKILL
            json.loads(pointer.read_text())
            json.loads((run / "accepted.json").read_text())
            subprocess.run(command, check=True, capture_output=True)
            if i % 2:
                assert len(lines(gates)[0]) == len(before[gates]), "a gate that said the same again has another line"
            else:
                same = [line for line in lines(history)[0] if json.loads(line)["why"] == f"number {i}"]
                assert len(same) == 1, f"{len(same)} lines of one acceptance"
                assert json.loads(same[0]) == json.loads(pointer.read_text())
            for path in (history, gates):
                now, bad = lines(path)
                assert now[:len(before[path])] == before[path], f"{path}: a line is gone"
                assert bad == 0, f"{path}: {bad} broken lines"
                before[path] = now
        subprocess.run(accept + ["last"], check=True, capture_output=True)
        assert json.loads(pointer.read_text())["why"] == "last"
        subprocess.run(judge, check=True, capture_output=True)
        print(f"{killed} of {kills} killed; {len(lines(history)[0])} acceptances, {len(lines(gates)[0])} nights, "
              f"{lines(history)[1] + lines(gates)[1]} half lines")


main()
