// SPDX-License-Identifier: Apache-2.0
//
// A trace of PyTorch's profiler (Kineto) as plain columns: what the CPU's threads did, what ran on
// the GPU's streams, and what ties them together. Times are nanoseconds since the epoch, by the
// host's clock.
#ifndef RINGSIDE_ANALYZER_MODEL_KINETO_KINETO_H
#define RINGSIDE_ANALYZER_MODEL_KINETO_KINETO_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/name_table.h"

namespace ringside::model {

/// A process group, as `distributedInfo.pg_config` lists it.
struct KinetoGroup {
  std::string name;         // "0"
  std::string description;  // "default_pg"
  std::vector<std::int64_t> ranks;
};

/// "External id" and "correlation" where an event has none.
inline constexpr std::int64_t kNoId = -1;

/// An operator, a user's annotation (record_function), or a call of CUDA's runtime or driver.
struct KinetoCall {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t external_id = kNoId;
  std::int64_t correlation = kNoId;         // of calls of CUDA
  std::int64_t thread = 0;                  // the system's id
  std::int64_t record_function_id = kNoId;  // of operators: PyTorch's execution trace has it, too
  NameId name = kNoName;
};

enum class GpuWork : std::uint8_t { kKernel, kCopy, kSet };

/// A piece of work on a stream: a kernel, a copy, or a setting of memory.
struct GpuActivity {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t external_id = kNoId;
  std::int64_t correlation = kNoId;
  std::int64_t device = 0;
  std::int64_t stream = 0;
  NameId name = kNoName;
  GpuWork kind = GpuWork::kKernel;
};

enum class SyncKind : std::uint8_t { kStream, kContext, kEvent, kStreamWaitsEvent };

/// A synchronisation as CUPTI tells it (category cuda_sync), where that was enabled.
struct CudaSync {
  std::int64_t correlation = kNoId;  // of the call
  std::int64_t device = 0;
  std::int64_t stream = 0;  // that was waited for; of kStreamWaitsEvent the one that waits
  std::int64_t event_stream = kNoId;  // on which the event was recorded
  std::int64_t event_record = kNoId;  // correlation of that cudaEventRecord
  SyncKind kind = SyncKind::kStream;
};

/// A call of torch.distributed (record_param_comms).
struct KinetoComm {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t external_id = kNoId;
  std::int64_t thread = 0;
  NameId collective = kNoName;          // "allreduce"
  NameId group = kNoName;               // the process group's name: "0"
  NameId description = kNoName;         // of the group: "default_pg"
  NameId ranks = kNoName;               // of the group, "[0, 1]"; cut off behind the thirtieth
  NameId dtype = kNoName;               // as c10 names it: "Float"
  std::optional<std::uint64_t> inputs;  // elements
  std::optional<std::uint64_t> outputs;
  std::optional<std::uint64_t> seq;
  std::optional<std::uint64_t> group_size;
  std::optional<std::uint64_t> rank;   // in its group: its own, the root's or the peer's
  std::optional<std::int64_t> source;  // of a receive: the rank in the job
  std::optional<std::int64_t> destination;
};

struct KinetoTrace {
  std::string path;
  std::string cut;  // where and how the file ends too early; empty if it does not
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> pid;
  std::vector<KinetoGroup> groups;
  std::string host;          // empty where the profile does not name it
  std::string nccl_version;  // the same
  NameTable names;
  std::vector<KinetoCall> operators;  // each of these in order of start
  std::vector<KinetoCall> annotations;
  std::vector<KinetoCall> python;  // functions, "train.py(17): step", where they are asked for
  std::vector<KinetoCall> runtime;
  std::vector<GpuActivity> activities;
  std::vector<CudaSync> syncs;
  std::vector<KinetoComm> comms;
  std::uint64_t events = 0;
  /// Events that are not to be read, or do not have what their kind must have: a phase, a category,
  /// a thread or stream, a time, a duration.
  std::uint64_t damaged = 0;
};

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_KINETO_KINETO_H
