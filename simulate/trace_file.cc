// SPDX-License-Identifier: Apache-2.0
#include "simulate/trace_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "ringside/trace_schema.h"

namespace ringside::simulate {
namespace {

constexpr std::int64_t kBase_s = 227 * schema::kBaseTimeUnit_s;
constexpr std::array kGroupNames = {"world", "split", "orthogonal"};
constexpr std::array kTypeNames = {"Coll", "P2p", "CollApi", "KernelCh", "ProxyOp", "ProxyStep"};

std::string name_of_file(const Options& options, int rank) {
  const int host = rank / options.ranks_per_host;
  return "ringside." + options.job + ".host" + std::to_string(host) + '.' +
         std::to_string(1000 + rank) + ".0.json";
}

constexpr std::int64_t kSteps = 4;  // of a row
constexpr std::uint64_t kFlow = 0x7f3a000000000000;

bool is_in_flight(const Operation& operation) {
  return operation.state != State::kCompleted;
}

}  // namespace

TraceFile::TraceFile(const Options& options, int rank, const HostClock& clock)
    : options_(options),
      rank_(rank),
      clock_(clock),
      name_(name_of_file(options, rank)),
      path_(options.directory + '/' + name_),
      out_(path_) {}

void TraceFile::metadata(const char* name) {
  const int pid = 1000 + rank_;
  out_ << R"({"ph":"M","name":")" << name << R"(","pid":)" << pid << R"(,"tid":)" << pid
       << R"(,"ts":0,"args":{)";
}

// A step is noticed by two readings of the clocks, which the plugin makes every ten milliseconds.
void TraceFile::clock_line(std::int64_t true_ns, const ClockStep* step) {
  const std::int64_t ts_ns = clock_.at(true_ns);
  metadata(schema::kLineClock);
  out_ << R"("ts_ns":)" << ts_ns << R"(,"realtime_ns":)";
  out_.hex(static_cast<std::uint64_t>(kBase_s * 1'000'000'000 + ts_ns)) << R"(,"monotonic_ns":)";
  out_.hex(static_cast<std::uint64_t>(ts_ns)) << R"(,"uncertainty_ns":50)";
  if (step != nullptr) {
    constexpr std::int64_t kBefore_ns = 4'000'000;
    out_ << R"(,"step_ns":)" << -step->size_ns << R"(,"step_after_ns":)"
         << clock_.at(step->at_ns - kBefore_ns);
  }
  if (options_.max_error_ns > 0) {
    out_ << R"(,"synchronised":true,"estimated_error_ns":)" << (options_.max_error_ns + 9) / 10
         << R"(,"maximum_error_ns":)" << options_.max_error_ns;
  }
  out_ << "}},\n";
}

bool TraceFile::starts_late() const {
  return std::any_of(options_.faults.begin(), options_.faults.end(), [&](const Fault& fault) {
    return fault.kind == FaultKind::kStartLate && fault.rank == rank_;
  });
}

void TraceFile::window_lines(std::int64_t start_ns) {
  const int pid = 1000 + rank_;
  metadata(schema::kLineWindow);
  out_ << R"("window":1,"start_ns":)" << start_ns << R"(,"events":["Coll","P2p"]}},)" << '\n';
  out_ << R"({"ph":"i","cat":"mark","s":"p","pid":)" << pid << R"(,"tid":)" << pid << R"(,"ts":)";
  out_.microseconds(start_ns) << R"(,"name":"ringside start","args":{}},)" << '\n';
}

void TraceFile::communicator_line(const Communicator& communicator, std::int64_t created_ns) {
  const auto& members = communicator.members;
  const auto place = std::find(members.begin(), members.end(), rank_) - members.begin();
  const auto group = static_cast<std::size_t>(communicator.group);
  hashes_.at(group) = communicator.hash;
  sizes_.at(group) = members.size();
  metadata(schema::kLineCommunicator);
  out_ << R"("context":)" << group + 1;
  if (!options_.no_hash) {
    out_ << R"(,"comm":)";
    out_.hex(communicator.hash) << R"(,"name":")" << kGroupNames.at(group) << '"';
  }
  out_ << R"(,"rank":)" << place;
  if (!options_.no_hash) {
    out_ << R"(,"nranks":)" << members.size() << R"(,"nnodes":)"
         << (members.back() / options_.ranks_per_host - members.front() / options_.ranks_per_host +
             1);
  }
  out_ << R"(,"created_ns":)" << created_ns << "}},\n";
}

void TraceFile::begin(const std::vector<Communicator>& communicators) {
  const std::int64_t start_ns = clock_.at(kJobStart_ns - 2'000'000);
  const int host = rank_ / options_.ranks_per_host;
  out_ << '[';
  metadata(schema::kLineTrace);
  out_ << R"("format_version":)" << schema::kFormatVersion
       << R"(,"plugin_version":"0.1.0","run_id":)";
  out_.hex((options_.seed << 20U) + static_cast<std::uint64_t>(rank_) + 1);
  const bool is_late = starts_late();
  out_ << (options_.end == End::kDump ? R"(,"dump":true)" : "")
       << R"(,"segment":1,"segment_start_ns":)" << start_ns << R"(,"job":")" << options_.job
       << R"(","host":"host)" << host << R"(","boot_id":"boot)" << host << R"(","pid":)"
       << 1000 + rank_ << R"(,"launcher_rank":)" << rank_
       << R"(,"launcher_rank_from":"RANK","base_time_s":)" << kBase_s << R"(,"start_ns":)"
       << start_ns << R"(,"nccl_version":")" << (options_.seq_from_window ? "2.25.1" : "2.28.9")
       << R"(","abi":)" << (options_.no_hash ? 2 : 5) << R"(,"clock":"tsc","events":)"
       << (is_late ? "[]" : R"(["Coll","P2p"])") << R"(,"config":{"RINGSIDE_START":")"
       << (is_late ? '0' : '1') << R"("},"environment":{}}},)" << '\n';
  metadata("process_name");
  out_ << R"("name":"rank )" << rank_ << " on host" << host << "\"}},\n";
  metadata("process_sort_index");
  out_ << R"("sort_index":)" << rank_ << "}},\n";
  clock_line(kJobStart_ns - 2'000'000);
  if (!is_late) {
    window_lines(start_ns);
  }
  for (const Communicator& communicator : communicators) {
    const auto& members = communicator.members;
    if (std::find(members.begin(), members.end(), rank_) != members.end()) {
      communicator_line(communicator,
                        start_ns + 1000 * (static_cast<std::int64_t>(communicator.group) + 1));
    }
  }
}

