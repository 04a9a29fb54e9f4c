// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/lines/row_lines.h"

#include <algorithm>

#include "plugin/assemble/event_names.h"
#include "plugin/assemble/message_bytes.h"
#include "plugin/record/encode.h"
#include "ringside/trace_schema.h"

namespace ringside::exporting {
namespace {

using assemble::kUnknownTime;

// Of the enumerators, in order.
constexpr std::string_view kKinds[] = {"coll", "p2p", "ce", "api"};
constexpr std::string_view kTimesFrom[] = {"gpu", "proxy", "proxy_queue", "enqueue"};
constexpr std::string_view kStates[] = {"completed", "started", "enqueued"};

template <typename Enum, std::size_t kSize>
std::string_view text_of(const std::string_view (&texts)[kSize], Enum value) {
  return texts[static_cast<std::size_t>(value)];
}

void add_arguments(JsonText& line, const assemble::Operation& operation,
                   const assemble::Communicator& communicator) {
  using assemble::OperationKind;
  line.raw(",\"args\":{\"op\":").integer(operation.number);
  line.member("context", operation.context);
  if (communicator.has_hash) {
    line.member_hex("comm", communicator.hash);
  }
  if (communicator.rank_known || operation.kind != OperationKind::kApi) {
    line.member("rank", operation.rank);
  }
  if (communicator.has_size) {
    line.member("nranks", communicator.nranks);
  }
  line.member_string("kind", text_of(kKinds, operation.kind)).member_string("func", operation.func);
  if (operation.has_seq && assemble::can_be_told(operation.seq)) {
    line.member("seq", operation.seq);
  }
  if (assemble::can_be_told(operation.count)) {
    line.member("count", operation.count);
  }
  line.member_string("datatype", operation.datatype);
  if (operation.has_bytes) {
    line.member("bytes", operation.bytes);
  }
  if (operation.has_root) {
    line.member("root", operation.root_or_peer);
  }
  if (operation.kind == OperationKind::kP2p) {
    line.member("peer", operation.root_or_peer);
  }
  line.member_text("algo", operation.algo)
      .member_text("proto", operation.proto)
      .member_text("variant", operation.variant)
      .member_unless(0, "channels", operation.channels)
      .member_unless(0, "warps", operation.warps)
      .member_unless(0, "gpu_channels", operation.gpu_channels)
      .member_unless(0, "gpu_rejected", operation.gpu_rejected)
      .member_unless(0, "group", operation.group);
  line.member_hex_unless(0, "stream", operation.stream)
      .member_hex_unless(0, "user_tag", operation.user_tag)
      .member_if(operation.captured, "graph")
      .member_if(operation.symmetric, "symmetric")
      .member_if(operation.gpu_polled, "gpu_polled")
      .member_if(operation.start_is_latest, "start_is_latest")
      .member_if(operation.in_flight, "in_flight")
      .member_if(operation.sampled_out, "sampled_out")
      .member_unless(1, "sample_of", operation.sample_of)
      .member("window", operation.window)
      .member("tid", operation.call_tid)
      .member_unless(kUnknownTime, "enqueue_start_ns", operation.enqueue_start_ns)
      .member_unless(kUnknownTime, "enqueue_end_ns", operation.enqueue_end_ns)
      .member_unless(kUnknownTime, "start_ns", operation.start_ns)
      .member_unless(kUnknownTime, "end_ns", operation.end_ns)
      .member_string("times_from", text_of(kTimesFrom, operation.times_from))
      .member_string("state", text_of(kStates, operation.state));
}

}  // namespace

JsonText& RowLines::begin(std::string_view category, std::string_view name,
                          const assemble::ChildRow& row) {
  JsonText& line = lines_.begin_async(category, name, row.id, row.tid, row.start_ns);
  return line.raw(",\"args\":{\"context\":")
      .integer(row.context)
      .member_unless(0, "op", row.operation);
}

void RowLines::end(std::string_view category, std::string_view name, const assemble::ChildRow& row,
                   const assemble::Tally& tally) {
  lines_.line().member_if(row.in_flight, "in_flight");
  lines_.end(tally);
  if (row.end_ns != assemble::kUnknownTime && !row.in_flight) {
    lines_.end_async(category, name, row.id, row.tid, std::max(row.end_ns, row.start_ns));
  }
}

void RowLines::write(const assemble::ProxyOpRow& row, const assemble::Tally& tally) {
  const std::string_view name =
      names_.of_channel(row.context, row.is_send ? "send channel " : "recv channel ", row.channel);
  JsonText& line = begin(schema::kCategoryProxy, name, row);
  line.member("peer", row.peer).member("steps", row.steps).member("chunk_bytes", row.chunk_bytes);
  if (row.has_bytes) {
    line.member("bytes", row.bytes);
  }
  line.member_text("func", row.func);
  if (row.foreign) {
    line.member_bool("foreign", true)
        .member("foreign_pid", row.foreign_pid)
        .member_hex("foreign_context", row.foreign_context)
        .member_hex("foreign_parent", row.foreign_parent);
  }
  end(schema::kCategoryProxy, name, row, tally);
}

void RowLines::write(const assemble::StepRow& row, const assemble::Tally& tally) {
  const std::string_view name = names_.of_channel(
      row.context, row.is_send ? "send steps channel " : "recv steps channel ", row.channel);
  JsonText& line = begin(schema::kCategoryStep, name, row);
  line.member("step", row.step);
  if (row.peer >= 0) {
    line.member("peer", row.peer);
  }
  if (row.has_bytes) {
    line.member("bytes", row.bytes);
  }
  line.member_unless(0, "gpu_wait_ns", row.gpu_wait_ns)
      .member_unless(0, "peer_wait_ns", row.peer_wait_ns)
      .member_unless(0, "transfer_ns", row.transfer_ns)
      .member_unless(0, "flush_ns", row.flush_ns)
      .member_if(row.unstopped, "unstopped");
  end(schema::kCategoryStep, name, row, tally);
}

void RowLines::write(const assemble::KernelRow& row, const assemble::Tally& tally) {
  const bool phase = row.phase >= 0;
  const std::string_view name =
      names_.of_channel(row.context, "GPU channel ", row.channel, phase ? " phases" : "");
  const std::string_view category = phase ? schema::kCategoryPhase : schema::kCategoryGpu;
  JsonText& line = begin(category, name, row);
  line.member_unless(-1, "phase", row.phase);
  line.member_hex_unless(0, "gpu_start", row.gpu_start)
      .member_hex_unless(0, "gpu_stop", row.gpu_stop)
      .member("callback_start_ns", row.callback_start_ns)
      .member_unless(kUnknownTime, "callback_stop_ns", row.callback_stop_ns)
      .member_text("rejected", row.rejected);
  end(category, name, row, tally);
}

void RowLines::write(const assemble::ControlRow& row, const assemble::Tally& tally) {
  const std::string_view name = names_.of_rank(row.context, "proxy thread");
  begin(schema::kCategoryControl, name, row)
      .member_text("state", row.state)
      .member_unless(0, "appended", row.appended);
  end(schema::kCategoryControl, name, row, tally);
}

void RowLines::write(const assemble::NetRow& row, const assemble::Tally& tally) {
  const std::string_view name = names_.of_rank(row.context, "network plugin");
  JsonText& line = begin(schema::kCategoryNet, name, row);
  line.member("id", row.net_id);
  if (row.net_id == record::kNetSocketV1) {
    line.member_string("kind", "socket")
        .member("descriptor", row.device_or_fd)
        .member("operation", row.opcode)
        .member("bytes", row.length_bytes);
  } else if (row.net_id == record::kNetIbV1) {
    line.member_string("kind", "ib")
        .member("device", row.device_or_fd)
        .member("queue_pair", row.queue_pair)
        .member("opcode", row.opcode)
        .member_hex("work_request", row.work_request)
        .member("bytes", row.length_bytes);
  }
  end(schema::kCategoryNet, name, row, tally);
}

void RowLines::write(const assemble::CopyEngineRow& row, const assemble::Tally& tally) {
  const std::string_view name = names_.of_rank(row.context, "copy engine");
  JsonText& line = begin(schema::kCategoryCopyEngine, name, row);
  line.member_string("type", assemble::type_name(row.type));
  if (row.type == record::EventType::kCeSync) {
    line.member_bool("complete", row.flag).member("nranks", row.number);
  } else {
    line.member("operations", row.number)
        .member("bytes", row.bytes)
        .member_bool("intra_sync", row.flag);
  }
  end(schema::kCategoryCopyEngine, name, row, tally);
}

void RowLines::write(const assemble::OperationRow& row, const assemble::Tally& tally) {
  const assemble::Operation& operation = *row.operation;
  const std::string_view name = names_.operations(operation.context);
  const bool executed = operation.start_ns != kUnknownTime;
  const std::int64_t outer_start_ns = executed
                                          ? std::min(operation.start_ns, operation.enqueue_start_ns)
                                          : operation.enqueue_start_ns;
  const std::int64_t inner_start_ns = executed ? operation.start_ns : operation.enqueue_start_ns;
  const std::int64_t inner_end_ns = executed ? operation.end_ns : operation.enqueue_end_ns;
  const std::int64_t outer_end_ns = std::max(inner_end_ns, operation.enqueue_end_ns);

  lines_.begin_async(schema::kCategoryOperation, name, operation.number, operation.tid,
                     outer_start_ns);
  lines_.end_without_args();
  JsonText& line = lines_.begin_async(schema::kCategoryOperation, operation.func, operation.number,
                                      operation.tid, inner_start_ns);
  // The enqueue of an operation that was sampled out is not in the trace.
  if (operation.kind != assemble::OperationKind::kApi && !operation.sampled_out) {
    line.member_hex("bind_id", lines_.arrow_id(operation.number)).member_bool("flow_in", true);
  }
  add_arguments(line, operation, *row.communicator);
  lines_.end(tally);
  if (inner_end_ns != kUnknownTime && !operation.in_flight) {
    lines_.end_async(schema::kCategoryOperation, operation.func, operation.number, operation.tid,
                     inner_end_ns);
    lines_.end_async(schema::kCategoryOperation, name, operation.number, operation.tid,
                     outer_end_ns);
  }
}

void RowLines::write(const assemble::Call& call, const assemble::Tally& tally) {
  const bool enqueue = record::is_coll_like(call.type);
  name_ = call.type == record::EventType::kGroupApi       ? "group"
          : call.type == record::EventType::kKernelLaunch ? "launch"
          : call.type == record::EventType::kGroup        ? "enqueue group"
          : enqueue                                       ? "enqueue "
                                                          : "";
  name_.append(enqueue || record::is_call(call.type) ? call.func : "");
  const std::int64_t end_ns = std::max(call.end_ns, call.start_ns);
  JsonText& line =
      call.nests
          ? lines_.begin_slice(schema::kCategoryApi, name_, call.tid, call.start_ns, end_ns)
          : lines_.begin_async(schema::kCategoryApi, name_, call.id, call.tid, call.start_ns);
  if (enqueue && !call.sampled_out) {  // the operation's line says the same
    line.member_hex("bind_id", lines_.arrow_id(call.operation)).member_bool("flow_out", true);
  }
  line.raw(",\"args\":{\"type\":").string(assemble::type_name(call.type));
  line.member("id", call.id).member("context", call.context).member_unless(0, "op", call.operation);
  if (record::is_call(call.type)) {
    line.member_string("func", call.func);
    if (assemble::can_be_told(call.count)) {
      line.member("count", call.count);
    }
    line.member_string("datatype", call.datatype);
    if (call.func == "Broadcast" || call.func == "Reduce") {
      line.member("root", call.root_or_depth);
    }
  }
  if (call.type == record::EventType::kGroupApi) {
    line.member("depth", call.root_or_depth);
  }
  line.member_hex_unless(0, "stream", call.stream)
      .member_if(call.captured, "graph")
      .member_if(call.in_flight, "in_flight");
  lines_.end(tally);
  if (!call.nests) {
    lines_.end_async(schema::kCategoryApi, name_, call.id, call.tid, end_ns);
  }
}

}  // namespace ringside::exporting
