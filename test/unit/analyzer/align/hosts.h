// SPDX-License-Identifier: Apache-2.0
//
// Makes the model of jobs on several hosts.
#ifndef RINGSIDE_TEST_UNIT_ANALYZER_ALIGN_HOSTS_H
#define RINGSIDE_TEST_UNIT_ANALYZER_ALIGN_HOSTS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/trace.h"

namespace ringside {

// Hosts with one rank each and right clocks; what they call is added one by one.
class Hosts {
 public:
  explicit Hosts(std::uint32_t count) : ids_(count) {
    for (std::uint32_t h = 0; h < count; ++h) {
      model::TraceFile& file = traces.files.emplace_back();
      file.process.host = "node" + std::to_string(h);
      file.process.boot_id = "boot" + std::to_string(h);
      file.process.nccl_version = "2.29.7";
      file.process.base_time_s = 1'790'857'026;
      file.windows[1] = {0, std::nullopt};
    }
  }

  void join(std::uint32_t host, std::uint32_t context, const std::string& comm, std::uint32_t rank,
            std::uint32_t nranks) {
    model::Context& made = traces.files[host].contexts[context];
    made.comm = comm;
    made.rank = rank;
    made.nranks = nranks;
    made.created_ns = 1;
    made.operations = 1;
  }

  model::Operation call(std::uint32_t host, std::uint32_t context, const char* func,
                        std::int64_t start_ns, std::int64_t end_ns) {
    model::Operation operation;
    operation.id = ++ids_[host];
    operation.context = context;
    operation.func = traces.names.id(func);
    operation.bytes = 4096;
    operation.state = model::State::kCompleted;
    operation.times_from = model::TimesFrom::kGpu;
    operation.enqueue_start_ns = start_ns;
    operation.start_ns = start_ns;
    operation.end_ns = end_ns;
    return operation;
  }

  void add(std::uint32_t host, const model::Operation& operation) {
    traces.files[host].operations.push_back(operation);
  }

  model::Traces traces;

 private:
  std::vector<std::uint64_t> ids_;
};

}  // namespace ringside

#endif  // RINGSIDE_TEST_UNIT_ANALYZER_ALIGN_HOSTS_H
