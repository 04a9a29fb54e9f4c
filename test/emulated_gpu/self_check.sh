#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks the emulation itself, without Ringside, with recorder plugins of its own.
#
#   self_check.sh collectives|faults|all BIN_DIRECTORY OUTPUT_DIRECTORY
#
# BIN_DIRECTORY is <build>/emulated_gpu. Exit status 0 if every check passes.
set -uo pipefail

if [ $# -ne 3 ]; then
  echo "usage: $0 collectives|faults|all BIN_DIRECTORY OUTPUT_DIRECTORY" >&2
  exit 2
fi
source_directory=$(cd "$(dirname "$0")" && pwd)
part=$1
programs=$(realpath "$2")
output=$(realpath -m "$3")
ranks=$programs/bin/nccl_ranks
passed=0
failed=0
# The caller's settings of NCCL must not change what is tested.
unset "${!NCCL_@}" RECORDER_DIR RECORDER_MASK RANK

report() {  # report STATUS NAME
  if [ "$1" -eq 0 ]; then
    passed=$((passed + 1))
    echo "ok      $2"
  else
    failed=$((failed + 1))
    echo "FAILED  $2 (see $output/$2)"
  fi
}

# check NAME COMMAND...: the command's output goes to a directory of the check's own.
check() {
  local name=$1
  shift
  mkdir -p "$output/$name"
  "$@" > "$output/$name/log" 2>&1
  report $? "$name"
}

# run NAME OPTION...: nccl_ranks with a deadline of its own, and one more in case that fails.
run() {
  local name=$1
  shift
  check "$name" timeout --kill-after=5 80 "$ranks" --timeout 70 --out "$output/$name" "$@"
}

log_has() {  # log_has NAME COUNT PATTERN: that many lines match
  local found
  found=$(grep -c -E -- "$3" "$output/$1/log")
  [ "$found" -eq "$2" ]
}

# Every event that began has ended, and there are events of these types on every rank.
journal_complete() {  # journal_complete NAME RANKS TYPE...
  local name=$1 count=$2 rank type journal
  shift 2
  for ((rank = 0; rank < count; rank++)); do
    journal=$output/$name/recorder-$rank.jsonl
    [ "$(grep -c '"call":"start"' "$journal")" -eq "$(grep -c '"call":"stop"' "$journal")" ] ||
      return 1
    [ "$(grep -c '"call":"init"' "$journal")" -eq "$(grep -c '"call":"finalize"' "$journal")" ] ||
      return 1
    for type in "$@"; do
      grep -q "\"type\":\"$type\"" "$journal" || return 1
    done
  done
}

# The slowest rank's time in the scenarios is at least this.
ran_at_least() {  # ran_at_least NAME SECONDS
  awk -v least="$2" 'match($0, /run [0-9.]+/) { if (substr($0, RSTART + 4, RLENGTH - 4) + 0 > most)
    most = substr($0, RSTART + 4, RLENGTH - 4) + 0 } END { exit !(most >= least) }' "$output/$1/log"
}

# The offsets that the compiler checked are those in the tables.
layout_file_agrees() {
  local assertions=$source_directory/nccl/layout_check.cc
  diff <(awk -F '\t' 'FNR > 1 && $2 != "-" && $7 == "-" { print $3 ", " $4 ", " $5 ", " $6 }' \
    "$source_directory"/nccl/layout-*.tsv | sort) \
    <(sed -n 's/^LAYOUT_FIELD(\(.*, [0-9]*\));$/\1/p' "$assertions" | sort)
}

check_collectives() {
  local protocol collective
  check layout-file layout_file_agrees
  run mix-1 --ranks 1
  run mix-3 --ranks 3
  for protocol in LL Simple; do
    NCCL_ALGO="ring;allreduce:tree" NCCL_PROTO=$protocol run "mix-tree-$protocol" --ranks 3
  done
  run broadcasts --ranks 3 --scenario broadcasts
  run mix-shared-process --ranks 4 --ranks-per-process 2
  for collective in all_reduce all_gather reduce_scatter broadcast reduce all_to_all \
    send_receive; do
    run "sweep-$collective" --ranks 2 --scenario sweep --collective $collective --max-bytes 262144
  done
  check sweep-rows log_has sweep-all_reduce 5 \
    '^ +[0-9]+ +[0-9]+ +float +sum +[0-9.]+ +[0-9.]+ +[0-9.]+$'
}

check_faults() {
  run train-v6 --ranks 2 --scenario train --plugin "$programs/lib/librecorder_v6.so"
  check journal-v6 journal_complete train-v6 2 collective point_to_point proxy_step \
    kernel_channel kernel_launch
  run train-v2 --ranks 2 --scenario train --plugin "$programs/lib/librecorder_v2.so"
  check journal-v2 journal_complete train-v2 2 collective point_to_point proxy_operation proxy_step
  # 26 of 30 collectives are 20 ms late.
  run late --ranks 2 --scenario train --late-rank 1 --late-us 20000 --late-from 4
  check late-is-slow ran_at_least late 0.52
  run stuck --ranks 3 --scenario train --stuck-rank 1 --stuck-at 3 --timeout 4
  check stuck-where log_has stuck 1 'rank 1/3: still running, in collective 3$'
  run kill --ranks 3 --scenario train --kill-rank 1 --kill-at 3 --timeout 20
  check kill-is-noticed log_has kill 2 'failed after .* remote process exited'
  run mismatch --ranks 2 --scenario train --mismatch-rank 1 --mismatch-at 3 --timeout 4
  run no-finalize --ranks 2 --scenario train --no-finalize
  run threads-and-fork --ranks 2 --scenario train --threads --fork
}

rm -rf "$output"
mkdir -p "$output"
case $part in
  collectives) check_collectives ;;
  faults) check_faults ;;
  all) check_collectives && check_faults ;;
  *)
    echo "$0: unknown part $part" >&2
    exit 2
    ;;
esac
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
