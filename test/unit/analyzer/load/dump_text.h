// SPDX-License-Identifier: Apache-2.0
//
// Texts of Flight Recorder dumps, and what is read from them.
#ifndef RINGSIDE_TEST_UNIT_ANALYZER_LOAD_DUMP_TEXT_H
#define RINGSIDE_TEST_UNIT_ANALYZER_LOAD_DUMP_TEXT_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/load/dump/flight_recorder.h"
#include "test/unit/catch.h"

namespace ringside::load {

// A dump as dump_json of PyTorch writes it, with these entries and this version.
inline std::string dump_of(const std::string& entries, const std::string& version = "2.10") {
  return R"({"comm_lib_version":"2.29.7","entries":[)" + entries +
         R"(],"pg_config":{"0":{"desc":"default_pg","name":"0","ranks":"[0, 2, 3]"},)"
         R"("7":{"desc":"undefined","name":"7","ranks":"[3]"}},"version":")" +
         version + R"("})";
}

inline std::string entry_of(int record, const std::string& call, int collective, int point_to_point,
                            const std::string& more) {
  return R"({"record_id":)" + std::to_string(record) + R"(,"process_group":["0","default_pg"],)" +
         R"("profiling_name":")" + call + R"(","collective_seq_id":)" + std::to_string(collective) +
         R"(,"p2p_seq_id":)" + std::to_string(point_to_point) + R"(,"time_created_ns":)" +
         std::to_string(1795375163662698670 + record) + ',' + more + '}';
}

inline constexpr char kFloats[] =
    R"("input_sizes":[[4,3]],"input_dtypes":["Float"],"output_sizes":[[8,3]],)"
    R"("output_dtypes":["Float"],"state":"completed")";

inline std::string scheduled(const std::string& tensors = kFloats) {
  std::string text = tensors;
  return text.replace(text.find("completed"), 9, "scheduled");
}

inline Dump read(const std::string& text, std::int64_t rank = 2) {
  Dump dump;
  REQUIRE(read_dump(text, rank, dump).empty());
  return dump;
}

inline std::vector<std::string> problems_of(const Dump& dump) {
  std::vector<std::string> texts;
  for (const model::Problem& problem : dump.problems.lines()) {
    texts.push_back(std::to_string(problem.line) + ": " + problem.reason);
  }
  return texts;
}

}  // namespace ringside::load

#endif  // RINGSIDE_TEST_UNIT_ANALYZER_LOAD_DUMP_TEXT_H
