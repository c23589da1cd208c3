#!/usr/bin/env bash
# Builds the fuzz targets and runs each for its share of the time; prints one row per target. Exit 1 on a finding, whose
# input then lies in corpus/, with the command that runs it once more.
#   bash tests/fuzz/run.sh SECONDS [TARGET...]     all targets when none is named
# NB_FUZZ_CXX=g++ takes the own loop where clang is installed.
# NB_FUZZ_RUNS=N: each target takes N inputs, however long that lasts, and none is begun after SECONDS; called again, the
# same program goes on with the targets that are left.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

total_s=${1:-}
if ! [[ $total_s =~ ^[1-9][0-9]*$ ]]; then
  echo "fuzz: seconds of all targets together are missing, e.g. bash tests/check.sh --fuzz 600" >&2
  exit 64
fi
shift

# libFuzzer comes with Debian's clang and libclang-rt-14-dev.
cxx=${NB_FUZZ_CXX:-}
if [ -z "$cxx" ]; then
  cxx=g++
  if command -v clang++ >/dev/null &&
    echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    clang++ -x c++ -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null; then
    cxx=clang++
  fi
fi
build=build/fuzz
[ "$cxx" = clang++ ] || build=build/fuzz-gcc
options=(-DCMAKE_CXX_COMPILER="$cxx")
if command -v ccache >/dev/null; then
  options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
cmake --preset fuzz -B "$build" "${options[@]}"
cmake --build "$build" -j "$(nproc)" --target nb_fuzz

fuzz=$PWD/$build/nb_fuzz
mapfile -t all < <(NB_FUZZ_TARGET=list "$fuzz")
targets=("$@")
[ $# -gt 0 ] || targets=("${all[@]}")
for target in "${targets[@]}"; do
  if [[ " ${all[*]} " != *" $target "* ]]; then
    echo "fuzz: no target $target; there are ${all[*]}" >&2
    exit 64
  fi
done
jobs=$(nproc)
least_s=9
share_s=$((total_s * jobs / ${#targets[@]}))
[ "$share_s" -ge "$least_s" ] || share_s=$least_s
work=$PWD/$build/work
mkdir -p "$work"
runs=${NB_FUZZ_RUNS:-}
program=$(sha256sum <"$fuzz" | cut -d ' ' -f 1)

# What was found stays in $work from one run to the next; the log tells the rest.
run_target() { # target
  local target=$1 found=$work/$1 log=$work/$1.log kept=tests/fuzz/corpus/$1
  local grow_s=$((share_s / 9)) rc=0
  local change_s=$((share_s - grow_s)) whole="$program $runs"
  if [ -n "$runs" ]; then
    [ "$(cat "$work/$target.done" 2>/dev/null || true)" != "$whole" ] || return 0
    [ "$(date +%s)" -lt "$end" ] || { rm -f "$log" "$log.grown"; echo 0 >"$work/$target.rc"; return 0; }
    change_s=0 # no limit
  fi
  # Waiting for a processor is no slowness: judge.hpp looks at CPU time.
  local limits=(-timeout=120 -report_slow_units=120 -rss_limit_mb=2048 -malloc_limit_mb=256 -print_final_stats=1
    -artifact_prefix="$kept/")
  # Two to three times as many inputs a second: no names of new functions, fewer features counted as rare.
  limits+=(-print_funcs=0 -reload=0 -entropic_feature_frequency_threshold=16 -entropic_number_of_rarest_features=30)
  [ -z "$runs" ] || limits+=(-runs="$runs")
  mkdir -p "$found" "$found.grown" "$kept"
  export NB_FUZZ_TARGET=$target
  NB_FUZZ_SEEDS=$found "$fuzz" >"$log" 2>&1 || true
  "$fuzz" -max_total_time="$change_s" -max_len=8192 "${limits[@]}" "$found" "$kept" >"$log" 2>&1 || rc=$?
  # Grown inputs are not kept: what is changed should stay small.
  rm -f "$log.grown" "$found.grown"/*
  [ "$rc" -ne 0 ] || NB_FUZZ_GROW=1 "$fuzz" -max_total_time="$grow_s" -max_len=131072 -len_control=0 "${limits[@]}" \
    "$found.grown" "$kept" "$found" >"$log.grown" 2>&1 || rc=$?
  rmdir "$kept" 2>/dev/null || true
  echo "$rc" >"$work/$target.rc"
  if [ -n "$runs" ] && [ "$rc" -eq 0 ]; then echo "$whole" >"$work/$target.done"; fi
}
end=$(($(date +%s) + total_s))
export -f run_target
export fuzz work share_s runs program end
printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -c 'run_target {}'

# Numbers behind a text in a target's logs, one per line. libFuzzer's last words, or the own loop's.
numbers() { # text target
  { cat "$work/$2.log" "$work/$2.log.grown" 2>/dev/null || true; } | sed -nE "s/.*$1 *([0-9]+).*/\1/p"
}
printf '\n%-52s %10s %8s %9s  %s\n' target inputs "per s" coverage findings
failed=0 inputs=0 left=0
for target in "${targets[@]}"; do
  findings=0
  [ -z "$runs" ] || [ -s "$work/$target.log" ] || left=$((left + 1))
  [ "$(cat "$work/$target.rc")" = 0 ] || findings=1
  ran=$(numbers 'stat::number_of_executed_units:' "$target" | awk '{ all += $1 } END { print all + 0 }')
  rate=$(numbers 'stat::average_exec_per_sec:' "$target" | sed -n 1p)
  coverage=$(numbers 'cov:' "$target" | sort -n | tail -1)
  printf '%-52s %10s %8s %9s  %s\n' "$target" "$ran" "${rate:-?}" "${coverage:-?}" "$findings"
  inputs=$((inputs + ran))
  failed=$((failed + findings))
done
printf '%d targets, %d inputs, %d findings (coverage: %s)\n' "${#targets[@]}" "$inputs" "$failed" \
  "$([ "$cxx" = clang++ ] && echo 'edges, libFuzzer' || echo 'branches, own loop')"
[ "$left" -eq 0 ] || echo "$left targets were not begun within $total_s s: call this again"
[ "$failed" -gt 0 ] || exit 0

for target in "${targets[@]}"; do
  [ "$(cat "$work/$target.rc")" != 0 ] || continue
  lines=$(cat "$work/$target.log" "$work/$target.log.grown" 2>/dev/null || true)
  said=$(grep -m1 -E '^finding: |runtime error: |ERROR: (Address|Leak|Undefined)|ERROR: libFuzzer' <<<"$lines" || true)
  file=$(sed -nE 's/.*Test unit written to (.*)/\1/p' <<<"$lines" | tail -1)
  printf '\n%s: %s\n  reproduce: NB_FUZZ_TARGET=%s %s/nb_fuzz %s\n' "$target" "${said:-see $work/$target.log}" "$target" \
    "$build" "${file:-FILE (none was kept)}"
done
exit 1
