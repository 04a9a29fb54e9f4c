#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The long run of generate-steps: 200 simulated trainings whose critical paths are known.
#
# usage: scripts/check_steps.sh [BUILD] [SEEDS]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
exec python3 test/generate/check_steps.py "$build/test/generate/ringside_generate_steps" \
  "$build/analyzer/ringside" --seeds "${2:-200}"
