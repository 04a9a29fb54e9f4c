// SPDX-License-Identifier: Apache-2.0
//
// The lines of operations, calls and rows.
#include <algorithm>
#include <charconv>

#include "plugin/assemble/event_names.h"
#include "plugin/assemble/message_bytes.h"
#include "plugin/export/chrome_trace.h"
#include "plugin/record/encode.h"
#include "ringside/trace_schema.h"

namespace ringside::exporting {
namespace {

using assemble::kUnknownTime;
using assemble::Tally;

constexpr std::string_view text_of(assemble::OperationKind kind) {
  constexpr std::string_view kTexts[] = {"coll", "p2p", "ce", "api"};
  return kTexts[static_cast<std::size_t>(kind)];
}
constexpr std::string_view text_of(assemble::TimesFrom from) {
  constexpr std::string_view kTexts[] = {"gpu", "proxy", "proxy_queue", "enqueue"};
  return kTexts[static_cast<std::size_t>(from)];
}
constexpr std::string_view text_of(assemble::OperationState state) {
  constexpr std::string_view kTexts[] = {"completed", "started", "enqueued"};
  return kTexts[static_cast<std::size_t>(state)];
}

}  // namespace

ChromeTrace::Labels& ChromeTrace::labels(std::uint32_t context) {
  while (labels_.size() <= context) {
    Labels added;
    added.own = added.communicator = "communicator " + std::to_string(labels_.size());
    labels_.push_back(std::move(added));
  }
  return labels_[context];
}

void ChromeTrace::name_row(std::uint32_t context, std::string_view what, int channel) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, channel);
  row_name_.assign(labels(context).prefix).append(what).append(digits, end.ptr);
}

void ChromeTrace::end_line(const Tally& tally) {
  line_.raw("}},\n");
  file_.add(line_.text(), tally);
}

JsonText& ChromeTrace::begin_async(char phase, std::string_view category, std::string_view name,
                                   std::uint64_t id, std::int32_t tid, std::int64_t ts_ns) {
  line_.clear();
  const char quoted[] = {'"', phase, '"'};
  return line_.raw("{\"ph\":")
      .raw({quoted, sizeof quoted})
      .raw(",\"cat\":\"")
      .raw(category)
      .raw("\",\"id2\":{\"local\":")
      .hex(id)
      .raw("},\"pid\":")
      .integer(pid_)
      .raw(",\"tid\":")
      .integer(tid)
      .raw(",\"ts\":")
      .microseconds(ts_ns)
      .raw(",\"name\":")
      .string(name);
}

// Ends the b line of a row, and adds its e line.
void ChromeTrace::end_row(std::string_view category, std::string_view name,
                          const assemble::Row& row, const Tally& tally) {
  if (row.in_flight) {
    line_.member_true("in_flight");
  }
  end_line(tally);
  if (row.end_ns != kUnknownTime && !row.in_flight) {
    begin_async('e', category, name, row.id, row.tid, std::max(row.end_ns, row.start_ns));
    line_.raw("},\n");
    file_.add(line_.text(), {});
  }
}

void ChromeTrace::operation(const assemble::Operation& operation,
                            const assemble::Communicator& communicator, const Tally& tally) {
  const std::string_view row = labels(operation.context).communicator;
  const bool executed = operation.start_ns != kUnknownTime;
  const std::int64_t outer_start_ns = executed
                                          ? std::min(operation.start_ns, operation.enqueue_start_ns)
                                          : operation.enqueue_start_ns;
  const std::int64_t inner_start_ns = executed ? operation.start_ns : operation.enqueue_start_ns;
  const std::int64_t inner_end_ns = executed ? operation.end_ns : operation.enqueue_end_ns;
  const std::int64_t outer_end_ns = std::max(inner_end_ns, operation.enqueue_end_ns);

  begin_async('b', schema::kCategoryOperation, row, operation.number, operation.tid,
              outer_start_ns);
  line_.raw("},\n");
  file_.add(line_.text(), {});
  begin_async('b', schema::kCategoryOperation, operation.func, operation.number, operation.tid,
              inner_start_ns);
  // The enqueue of one that was sampled out is not in the trace.
  if (operation.kind != assemble::OperationKind::kApi && !operation.sampled_out) {
    line_.member_hex("bind_id", (run_id_ << 32) | operation.number).member_true("flow_in");
  }
  operation_args(operation, communicator);
  end_line(tally);
  if (inner_end_ns != kUnknownTime && !operation.in_flight) {
    for (const std::string_view name : {operation.func, row}) {
      begin_async('e', schema::kCategoryOperation, name, operation.number, operation.tid,
                  name == row ? outer_end_ns : inner_end_ns);
      line_.raw("},\n");
      file_.add(line_.text(), {});
    }
  }
  if (operation.state == assemble::OperationState::kCompleted) {
    bandwidth_counter(operation, communicator);
  }
}

