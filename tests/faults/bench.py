"""A copy of the sources, its build, and runs of its npubench: what every command here works with.

Everything lies in one folder (--work), which later calls use again: tree/ (the copy with its build), bin/ (the
program without a fault), runs/ (one results folder a fault, runs/baseline without one; runs_full/ the same at
the suite's own size). The program itself
decides what of a results folder it may reuse.
"""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import plant

SUITE = "suites/five_seeds.json"
PROGRAMS = ("npubench", "npubench_microbench")  # the first calls the second, and is built with it
# An eighth of the suite's time and still no task at chance or at its ceiling; --full runs the suite as it is.
QUICK = ("depth=1", "sequence_len=64", "device_batch_size=8", "total_batch_tokens=1024", "iterations=300")


class BenchError(Exception):
    """A step that must work did not; the message holds its command and the end of its output."""


def text_of(command):
    return " ".join(str(word) for word in command)


def checked(command, exits=(0,), **options):
    result = subprocess.run([str(w) for w in command], text=True, capture_output=True, **options)
    if result.returncode not in exits:
        tail = "\n".join((result.stdout + result.stderr).splitlines()[-30:])
        raise BenchError(f"{text_of(command)}: exit {result.returncode}\n{tail}")
    return result.stdout


class Bench:
    def __init__(self, root, work, threads=None, full=False):
        self.root = Path(root)
        self.work = Path(work)
        self.tree = self.work / "tree"
        self.runs = self.work / ("runs_full" if full else "runs")
        self.threads = threads
        self.size = () if full else tuple(f"/stages/base/{setting}" for setting in QUICK)
        self.planted = set()

    # --- the copy of the sources -----------------------------------------------------------------------------

    def sources(self):
        listed = checked(["git", "-C", self.root, "ls-files", "-z", "-co", "--exclude-standard"])
        return [name for name in listed.split("\0") if name and (self.root / name).is_file()]

    def copy_sources(self):
        """The tree becomes the checkout as it stands; files that are equal keep their times, for the build."""
        names = self.sources()
        for name in names:
            self.put(name, (self.root / name).read_bytes(), (self.root / name).stat().st_mode)
        wanted = set(names)
        for path in self.tree.rglob("*"):
            name = path.relative_to(self.tree).as_posix()
            if path.is_file() and name not in wanted and not name.startswith(("build/", "results/runs/")):
                path.unlink()
        self.planted = set()

    def put(self, name, data, mode=0o644):
        path = self.tree / name
        if path.is_file() and path.read_bytes() == data:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode)

    def plant(self, name, edits):
        """The tree becomes the checkout with this fault and no other."""
        texts = plant.planted_files(self.root, name, edits)
        for old in self.planted - set(texts):
            self.put(old, (self.root / old).read_bytes())
        for file, text in texts.items():
            self.put(file, text.encode())
        self.planted = set(texts)

    # --- the build -------------------------------------------------------------------------------------------

    def build(self, target="npubench", options=()):
        """The program; configurations with options of their own have a build folder of their own."""
        environment = dict(os.environ, CCACHE_BASEDIR=str(self.tree), CCACHE_NOHASHDIR="1")
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        build = self.tree / ("build/other" if options else "build/release")
        checked(["cmake", "--preset", "release", "-B", build, *launcher, *options], cwd=self.tree, env=environment)
        checked(["cmake", "--build", build, "-j", os.cpu_count(), "--target", target], env=environment)
        return build / target

    def healthy_program(self):
        """npubench of the checkout as it stands, kept apart from the builds with faults."""
        self.plant("none", ())
        built = self.build().parent
        kept = self.work / "bin"
        kept.mkdir(parents=True, exist_ok=True)
        for program in PROGRAMS:
            shutil.copy2(built / program, kept)
        return kept / PROGRAMS[0]

    # --- runs ------------------------------------------------------------------------------------------------

    def run(self, program, name, seeds, devices, settings=(), more=(), baseline=None, suite=SUITE):
        """Runs the suite into runs/<name>; returns (its folder, the program's own summary, seconds). With a baseline its
        checkpoints are evaluated too, where the trainings differ, and the program's verdict is not asked for."""
        command = [program, "run", self.tree / suite, "--results-dir", self.runs / name, "--json", "--quiet"]
        command += ["--set", f"/seeds={json.dumps(list(seeds))}", "--set", f"/devices={json.dumps(list(devices))}"]
        for setting in (*(self.size if suite == SUITE else ()), *settings):
            command += ["--set", setting]
        command += list(more)
        if self.threads:
            command += ["--threads", str(self.threads)]
        if baseline:
            command += ["--baseline", baseline]
        start = time.monotonic()
        summary = json.loads(checked(command, (0, 1, 3) if baseline else (0,), cwd=self.tree))
        return self.runs / name / Path(suite).stem, summary, time.monotonic() - start

    def start_from(self, name, baseline):
        """A candidate's results folder begins as a copy of the baseline's, as that of a nightly job would."""
        shutil.rmtree(self.runs / name, ignore_errors=True)
        shutil.copytree(self.runs / baseline, self.runs / name)

    def evaluate(self, program, name, model):
        command = [program, "eval", "--model", model, "--task", "mw", "--results-dir", self.runs / name]
        checked(command, cwd=self.tree)
        return self.runs / name

    def gate(self, program, base, candidate):
        """(exit code, whole output)"""
        result = subprocess.run(
            [str(program), "gate", str(base), str(candidate)], text=True, capture_output=True, cwd=self.tree
        )
        return result.returncode, result.stdout + result.stderr
