"""Small faults and mere rounding on whole suites: does the gate name the ones and pass over the others?

Each fault is planted, built and run on each suite beside the same suite without it, on one device, and gated with
one seed and with all. Gates are kept, so that a table may be made in several sittings: what is not there yet is
shown as missing. What a fault `wants` is wanted of the nightly; rounding is wanted green everywhere.
"""

import json
from pathlib import Path

from verdicts import first_line, objection

SUITES = ("suites/pull_request.json", "suites/nightly.json")
GROUPS = ("escaped", "rounding")


def kept_gate(bench, suite, fault, count):
    return bench.work / "gates" / f"{Path(suite).stem}-{fault.name}-{count}.json"


def wanted(fault, suite, count):
    """Key of VERDICTS."""
    if fault.group == "rounding" or Path(suite).stem == "nightly":
        return fault.want.get(count, "any")
    return "any"


def run_on(bench, fault, program, suite, counts, options):
    """Gates of one fault on one suite, the fewest seeds first: run.json then lists all."""
    healthy = bench.work / "bin/npubench"
    name, base_name = f"{Path(suite).stem}-{fault.name}", f"{Path(suite).stem}-baseline"
    for count in sorted(counts):
        if kept_gate(bench, suite, fault, count).exists():
            continue
        seeds = range(1, count + 1)
        shared = {"suite": suite, "settings": (*options.set, *fault.settings)}
        base, _, _ = bench.run(healthy, base_name, seeds, options.devices, **shared)
        if not (bench.runs / name).exists():
            bench.start_from(name, base_name)
        candidate, _, seconds = bench.run(program, name, seeds, options.devices, baseline=base, **shared)
        exit_code, output = bench.gate(healthy, base, candidate)
        kept = kept_gate(bench, suite, fault, count)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.with_suffix(".txt").write_text(output)
        kept.write_text(json.dumps({"exit": exit_code, "line": first_line(output), "output": output,
                                    "set": list(options.set), "devices": options.devices, "seconds": seconds}))


def rows_of(bench, faults, suites, counts):
    """(fault, suite, seeds, wanted, "ok" or why not, exit code, first line) of what is kept, None where nothing is."""
    for fault in faults:
        for suite in suites:
            for count in sorted(counts):
                want, kept = wanted(fault, suite, count), kept_gate(bench, suite, fault, count)
                if not kept.exists():
                    yield fault.name, Path(suite).stem, count, want, "missing", None, ""
                    continue
                gate = json.loads(kept.read_text())
                reduced = f" ({', '.join(gate['set'])})" if gate["set"] else ""
                problem = objection(fault, want, gate["exit"], gate["output"], check_more=want not in ("any", "green"))
                yield (fault.name, Path(suite).stem + reduced, count, want, problem or "ok", gate["exit"],
                       gate["line"])


def table_of(rows):
    lines = ["| fault | suite | seeds | wanted | as wanted | exit | first line |", "|---|---|---|---|---|---|---|"]
    for name, suite, count, want, said, exit_code, line in rows:
        cells = (name, suite, count, want, said, "" if exit_code is None else exit_code, line.replace("|", "\\|"))
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def run_on_suites(bench, faults, options):
    """How many gates are not as wanted; the table goes to <work>/table.txt and to the terminal."""
    counts = (options.seeds,) if options.seeds else (1, 5)
    for fault in faults if not options.table_only else ():
        if all(kept_gate(bench, suite, fault, n).exists() for suite in options.suites for n in counts):
            continue
        bench.plant(fault.name, fault.edits)
        program = bench.build()
        for suite in options.suites:
            run_on(bench, fault, program, suite, counts, options)
            for row in rows_of(bench, (fault,), (suite,), counts):
                print("%-30s %-14s %d  %-12s %-8s exit %s  %s" % row, flush=True)
    rows = list(rows_of(bench, faults, options.suites, counts))
    (bench.work / "table.txt").write_text(table_of(rows))
    print(table_of(rows), end="")
    wrong = sum(row[4] not in ("ok", "missing") for row in rows)
    missing = sum(row[4] == "missing" for row in rows)
    print(f"{len(rows)} gates, {wrong} not as wanted, {missing} missing; {bench.work / 'table.txt'}", flush=True)
    return wrong
