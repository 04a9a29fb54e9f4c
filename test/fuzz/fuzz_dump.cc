// SPDX-License-Identifier: Apache-2.0
//
// Bytes as a dump of PyTorch's Flight Recorder, a pickle or JSON: through the reader, and where
// that takes them through the matching and what is stuck. The first byte says whether a second rank
// has them, too.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/align/alignment.h"
#include "analyzer/load/dump/flight_recorder.h"
#include "analyzer/match/matcher.h"
#include "analyzer/metrics/hang/hang.h"
#include "analyzer/report/calls_report.h"
#include "analyzer/report/hang/hang_report.h"
#include "analyzer/report/match_report.h"
#include "test/fuzz/add_record.h"

namespace {

using namespace ringside;

void add(std::string_view bytes, std::int64_t rank, model::Traces& traces) {
  load::Dump dump;
  if (load::read_dump(bytes, rank, dump).empty()) {
    fuzz::add_record(std::move(dump), std::to_string(rank), traces);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  model::Traces traces;
  add(bytes, 0, traces);
  if (data[0] % 2 == 1) {
    add(bytes, 1, traces);
  }
  if (traces.files.empty()) {
    return 0;
  }
  const auto alignment = align::Alignment::estimate(traces);
  const metrics::Hang hang = metrics::find_hang(traces, alignment, 0);
  report::render(report::make_hang_report(traces, alignment, hang, 0, true), "table");
  const match::Matches matches = match::match_operations(traces);
  report::render(report::match_document(traces, matches, alignment, 10, true), "table");
  report::render(report::calls_document(traces, matches, alignment, 0, true), "table");
  return 0;
}
