// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/report/document/json_writer.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/summary/health.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {
namespace {

// Raised when a reader of the older output would misread the newer; docs/columns.md lists the
// keys.
constexpr std::uint64_t kSummaryVersion = 2;

void write_inputs(JsonWriter& json, const Summary& summary) {
  const InputFacts& inputs = summary.inputs;
  json.begin_object("inputs");
  json.begin_array("files");
  for (const model::TraceFile* file : inputs.files) {
    json.begin_object();
    json.text("path", file->path);
    json.text("host", file->process.host);
    json.text("run_id", file->process.run_id);
    json.boolean("dump", file->process.dump);
    json.boolean("closed", file->closed);
    json.integer("segments", file->segments);
    json.integer("operations", file->operations.size());
    json.integer("bytes", file->size_bytes);
    json.integer("bad_lines", file->bad_lines);
    json.end_object();
  }
  json.end_array();
  json.integer("ranks", inputs.ranks);
  json.integer("operations", inputs.operations);
  json.integer("bytes", inputs.size_bytes);
  json.integer("windows", inputs.windows);
  json.begin_array("runs");
  for (const match::Run& run : summary.runs) {
    json.begin_object();
    json.text("job", run.job);
    json.text("began", utc_time(run.start_ns / 1'000'000'000));
    json.integer("processes", run.files.size());
    json.end_object();
  }
  json.end_array();
  json.texts("hosts", inputs.hosts);
  json.texts("jobs", inputs.jobs);
  json.texts("nccl_versions", inputs.nccl_versions);
  json.begin_array("profiler_interfaces");
  for (const std::int64_t interface : inputs.interfaces) {
    json.integer({}, static_cast<std::uint64_t>(interface));
  }
  json.end_array();
  json.end_object();
}

void write_completeness(JsonWriter& json, const Summary& summary) {
  const InputFacts& inputs = summary.inputs;
  json.begin_object("completeness");
  json.integer("callbacks_produced", inputs.produced);
  json.integer("callbacks_dropped", dropped_total(inputs));
  json.begin_object("dropped");
  for (const auto& [what, callbacks] : inputs.dropped) {
    json.integer(what, callbacks);
  }
  json.end_object();
  json.integer("callbacks_sampled_out", inputs.sampled_out);
  json.integer("callbacks_rotated", inputs.rotated);
  if (inputs.rotated > 0) {
    json.text("kept_from", utc_time(inputs.rotated_kept_from_s));
  }
  json.texts("segments_missing", inputs.segments_missing);
  json.texts("files_not_closed", inputs.not_closed);
  json.texts("files_recovered", inputs.recovered);
  json.texts("files_losses_not_known", inputs.losses_not_known);
  json.texts("files_with_torn_last_line", inputs.torn);
  json.integer("bad_lines", summary.problems->bad_lines());
  json.integer("operations_lost", inputs.lines_lost);
  json.integer("marks_lost", inputs.marks_lost);
  json.integer("ranges_lost", inputs.ranges_lost);
  json.integer("events_given_up", inputs.given_up);
  json.integer("operations_unpaired", inputs.unpaired);
  json.texts("duplicates_left_out", inputs.duplicates);
  json.begin_array("unreadable");
  for (const model::Problem& problem : summary.problems->files()) {
    json.begin_object();
    json.text("path", problem.path);
    json.text("reason", problem.reason);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

// The best, least or most of each; nothing: not known.
void write_spread(JsonWriter& json, std::string_view key,
                  const std::optional<metrics::Spread>& times, double metrics::Figure::*part) {
  if (!times) {
    json.null(key);
    return;
  }
  const auto write = [&](std::string_view name, const metrics::Figure& time_ns) {
    json.number(name, part ? std::optional(time_ns.*part / 1000) : std::nullopt, 3);
  };
  json.begin_object(key);
  write("min_us", times->min);
  write("median_us", times->median);
  write("p90_us", times->p90);
  write("p99_us", times->p99);
  write("max_us", times->max);
  json.end_object();
}

void write_row(JsonWriter& json, const SummaryRow& one, const Columns<SummaryRow>& columns,
               const std::string& by) {
  using metrics::Figure;
  const metrics::Row& row = one.row;
  const auto write = [&](std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
      const ColumnOf<SummaryRow>& column = column_of(columns, key);
      write_cell(json, column.head, column.value(one));
    }
  };
  json.begin_object();
  if (!by.empty()) {
    write({by, "wait_share_percent"});
  }
  write({"function", "bytes", "bytes_min", "bytes_max", "datatype", "algorithm", "protocol",
         "is_group", "is_grouped", "count"});
  if (row.is_sampled) {
    write({"count_scaled"});
  }
  write({"partial", "ranks", "ranks_seen", "ranks_inferred", "time_median_us", "time_p99_us"});
  write_spread(json, "busy", row.busy, &Figure::best);
  write_spread(json, "busy_least", row.busy, row.is_least_open() ? nullptr : &Figure::least);
  write_spread(json, "busy_most", row.busy, &Figure::most);
  write_spread(json, "wall", row.wall, &Figure::best);
  write_spread(json, "wait_least", row.wait, &Figure::least);
  write_spread(json, "wait_most", row.wait, &Figure::most);
  write({"wait_median_us", "on_some_ranks", "excluded_impossible", "gpu_stamps_rejected",
         "algbw_gb_s", "algbw_least_gb_s", "algbw_most_gb_s", "busbw_gb_s", "busbw_least_gb_s",
         "busbw_most_gb_s", "nominal_gb_s", "nominal_least_gb_s", "nominal_most_gb_s"});
  if (row.peak) {
    write({"peak_gb_s", "peak_bound", "efficiency_percent", "efficiency_least_percent",
           "efficiency_most_percent"});
  }
  write({"algbw_inferred", "busbw_inferred", "times_from"});
  json.end_object();
}

void write_clocks(JsonWriter& json, const align::Alignment& alignment) {
  json.begin_array("clocks");
  for (const align::HostOffset& host : alignment.hosts()) {
    json.begin_object();
    json.text("host", host.host);
    json.boolean("is_reference", host.is_reference);
    json.boolean("is_bounded", host.is_bounded);
    const auto if_bounded = [&](std::string_view key, std::int64_t value_ns) {
      if (host.is_bounded || host.is_reference) {
        json.integer(key, value_ns);
      } else {
        json.null(key);
      }
    };
    if_bounded("offset_ns", host.offset_ns);
    if_bounded("at_ns", host.at_ns);
    json.number("drift_ppb", host.drift_ppb, 0);
    if_bounded("uncertainty_ns", host.uncertainty_ns);
    if_bounded("most_uncertainty_ns", host.most_uncertainty_ns);
    json.text("set_by", host.set_by);
    if (host.rests_on_prior) {
      json.boolean("rests_on_prior", true);
      json.number("prior_ns", host.prior_ns, 0);
    }
    json.end_object();
  }
  json.end_array();
}

const char* identity_name(match::Identity identity) {
  constexpr const char* kNames[] = {"hash", "sole", "order_of_creation", "unknown"};
  return kNames[static_cast<std::size_t>(identity)];
}

void write_communicator(JsonWriter& json, const Summary& summary, std::size_t index,
                        const Columns<SummaryRow>& columns) {
  const match::Communicator& communicator = summary.communicators[index];
  const metrics::CommunicatorRows& rows = summary.rows[index];
  json.begin_object();
  json.text("label", label_of(communicator));
  json.text("hash", communicator.hash);
  json.text("name", communicator.name);
  json.text("identity", identity_name(communicator.identity));
  json.integer("nranks", communicator.nranks);
  json.boolean("nranks_inferred", communicator.nranks_inferred);
  json.integer("ranks_seen", communicator.members.size());
  json.begin_array("ranks_without_trace");
  for (const std::uint32_t rank : match::ranks_without_trace(communicator)) {
    json.integer({}, rank);
  }
  json.end_array();
  json.integer("run", communicator.run + 1);
  json.integer("operations", rows.operations);
  json.integer("repeated_sequence_numbers", rows.repeated);
  json.integer("operations_not_aligned", communicator.unaligned_calls);
  json.texts("matching_notes", communicator.notes);
  json.begin_object("verdicts");
  for (std::size_t i = 0; i < rows.verdicts.size(); ++i) {
    std::string key = match::verdict_name(static_cast<match::Verdict>(i));
    if (const auto space = key.find(' '); space != std::string::npos) {
      key[space] = '_';
    }
    json.integer(key, rows.verdicts[i]);
  }
  json.end_object();
  json.begin_object("not_finished");
  for (std::size_t i = 0; i < rows.unfinished.size(); ++i) {
    json.integer(state_name(static_cast<model::State>(i)), rows.unfinished[i]);
  }
  json.end_object();
  json.texts("examples", rows.examples);
  json.begin_array("rows");
  for (const metrics::Row& row : rows.rows) {
    write_row(json, {communicator, row}, columns, group_column(summary.by).key);
  }
  json.end_array();
  json.end_object();
}

}  // namespace

std::string summary_as_json(const Summary& summary) {
  JsonWriter json;
  json.begin_output(kSummaryVersion, "summary");
  if (summary.health != nullptr) {
    write_health(json, *summary.health);
  }
  write_inputs(json, summary);
  write_completeness(json, summary);
  write_clocks(json, *summary.alignment);
  json.begin_array("communicators");
  const Columns<SummaryRow> columns = columns_for_programs(summary);
  for (std::size_t i = 0; i < summary.communicators.size(); ++i) {
    write_communicator(json, summary, i, columns);
  }
  json.end_array();
  json.end_object();
  return json.finish();
}

}  // namespace ringside::report
