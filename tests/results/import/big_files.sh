#!/usr/bin/env bash
# How long files of other harnesses take that have 300 MB, and what they hold: a table of seconds and megabytes, and
# an error where a promise is broken (README.md of results/import). Not part of tests/check.sh: it writes 5 GB and wants
# two cores that nobody else uses.
#   bash tests/results/import/big_files.sh build/release/npubench [MEGABYTES] [FOLDER]
set -euo pipefail
npubench=$(realpath "${1:?which npubench?}")
megabytes=${2:-300}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=${3:-$(mktemp -d)}
[ $# -ge 3 ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"

names="lm_eval:samples_quiz_2026-01-21T03-44-18.jsonl evalscope:reviews/m/quiz_default.jsonl inspect_json:log.json
  inspect_eval:log.eval helm:quiz/per_instance_stats.json opencompass:results/m/quiz.json"
# HELM's file holds a task for each metric.
declare -A which=([helm]="--task quiz:test/exact_match")

failed=0
# measure NAME SECONDS MEGABYTES COMMAND...: seconds on the clock; those of the processor are shown beside them
measure() {
  local name=$1 most_s=$2 most_mb=$3; shift 3
  local code=0
  /usr/bin/time -f "%e %U %S %M" -o "$work/time" "$@" > "$work/out" 2> "$work/err" || code=$?
  [ "$code" -lt 64 ] || { echo "$name: exit code $code: $(head -c 300 "$work/err")" >&2; failed=1; return; }
  read -r seconds user system kilobytes < <(tail -n 1 "$work/time")
  printf '%-24s %6.2f s %6.2f s of processor %5d MB\n' "$name" "$seconds" \
    "$(awk "BEGIN {print $user + $system}")" $((kilobytes / 1000))
  awk "BEGIN {exit !($seconds > $most_s || $kilobytes > 1000 * $most_mb)}" || return 0
  echo "$name: more than $most_s s or $most_mb MB" >&2
  failed=1
}

for entry in $names; do
  format=${entry%%:*} file=${entry#*:}
  for side in 1 2; do
    [ -e "$work/$format/$side/$file" ] ||
      python3 "$here/make_big.py" "$format" "$work/$format/$side/$file" "$megabytes" --seed "$side"
  done
  measure "$format show" 5 200 "$npubench" show "$work/$format/1/$file" --wrong --json ${which[$format]:-}
  measure "$format import" 5 200 "$npubench" import "$work/$format/1/$file" --out "$work/imported" --json
  rm -rf "$work/imported"
  measure "$format compare" 10 250 "$npubench" compare "$work/$format/1/$file" "$work/$format/2/$file" --json
  [ $# -ge 3 ] || rm -rf "${work:?}/$format"
done
exit "$failed"
