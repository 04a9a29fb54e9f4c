// SPDX-License-Identifier: Apache-2.0
//
// The lines that describe: process, threads, communicators, clocks, windows, the account.
#include "plugin/assemble/event_names.h"
#include "plugin/export/chrome_trace.h"
#include "ringside/trace_schema.h"

namespace ringside::exporting {
namespace {

void string_list(JsonText& line, const std::vector<std::string_view>& texts) {
  line.raw("[");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    line.raw(i == 0 ? "" : ",").string(texts[i]);
  }
  line.raw("]");
}

void string_map(JsonText& line, const std::vector<std::pair<std::string, std::string>>& pairs) {
  line.raw("{");
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    line.raw(i == 0 ? "" : ",").string(pairs[i].first).raw(":").string(pairs[i].second);
  }
  line.raw("}");
}

}  // namespace

std::string nccl_version_text(int version) {
  // Before 2.9 the minor version had three digits less; no release with a profiler is that old.
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

JsonText& ChromeTrace::metadata(std::string_view name, std::string_view before) {
  line_.clear();
  return line_.raw(before)
      .raw("{\"ph\":\"M\",\"name\":\"")
      .raw(name)
      .raw("\",\"pid\":")
      .integer(pid_)
      .raw(",\"tid\":")
      .integer(pid_)
      .raw(",\"ts\":0,\"args\":{");
}

void ChromeTrace::resume(int pid, std::uint64_t run_id) {
  pid_ = pid;
  run_id_ = run_id;
}

void ChromeTrace::begin(const ProcessFacts& facts, bool dump) {
  pid_ = facts.pid;
  run_id_ = facts.run_id;
  metadata(schema::kLineTrace, "[").raw("\"format_version\":").integer(schema::kFormatVersion);
  line_.member_string("plugin_version", facts.plugin_version).member_hex("run_id", facts.run_id);
  if (dump) {
    line_.member_true("dump");
  }
  line_.member("segment", facts.segment)
      .member("segment_start_ns", facts.segment_start_ns)
      .member_string("job", facts.job)
      .member_string("host", facts.host)
      .member_string("boot_id", facts.boot_id)
      .member("pid", facts.pid);
  if (facts.launcher_rank >= 0) {
    line_.member("launcher_rank", facts.launcher_rank)
        .member_string("launcher_rank_from", facts.launcher_rank_from);
  }
  line_.member("base_time_s", facts.base_time_s).member("start_ns", facts.start_ns);
  line_.key("nccl_version");
  if (facts.nccl_version != 0) {
    line_.string(nccl_version_text(facts.nccl_version));
  } else {
    line_.raw("null");
  }
  line_.member("abi", facts.abi_version).member_string("clock", facts.clock);
  string_list(line_.key("events"), facts.events);
  if (facts.sampling.is_on()) {
    line_.key("sampling").raw("{\"coll_of\":").integer(facts.sampling.coll_of);
    line_.member("p2p_of", facts.sampling.p2p_of)
        .member("window_ns", facts.sampling.window_ns)
        .member("period_ns", facts.sampling.period_ns)
        .member("min_bytes", facts.sampling.min_bytes)
        .raw("}");
  }
  string_map(line_.key("config"), facts.config);
  string_map(line_.key("environment"), facts.environment);
  end_line({});
  first_line_ = line_.text();

  std::string name;
  if (facts.launcher_rank >= 0) {
    name = "rank " + std::to_string(facts.launcher_rank) + " ";
  }
  name += facts.launcher_rank >= 0 ? "on " + facts.host : facts.host;
  metadata("process_name").raw("\"name\":").string(name);
  end_line({});
  metadata("process_sort_index").raw("\"sort_index\":").integer(std::max(facts.launcher_rank, 0));
  end_line({});
}

void ChromeTrace::end(std::int64_t ts_ns, std::uint64_t operations, const TraceEnd& how) {
  metadata(schema::kLineEnd).raw("\"ts_ns\":").integer(ts_ns).member("operations", operations);
  if (how.next_segment != 0) {
    line_.member("next_segment", how.next_segment);
  }
  if (how.recovered) {
    line_.member_true("recovered");
  }
  if (how.silent_ns) {
    line_.member("silent_ns", *how.silent_ns);
  }
  if (how.marks_lost) {
    line_.member("marks_lost", *how.marks_lost);
  }
  if (how.ranges_lost) {
    line_.member("ranges_lost", *how.ranges_lost);
  }
  line_.raw("}}\n]\n");
  file_.add(line_.text(), {});
}

void ChromeTrace::thread(std::int32_t tid, std::string_view name) {
  line_.clear();
  line_.raw("{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":")
      .integer(pid_)
      .raw(",\"tid\":")
      .integer(tid)
      .raw(",\"ts\":0,\"args\":{\"name\":")
      .string(name.empty() ? "thread" : name);
  end_line({});
}

// A process can have many communicators, so that they must not be compared with each other.
void ChromeTrace::note_rank(Labels& of, const assemble::Communicator& communicator) {
  if (of.has_hash && !several_ranks_ && --ranks_[of.hash].contexts == 0) {
    ranks_.erase(of.hash);
  }
  of.rank = communicator.rank;
  of.has_hash = communicator.has_hash;
  of.hash = communicator.hash;
  if (!of.has_hash || several_ranks_) {
    return;
  }
  OneRank& known = ranks_[of.hash];
  several_ranks_ = known.contexts > 0 && known.rank != of.rank;
  known.rank = of.rank;
  ++known.contexts;
  if (several_ranks_) {
    ranks_.clear();
  }
}

void ChromeTrace::communicator(const assemble::Communicator& communicator) {
  Labels& of = labels(communicator.context);
  const bool had_several_ranks = several_ranks_;
  note_rank(of, communicator);
  of.own = communicator.name;
  of.is_closed = communicator.finalized_ns != assemble::kUnknownTime;
  changing_.insert(communicator.context);
  if (of.own.empty() && communicator.has_hash) {
    JsonText hash;
    of.own = "communicator " + std::string(hash.hex(communicator.hash).text().substr(1, 6));
  }
  if (of.own.empty()) {
    of.own = "communicator " + std::to_string(communicator.context);
  }
  if (several_ranks_ != had_several_ranks) {
    for (Labels& other : labels_) {
      relabel(other);
    }
  }
  relabel(of);

  metadata(schema::kLineCommunicator).raw("\"context\":").integer(communicator.context);
  if (communicator.has_hash) {
    line_.member_hex("comm", communicator.hash);
  }
  if (!communicator.name.empty()) {
    line_.member_string("name", communicator.name);
  }
  if (communicator.rank_known) {
    line_.member("rank", communicator.rank);
  }
  if (communicator.has_size) {
    line_.member("nranks", communicator.nranks).member("nnodes", communicator.nnodes);
  }
  if (communicator.gpu_index >= 0) {
    line_.key("gpu").raw("{\"index\":").integer(communicator.gpu_index);
    line_.member_string("uuid", communicator.gpu_uuid).member_string("pci", communicator.gpu_pci);
    line_.raw("}");
  }
  std::vector<std::string_view> unsampled;
  if (communicator.coll_unsampled) {
    unsampled.emplace_back("coll");
  }
  if (communicator.p2p_unsampled) {
    unsampled.emplace_back("p2p");
  }
  if (!unsampled.empty()) {
    string_list(line_.key("unsampled"), unsampled);
  }
  line_.member("created_ns", communicator.created_ns);
  if (communicator.finalized_ns != assemble::kUnknownTime) {
    line_.member("finalized_ns", communicator.finalized_ns);
  }
  end_line({});
}

void ChromeTrace::relabel(Labels& of) const {
  const std::string rank = "rank " + std::to_string(of.rank);
  of.communicator = several_ranks_ ? of.own + " " + rank : of.own;
  of.prefix = several_ranks_ ? rank + " " : "";
}

void ChromeTrace::clock(const record::ClockReading& reading, std::int64_t ts_ns) {
  metadata(schema::kLineClock).raw("\"ts_ns\":").integer(ts_ns);
  line_.member_hex("realtime_ns", reading.realtime_ns)
      .member_hex("monotonic_ns", reading.monotonic_ns)
      .member("uncertainty_ns", reading.uncertainty_ns);
  end_line({});
}

void ChromeTrace::gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) {
  metadata(schema::kLineGpuClock).raw("\"context\":").integer(context);
  line_.member_hex("gpu_ref", fit.gpu_ref_ns)
      .member("ts_ref_ns", fit.ts_ref_ns)
      .member("drift_ppb", static_cast<std::int64_t>(fit.drift * 1e9))
      .member("samples", fit.samples);
  end_line({});
}

void ChromeTrace::window(std::uint32_t number, std::int64_t start_ns, std::int64_t end_ns,
                         const std::vector<std::string_view>& events, bool repeated) {
  metadata(schema::kLineWindow).raw("\"window\":").integer(number);
  line_.member("start_ns", start_ns);
  if (end_ns != assemble::kUnknownTime) {
    line_.member("end_ns", end_ns);
  }
  string_list(line_.key("events"), events);
  end_line({});
  if (repeated) {
    return;
  }
  const bool ended = end_ns != assemble::kUnknownTime;
  mark_process(ended ? end_ns : start_ns, ended ? "ringside stop" : "ringside start");
}

void ChromeTrace::account(const Account& account, std::int64_t ts_ns, bool final) {
  metadata(schema::kLineAccount).raw("\"ts_ns\":").integer(ts_ns);
  line_.key("final").raw(final ? "true" : "false");
  line_.key("by_type").raw("{");
  bool first_type = true;
  for (std::size_t i = 0; i < account.by_type.size(); ++i) {
    const TypeAccount& of = account.by_type[i];
    if (of.produced == 0) {
      continue;
    }
    line_.raw(first_type ? "" : ",").string(assemble::kTypeNames[i]);
    line_.raw(":{\"produced\":").integer(of.produced);
    first_type = false;
    const std::pair<std::string_view, std::uint64_t> parts[] = {
        {"written", of.written},
        {"merged", of.merged},
        {"filtered", of.filtered},
        {"sampled_out", of.sampled_out},
        {"stale", of.stale},
        {schema::kReasonRotated, of.rotated},
        {"held", of.held},
        {"in_rings", of.in_rings},
        {"dropped_ring_full", of.dropped_ring_full},
        {"dropped_no_ring", of.dropped_no_ring},
        {"dropped_parent", of.dropped_parent},
        {"dropped_write", of.dropped_write},
        {"dropped_memory", of.dropped_memory},
        {"dropped_kill", of.dropped_kill}};
    for (const auto& [key, value] : parts) {
      if (value != 0) {
        line_.member(key, value);
      }
    }
    line_.raw("}");
  }
  line_.raw("}");
  bool first_given_up = true;
  for (std::size_t i = 0; i < account.given_up.size(); ++i) {
    if (account.given_up[i] != 0) {
      first_given_up ? line_.key("given_up").raw("{") : line_.raw(",");
      line_.string(assemble::kTypeNames[i]).raw(":").integer(account.given_up[i]);
      first_given_up = false;
    }
  }
  line_.raw(first_given_up ? "" : "}").key("by_thread").raw("[");
  // Lines are bounded; a process with this many threads that call NCCL is not one.
  constexpr std::size_t kMostThreads = 500;
  for (std::size_t i = 0; i < account.by_thread.size() && i < kMostThreads; ++i) {
    const ThreadAccount& of = account.by_thread[i];
    line_.raw(i == 0 ? "{\"tid\":" : ",{\"tid\":").integer(of.tid);
    line_.member("produced", of.produced).member("dropped", of.dropped).raw("}");
  }
  line_.raw("]");
  end_line({});
}

}  // namespace ringside::exporting
