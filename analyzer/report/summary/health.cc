// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/summary/health.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/model/joined.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/document/slow_text.h"
#include "analyzer/report/summary/stragglers_report.h"

namespace ringside::report {
namespace {

// Further findings of one kind say no more; the tables have all. Notes of one kind have one cause.
constexpr std::size_t kFindingsOfOneKind = 4;
constexpr std::size_t kNotesOfOneKind = 1;
constexpr std::size_t most_of(Severity severity) {
  return severity == Severity::kNote ? kNotesOfOneKind : kFindingsOfOneKind;
}
// So many findings are shown in one text; the rest is counted.
constexpr std::size_t kFindingsShown = 6;

// Names processes as "rank 3 (node1)"; by the pid if the rank is not known.
std::string processes_text(const std::vector<const model::TraceFile*>& files) {
  constexpr std::size_t kProcessesNamed = 4;
  std::vector<std::string> names;
  for (const model::TraceFile* const file : files) {
    const model::Process& process = file->process;
    names.push_back((process.launcher_rank ? "rank " + std::to_string(*process.launcher_rank)
                                           : "pid " + std::to_string(process.pid)) +
                    " (" + process.host + ')');
  }
  return model::joined(names, kProcessesNamed);
}

struct Count {
  std::uint64_t count;
  const char* of;
  const char* what;
};

// Lists the counts that are not 0.
std::string some(const std::vector<Count>& counts) {
  std::string text;
  for (const auto& [count, of, what] : counts) {
    text += count == 0 ? "" : (text.empty() ? "" : ", ") + counted(count, of) + what;
  }
  return text;
}

class HealthJudge {
 public:
  HealthJudge(const Summary& summary, const replay::Replays& replays, const match::Matches& matches,
              const std::optional<Document>& hang, bool has_unjudged_links)
      : summary_(summary),
        replays_(replays),
        matches_(matches),
        hang_(hang),
        has_unjudged_links_(has_unjudged_links) {
    for (std::size_t c = 0; c < summary.rows.size(); ++c) {
      const metrics::CommunicatorRows& rows = summary.rows[c];
      const bool is_alone = !summary.communicators[c].why_alone.empty();
      judged_.operations += is_alone ? 0 : rows.operations;
      judged_.communicators += !is_alone && rows.operations > 0 ? 1 : 0;
      for (const metrics::Row& row : rows.rows) {
        judged_.captured += row.captured;
        judged_.replayed += row.replayed;
      }
    }
  }

  Health judge(const Document& network, const Document& match, Document topology) {
    if (hang_) {
      take(*hang_, "stuck");
    }
    add_ends();
    take(match, "mismatches");
    take(stragglers_document(replays_), "late");
    take(network, "network");
    // A note on the machine says what may be as it should be, and an error why there is no matrix.
    std::erase_if(topology.findings,
                  [](const Finding& finding) { return finding.severity != Severity::kWarning; });
    take(topology, "topology");
    add_losses();
    std::stable_sort(health_.findings.begin(), health_.findings.end(),
                     [](const HealthFinding& a, const HealthFinding& b) {
                       return a.finding.severity > b.finding.severity;
                     });
    conclude();
    health_.has_timeline = !summary_.inputs.are_dumps();
    return std::move(health_);
  }

 private:
  void take(const Document& document, const char* section) {
    std::map<std::string, std::size_t> of_kind;
    std::map<std::string, std::size_t> of_cause;
    for (const Finding& finding : document.findings) {
      if ((finding.cause.empty() || of_cause[finding.cause]++ == 0) &&
          of_kind[finding.kind]++ < most_of(finding.severity)) {
        health_.findings.push_back({finding, section});
      }
    }
    for (HealthFinding& one : health_.findings) {
      if (const auto same = of_cause.find(one.finding.cause);
          same != of_cause.end() && same->second > 1) {
        const bool is_cut = document.findings.size() >= kMostJudged;
        one.finding.text += std::string(is_cut ? " (at least " : " (") +
                            counted(same->second - 1, "more pair of this exchange does",
                                    "more pairs of this exchange do") +
                            " not match)";
      }
    }
    for (const auto& entry : of_kind) {
      const auto first = std::find_if(document.findings.begin(), document.findings.end(),
                                      [&](const Finding& one) { return one.kind == entry.first; });
      if (const std::size_t most = most_of(first->severity); entry.second > most) {
        add(first->severity, "more",
            (document.findings.size() < kMostJudged ? "" : "at least ") +
                counted(entry.second - most, "more finding") + " of this kind: `ringside " +
                document.command + "` lists them",
            section);
      }
    }
  }

