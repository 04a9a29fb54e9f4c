#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compiles violations.cc with clang: without any violation it must pass, with each it must fail for
# that reason. Exit status 77: there is no clang.
#
#   check_violations.sh ROOT
set -euo pipefail

root=${1:?usage: check_violations.sh ROOT}
clang=$(command -v clang++-14 || command -v clang++) || { echo "skipped: there is no clang++"; exit 77; }

# compile DEFINE: prints what clang says.
compile() {
  "$clang" -std=c++20 -fsyntax-only -Wthread-safety -Werror -I "$root" -D"$1" \
    "$root/test/thread_safety/violations.cc" 2>&1
}

failed=0
if ! said=$(compile NOTHING); then
  echo "no violation, and refused: $said"
  failed=1
fi
for violation in UNGUARDED_MEMBER UNLOCKED_CALL LOCKED_TWICE OTHER_THREAD; do
  if said=$(compile "$violation"); then
    echo "$violation: accepted"
    failed=1
  elif ! grep -q 'Werror,-Wthread-safety' <<< "$said"; then
    echo "$violation: refused for another reason: $said"
    failed=1
  else
    echo "$violation: refused, as it must be"
  fi
done
exit $failed
