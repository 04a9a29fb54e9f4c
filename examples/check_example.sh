#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs an example and checks the dump that it writes.
#
#   check_example.sh ANALYZER DIRECTORY COMMAND...
#
# The command gets the name of the dump as its last argument. DIRECTORY is emptied first.
set -euo pipefail

analyzer=$1
directory=$2
shift 2
rm -rf "$directory"
mkdir -p "$directory"
cd "$directory"
RINGSIDE_DIR=$directory/traces "$@" "$directory/dump.json"
"$analyzer" lint dump.json
python3 -m json.tool dump.json > /dev/null