  void add(Severity severity, const char* kind, std::string text, const char* section) {
    health_.findings.push_back({{severity, kind, std::move(text)}, section});
  }

  void add_losses() {
    const InputFacts& inputs = summary_.inputs;
    const model::Problems& problems = *summary_.problems;
    const auto unwritten = files_unwritten();
    const std::uint64_t dropped = dropped_total(inputs);
    if (!unwritten.empty()) {
      add(Severity::kWarning, "dropped",
          counted(unwritten.size(), "trace") + " could not be written whole, as on a full disk: " +
              std::to_string(dropped) + " of " + counted(inputs.produced, "callback") +
              " are lost (" + processes_text(unwritten) + ')',
          "completeness");
    } else if (dropped > 0) {
      add(Severity::kWarning, "dropped",
          counted(dropped, "callback") + " of " + std::to_string(inputs.produced) +
              " dropped: operations may be absent or without times",
          "completeness");
    }
    if (!problems.files().empty() || problems.bad_lines() > 0 || inputs.lines_lost > 0) {
      add(Severity::kWarning, "unreadable",
          some({{problems.files().size(), "file", " not read"},
                {problems.bad_lines(), inputs.are_dumps() ? "part" : "line",
                 inputs.are_dumps() ? " of the dumps damaged" : " not read"},
                {inputs.lines_lost, "operation", " lost with them or cut off"}}),
          "completeness");
    }
    add_left_out();
  }

  void add_ends() {
    if (const auto open = files_where([](const model::TraceFile& file) { return !file.closed; });
        !open.empty()) {
      const bool is_one = open.size() == 1;
      add(Severity::kNote, "not-closed",
          counted(open.size(), "trace") + " not closed: " + processes_text(open) +
              (!files_unwritten().empty()
                   ? (is_one ? " has no end, perhaps since the disk is full"
                             : " have no end, perhaps since the disk is full")
               : is_one ? " was killed or still runs"
                        : " were killed or still run"),
          "completeness");
      health_.findings.back().command = replays_.is_profiled ? "" : "ringside recover";
    }
  }

  std::vector<const model::TraceFile*> files_unwritten() const {
    return files_where([](const model::TraceFile& file) {
      return std::any_of(file.account.dropped.begin(), file.account.dropped.end(),
                         [](const auto& one) { return one.first.ends_with(" dropped_write"); });
    });
  }

  template <typename Is>
  std::vector<const model::TraceFile*> files_where(const Is& is) const {
    std::vector<const model::TraceFile*> found;
    for (const model::TraceFile* const file : summary_.inputs.files) {
      if (is(*file)) {
        found.push_back(file);
      }
    }
    return found;
  }

