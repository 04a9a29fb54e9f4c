#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fetches what NCCL on emulated GPUs is built from: Debian's libnccl-dev and, where no CUDA Toolkit is
# installed, the headers of the CUDA runtime and of NVTX. Installs nothing and leaves apt's own state
# alone.
#
#   get_nccl.sh [DIRECTORY]     default: .nccl-package at the top of the source tree
#
# Does nothing if all is there already. Prints NCCL's version. Exit status 77 with one line of
# explanation if something cannot be had.
set -euo pipefail

if [ $# -gt 1 ]; then
  echo "usage: $0 [DIRECTORY]" >&2
  exit 2
fi
directory=${1:-$(cd "$(dirname "$0")/../.." && pwd)/.nccl-package}
package=libnccl-dev
suite=sid
component=contrib
least_version=2.29
version_file=$directory/version
cuda_wheels=(nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88 nvidia-cuda-cccl==13.0.85
  nvidia-nvtx==13.0.85)

unavailable() {
  echo "$package unavailable: $1" >&2
  exit 77
}

state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT

# The mirror and the key that this machine already uses for Debian. If apt has no lists yet, they
# are fetched into a place of our own: the origin of a mirror is known only from its release file.
debian_mirror() {
  # shellcheck disable=SC2016  # the names are apt-get's
  apt-get "$@" indextargets --format '$(ORIGIN)|$(LABEL)|$(CREATED_BY)|$(REPO_URI)' 2> /dev/null |
    awk -F '|' '$1 == "Debian" && $2 == "Debian" && $3 == "Packages" { print $4; exit }'
}

fetch_nccl() {
  local tool mirror keyring archive version known private_state
  for tool in apt-get dpkg dpkg-deb; do
    command -v "$tool" > /dev/null || unavailable "no $tool here"
  done
  mkdir -p "$state"/{lists/partial,known/partial,cache/archives/partial,download}
  mirror=$(debian_mirror)
  if [ -z "$mirror" ]; then
    known=(-o "Dir::State::lists=$state/known" -o "Dir::Cache=$state/cache"
      -o Acquire::Languages=none)
    apt-get "${known[@]}" -qq update > "$state/log" 2>&1 || true
    mirror=$(debian_mirror "${known[@]}")
  fi
  [ -n "$mirror" ] || unavailable "apt knows no Debian mirror"
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -r "$keyring" ] || unavailable "no keyring of the Debian archive"

  touch "$state/status"
  echo "deb [signed-by=$keyring] $mirror $suite $component" > "$state/sources.list"
  private_state=(
    -o "Dir::State=$state" -o "Dir::State::lists=$state/lists"
    -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache"
    -o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=-
    -o Dir::Etc::preferences=- -o Dir::Etc::preferencesparts=-
    -o Acquire::Languages=none -o APT::Sandbox::User=root -o Acquire::Retries=2
  )
  apt-get "${private_state[@]}" -qq update > "$state/log" 2>&1 ||
    unavailable "apt-get update fails: $(tail -n 1 "$state/log")"
  (cd "$state/download" && apt-get "${private_state[@]}" -qq download "$package") \
    > "$state/log" 2>&1 || unavailable "apt-get download fails: $(tail -n 1 "$state/log")"

  archive=$(find "$state/download" -name '*.deb' -print -quit)
  [ -n "$archive" ] || unavailable "nothing was downloaded"
  version=$(dpkg-deb --field "$archive" Version)
  dpkg --compare-versions "$version" ge "$least_version" ||
    unavailable "version $version is older than $least_version"
  mkdir -p "$directory"
  dpkg-deb --extract "$archive" "$directory"
  # Last, so that an interrupted run is not mistaken for a complete one.
  echo "$version" > "$version_file"
}

have_cuda_headers() {
  local place
  for place in "${CUDA_PATH:-/usr/local/cuda}/include" /usr/include; do
    [ -e "$place/cuda_runtime_api.h" ] && return 0
  done
  [ -e "$directory/cuda/include/nv/target" ]
}

# NVIDIA publishes the runtime with its headers on the Python package index.
fetch_cuda_headers() {
  local wheel
  python3 -m pip --version > /dev/null 2>&1 ||
    unavailable "no CUDA Toolkit here, and no pip to fetch its headers with: install python3-pip"
  python3 -m pip download --quiet --no-deps --only-binary=:all: --dest "$state/wheels" \
    "${cuda_wheels[@]}" > "$state/log" 2>&1 ||
    unavailable "no CUDA Toolkit here, and pip cannot fetch its headers: $(tail -n 1 "$state/log")"
  for wheel in "$state"/wheels/*.whl; do
    python3 -m zipfile -e "$wheel" "$state/unpacked"
  done
  rm -rf "$directory/cuda"
  mkdir -p "$directory/cuda"
  mv "$state"/unpacked/nvidia/cu13/include "$directory/cuda/include"
}

[ -s "$version_file" ] || fetch_nccl
have_cuda_headers || fetch_cuda_headers
cat "$version_file"
