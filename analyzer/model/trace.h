// SPDX-License-Identifier: Apache-2.0
//
// The traces as they were read: a file is one process, a context is one communicator as seen by one
// rank of that process.
#ifndef RINGSIDE_ANALYZER_MODEL_TRACE_H
#define RINGSIDE_ANALYZER_MODEL_TRACE_H

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/name_table.h"
#include "analyzer/model/operation.h"
#include "analyzer/model/operations.h"
#include "plugin/topology/machine.h"

namespace ringside::model {

/// The choice of the operations that a trace has (RINGSIDE_SAMPLE). Without one it has all.
struct Sampling {
  std::uint64_t coll_of = 1;  // one collective of so many
  std::uint64_t p2p_of = 1;   // one send or receive of so many
  std::int64_t window_ns = 0;
  std::int64_t period_ns = 0;  // those called in the first window_ns of each; 0: at any time
  std::uint64_t min_bytes = 0;

  bool operator==(const Sampling&) const = default;
};

/// The first line of a trace.
struct Process {
  std::string run_id;
  bool dump = false;
  std::uint64_t segment = 1;  // of a dump: the oldest that is in it
  std::int64_t segment_start_ns = 0;
  std::string job;
  std::string host;
  /// NCCL's variables that say how it uses the machine, and by what it tells hosts apart.
  std::map<std::string, std::string> nccl_environment;
  std::string boot_id;  // of the host's kernel: processes with the same one share a clock
  std::int64_t pid = 0;
  std::optional<std::int64_t> launcher_rank;
  std::int64_t base_time_s = 0;
  std::int64_t start_ns = 0;
  std::string nccl_version;  // empty if not known
  std::int64_t abi = 0;
  Sampling sampling;
  bool starts_at_load = false;  // RINGSIDE_START, as `config` has it
  bool has_events = false;      // `events` is not empty
  /// The knowledge of its source. A dump of PyTorch's Flight Recorder tells neither whether an
  /// operation in flight has begun, nor when the dump was made.
  bool tells_begin = true;
  bool tells_moment = true;
  /// False of records that tell how long an operation ran, but not when: start_ns is 0 then, and
  /// end_ns is the duration.
  bool tells_start = true;
  /// Sends and receives that are no part of a group may run in communicators of two ranks, beside
  /// the other calls of their context.
  bool has_pair_communicators = false;
  /// Numbers count all collectives of a context together, whatever their functions, and nothing
  /// else. So equal numbers of two ranks are one place in the order of calls.
  bool has_common_numbers = false;
};

struct Context {
  std::optional<std::string> comm;  // the communicator's hash, "0x..."
  std::string name;                 // empty if not known
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> nranks;
  std::optional<std::int64_t> created_ns;
  std::optional<std::int64_t> finalized_ns;
  /// Why its source cannot say which contexts of others are of its communicator; empty if it can.
  std::string why_alone;
  std::string gpu_pci, gpu_uuid;  // of the GPU that the rank uses; empty if not known
  std::uint64_t operations = 0;
  /// Numbers of the last collectives that the program's own watchdog has seen, where it tells them.
  std::optional<std::int64_t> last_enqueued = std::nullopt, last_started = std::nullopt,
                              last_completed = std::nullopt;
};

/// Both clocks of a host, read together (ringside_clock).
struct ClockReading {
  std::int64_t ts_ns = 0;
  std::int64_t realtime_ns = 0;  // since the epoch
  std::int64_t monotonic_ns = 0;
  std::int64_t uncertainty_ns = 0;
  // The error of CLOCK_REALTIME, as the kernel states it; nothing if it states none.
  std::optional<bool> is_synchronised = std::nullopt;
  std::optional<std::int64_t> estimated_error_ns = std::nullopt, maximum_error_ns = std::nullopt;
  /// The clock stepped after that reading and before this one; nothing if it did not.
  std::optional<std::int64_t> step_after_ns = std::nullopt;
};

struct Window {
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns;
};

/// A mark of the application on one of its threads: a moment, or a range.
struct Mark {
  NameId name = kNoName;
  std::uint32_t tid = 0;
  bool is_range = false;
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns;  // of a range that has ended
  // A range around a call of torch.distributed has these; Operation has them from there.
  NameId called_by = kNoName;
  NameId process_group = kNoName;
  std::optional<std::uint64_t> torch_seq = std::nullopt;

