#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh checkout to a first trace: installs what is missing, builds, runs a job of four ranks with
# the plugin, and shows what the analyzer says. Runs on the machine's GPUs if it can, else runs NCCL on
# emulated GPUs, else replays recorded calls of NCCL.
#
#   quickstart.sh [--build BUILD] [DIRECTORY]
#
# DIRECTORY: where traces and report.html go (default: ringside-traces/quickstart.N). BUILD: a build
# directory that CMake has configured, to be used as it is (default: build/quickstart, which is
# configured here).
set -euo pipefail

source_directory=$(cd "$(dirname "$0")/.." && pwd)
build=$source_directory/build/quickstart
configured=no
directory=
wrong() {
  echo "quickstart.sh: $1. Try $source_directory/examples/quickstart.sh --help" >&2
  exit 2
}
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help)
      sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$source_directory/examples/quickstart.sh"
      exit 0
      ;;
    --build)
      [ $# -ge 2 ] || wrong "--build needs a directory"
      build=$(realpath -m "$2")
      configured=yes
      [ -f "$build/CMakeCache.txt" ] || wrong "CMake has not configured $build"
      shift
      ;;
    -*) wrong "there is no option $1" ;;
    *)
      [ -z "$directory" ] || wrong "\"$1\" is one argument too many"
      directory=$(realpath -m "$1")
      ;;
  esac
  shift
done
cd "$source_directory"
log=$build/quickstart.log
ranks=4

step=setup
fail() {
  echo
  echo "The quick start failed at: $step"
  echo "The last lines of the log:"
  tail -n 15 "$log" | sed 's/^/  /'
  echo "The whole log is $log"
  echo "$source_directory/docs/troubleshooting.md lists what usually helps."
  echo "Then: $source_directory/examples/quickstart.sh"
  exit 1
}

# begin TEXT: names the next step; a failure until the one after it is reported with this text.
begin() {
  step=$1
  echo "== $step"
}

quietly() {
  { echo "\$ $*"; "$@"; } >> "$log" 2>&1 || fail
}

new_directory() {
  local number=1
  while [ -e "ringside-traces/quickstart.$number" ]; do number=$((number + 1)); done
  echo "$source_directory/ringside-traces/quickstart.$number"
}

# grep reads to the end: with -q it would end the command before it, and that counts as a failure.
has_gpu() {
  command -v nvidia-smi > /dev/null && nvidia-smi --list-gpus 2> /dev/null | grep '^GPU' > /dev/null
}

target_exists() {
  cmake --build "$build" --target help 2> /dev/null | grep "^$1:" > /dev/null
}

directory=${directory:-$(new_directory)}
traces=$directory/traces
mkdir -p "$build" "$directory"
: > "$log"
[ -z "$(ls -A "$directory")" ] || wrong "$directory is not empty: name a new directory"
mkdir "$traces"

begin "installing what is missing (scripts/install_dependencies.sh)"
quietly scripts/install_dependencies.sh
if ! has_gpu; then
  begin "no GPU here: fetching NCCL for emulated GPUs (test/emulated_gpu/get_nccl.sh)"
  # Not having it is no failure: the replay needs nothing.
  test/emulated_gpu/get_nccl.sh >> "$log" 2>&1 || echo "   not to be had: $(tail -n 1 "$log")"
fi

begin "configuring and building; takes about three minutes on two cores (log: $log)"
[ "$configured" = yes ] ||
  quietly cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release
targets=(ringside_plugin ringside)
if has_gpu && target_exists collectives_bench; then
  way=gpu
  targets+=(collectives_bench)
elif target_exists emulated_collectives_bench; then
  way=emulated
  targets+=(emulated_collectives_bench nccl_ranks)
else
  way=replay
  targets+=(nccl_host)
fi
quietly cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]}"

# Names of programs as CMake put them: bin/ or a directory of the component.
built() {
  find "$build" -name "$1" \( -type f -o -type l \) ! -path '*/CMakeFiles/*' -print -quit
}
plugin=$(built libnccl-profiler-ringside.so)
analyzer=$(find "$build" -name ringside -type f -perm -u+x -print -quit)
export NCCL_PROFILER_PLUGIN=$plugin RINGSIDE_DIR=$traces RINGSIDE_JOB=quickstart
# With this, NCCL 2.29.2 and newer report the execution of broadcasts: see docs/nccl-releases.md.
export NCCL_ALLGATHERV_ENABLE=0
# No AlltoAll: with GPU times and NCCL as it is, that needs care (docs/troubleshooting.md).
bench_options=(--ranks "$ranks" --min-bytes 65536 --max-bytes 4194304 --factor 8 --iterations 10
  --collectives 'AllReduce,AllGather,ReduceScatter,Broadcast')

case $way in
  gpu)
    gpus=$(nvidia-smi --list-gpus | grep -c '^GPU')
    begin "running collectives_bench, $ranks ranks on $gpus GPU(s)"
    # Between GPUs of one host nothing but the GPU's own clock shows when a collective ran.
    export RINGSIDE_EVENTS=default,kernel
    job=("$(built collectives_bench)" "${bench_options[@]}")
    ;;
  emulated)
    begin "running collectives_bench, $ranks ranks, with NCCL on emulated GPUs"
    echo "   NCCL is real, the GPUs are not: times and bandwidths are this CPU's"
    emulation=$build/emulated_gpu
    job=("$emulation/bin/nccl_ranks" --out "$emulation" -- "$emulation/bin/collectives_bench"
      "${bench_options[@]}")
    ;;
  replay)
    begin "replaying a recording of $ranks ranks: there is neither a GPU nor NCCL here"
    echo "   the calls come in their order, but as fast as they can: bandwidths mean nothing"
    job=("$(built nccl_host)" --plugin "$plugin" test/data/transcripts/2.30.7-v6-mix-n4)
    ;;
esac
"${job[@]}" 2>&1 | tee -a "$log" || fail

begin "what ringside summary says about it"
"$analyzer" summary "$traces" 2>&1 | tee -a "$log" || fail
# A build without D3 has no page.
has_page=no
"$analyzer" report --quiet -o "$directory/report.html" "$traces" >> "$log" 2>&1 && has_page=yes
quietly "$analyzer" merge --quiet -o "$directory/timeline.json" "$traces"

echo
echo "Written:"
echo "  $traces"
[ "$has_page" = no ] || echo "  $directory/report.html, a page for any browser"
echo "  $directory/timeline.json, for https://ui.perfetto.dev"
echo
echo "To go on, paste:"
# shellcheck disable=SC2016  # the reader's shell expands it
printf '  export PATH=%q:$PATH\n' "$(dirname "$analyzer")"
printf '  ringside stragglers %q\n' "$traces"
[ "$has_page" = no ] || printf '  xdg-open %q\n' "$directory/report.html"
