#!/usr/bin/env bash
# What the cross build for AArch64 needs: the compiler and the emulator as packages of this system, and the
# libraries as Debian's arm64 packages, unpacked into build/aarch64-sysroot. They are fetched by an apt with
# lists and state of its own below build/: the foreign architecture is never added to this system, and no
# package of it is touched. About 75 MB to fetch; does nothing when all is there.
#   bash harness/cmake/aarch64_sysroot.sh
# NPUBENCH_SKIP_PACKAGES=1 leaves the compiler and the emulator to you.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
exec </dev/null

sysroot=$PWD/build/aarch64-sysroot
state=$PWD/build/aarch64-apt

refuse() {
  echo "aarch64_sysroot.sh: $*" >&2
  exit 1
}

host_packages=(g++-aarch64-linux-gnu qemu-user)
if ! command -v aarch64-linux-gnu-g++ >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
  [ -z "${NPUBENCH_SKIP_PACKAGES:-}" ] ||
    refuse "aarch64-linux-gnu-g++ or qemu-aarch64 is missing and NPUBENCH_SKIP_PACKAGES is set; install ${host_packages[*]}"
  command -v apt-get >/dev/null || refuse "this system has no apt-get; install what Debian 12 calls ${host_packages[*]}"
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || refuse "not root and there is no sudo; as root run: apt-get install ${host_packages[*]}"
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -q || echo "aarch64_sysroot.sh: 'apt-get update' failed; trying with the existing lists" >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${host_packages[@]}" ||
    refuse "apt-get could not install ${host_packages[*]}; see its message above"
fi

# The libraries of harness/packages.sh. gnuplot-iostream is one header and would bring all of gnuplot along.
libraries=(libc6-dev)
alone=()
while IFS= read -r package; do
  case $package in
    libgnuplot-iostream-dev) alone+=("$package") ;;
    *-dev) libraries+=("$package") ;;
  esac
done < <(bash harness/packages.sh --list)

wanted="${libraries[*]} ${alone[*]}"
if [ "$(cat "$sysroot/.packages" 2>/dev/null || true)" = "$wanted" ]; then
  echo "aarch64 sysroot: complete ($sysroot)"
  exit 0
fi

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
  refuse "no apt-get or dpkg-deb here; unpack the arm64 packages of Debian 12 ($wanted and what they need) into build/aarch64-sysroot"

rm -rf "$sysroot" "$state"
mkdir -p "$sysroot" "$state/lists/partial" "$state/archives/partial"
: >"$state/status"
# Sources and keys are the system's (Dir::Etc is left alone).
cat >"$state/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Dir::State "$state";
Dir::State::Lists "$state/lists";
Dir::State::status "$state/status";
Dir::Cache "$state";
Dir::Cache::archives "$state/archives";
Acquire::Languages "none";
Debug::NoLocking "1";
CONF
export APT_CONFIG=$state/apt.conf

echo "aarch64 sysroot: fetching arm64 packages"
apt-get update -q || refuse "'apt-get update' for arm64 failed; is there a network, and do the mirrors of /etc/apt carry arm64?"
apt-get install -y -q --no-install-recommends --download-only "${libraries[@]}" ||
  refuse "apt could not fetch the arm64 libraries; see its message above"
(cd "$state/archives" && apt-get download -q "${alone[@]}") || refuse "apt could not fetch ${alone[*]}"

for archive in "$state"/archives/*.deb; do
  dpkg-deb -x "$archive" "$sysroot" || refuse "$archive could not be unpacked"
done
# Alternatives are links that a package's own script would make; absolute links lead out of the sysroot.
ln -sf openblas-pthread/libopenblas.so.0 "$sysroot/usr/lib/aarch64-linux-gnu/libopenblas.so.0"
while IFS= read -r -d '' link; do
  target=$(readlink "$link")
  if [ -e "$sysroot$target" ]; then ln -sfn "$sysroot$target" "$link"; fi
done < <(find "$sysroot" -type l -lname '/*' -print0)
rm -rf "$state"
printf '%s' "$wanted" >"$sysroot/.packages"
echo "aarch64 sysroot: $(du -sh "$sysroot" | cut -f1) in $sysroot"
