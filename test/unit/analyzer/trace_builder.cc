// SPDX-License-Identifier: Apache-2.0
#include "test/unit/analyzer/trace_builder.h"

#include <utility>

namespace ringside {

model::TraceFile& TraceBuilder::add_file(std::uint32_t rank, std::optional<std::string> comm,
                                         std::optional<std::uint32_t> nranks) {
  operations_.emplace_back();
  model::TraceFile& file = traces_.files.emplace_back();
  file.path = std::to_string(traces_.files.size()) + ".json";
  file.process.run_id = file.path;
  file.process.pid = 100 + rank;
  file.closed = true;
  file.operations_written = 0;
  file.windows[1] = {};
  model::Context& context = file.contexts[1];
  context.comm = std::move(comm);
  context.rank = rank;
  context.nranks = nranks;
  context.created_ns = 1;
  return file;
}

model::Operation& TraceBuilder::add(const std::string& func, std::optional<std::uint64_t> seq,
                                    std::int64_t duration_ns) {
  model::TraceFile& file = traces_.files.back();
  model::Operation operation;
  operation.id = operations_.back().size() + 1;
  is_changed_ = true;
  operation.context = 1;
  operation.func = traces_.names.id(func);
  operation.datatype = traces_.names.id("bytes");
  operation.seq = seq;
  operation.count = 1000;
  operation.bytes = 1000;
  operation.enqueue_start_ns = time_ns_ += 1000;
  operation.start_ns = time_ns_;
  operation.end_ns = time_ns_ + duration_ns;
  operation.state = model::State::kCompleted;
  operation.times_from = model::TimesFrom::kGpu;
  ++file.contexts[1].operations;
  file.operations_written = operations_.back().size() + 1;
  return operations_.back().emplace_back(operation);
}

model::Operation& TraceBuilder::add_transfer(const std::string& func, std::uint32_t peer) {
  model::Operation& operation = add(func, std::nullopt);
  operation.kind = model::Kind::kPointToPoint;
  operation.peer = peer;
  return operation;
}

model::Traces& TraceBuilder::traces() {
  for (std::size_t i = 0; is_changed_ && i < operations_.size(); ++i) {
    model::Operations& packed = traces_.files[i].operations;
    packed = {};
    for (const model::Operation& operation : operations_[i]) {
      packed.push_back(operation);
    }
  }
  is_changed_ = false;
  return traces_;
}

}  // namespace ringside
