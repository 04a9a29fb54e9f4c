// SPDX-License-Identifier: Apache-2.0
// The part of TraceFile that writes operations and what belongs to them.
#include <algorithm>
#include <array>

#include "ringside/trace_schema.h"
#include "test/generate/trace_file.h"

namespace ringside::generate {
namespace {

constexpr std::array kGroupNames = {"world", "split", "orthogonal"};
constexpr std::int64_t kSteps = 4;  // of a row
constexpr std::uint64_t kFlow = 0x7f3a000000000000;

bool is_in_flight(const Operation& operation) {
  return operation.state != State::kCompleted;
}

}  // namespace

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

}  // namespace ringside::generate
