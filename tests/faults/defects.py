"""What a port gets wrong, as switches: a suite with each defect, gated against the same suite without it.

No source is changed and nothing is rebuilt: `npubench list defects` names the switches. The table says for each
defect what the gate says, which of its layers saw it, and the metrics that moved most, in standard errors. Where one
seed has none of its own, they are those of healthy runs of many seeds (--noise).
"""

import json
import re
import statistics
import subprocess
from collections import defaultdict
from pathlib import Path

from bench import BenchError, checked

Z95 = 1.959964


def defects_of(program):
    return json.loads(checked([program, "list", "defects", "--json"]))


def entry(device, defects):
    return {"name": device, "profile": device, "defects": list(defects)}


class Switches:
    def __init__(self, program, tree, work, suite, devices, seeds, threads, noise=()):
        self.program, self.tree, self.work = program, tree, work
        self.noise = spread_over_seeds(noise)
        self.suite, self.devices, self.seeds, self.threads = suite, devices, seeds, threads
        self.name = json.loads(checked([program, "plan", suite, "--json"], cwd=tree))["suite"]

    def run(self, folder, defects):
        """The first device has the defects; (the suite's folder, why not)."""
        entries = [entry(self.devices[0], defects) if defects else self.devices[0], *self.devices[1:]]
        command = [self.program, "run", self.suite, "--results-dir", self.work / folder, "--quiet", "--json",
                   "--set", f"/devices={json.dumps(entries)}"]
        if self.seeds:
            command += ["--set", f"/seeds={json.dumps(list(range(1, self.seeds + 1)))}"]
        if self.threads:
            command += ["--threads", str(self.threads)]
        result = subprocess.run([str(word) for word in command], text=True, capture_output=True, cwd=self.tree)
        trouble = (result.stderr.strip().splitlines() or [""])[-1]
        return self.work / folder / self.name, "" if result.returncode == 0 else f"exit {result.returncode}: {trouble}"

    def gate(self, base, candidate):
        result = subprocess.run([str(self.program), "gate", str(base), str(candidate), "--json"], text=True,
                                capture_output=True, cwd=self.tree)
        try:
            return json.loads(result.stdout)
        except json.JSONDecodeError as error:
            raise BenchError(f"gate {base} {candidate}: {result.stderr}") from error


def spread_over_seeds(folders):
    """(node without its seed, metric) → standard deviation over the seeds of all these runs, three or more."""
    values = defaultdict(dict)
    for folder in folders:
        records = sorted(Path(folder).glob("*/record.json"))
        if not records:
            raise BenchError(f"--noise {folder}: no records; give the folder of a run (results/runs/SUITE)")
        for path in records:
            record = json.loads(path.read_text())
            crosses_devices = record.get("trained_on") not in (None, "", record["device"])
            if record["status"] != "ok" or record.get("seed") is None or crosses_devices:
                continue
            node = f"{record['kind']} {record['name']} on {record['device']}"
            for metric in record["metrics"]:
                if metric["value"] is not None:
                    values[node, metric["name"]][record["seed"]] = metric["value"]
    return {key: statistics.stdev(by_seed.values()) for key, by_seed in values.items() if len(by_seed) >= 3}


def standard_errors(verdict, noise):
    """The difference in standard errors: of its interval, else of two single seeds; None where neither is known."""
    interval, difference = verdict["interval95"], verdict["difference"]
    if difference is None:
        return None
    if interval:
        half = (interval[1] - interval[0]) / 2
        return None if half <= 0 else Z95 * difference / half
    node = re.sub(r", seed \d+$", "", verdict["where"] or "")
    metric = (verdict["metric"] or "").split(" = ")[0]  # equal metrics are judged as one
    spread = noise.get((node, metric), 0)
    return difference / (spread * 2 ** 0.5) if spread > 0 else None


