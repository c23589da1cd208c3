#!/usr/bin/env bash
# The smoke suite's metrics at every level of this host × threads 1, 2 × evaluation batch 1, 8, 64: one digest, the
# committed one (tests/golden/digests.json). Some minutes a level. The tests run a part of it each time.
#   bash tests/e2e/digest_grid.sh             every level
#   bash tests/e2e/digest_grid.sh avx2 scalar these
# Results lie in build/digest_grid.* while it runs, so that nobody who cleans temporary folders takes them away.
# scalar calls the C library for every fma and would take hours. Where the processor has the instruction, that level
# is compiled a second time to use it (build/release_fma); an fma is rounded once, so the value is the same.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
exec </dev/null

options=()
if command -v ccache >/dev/null; then
  options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
make_build() { # folder option...
  [ -f "$1/build.ninja" ] || cmake --preset release -B "$@" "${options[@]}"
  cmake --build "$1" --target nb_test_digests
}
make_build build/release

mapfile -t available < <(build/release/npubench --version | awk '$2 == "available" { print $1 }')
levels=("$@")
if [ ${#levels[@]} -eq 0 ]; then levels=("${available[@]}"); fi
for level in "${levels[@]}"; do
  if [[ " ${available[*]} " != *" $level "* ]]; then
    echo "digest_grid.sh: no level $level here; there are: ${available[*]}" >&2
    exit 64
  fi
done
work=$(mktemp -d "$PWD/build/digest_grid.XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work
log=$work/log
failed=0
for level in "${levels[@]}"; do
  build=build/release
  if [ "$level" = scalar ] && grep -qw fma /proc/cpuinfo; then
    build=build/release_fma
    make_build "$build" -DNB_SCALAR_FLAGS=-mfma
  fi
  start=$SECONDS
  if ! NB_EVERY_SETTING=$level "$build/nb_test_digests" --gtest_filter=Digests.SmokeSuiteIsTheSameAsCommitted 2>&1 |
    tee -a "$log" | grep --line-buffered -E '^  |Failure|differ|NB_EVERY|other metrics'; then
    failed=1
  fi
  printf '%s: %d s\n' "$level" $((SECONDS - start))
done
if grep -q '^\[  FAILED  \]' "$log"; then failed=1; fi
settings=$(grep -cE '^  [a-z0-9]+, [12] threads, batch' "$log" || true)
digests=$(sed -nE 's/^  [a-z0-9]+, [12] threads, batch [0-9]+ +([0-9a-f]{16})$/\1/p' "$log" | sort -u | wc -l)
echo "$settings settings, $digests digest$([ "$digests" -eq 1 ] || echo s), $([ $failed -eq 0 ] && echo 'as committed' || echo 'NOT as committed')"
[ "$failed" -eq 0 ] && [ "$digests" -eq 1 ]
