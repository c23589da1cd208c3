#!/usr/bin/env python3
"""Kills runs, runs reindex, history and runs gc with SIGKILL at random moments and looks at what is left.

    tests/store/kills.py NPUBENCH [kills]

Two writers share one night's folder, a reader reads, and one process of the four is killed. After every kill: each
record is whole, none is gone but of nights that runs gc had said would go, and those are gone whole; what runs list says
from the index is what the records say, and what it says after runs reindex. First eight writers of one night are killed at once, six times. At
the end the night that was worked on is finished by one more run, and the last runs gc leaves nothing behind.
"""
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from nights import Template, canonical, damage, read

SUITE = Path(__file__).resolve().parent.parent / "e2e/shortest.json"
KEEP = 12


class Bench:
    def __init__(self, program, folder):
        self.program, self.nights = program, folder / "nights"
        self.long_s = {}

    def commands(self, night):
        return {
            "run": ["run", str(SUITE), "--results-dir", str(self.nights / night), "--quiet", "--threads", "1"],
            "reindex": ["runs", "reindex", str(self.nights)],
            "history": ["history", "val_bpb", "--results-dir", str(self.nights)],
            "gc": ["runs", "gc", str(self.nights), "--keep-last", str(KEEP), "--yes"],
        }

    def start(self, words):
        return subprocess.Popen([self.program] + words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def json(self, *words):
        """Of a command that must succeed."""
        done = subprocess.run([self.program, *words, "--json"], capture_output=True, text=True)
        assert done.returncode == 0, f"{words}: exit {done.returncode}: {done.stderr}"
        return json.loads(done.stdout)

    def going(self):
        plan = self.json("runs", "gc", str(self.nights), "--keep-last", str(KEEP))
        return {run for target in plan["goes"] for run in target["runs"]}

    def listed(self):
        said = self.json("runs", "list", "--results-dir", str(self.nights))
        return {run["run"]: (run["records"], run["status"], run["when"]) for run in said["runs"]}


class Kept:
    """A record's bytes, and whether its node was still marked as worked on: killed between the two, it runs again."""

    def __init__(self, path):
        self.record, self.may_run_again = path.read_bytes(), (path.parent / "working").exists()

    def is_now(self, other):
        if self.record == other.record or not self.may_run_again:
            return self.record == other.record
        mine, its = (read(kept.record.decode()) for kept in (self, other))
        for record in (mine, its):
            del record["environment"], record["checksum"]
        return canonical(mine) == canonical(its)


def runs_in(nights):
    """Run -> {node: its record}. What lies in .removed is no run."""
    runs = {}
    for path in nights.glob("*/*/*/record.json"):
        if path.parts[len(nights.parts)] != ".removed":
            runs.setdefault(str(path.parent.parent.relative_to(nights)), {})[path.parent.name] = Kept(path)
    return runs


def check(bench, before, may_go):
    """What a kill must never do. Returns the runs that are there now."""
    for path in bench.nights.glob("*/*/*/record.json"):
        problem = None if ".removed" in path.parts else damage(path)
        assert problem is None, problem
    now = runs_in(bench.nights)
    for run, nodes in before.items():
        if run not in now:
            assert run in may_go, f"{run} is gone"
            continue
        for node, record in nodes.items():
            there = now[run].get(node)
            assert there is not None, f"{run}/{node}: its record is lost"
            assert record.is_now(there), f"{run}/{node}: its record has changed"
    from_index = bench.listed()
    want = {run: len(nodes) for run, nodes in now.items()}
    have = {run: said[0] for run, said in from_index.items() if said[0]}
    assert want == have, f"records {dict(want.items() - have.items())}, by the index {dict(have.items() - want.items())}"
    bench.json("runs", "reindex", str(bench.nights))
    assert bench.listed() == from_index, "the index made anew says otherwise"
    return now


def kill_at_random(child, draw, long_s, killed, what):
    time.sleep(draw.uniform(0, long_s))
    child.send_signal(signal.SIGKILL)
    killed[what] += child.wait() == -signal.SIGKILL


def main():
    program, kills = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    draw, killed, started = random.Random(20240817), Counter(), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bench = Bench(program, folder)
        subprocess.run([program, "run", str(SUITE), "--results-dir", str(folder / "first"), "--quiet"], check=True,
                       capture_output=True)
        template = Template(folder / "first" / SUITE.stem)
        made = 0
        for made in range(30):
            template.night(bench.nights, made)
        oldest = sorted(runs_in(bench.nights))
        subprocess.run([program, "gate", "accept", str(bench.nights / oldest[0]), "--results-dir", str(bench.nights),
                        "--who", "test", "--why", "kept"], check=True, capture_output=True)
        (bench.nights / oldest[1] / "golden.json").write_text("{}")

        night, nights_done = 0, 0
        before = runs_in(bench.nights)
        for latest in (0.05, 0.1, 0.2, 0.3, 0.4, 0.6):
            words = bench.commands(f"2026-01-{round(latest * 20):02}")["run"]
            writers = [bench.start(words) for _ in range(8)]
            time.sleep(draw.uniform(0, latest))
            for writer in writers:
                writer.send_signal(signal.SIGKILL)
            for writer in writers:
                code = writer.wait()
                assert code in (0, -signal.SIGKILL), f"one of eight writers: exit {code}"
                killed["of eight writers"] += code == -signal.SIGKILL
            before = check(bench, before, set())
        assert killed["of eight writers"] > 8, "eight writers were nearly always done before the kill"

        for what in ("reindex", "history", "run", "gc"):
            begun = time.monotonic()
            subprocess.run([program] + bench.commands("2026-01-01")[what], check=True, capture_output=True)
            bench.long_s[what] = (time.monotonic() - begun) * 1.2
        before = runs_in(bench.nights)
        assert oldest[0] in before and oldest[1] in before, "an accepted run is gone"

        victims = ("run", "reindex", "history", "gc")
        for i in range(kills):
            what = victims[i % len(victims)]
            if what == "gc":
                for _ in range(3):
                    made += 1
                    template.night(bench.nights, made)
                before = runs_in(bench.nights)
            tonight = f"2026-02-{night % 28 + 1:02}"
            commands = bench.commands(tonight)
            may_go = bench.going()
            others = [bench.start(commands["run"]), bench.start(commands["history"])]
            kill_at_random(bench.start(commands[what]), draw, bench.long_s[what], killed, what)
            if what == "run" or draw.random() < .5:
                others[0].send_signal(signal.SIGKILL)
                killed["second writer"] += others[0].wait() == -signal.SIGKILL
            codes = [other.wait() for other in others]
            assert codes[1] in (0, -signal.SIGKILL), f"history beside a killed {what}: exit {codes[1]}"
            before = check(bench, before, may_go if what == "gc" else set())
            if codes[0] == 0:
                night, nights_done = night + 1, nights_done + 1
            if night >= 28:
                night = 0
                shutil.rmtree(bench.nights / "2026-02-01", ignore_errors=True)  # runs gc may have been first
                before = runs_in(bench.nights)

        last = bench.commands(tonight)
        subprocess.run([program] + last["run"], check=True, capture_output=True)
        may_go = bench.going()
        subprocess.run([program] + last["gc"], check=True, capture_output=True)
        left = check(bench, runs_in(bench.nights), set())
        assert not may_go & set(left) and not (bench.nights / ".removed").exists(), "something was left"
        assert oldest[0] in left and oldest[1] in left, "an accepted run is gone"
        records = sum(map(len, left.values()))
        print(f"{sum(killed.values())} processes killed in {kills + 6} rounds, of them "
              f"{', '.join(f'{n} {what}' for what, n in killed.items())}; {nights_done} nights were finished by others "
              f"meanwhile; at the end {len(left)} runs with {records} records, none lost, none half, index and records "
              f"agree; {time.monotonic() - started:.0f} s")


main()
