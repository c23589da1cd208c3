#!/usr/bin/env bash
# Small real-world files that once were judged wrongly, and what is right of them: one line a command, with the
# exit code and what its output must (and must not) say (tests/cases.txt). The files are no part of the project.
#   bash tests/cases.sh ../shared/cases [NPUBENCH]
# Prints a table and "N passed, N failed"; a folder that is missing is skipped with a sentence.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ $# -ge 1 ] || { echo "cases.sh: give the folder of the cases" >&2; exit 64; }
folder=$1
bench=${2:-$root/build/release/npubench}
if [ ! -d "$folder" ]; then
  echo "cases.sh: skipped: no folder $folder"
  exit 0
fi
folder=$(cd "$folder" && pwd)
[ -x "$bench" ] || { echo "cases.sh: $bench is not built" >&2; exit 4; }
bench=$(cd "$(dirname "$bench")" && pwd)/$(basename "$bench")

passed=0
failed=0
while IFS='|' read -r name command code says never more; do
  [ -n "$name" ] || continue
  if [ ! -d "$folder/$name" ]; then
    echo "skipped: $name is not there"
    continue
  fi
  # shellcheck disable=SC2086
  got=0
  output=$(cd "$folder/$name" && "$bench" $command 2>&1) || got=$?
  joined=$(tr -s '\n ' '  ' <<<"$output")
  why=
  [ "$code" = '*' ] || [ "$got" = "$code" ] || why="exit $got, not $code"
  grep -qE -- "$says" <<<"$joined" || why="$why; does not say $says"
  for word in "$never" ${more:+"$more"}; do
    if grep -qE -- "$word" <<<"$joined"; then why="$why; says $word"; fi
  done
  if [ -z "$why" ]; then
    passed=$((passed + 1))
    printf 'right  %-34s %s\n' "$name" "${command:0:70}"
  else
    failed=$((failed + 1))
    printf 'WRONG  %-34s %s: %s\n' "$name" "${command:0:70}" "${why#; }"
    sed -n '1,3s/^/         /p' <<<"$output"
  fi
done < <(grep -v '^#' "$root/tests/cases.txt")
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
