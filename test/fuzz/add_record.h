// SPDX-License-Identifier: Apache-2.0
//
// The records of one process, put among traces as the analyzer's loader does it.
#ifndef RINGSIDE_TEST_FUZZ_ADD_RECORD_H
#define RINGSIDE_TEST_FUZZ_ADD_RECORD_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/facts/facts.h"
#include "analyzer/load/dump/flight_recorder.h"
#include "analyzer/match/matcher.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::fuzz {

inline void add_record(load::Dump&& record, const std::string& path, model::Traces& traces) {
  std::vector<model::NameId> ids;
  for (model::NameId id = 0; id < record.names.size(); ++id) {
    ids.push_back(traces.names.id(record.names.text(id)));
  }
  model::Operations operations;
  operations.append(std::move(record.file.operations), ids);
  record.file.operations = std::move(operations);
  record.file.path = path;
  traces.files.push_back(std::move(record.file));
}

/// Records of durations through their reader, and those that it takes through the summary.
template <typename Read>
void summarise(std::string_view bytes, const Read& read) {
  load::Dump record;
  if (!read(bytes, record).empty()) {
    return;
  }
  model::Traces traces;
  add_record(std::move(record), "0", traces);
  const auto alignment = align::Alignment::none(traces);
  const match::Matches matches = match::match_operations(traces);
  const facts::Facts facts(traces, matches, alignment);
  const model::Problems problems;
  report::summary_as_table(report::make_summary(facts, problems, {}), false);
}

}  // namespace ringside::fuzz

#endif  // RINGSIDE_TEST_FUZZ_ADD_RECORD_H
