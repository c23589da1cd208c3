#!/usr/bin/env bash
# From a bare Debian 12 to a report: packages, build, smoke suite, report. Safe to repeat: what is done is
# not done again. Prints each phase's time, the disk used and where the report lies.
#   bash harness/quickstart.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null

for option in "$@"; do
  echo "quickstart.sh: unknown option $option; it takes none" >&2
  exit 64
done

build=build/release
runs=results/runs
names=()
times=()
phase() { # name command...
  local name=$1 start=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  "$@" || {
    local code=$?
    echo "quickstart.sh: $name failed (exit code $code); see its message above" >&2
    exit "$code"
  }
  names+=("$name")
  times+=($((SECONDS - start)))
}

build_npubench() {
  # Explicit exits: "set -e" does not reach into a command that is followed by "||".
  local options=()
  if command -v ccache >/dev/null; then
    options=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  cmake --preset release "${options[@]}" || return
  cmake --build "$build" -j "$(nproc)" --target npubench || return
}

phase packages bash harness/packages.sh
phase build build_npubench
phase "smoke suite" "$build/npubench" run suites/smoke.json --results-dir "$runs"
phase report "$build/npubench" report "$runs/smoke"

printf '\n== done in %d s\n' "$SECONDS"
for i in "${!names[@]}"; do
  printf '  %-12s %5d s\n' "${names[i]}" "${times[i]}"
done
printf '  disk: build %s, results %s\n' "$(du -sh "$build" | cut -f1)" "$(du -sh "$runs" | cut -f1)"
printf '  report: %s\n' "$PWD/$runs/smoke/report/report.html"
