#!/usr/bin/env bash
# Runs the small suite beside this file through a workflow engine, with a kill in the middle, and compares every record
# with that of `npubench run`. Needs a built npubench, and for the engine the Debian packages snakemake, or slurm-wlm and
# munge (slurm: as root; two nodes are emulated on this computer).
#   bash tests/workflow/run.sh make|snakemake|slurm      NPUBENCH=path/of/npubench (default: build/release/npubench)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
npubench=$(realpath "${NPUBENCH:-$here/../../build/release/npubench}")
engine=${1:-}
need() {
  for program in "$@"; do
    command -v "$program" >/dev/null || {
      echo "run.sh: $program is missing; apt-get install $packages" >&2
      exit 64
    }
  done
}
case $engine in
  make) packages=make && need make ;;
  snakemake) packages=snakemake && need snakemake ;;
  slurm) packages="slurm-wlm munge" && need sbatch slurmctld slurmd munged ;;
  *)
    echo "run.sh: which engine? make, snakemake or slurm" >&2
    exit 64
    ;;
esac
[ -x "$npubench" ] || {
  echo "run.sh: no $npubench; build it first" >&2
  exit 64
}

dir=$(mktemp -d "${TMPDIR:-/tmp}/npubench_workflow.XXXXXX")
started=() # ids of the daemons that this script starts
finish() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  [ -n "${KEEP:-}" ] && echo "kept: $dir" || rm -rf "$dir"
}
trap finish EXIT
say() { printf '%3d s  %s\n' "$SECONDS" "$*"; }
suite=$here/small.json
shared=$dir/shared
mkdir -p "$dir/logs"

"$npubench" run "$suite" --results-dir "$dir/alone" --data-dir "$dir/data" --quiet >"$dir/logs/run"
say "npubench run: $(head -n 1 "$dir/logs/run")"
"$npubench" plan "$suite" --to "$engine" --results-dir "$shared" --data-dir "$dir/data" --out "$dir/workflow"

# Until a training has written a checkpoint and is not done.
await_checkpoint() { # seed
  local folder
  for _ in $(seq 1200); do
    folder=$(compgen -G "$shared/small/train-base-ascend_910b3-s$1-*" || true)
    if [ -n "$folder" ] && compgen -G "$folder/checkpoints/*.safetensors" >/dev/null; then
      [ ! -e "$folder/record.json" ] || {
        echo "run.sh: the training was done before it could be killed" >&2
        exit 1
      }
      return
    fi
    sleep .1
  done
  echo "run.sh: no training made a checkpoint" >&2
  exit 1
}

# A process and all that descend from it, by their ids.
kill_tree() {
  local child
  kill -STOP "$1" 2>/dev/null || return 0
  for child in $(pgrep -P "$1"); do kill_tree "$child"; done
  kill -KILL "$1" 2>/dev/null || true
}

# The engine's command is killed in the middle and called again.
run_twice() {
  "$@" >"$dir/logs/first" 2>&1 &
  local pid=$!
  await_checkpoint 1
  kill_tree "$pid"
  wait "$pid" 2>/dev/null || true
  say "killed in the middle: $(find "$shared" -name record.json | wc -l) records are there"
}

run_make() {
  run_twice make -j2 -f "$dir/workflow"
  make -j2 -f "$dir/workflow" >"$dir/logs/second" 2>&1
  say "make again: done; once more: $(make -f "$dir/workflow" 2>&1 | tail -n 1)"
}

run_snakemake() {
  local call=(snakemake --snakefile "$dir/workflow" --directory "$dir" --cores 2)
  run_twice "${call[@]}"
  "${call[@]}" --unlock >>"$dir/logs/second" 2>&1
  "${call[@]}" --rerun-incomplete >>"$dir/logs/second" 2>&1
  say "snakemake --unlock, snakemake --rerun-incomplete: $(grep -o '[0-9]* of [0-9]* steps (100%) done' "$dir/logs/second" | tail -n 1)"
  say "once more: $("${call[@]}" 2>&1 | grep -o 'Nothing to be done.*' | head -n 1)"
}

