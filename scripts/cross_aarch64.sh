#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the plugin and the tool for aarch64 (Grace) with Debian's cross compiler, and runs the plugin's
# unit tests, two replays and the tool's golden cases under user-mode emulation.
#
#   cross_aarch64.sh [BUILD_DIRECTORY]     default: build/aarch64
#
# Libraries for aarch64 are fetched from the mirror that apt is configured with, and unpacked below the
# build directory; the machine itself is not changed.
# Exit status 0: all tests passed; 2: the arguments are wrong; 77: something needed is not to be had;
# another one: the build or a test failed.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
  echo "cross_aarch64.sh: it takes one build directory, not \"$*\". Try $0 --help" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
build=$(realpath -m "${1:-build/aarch64}")
sysroot=$build/sysroot
# CLI11 and Catch2 are headers, the same for every machine.
libraries=(libsimdjson-dev libsimdjson14 zlib1g-dev zlib1g libsqlite3-dev libsqlite3-0
           libpugixml-dev libpugixml1v5)

for tool in aarch64-linux-gnu-g++ qemu-aarch64-static apt-get dpkg-deb; do
  if ! command -v "$tool" > /dev/null; then
    echo "skipped: there is no $tool; scripts/install_dependencies.sh --dev installs it"
    exit 77
  fi
done

if [ ! -e "$sysroot/done" ]; then
  apt=$build/apt
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$sysroot"
  : > "$apt/status"
  options=(-q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::Lists="$apt/lists"
           -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root)
  if ! apt-get "${options[@]}" update > "$apt/log" 2>&1 ||
     ! (cd "$apt" && apt-get "${options[@]}" download "${libraries[@]}" >> "$apt/log" 2>&1); then
    tail -n 5 "$apt/log"
    echo "skipped: apt has no packages for arm64"
    exit 77
  fi
  for package in "$apt"/*.deb; do
    dpkg-deb -x "$package" "$sysroot"
  done
  touch "$sysroot/done"
fi

cmake -S . -B "$build" -G Ninja --toolchain cmake/aarch64-linux-gnu.cmake \
      -DRINGSIDE_SYSROOT="$sysroot" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
      -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -DNDEBUG" -DRINGSIDE_BUILD_EXAMPLES=OFF
cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target \
      ringside_plugin ringside plugin_unit_tests nccl_host
library_path=$sysroot/usr/lib/aarch64-linux-gnu:$sysroot/lib/aarch64-linux-gnu
export RINGSIDE_TEST_EMULATOR="qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=$library_path"
ctest --test-dir "$build" --output-on-failure --timeout 300 --parallel "${JOBS:-$(nproc)}" \
      -R '^(unit-plugin|diff-cases|replay-2.30.7-v6-mix-n2|replay-2.25.1-v2native-mix-n2)$'
