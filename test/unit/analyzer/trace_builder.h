// SPDX-License-Identifier: Apache-2.0
//
// Makes the model of small traces.
#ifndef RINGSIDE_TEST_UNIT_ANALYZER_TRACE_BUILDER_H
#define RINGSIDE_TEST_UNIT_ANALYZER_TRACE_BUILDER_H

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "analyzer/model/trace.h"

namespace ringside {

class TraceBuilder {
 public:
  /// Adds a process with one communicator (context 1) that is closed and complete.
  model::TraceFile& add_file(std::uint32_t rank, std::optional<std::string> comm = "0x1",
                             std::optional<std::uint32_t> nranks = 2);

  /// Adds a completed operation of 1000 bytes to the last file, a microsecond after the last one.
  model::Operation& add(const std::string& func, std::optional<std::uint64_t> seq,
                        std::int64_t duration_ns = 1000);
  /// Adds a Send or Recv.
  model::Operation& add_transfer(const std::string& func, std::uint32_t peer);

  /// The operations that were added to a file. References, also those of add(), may be written to
  /// until the next traces(); call this again to change an operation after that.
  std::deque<model::Operation>& operations(std::size_t file) {
    is_changed_ = true;
    return operations_[file];
  }

  model::Traces& traces();

 private:
  model::Traces traces_;
  std::deque<std::deque<model::Operation>> operations_;  // by file
  bool is_changed_ = false;                              // since they were put into traces_
  std::int64_t time_ns_ = 0;
};

}  // namespace ringside

#endif  // RINGSIDE_TEST_UNIT_ANALYZER_TRACE_BUILDER_H
