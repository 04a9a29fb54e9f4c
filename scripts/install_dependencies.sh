#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that building and testing Ringside needs, as far as they are missing.
# With dnf (Fedora, Rocky) or zypper (openSUSE Tumbleweed) it prints the command.
#
#   install_dependencies.sh [--dev | --no-tests] [--dry-run]
#
#   --dev       also what checks need: ccache, clang, clang-format, clang-tidy, sanitizers, two MPIs,
#               Prometheus, network namespaces, Slurm, shellcheck, and a browser for the report
#   --no-tests  only what `pip install .` needs
#   --dry-run   only say what is missing, and the command that installs it
#
# Exit status 0: all packages are there, or were only listed; 1: some are missing and cannot be
# installed by this script; 2: the arguments are wrong.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
packages=(binutils cmake g++ libcli11-dev libmicrohttpd-dev libpugixml-dev libsimdjson-dev
  libsqlite3-dev ninja-build nlohmann-json3-dev node-d3 python3 zlib1g-dev)
test_packages=(catch2 curl libbenchmark-dev)
development_packages=(abigail-tools ccache chromium chromium-driver clang-14 clang-format-14
  clang-tidy-14 g++-aarch64-linux-gnu iproute2 libclang-rt-14-dev libmpich-dev libopenmpi-dev libslurm-dev
  mmdebstrap mpich munge openmpi-bin procps prometheus python3-selenium python3-venv qemu-user-static
  rpm shellcheck slurm-wlm)
dry_run=false
with_tests=true

for argument in "$@"; do
  case $argument in
    --dev) test_packages+=("${development_packages[@]}") ;;
    --no-tests) with_tests=false ;;
    --dry-run) dry_run=true ;;
    *)
      echo "install_dependencies.sh: there is no option $argument. Try $0 --help" >&2
      exit 2
      ;;
  esac
done

# What manages packages here. Fedora and openSUSE have no D3 for the report's page.
if command -v dpkg-query > /dev/null; then
  command=(apt-get install --no-install-recommends)
elif command -v dnf > /dev/null; then
  command=(dnf install)
  packages=(binutils cli11-devel cmake gcc-c++ json-devel libmicrohttpd-devel libstdc++-static
    ninja-build pugixml-devel python3 simdjson-devel sqlite-devel zlib-devel)
  test_packages=(catch-devel curl google-benchmark-devel)
elif command -v zypper > /dev/null; then
  command=(zypper install)
  packages=(binutils cli11-devel cmake gcc-c++ libmicrohttpd-devel ninja nlohmann_json-devel
    pugixml-devel python3 simdjson-devel sqlite3-devel zlib-devel)
  test_packages=(Catch2-devel benchmark-devel curl)
else
  echo "Here is no apt-get, dnf or zypper. Install what Debian names: ${packages[*]}" >&2
  exit 1
fi

if [ "$with_tests" = true ]; then
  packages+=("${test_packages[@]}")
  # If the CUDA Toolkit is missing, test/emulated_gpu/get_nccl.sh fetches its headers with pip.
  if [ ! -e "${CUDA_PATH:-/usr/local/cuda}/include/cuda_runtime_api.h" ] &&
    ! python3 -m pip --version > /dev/null 2>&1; then
    packages+=(python3-pip)
  fi
fi

is_there() {
  if [ "${command[0]}" = apt-get ]; then
    # shellcheck disable=SC2016  # the names are dpkg-query's
    [ "$(dpkg-query --show --showformat '${db:Status-Status}' "$1" 2> /dev/null)" = installed ]
  else
    rpm --query --quiet --whatprovides "$1"
  fi
}

missing=()
for package in "${packages[@]}"; do
  is_there "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "all ${#packages[@]} packages are there"
  exit 0
fi
if [ "$dry_run" = true ]; then
  echo "As root: ${command[*]} ${missing[*]}"
  exit 0
fi
echo "missing: ${missing[*]}"
if [ "${command[0]}" != apt-get ]; then
  echo "Run this as root (on Rocky with EPEL and CRB): ${command[*]} ${missing[*]}" >&2
  exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo > /dev/null || {
    echo "Installing needs root, and there is no sudo. Run this as root:" >&2
    echo "  ${command[*]} ${missing[*]}" >&2
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
run "${command[@]}" -qq --yes "${missing[@]}"
echo "installed"
