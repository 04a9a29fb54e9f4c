// SPDX-License-Identifier: Apache-2.0
//
// A trace of PyTorch's profiler (Kineto), as torch.profiler's export_chrome_trace writes it: one
// JSON object with all events, plain or compressed by gzip. Read as a whole into memory.
#ifndef RINGSIDE_ANALYZER_LOAD_KINETO_H
#define RINGSIDE_ANALYZER_LOAD_KINETO_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <simdjson.h>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::load {

/// A kernel of NCCL on a GPU's stream.
struct NcclKernel {
  std::size_t event = 0;      // its place among the events
  std::int64_t start_ns = 0;  // since the epoch, by its host's clock
  std::int64_t end_ns = 0;
  std::string func;  // as the trace calls it ("AllReduce"); "SendRecv" for all point-to-point
  std::optional<std::uint64_t> bytes;  // the message as one rank gives or gets it
};

class KinetoFile {
 public:
  /// Why it cannot be read, or is no such trace; nothing if it is one.
  std::optional<std::string> open(const std::string& path);

  /// distributedInfo.rank.
  std::optional<std::int64_t> rank() const { return rank_; }
  /// The process's pid, from the metadata of its own events; nothing if there are several.
  std::optional<std::int64_t> pid() const { return pid_; }

  const simdjson::dom::array& events() const { return events_; }

  /// When an event is, in nanoseconds since the epoch; nothing if it has no time.
  std::optional<std::int64_t> time_ns(const simdjson::dom::object& event) const;
  static std::int64_t duration_ns(const simdjson::dom::object& event);

  /// In order of time.
  std::vector<NcclKernel> kernels() const;

 private:
  void find_pid();

  simdjson::dom::parser parser_;
  simdjson::dom::array events_;
  std::int64_t base_ns_ = 0;
  std::optional<std::int64_t> rank_;
  std::optional<std::int64_t> pid_;
};

/// NCCL's function of a kernel's name ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)"); empty if it
/// is none of NCCL's.
std::string_view nccl_function_of_kernel(std::string_view name);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_KINETO_H
