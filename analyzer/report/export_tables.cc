// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/export_tables.h"

#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/function_mismatch.h"
#include "analyzer/match/group_patterns.h"
#include "analyzer/match/membership.h"
#include "analyzer/metrics/rows.h"
#include "analyzer/metrics/stragglers.h"
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

// By facts::Basis.
constexpr std::string_view kBases[] = {"", "call", "some", "execution"};

class Exporter {
 public:
  Exporter(ExportSink& sink, const ExportInput& input, const ExportProgress& progress)
      : sink_(sink),
        facts_(input.facts),
        traces_(facts_.traces()),
        matches_(facts_.matches()),
        alignment_(facts_.alignment()),
        is_part_(input.is_part),
        progress_(progress),
        call_ids_(traces_.files.size()) {}

  void run() {
    add_meta();
    add_hosts();
    add_processes();
    add_communicators();
    for (std::size_t i = 0; i < matches_.operations.size() && sink_.error().empty(); ++i) {
      add_operation(i, facts_.judgements()[i]);
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
           value_of(host.is_bounded), if_known(host.offset_ns),
           host.drift_ppb ? if_known(*host.drift_ppb) : ExportValue(),
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
    facts_.ranks_of(index, ranks_);
    const facts::OperationFacts& known = facts_.operations()[index];
    const bool has_times = !ranks_.empty() && !known.is_impossible;
    const bool has_ends = has_times && known.ranks_timed > 0;
    waits_.clear();
    std::int64_t waited_ns = 0;
    facts::Interval waited;
    for (const facts::RankTimes& rank : ranks_) {
      if (has_times && rank.has_execution) {
        waits_[rank.part] = &rank;
        waited_ns = add_saturating(waited_ns, rank.best_wait_ns);
        waited.least_ns = add_saturating(waited.least_ns, rank.wait.least_ns);
        waited.most_ns = add_saturating(waited.most_ns, rank.wait.most_ns);
      }
    }
    const auto margin =
        facts::margin_of_last(has_times ? std::span(ranks_) : std::span<facts::RankTimes>());
    const facts::Interval margin_ns = margin.value_or(facts::Interval{});
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
         !has_times ? ExportValue() : ExportValue(kBases[static_cast<std::size_t>(known.basis)]),
         if_true(has_times, known.first_arrival_ns),
         if_true(has_times, known.last_arrival_ns),
         if_true(has_ends, known.last_end_ns),
         if_true(has_ends && known.busy, known.best_busy_ns),
         if_true(has_ends && known.busy, known.busy ? known.busy->least_ns : 0),
         if_true(has_ends && known.busy, known.busy ? known.busy->most_ns : 0),
         if_true(has_ends, waited_ns),
         if_true(has_ends, waited.least_ns),
         if_true(has_ends, waited.most_ns),
         has_times ? ExportValue(membership_id(operation.communicator, ranks_.back().member))
                   : ExportValue(),
         has_times && ranks_.size() > 1 ? value_of(margin_ns.least_ns > 0) : ExportValue(),
         if_true(margin.has_value(), margin_ns.least_ns),
         if_true(margin.has_value(), margin_ns.most_ns)});
    tell("operations", id_of(index));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      add_call(index, static_cast<std::uint32_t>(operation.first_part + i));
    }
  }

  // A duration is that of the rank's own clock.
  ExportValue end_of(std::uint32_t file, const model::Operation& call) const {
    if (!call.start_ns || !call.end_ns) {
      return call.end_ns ? ExportValue(alignment_.to_common_ns(file, *call.end_ns)) : ExportValue();
    }
    return add_saturating(alignment_.to_common_ns(file, *call.start_ns),
                          subtract_saturating(*call.end_ns, *call.start_ns));
  }

  void add_call(std::size_t index, std::uint32_t part_index) {
    const match::Part& part = matches_.parts[part_index];
    const model::Operation& call = match::operation_of(traces_, part);
    const auto common = [&](const std::optional<std::int64_t>& time_ns) {
      return time_ns ? ExportValue(alignment_.to_common_ns(part.file, *time_ns)) : ExportValue();
    };
    const auto name = [&](model::NameId id) { return text_of(traces_.names.text(id)); };
    const auto found = waits_.find(part_index);
    const auto wait = [&](std::int64_t facts::Interval::*which) {
      return found == waits_.end() ? ExportValue() : ExportValue(found->second->wait.*which);
    };
    const std::int64_t id = ++calls_;
    add(ExportTableId::kCalls,
        {id,
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
         end_of(part.file, call),
         found == waits_.end() ? ExportValue() : ExportValue(found->second->best_wait_ns),
         wait(&facts::Interval::least_ns),
         wait(&facts::Interval::most_ns),
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
    Document documents[] = {match_document(traces_, matches_, alignment_, kFindingsDescribed),
                            stragglers_document(metrics::find_stragglers(facts_), matches_)};
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
  const facts::Facts& facts_;
  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  const bool is_part_;
  const ExportProgress& progress_;
  std::vector<std::int64_t> first_membership_;                        // by communicator
  std::unordered_map<std::uint32_t, const facts::RankTimes*> waits_;  // by part
  std::vector<facts::RankTimes> ranks_;                               // of one operation
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
