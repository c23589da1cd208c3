#!/usr/bin/env bash
# Installs the Debian packages that npubench is built from and run with. Does nothing when all are there.
#   bash harness/packages.sh            install what is missing (as root or through sudo)
#   bash harness/packages.sh --tests    and PyTorch, which runs the tests of harness/capture
#   bash harness/packages.sh --list     print the names, one a line
# NPUBENCH_SKIP_PACKAGES=1 leaves the packages to you, as on a system without apt-get.
set -euo pipefail

packages=(
  # compiler and build
  g++ cmake ninja-build ccache pkg-config git
  # libraries that are linked or included
  nlohmann-json3-dev libfmt-dev libexpected-dev libcli11-dev libcsv-dev libpcre2-dev libutf8proc-dev libssl-dev zlib1g-dev
  libtbb-dev libopenblas-pthread-dev libbenchmark-dev libyaml-cpp-dev libsimdjson-dev
  # the index over run folders
  libsqlite3-dev
  # inspect_ai logs are ZIP files, newer ones compressed by zstd
  libzip-dev libzstd-dev
  # HTTP, to servers and as one
  libcpp-httplib-dev
  # integers of any size
  libboost-dev
  # plots: gnuplot-iostream is a header that needs three of Boost's libraries
  libgnuplot-iostream-dev libboost-iostreams-dev libboost-system-dev libboost-filesystem-dev
  gnuplot-nox
  # data get starts it
  curl ca-certificates
  # programs that models write run in namespaces, behind a system call filter
  bubblewrap libseccomp-dev python3
  # tests and checks (the CMake files of libgtest-dev want libgmock-dev there)
  libgtest-dev libgmock-dev clang-format
)

if [ "${1:-}" = --tests ]; then
  packages+=(python3-torch)
elif [ "${1:-}" = --list ]; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

if [ -n "${NPUBENCH_SKIP_PACKAGES:-}" ]; then
  echo "packages: left to you (NPUBENCH_SKIP_PACKAGES is set)"
  exit 0
fi

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "packages.sh: this system has no apt-get; install what 'bash harness/packages.sh --list' names (they are Debian 12's names), then try again with NPUBENCH_SKIP_PACKAGES=1." >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "packages: all ${#packages[@]} are installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "packages.sh: not root and there is no sudo; as root run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "packages: installing ${missing[*]}"
install() {
  # "env": sudo drops the variable otherwise.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}
if ! "${as_root[@]}" apt-get update -q; then
  echo "packages.sh: 'apt-get update' failed (network or /etc/apt/sources.list); trying with the package lists that are here." >&2
fi
if ! install; then
  echo "packages.sh: apt-get could not install ${missing[*]}; its own message stands above. Is this Debian 12, and is there a network?" >&2
  exit 1
fi