# Two nodes on this computer: slurmctld, two slurmd, munge with a key of its own.
start_slurm() {
  local host
  host=$(hostname -s)
  mkdir -p "$dir/state" "$dir/munge"
  chmod 700 "$dir/munge"
  dd if=/dev/urandom of="$dir/munge/key" bs=128 count=1 2>/dev/null
  chmod 600 "$dir/munge/key"
  chmod 755 "$dir"
  cat >"$dir/slurm.conf" <<CONF
ClusterName=emulated
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$dir/munge/socket,cred_expire=10
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool.%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmctldLogFile=$dir/logs/slurmctld
SlurmdLogFile=$dir/logs/slurmd.%n
SlurmctldPort=17817
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
SlurmdTimeout=10
ReturnToService=0
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17818 CPUs=1 RealMemory=2000
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17819 CPUs=1 RealMemory=2000
PartitionName=all Nodes=n1,n2 Default=YES State=UP
CONF
  export SLURM_CONF=$dir/slurm.conf
  munged --foreground --force --socket="$dir/munge/socket" --key-file="$dir/munge/key" \
    --pid-file="$dir/munge/pid" --seed-file="$dir/munge/seed" >"$dir/logs/munged" 2>&1 &
  started+=($!)
  for _ in $(seq 100); do [ -S "$dir/munge/socket" ] && break || sleep .1; done
  slurmctld -D -i >/dev/null 2>&1 &
  started+=($!)
  slurmd -D -N n1 >/dev/null 2>&1 &
  node_pid[1]=$!
  slurmd -D -N n2 >/dev/null 2>&1 &
  node_pid[2]=$!
  disown "${node_pid[@]}"
  started+=("${node_pid[1]}" "${node_pid[2]}")
  for _ in $(seq 300); do
    [ "$(sinfo -h -N -o %T 2>/dev/null | grep -c idle)" = 2 ] && break || sleep .1
  done
  say "slurm $(sinfo --version | cut -d' ' -f2), nodes: $(sinfo -h -N -o '%N %T' | paste -sd,)"
}

# All at once, as when a machine loses power: nobody tells the controller.
kill_node() { # number job
  local process stepd
  kill -KILL "${node_pid[$1]}"
  for process in $(grep -lz "^SLURM_JOB_ID=$2\$" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3); do
    grep -qz "^SLURM_CONF=$SLURM_CONF\$" "/proc/$process/environ" 2>/dev/null || continue
    stepd=$(ps -o ppid= -p "$process" | tr -d ' ')
    if [ "$(cat "/proc/$stepd/comm" 2>/dev/null)" = slurmstepd ]; then kill_tree "$stepd"; fi
    kill_tree "$process"
  done
}

run_slurm() {
  declare -A node_pid
  start_slurm
  (cd "$dir/logs" && bash "$dir/workflow" | tail -n 1)
  await_checkpoint 1
  local job node
  job=$(squeue -h -n train-base-ascend_910b3-s1 -o %i)
  node=$(squeue -h -j "$job" -o %N)
  kill_node "${node#n}" "$job"
  say "node $node killed with job $job on it; $(find "$shared" -name record.json | wc -l) records are there"
  local told=
  for _ in $(seq 3000); do
    if [ -z "$told" ] && sinfo -h -N -n "$node" -o %T | grep -q down; then
      told=1
      say "slurm says: $(sinfo -h -N -n "$node" -o '%N %T'); job $job: $(squeue -h -j "$job" -o '%T %r')"
    fi
    [ -n "$(squeue -h)" ] || break
    sleep .2
  done
  [ -z "$(squeue -h)" ] || {
    squeue
    exit 1
  }
  say "all jobs done; job $job: $(scontrol show job "$job" | grep -o 'JobState=[A-Z]*\|Restarts=[0-9]*\|[^k]NodeList=n[12]' | paste -sd' ')"
}

"run_$engine"
grep -h resumed "$shared"/small/train-base-*/log.txt | sed 's/^/       log.txt: /'
/usr/bin/python3 "$here/same_records.py" "$dir/alone/small" "$shared/small"
