// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/export/export_tables.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/membership.h"
#include "analyzer/model/call_site.h"
#include "analyzer/replay/run_replay.h"
#include "analyzer/report/export/export_columns.h"
#include "analyzer/report/match_report.h"
#include "analyzer/report/summary/stragglers_report.h"
#include "analyzer/report/summary/summary.h"

#ifndef RINGSIDE_VERSION
#error "RINGSIDE_VERSION is defined by analyzer/CMakeLists.txt"
#endif

namespace ringside::report {
namespace {

constexpr std::size_t kFindingsDescribed = 1000;  // of each communicator
constexpr std::int64_t kProgressRows = 1 << 16;

class Exporter {
 public:
  Exporter(ExportSink& sink, const ExportInput& input, const ExportProgress& progress)
      : sink_(sink),
        facts_(input.facts),
        traces_(facts_.traces()),
        matches_(facts_.matches()),
        alignment_(facts_.alignment()),
        tells_moments_(
            std::all_of(traces_.files.begin(), traces_.files.end(),
                        [](const model::TraceFile& file) { return file.process.tells_moment; })),
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
    for (std::uint32_t i = 0; i < traces_.files.size() && sink_.error().empty(); ++i) {
      add_steps(i);
    }
    add_findings();  // and what they rest on
  }

 private:
  void tell(const char* table, std::int64_t rows) const {
    if (progress_ && rows % kProgressRows == 0) {
      progress_(table, rows);
    }
  }

  void add_meta() {
    const std::string version = std::to_string(kExportSchemaVersion);
    const auto entry = [&](std::string_view key, std::string_view value) {
      add_row(sink_, MetaRow{key, value});
    };
    entry("schema_version", version);
    entry("tool", "ringside");
    entry("tool_version", RINGSIDE_VERSION);
    entry("clock", alignment_.is_aligned() ? "aligned" : "realtime");
    entry("is_part", is_part_ ? "1" : "0");
    entry("source", tells_moments_ ? "traces" : "flight_recorder");
  }

  void add_hosts() {
    for (std::size_t i = 0; i < alignment_.hosts().size(); ++i) {
      add_row(sink_, HostRow{i, alignment_.hosts()[i]});
    }
  }

  void add_processes() {
    for (std::uint32_t i = 0; i < traces_.files.size(); ++i) {
      add_row(sink_, ProcessRow{i, facts_});
    }
  }

