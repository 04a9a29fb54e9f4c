#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs an example and checks the dump that it writes.
#
#   check_example.sh ANALYZER DIRECTORY COMMAND...
#
# The command gets the name of the dump as its last argument. DIRECTORY is emptied first.
# Exit status 0: the dump is right; 2: the arguments are wrong; another one: the example or a check
# failed.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
if [ $# -lt 3 ]; then
  echo "check_example.sh: it takes a program, a directory and a command, not \"$*\". Try $0 --help" >&2
  exit 2
fi
analyzer=$1
directory=$2
shift 2
rm -rf "$directory"
mkdir -p "$directory"
cd "$directory"
RINGSIDE_DIR=$directory/traces "$@" "$directory/dump.json"
"$analyzer" lint dump.json
python3 -m json.tool dump.json > /dev/null
