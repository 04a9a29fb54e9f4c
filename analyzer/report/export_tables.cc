// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/export_tables.h"

#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/match/function_mismatch.h"
#include "analyzer/match/group_patterns.h"
#include "analyzer/match/membership.h"
#include "analyzer/metrics/rows.h"
#include "analyzer/metrics/stragglers.h"
#include "analyzer/metrics/timing.h"
#include "analyzer/report/match_report.h"
#include "analyzer/report/stragglers_report.h"
#include "analyzer/report/summary.h"

#ifndef RINGSIDE_VERSION
#error "RINGSIDE_VERSION is defined by analyzer/CMakeLists.txt"
#endif

namespace ringside::report {
namespace {

constexpr std::size_t kFindingsDescribed = 1000;  // of each communicator
constexpr std::int64_t kProgressRows = 1 << 16;
constexpr std::array<const char*, 5> kWays = {"sequence", "order", "aligned", "pair", "group"};

// A number that the columns cannot hold is left out.
template <typename Number>
ExportValue value_of(Number number) {
  return std::in_range<std::int64_t>(number) ? ExportValue(static_cast<std::int64_t>(number))
                                             : ExportValue();
}

ExportValue value_of(bool flag) {
  return std::int64_t{flag ? 1 : 0};
}

template <typename Number>
ExportValue value_of(const std::optional<Number>& number) {
  return number ? value_of(*number) : ExportValue();
}

ExportValue text_of(std::string_view text) {
  return text.empty() ? ExportValue() : ExportValue(text);
}

// Rows count from 1, as SQLite counts them; indices of the model from 0.
std::int64_t id_of(std::size_t index) {
  return static_cast<std::int64_t>(index) + 1;
}

class Exporter {
 public:
  Exporter(ExportSink& sink, const ExportInput& input, const ExportProgress& progress)
      : sink_(sink),
        traces_(input.traces),
        matches_(input.matches),
        alignment_(input.alignment),
        is_part_(input.is_part),
        progress_(progress),
        call_ids_(input.traces.files.size()) {}

  void run() {
    add_meta();
    add_hosts();
    add_processes();
    add_communicators();
    const auto judgements = match::judge_all(traces_, matches_);
    for (std::size_t i = 0; i < matches_.operations.size() && sink_.error().empty(); ++i) {
      add_operation(i, judgements[i]);
    }
    for (std::size_t i = 0; i < traces_.files.size() && sink_.error().empty(); ++i) {
      add_steps(i);
    }
    add_findings();
  }

 private:
  void add(ExportTableId table, std::initializer_list<ExportValue> values) {
    sink_.add(table, std::span(values.begin(), values.size()));
  }

  void tell(const char* table, std::int64_t rows) const {
    if (progress_ && rows % kProgressRows == 0) {
      progress_(table, rows);
    }
  }

  void add_meta() {
    const std::string version = std::to_string(kExportSchemaVersion);
    const auto entry = [&](std::string_view key, std::string_view value) {
      add(ExportTableId::kMeta, {key, value});
    };
    entry("schema_version", version);
    entry("tool", "ringside");
    entry("tool_version", RINGSIDE_VERSION);
    entry("clock", alignment_.is_aligned() ? "aligned" : "realtime");
    entry("is_part", is_part_ ? "1" : "0");
  }

  void add_hosts() {
    for (std::size_t i = 0; i < alignment_.hosts().size(); ++i) {
      const align::HostOffset& host = alignment_.hosts()[i];
      const bool is_known = host.is_reference || host.is_bounded;
      const auto if_known = [&](const ExportValue& value) {
        return is_known ? value : ExportValue();
      };
      add(ExportTableId::kHosts,
          {id_of(i), std::string_view(host.host), value_of(host.files), value_of(host.is_reference),
           value_of(host.is_bounded), if_known(host.offset_ns), if_known(host.drift_ppb),
           if_known(host.uncertainty_ns), if_known(host.most_uncertainty_ns),
           text_of(host.set_by)});
    }
  }