void TraceFile::count(Type type, const Operation& operation, std::int64_t events) {
  counts_.at(type).by_fate.at(static_cast<std::size_t>(operation.fate)) += events;
}

void TraceFile::account_line(std::int64_t true_ns) {
  metadata(schema::kLineAccount);
  out_ << R"("ts_ns":)" << clock_.at(true_ns) << R"(,"final":)"
       << (options_.end == End::kClosed ? "true" : "false") << R"(,"by_type":{)";
  const char* comma = "";
  for (std::size_t type = 0; type < kTypes; ++type) {
    const auto& [written, sampled_out, filtered, dropped] = counts_.at(type).by_fate;
    const std::int64_t produced = 2 * (written + sampled_out + filtered + dropped);
    if (produced == 0) {
      continue;
    }
    out_ << comma << '"' << kTypeNames.at(type) << R"(":{"produced":)" << produced;
    comma = ",";
    const auto entry = [&](const char* name, std::int64_t value) {
      if (value != 0) {
        out_ << ",\"" << name << "\":" << value;
      }
    };
    entry("written", written);
    entry("merged", written);
    entry("filtered", 2 * filtered);
    entry("sampled_out", 2 * sampled_out);
    // The start of an operation is lost in the ring, so all its events have no parent.
    const bool is_operation = type == kColl || type == kP2p;
    entry("dropped_ring_full", is_operation ? dropped : 0);
    entry("dropped_parent", is_operation ? dropped : 2 * dropped);
    out_ << '}';
  }
  out_ << "}}},\n";
}

void TraceFile::end(std::int64_t window_start_ns, std::int64_t end_ns) {
  if (starts_late()) {
    window_lines(clock_.at(window_start_ns));
  }
  for (const ClockStep& step : clock_.steps) {
    if (step.is_reported) {
      constexpr std::int64_t kBehind_ns = 3'000'000;
      clock_line(step.over_ns() + kBehind_ns, &step);
    }
  }
  clock_line(end_ns);
  account_line(end_ns);
  if (options_.end != End::kKilled) {
    metadata(schema::kLineEnd);
    out_ << R"("ts_ns":)" << clock_.at(end_ns) << R"(,"operations":)" << operations_ << "}}\n]\n";
  }
  out_.flush();
  if (std::find(options_.truncate.begin(), options_.truncate.end(), rank_) !=
      options_.truncate.end()) {
    cut();
  }
}