  /// Has the same names in another table: names[id] is the one that its `id` has there.
  template <typename Names>
  void rename(const Names& names) {
    for (NameId* const id : {&name, &called_by, &process_group}) {
      *id = names[*id];
    }
  }
};

/// The last account of a file, summed over event types where not said otherwise.
struct Account {
  std::uint64_t produced = 0;
  std::uint64_t sampled_out = 0;
  std::uint64_t in_rings = 0;
  std::uint64_t rotated = 0;  // were in segments that the plugin deleted
  /// Callbacks lost, by "<event type> <reason>", for instance "ProxyStep dropped_ring_full".
  std::map<std::string, std::uint64_t> dropped;
  std::uint64_t given_up = 0;  // events that were written in flight since too many were open
};

/// The tensors of a call of torch.distributed.
struct CallTensors {
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
  std::optional<std::uint64_t> seq;  // as PyTorch counts collectives, or sends and receives
};

/// How a process ended, as `ringside run` has seen it.
struct ProcessEnd {
  std::int64_t realtime_ns = 0;        // by its host's clock, since the epoch
  std::optional<std::int64_t> status;  // as waitpid gives it; nothing if that was not seen
};

struct TraceFile {
  std::string path;
  Process process;
  std::map<std::uint32_t, Context> contexts;  // by number, which is the order of creation
  Operations operations;
  std::vector<CallTensors> tensors;         // of a Flight Recorder dump: of each operation
  std::vector<std::uint64_t> tensor_bytes;  // of the inputs and outputs of these, one by one
  std::vector<std::uint64_t> doubtful;      // ids of operations of a dump that are damaged there
  std::deque<ProxyOperation> proxies;  // there may be millions: a deque takes no more than they do
  std::deque<Step> steps;
  std::vector<ClockReading> clocks;                    // in the order of the file
  std::map<std::int64_t, topology::Machine> machines;  // readings of the machine, by their time
  std::map<std::uint64_t, Window> windows;             // by number
  std::map<std::uint64_t, Mark> marks;                 // by number
  std::optional<std::int64_t> last_ns;                 // of ringside_end, else of the last account
  Account account;
  std::optional<std::uint64_t> operations_written;  // of ringside_end: how many there should be
  std::uint64_t segments = 1;                       // files that were put together
  std::vector<std::string> later_paths;             // of those behind the first, in their order
  std::uint64_t segments_missing = 0;               // between the first and the last of them
  std::optional<std::uint64_t> next_segment;        // in which the last of them says it goes on
  bool closed = false;                              // ringside_end was there
  bool recovered = false;                           // by `ringside recover`
  /// The time since the last sign of life of a process whose rings were read while it lived.
  std::optional<std::int64_t> silent_ns;
  std::optional<ProcessEnd> end;
  /// Marks and ranges of the application that are in no file of the process.
  std::optional<std::uint64_t> marks_lost;
  std::optional<std::uint64_t> ranges_lost;
  bool torn = false;  // the last line had no newline
  std::uint64_t size_bytes = 0;
  std::uint64_t lines = 0;
  std::uint64_t bad_lines = 0;

  TraceFile() = default;
  TraceFile(const TraceFile& other) = default;
  TraceFile& operator=(const TraceFile& other) = default;
  // A deque does not promise that it can be moved, and so a growing vector would copy all files.
  TraceFile(TraceFile&& other) noexcept = default;
  TraceFile& operator=(TraceFile&& other) noexcept = default;
  ~TraceFile() = default;
};

/// All that was loaded.
struct Traces {
  NameTable names;
  std::vector<TraceFile> files;  // sorted by path
  std::size_t left_out = 0;      // files that were not chosen
};

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_TRACE_H
