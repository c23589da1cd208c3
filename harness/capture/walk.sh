#!/usr/bin/env bash
# A captured nanochat meets another one and the emulator, from training to verdict.
#
#   bash walk.sh capture NANOCHAT OUT           on each machine, in nanochat's own environment: trains (BASE, MID where
#                                               there is one, SFT), evaluates (CORE, chat tasks), keeps tensors, converts
#   bash walk.sh compare GPU NPU [SUITE]        where npubench is: the two OUT folders side by side, their converted
#                                               BASE on an emulated device, and a run of SUITE with the same recipe
#
# OUT gets run/ (what npubench compares), tensors/, base/ and sft/ (converted models). What nanochat's scripts are told
# stands in variables, in the words of that nanochat; empty: their defaults, a real training.
#   BASE_ARGS MID_ARGS SFT_ARGS CORE_ARGS CHAT_ARGS     after `--` of each script
#   CAPTURE_ARGS                                         of nanochat_capture.py: --device captured_npu
#   BASE_PT SFT_PT TOKENIZER                             checkpoints and tokenizer folder (default: nanochat's own places)
#   EVAL_ARGS  of npubench eval (default: --task core)   DEVICE  emulated device (default: ascend_910b3)
#   PYTHON, NPUBENCH                                     programs (default: python3, npubench)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3} npubench=${NPUBENCH:-npubench} device=${DEVICE:-ascend_910b3}

fail() { echo "walk.sh: $1" >&2; exit 64; }

say_and_run() {
  printf '\n+' && printf ' %q' "$@" && printf '\n'
  "$@"
}

# The arguments of a variable, split at blanks as a shell does; nothing in them is expanded.
read_words() { IFS=' ' read -r -a words <<< "$1" || true; }

newest() {  # the last checkpoint in a folder of nanochat's: <folder>/<tag>/model_NNNNNN.pt
  find "$1" -name 'model_*.pt' -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -n 1 | cut -d ' ' -f 2-
}

capture() {  # OUT MODULE ARGUMENTS [more options of nanochat_capture.py]
  local out=$1 module=$2 arguments=$3
  shift 3
  read_words "${CAPTURE_ARGS:-}"
  local options=("${words[@]}" "$@")
  read_words "$arguments"
  say_and_run "$python" "$here/nanochat_capture.py" --out "$out" "${options[@]}" -m "$module" -- "${words[@]}"
}

capture_all() {
  local nanochat=$1 out
  [[ -f $nanochat/scripts/base_train.py ]] || fail "$nanochat: no scripts/base_train.py in it; give nanochat's folder"
  out=$(mkdir -p "$2" && cd "$2" && pwd)
  [[ ! -e $out/run ]] || fail "$out/run: is there already; give a new folder"
  local home=${NANOCHAT_BASE_DIR:-$HOME/.cache/nanochat}
  cd "$nanochat"
  capture "$out/run" scripts.base_train "${BASE_ARGS:-}"
  [[ ! -f scripts/mid_train.py ]] || capture "$out/run" scripts.mid_train "${MID_ARGS:-}"
  capture "$out/run" scripts.chat_sft "${SFT_ARGS:-}"
  capture "$out/run" scripts.base_eval "${CORE_ARGS:-}"
  capture "$out/run" scripts.chat_eval "${CHAT_ARGS:--i sft}"
  capture "$out/tensors" scripts.base_eval "${CORE_ARGS:-}" --tensors 2
  local base=${BASE_PT:-$(newest "$home/base_checkpoints")} sft=${SFT_PT:-$(newest "$home/chatsft_checkpoints")}
  local stage pt
  for stage in base sft; do
    pt=${!stage}
    [[ -n $pt ]] || fail "$home: no checkpoint of $stage in it; name it with ${stage^^}_PT"
    say_and_run "$python" "$here/nanochat_capture.py" --out "$out/$stage" --convert "$pt" \
      --tokenizer "${TOKENIZER:-$home/tokenizer}" ${GPT_PY:+--gpt-py "$GPT_PY"}
  done
}

compare_all() {
  local gpu=$1 npu=$2 suite=${3:-}
  scratch=$(mktemp -d)  # not local: the trap outlives this function
  trap 'rm -rf "$scratch"' EXIT
  say_and_run "$npubench" compare "$gpu/run" "$npu/run"
  say_and_run "$npubench" compare tensors "$gpu/tensors" "$npu/tensors"
  read_words "${EVAL_ARGS:---task core}"
  say_and_run "$npubench" eval --model "$npu/base" --device "$device" "${words[@]}" --results-dir "$scratch/evaluated"
  say_and_run "$npubench" compare "$npu/run" "$scratch/evaluated/eval"
  [[ -n $suite ]] || return 0
  say_and_run "$npubench" run "$suite" --results-dir "$scratch/emulated"
  say_and_run "$npubench" compare "$npu/run" "$scratch"/emulated/*/
}

case "${1:-} $#" in
  "capture 3") capture_all "$2" "$3" ;;
  "compare 3" | "compare 4") compare_all "${@:2}" ;;
  *) sed -n '2,17s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; [[ ${1:-} == --help ]] || exit 64 ;;
esac