void TraceFile::cut() const {
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path_));
  std::int64_t length = size * 3 / 5;
  std::ifstream file(path_, std::ios::binary);
  char before[2] = {'\n', '\n'};
  // The middle of a line: neither the last byte that stays nor the first that goes ends one.
  while (length > 2 && (before[0] == '\n' || before[1] == '\n')) {
    --length;
    file.seekg(length - 1);
    file.read(before, 2);
  }
  file.close();
  std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(length));
}

bool TraceFile::has_proxy(const Operation& operation) const {
  return options_.proxy_times && !operation.rows.empty();
}

bool TraceFile::has_start(const Operation& operation) const {
  return operation.state != State::kEnqueued && (!options_.proxy_times || has_proxy(operation));
}

std::int64_t TraceFile::start_of(const Operation& operation) const {
  return clock_.at(has_proxy(operation) ? operation.first_byte_ns : operation.start_ns);
}

void TraceFile::count_all(const Operation& operation) {
  count(operation.is_p2p ? kP2p : kColl, operation, 1);
  if (options_.detail == Detail::kOperationsOnly) {
    return;
  }
  if (options_.detail == Detail::kFull && !operation.is_p2p) {
    count(kCollApi, operation, 1);
  }
  if (options_.detail == Detail::kFull && operation.state == State::kCompleted) {
    count(kKernelCh, operation, options_.channels);
  }
  if (options_.steps) {
    const auto rows = static_cast<std::int64_t>(operation.rows.size());
    count(kProxyOp, operation, rows);
    count(kProxyStep, operation, rows * kSteps);
  }
}

void TraceFile::take(const Operation& operation) {
  count_all(operation);
  last_state_ = operation.state == State::kCompleted ? "completed"
                : operation.state == State::kStarted ? "started"
                                                     : "enqueued";
  if (operation.fate != Fate::kWritten) {
    dropped_ += operation.fate == Fate::kDropped ? 1 : 0;
    return;
  }
  ++operations_;
  const bool is_bare = options_.detail == Detail::kOperationsOnly;
  const std::uint64_t id = ++asyncs_;
  const std::int64_t enqueue_ns = clock_.at(operation.enqueue_start_ns);
  const std::int64_t start_ns = has_start(operation) ? start_of(operation) : enqueue_ns;
  const char* const group = kGroupNames.at(static_cast<std::size_t>(operation.group));
  if (!is_bare) {
    calls_of(operation);
    begin_async(schema::kCategoryOperation, id, std::min(enqueue_ns, start_ns));
    out_ << R"(,"name":")" << group << "\"},\n";
  }
  begin_async(schema::kCategoryOperation, id, start_ns);
  line_of(operation);
  if (!is_bare && !is_in_flight(operation)) {
    const std::int64_t call_ns = clock_.at(operation.enqueue_end_ns);
    const std::int64_t end_ns = has_start(operation) ? clock_.at(operation.end_ns) : call_ns;
    end_async(schema::kCategoryOperation, id, end_ns);
    out_ << R"(,"name":")" << operation.func << "\"},\n";
    end_async(schema::kCategoryOperation, id, std::max(end_ns, call_ns));
    out_ << R"(,"name":")" << group << "\"},\n";
  }
  if (!is_bare) {
    rows_of(operation);
  }
  out_.flush_if_large();
}

void TraceFile::begin_async(const char* category, std::uint64_t id, std::int64_t ts_ns) {
  const int pid = 1000 + rank_;
  out_ << R"({"ph":"b","cat":")" << category << R"(","id2":{"local":)";
  out_.hex(id) << R"(},"pid":)" << pid << R"(,"tid":)" << pid << R"(,"ts":)";
  out_.microseconds(ts_ns);
}

void TraceFile::end_async(const char* category, std::uint64_t id, std::int64_t ts_ns) {
  const int pid = 1000 + rank_;
  out_ << R"({"ph":"e","cat":")" << category << R"(","id2":{"local":)";
  out_.hex(id) << R"(},"pid":)" << pid << R"(,"tid":)" << pid << R"(,"ts":)";
  out_.microseconds(ts_ns);
}

