// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <thread>

int main() {
  long count = 0;
  const auto add = [&count] {
    for (int i = 0; i < 100'000; i++) count++;
  };
  std::thread first(add);
  std::thread second(add);
  first.join();
  second.join();
  std::printf("%ld\n", count);
  return 0;
}