void ChromeTrace::operation_args(const assemble::Operation& operation,
                                 const assemble::Communicator& communicator) {
  using assemble::OperationKind;
  line_.raw(",\"args\":{\"op\":").integer(operation.number);
  line_.member("context", operation.context);
  if (communicator.has_hash) {
    line_.member_hex("comm", communicator.hash);
  }
  if (communicator.rank_known || operation.kind != OperationKind::kApi) {
    line_.member("rank", operation.rank);
  }
  if (communicator.has_size) {
    line_.member("nranks", communicator.nranks);
  }
  line_.member_string("kind", text_of(operation.kind)).member_string("func", operation.func);
  if (operation.has_seq && assemble::can_be_told(operation.seq)) {
    line_.member("seq", operation.seq);
  }
  if (assemble::can_be_told(operation.count)) {
    line_.member("count", operation.count);
  }
  line_.member_string("datatype", operation.datatype);
  if (operation.has_bytes) {
    line_.member("bytes", operation.bytes);
  }
  if (operation.has_root) {
    line_.member("root", operation.root_or_peer);
  }
  if (operation.kind == OperationKind::kP2p) {
    line_.member("peer", operation.root_or_peer);
  }
  const std::pair<std::string_view, std::string_view> texts[] = {
      {"algo", operation.algo}, {"proto", operation.proto}, {"variant", operation.variant}};
  for (const auto& [key, value] : texts) {
    if (!value.empty()) {
      line_.member_string(key, value);
    }
  }
  const std::pair<std::string_view, int> numbers[] = {{"channels", operation.channels},
                                                      {"warps", operation.warps},
                                                      {"gpu_channels", operation.gpu_channels},
                                                      {"gpu_rejected", operation.gpu_rejected}};
  for (const auto& [key, value] : numbers) {
    if (value != 0) {
      line_.member(key, value);
    }
  }
  if (operation.group != 0) {
    line_.member("group", operation.group);
  }
  if (operation.stream != 0) {
    line_.member_hex("stream", operation.stream);
  }
  if (operation.user_tag != 0) {
    line_.member_hex("user_tag", operation.user_tag);
  }
  const std::pair<std::string_view, bool> flags[] = {{"graph", operation.captured},
                                                     {"symmetric", operation.symmetric},
                                                     {"gpu_polled", operation.gpu_polled},
                                                     {"in_flight", operation.in_flight},
                                                     {"sampled_out", operation.sampled_out}};
  for (const auto& [key, value] : flags) {
    if (value) {
      line_.member_true(key);
    }
  }
  if (operation.sample_of > 1) {
    line_.member("sample_of", operation.sample_of);
  }
  line_.member("window", operation.window).member("tid", operation.call_tid);
  const std::pair<std::string_view, std::int64_t> times[] = {
      {"enqueue_start_ns", operation.enqueue_start_ns},
      {"enqueue_end_ns", operation.enqueue_end_ns},
      {"start_ns", operation.start_ns},
      {"end_ns", operation.end_ns}};
  for (const auto& [key, value] : times) {
    if (value != kUnknownTime) {
      line_.member(key, value);
    }
  }
  line_.member_string("times_from", text_of(operation.times_from))
      .member_string("state", text_of(operation.state));
}

void ChromeTrace::call(const assemble::Call& call, const Tally& tally) {
  const bool enqueue = record::is_coll_like(call.type);
  row_name_ = call.type == record::EventType::kGroupApi       ? "group"
              : call.type == record::EventType::kKernelLaunch ? "launch"
              : call.type == record::EventType::kGroup        ? "enqueue group"
              : enqueue                                       ? "enqueue "
                                                              : "";
  row_name_.append(enqueue || record::is_call(call.type) ? call.func : "");
  const std::int64_t end_ns = std::max(call.end_ns, call.start_ns);
  if (call.nests) {
    begin_slice(schema::kCategoryApi, row_name_, call.tid, call.start_ns, end_ns);
  } else {
    begin_async('b', schema::kCategoryApi, row_name_, call.id, call.tid, call.start_ns);
  }
  if (enqueue) {
    line_.member_hex("bind_id", (run_id_ << 32) | call.operation).member_true("flow_out");
  }
  line_.raw(",\"args\":{\"type\":").string(assemble::type_name(call.type));
  line_.member("id", call.id).member("context", call.context);
  if (call.operation != 0) {
    line_.member("op", call.operation);
  }
  if (record::is_call(call.type)) {
    line_.member_string("func", call.func);
    if (assemble::can_be_told(call.count)) {
      line_.member("count", call.count);
    }
    line_.member_string("datatype", call.datatype);
    if (call.func == "Broadcast" || call.func == "Reduce") {
      line_.member("root", call.root_or_depth);
    }
  }
  if (call.type == record::EventType::kGroupApi) {
    line_.member("depth", call.root_or_depth);
  }
  if (call.stream != 0) {
    line_.member_hex("stream", call.stream);
  }
  if (call.captured) {
    line_.member_true("graph");
  }
  if (call.in_flight) {
    line_.member_true("in_flight");
  }
  end_line(tally);
  if (!call.nests) {
    begin_async('e', schema::kCategoryApi, row_name_, call.id, call.tid, end_ns);
    line_.raw("},\n");
    file_.add(line_.text(), {});
  }
}

