#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks on one NVIDIA GPU what only a GPU can show (docs/gpu-check.md).
#
#   gpu_check.sh OUT [--budget SECONDS] [--binaries DIR] [--parts A,B] [--work DIR]
#   gpu_check.sh OUT --emulated BUILD_DIRECTORY [...]     the same on emulated GPUs
#   gpu_check.sh --pack DIR [BUILD_DIRECTORY]     puts what is built into DIR
#
# Writes OUT/result.json, OUT/result.md and a few traces, and needs no network. Programs are taken from
# --binaries, build/gpu-check (a good place for --pack) or a preset's build directory, else built.
# Exit status 0: all that ran passed, 1: something failed, 2: nothing could be checked.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
source_directory=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
plugin_name=libnccl-profiler-ringside.so

fail() {
  echo "gpu_check: $1" >&2
  exit 2
}

usage() {
  fail "$1. Try $0 --help"
}

# find_in DIRECTORY: sets plugin, ringside and bench; false if the first two are not there.
find_in() {
  local places=("$1" "$1/lib" "$1/analyzer" "$1/examples/gpu") place
  plugin='' ringside='' bench='' own_libraries=''
  for place in "${places[@]}"; do
    if [ -f "$place/$plugin_name" ]; then plugin=$place/$plugin_name; fi
    if [ -x "$place/ringside" ] && [ -f "$place/ringside" ]; then ringside=$place/ringside; fi
    if [ -x "$place/collectives_bench" ]; then bench=$place/collectives_bench; fi
  done
  if [ -d "$1/libraries" ]; then own_libraries=$1/libraries; fi
  [ -n "$plugin" ] && [ -n "$ringside" ]
}

find_built() {
  local directory
  for directory in ${binaries:+"$binaries"} "$source_directory/build/gpu-check" \
    "$source_directory"/build/{release,dev} "$source_directory/build"; do
    if [ -d "$directory" ] && find_in "$(realpath "$directory")" &&
      LD_LIBRARY_PATH=$own_libraries "$ringside" --version > /dev/null 2>&1; then
      return 0
    fi
    [ -z "$binaries" ] || fail "no $plugin_name and ringside that run here in $binaries"
  done
  return 1
}

# Packs the programs with the libraries that another machine may lack. Every machine has the C and
# C++ libraries, and as new as these.
pack() {
  local directory=$1 library
  binaries=${2:-}
  find_built || fail "nothing is built yet"
  [ -n "$bench" ] || fail "no collectives_bench: it needs the CUDA runtime and NCCL's headers"
  mkdir -p "$directory/libraries"
  cp "$plugin" "$ringside" "$bench" "$directory"
  ldd "$ringside" | awk '$2 == "=>" { print $3 }' |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)\.so' |
    while read -r library; do cp -L "$library" "$directory/libraries"; done
  strip --strip-debug "$directory/$plugin_name" "$directory/ringside" "$directory/collectives_bench"
  du -sh "$directory"
}

# Only what is needed, without the tests and their libraries.
build() {
  local tree=$source_directory/build/gpu-check-tree
  echo "gpu_check: building in $tree"
  if ! { cmake -S "$source_directory" -B "$tree" -DCMAKE_BUILD_TYPE=Release \
    -DRINGSIDE_BUILD_TESTS=OFF -DRINGSIDE_BUILD_EXAMPLES=OFF &&
    cmake --build "$tree" --parallel "$(nproc)" --target ringside_plugin ringside; } \
    > "$out/build.log" 2>&1; then
    fail "cannot build: see $out/build.log, or bring what is built (--pack)"
  fi
  find_in "$tree" || fail "nothing was built in $tree"
}

