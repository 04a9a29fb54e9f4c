#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes a .deb, an .rpm and a .tar.gz of what the wheel has: programs that need glibc 2.28 and no other
# library. They are in dist/, and in OUTPUT_DIRECTORY/MACHINE/packages.
#
#   build_packages.sh [x86_64|aarch64] [OUTPUT_DIRECTORY]     default: this machine's, and build/wheel
#
# The wheel there is taken as it is; where there is none, build_wheel.sh makes it. Man pages and
# completions are what the program says of itself, under emulation if it is another machine's. Without
# rpmbuild there is no .rpm.
# Exit status 0: the packages are there; 2: the arguments are wrong; 77: something needed is not to be
# had; another one: a step failed.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
machine=${1:-$(uname -m)}
if [ $# -gt 2 ] || [[ ! $machine =~ ^(x86_64|aarch64)$ ]] || [[ ${2:-} == -* ]]; then
  echo "build_packages.sh: it takes x86_64 or aarch64 and a directory, not \"$*\". Try $0 --help" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
output=$(realpath -m "${2:-build/wheel}")
work=$output/$machine

wheels=("$work"/dist/nccl_ringside-*.whl)
[ -e "${wheels[0]}" ] || scripts/build_wheel.sh "$machine" "$output"
wheels=("$work"/dist/nccl_ringside-*.whl)

rm -rf "$work/unpacked" "$work/built" "$work/packages" "$work/licences"
mkdir -p "$work/built/analyzer" "$work/built/lib" "$work/licences"
python3 -m zipfile -e "${wheels[0]}" "$work/unpacked"
cp "$work"/unpacked/nccl_ringside-*.data/scripts/ringside "$work/built/analyzer"
cp "$work/unpacked/nccl_ringside/lib/libnccl-profiler-ringside.so" "$work/built/lib"
cp "$work"/unpacked/nccl_ringside-*.dist-info/licenses/* "$work/licences"
chmod +x "$work/built/analyzer/ringside"

other=()
if [ "$machine" != "$(uname -m)" ]; then
  if ! command -v "qemu-$machine-static" > /dev/null; then
    echo "skipped: there is no qemu-$machine-static"
    exit 77
  fi
  other=(-DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=$machine"
         "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-$machine-static;-L;/usr/$machine-linux-gnu")
fi
rm -rf "$work/packaging"
cmake -S . -B "$work/packaging" "${other[@]}" -DCMAKE_INSTALL_LIBDIR=lib \
  -DRINGSIDE_BUILT="$work/built" -DRINGSIDE_LICENCES="$work/licences" > "$work/packages.log"
cmake --build "$work/packaging" >> "$work/packages.log"
(cd "$work/packaging" && cpack -B "$work/packages") >> "$work/packages.log" || {
  tail -n 20 "$work/packages.log"
  exit 1
}
rm -rf "$work/packages/_CPack_Packages"
scripts/add_to_dist.sh "${wheels[0]}" "$work"/packages/*
