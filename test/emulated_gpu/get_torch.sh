#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fetches PyTorch's CUDA wheel from the Python package index, with pip as it is configured, for the
# tests that run it on emulated GPUs. None of NVIDIA's libraries is needed. Installs nothing.
#
#   get_torch.sh [LINK]     default: .torch-package at the top of the source tree
#
# It unpacks 1.3 GB (0.5 GB are fetched) into ${XDG_CACHE_HOME:-~/.cache}/ringside, which all source
# trees share, and makes LINK lead there. Does nothing if all is there already. Prints the version.
# Exit status 77 with one line of explanation if it cannot be had within five minutes, or if
# RINGSIDE_TORCH=off.
set -euo pipefail

if [ $# -gt 1 ]; then
  echo "usage: $0 [LINK]" >&2
  exit 2
fi
link=${1:-$(cd "$(dirname "$0")/../.." && pwd)/.torch-package}
version=2.15.0
packages=("torch==$version")
# The packages that `import torch` and its profiler import, without the dependencies of these.
needed=(filelock fsspec jinja2 markupsafe mpmath networkx numpy sympy typing-extensions)
# It takes two of them for a while; the builds of CI need the rest.
least_free_kib=$((8 * 1024 * 1024))

unavailable() {
  echo "PyTorch unavailable: $1" >&2
  exit 77
}

[ "${RINGSIDE_TORCH:-on}" != off ] || unavailable "RINGSIDE_TORCH=off"
[ "$(uname -m)" = x86_64 ] || unavailable "its emulation needs x86-64"
python=$(python3 -c 'import sys; print(sys.implementation.cache_tag)') ||
  unavailable "no python3 here"
[ -n "${XDG_CACHE_HOME:-${HOME:-}}" ] || unavailable "neither XDG_CACHE_HOME nor HOME is set"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ringside
directory=$cache/torch-$version-$python

fetch() {
  local free state
  python3 -m pip --version > /dev/null 2>&1 || unavailable "no pip here: install python3-pip"
  state=$(mkdir -p "$cache" 2> /dev/null && mktemp -d "$cache/fetch.XXXXXX" 2> /dev/null) ||
    unavailable "nothing can be written in $cache"
  # shellcheck disable=SC2064  # the directory of now
  trap "rm -rf '$state'" EXIT
  free=$(df --output=avail "$cache" | tail -n 1)
  [ "$free" -ge "$least_free_kib" ] ||
    unavailable "$cache has $((free / 1024)) MiB free, of $((least_free_kib / 1024)) needed"
  # An index that does not answer is one that cannot be reached.
  export PIP_RETRIES=${PIP_RETRIES:-1} PIP_DEFAULT_TIMEOUT=${PIP_DEFAULT_TIMEOUT:-30}
  # The wheel goes to the disk of the cache too: /tmp can be small.
  TMPDIR=$state timeout 300 python3 -m pip install --quiet --no-deps --no-compile --no-cache-dir \
    --only-binary=:all: --target "$state/package" "${packages[@]}" "${needed[@]}" \
    > "$state/log" 2>&1 || {
    [ $? -ne 124 ] || unavailable "pip did not fetch it in five minutes"
    unavailable "pip cannot fetch it: $(grep -m 1 ERROR "$state/log")"
  }
  # At once, so that an interrupted run is not mistaken for a complete one. Another may be faster.
  mv -T "$state/package" "$directory" 2> /dev/null || [ -d "$directory" ] ||
    unavailable "what was fetched cannot be kept in $directory"
}

# Trainers whose callbacks are tested with it, and pyarrow, 0.3 GB unpacked; without them those
# tests are skipped.
# Without their dependencies, since torch is one of them.
trainers=$cache/trainers-$python
fetch_trainers() (
  state=$(mktemp -d "$cache/fetch.XXXXXX") || return 1
  trap 'rm -rf "$state"' EXIT
  timeout 100 python3 -m pip install --quiet --no-deps --no-compile --no-cache-dir \
    --only-binary=:all: --target "$state/package" lightning==2.6.6 pytorch-lightning==2.6.6 \
    lightning-utilities==0.15.3 torchmetrics==1.9.0 transformers==5.23.0 accelerate==1.15.0 \
    huggingface-hub==2.4.0 tokenizers==0.23.3 safetensors==0.8.0 httpx2==2.16.2 httpcore2==2.16.2 \
    anyio certifi click h11 idna packaging psutil pyarrow pyyaml regex tqdm truststore typer \
    > "$state/log" 2>&1 || return 1
  mv -T "$state/package" "$trainers" 2> /dev/null || [ -d "$trainers" ]
)

[ -d "$directory" ] || fetch
[ -d "$trainers" ] || fetch_trainers ||
  echo "Lightning and transformers cannot be fetched: torch-trainers is skipped" >&2
ln -sfn "$directory" "$link"
echo "$version"
