// SPDX-License-Identifier: Apache-2.0
//
// Bytes as an answer of NCCL's RAS, as text or JSON, and as the findings of `ncclras -D`.
#include <cstdint>
#include <string_view>

#include "analyzer/load/imports/ras.h"
#include "analyzer/report/ras_report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringside;
  model::Ras ras;
  if (load::read_ras({reinterpret_cast<const char*>(data), size}, ras).empty()) {
    report::render(report::ras_document(ras), "table");
  }
  return 0;
}
