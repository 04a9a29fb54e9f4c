// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <limits>

int main() {
  // Through volatile, or the compiler computes the sum.
  const volatile int largest = std::numeric_limits<int>::max();
  std::printf("%d\n", largest + 1);
  return 0;
}
