// SPDX-License-Identifier: Apache-2.0
//
// The rows of the execution: proxy operations, steps, kernel channels, and what has no operation.
#include "plugin/assemble/event_names.h"
#include "plugin/export/chrome_trace.h"
#include "plugin/record/encode.h"
#include "ringside/trace_schema.h"

namespace ringside::exporting {
namespace {

void common_args(JsonText& line, const assemble::Row& row) {
  line.raw(",\"args\":{\"context\":").integer(row.context);
  if (row.operation != 0) {
    line.member("op", row.operation);
  }
}

}  // namespace

void ChromeTrace::proxy_op(const assemble::ProxyOpRow& row, const assemble::Tally& tally) {
  name_row(row.context, row.is_send ? "send channel " : "recv channel ", row.channel);
  begin_async('b', schema::kCategoryProxy, row_name_, row.id, row.tid, row.start_ns);
  common_args(line_, row);
  line_.member("peer", row.peer).member("steps", row.steps).member("chunk_bytes", row.chunk_bytes);
  if (row.has_bytes) {
    line_.member("bytes", row.bytes);
  }
  if (!row.func.empty()) {
    line_.member_string("func", row.func);
  }
  if (row.foreign) {
    line_.member_true("foreign")
        .member("foreign_pid", row.foreign_pid)
        .member_hex("foreign_context", row.foreign_context)
        .member_hex("foreign_parent", row.foreign_parent);
  }
  end_row(schema::kCategoryProxy, row_name_, row, tally);
}

void ChromeTrace::step(const assemble::StepRow& row, const assemble::Tally& tally) {
  name_row(row.context, row.is_send ? "send steps channel " : "recv steps channel ", row.channel);
  begin_async('b', schema::kCategoryStep, row_name_, row.id, row.tid, row.start_ns);
  common_args(line_, row);
  line_.member("step", row.step);
  if (row.peer >= 0) {
    line_.member("peer", row.peer);
  }
  const std::pair<std::string_view, std::int64_t> parts[] = {
      {"bytes", static_cast<std::int64_t>(row.bytes)},
      {"gpu_wait_ns", row.gpu_wait_ns},
      {"peer_wait_ns", row.peer_wait_ns},
      {"transfer_ns", row.transfer_ns},
      {"flush_ns", row.flush_ns}};
  for (const auto& [key, value] : parts) {
    if (value != 0) {
      line_.member(key, value);
    }
  }
  if (row.unstopped) {
    line_.member_true("unstopped");
  }
  end_row(schema::kCategoryStep, row_name_, row, tally);
}

void ChromeTrace::kernel(const assemble::KernelRow& row, const assemble::Tally& tally) {
  const bool phase = row.phase >= 0;
  name_row(row.context, "GPU channel ", row.channel);
  row_name_.append(phase ? " phases" : "");
  const std::string_view category = phase ? schema::kCategoryPhase : schema::kCategoryGpu;
  begin_async('b', category, row_name_, row.id, row.tid, row.start_ns);
  common_args(line_, row);
  if (phase) {
    line_.member("phase", row.phase);
  }
  if (row.gpu_start != 0) {
    line_.member_hex("gpu_start", row.gpu_start);
  }
  if (row.gpu_stop != 0) {
    line_.member_hex("gpu_stop", row.gpu_stop);
  }
  line_.member("callback_start_ns", row.callback_start_ns);
  if (row.callback_stop_ns != assemble::kUnknownTime) {
    line_.member("callback_stop_ns", row.callback_stop_ns);
  }
  if (!row.rejected.empty()) {
    line_.member_string("rejected", row.rejected);
  }
  end_row(category, row_name_, row, tally);
}

void ChromeTrace::control(const assemble::ControlRow& row, const assemble::Tally& tally) {
  row_name_.assign(labels(row.context).prefix).append("proxy thread");
  begin_async('b', schema::kCategoryControl, row_name_, row.id, row.tid, row.start_ns);
  common_args(line_, row);
  if (!row.state.empty()) {
    line_.member_string("state", row.state);
  }
  if (row.appended != 0) {
    line_.member("appended", row.appended);
  }
  end_row(schema::kCategoryControl, row_name_, row, tally);
}

void ChromeTrace::net(const assemble::NetRow& row, const assemble::Tally& tally) {
  row_name_.assign(labels(row.context).prefix).append("network plugin");
  begin_async('b', schema::kCategoryNet, row_name_, row.id, row.tid, row.start_ns);
  common_args(line_, row);
  line_.member("id", row.net_id);
  if (row.net_id == record::kNetSocketV1) {
    line_.member_string("kind", "socket")
        .member("descriptor", row.device_or_fd)
        .member("operation", row.opcode)
        .member("bytes", row.length_bytes);
  } else if (row.net_id == record::kNetIbV1) {
    line_.member_string("kind", "ib")
        .member("device", row.device_or_fd)
        .member("queue_pair", row.queue_pair)
        .member("opcode", row.opcode)
        .member_hex("work_request", row.work_request)
        .member("bytes", row.length_bytes);
  }
  end_row(schema::kCategoryNet, row_name_, row, tally);
}

void ChromeTrace::copy_engine(const assemble::CopyEngineRow& row, const assemble::Tally& tally) {
  row_name_.assign(labels(row.context).prefix).append("copy engine");
  begin_async('b', schema::kCategoryCopyEngine, row_name_, row.id, row.tid, row.start_ns);
  common_args(line_, row);
  line_.member_string("type", assemble::type_name(row.type));
  if (row.type == record::EventType::kCeSync) {
    line_.key("complete").raw(row.flag ? "true" : "false").member("nranks", row.number);
  } else {
    line_.member("operations", row.number)
        .member("bytes", row.bytes)
        .key("intra_sync")
        .raw(row.flag ? "true" : "false");
  }
  end_row(schema::kCategoryCopyEngine, row_name_, row, tally);
}

}  // namespace ringside::exporting