  void add_processes() {
    for (std::size_t i = 0; i < traces_.files.size(); ++i) {
      const model::TraceFile& file = traces_.files[i];
      const model::Process& process = file.process;
      const auto index = static_cast<std::uint32_t>(i);
      add(ExportTableId::kProcesses,
          {id_of(i), id_of(alignment_.host_of(index)), id_of(matches_.runs.of_file[i]),
           std::string_view(file.path), text_of(process.run_id), text_of(process.job), process.pid,
           value_of(process.launcher_rank), text_of(process.nccl_version), process.abi,
           alignment_.to_common_ns(index, process.start_ns), value_of(file.closed),
           value_of(process.dump), value_of(file.recovered), value_of(file.bad_lines)});
    }
  }

  void add_communicators() {
    const auto memberships = match::find_memberships(traces_, matches_);
    const auto& communicators = matches_.communicators;
    for (std::size_t c = 0; c < communicators.size(); ++c) {
      const match::Communicator& one = communicators[c];
      const auto& inside = memberships[c].inside;
      add(ExportTableId::kCommunicators,
          {id_of(c), id_of(one.run), text_of(one.name), text_of(one.hash), value_of(one.nranks),
           value_of(one.nranks_inferred), inside ? ExportValue(id_of(*inside)) : ExportValue(),
           value_of(one.unaligned_calls)});
    }
    std::int64_t id = 0;
    for (std::size_t c = 0; c < communicators.size(); ++c) {
      first_membership_.push_back(id + 1);
      for (std::size_t m = 0; m < communicators[c].members.size(); ++m) {
        const match::Member& member = communicators[c].members[m];
        add(ExportTableId::kMemberships,
            {++id, id_of(c), value_of(member.rank), id_of(member.file), value_of(member.context),
             value_of(memberships[c].global_ranks[m]), value_of(member.is_complete)});
      }
    }
  }

  std::int64_t membership_id(std::uint32_t communicator, std::uint32_t member) const {
    return first_membership_[communicator] + member;
  }

  void add_operation(std::size_t index, const match::Judgement& judgement) {
    const match::MatchedOperation& operation = matches_.operations[index];
    const auto parts = match::parts_of(matches_, operation);
    const model::Operation& first = match::operation_of(traces_, parts.front());
    auto timing = metrics::timing_of(traces_, matches_, alignment_, operation);
    if (timing && timing->is_impossible) {
      timing.reset();
    }
    const bool waits = timing && metrics::is_synchronising(traces_, operation);
    const bool has_ends = timing && timing->has_ends;
    waits_.clear();
    std::int64_t waited_ns = 0;
    bool is_summed = waits;
    if (waits) {
      for (const metrics::Arrival& arrival : timing->arrivals) {
        const std::int64_t wait_ns = timing->last_start_ns() - arrival.start_ns;
        waits_[arrival.part] = wait_ns;
        is_summed = is_summed && !__builtin_add_overflow(waited_ns, wait_ns, &waited_ns);
      }
    }
    // Where ranks disagree on the size there is no one size.
    std::optional<std::uint64_t> bytes;
    if (!match::disagrees(judgement)) {
      bytes = operation.way == match::Way::kGroup ? match::group_bytes(traces_, matches_, operation)
                                                  : first.bytes;
    }
    const bool is_pair = operation.way == match::Way::kPair;
    const auto if_true = [](bool condition, std::int64_t value) {
      return condition ? ExportValue(value) : ExportValue();
    };
    add(ExportTableId::kOperations,
        {id_of(index),
         id_of(operation.communicator),
         metrics::function_of(traces_, operation),
         value_of(operation.number),
         value_of(operation.occurrence),
         std::string_view(kWays[static_cast<std::size_t>(operation.way)]),
         std::string_view(match::verdict_name(judgement.verdict)),
         text_of(match::difference_name(judgement.difference)),
         value_of(bytes),
         match::disagrees(judgement) ? ExportValue() : text_of(traces_.names.text(first.datatype)),
         if_true(is_pair, operation.source),
         if_true(is_pair, operation.destination),
         value_of(match::ranks_expected(matches_, operation)),
         value_of(match::ranks_seen(matches_, operation)),
         !timing    ? ExportValue()
         : has_ends ? ExportValue(std::string_view("execution"))
                    : ExportValue(std::string_view("call")),
         if_true(timing.has_value(), timing ? timing->first_start_ns() : 0),
         if_true(timing.has_value(), timing ? timing->last_start_ns() : 0),
         if_true(has_ends, timing ? timing->last_end_ns : 0),
         if_true(has_ends && timing->busy_ns() >= 0, has_ends ? timing->busy_ns() : 0),
         if_true(is_summed, waited_ns),
         timing ? ExportValue(membership_id(operation.communicator,
                                            matches_.parts[timing->arrivals.back().part].member))
                : ExportValue(),
         timing ? value_of(timing->is_decided()) : ExportValue(),
         timing ? value_of(timing->uncertainty_ns) : ExportValue()});
    tell("operations", id_of(index));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      add_call(index, static_cast<std::uint32_t>(operation.first_part + i));
    }
  }

