#!/usr/bin/env bash
# A folder with npubench, its libraries and their loader, that runs on any Linux of its processor, also one with an older
# glibc (openEuler 22.03, Ubuntu 20.04) or none of Debian's packages. Without gnuplot reports have no plots.
#   bash harness/portable.sh            build/portable/npubench-<version>-x86_64 and its .tar.gz, from build/release
#   bash harness/portable.sh aarch64    the same for AArch64, from build/aarch64 (made by tests/aarch64.sh's preset)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null

refuse() {
  echo "portable.sh: $*" >&2
  exit "${code:-1}"
}
machine=${1:-$(uname -m)}
root=
case $machine in
  x86_64) compiler=gcc loader=ld-linux-x86-64.so.2 ;;
  aarch64) compiler=aarch64-linux-gnu-gcc loader=ld-linux-aarch64.so.1 ;;
  *) code=64 refuse "no recipe for $machine; there are x86_64 and aarch64" ;;
esac
build=build/release readelf=readelf strip=strip options=()
if [ "$machine" != "$(uname -m)" ]; then
  build=build/$machine root=$PWD/build/$machine-sysroot
  readelf=${compiler%-gcc}-readelf strip=${compiler%-gcc}-strip options=(--sysroot="$root")
fi
for file in npubench npubench_microbench pages/npubench.1; do
  [ -e "$build/$file" ] || refuse "$build/$file is not built; cmake --preset ${build#build/} && cmake --build $build"
done

version=$(sed -n 's/^project(npubench VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
out=build/portable/npubench-$version-$machine
rm -rf "$out"
mkdir -p "$out/lib/npubench"
DESTDIR="$PWD/$out/installed" cmake --install "$build" --prefix / >/dev/null
mv "$out/installed/share" "$out/share"
mv "$out"/installed/bin/* "$out/lib/npubench/"
rm -rf "$out/installed"

places=("$root/lib/$machine-linux-gnu" "$root/usr/lib/$machine-linux-gnu" "$root/lib" "$root/lib64" "$root/usr/lib")
find_library() { # name
  local place
  for place in "${places[@]}"; do
    if [ -e "$place/$1" ]; then
      readlink -f "$place/$1"
      return
    fi
  done
  refuse "$1 is in none of ${places[*]}"
}
needed() { "$readelf" -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
add_library() { # name
  [ ! -e "$out/lib/$1" ] || return 0
  cp "$(find_library "$1")" "$out/lib/$1"
  local name
  for name in $(needed "$out/lib/$1"); do add_library "$name"; done
}
for program in "$out"/lib/npubench/*; do
  for name in $(needed "$program"); do add_library "$name"; done
done
add_library libopenblas.so.0  # the device cpu_ref opens it
cp "$(find_library "$loader")" "$out/lib/ld-linux.so"
"$strip" "$out"/lib/npubench/*

"$compiler" "${options[@]}" -static -O2 -Wall -Wextra -Werror -o "$out/npubench" harness/launcher.c
"$strip" "$out/npubench"
ln "$out/npubench" "$out/npubench_microbench"
cp LICENSE "$out/"
tar -C build/portable -czf "$out.tar.gz" "${out##*/}"
du -sh "$out" "$out.tar.gz"
