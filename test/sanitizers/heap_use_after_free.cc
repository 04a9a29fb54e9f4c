// SPDX-License-Identifier: Apache-2.0
#include <memory>

int main() {
  // Through volatile, or the compiler finds the bug first.
  int* volatile stale = nullptr;
  {
    const auto owner = std::make_unique<int>(1);
    stale = owner.get();
  }
  return *stale == 1 ? 0 : 1;
}
