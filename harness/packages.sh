#!/usr/bin/env bash
# Installs the packages of harness/packages.csv, which npubench is built from and run with, by apt-get or dnf. Does
# nothing when all are there. The names for dnf are Fedora's, whose openEuler has most; what it lacks dnf names.
#   bash harness/packages.sh            install what is missing (as root or through sudo)
#   bash harness/packages.sh --tests    and what tests alone need: PyTorch (harness/capture), OpenMPI (harness/mpi)
#   bash harness/packages.sh --list     print Debian's names, one per line; --list-rpm: Fedora's
# NPUBENCH_SKIP_PACKAGES=1 leaves the packages to you.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

names() { # column
  awk -F, -v column="$1" 'NR > 1 && $column != "" && !seen[$column]++ { print $column }' harness/packages.csv
}

case "${1:-}" in
  --list) names 2 && exit ;;
  --list-rpm) names 3 && exit ;;
  '' | --tests) ;;
  *)
    echo "packages.sh: unknown option $1; there are --tests, --list and --list-rpm" >&2
    exit 64
    ;;
esac

if [ -n "${NPUBENCH_SKIP_PACKAGES:-}" ]; then
  echo "packages: left to you (NPUBENCH_SKIP_PACKAGES is set)"
  exit 0
fi

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
  manager=apt-get
  mapfile -t packages < <(names 2)
  [ "${1:-}" != --tests ] || packages+=(python3-torch libopenmpi-dev openmpi-bin)
  is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]; }
elif command -v dnf >/dev/null && command -v rpm >/dev/null; then
  manager=dnf
  mapfile -t packages < <(names 3)
  [ "${1:-}" != --tests ] || packages+=(python3-torch openmpi-devel)
  is_installed() { rpm -q --whatprovides "$1" >/dev/null 2>&1; }
else
  echo "packages.sh: this system has neither apt-get nor dnf; install what 'bash harness/packages.sh --list' names (they are Debian 12's names), then try again with NPUBENCH_SKIP_PACKAGES=1." >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "packages: all ${#packages[@]} are installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "packages.sh: not root and there is no sudo; as root run: $manager install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "packages: installing ${missing[*]}"
install() {
  if [ "$manager" = dnf ]; then
    "${as_root[@]}" dnf install -y -q "${missing[@]}"
    return
  fi
  # "env": sudo drops the variable otherwise.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}
if [ "$manager" = apt-get ] && ! "${as_root[@]}" apt-get update -q; then
  echo "packages.sh: 'apt-get update' failed (network or /etc/apt/sources.list); trying with the package lists that are here." >&2
fi
if ! install; then
  echo "packages.sh: $manager could not install ${missing[*]}; its own message stands above. Is there a network? A program without any packages: harness/portable.sh, on a Debian 12." >&2
  exit 1
fi
