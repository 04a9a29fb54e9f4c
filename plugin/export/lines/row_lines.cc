// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/lines/row_lines.h"

#include <algorithm>

#include "plugin/assemble/event_names.h"
#include "plugin/record/encode.h"
#include "ringside/trace_schema.h"

namespace ringside::exporting {

JsonText& RowLines::begin(std::string_view category, std::string_view name,
                          const assemble::ChildRow& row) {
  JsonText& line = lines_.begin_async(category, name, row.id, row.tid, row.start_ns);
  line.raw(",\"args\":{\"context\":").integer(row.context);
  if (row.operation != 0) {
    line.member("op", row.operation);
  }
  return line;
}

void RowLines::end(std::string_view category, std::string_view name, const assemble::ChildRow& row,
                   const assemble::Tally& tally) {
  if (row.in_flight) {
    lines_.line().member_true("in_flight");
  }
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
  if (!row.func.empty()) {
    line.member_string("func", row.func);
  }
  if (row.foreign) {
    line.member_true("foreign")
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
  const std::pair<std::string_view, std::int64_t> parts[] = {{"gpu_wait_ns", row.gpu_wait_ns},
                                                             {"peer_wait_ns", row.peer_wait_ns},
                                                             {"transfer_ns", row.transfer_ns},
                                                             {"flush_ns", row.flush_ns}};
  for (const auto& [key, value] : parts) {
    if (value != 0) {
      line.member(key, value);
    }
  }
  if (row.unstopped) {
    line.member_true("unstopped");
  }
  end(schema::kCategoryStep, name, row, tally);
}

void RowLines::write(const assemble::KernelRow& row, const assemble::Tally& tally) {
  const bool phase = row.phase >= 0;
  const std::string_view name =
      names_.of_channel(row.context, "GPU channel ", row.channel, phase ? " phases" : "");
  const std::string_view category = phase ? schema::kCategoryPhase : schema::kCategoryGpu;
  JsonText& line = begin(category, name, row);
  if (phase) {
    line.member("phase", row.phase);
  }
  if (row.gpu_start != 0) {
    line.member_hex("gpu_start", row.gpu_start);
  }
  if (row.gpu_stop != 0) {
    line.member_hex("gpu_stop", row.gpu_stop);
  }
  line.member("callback_start_ns", row.callback_start_ns);
  if (row.callback_stop_ns != assemble::kUnknownTime) {
    line.member("callback_stop_ns", row.callback_stop_ns);
  }
  if (!row.rejected.empty()) {
    line.member_string("rejected", row.rejected);
  }
  end(category, name, row, tally);
}

void RowLines::write(const assemble::ControlRow& row, const assemble::Tally& tally) {
  const std::string_view name = names_.of_rank(row.context, "proxy thread");
  JsonText& line = begin(schema::kCategoryControl, name, row);
  if (!row.state.empty()) {
    line.member_string("state", row.state);
  }
  if (row.appended != 0) {
    line.member("appended", row.appended);
  }
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
    line.key("complete").raw(row.flag ? "true" : "false").member("nranks", row.number);
  } else {
    line.member("operations", row.number)
        .member("bytes", row.bytes)
        .key("intra_sync")
        .raw(row.flag ? "true" : "false");
  }
  end(schema::kCategoryCopyEngine, name, row, tally);
}

}  // namespace ringside::exporting
