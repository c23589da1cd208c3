"""Plants changes of code and flags and shows whether the program would reuse records made before them."""

import json
import shutil

from bench import BenchError, checked

# All kinds of node.
SUITE = "suites/smoke.json"
# A model for `npubench eval`: the smallest training.
TRAINING = ["--depth", "1", "--sequence-len", "32", "--device-batch", "2", "--total-batch-tokens", "128",
            "--steps", "4", "--eval-tokens", "128", "--vocab-size", "320", "--set",
            "/corpus/microworld/documents=120", "--set", "/corpus/microworld/val_documents=8",
            "--set", "/corpus/microworld/items_per_task=12"]


def keys_of(bench, program):
    """{(kind, name): key} of every node of the suite."""
    plan = json.loads(checked([program, "plan", bench.tree / SUITE, "--json"], cwd=bench.tree))
    return {(node["kind"], node["name"]): node["key"] for node in plan["nodes"]}


def trained_model(bench, program):
    """The folder of a small training by the program without a fault."""
    folder = bench.runs / "stale_model"
    if not list(folder.glob("*/train-*/record.json")):
        checked([program, "train", *TRAINING, "--results-dir", folder], cwd=bench.tree)
    return next(iter(folder.glob("*/train-*/record.json"))).parent


def evaluated_again(bench, program, healthy):
    """Whether `npubench eval` of the changed program makes a record although an equal one is there."""
    model, folder = trained_model(bench, healthy), bench.runs / "stale_eval"
    shutil.rmtree(folder, ignore_errors=True)

    def records(by):
        checked([by, "eval", "--model", model, "--task", "mw", "--results-dir", folder, "--quiet"], cwd=bench.tree)
        return {path: path.stat().st_mtime_ns for path in folder.rglob("record.json")}

    first = records(healthy)
    if records(healthy) != first:
        raise BenchError("npubench eval without a fault does not reuse its own record")
    return records(program) != first


def run_key_fault(bench, fault, healthy, healthy_keys):
    """(fault, kinds that should have another key and do not, whether it is as wanted, one line)"""
    bench.plant(fault.name, fault.edits)
    program = bench.build(options=fault.cmake)
    try:
        keys = keys_of(bench, program)
    except BenchError as error:
        if not fault.refusal or fault.refusal not in str(error):
            raise
        return True, f"the program refuses to run: {fault.refusal}"
    same = sorted({kind for (kind, name), key in keys.items()
                   if kind in fault.kinds and key == healthy_keys[(kind, name)]})
    moved = sum(key != healthy_keys[node] for node, key in keys.items())
    said = f"{moved} of {len(keys)} keys changed"
    if same:
        said += f"; STALE: {', '.join(same)}"
    stale_verb = fault.verb and not evaluated_again(bench, program, healthy)
    if stale_verb:
        said += "; STALE: npubench eval reused its record"
    return not same and not stale_verb, said


def run_key_faults(bench, healthy, faults):
    """How many are not as wanted."""
    bench.plant("none", ())
    healthy_keys = keys_of(bench, healthy)
    wrong = 0
    for fault in faults:
        ok, said = run_key_fault(bench, fault, healthy, healthy_keys)
        wrong += not ok
        print(f"{fault.name:34} {'ok' if ok else 'WRONG':6} {said}", flush=True)
    print(f"{len(faults)} changes, {wrong} after which a stale record would be reused", flush=True)
    return wrong