void TraceFile::line_of(const Operation& operation) {
  out_ << R"(,"name":")" << operation.func << '"';
  if (options_.detail != Detail::kOperationsOnly) {
    out_ << R"(,"bind_id":)";
    out_.hex(kFlow + static_cast<std::uint64_t>(operations_)) << R"(,"flow_in":true)";
  }
  out_ << R"(,"args":{"op":)" << operations_;
  keys_of(operation);
  times_of(operation);
  out_ << "}},\n";
}

void TraceFile::keys_of(const Operation& operation) {
  const auto group = static_cast<std::size_t>(operation.group);
  out_ << R"(,"context":)" << group + 1;
  const bool is_bare = options_.detail == Detail::kOperationsOnly;
  if (!options_.no_hash) {
    out_ << R"(,"comm":)";
    out_.hex(hashes_.at(group));
  }
  out_ << R"(,"rank":)" << operation.local_rank;
  if (!options_.no_hash) {
    out_ << R"(,"nranks":)" << sizes_.at(group);
  }
  out_ << R"(,"kind":")" << (operation.is_p2p ? "p2p" : "coll") << R"(","func":")" << operation.func
       << '"';
  if (!operation.is_p2p) {
    out_ << R"(,"seq":)" << operation.seq;
  }
  out_ << R"(,"count":)" << operation.count << R"(,"datatype":")" << operation.datatype
       << R"(","bytes":)" << operation.bytes;
  if (operation.root >= 0) {
    out_ << R"(,"root":)" << operation.root;
  }
  if (operation.is_p2p) {
    out_ << R"(,"peer":)" << operation.peer;
  } else {
    out_ << R"(,"algo":"RING","proto":"SIMPLE")";
  }
  // Lines for load stay below 500 bytes.
  if (operation.is_p2p || !is_bare) {
    out_ << R"(,"channels":)" << options_.channels << R"(,"group":)" << operation.group_id;
  }
  out_ << (is_in_flight(operation) ? R"(,"in_flight":true)" : "") << R"(,"window":1)";
  if (!is_bare) {
    out_ << R"(,"tid":)" << 1000 + rank_;
  }
}

void TraceFile::times_of(const Operation& operation) {
  const bool is_started = has_start(operation);
  out_ << R"(,"enqueue_start_ns":)" << clock_.at(operation.enqueue_start_ns)
       << R"(,"enqueue_end_ns":)" << clock_.at(operation.enqueue_end_ns);
  if (is_started) {
    out_ << R"(,"start_ns":)" << start_of(operation);
    if (!is_in_flight(operation)) {
      out_ << R"(,"end_ns":)" << clock_.at(operation.end_ns);
    }
  }
  out_ << R"(,"times_from":")"
       << (!is_started            ? "enqueue"
           : has_proxy(operation) ? "proxy"
                                  : "gpu")
       << R"(","state":")"
       << (!is_in_flight(operation) ? "completed"
           : is_started             ? "started"
                                    : "enqueued")
       << '"';
}

void TraceFile::calls_of(const Operation& operation) {
  const int pid = 1000 + rank_;
  const std::int64_t start_ns = clock_.at(operation.enqueue_start_ns);
  const std::int64_t end_ns = clock_.at(operation.enqueue_end_ns);
  const auto group = static_cast<std::size_t>(operation.group);
  const auto slice = [&](std::int64_t from_ns, std::int64_t to_ns, const char* name) {
    out_ << R"({"ph":"X","cat":"api","pid":)" << pid << R"(,"tid":)" << pid << R"(,"ts":)";
    out_.microseconds(from_ns) << R"(,"dur":)";
    out_.microseconds(to_ns - from_ns) << R"(,"name":")" << name << '"';
  };
  if (calls_ == 0) {
    metadata("thread_name");
    out_ << R"("name":"trainer"}},)" << '\n';
  }
  if (options_.detail == Detail::kFull && !operation.is_p2p) {
    slice(start_ns, start_ns + (end_ns - start_ns) / 4, operation.func);
    out_ << R"(,"args":{"type":"CollApi","id":)" << ++calls_ << R"(,"context":)" << group + 1
         << "}},\n";
  }
  slice(start_ns + (end_ns - start_ns) / 2, end_ns, operation.func);
  out_ << R"(,"bind_id":)";
  out_.hex(kFlow + static_cast<std::uint64_t>(operations_))
      << R"(,"flow_out":true,"args":{"type":")" << (operation.is_p2p ? "P2p" : "Coll")
      << R"(","id":)" << ++calls_ << R"(,"context":)" << group + 1 << R"(,"op":)" << operations_
      << "}},\n";
}

