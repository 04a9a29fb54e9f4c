// SPDX-License-Identifier: Apache-2.0
#include "live/top_report.h"

#include "analyzer/report/document/json_writer.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/document/text_table.h"
#include "launch/text.h"

namespace ringside::live {
namespace {

constexpr double kGiga = 1e9;
constexpr char kNotKnown[] = "-";

std::string number_cell(const std::optional<double>& number, double unit, int decimals) {
  return number ? report::fixed(*number / unit, decimals) : kNotKnown;
}

std::string communicator_text(const LiveCommunicator& communicator) {
  const std::string comm = communicator.comm.empty()
                               ? "context " + std::to_string(communicator.context)
                               : communicator.comm;
  return launch::printable(communicator.name.empty() ? comm : communicator.name + " " + comm);
}

std::string seconds_cell(const std::optional<std::int64_t>& ns) {
  constexpr int kDecimals = 3;
  return ns ? report::fixed(static_cast<double>(*ns) / kGiga, kDecimals) : kNotKnown;
}

}  // namespace

std::string top_as_table(const std::vector<LiveRow>& rows) {
  // A terminal cuts lines at its width: the columns that show a hang come first.
  report::TextTable table({{"rank", "", true},
                           {"oldest", "s", true},
                           {"which", "", false},
                           {"in flight", "", true},
                           {"in flight", "bytes", true},
                           {"quiet", "s", true},
                           {"state", "", false},
                           {"communicator", "", false},
                           {"operations", "1/s", true},
                           {"busbw", "GB/s", true},
                           {"dropped", "", true},
                           {"host", "", false},
                           {"pid", "", true}});
  for (const LiveRow& row : rows) {
    const Reply& reply = row.process->reply;
    const ProcessStatus none;
    const ProcessStatus& status = reply.status ? *reply.status : none;
    const std::string& host = reply.status ? status.host : reply.endpoint.host;
    const LiveCommunicator* const of = row.communicator;
    const std::optional<std::int64_t> rank = of != nullptr ? of->rank : status.rank;
    table.add_row(
        {rank ? std::to_string(*rank) : kNotKnown,
         of != nullptr ? seconds_cell(of->oldest_age_ns) : kNotKnown,
         of != nullptr && !of->oldest_func.empty() ? operation_text(of->oldest_func, of->oldest_seq)
                                                   : kNotKnown,
         of != nullptr ? std::to_string(of->in_flight_operations) : kNotKnown,
         of != nullptr ? report::human_bytes(of->in_flight_bytes) : kNotKnown,
         number_cell(row.quiet_s, 1, 1),
         reply.status ? launch::printable(status.state) : "no answer",
         of != nullptr ? communicator_text(*of) : kNotKnown,
         number_cell(row.operations_per_s, 1, 1), number_cell(row.busbw_bytes_per_s, kGiga, 3),
         row.dropped ? std::to_string(*row.dropped) : kNotKnown,
         host.empty() ? kNotKnown : launch::printable(host),
         reply.endpoint.pid == 0 ? kNotKnown : std::to_string(reply.endpoint.pid)});
  }
  return table.aligned(0);
}

std::string top_as_json(const std::vector<LiveRow>& rows) {
  constexpr int kDecimals = 3;
  report::JsonWriter json;
  json.begin_object();
  json.integer("schema_version", 1);
  json.begin_array("rows");
  for (const LiveRow& row : rows) {
    const Reply& reply = row.process->reply;
    json.begin_object();
    json.boolean("ok", reply.error.empty());
    json.integer("pid", reply.endpoint.pid);
    if (!reply.error.empty()) {
      json.text("error", launch::printable(reply.error));
    }
    if (reply.status) {
      json.text("host", launch::printable(reply.status->host));
      json.text("job", launch::printable(reply.status->job));
      json.text("state", launch::printable(reply.status->state));
      json.integer("dropped_total", reply.status->dropped);
    } else if (!reply.endpoint.host.empty()) {
      json.text("host", launch::printable(reply.endpoint.host));
    }
    json.integer("dropped", row.dropped);
    json.number("quiet_s", row.quiet_s, kDecimals);
    if (const LiveCommunicator* const of = row.communicator; of != nullptr) {
      json.text("communicator", launch::printable(of->comm));
      json.text("name", launch::printable(of->name));
      json.integer("context", of->context);
      json.integer("rank", of->rank);
      json.number("interval_s", row.interval_s, 2 * kDecimals);
      json.number("operations_per_s", row.operations_per_s, kDecimals);
      json.number("message_bytes_per_s", row.message_bytes_per_s, kDecimals);
      json.number("busbw_bytes_per_s", row.busbw_bytes_per_s, kDecimals);
      json.integer("operations", of->operations);
      json.integer("in_flight_operations", of->in_flight_operations);
      json.integer("in_flight_bytes", of->in_flight_bytes);
      json.integer("oldest_age_ns", of->oldest_age_ns);
      if (!of->oldest_func.empty()) {
        json.text("oldest_func", launch::printable(of->oldest_func));
        json.integer("oldest_seq", of->oldest_seq);
      }
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.finish();
}

}  // namespace ringside::live
