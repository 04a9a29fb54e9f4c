// SPDX-License-Identifier: Apache-2.0
//
// Bytes as an answer of NCCL's RAS, as a dump of PyTorch's Flight Recorder, or as another
// profiler's records of durations: through the reader, and where that takes them through the
// matching and what is stuck, or the summary. The first byte says whether a second rank has them,
// too.
#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/align/alignment.h"
#include "analyzer/facts/facts.h"
#include "analyzer/load/durations.h"
#include "analyzer/load/flight_recorder.h"
#include "analyzer/load/ras.h"
#include "analyzer/match/matcher.h"
#include "analyzer/metrics/hang.h"
#include "analyzer/report/calls_report.h"
#include "analyzer/report/hang_report.h"
#include "analyzer/report/match_report.h"
#include "analyzer/report/ras_report.h"
#include "analyzer/report/summary.h"

namespace {

using namespace ringside;

void add(std::string_view bytes, std::int64_t rank, model::Traces& traces) {
  load::Dump dump;
  const bool is_durations = load::begins_as_durations(bytes);
  if (!(is_durations ? load::read_durations(bytes, dump) : load::read_dump(bytes, rank, dump))
           .empty()) {
    return;
  }
  std::vector<model::NameId> ids;
  for (model::NameId id = 0; id < dump.names.size(); ++id) {
    ids.push_back(traces.names.id(dump.names.text(id)));
  }
  model::Operations operations;
  operations.append(std::move(dump.file.operations), ids);
  dump.file.operations = std::move(operations);
  dump.file.path = std::to_string(rank);
  traces.files.push_back(std::move(dump.file));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (load::begins_as_ras(bytes)) {
    model::Ras ras;
    if (load::read_ras(bytes, ras).empty()) {
      report::render(report::ras_document(ras), "table");
    }
    return 0;
  }
  model::Traces traces;
  add(bytes, 0, traces);
  if (data[0] % 2 == 1) {
    add(bytes, 1, traces);
  }
  if (traces.files.empty()) {
    return 0;
  }
  if (!traces.files.front().process.tells_start) {
    const auto alignment = align::Alignment::none(traces);
    const match::Matches matches = match::match_operations(traces);
    const facts::Facts facts(traces, matches, alignment);
    const model::Problems problems;
    report::summary_as_table(report::make_summary(facts, problems, {}), false);
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
