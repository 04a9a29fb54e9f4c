// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/lines/chrome_trace.h"

#include <algorithm>

#include "plugin/assemble/event_names.h"
#include "ringside/trace_schema.h"

namespace ringside::exporting {
namespace {

using assemble::kUnknownTime;

void string_list(JsonText& line, const std::vector<std::string_view>& texts) {
  line.raw("[");
  for (const std::string_view text : texts) {
    line.next().string(text);
  }
  line.raw("]");
}

void string_map(JsonText& line, const std::vector<std::pair<std::string, std::string>>& pairs) {
  line.raw("{");
  for (const auto& [name, value] : pairs) {
    line.next().string(name).raw(":").string(value);
  }
  line.raw("}");
}

}  // namespace

std::string nccl_version_text(int version) {
  // Versions before 2.9 are encoded in another way. No release with a profiler interface is that
  // old.
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

void TraceEnd::count_lost(const assemble::Account& account) {
  const auto of = [&](record::EventType type) -> const assemble::TypeAccount& {
    return account.by_type[static_cast<std::size_t>(type)];
  };
  marks_lost = of(record::EventType::kMark).dropped();
  // If the begin had no room, the end was not recorded either (dropped_parent). All other losses
  // take both, the end without the begin only if that was read long before.
  const assemble::TypeAccount& ranges = of(record::EventType::kRange);
  const std::uint64_t begins = ranges.dropped_ring_full + ranges.dropped_no_ring;
  ranges_lost = begins + (ranges.dropped() - begins - ranges.dropped_parent + 1) / 2;
}

void ChromeTrace::begin(const ProcessFacts& facts, bool dump) {
  lines_.set_process(facts.pid, facts.run_id);
  JsonText& line = lines_.begin_metadata(schema::kLineTrace, "[");
  line.raw("\"format_version\":").integer(schema::kFormatVersion);
  line.member_string("plugin_version", facts.plugin_version)
      .member_hex("run_id", facts.run_id)
      .member_if(dump, "dump")
      .member("segment", facts.segment)
      .member("segment_start_ns", facts.segment_start_ns)
      .member_string("job", facts.job)
      .member_string("host", facts.host)
      .member_string("boot_id", facts.boot_id)
      .member("pid", facts.pid)
      .member_unless(-1, "launcher_rank", facts.launcher_rank)
      .member_text("launcher_rank_from", facts.launcher_rank_from)
      .member("base_time_s", facts.base_time_s)
      .member("start_ns", facts.start_ns)
      .key("nccl_version");
  facts.nccl_version != 0 ? line.string(nccl_version_text(facts.nccl_version)) : line.raw("null");
  line.member("abi", facts.abi_version).member_string("clock", facts.clock);
  string_list(line.key("events"), facts.events);
  if (facts.sampled_of > 1) {
    line.key("sampling").raw("{\"coll_of\":").integer(facts.sampled_of).raw("}");
  }
  string_map(line.key("config"), facts.config);
  string_map(line.key("environment"), facts.environment);
  lines_.end();
  first_line_ = line.text();

  const std::string name = facts.launcher_rank >= 0
                               ? "rank " + std::to_string(facts.launcher_rank) + " on " + facts.host
                               : facts.host;
  lines_.begin_metadata("process_name").raw("\"name\":").string(name);
  lines_.end();
  lines_.begin_metadata("process_sort_index")
      .raw("\"sort_index\":")
      .integer(std::max(facts.launcher_rank, 0));
  lines_.end();
}

void ChromeTrace::end(std::int64_t ts_ns, std::uint64_t operations, const TraceEnd& how) {
  JsonText& line = lines_.begin_metadata(schema::kLineEnd);
  line.raw("\"ts_ns\":")
      .integer(ts_ns)
      .member("operations", operations)
      .member_unless(0, "next_segment", how.next_segment)
      .member_if(how.recovered, "recovered")
      .member_known("silent_ns", how.silent_ns)
      .member_known("marks_lost", how.marks_lost)
      .member_known("ranges_lost", how.ranges_lost);
  lines_.end_file();
}

void ChromeTrace::thread(std::int32_t tid, std::string_view name) {
  lines_.begin()
      .raw("{\"ph\":\"M\",\"name\":\"thread_name\"")
      .member("pid", lines_.pid())
      .member("tid", tid)
      .raw(",\"ts\":0,\"args\":{\"name\":")
      .string(name.empty() ? "thread" : name);
  lines_.end();
}

void ChromeTrace::communicator(const assemble::Communicator& communicator) {
  names_.learn(communicator);
  JsonText& line = lines_.begin_metadata(schema::kLineCommunicator);
  line.raw("\"context\":").integer(communicator.context);
  if (communicator.has_hash) {
    line.member_hex("comm", communicator.hash);
  }
  line.member_text("name", communicator.name).member_if(communicator.name_is_cut, "name_cut");
  if (communicator.rank_known) {
    line.member("rank", communicator.rank);
  }
  if (communicator.has_size) {
    line.member("nranks", communicator.nranks).member("nnodes", communicator.nnodes);
  }
  if (communicator.gpu_index >= 0) {
    line.key("gpu").raw("{\"index\":").integer(communicator.gpu_index);
    line.member_string("uuid", communicator.gpu_uuid).member_string("pci", communicator.gpu_pci);
    line.raw("}");
  }
  if (communicator.is_unsampled) {
    line.key("unsampled").raw("[\"coll\"]");
  }
  line.member("created_ns", communicator.created_ns)
      .member_unless(kUnknownTime, "finalized_ns", communicator.finalized_ns);
  lines_.end();
}

void ChromeTrace::clock(const record::ClockReading& reading, std::int64_t ts_ns,
                        const assemble::ClockStep& step, const record::RealtimeError& error) {
  JsonText& line = lines_.begin_metadata(schema::kLineClock);
  line.raw("\"ts_ns\":")
      .integer(ts_ns)
      .member_hex("realtime_ns", reading.realtime_ns)
      .member_hex("monotonic_ns", reading.monotonic_ns)
      .member("uncertainty_ns", reading.uncertainty_ns);
  if (step.size_ns != 0) {
    line.member("step_ns", step.size_ns).member("step_after_ns", step.after_ns);
  }
  if (error.is_known) {
    line.member_bool("synchronised", error.is_synchronised);
  }
  line.member_unless(0, "estimated_error_ns", error.estimated_ns)
      .member_unless(0, "maximum_error_ns", error.most_ns);
  lines_.end();
}

void ChromeTrace::gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) {
  JsonText& line = lines_.begin_metadata(schema::kLineGpuClock);
  line.raw("\"context\":").integer(context);
  line.member_hex("gpu_ref", fit.gpu_ref_ns)
      .member("ts_ref_ns", fit.ts_ref_ns)
      .member("drift_ppb", static_cast<std::int64_t>(fit.drift * 1e9))
      .member("samples", fit.samples);
  lines_.end();
}

void ChromeTrace::window(const Window& window, bool repeated) {
  JsonText& line = lines_.begin_metadata(schema::kLineWindow);
  line.raw("\"window\":")
      .integer(window.number)
      .member("start_ns", window.start_ns)
      .member_unless(kUnknownTime, "changed_ns", window.changed_ns)
      .member_unless(kUnknownTime, "end_ns", window.end_ns);
  string_list(line.key("events"), window.events);
  line.member_if(window.mask_changed, "mask_changed");
  lines_.end();
  if (repeated) {
    return;
  }
  const bool has_ended = window.end_ns != kUnknownTime;
  const bool has_changed = window.changed_ns != kUnknownTime;
  mark_process(has_ended     ? window.end_ns
               : has_changed ? window.changed_ns
                             : window.start_ns,
               window.mask_changed ? "activation mask changed"
               : has_ended         ? "ringside stop"
               : has_changed       ? "ringside events"
                                   : "ringside start");
}

void ChromeTrace::row(const assemble::Row& row, const assemble::Tally& tally) {
  std::visit(assemble::Overloaded{[&](const assemble::OperationRow& of) { rows_.write(of, tally); },
                                  [&](const assemble::Mark* mark) { write(*mark, tally); },
                                  [&](const auto* of) { rows_.write(*of, tally); }},
             row);
}

void ChromeTrace::account(const assemble::Account& account, std::int64_t ts_ns, bool final) {
  JsonText& line = lines_.begin_metadata(schema::kLineAccount);
  line.raw("\"ts_ns\":").integer(ts_ns).member_bool("final", final).key("by_type").raw("{");
  for (std::size_t i = 0; i < account.by_type.size(); ++i) {
    const assemble::TypeAccount& of = account.by_type[i];
    if (of.produced == 0) {
      continue;
    }
    line.next().string(assemble::kTypeNames[i]).raw(":{\"produced\":").integer(of.produced);
    for (const assemble::Fate& fate : assemble::kFates) {
      line.member_unless(0, fate.name, of.*fate.count);
    }
    line.raw("}");
  }
  line.raw("}");
  if (account.given_up != assemble::TypeCounts{}) {
    line.key("given_up").raw("{");
    for (std::size_t i = 0; i < account.given_up.size(); ++i) {
      if (account.given_up[i] != 0) {
        line.next().string(assemble::kTypeNames[i]).raw(":").integer(account.given_up[i]);
      }
    }
    line.raw("}");
  }
  lines_.end();
}

void ChromeTrace::write(const assemble::Mark& mark, const assemble::Tally& tally) {
  range_begins(mark);
  mark.is_range ? write_range(mark, tally) : write_instant(mark, tally);
}

void ChromeTrace::mark_process(std::int64_t ts_ns, std::string_view text) {
  assemble::Mark made;
  made.start_ns = ts_ns;
  made.tid = lines_.pid();
  made.text = text;
  write_instant(made, {});
}

void ChromeTrace::range_begins(const assemble::Mark& mark) {
  JsonText& line = lines_.begin_metadata(schema::kLineMark);
  line.raw("\"mark\":")
      .integer(mark.id)
      .member_string("name", mark.text)
      .member("tid", mark.tid)
      .member_text("source", mark.source)
      .member_if(mark.is_range, "range")
      .member("start_ns", mark.start_ns)
      .member_unless(kUnknownTime, "end_ns", mark.in_flight ? kUnknownTime : mark.end_ns);
  lines_.end();
}

void ChromeTrace::write_instant(const assemble::Mark& mark, const assemble::Tally& tally) {
  lines_.begin()
      .raw("{\"ph\":\"i\",\"cat\":\"mark\",\"s\":\"")
      .raw(mark.id == 0 ? "p\"" : "t\"")
      .member("pid", lines_.pid())
      .member("tid", mark.tid)
      .key("ts")
      .microseconds(mark.start_ns)
      .member_string("name", mark.text)
      .raw(",\"args\":{");
  lines_.end(tally);
}

void ChromeTrace::write_range(const assemble::Mark& mark, const assemble::Tally& tally) {
  const std::int64_t end_ns = std::max(mark.end_ns, mark.start_ns);
  JsonText& line =
      mark.nests
          ? lines_.begin_slice(schema::kCategoryMark, mark.text, mark.tid, mark.start_ns, end_ns)
          : lines_.begin_async(schema::kCategoryMark, mark.text, mark.id, mark.tid, mark.start_ns);
  line.raw(",\"args\":{\"mark\":")
      .integer(mark.id)
      .member_text("source", mark.source)
      .member_if(mark.in_flight, "in_flight");
  lines_.end(tally);
  if (!mark.nests) {
    lines_.end_async(schema::kCategoryMark, mark.text, mark.id, mark.tid, end_ns);
  }
}

}  // namespace ringside::exporting
