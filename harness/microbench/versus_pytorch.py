#!/usr/bin/env python3
"""Our training step and PyTorch's, in turn on this host; see versus_pytorch.sh.

First finds PyTorch's best settings here (flavour of OpenBLAS, memory allocator, ways to write the step), each
kept when it is faster; then lets npubench_step and PyTorch in fp32 and bf16 take steps in turn, so that whatever
slows the host slows all, and prints medians and the ratios of each round.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
HUGE = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "MALLOC_TOP_PAD_": str(1 << 30),
        "MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}


class Worker:
    """A process that takes one step for each line it is sent and answers JSON lines."""

    def __init__(self, argv, environment):
        self.process = subprocess.Popen(argv, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def read(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise SystemExit(f"{self.process.args[0]} ended: {self.process.stderr.read()[-2000:]}")

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.read()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def clean_environment():
    """Without what others set: OPENBLAS_CORETYPE=Haswell halves OpenBLAS where AVX-512 exists."""
    drop = ("OPENBLAS_", "OMP_", "GOMP_", "KMP_", "MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD", "NPUBENCH_SIMD")
    return {k: v for k, v in os.environ.items() if not k.startswith(drop)}


def pytorch(args, setting, dtype, tokens):
    environment = clean_environment() | setting["environment"] | {"OMP_NUM_THREADS": str(args.threads)}
    argv = ["/usr/bin/python3", str(HERE / "pytorch_step.py"), "--dtype", dtype, "--tokens", str(tokens)]
    for name in ("depth", "vocabulary", "length", "rows", "threads"):
        argv += [f"--{name}", str(getattr(args, name))]
    argv += ["--forward"] if args.forward else []
    worker = Worker(argv + setting["flags"], environment)
    worker.torch = worker.read()["torch"]
    return worker


def choices(args):
    """Groups of alternatives, each a list of (what, environment, flags); the first is what nobody chose."""
    libraries = Path(args.libraries)
    flavours = [("OpenBLAS with pthreads (Debian's default)", {}, [])]
    openmp = next(iter(sorted(libraries.rglob("openblas-openmp"))), None)
    if openmp:
        flavours.append(("OpenBLAS with OpenMP", {"LD_LIBRARY_PATH": str(openmp)}, []))
    allocators = [("glibc's malloc", {}, []), ("glibc's malloc, huge pages, nothing given back", HUGE, [])]
    tcmalloc = next(iter(sorted(libraries.rglob("libtcmalloc_minimal.so.4"))), None)
    if tcmalloc:
        allocators.append(("tcmalloc", {"LD_PRELOAD": str(tcmalloc)}, []))
    groups = [flavours, allocators,
              [("attention by masked_fill", {}, []), ("mask inside baddbmm", {}, ["--attention", "fused_mask"])],
              [("norm by mean of squares", {}, []), ("norm by vector_norm", {}, ["--norm", "vector"])],
              [("threads wherever", {}, []), ("threads bound", {"OMP_PROC_BIND": "true"}, [])]]
    if args.forward:
        groups.append([("eager", {}, []), ("frozen, optimize_for_inference", {}, ["--jit"])])
    return groups


def tune(args, dtype):
    """The fastest setting, one group after the other; a worker each, two short steps, the faster counts."""
    tokens = max(args.tune_tokens, args.rows * args.length)
    best, best_s = {"environment": {}, "flags": [], "what": []}, None

    def seconds(setting):
        worker = pytorch(args, setting, dtype, tokens)
        result = min(worker.step()["seconds"] for _ in range(2))
        worker.end()
        return result

    for group in choices(args):
        for i, (what, environment, flags) in enumerate(group):
            setting = {"environment": best["environment"] | environment, "flags": best["flags"] + flags,
                       "what": best["what"] + ([what] if i else [])}
            if i == 0 and best_s is not None:
                continue
            try:
                took = seconds(setting)
            except SystemExit as error:
                print(f"  {dtype} {what}: does not run ({str(error).strip().splitlines()[-1]})", flush=True)
                continue
            print(f"  {dtype} {what}: {tokens / took / 1000:.2f} k tok/s", flush=True)
            if best_s is None or took < best_s:
                chosen, best_s = setting, took
        if best_s is None:
            raise SystemExit(f"versus_pytorch.py: no setting of PyTorch runs in {dtype}")
        best = chosen
    return best


def ours(args):
    request = {"step": {"depth": args.depth, "vocabulary": args.vocabulary, "length": args.length,
                        "rows": args.rows, "tokens": args.tokens, "is_forward": args.forward},
               "device": {"profile": args.device}, "threads": args.threads, "is_interactive": True}
    environment = clean_environment()
    if args.simd:
        environment["NPUBENCH_SIMD"] = args.simd
    return Worker([args.program, "--request", json.dumps(request)], environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=4096)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=16384, help="of a step")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--forward", action="store_true", help="scoring alone")
    parser.add_argument("--device", default="ascend_910b3", help="whose numerics we compute")
    parser.add_argument("--simd", default="", help="our level; default: the best")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtypes", nargs="+", default=["fp32", "bf16"])
    parser.add_argument("--tune-tokens", type=int, default=4096)
    parser.add_argument("--settings", default="", help="file: settings found are read from it, or written to it")
    parser.add_argument("--program", default="build/release/npubench_step")
    parser.add_argument("--libraries", default="build/versus_pytorch", help="other flavours lie below")
    args = parser.parse_args()

    stored = Path(args.settings) if args.settings else None
    found = json.loads(stored.read_text()) if stored and stored.exists() else {}
    for dtype in args.dtypes:
        if dtype not in found:
            print(f"PyTorch's best settings, {dtype}:", flush=True)
            found[dtype] = tune(args, dtype)
    if stored:
        stored.write_text(json.dumps(found, indent=1))

    workers = {"npubench": ours(args)}
    for dtype in args.dtypes:
        workers[f"PyTorch {dtype}"] = pytorch(args, found[dtype], dtype, args.tokens)
    rates = {name: [] for name in workers}
    shares = []
    for _ in range(args.rounds):
        for name, worker in workers.items():
            time.sleep(0.1)  # waiting threads of the others have gone to sleep
            answer = worker.step()
            rates[name].append(args.tokens / answer["seconds"])
            if name == "npubench":
                last = answer
                shares.append(answer["share_of_peak"])
    torch = next(w.torch for n, w in workers.items() if n != "npubench")
    for worker in workers.values():
        worker.end()

    kind = "scoring forward" if args.forward else "training step"
    print(f"d{args.depth}, vocabulary {args.vocabulary}, {args.rows} x {args.length}, {args.tokens} tokens, {kind}; "
          f"{last['simd']}, {args.threads} threads, torch {torch}, {args.rounds} rounds in turn")
    print(f"  npubench      {statistics.median(rates['npubench']) / 1000:8.2f} k tok/s   "
          f"{100 * statistics.median(shares):.1f} % of the level's peak ({last['peak_gflop_s']:.0f} Gflop/s)")
    for dtype in args.dtypes:
        name = f"PyTorch {dtype}"
        ratios = [a / b for a, b in zip(rates["npubench"], rates[name])]
        print(f"  {name}  {statistics.median(rates[name]) / 1000:8.2f} k tok/s   we are {statistics.median(ratios):.2f} "
              f"times as fast ({min(ratios):.2f} to {max(ratios):.2f});  {'; '.join(found[dtype]['what']) or 'defaults'}")


if __name__ == "__main__":
    main()