  // Notes what is not in the traces, though nothing went wrong.
  void add_left_out() {
    const InputFacts& inputs = summary_.inputs;
    if (inputs.sampled_out + inputs.rotated > 0 || !inputs.segments_missing.empty()) {
      add(Severity::kNote, "left-out",
          some({{inputs.sampled_out, "callback", " sampled out"},
                {inputs.rotated, inputs.are_dumps() ? "call" : "callback",
                 inputs.are_dumps() ? " that the recorder's ring replaced by later ones"
                                    : " in segments that the plugin deleted"},
                {inputs.segments_missing.size(), "trace", " with segments missing"}}),
          "completeness");
    }
    if (judged_.captured > 0 && judged_.replayed == 0) {
      add(Severity::kNote, "captured",
          counted(judged_.captured, "operation") +
              " captured in CUDA graphs, whose replays are not seen: within a host only kernel "
              "channels show them, which `ringside run -- COMMAND` records",
          "completeness");
    }
    const auto& hosts = summary_.alignment->hosts();
    const auto unbounded =
        std::count_if(hosts.begin(), hosts.end(), [&](const align::HostOffset& host) {
          return hosts.size() > 1 &&
                 !(summary_.alignment->is_aligned() && (host.is_reference || host.is_bounded));
        });
    if (inputs.are_dumps()) {
      add(Severity::kNote, "no-times",
          "dumps have no times of execution: bandwidth, waiting and late ranks are unknown",
          "completeness");
    } else if (inputs.without_starts > 0) {
      add(Severity::kNote, "no-starts",
          "the records have durations and no starts: who came late is unknown; `ringside run -- "
          "COMMAND` records both",
          "completeness");
      if (inputs.not_recorded > 0) {
        add(Severity::kNote, "not-recorded",
            counted(inputs.not_recorded, "operation") + " not in the records, by their numbers",
            "completeness");
      }
    } else if (unbounded > 0) {
      add(Severity::kNote, "clocks",
          "the clocks of " + counted(static_cast<std::uint64_t>(unbounded), "host") +
              " are unknown, and so is who was late there",
          "completeness");
    }
    const std::size_t absent = match::most_ranks_without_trace(matches_.communicators);
    if (absent > 0) {
      add(Severity::kNote, "no-trace",
          counted(absent, "rank") + " without a " + (inputs.are_dumps() ? "dump" : "trace") +
              ": nothing is known of what " + (absent == 1 ? "it" : "they") + " did",
          "completeness");
    }
    const auto alone = std::count_if(matches_.communicators.begin(), matches_.communicators.end(),
                                     [](const match::Communicator& one) {
                                       return !one.why_alone.empty() || one.unaligned_calls > 0;
                                     });
    if (alone > 0) {
      const std::string reasons = match::why_alone(matches_.communicators);
      add(Severity::kNote, "not-matched",
          "operations of " + counted(static_cast<std::uint64_t>(alone), "communicator") +
              " cannot be matched between the ranks" + (reasons.empty() ? "" : ": " + reasons),
          "mismatches");
    }
  }

  void conclude() {
    const auto gravest =
        health_.findings.empty() ? Severity::kNote : health_.findings.front().finding.severity;
    if (gravest != Severity::kNote) {
      health_.status = gravest == Severity::kError ? "error" : "warning";
      health_.headline = headline(health_.findings.front());
    } else if (judged_.operations == 0) {
      health_.status = "unknown";
      health_.headline =
          summary_.inputs.operations == 0
              ? "No operation was recorded"
              : "No operation can be judged, since none says with which ranks it ran";
    } else if (summary_.inputs.are_dumps() && health_.findings.size() == 1) {
      health_.status = "unknown";
      health_.headline = "No problem found in the calls; dumps have no times";
    } else {
      // What cannot be seen comes below the verdict, once.
      const std::string unseen = unseen_sentence(replays_);
      if (!unseen.empty() && summary_.inputs.without_starts == 0) {
        add(Severity::kNote, "late-unknown", unseen, "late");
      }
      if (has_unjudged_links_ && summary_.inputs.hosts.size() > 1) {
        add(Severity::kNote, "links-unknown",
            "whether a network link is slow cannot be seen: too little was sent through each",
            "network");
      }
      const bool is_known =
          std::all_of(health_.findings.begin(), health_.findings.end(),
                      [](const HealthFinding& one) { return one.finding.kind == "imbalance"; });
      health_.status = is_known ? "ok" : "unknown";
      health_.headline = "No problem found in " + what_was_judged();
    }
  }

  std::string what_was_judged() const {
    const bool are_calls = replays_.all_coverage().is_blind() || !replays_.are_possible();
    return (are_calls ? "the calls of " : "") + counted(judged_.operations, "operation") + " of " +
           counted(judged_.communicators, "communicator");
  }

  std::string headline(const HealthFinding& first) const {
    if (first.section == "stuck" && first.finding.kind != "recovered") {
      if (hang_->sentences.empty()) {
        return first.finding.text;
      }
      // The first of several sentences in one text.
      const std::string& text = hang_->sentences.front();
      return text.substr(0, std::min(text.find(". "), text.size() - (text.ends_with('.') ? 1 : 0)));
    }
    return first.finding.text;
  }

