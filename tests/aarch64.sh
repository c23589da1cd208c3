#!/usr/bin/env bash
# The same bits on AArch64: cross-compiles npubench and a fast subset of its tests, and runs them under
# qemu-user, level by level (scalar, neon). The digests of tests/golden/digests.json are those of x86.
# Nothing of the product is precompiled in this build, so each of its sources and headers shows that it includes what it
# uses; those that are not run are only read by the compiler. Each that does not compile is one failure.
# --short builds npubench in units of sixteen sources with precompiled headers (NB_QUICK), reads no other source, and
# runs less.
# Packages, libraries and build are fetched and made on the first call. The last line is
# "N passed, N failed, N skipped".
#   bash tests/aarch64.sh [--short]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null

# Program and what of it is fast enough where every instruction is emulated. Not: what starts its own binary, which
# this system cannot run by itself (Fs, death tests); and what cannot be started, which qemu's vfork hides (Subprocess).
# Of the kernels not the largest shapes either, whose naive references take minutes each; the rest in two halves.
large=Bf16Rows.AttentionAndItsGradient*:Bf16Matrix.ProductsOfThem*:Bf16Matrix.AProductByBlocks*
large+=:Matmul.SeveralProducts*:Matmul.WordsThatMany*:Matmul.TasksThatMakePanels*:LmHead.EqualsTheSeparateKernels
large+=:Attention.ForwardAndBackward*:Attention.WindowsOf*:AttentionCached.ChunksUnder*
subset=(
  "nb_test_harness_base -Fs.AChildProcess*:*DeathTest*:Subprocess.AProgramThatIsNotThere*:Subprocess.AnOutputFile*"
  "nb_test_model_tensor *"
  "nb_test_model_kernels Attention*-$large"
  "nb_test_model_kernels -OpenBlasDeathTest*:Attention*:$large"
  "nb_test_model_kernels_shapes *"
  "nb_test_digests Digests.ShortestSuite*"
)
build=build/aarch64
alone=ON quick=OFF
case "${1:-}" in
  '') ;;
  --short)
    # One suite from training to scores has the bits of x86 at every level; each kind of kernel that it lacks, small.
    subset=(
      "nb_test_digests Digests.ShortestSuite*"
      "nb_test_model_kernels -OpenBlas*:Matmul*:Bf16*:Attention*:SelfTest*:LmHead*:ViewBounds*:VectorMath*:AdamW*:Muon*:CrossEntropy*"
    )
    build=build/aarch64-short
    alone=OFF quick=ON
    ;;
  *)
    echo "aarch64.sh: unknown option $1; there is --short" >&2
    exit 64
    ;;
esac

sysroot=$PWD/build/aarch64-sysroot

step() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

step "packages and arm64 libraries"
bash harness/packages.sh
bash harness/cmake/aarch64_sysroot.sh

step "build aarch64"
options=("-DNB_HEADER_TESTS=$alone" "-DNB_ALONE=$alone" "-DNB_QUICK=$quick")
if command -v ccache >/dev/null; then
  options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
cmake --preset aarch64 -B "$build" "${options[@]}"
targets=(npubench)
for entry in "${subset[@]}"; do targets+=("${entry%% *}"); done
cmake --build "$build" -j "$(nproc)" --target "${targets[@]}"

passed=0 failed=0 skipped=0

# Commands for what the targets are not made of, one per line, without their outputs: the compiler writes nothing.
others() {
  ninja -C "$build" -t inputs "${targets[@]}" | python3 -c '
import json, shlex, sys
built = {line.strip() for line in sys.stdin}
for entry in json.load(open(sys.argv[1])):
    words = shlex.split(entry["command"])
    at = words.index("-o")
    if words[at + 1] not in built and not words[at + 1].startswith("tests/"):
        print(shlex.join([*words[:at], *words[at + 2:], "-fsyntax-only"]))' "$build/compile_commands.json"
}
# Each call's complaints in one piece: several run at once.
read_source() { # command
  local said
  said=$(cd "$build" && eval "$1" 2>&1) || printf '%s\ndoes not compile by itself: %s\n' "$said" "$1"
}
export -f read_source
export build
if [ "$alone" = ON ]; then
  step "read the other sources"
  mapfile -t commands < <(others)
  [ ${#commands[@]} -gt 0 ] || {
    echo "aarch64.sh: $build/compile_commands.json names no source but those of the subset; remove $build and try again" >&2
    exit 1
  }
  complaints=$(printf '%s\0' "${commands[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'read_source "$1"' read_source)
  [ -z "$complaints" ] || printf '%s\n' "$complaints"
  failed=$(grep -c '^does not compile by itself: ' <<<"$complaints" || true)
  echo "${#commands[@]} sources, $failed of them do not compile"
fi

# "[  PASSED  ] 12 tests." -> 12
count() { # log label
  sed -n "s/^\[ *$2 *\] \([0-9][0-9]*\) tests\{0,1\}.*/\1/p" "$1" | head -n 1
}
# Each program's output in a file, named by its place in the subset: several run at once.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run_program() { # place "program filter"
  local rc=0
  qemu-aarch64 -L "$sysroot" "$build/${2%% *}" --gtest_filter="${2#* }" >"$work/$1" 2>&1 || rc=$?
  echo "$rc" >"$work/$1.rc"
}
export -f run_program
export sysroot work

step "${#subset[@]} programs under qemu"
for place in "${!subset[@]}"; do printf '%s\0%s\0' "$place" "${subset[place]}"; done |
  xargs -0 -n 2 -P "$(nproc)" bash -c 'run_program "$@"' run_program
for place in "${!subset[@]}"; do
  log=$work/$place rc=$(cat "$work/$place.rc")
  printf '\n== %s (%s)\n' "${subset[place]%% *}" "${subset[place]#* }"
  grep -Ev '^(\[ RUN  |\[   *OK |\[---|$)' "$log" || true
  ok=$(count "$log" PASSED) bad=$(count "$log" FAILED) left_out=$(count "$log" SKIPPED)
  # A crash, or a program that ran nothing, is one failure.
  if [ "$rc" -ne 0 ] && [ -z "$bad" ]; then bad=1; fi
  if [ "$rc" -eq 0 ] && [ "${ok:-0}" -eq 0 ]; then bad=1; fi
  passed=$((passed + ${ok:-0})) failed=$((failed + ${bad:-0})) skipped=$((skipped + ${left_out:-0}))
done

printf '\n(%d test programs under qemu, %d s)\n' "${#subset[@]}" "$SECONDS"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
