// SPDX-License-Identifier: Apache-2.0
//
// Bytes as the lines of NCCL Inspector.
#include <cstdint>

#include "analyzer/load/durations.h"
#include "test/fuzz/add_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringside;
  fuzz::summarise({reinterpret_cast<const char*>(data), size}, load::read_inspector);
  return 0;
}