  const Summary& summary_;
  const replay::Replays& replays_;
  const match::Matches& matches_;
  const std::optional<Document>& hang_;
  const bool has_unjudged_links_;
  struct {
    std::uint64_t operations = 0;
    std::uint64_t communicators = 0;
    std::uint64_t captured = 0;  // as in metrics::Row, as is the next one
    std::uint64_t replayed = 0;
  } judged_;
  Health health_;
};

// The command that shows the evidence of a finding, without its inputs; "" if there is none.
std::string command_of(const HealthFinding& one) {
  const std::string& kind = one.finding.kind;
  return one.section == "stuck"        ? "ringside hang"
         : kind == "imbalance"         ? "ringside what-if --balanced"
         : one.section == "late"       ? "ringside stragglers"
         : one.section == "mismatches" ? "ringside match"
         : one.section == "network"    ? "ringside network"
         : one.section == "topology"   ? "ringside topology"
         : kind == "clocks"            ? "ringside stragglers --align-report"
         : kind == "no-trace"          ? "ringside communicators"
                                       : "";
}

}  // namespace

Health judge_health(const Summary& summary, const replay::Replays& replays,
                    const match::Matches& matches, const std::optional<Document>& hang,
                    const Document& network, bool has_unjudged_links, const Document& match,
                    const Document& topology) {
  return HealthJudge(summary, replays, matches, hang, has_unjudged_links)
      .judge(network, match, topology);
}

void add_commands(const std::string& inputs, const std::string& hang_inputs,
                  const std::string& paths, Health& health) {
  for (HealthFinding& one : health.findings) {
    if (const std::string command = command_of(one); !command.empty()) {
      one.command = command + ' ' +
                    (command == "ringside hang"       ? hang_inputs
                     : command == "ringside topology" ? paths
                                                      : inputs);
    }
  }
  // Each file has a name of its own, so that all of these commands can be pasted.
  for (std::size_t i = 0; health.has_timeline && i < health.findings.size(); ++i) {
    const auto& [finding, section, command, timeline] = health.findings[i];
    const std::string part = !finding.around.empty() ? "--around " + finding.around
                             : finding.kind == "straggler" || finding.kind == "slow_link"
                                 ? "--top-slowest 20"
                                 : "";
    if (!part.empty()) {
      health.findings[i].timeline = "ringside merge -o part-" + std::to_string(i + 1) + ".json " +
                                    part + ' ' + (section == "stuck" ? hang_inputs : inputs);
    }
  }
  health.merge_command =
      !health.has_timeline
          ? ""
          : "ringside merge -o part-from-{from}.json --from {from} --to {to} " + inputs;
  health.report_command = "ringside report -o report.html " + inputs;
}

std::vector<std::string> health_lines(const Health& health) {
  const auto& findings = health.findings;
  const std::size_t shown = std::min(findings.size(), kFindingsShown);
  std::string headline = health.headline + (health.headline.ends_with('.') ? "" : ".");
  // A headline on a mismatch may begin with the name of a communicator, which stays as it is.
  if (findings.empty() || findings[0].section != "mismatches" ||
      health.headline != findings[0].finding.text) {
    headline = capitalised(std::move(headline));
  }
  std::vector<std::string> lines = {headline};
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [finding, section, command, timeline] = findings[i];
    if (!health.headline.ends_with(finding.text)) {
      lines.push_back(std::string(severity_name(finding.severity)) + ": " + finding.text);
    }
    // One command for several findings is behind the last of them.
    if (!command.empty() && (i + 1 == shown || findings[i + 1].command != command)) {
      lines.push_back("  See: " + command);
    }
  }
  if (findings.size() > shown) {
    lines.push_back(counted(findings.size() - shown, "more finding"));
    lines.push_back("  See: " + health.report_command);
  }
  return lines;
}

void write_health(JsonWriter& json, const Health& health) {
  json.text("status", health.status);
  json.text("headline", health.headline);
  json.begin_array("findings");
  for (const auto& [finding, section, command, timeline] : health.findings) {
    json.begin_object();
    json.text("severity", severity_name(finding.severity));
    json.text("kind", finding.kind);
    json.text("text", finding.text);
    if (!finding.ranks.empty()) {
      write_cell(json, {"ranks"}, finding.ranks);
    }
    json.text("section", section);
    if (!command.empty()) {
      json.text("command", command);
    }
    if (!timeline.empty()) {
      json.text("timeline", timeline);
    }
    json.end_object();
  }
  json.end_array();
}

}  // namespace ringside::report
