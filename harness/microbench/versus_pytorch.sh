#!/usr/bin/env bash
# Our training step against PyTorch's on this host, each at its best, in turn. Not part of the tests.
# Installs Debian's PyTorch; other flavours of OpenBLAS and malloc are unpacked below build/ and change nothing.
#   bash harness/microbench/versus_pytorch.sh                          d4 and d6 steps, and the d4 forward
#   bash harness/microbench/versus_pytorch.sh --depth 2 --length 256   one comparison
# Options of one comparison: --depth --length --vocabulary --rows --tokens --threads --rounds --forward (versus_pytorch.py).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
exec </dev/null

libraries=build/versus_pytorch
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

/usr/bin/python3 -c 'import torch' 2>/dev/null || as_root apt-get install -y -q python3-torch
if [ ! -e "$libraries/unpacked" ]; then
  mkdir -p "$libraries"
  (cd "$libraries" && apt-get download -q libopenblas0-openmp libtcmalloc-minimal4 2>/dev/null &&
    for package in *.deb; do dpkg-deb -x "$package" .; done && touch unpacked) ||
    echo "versus_pytorch.sh: no other flavours to try: apt-get download failed" >&2
fi
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build build/release --target npubench_step

compare() { /usr/bin/python3 harness/microbench/versus_pytorch.py --libraries "$libraries" "$@"; }
if [ $# -gt 0 ]; then
  compare "$@"
  exit
fi
rm -f "$libraries"/settings_*.json
compare --settings "$libraries/settings_step.json" --depth 4
compare --settings "$libraries/settings_step.json" --depth 6 --length 512
compare --settings "$libraries/settings_forward.json" --depth 4 --forward