  void add_call(std::size_t index, std::uint32_t part_index) {
    const match::Part& part = matches_.parts[part_index];
    const model::Operation& call = match::operation_of(traces_, part);
    const auto common = [&](const std::optional<std::int64_t>& time_ns) {
      return time_ns ? ExportValue(alignment_.to_common_ns(part.file, *time_ns)) : ExportValue();
    };
    const auto name = [&](model::NameId id) { return text_of(traces_.names.text(id)); };
    const auto wait = waits_.find(part_index);
    const std::int64_t id = ++calls_;
    add(ExportTableId::kCalls, {id,
                                id_of(index),
                                membership_id(matches_.operations[index].communicator, part.member),
                                value_of(call.id),
                                traces_.names.text(call.func),
                                value_of(call.seq),
                                value_of(call.count),
                                name(call.datatype),
                                value_of(call.bytes),
                                value_of(call.root),
                                value_of(call.peer),
                                common(call.enqueue_start_ns),
                                common(call.enqueue_end_ns),
                                common(call.start_ns),
                                common(call.end_ns),
                                wait == waits_.end() ? ExportValue() : ExportValue(wait->second),
                                std::string_view(state_name(call.state)),
                                value_of(call.in_flight),
                                std::string_view(times_from_name(call.times_from)),
                                name(call.algo),
                                name(call.proto),
                                call.channels == 0 ? ExportValue() : value_of(call.channels),
                                value_of(call.graph),
                                value_of(call.window)});
    if (!traces_.files[part.file].steps.empty()) {
      call_ids_[part.file].emplace(call.id, id);
    }
    tell("calls", id);
  }

  void add_steps(std::size_t file) {
    const auto index = static_cast<std::uint32_t>(file);
    for (const model::Step& step : traces_.files[file].steps) {
      const auto call = call_ids_[file].find(step.operation);
      const bool has_call = step.operation != 0 && call != call_ids_[file].end();
      if (is_part_ && !has_call) {
        continue;
      }
      add(ExportTableId::kSteps,
          {++steps_, id_of(file), has_call ? ExportValue(call->second) : ExportValue(),
           value_of(step.peer), value_of(step.channel), value_of(step.is_send),
           value_of(step.in_flight), alignment_.to_common_ns(index, step.start_ns),
           step.end_ns ? ExportValue(alignment_.to_common_ns(index, *step.end_ns)) : ExportValue(),
           value_of(step.bytes), step.gpu_wait_ns, step.peer_wait_ns, step.transfer_ns,
           step.flush_ns});
      tell("steps", steps_);
    }
  }

  void add_findings() {
    Document documents[] = {
        match_document(traces_, matches_, kFindingsDescribed),
        stragglers_document(metrics::find_stragglers(traces_, matches_, alignment_), matches_)};
    std::int64_t id = 0;
    for (const Document& document : documents) {
      for (const Finding& finding : document.findings) {
        add(ExportTableId::kFindings,
            {++id, severity_name(finding.severity), std::string_view(finding.kind),
             std::string_view(finding.text)});
      }
    }
  }

  ExportSink& sink_;
  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  const bool is_part_;
  const ExportProgress& progress_;
  std::vector<std::int64_t> first_membership_;             // by communicator
  std::unordered_map<std::uint32_t, std::int64_t> waits_;  // of one operation, by part
  /// Of files with steps, by the id that the file gives the operation.
  std::vector<std::unordered_map<std::uint64_t, std::int64_t>> call_ids_;
  std::int64_t calls_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace

void export_to(ExportSink& sink, const ExportInput& input, const ExportProgress& progress) {
  Exporter(sink, input, progress).run();
}

}  // namespace ringside::report
