#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Puts what a release offers for download into dist/, and writes the checksums of all that is there.
#
#   add_to_dist.sh FILE...
set -euo pipefail

dist=$(cd "$(dirname "$0")/.." && pwd)/dist
mkdir -p "$dist"
cp -- "$@" "$dist"
cd "$dist"
rm -f SHA256SUMS
sha256sum -- * > SHA256SUMS
echo "in $dist:"
cat SHA256SUMS
