"""Plants faults, runs the suite of five seeds with each, and shows what the gate says. See README.md."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import plant
from bench import Bench, BenchError
from defects import Switches, run_switches
from fault_table import FAULTS
from key_table import KEY_FAULTS
from keys import run_key_faults
from suites import GROUPS as SUITE_GROUPS, SUITES, run_on_suites
from verdicts import first_line, objection

ROOT = Path(__file__).resolve().parents[2]
DEVICES = ("ascend_910b3", "h100_sxm")
GROUPS = ("metric", "training", "seeds", "port")  # of FAULTS
KEY_GROUPS = ("stale", "flags")  # of KEY_FAULTS
HEALTHY_SEEDS = 20


def check():
    """Every edit fits the sources as they stand."""
    problems = []
    for fault in (*FAULTS, *KEY_FAULTS):
        try:
            plant.planted_files(ROOT, fault.name, fault.edits)
        except plant.PlantError as error:
            problems.append(str(error))
    for problem in problems:
        print(problem)
    print(f"{len(FAULTS) + len(KEY_FAULTS)} faults, {len(problems)} that do not fit the sources")
    return 1 if problems else 0


def build_all(bench, faults):
    """How many faults do not compile: a changed line may fit the sources by its text alone."""
    broken = 0
    for fault in faults:
        bench.plant(fault.name, fault.edits)
        try:
            bench.build(options=getattr(fault, "cmake", ()))
        except BenchError as error:
            broken += 1
            print(f"{fault.name}: {error}", flush=True)
    print(f"{len(faults)} faults, {broken} that do not compile", flush=True)
    return broken


def candidate_folders(bench, program, fault, seeds, devices):
    """(baseline's folder, candidate's folder, how many nodes were executed or None)"""
    if fault.models:
        base, candidate = (bench.evaluate(program, f"{fault.name}-{model}", model) for model in fault.models)
        return base, candidate, None
    base, _, _ = bench.run(bench.work / "bin/npubench", "baseline", seeds, devices)
    candidate, summary, _ = bench.run(program, fault.name, seeds, devices, fault.settings, baseline=base)
    return base, candidate, summary["executed"]


def run_fault(bench, fault, counts, devices):
    """Rows of the table: one for each number of seeds."""
    healthy = bench.work / "bin/npubench"
    bench.plant(fault.name, fault.edits)
    program = bench.build() if fault.edits else healthy
    if not fault.models:
        bench.run(healthy, "baseline", range(1, max(counts) + 1), devices)
        bench.start_from(fault.name, "baseline")
    rows = []
    for count in sorted(counts):  # the most last: the folders then list all
        base, candidate, executed = candidate_folders(bench, program, fault, range(1, count + 1), devices)
        exit_code, output = bench.gate(healthy, base, candidate)
        report = bench.work / "gates" / f"{fault.name}-{count}.txt"
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text(output)
        problem = objection(fault, fault.want[count], exit_code, output)
        if executed == 0 and count == min(counts):
            problem = "nothing was executed: the faulty program reused every healthy record"
        rows.append((fault.name, count, fault.want[count], "WRONG" if problem else "ok", exit_code, first_line(output)))
        print("%-30s %d  %-12s  %-5s  exit %d  %s" % rows[-1], flush=True)
        if problem:
            print(f"{'':30}    {problem}", flush=True)
    return rows


def run_faults(bench, faults, options):
    print("%-30s %s  %-12s  %-5s  %s" % ("fault", "n", "wanted", "", "what the gate says"), flush=True)
    rows = []
    for fault in faults:
        counts = [n for n in fault.want if options.seeds in (None, n)]
        if counts:
            rows += run_fault(bench, fault, counts, options.devices)
    wrong = sum(row[3] != "ok" for row in rows)
    print(f"{len(rows)} gates, {wrong} not as wanted; their whole texts: {bench.work / 'gates'}", flush=True)
    return wrong


def run_healthy(bench, program, options):
    """How many sizes of halves have too many false alarms, of many seeds without a fault."""
    seeds = options.seeds or HEALTHY_SEEDS
    folder, _, seconds = bench.run(program, "healthy", range(1, seeds + 1), options.devices)
    print(f"{seeds} seeds on {', '.join(options.devices)}: {seconds:.0f} s", flush=True)
    bench.plant("none", ())
    splits = bench.build("nb_healthy_splits")
    wrong = 0
    for side in sorted({min(5, seeds // 2), seeds // 2}):
        print(f"{side} seeds against {side} others, relabelled as the same", flush=True)
        exit_code = subprocess.run([str(splits), str(folder), str(side), str(options.splits)], check=False).returncode
        if exit_code not in (0, 1):
            raise BenchError(f"{splits}: exit {exit_code}")
        wrong += exit_code
    return wrong


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="bash tests/faults/run.sh",
        description="Plants each fault of a group in a copy of the sources, builds and runs it, and gates it "
        "against the same suite without the fault. Exit code: 0 when all is as the tables want it, else 1.",
    )
    parser.add_argument("group", choices=[*GROUPS, *KEY_GROUPS, "suites", "healthy", "defects", "all", "check", "build", "list"])
    parser.add_argument("--only", action="append", default=[], metavar="FAULT", help="of the group; may be repeated")
    parser.add_argument("--seeds", type=int, metavar="N", help="run N seeds only (default: as the table says)")
    parser.add_argument("--devices", nargs="+", help="default: both of the suite; of suites the first")
    parser.add_argument("--suite", default="suites/pull_request.json", help="of defects (default: %(default)s)")
    parser.add_argument("--noise", nargs="+", default=[], metavar="RUN",
                        help="of defects: healthy runs of many seeds, whose spread is the standard error of one")
    parser.add_argument("--suites", nargs="+", default=list(SUITES), metavar="FILE", help="of suites (default: both)")
    parser.add_argument("--set", nargs="+", default=[], metavar="/FIELD=VALUE",
                        help="of suites: smaller runs, as --set of npubench run")
    parser.add_argument("--table-only", action="store_true", help="of suites: the table of the gates that are kept")
    parser.add_argument("--splits", type=int, default=200, metavar="N", help="of healthy (default: %(default)s)")
    parser.add_argument("--work", default=str(Path(tempfile.gettempdir()) / "npubench_faults"),
                        help="folder of the copy, its build and its runs; used again (default: %(default)s)")
    parser.add_argument("--full", action="store_true", help="the suite's own d2 instead of a d1")
    parser.add_argument("--threads", type=int, help="of npubench (default: every core)")
    options = parser.parse_args(arguments)
    options.devices = options.devices or list(DEVICES[:1] if options.group == "suites" else DEVICES)
    return options


def show(faults, key_faults):
    for fault in faults:
        wants = ", ".join(f"{n} seed{'s' if n > 1 else ''}: {want}" for n, want in sorted(fault.want.items()))
        print(f"{fault.group:8} {fault.name:32} {fault.plants} ({wants})")
    for fault in key_faults:
        who = [*(("all kinds",) if len(fault.kinds) == 7 else fault.kinds), *(["npubench eval"] if fault.verb else [])]
        print(f"{fault.group:8} {fault.name:32} {fault.plants} (other keys: {', '.join(who)})")


def main(arguments):
    options = parse(arguments)
    if options.group == "check":
        return check()
    if options.group == "defects":
        program = ROOT / "build/release/npubench"
        try:
            switches = Switches(program, ROOT, Path(options.work) / "defects", options.suite, options.devices,
                                options.seeds, options.threads, options.noise)
            return 1 if run_switches(switches, options.only) else 0
        except BenchError as error:
            print(error, file=sys.stderr)
            return 4
    def chosen(fault):
        if options.group == "suites":
            return fault.group in SUITE_GROUPS
        return options.group in ("list", "build", fault.group) or options.group == "all" and fault.group not in SUITE_GROUPS

    faults, key_faults = [f for f in FAULTS if chosen(f)], [f for f in KEY_FAULTS if chosen(f)]
    unknown = set(options.only) - {f.name for f in (*faults, *key_faults)}
    if unknown:
        print(f"no fault {', '.join(sorted(unknown))} in {options.group}; there are "
              f"{', '.join(f.name for f in (*faults, *key_faults))}", file=sys.stderr)
        return 64
    if options.only:
        faults = [f for f in faults if f.name in options.only]
        key_faults = [f for f in key_faults if f.name in options.only]
    if options.group == "list":
        show(faults, key_faults)
        return 0
    bench = Bench(ROOT, options.work, options.threads, options.full)
    wrong = 0
    try:
        if options.table_only:
            return 1 if run_on_suites(bench, faults, options) else 0
        bench.copy_sources()
        if options.group == "build":
            return 1 if build_all(bench, (*faults, *key_faults)) else 0
        program = bench.healthy_program()
        if options.group == "suites":
            return 1 if run_on_suites(bench, faults, options) else 0
        if faults:
            wrong += run_faults(bench, faults, options)
        if key_faults:
            wrong += run_key_faults(bench, program, key_faults)
        if options.group in ("healthy", "all"):
            wrong += run_healthy(bench, program, options)
    except (BenchError, plant.PlantError) as error:
        print(error, file=sys.stderr)
        return 4
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
