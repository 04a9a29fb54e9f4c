// SPDX-License-Identifier: Apache-2.0
#include "live/ctl_report.h"

#include <algorithm>
#include <set>

#include "analyzer/report/document/json_writer.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/document/text_table.h"
#include "launch/text.h"
#include "live/watch/moment.h"

namespace ringside::live {
namespace {

std::string seconds_text(std::int64_t ns) {
  return report::fixed(static_cast<double>(ns) / 1e9, 1) + " s";
}

// Says what is ordered for later, after the end of the window that runs.
std::string next_text(const ProcessStatus& status) {
  std::string text;
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (status.mask_changed) {
    add("NCCL's mask was changed by somebody else");
  }
  if (status.captured > 0 && status.replayed == 0) {
    add(report::counted(status.captured, "operation") +
        " captured in CUDA graphs, replays are not seen");
  }
  if (status.left_ns) {
    add("ends in " + seconds_text(*status.left_ns));
  }
  if (status.left_operations) {
    add("ends after " + report::counted(*status.left_operations, "operation"));
  }
  if (status.start_at_realtime_ns) {
    std::string start = *status.start_at_realtime_ns == 0
                            ? "starts now"
                            : "starts at " + moment_text(*status.start_at_realtime_ns);
    if (status.start_duration_ns) {
      start += " for " + seconds_text(*status.start_duration_ns);
    }
    if (status.start_operations) {
      start += " for " + report::counted(*status.start_operations, "operation");
    }
    add(start);
  }
  if (status.stop_at_realtime_ns) {
    add("stops at " + moment_text(*status.stop_at_realtime_ns));
  }
  return text.empty() ? "-" : text;
}

void add_status(report::JsonWriter& json, const ProcessStatus& status) {
  json.text("host", status.host);
  json.text("job", status.job);
  json.integer("rank", status.rank);
  json.text("state", status.state);
  json.integer("windows", status.windows);
  json.integer("communicators", status.communicators);
  json.integer("operations", status.operations);
  json.integer("dropped", status.dropped);
  json.integer("captured", status.captured);
  json.integer("replayed", status.replayed);
  json.boolean("trouble", status.trouble);
  json.boolean("mask_changed", status.mask_changed);
  json.text("directory", status.directory);
  json.text("trace_path", status.trace_path);
  if (!status.dump_path.empty()) {
    json.text("dump_path", status.dump_path);
  }
  json.integer("start_at_realtime_ns", status.start_at_realtime_ns);
  json.integer("start_duration_ns", status.start_duration_ns);
  json.integer("start_operations", status.start_operations);
  json.integer("stop_at_realtime_ns", status.stop_at_realtime_ns);
  json.integer("left_ns", status.left_ns);
  json.integer("left_operations", status.left_operations);
}

}  // namespace

std::size_t count_failed(const std::vector<Reply>& replies) {
  return static_cast<std::size_t>(std::count_if(
      replies.begin(), replies.end(), [](const Reply& reply) { return !reply.error.empty(); }));
}

std::string replies_as_table(const std::vector<Reply>& replies, bool with_dumps) {
  std::set<std::string_view> jobs;
  for (const Reply& reply : replies) {
    if (reply.status) {
      jobs.insert(reply.status->job);
    }
  }
  std::vector<report::Column> columns = {
      {"rank", "", true},       {"host", "", false},   {"pid", "", true},
      {"state", "", false},     {"window", "", true},  {"next", "", false},
      {"operations", "", true}, {"dropped", "", true}, {with_dumps ? "dump" : "trace", "", false}};
  const bool has_jobs = jobs.size() > 1;
  if (has_jobs) {
    columns.insert(columns.begin(), {"job", "", false});
  }
  report::TextTable table(columns);
  for (const Reply& reply : replies) {
    // A host that does not answer has no process to name.
    std::vector<std::string> row(has_jobs ? columns.size() - 1 : columns.size(), "-");
    row[1] = reply.endpoint.host.empty() ? "-" : launch::printable(reply.endpoint.host);
    row[2] = reply.endpoint.pid == 0 ? "-" : std::to_string(reply.endpoint.pid);
    row[3] = "no answer";
    if (reply.status) {
      // The state is the process's own, also where it has refused the request.
      const ProcessStatus& status = *reply.status;
      const std::string& path = with_dumps ? status.dump_path : status.trace_path;
      row = {status.rank ? std::to_string(*status.rank) : "-",
             launch::printable(status.host),
             std::to_string(status.pid),
             launch::printable(status.state),
             std::to_string(status.windows),
             next_text(status),
             std::to_string(status.operations),
             std::to_string(status.dropped),
             path.empty() ? "-" : launch::printable(path)};
    }
    if (has_jobs) {
      row.insert(row.begin(), reply.status ? launch::printable(reply.status->job) : "-");
    }
    table.add_row(row);
  }
  return table.aligned(0);
}

std::string replies_as_json(std::string_view verb, const std::vector<Reply>& replies) {
  report::JsonWriter json;
  json.begin_object();
  json.integer("schema_version", 1);
  json.text("verb", verb);
  json.integer("failed", count_failed(replies));
  json.begin_array("processes");
  for (const Reply& reply : replies) {
    json.begin_object();
    json.boolean("ok", reply.error.empty());
    json.integer("pid", reply.endpoint.pid);
    if (!reply.error.empty()) {
      json.text("error", reply.error);
    }
    if (reply.status) {
      add_status(json, *reply.status);
    } else if (!reply.endpoint.host.empty()) {
      json.text("host", reply.endpoint.host);
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.finish();
}

}  // namespace ringside::live
