#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that building and testing Ringside needs, as far as they are missing.
#
#   install_dependencies.sh [--dev] [--dry-run]
#
#   --dev      also what checks need: ccache, clang, clang-format, clang-tidy, sanitizers, two MPIs,
#              Prometheus, network namespaces, Slurm, shellcheck, and a browser for the report
#   --dry-run  only say what is missing
set -euo pipefail

packages=(binutils catch2 cmake curl g++ libbenchmark-dev libcli11-dev libmicrohttpd-dev
  libpugixml-dev libsimdjson-dev libsqlite3-dev ninja-build nlohmann-json3-dev
  node-d3 python3 zlib1g-dev)
development_packages=(abigail-tools ccache chromium chromium-driver clang-14 clang-format-14
  clang-tidy-14 g++-aarch64-linux-gnu iproute2 libclang-rt-14-dev libmpich-dev libopenmpi-dev
  mmdebstrap mpich munge openmpi-bin procps prometheus python3-selenium python3-venv qemu-user-static
  rpm shellcheck slurm-wlm)
dry_run=false

for argument in "$@"; do
  case $argument in
    --dev) packages+=("${development_packages[@]}") ;;
    --dry-run) dry_run=true ;;
    *)
      echo "usage: $0 [--dev] [--dry-run]" >&2
      exit 2
      ;;
  esac
done

# If the CUDA Toolkit is missing, test/emulated_gpu/get_nccl.sh fetches its headers with pip.
if [ ! -e "${CUDA_PATH:-/usr/local/cuda}/include/cuda_runtime_api.h" ] &&
  ! python3 -m pip --version > /dev/null 2>&1; then
  packages+=(python3-pip)
fi

if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
  echo "$0 knows Debian and its relatives only. With your own package manager," >&2
  echo "install what corresponds to: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  # shellcheck disable=SC2016  # the names are dpkg-query's
  state=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2> /dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "all ${#packages[@]} packages are there"
  exit 0
fi
echo "missing: ${missing[*]}"
[ "$dry_run" = false ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo > /dev/null || {
    echo "Installing needs root, and there is no sudo. Run this as root:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "installing them with apt-get ..."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
run() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" > "$log" 2>&1 && return
  tail -n 20 "$log" >&2
  echo "failed: $*" >&2
  exit 1
}
run apt-get -qq update
run apt-get -qq install --yes --no-install-recommends "${missing[@]}"
echo "installed"