  void add_communicators() {
    const auto memberships = match::find_memberships(traces_, matches_);
    const auto& communicators = matches_.communicators;
    for (std::size_t c = 0; c < communicators.size(); ++c) {
      add_row(sink_, CommunicatorRow{c, communicators[c], memberships[c].inside,
                                     label_of(communicators[c])});
    }
    std::int64_t id = 0;
    for (std::size_t c = 0; c < communicators.size(); ++c) {
      first_membership_.push_back(id + 1);
      for (std::size_t m = 0; m < communicators[c].members.size(); ++m) {
        const match::Member& member = communicators[c].members[m];
        add_row(sink_, MembershipRow{++id, c, member, memberships[c].global_ranks[m],
                                     traces_.files[member.file].contexts.at(member.context)});
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
    const facts::OperationFacts known = facts_.ranks_of(index, ranks_);
    // The calls of a dump do not tell who came late: a call is made long before its kernel runs.
    const bool has_times = !ranks_.empty() && !known.is_impossible && tells_moments_;
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
    // The one that the others waited for came last, as much later as the least of them waited.
    std::optional<std::int64_t> last_membership_id;
    std::optional<facts::Interval> margin;
    if (has_ends && ranks_.size() > 1) {
      const auto longest = std::max_element(
          ranks_.begin(), ranks_.end(),
          [](const auto& a, const auto& b) { return a.best_wait_ns < b.best_wait_ns; });
      if (longest->waits_for != facts::RankTimes::kNobody) {
        const facts::RankTimes& last = ranks_[longest->waits_for];
        last_membership_id = membership_id(operation.communicator, last.member);
        margin = longest->wait;
        for (const facts::RankTimes& rank : ranks_) {
          if (&rank != &last) {
            margin->least_ns = std::min(margin->least_ns, rank.wait.least_ns);
            margin->most_ns = std::min(margin->most_ns, rank.wait.most_ns);
          }
        }
      }
    }
    const auto last_is_decided = margin ? std::optional(margin->least_ns > 0) : std::nullopt;
    add_row(sink_,
            OperationRow{index, facts_, operation, judgement, first, known, has_times, has_ends,
                         waited_ns, waited, last_membership_id, last_is_decided, margin});
    tell("operations", row_id(index));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      add_call(index, static_cast<std::uint32_t>(operation.first_part + i));
    }
  }

  // The number of the stack that a dump has; its frames are written where it comes first.
  std::optional<std::int64_t> stack_id(model::NameId stack) {
    const std::string_view text = traces_.names.text(stack);
    if (tells_moments_ || text.empty()) {
      return std::nullopt;
    }
    const auto [known, is_new] = stacks_.emplace(stack, row_id(stacks_.size()));
    if (is_new) {
      std::int64_t number = 0;
      for (const std::string_view frame : model::frames_of(text)) {
        add_row(sink_, FrameRow{++frames_, known->second, ++number, frame});
      }
    }
    return known->second;
  }

  void add_call(std::size_t index, std::uint32_t part_index) {
    const match::Part& part = matches_.parts[part_index];
    const model::Operation& call = match::operation_of(traces_, part);
    const auto found = waits_.find(part_index);
    const std::int64_t id = ++calls_;
    add_row(sink_,
            CallRow{id, index, membership_id(matches_.operations[index].communicator, part.member),
                    facts_, part.file, call, found != waits_.end() ? found->second : nullptr,
                    stack_id(call.called_by)});
    if (!traces_.files[part.file].steps.empty()) {
      call_ids_[part.file].emplace(call.id, id);
    }
    tell("calls", id);
  }

  void add_steps(std::uint32_t file) {
    for (const model::Step& step : traces_.files[file].steps) {
      const auto call = call_ids_[file].find(step.operation);
      const bool has_call = step.operation != 0 && call != call_ids_[file].end();
      if (is_part_ && !has_call) {
        continue;
      }
      add_row(sink_, StepRow{++steps_, file, has_call ? std::optional(call->second) : std::nullopt,
                             alignment_, step});
      tell("steps", steps_);
    }
  }

  void add_ranks(const replay::Replays& replays) {
    std::int64_t id = 0;
    for (const auto& run : replays.runs) {
      for (std::uint32_t rank = 0; rank < run->ranks().size(); ++rank) {
        add_row(sink_, RankRow{++id, *run, rank});
      }
    }
  }

  void add_kinds(const std::vector<metrics::CommunicatorRows>& communicators) {
    std::int64_t id = 0;
    for (std::size_t c = 0; c < communicators.size(); ++c) {
      for (const metrics::Row& row : communicators[c].rows) {
        add_row(sink_, KindRow{++id, c, row});
      }
    }
  }

  void add_links(const metrics::Network& network) {
    std::int64_t id = 0;
    for (const metrics::Link& link : network.links) {
      add_row(sink_, LinkRow{++id, membership_id(link.communicator, link.member), link});
    }
  }

  void add_findings() {
    std::vector<Document> documents = {
        match_document(traces_, matches_, alignment_, kFindingsDescribed)};
    if (tells_moments_) {
      replay::PartsFinder finder(facts_);
      add_kinds(metrics::make_rows(
          facts_, metrics::RowsBy::kKind,
          [&](std::size_t thread, const facts::SeenOperation& seen) { finder.add(thread, seen); }));
      const replay::Replays replays = replay::make_replays(finder.take(), traces_, matches_);
      add_ranks(replays);
      add_links(metrics::find_network(traces_, alignment_));
      documents.push_back(stragglers_document(replays));
    }
    std::int64_t id = 0;
    for (const Document& document : documents) {
      for (const Finding& finding : document.findings) {
        add_row(sink_, FindingRow{++id, finding});
      }
    }
  }

  ExportSink& sink_;
  const facts::Facts& facts_;
  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  const bool tells_moments_;  // false of Flight Recorder dumps
  const bool is_part_;
  const ExportProgress& progress_;
  std::vector<std::int64_t> first_membership_;                        // by communicator
  std::unordered_map<std::uint32_t, const facts::RankTimes*> waits_;  // by part
  std::vector<facts::RankTimes> ranks_;                               // of one operation
  /// The calls of files with steps, by the id that the file gives the operation.
  std::vector<std::unordered_map<std::uint64_t, std::int64_t>> call_ids_;
  std::unordered_map<model::NameId, std::int64_t> stacks_;
  std::int64_t frames_ = 0;
  std::int64_t calls_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace

void export_to(ExportSink& sink, const ExportInput& input, const ExportProgress& progress) {
  Exporter(sink, input, progress).run();
}

}  // namespace ringside::report
