#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Puts what a release offers for download into dist/, and writes the checksums of all that is there.
#
#   add_to_dist.sh FILE...
#
# Exit status 0: all FILEs are there; 1: one could not be copied; 2: no FILE was given.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
if [ $# -eq 0 ] || [[ $1 == -* ]]; then
  echo "add_to_dist.sh: it takes files, not \"$*\". Try $0 --help" >&2
  exit 2
fi

dist=$(cd "$(dirname "$0")/.." && pwd)/dist
mkdir -p "$dist"
cp -- "$@" "$dist"
cd "$dist"
rm -f SHA256SUMS
sha256sum -- * > SHA256SUMS
echo "in $dist:"
cat SHA256SUMS
