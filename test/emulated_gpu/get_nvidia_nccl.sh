#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fetches NVIDIA's own build of a newer NCCL than Debian has from the Python package index, with pip as
# it is configured. Installs nothing.
#
#   get_nvidia_nccl.sh [RELEASE]     default: 2.32.3, which the tests use
#
# 0.3 GB are fetched; the library among them, 0.34 GB, stays in ${XDG_CACHE_HOME:-~/.cache}/ringside,
# which all source trees share, and .nccl-package/nvidia-RELEASE at the top of the source tree leads
# there. Does nothing if it is there already. Prints the release. Exit status 77 with one line of
# explanation if it cannot be had within five minutes, or if RINGSIDE_NVIDIA_NCCL=off.
set -euo pipefail

if [ $# -gt 1 ]; then
  echo "usage: $0 [RELEASE]" >&2
  exit 2
fi
link_in=$(cd "$(dirname "$0")/../.." && pwd)/.nccl-package
release=${1:-2.32.3}

unavailable() {
  echo "NCCL $release unavailable: $1" >&2
  exit 77
}

[ "${RINGSIDE_NVIDIA_NCCL:-on}" != off ] || unavailable "RINGSIDE_NVIDIA_NCCL=off"
[ "$(uname -m)" = x86_64 ] || unavailable "its emulation needs x86-64"
[ -n "${XDG_CACHE_HOME:-${HOME:-}}" ] || unavailable "neither XDG_CACHE_HOME nor HOME is set"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ringside
directory=$cache/nccl-$release

fetch() {
  local state
  python3 -m pip --version > /dev/null 2>&1 || unavailable "no pip here: install python3-pip"
  state=$(mkdir -p "$cache" 2> /dev/null && mktemp -d "$cache/fetch.XXXXXX" 2> /dev/null) ||
    unavailable "nothing can be written in $cache"
  # shellcheck disable=SC2064  # the directory of now
  trap "rm -rf '$state'" EXIT
  export PIP_RETRIES=${PIP_RETRIES:-1} PIP_DEFAULT_TIMEOUT=${PIP_DEFAULT_TIMEOUT:-30}
  TMPDIR=$state timeout 300 python3 -m pip download --quiet --no-deps --no-cache-dir \
    --only-binary=:all: --dest "$state/wheel" "nvidia-nccl-cu13==$release" > "$state/log" 2>&1 || {
    [ $? -ne 124 ] || unavailable "pip did not fetch it in five minutes"
    unavailable "pip cannot fetch it: $(grep -m 1 ERROR "$state/log")"
  }
  python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract(*sys.argv[2:])' \
    "$state"/wheel/*.whl nvidia/nccl/lib/libnccl.so.2 "$state" || unavailable "no room to unpack it"
  # At once, so that an interrupted run is not mistaken for a complete one. Another may be faster.
  mv -T "$state/nvidia/nccl/lib" "$directory" 2> /dev/null || [ -d "$directory" ] ||
    unavailable "what was fetched cannot be kept in $directory"
}

[ -d "$directory" ] || fetch
mkdir -p "$link_in"
ln -sfn "$directory" "$link_in/nvidia-$release"
echo "$release"