JsonText& ChromeTrace::begin_slice(std::string_view category, std::string_view name,
                                   std::int32_t tid, std::int64_t start_ns, std::int64_t end_ns) {
  line_.clear();
  return line_.raw("{\"ph\":\"X\",\"cat\":\"")
      .raw(category)
      .raw("\",\"pid\":")
      .integer(pid_)
      .raw(",\"tid\":")
      .integer(tid)
      .raw(",\"ts\":")
      .microseconds(start_ns)
      .raw(",\"dur\":")
      .microseconds(end_ns - start_ns)
      .raw(",\"name\":")
      .string(name);
}

void ChromeTrace::counter(std::string_view name, std::string_view unit, std::int64_t ts_ns,
                          double value) {
  line_.clear();
  line_.raw("{\"ph\":\"C\",\"pid\":")
      .integer(pid_)
      .raw(",\"tid\":")
      .integer(pid_)
      .raw(",\"ts\":")
      .microseconds(ts_ns)
      .raw(",\"name\":")
      .string(name)
      .raw(",\"args\":{")
      .string(unit)
      .raw(":")
      .fixed(value);
  end_line({});
}

void ChromeTrace::bandwidth_counter(const assemble::Operation& operation,
                                    const assemble::Communicator& communicator) {
  const bool timed = operation.times_from == assemble::TimesFrom::kGpu ||
                     operation.times_from == assemble::TimesFrom::kProxy;
  if (!timed || !operation.has_bytes || operation.end_ns <= operation.start_ns) {
    return;
  }
  Labels& of = labels(operation.context);
  changing_.insert(operation.context);
  of.changes.push({operation.enqueue_start_ns, static_cast<std::int64_t>(operation.bytes)});
  of.changes.push({std::max(operation.end_ns, operation.enqueue_start_ns),
                   -static_cast<std::int64_t>(operation.bytes)});
  // Operations of a communicator run one after the other; where stamps say otherwise the counter
  // shows the part that is this one's own.
  const std::int64_t start_ns = std::max(operation.start_ns, of.last_busbw_end_ns);
  if (operation.kind != assemble::OperationKind::kColl || start_ns >= operation.end_ns) {
    return;
  }
  const auto nranks = static_cast<std::uint64_t>(std::max(communicator.nranks, 0));
  const double algbw_gbps = static_cast<double>(operation.bytes) *
                            static_cast<double>(assemble::size_factor(
                                operation.func, std::max<std::uint64_t>(nranks, 1))) /
                            static_cast<double>(operation.end_ns - operation.start_ns);
  const bool known = communicator.has_size;
  row_name_.assign(of.communicator).append(known ? " busbw" : " algbw");
  counter(row_name_, "GB/s", start_ns,
          known ? algbw_gbps * assemble::bus_factor(operation.func, nranks) : algbw_gbps);
  counter(row_name_, "GB/s", operation.end_ns, 0);
  of.last_busbw_end_ns = operation.end_ns;
}

void ChromeTrace::complete_until(std::int64_t ts_ns) {
  std::erase_if(changing_, [&](std::uint32_t context) {
    write_changes(labels_[context], ts_ns);
    return labels_[context].changes.empty();
  });
}

void ChromeTrace::write_changes(Labels& of, std::int64_t until_ns) {
  // While an operation hangs, later ones must not pile up here: then its bytes come late.
  constexpr std::size_t kMostChanges = 1U << 16;
  while (!of.changes.empty() &&
         (of.changes.top().ts_ns < until_ns || of.changes.size() > kMostChanges)) {
    const std::int64_t ts_ns = of.changes.top().ts_ns;
    of.bytes_in_flight += static_cast<std::uint64_t>(of.changes.top().bytes);
    of.changes.pop();
    if (of.changes.empty() || of.changes.top().ts_ns != ts_ns) {
      row_name_.assign(of.communicator).append(" in flight");
      counter(row_name_, "bytes", ts_ns, static_cast<double>(of.bytes_in_flight));
    }
  }
  // What comes late for it gets new memory; for ever kept would be the most that ever waited.
  if (of.is_closed && of.changes.empty()) {
    of.changes = {};
  }
}

}  // namespace ringside::exporting
