#!/usr/bin/env bash
# CORE's 10-shot tasks: `npubench eval` against nanochat's evaluation loop in PyTorch, same weights, in turn.
# Not part of the tests. Installs Debian's PyTorch. Our seconds are those of the whole command, loading included;
# PyTorch's are those of its forward passes and losses alone.
#   bash harness/microbench/eval_versus_pytorch.sh [ITEMS [TASK ...]]     default: 60 items of all but HellaSwag
# At the end: all tasks' seconds, the geometric mean of the ratios, and their quotient.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
exec </dev/null

items=${1:-60}
tasks=("${@:2}")
[ ${#tasks[@]} -gt 0 ] || tasks=(arc_easy arc_challenge commonsense_qa piqa boolq
  bigbench_language_identification jeopardy squad bigbench_qa_wikidata bigbench_dyck_languages bigbench_cs_algorithms
  bigbench_operators bigbench_repeat_copy_logic)
data=${NPUBENCH_DATA:-$HOME/.cache/npubench/data}
results=build/eval_versus_pytorch
bench=build/release/npubench
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

/usr/bin/python3 -c 'import torch, regex' 2>/dev/null || as_root apt-get install -y -q python3-torch python3-regex
unset OPENBLAS_CORETYPE # some environments name a kernel that halves PyTorch where AVX-512 exists

"$bench" train --name d4 --depth 4 --steps 20 --data "$data/text/english_novels" --vocab-size 4096 \
  --data-dir "$data" --results-dir "$results" --quiet >/dev/null
training=$(ls -td "$results"/d4/train-* | head -n 1) # earlier ones are of older code

ours() { # device task -> seconds of the whole command; "folder" is its last line
  local begin end
  begin=$(date +%s.%N)
  folder=$("$bench" eval --model "$training" --device "$1" --task "$2" --max-per-task "$items" --batch 64 \
    --data-dir "$data" --results-dir "$results" --fresh --quiet | sed -n 's/.*results: //p')
  end=$(date +%s.%N)
  seconds=$(awk -v a="$begin" -v b="$end" 'BEGIN { print b - a }')
}
theirs() { # type task -> seconds
  NB_TORCH=$1 /usr/bin/python3 harness/microbench/eval_versus_pytorch.py score "$training" "$data" "$2" "$items" \
    "$results/torch_$1.json" | sed -n 's/.* items, \(.*\) s$/\1/p'
}

printf '%-24s %6s %10s %10s %12s %12s %8s %8s\n' task items 'ours bf16' 'ours fp32' 'torch fp32' 'torch bf16' ratio 'to best'
sums=
for task in "${tasks[@]}"; do
  ours ascend_910b3 "$task"
  bf16=$seconds
  torch_fp32=$(theirs fp32 "$task")
  ours cpu_ref "$task"
  fp32=$seconds
  torch_bf16=$(theirs bf16 "$task")
  awk -v t="$task" -v n="$items" -v a="$bf16" -v f="$fp32" -v b="$torch_fp32" -v c="$torch_bf16" 'BEGIN {
    best = b < c ? b : c
    printf "%-24s %6d %8.2f s %8.2f s %10.2f s %10.2f s %8.1f %8.1f\n", t, n, a, f, b, c, b / a, best / a }'
  sums+="$bf16 $torch_fp32 $torch_bf16"$'\n'
  /usr/bin/python3 harness/microbench/eval_versus_pytorch.py compare "$results/torch_fp32.json" "$folder" | sed 's/^/  fp32: /'
done
awk 'NF == 3 { best = $2 < $3 ? $2 : $3; ours += $1; theirs += best; logs += log(best / $1); n++ }
  END { printf "%d tasks: ours %.2f s, the best of PyTorch %.2f s: %.1f times as fast; geometric mean of the ratios %.1f\n",
        n, ours, theirs, theirs / ours, exp(logs / n) }' <<<"$sums"