# The program that measures needs no CMake: six files, the CUDA runtime and NCCL.
build_bench() {
  local cuda=${CUDA_HOME:-/usr/local/cuda}
  bench=$source_directory/build/gpu-check-tree/collectives_bench
  mkdir -p "$(dirname "$bench")"
  g++ -std=c++20 -O2 -I "$source_directory" -I "$source_directory/include" -I "$cuda/include" \
    ${nccl_include:+-I "$nccl_include"} "$source_directory"/examples/gpu/*.cc -o "$bench" \
    -L "$cuda/lib64" -lcudart "${nccl:--lnccl}" -ldl >> "$out/build.log" 2>&1 ||
    fail "cannot build collectives_bench: see $out/build.log"
}

# NCCL and the CUDA runtime that PyTorch brings; else those that the loader and the toolkit have.
find_nccl() {
  local found cuda=${CUDA_HOME:-/usr/local/cuda}
  has_torch='' nccl='' nccl_include='' library_path=''
  if "$python" -c 'import torch; assert torch.cuda.is_available()' 2> /dev/null; then
    has_torch=yes
  fi
  found=$("$python" -c '
import importlib.util, pathlib
spec = importlib.util.find_spec("nvidia")
for root in spec.submodule_search_locations if spec else ():
    for name in ("nccl/lib/libnccl.so.2", "*/lib/libcudart.so.*"):
        for path in sorted(pathlib.Path(root).glob(name)):
            print(path)' 2> /dev/null || true)
  nccl=$(grep '/libnccl\.so\.2$' <<< "$found" | head -n 1 || true)
  if [ -z "$nccl" ] && [ -e "$cuda/lib64/libnccl.so.2" ]; then nccl=$cuda/lib64/libnccl.so.2; fi
  if [ -z "$nccl" ]; then nccl=$(ldconfig -p | awk '/libnccl\.so\.2 / { print $NF; exit }'); fi
  [ -n "$nccl" ] || fail "no libnccl.so.2: neither PyTorch's, nor the toolkit's, nor the loader's"
  if [ -f "${nccl%/lib/*}/include/nccl.h" ]; then nccl_include=${nccl%/lib/*}/include; fi
  library_path=$(dirname "$nccl"):$cuda/lib64
  found=$(grep '/libcudart\.so' <<< "$found" | head -n 1 || true)
  if [ -n "$found" ]; then library_path=$library_path:$(dirname "$found"); fi
}

if [ "${1:-}" = --pack ]; then
  [ $# -ge 2 ] || usage "--pack needs a directory"
  pack "$2" "${3:-}"
  exit 0
fi
[ $# -ge 1 ] || usage "OUT is missing"
if [[ $1 == -* ]]; then usage "OUT comes first, not $1"; fi
out=$1
shift
budget=520 binaries='' emulated='' more=()
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || usage "$1 is no option, or has no value"
  case $1 in
    --budget) budget=$2 ;;
    --binaries) binaries=$2 ;;
    --emulated) emulated=$(realpath "$2") ;;
    --parts | --work) more+=("$1" "$2") ;;
    *) usage "there is no option $1" ;;
  esac
  shift 2
done
command -v "$python" > /dev/null || fail "no $python"
mkdir -p "$out"
out=$(realpath "$out")

if [ -n "$emulated" ]; then
  find_in "$emulated" || fail "no $plugin_name and ringside in $emulated"
  bench=$emulated/emulated_gpu/bin/collectives_bench
  more+=(--emulated "$emulated/emulated_gpu/bin/nccl_ranks")
else
  [ -e /dev/nvidiactl ] || command -v nvidia-smi > /dev/null || fail "no NVIDIA GPU here"
  find_nccl
  find_built || build
  if [ -z "$bench" ] || ! LD_LIBRARY_PATH=$library_path "$bench" --help > /dev/null 2>&1; then
    build_bench
  fi
  more+=(--nccl "$nccl" --library-path "$library_path" ${has_torch:+--has-torch})
  if [ -n "$own_libraries" ]; then more+=(--own-libraries "$own_libraries"); fi
fi
exec "$python" "$source_directory/scripts/gpu_check/main.py" --out "$out" --plugin "$plugin" \
  --ringside "$ringside" --bench "$bench" --budget "$((budget - SECONDS))" "${more[@]}"
