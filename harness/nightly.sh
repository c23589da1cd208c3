#!/usr/bin/env bash
# One night: run, gate, report, clean up, and a summary of one screen. The exit code is the gate's.
#   bash harness/nightly.sh                                  suites/nightly.json on the emulated devices
#   bash harness/nightly.sh --import GPU_DIR --import NPU_DIR   results of real machines instead of a run
#
# Options:
#   --suite FILE       suite to run (default suites/nightly.json)
#   --import PATH      results of another machine or harness; twice: the second is judged against the first
#   --nights DIR       where nights lie: DIR/<date>/<suite> (default results/nights)
#   --name NAME        name of the night (default: today's date, UTC); the same name resumes it
#   --baseline DIR     run to judge against (default: what was accepted last in the folder of nights)
#   --policy FILE      gate policy
#   --strict           exit with 2 on "can't tell"
#   --lang en|zh       language of the report
#   --keep N           nights that stay, accepted ones apart (default 30; 0: all)
#   --npubench FILE    the program (default: build/release/npubench, else the one in PATH)
# Exit codes: 0 PASS, IMPROVED, can't tell or no baseline yet; 1 REGRESSED or SUSPICIOUS; 2 can't tell (--strict);
# 3 INCOMPARABLE; 4 a node or step failed, or another night is running; 64 bad usage.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  echo "nightly.sh: $1" >&2
  exit 64
}

suite=$root/suites/nightly.json
nights=results/nights
name=$(date -u +%Y-%m-%d)
baseline=
language=en
keep=30
bench=
imports=()
gate_options=()
while [ $# -gt 0 ]; do
  option=$1
  shift
  case $option in
    --strict)
      gate_options+=(--strict)
      continue
      ;;
    --help | -h)
      sed -n '2,/^set -euo/p' "${BASH_SOURCE[0]}" | sed '$d;s/^# \{0,1\}//'
      exit 0
      ;;
    --suite | --import | --nights | --name | --baseline | --policy | --lang | --keep | --npubench) ;;
    *) usage "unknown option $option; see --help" ;;
  esac
  [ $# -gt 0 ] || usage "$option wants a value"
  value=$1
  shift
  case $option in
    --suite) suite=$value ;;
    --import) imports+=("$value") ;;
    --nights) nights=$value ;;
    --name) name=$value ;;
    --baseline) baseline=$value ;;
    --policy) gate_options+=(--policy "$value") ;;
    --lang) language=$value ;;
    --keep) keep=$value ;;
    --npubench) bench=$value ;;
  esac
done
[[ $name =~ ^[A-Za-z0-9._-]+$ && $name != accepted ]] || usage "--name $name: letters, digits, points and dashes; not \"accepted\""
[[ $keep =~ ^[0-9]+$ ]] || usage "--keep $keep is not a whole number"
[ ${#imports[@]} -ne 1 ] && [ ${#imports[@]} -le 2 ] || usage "--import is given ${#imports[@]} times; give it twice: what is judged against, then what is judged"
case $language in en | zh) ;; *) usage "--lang $language: en or zh" ;; esac
if [ -z "$bench" ]; then
  bench=$root/build/release/npubench
  [ -x "$bench" ] || bench=$(command -v npubench) || usage "no npubench: build it (bash harness/quickstart.sh), or name it with --npubench"
