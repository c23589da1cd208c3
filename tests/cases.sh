#!/usr/bin/env bash
# Small real-world files that once were judged wrongly, and what is right of them: one line a command, with the
# exit code and what its output must (and must not) say. The files are no part of the project.
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

# case | command | exit code | the output says (extended regular expression, over lines joined) | it does not say
table='
01-evalscope-schema2-lower|compare gpu.json npu.json|0|B is worse on speech_small/wer \+0\.07|better
01-evalscope-schema2-lower|gate gpu.json npu.json --no-history|1|^REGRESSED|IMPROVED
04-aisbench-counts|compare gpu npu|0|B is better on term_tasks/avg_score \+0\.2370.*n_errors( \(count\))? +54 +31|B is worse
04-aisbench-counts|import gpu|0|n_errors +totals +— +54|0\.5400
05-lmeval-md-arrow|compare gpu.md npu.md|0|B is worse on story_cloze/perplexity \+1\.5.*word_perplexity \+10|better
05-lmeval-md-arrow|gate gpu.md npu.md --no-history|1|^REGRESSED.*perplexity|^PASS
06-evalscope-report-repeats|compare gpu.json npu.json|0|^No difference shown|B is worse
08-lmeval-mmlu-group|compare gpu npu|0|^B is worse on mmlu/acc −0\.0298|No difference shown on 57
08-lmeval-mmlu-group|gate gpu npu --no-history|1|^REGRESSED \(exit 1\): mmlu/acc|^PASS
10-evalscope-zero-sample-subsets|compare a.json b.json|0|^No difference shown|B is better
10-evalscope-zero-sample-subsets|import a.json|0|tool_calls/acc +totals +— +0\.4171|totals +— +0\.1390
11-evalscope-truncated-reviews|compare gpu npu|3|holds 8 reviews, its report says 400|equal answer by answer
11-evalscope-truncated-reviews|gate gpu npu --no-history|3|^INCOMPARABLE|PASS \(exit|bit-identical
13-lmeval-truncated-samples|compare gpu npu|3|10 items of sums, its results say 60|equal answer by answer
13-lmeval-truncated-samples|gate gpu npu --no-history|3|^INCOMPARABLE|PASS \(exit
14-lmeval-md-two-filters|compare gpu.md npu.md|0|B is worse on gsm8k:strict-match/exact_match −0\.5671|worse on gsm8k:flexible
14-lmeval-md-two-filters|compare gpu.md npu_other_order.md|0|B is worse on gsm8k:strict-match/exact_match −0\.5671|worse on gsm8k:flexible
14-lmeval-md-two-filters|gate gpu.md npu.md --no-history|1|^REGRESSED.*strict-match|^PASS
15-lmeval-md-shots|compare gpu.md npu.md|3|shots differs: 25 and 0|B is worse
15-lmeval-md-shots|gate gpu.md npu.md --no-history|3|^INCOMPARABLE|PASS \(exit
17-release-report-arrows|import report.md|0|exam-zh/acc.*0\.8001.*gsm8k.*0\.7286|is not a number
18-opencompass-below-one-percent|compare gpu npu|0|humaneval_pass@1 +0\.0122 +0\.0061|0\.61[0 ]
19-csv-loss-curve|compare gpu.csv npu.csv|0|worse|0/accuracy
19-csv-loss-curve|import gpu.csv|0|loss|accuracy|MAX
19-csv-loss-curve|audit gpu.csv|*|.|accuracy
21-json-loss-as-accuracy|import gpu.json|0|eval_loss|loss/accuracy
21-json-loss-as-accuracy|compare gpu.json npu.json|0|B is worse on .*eval_loss|eval_loss/accuracy
23-csv-val-bpb-dropped|import gpu/m.csv|0|val_bpb.*0\.8380|x{99}
23-csv-val-bpb-dropped|compare gpu/m.csv npu/m.csv|0|B is worse on val_bpb \+0\.10200|gave other bits
24-identical-totals|compare a/scores.csv b/scores.csv|0|equal totals|gave other bits
24-identical-totals|gate a/scores.csv b/scores.csv --no-history|0|^PASS|other bits
24-identical-totals|gate a/scores.csv b/scores.csv --no-history --strict|0|^PASS|other bits
25-gpu-npu-in-file-names|compare gpu_eval_results.json npu_eval_results.json|0|humaneval/pass@1 −0\.1500.*model is not stated|These are two models
25-gpu-npu-in-file-names|compare gpu.md npu.md|0|B is worse on gsm8k|These are two models
27-nanochat-log-loss-curve|compare gpu/train.log npu/train.log|0|loss.*worse|no difference shown
27-nanochat-log-loss-curve|gate gpu/train.log npu/train.log --no-history|1|^REGRESSED.*loss|^can
29-megatron-log|compare gpu/train.log npu/train.log|0|lm.loss|not a known result file
30-claims-above-peak|audit claims.json|1|^FAIL.*A07.*% of|^PASS
30-claims-above-peak|predict --device ascend_910c --model m8.json --tp 2 --pp 2 --cards 16 --total-batch-tokens 2097152 --device-batch-size 2 --sequence-len 4096 --claims claims.json|0|IMPOSSIBLE|no row with a depth
32-opencompass-summary-txt|import summary_20240814_101010.txt|0|openai_humaneval/humaneval_pass@1.*0\.6585|not a known
33-equal-fractional-marks|compare gpu npu|0|all 10 marks are equal|\[0\.0000, 0\.0000\]|≥ inf
34-gate-standard-error-without-n|gate gpu/scores.csv npu/scores.csv --no-history|1|^REGRESSED|^PASS
34-gate-standard-error-without-n|gate gpu/results.json npu/results.json --no-history|1|^REGRESSED|^PASS
34-gate-standard-error-without-n|gate gpu/table.md npu/table.md --no-history|1|^REGRESSED|^PASS
36-inspect-epochs-reducer|compare gpu.json npu.json|0|^No difference shown|B is better
36-inspect-epochs-reducer|gate gpu.json npu.json --no-history|0|can|IMPROVED
'
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
done <<<"$table"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