def moved(verdicts, noise, count=3):
    """"metric base → candidate (−12 SE)" of those that moved most."""
    rows = []
    for verdict in verdicts:
        errors = standard_errors(verdict, noise)
        if errors is not None and verdict["base"] != verdict["candidate"]:
            rows.append((abs(errors), f"{verdict['where'] or ''} {verdict['metric']} {verdict['base']:.4g} → "
                         f"{verdict['candidate']:.4g} ({errors:+.0f} SE)".strip()))
    return [text for _, text in sorted(rows, reverse=True)[:count]]


def layers(verdicts):
    """The tests that called something other than a pass."""
    seen = []
    for verdict in verdicts:
        if verdict["verdict"] not in ("PASS", "INCONCLUSIVE", "IMPROVED") and verdict["test"] not in seen:
            seen.append(verdict["test"])
    return seen


def errors_by_metric(verdicts, noise):
    """"sft.chat mw/gsm8k" → how far it moved in standard errors; 0 where both sides are equal; None: not to be told.
    Of what was learned: simulated costs are exact, so any change of theirs is seen."""
    errors = {}
    for verdict in verdicts:
        has_both = verdict["base"] is not None and verdict["candidate"] is not None
        if not verdict["metric"] or not has_both or verdict["test"] == "exact":
            continue
        metric = verdict["metric"].split(" = ")[0].removesuffix("/accuracy")
        name = f"{verdict['where'] or ''} {metric}".strip()
        name = re.sub(r", seed \d+", "", name)
        if verdict["base"] != verdict["candidate"]:
            errors[name] = standard_errors(verdict, noise)
        elif name not in errors:
            errors[name] = 0
    return errors


def table_of(moves):
    """Metrics down, defects across: whole standard errors; "·" below 2, "=" no change, "?" no interval."""
    def cell(defect, metric):
        if metric not in moves[defect]:
            return ""
        errors = moves[defect][metric]
        if errors is None:
            return "?"
        if errors == 0:
            return "="
        return "·" if abs(errors) < 2 else f"{max(-999, min(999, errors)):+.0f}"

    metrics = sorted({metric for moved_by in moves.values() for metric in moved_by})
    wide = max(map(len, metrics), default=0)
    lines = [f"{i:3}  {defect}" for i, defect in enumerate(moves, 1)]
    lines += ["", " " * wide + "".join(f"{i:5}" for i in range(1, len(moves) + 1))]
    lines += [metric.ljust(wide) + "".join(f"{cell(defect, metric):>5}" for defect in moves) for metric in metrics]
    return lines


def run_switches(switches, only=()):
    """How many defects the gate did not see."""
    base, trouble = switches.run("healthy", ())
    if trouble:
        raise BenchError(f"the suite without a defect: {trouble}")
    moves = {}
    unseen, names = [], [name for name in defects_of(switches.program) if not only or name in only]
    for name in names:
        candidate, trouble = switches.run(name, (name,))
        if trouble and "concern" in trouble:
            print(f"{name:30} not asked for by this suite: {trouble}", flush=True)
            continue
        result = switches.gate(base, candidate)
        seen = result["exit_code"] not in (0, 2)
        moves[name] = errors_by_metric(result["verdicts"], switches.noise)
        unseen += [] if seen else [name]
        print(f"{name:30} {'seen' if seen else 'NOT SEEN':8} exit {result['exit_code']}  "
              f"{', '.join(layers(result['verdicts'])) or result['first_line'].splitlines()[0]}", flush=True)
        for line in [*([trouble] if trouble else []), *moved(result["verdicts"], switches.noise)]:
            print(f"{'':39} {line}", flush=True)
    print("\nmoved by, in standard errors (· below 2, = not at all, ? unknown, blank: not retrained or not scored anew):")
    print("\n".join(table_of(moves)))
    print(f"{len(names)} defects, {len(unseen)} not seen: {', '.join(unseen) or '-'}", flush=True)
    return len(unseen)
