#!/usr/bin/env bash
# Everything that must hold before a change is merged: packages, build, format, architecture and all other tests.
# The last line is "N passed, N failed, N skipped", over single tests.
#   bash tests/check.sh           release build, all tests
#   bash tests/check.sh --changed the same build, and those tests that did not pass yet with what they read today
#                                 (tests/changed.py)
#   bash tests/check.sh --alone   what units of sixteen sources hide: every header alone, and that no source calls a
#                                 function of another's own namespace (tests/units.py)
#   bash tests/check.sh --asan    the same under the address and undefined-behaviour sanitizers
#   bash tests/check.sh --tsan    what threads do together under the thread sanitizer: harness/base, collectives, faults of
#                                 ranks, and each kind of mesh in training (TSAN of nb_test, harness/cmake/nb.cmake)
#   bash tests/check.sh --aarch64 all sources, and every header alone, compiled for AArch64 without precompiled headers;
#                                 a fast subset of the tests under qemu (tests/aarch64.sh); --aarch64 --short: npubench
#                                 and two test programs only
#   bash tests/check.sh --fuzz SECONDS   every parser under a fuzzer, for so long in all (tests/fuzz)
# Continuous integration (.ci/run) runs the first, --alone and --aarch64 --short.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null

preset=release
targets=()
only=()
changed=
case "${1:-}" in
  '') ;;
  --changed) changed=yes ;;
  --alone) targets=(nb_headers) ;;
  --asan) preset=asan ;;
  --tsan)
    preset=tsan
    targets=(nb_tsan)
    only=(-L '^tsan$')
    ;;
  --aarch64) exec bash tests/aarch64.sh "${@:2}" ;;
  --fuzz) exec bash tests/fuzz/run.sh "${@:2}" ;;
  --help)
    sed -n '2,/^set /{/^# \{0,1\}/s///p}' tests/check.sh
    exit 0
    ;;
  *)
    echo "check.sh: unknown option $1; there are --changed, --alone, --asan, --tsan, --aarch64, --fuzz and --help" >&2
    exit 64
    ;;
esac

jobs=$(nproc)
build=build/$preset
results=$PWD/$build/test_results

step() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

step packages
bash harness/packages.sh --tests
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi

if [ "${targets[*]}" = nb_headers ]; then
  step "every header alone"
  cmake --preset "$preset" -DNB_HEADER_TESTS=ON "${launcher[@]}"
  failed=0
  said=$(cmake --build "$build" -j "$jobs" --target nb_headers -- -k 0) || {
    printf '%s\n' "$said"
    failed=$(grep -c '^FAILED: ' <<<"$said") || failed=1
  }
  headers=$(ninja -C "$build" -t commands nb_headers | grep -c -- ' -c [^ ]*/alone/') || {
    echo "check.sh: $build compiles no header alone" >&2
    exit 1
  }
  echo "$headers headers, $failed do not stand alone"
  step "no source calls another's own functions"
  said=$(python3 tests/units.py "$build") || true
  printf '%s\n' "$said"
  units=0 mixed=1
  if [[ ${said##*$'\n'} =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
    units=${BASH_REMATCH[1]} mixed=${BASH_REMATCH[2]}
  fi
  printf '\n(%d s)\n' "$SECONDS"
  echo "$((headers - failed + units)) passed, $((failed + mixed)) failed, 0 skipped"
  exit $((failed + mixed > 0))
fi

step "format"
format_failed=0
sources=()
while IFS= read -r -d '' file; do
  sources+=("$file")
done < <(find harness model evals results report tests -path results/runs -prune -o -path results/nights -prune -o \
  \( -name '*.cpp' -o -name '*.hpp' \) -type f -print0 | sort -z)
# Each call's complaints in one piece: several run at once.
check_format() {
  local said
  said=$(clang-format --dry-run -Werror "$@" 2>&1) || {
    printf '%s\n' "$said"
    return 1
  }
}
export -f check_format
if ! complaints=$(printf '%s\0' "${sources[@]}" |
  xargs -0 -n 50 -P "$jobs" bash -c 'check_format "$@"' check_format); then
  format_failed=1
  # "file:line:column: error: code should be clang-formatted"
  mapfile -t unformatted < <(awk -F: '/: error: / { print $1 }' <<<"$complaints" | sort -u)
  if [ ${#unformatted[@]} -eq 0 ]; then
    printf '%s\n' "$complaints"
  else
    printf 'not formatted: %s\n' "${unformatted[@]}"
    echo "to mend: clang-format -i ${unformatted[*]}"
  fi
else
  echo "all ${#sources[@]} sources are formatted"
fi

step "build $preset"
cmake --preset "$preset" -DNB_HEADER_TESTS=OFF "${launcher[@]}"
if [ ${#targets[@]} -gt 0 ]; then
  cmake --build "$build" -j "$jobs" --target "${targets[@]}"
else
  cmake --build "$build" -j "$jobs"
fi

step tests
if [ -n "$changed" ]; then
  reached=$(python3 tests/changed.py "$build")
  if [ -z "$reached" ]; then
    echo "every test has passed with what it reads today"
    echo "0 passed, $format_failed failed, 0 skipped"
    exit "$format_failed"
  fi
  only=(-R "$reached")
fi
rm -rf "$results"
mkdir -p "$results"
tests_rc=0
# Each GoogleTest program writes <name>.xml into that folder.
GTEST_OUTPUT="xml:$results/" ctest --test-dir "$build" -j$((jobs + 2)) --output-on-failure --no-tests=error \
  --output-junit "$results/ctest.junit" "${only[@]}" || tests_rc=$?

python3 tests/changed.py "$build" --passed "$results/ctest.junit" || echo "check.sh: not remembered for --changed" >&2

# A program whose own file says less than ctest does (it crashed, timed out, or is no GoogleTest program)
# counts as one test.
count() { # file -> "tests failures skipped"
  awk -F'"' '/<testsuite / {
      for (i = 1; i < NF; i += 2) {
        if ($i ~ / tests=$/) tests += $(i + 1)
        if ($i ~ / (failures|errors)=$/) failed += $(i + 1)
        if ($i ~ / (skipped|disabled)=$/) skipped += $(i + 1)
      }
    } END { print tests + 0, failed + 0, skipped + 0 }' "$1"
}
passed=0
failed=$format_failed
skipped=0
programs=0
while read -r name status; do
  programs=$((programs + 1))
  tests=0 bad=0 left_out=0
  if [ -s "$results/$name.xml" ]; then
    read -r tests bad left_out < <(count "$results/$name.xml")
  fi
  if [ "$status" = run ]; then
    [ "$tests" -gt 0 ] || tests=1
  elif [ "$bad" -eq 0 ]; then
    tests=$((tests + 1))
    bad=1
  fi
  passed=$((passed + tests - bad - left_out))
  failed=$((failed + bad))
  skipped=$((skipped + left_out))
done < <(awk -F'"' '/<testcase / {
    for (i = 1; i < NF; i += 2) {
      if ($i ~ / name=$/) name = $(i + 1)
      if ($i ~ / status=$/) status = $(i + 1)
    }
    print name, status
  }' "$results/ctest.junit")

[ "$format_failed" -eq 0 ] || echo "format: see 'not formatted' above (counted as one failed test)"
if [ "$tests_rc" -ne 0 ] && [ "$failed" -eq 0 ]; then
  failed=1
  echo "ctest failed with $tests_rc although no test did" >&2
fi
if [ "$programs" -eq 0 ]; then
  failed=$((failed + 1))
  echo "no test program ran" >&2
fi
printf '\n(%d test programs, %d s)\n' "$programs" "$SECONDS"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
