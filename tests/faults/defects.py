"""What a port gets wrong, as switches: a suite with each defect, gated against the same suite without it.

No source is changed and nothing is rebuilt: `npubench list defects` names the switches. The table says for each
defect what the gate says, which of its layers saw it, and the metrics that moved most, in standard errors.
"""

import json
import subprocess

from bench import BenchError, checked

Z95 = 1.959964


def defects_of(program):
    return json.loads(checked([program, "list", "defects", "--json"]))


def entry(device, defects):
    return {"name": device, "profile": device, "defects": list(defects)}


class Switches:
    def __init__(self, program, tree, work, suite, devices, seeds, threads):
        self.program, self.tree, self.work = program, tree, work
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


def standard_errors(verdict):
    """The difference in standard errors of its interval; None where there is no interval."""
    interval, difference = verdict["interval95"], verdict["difference"]
    if not interval or difference is None:
        return None
    half = (interval[1] - interval[0]) / 2
    return None if half <= 0 else Z95 * difference / half


def moved(verdicts, count=3):
    """"metric base → candidate (−12 SE)" of those that moved most."""
    rows = []
    for verdict in verdicts:
        errors = standard_errors(verdict)
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


def errors_by_metric(verdicts):
    """"sft.chat mw/gsm8k" → how far it moved in standard errors; 0 where both sides are equal; None: not to be told."""
    errors = {}
    for verdict in verdicts:
        if not verdict["metric"] or verdict["base"] is None or verdict["candidate"] is None:
            continue
        name = f"{verdict['where'] or ''} {verdict['metric'].removesuffix('/accuracy')}".strip()
        errors[name] = 0 if verdict["base"] == verdict["candidate"] else standard_errors(verdict)
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
        moves[name] = errors_by_metric(result["verdicts"])
        unseen += [] if seen else [name]
        print(f"{name:30} {'seen' if seen else 'NOT SEEN':8} exit {result['exit_code']}  "
              f"{', '.join(layers(result['verdicts'])) or result['first_line'].splitlines()[0]}", flush=True)
        for line in [*([trouble] if trouble else []), *moved(result["verdicts"])]:
            print(f"{'':39} {line}", flush=True)
    print("\nmoved by, in standard errors (· below 2, = not at all, ? without an interval):")
    print("\n".join(table_of(moves)))
    print(f"{len(names)} defects, {len(unseen)} not seen: {', '.join(unseen) or '-'}", flush=True)
    return len(unseen)