void TraceFile::rows_of(const Operation& operation) {
  const auto group = static_cast<std::size_t>(operation.group);
  if (options_.detail == Detail::kFull && operation.state == State::kCompleted) {
    for (int channel = 0; channel < options_.channels; ++channel) {
      const std::uint64_t id = ++asyncs_;
      begin_async(schema::kCategoryGpu, id, clock_.at(operation.start_ns));
      out_ << R"(,"name":"GPU channel )" << channel << R"(","args":{"context":)" << group + 1
           << R"(,"op":)" << operations_ << R"(,"gpu_start":)";
      out_.hex(static_cast<std::uint64_t>(operation.start_ns)) << R"(,"gpu_stop":)";
      out_.hex(static_cast<std::uint64_t>(operation.end_ns))
          << R"(,"callback_start_ns":)" << clock_.at(operation.start_ns + 100'000)
          << R"(,"callback_stop_ns":)" << clock_.at(operation.end_ns + 100'000) << "}},\n";
      end_async(schema::kCategoryGpu, id, clock_.at(operation.end_ns));
      out_ << R"(,"name":"GPU channel )" << channel << "\"},\n";
    }
  }
  if (options_.steps) {
    for (const NetRow& row : operation.rows) {
      net_row(operation, row);
    }
  }
}

/// In true time, of each step: from its begin the sender waits for the GPU, then for the peer, then
/// transfers, all in nine tenths of the step; the receiver's step ends with the tenth that is left.
void TraceFile::net_row(const Operation& operation, const NetRow& row) {
  const char* const direction = row.is_send ? "send" : "recv";
  const auto group = static_cast<std::size_t>(operation.group);
  const std::uint64_t row_id = ++asyncs_;
  begin_async(schema::kCategoryProxy, row_id, clock_.at(row.start_ns));
  out_ << R"(,"name":")" << direction << " channel " << row.channel << R"(","args":{"context":)"
       << group + 1 << R"(,"op":)" << operations_ << R"(,"peer":)" << row.peer << R"(,"steps":)"
       << kSteps << R"(,"chunk_bytes":)" << row.bytes / static_cast<std::uint64_t>(kSteps)
       << R"(,"bytes":)" << row.bytes << R"(,"func":")" << operation.func << "\"}},\n";
  end_async(schema::kCategoryProxy, row_id, clock_.at(row.end_ns));
  out_ << R"(,"name":")" << direction << " channel " << row.channel << "\"},\n";
  const std::int64_t step_ns = (row.end_ns - row.start_ns) / kSteps;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const std::int64_t begin_ns = row.start_ns + step * step_ns;
    const std::int64_t end_ns = begin_ns + (row.is_send ? step_ns * 9 / 10 : step_ns);
    const std::int64_t wait_ns = step_ns / 20;
    const std::int64_t moved_ns = row.transfer_ns / kSteps;
    const std::uint64_t id = ++asyncs_;
    begin_async(schema::kCategoryStep, id, clock_.at(begin_ns));
    out_ << R"(,"name":")" << direction << " steps channel " << row.channel
         << R"(","args":{"context":)" << group + 1 << R"(,"op":)" << operations_ << R"(,"step":)"
         << step << R"(,"peer":)" << row.peer << R"(,"bytes":)"
         << row.bytes / static_cast<std::uint64_t>(kSteps) << R"(,"gpu_wait_ns":)" << wait_ns;
    if (row.is_send) {
      const std::int64_t peer_ns = end_ns - begin_ns - wait_ns - moved_ns;
      out_ << R"(,"peer_wait_ns":)" << std::max<std::int64_t>(peer_ns, 0);
    }
    out_ << R"(,"transfer_ns":)" << (row.is_send ? moved_ns : end_ns - begin_ns - 2 * wait_ns);
    if (!row.is_send) {
      out_ << R"(,"flush_ns":)" << wait_ns;
    }
    out_ << "}},\n";
    end_async(schema::kCategoryStep, id, clock_.at(end_ns));
    out_ << R"(,"name":")" << direction << " steps channel " << row.channel << "\"},\n";
  }
}

}  // namespace ringside::simulate
