// SPDX-License-Identifier: Apache-2.0
//
// Bytes as the output of nccl-tests. Every figure that is read is finite, and has ranks and a size.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analyzer/load/imports/nccl_tests.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringside;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const load::NcclTestResult& one :
       load::read_nccl_tests(text, "all_reduce_perf.txt").results) {
    if (!std::isfinite(one.busbw_gb_s) || !(one.busbw_gb_s > 0) || one.ranks < 2 ||
        one.function.empty()) {
      std::abort();
    }
  }
  return 0;
}
