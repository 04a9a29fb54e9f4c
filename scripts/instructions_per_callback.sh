#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Instructions per callback, counted by callgrind: mean over calls through the plugin's table.
#
#   instructions_per_callback.sh BUILD [VERSION]     VERSION: of NCCL's profiler interface, 6
#
# Exit status 0: they are printed; 2: the arguments are wrong; another one: valgrind or the program failed.
set -eu

case ${1:-} in -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
if [ $# -lt 1 ] || [ $# -gt 2 ] || [ ! -d "$1" ]; then
  echo "instructions_per_callback.sh: it takes a build directory and a version, not \"$*\". Try $0 --help" >&2
  exit 2
fi
bench="$1/test/bench/ringside_bench_callbacks"
version="${2:-6}"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

# Inclusive cost of all calls of the named function, over their number. The format gives a name
# once, with its number: "cfn=(12) name", later "cfn=(12)".
mean() {
  cat "$directory"/callgrind.* | awk -v wanted="$1" '
    /^(c?fn)=/ {
      id = $0; sub(/^c?fn=/, "", id); sub(/\).*/, ")", id)
      text = $0; if (sub(/^[^)]*\) /, "", text)) name[id] = text
      if ($0 ~ /^cfn=/) called = name[id]
    }
    /^calls=/ {
      split($1, part, "="); getline
      if (called ~ wanted) { calls += part[2]; cost += $2 }
    }
    END { if (!calls) exit 1; printf "%6.0f  (mean of %d calls)\n", cost / calls, calls }'
}

count() {
  rm -f "$directory"/callgrind.*
  valgrind --quiet --tool=callgrind --trace-children=yes \
    --callgrind-out-file="$directory/callgrind.%p" \
    "$bench" --abi "$version" --threads 1 --kind "$1" --calls 8192 --rest-ms 200 --recording-only \
    >"$directory/table" 2>"$directory/errors" || { cat "$directory/errors" >&2; return 1; }
}

echo "instructions per callback, interface version $version"
count Coll
printf '%-16s' "start Coll"; mean 'abi::start_event'
count ProxyStep
printf '%-16s' "start ProxyStep"; mean 'abi::start_event'
printf '%-16s' "state ProxyStep"; mean 'abi::record_event_state'
printf '%-16s' "stop ProxyStep"; mean 'abi::stop_event'
