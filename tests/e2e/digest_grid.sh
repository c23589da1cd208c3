#!/usr/bin/env bash
# The smoke suite's metrics at every level of this host × threads 1, 2 × evaluation batch 1, 8, 64: one digest, the
# committed one (tests/golden/digests.json). Some minutes a level. The tests run a part of it each time.
#   bash tests/e2e/digest_grid.sh             every level but scalar, which takes hours
#   bash tests/e2e/digest_grid.sh avx2 scalar these
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
exec </dev/null

build=build/release
[ -f "$build/build.ninja" ] || cmake --preset release
cmake --build "$build" --target nb_test_e2e

levels=("$@")
if [ ${#levels[@]} -eq 0 ]; then
  mapfile -t levels < <("$build/npubench" --version | awk '$2 == "available" && $1 != "scalar" { print $1 }')
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
for level in "${levels[@]}"; do
  start=$SECONDS
  if ! NB_EVERY_SETTING=$level "$build/nb_test_e2e" --gtest_filter=Digests.SmokeSuiteIsTheSameAsCommitted 2>&1 |
    tee -a "$log" | grep -E '^  |Failure|differ|NB_EVERY|other metrics'; then
    failed=1
  fi
  printf '%s: %d s\n' "$level" $((SECONDS - start))
done
if grep -q '^\[  FAILED  \]' "$log"; then failed=1; fi
settings=$(grep -cE '^  [a-z0-9]+, [12] threads, batch' "$log" || true)
digests=$(sed -nE 's/^  [a-z0-9]+, [12] threads, batch [0-9]+ +([0-9a-f]{16})$/\1/p' "$log" | sort -u | wc -l)
echo "$settings settings, $digests digest$([ "$digests" -eq 1 ] || echo s), $([ $failed -eq 0 ] && echo 'as committed' || echo 'NOT as committed')"
[ "$failed" -eq 0 ] && [ "$digests" -eq 1 ]