fi
[ ${#imports[@]} -ne 0 ] || [ -f "$suite" ] || usage "--suite $suite: no such file"
# A verb or option of a newer program.
has_option() { "$bench" "${@:1:$#-1}" --help 2>/dev/null | grep -q -e "${*: -1}"; }

night=$nights/$name
mkdir -p "$night"
# Two nights at once would share the cores and wait for each other's nodes. The lock goes with this process.
exec 9>"$nights/.lock"
if ! flock -n 9; then
  echo "nightly.sh: another night is running in $nights (it holds $nights/.lock); it ends first, or choose another --nights" >&2
  exit 4
fi

steps=()
note() { steps+=("$(printf '%-10s %6d s  %s' "$1" "$2" "$3")"); }
step() { # name command… ; its exit code is in $code, its output in $night/<name>.log
  local title=$1 start=$SECONDS
  shift
  code=0
  "$@" >"$night/$title.log" 2>&1 || code=$?
  note "$title" $((SECONDS - start)) "$([ "$code" -eq 0 ] && echo ok || echo "exit code $code, see $night/$title.log")"
}

stop() { # where it cannot go on
  echo "nightly.sh: $1" >&2
  sed 's/^/  /' "$2" | tail -5 >&2
  exit "$3"
}

# What was accepted last: npubench gate --accept writes accepted/<suite>.json, whose "run" is relative to the nights.
accepted_run() { # pointer
  local run
  run=$(sed -n 's/^ *"run": "\(.*\)",\{0,1\}$/\1/p' "$1")
  case $run in /*) echo "$run" ;; *) echo "$nights/$run" ;; esac
}

run_code=0
judged_against= # what the gate is given: the pointer knows what the run was when it was accepted
if [ ${#imports[@]} -eq 0 ]; then
  label=$(basename "$suite" .json)
  candidate=$night/$label
  if [ -z "$baseline" ]; then
    if [ -f "$nights/accepted/$label.json" ]; then
      judged_against=$nights/accepted/$label.json
      baseline=$(accepted_run "$judged_against")
    elif [ -d "$nights/accepted/$label" ]; then
      baseline=$nights/accepted/$label
    fi
  fi
  step run "$bench" run "$suite" --results-dir "$night" --quiet ${baseline:+--baseline "$baseline"}
  run_code=$code
  [ "$code" -ne 64 ] || stop "the suite could not run:" "$night/run.log" 64
  [ -d "$candidate" ] || stop "the run left no results:" "$night/run.log" 4
else
  has_option import --out || usage "this npubench has no verb import; build a newer one"
  baseline=$night/judged_against
  candidate=$night/judged
  step import_1 "$bench" import "${imports[0]}" --out "$baseline"
  [ "$code" -eq 0 ] || stop "${imports[0]} could not be imported:" "$night/import_1.log" "$code"
  step import_2 "$bench" import "${imports[1]}" --out "$candidate"
  [ "$code" -eq 0 ] || stop "${imports[1]} could not be imported:" "$night/import_2.log" "$code"
fi

gate_code=0
if [ -n "$baseline" ]; then
  judged=("$bench" gate "${judged_against:-$baseline}" "$candidate" "${gate_options[@]}")
  quietly=()
  if has_option gate --results-dir; then judged+=(--results-dir "$nights"); fi
  if has_option gate --no-history; then quietly=(--no-history); fi
  if has_option gate --junit; then judged+=(--junit "$night/gate.xml"); fi
  step gate "${judged[@]}"
  gate_code=$code
  [ "$code" -ne 64 ] || stop "the gate could not judge:" "$night/gate.log" 64
  "${judged[@]}" "${quietly[@]}" --json >"$night/gate.json" 2>/dev/null || true
fi
trends=()
if has_option report --nights; then trends=(--nights "$nights"); fi
step report "$bench" report "$candidate" --out "$night/report" --lang "$language" ${baseline:+--baseline "$baseline"} \
  "${trends[@]}"
report_code=$code
# A plain copy of an accepted run looks like an old night to gc; what gate --accept took is marked.
unmarked=
for run in "$nights"/accepted/*/; do
  if [ -d "$run" ] && [ ! -f "$run/accepted.json" ] && [ ! -f "$run/golden.json" ]; then unmarked=$run; fi
done
if [ -n "$unmarked" ]; then
  note gc 0 "nothing removed: $unmarked has no accepted.json (npubench gate --accept)"
elif [ "$keep" -gt 0 ] && has_option data gc --keep-last; then
  step gc "$bench" data gc "$nights" --keep-last "$keep" --yes
fi

# Of several: 1 (the gate's) before 4, as the gate does.
exit_code=$gate_code
if [ "$exit_code" -ne 1 ]; then
  # With a baseline a run's 1, 2 and 3 are its own gate's, without the policy: not counted again.
  if [ "$run_code" -eq 4 ] || [ "$run_code" -gt 64 ] || { [ "$report_code" -ne 0 ] && [ "$report_code" -ne 4 ]; }; then exit_code=4; fi
fi

accept="mkdir -p $nights/accepted && cp -r $candidate $nights/accepted/"
if has_option gate --accept; then accept="npubench gate --accept $candidate --results-dir $nights --why \"…\""; fi
{
  if [ -n "$baseline" ]; then
    sed '/^$/Q' "$night/gate.log" | sed -n 1,12p  # not head: it would end the pipe early
  else
    echo "no baseline yet: nothing was judged. To accept this night: $accept"
  fi
  echo
  echo "night     $name"
  echo "judged    $candidate"
  echo "against   ${baseline:-nothing}"
  [ ${#imports[@]} -gt 0 ] || echo "run       $(grep -E ' executed| reused' "$night/run.log" | tail -1)"
  for one in "${steps[@]}"; do echo "  $one"; done
  echo "disk      $(du -sh "$night" | cut -f1)"
  [ "$report_code" -ne 0 ] && [ "$report_code" -ne 4 ] || echo "report    $night/report/report.html"
  echo "exit      $exit_code"
} | tee "$night/summary.txt"
exit "$exit_code"
