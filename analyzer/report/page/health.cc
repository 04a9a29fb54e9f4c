// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/report/numbers.h"
#include "analyzer/report/page/page_data.h"
#include "analyzer/report/stragglers_report.h"

namespace ringside::report {
namespace {

// More of one kind say no more; all are in the tables.
constexpr std::size_t kFindingsOfOneKind = 4;

class Judge {
 public:
  explicit Judge(const PageData& data) : data_(data) {}

  Health judge(const Document& stragglers, const Document& network, const Document& match) {
    if (data_.hang) {
      take(*data_.hang, "stuck");
      if (data_.hang->findings.empty()) {
        add(Severity::kNote, "in-flight",
            "operations were in flight when their traces ended; none is seen to be stuck", "stuck");
      }
    }
    take(match, "mismatches");
    take(stragglers, "late");
    take(network, "network");
    add_losses();
    std::stable_sort(health_.findings.begin(), health_.findings.end(),
                     [](const PageFinding& a, const PageFinding& b) {
                       return a.finding.severity > b.finding.severity;
                     });
    conclude();
    return std::move(health_);
  }

 private:
  void take(const Document& document, const char* section) {
    std::size_t taken = 0;
    for (const Finding& finding : document.findings) {
      if (taken++ < kFindingsOfOneKind) {
        health_.findings.push_back({finding, section});
      }
    }
    if (taken > kFindingsOfOneKind) {
      add(document.findings.back().severity, "more",
          std::to_string(taken - kFindingsOfOneKind) + " more findings of this kind: `ringside " +
              document.command + "` lists them",
          section);
    }
  }

  void add(Severity severity, const char* kind, std::string text, const char* section) {
    health_.findings.push_back({{severity, kind, std::move(text)}, section});
  }

  void add_losses() {
    const InputFacts& inputs = data_.summary.inputs;
    const model::Problems& problems = *data_.summary.problems;
    if (const std::uint64_t dropped = dropped_total(inputs); dropped > 0) {
      add(Severity::kWarning, "dropped",
          counted(dropped, "callback") + " of " + std::to_string(inputs.produced) +
              " dropped: operations may be absent or without times",
          "completeness");
    }
    if (!problems.files().empty() || problems.bad_lines() > 0 || inputs.lines_lost > 0) {
      add(Severity::kWarning, "unreadable",
          counted(problems.files().size(), "file") + " and " +
              counted(problems.bad_lines(), "line") + " could not be read, " +
              counted(inputs.lines_lost, "operation") + " lost with them or cut off",
          "completeness");
    }
    if (!inputs.not_closed.empty()) {
      add(Severity::kNote, "not-closed",
          counted(inputs.not_closed.size(), "trace") +
              " not closed: the process was killed or still runs",
          "completeness");
    }
    add_left_out();
  }

  // What is not in the traces, though nothing went wrong.
  void add_left_out() {
    const InputFacts& inputs = data_.summary.inputs;
    if (inputs.sampled_out + inputs.rotated > 0 || !inputs.segments_missing.empty()) {
      add(Severity::kNote, "left-out",
          counted(inputs.sampled_out, "callback") + " sampled out, " +
              counted(inputs.rotated, "callback") + " in segments that the plugin deleted, " +
              counted(inputs.segments_missing.size(), "trace") + " with segments missing",
          "completeness");
    }
    const auto& hosts = data_.alignment.hosts();
    const auto unbounded =
        std::count_if(hosts.begin(), hosts.end(), [&](const align::HostOffset& host) {
          return hosts.size() > 1 &&
                 !(data_.alignment.is_aligned() && (host.is_reference || host.is_bounded));
        });
    if (unbounded > 0) {
      add(Severity::kNote, "clocks",
          "the clocks of " + counted(static_cast<std::uint64_t>(unbounded), "host") +
              " are not known: who was late cannot be told there",
          "completeness");
    }
    std::uint64_t absent = 0;
    for (const match::Communicator& communicator : data_.matches.communicators) {
      absent = std::max<std::uint64_t>(absent, match::ranks_without_trace(communicator).size());
    }
    if (absent > 0) {
      add(Severity::kNote, "no-trace",
          counted(absent, "rank") + " without a trace: nothing is known of what they did",
          "completeness");
    }
  }

  void conclude() {
    const auto gravest =
        health_.findings.empty() ? Severity::kNote : health_.findings.front().finding.severity;
    if (gravest != Severity::kNote) {
      health_.status = gravest == Severity::kError ? "error" : "warning";
      health_.headline = headline(health_.findings.front());
    } else if (data_.summary.inputs.operations == 0) {
      health_.status = "unknown";
      health_.headline = "No operation was recorded";
    } else if (const metrics::Lateness* const open = data_.stragglers.find_open()) {
      health_.status = "unknown";
      health_.headline = open_sentence(data_.stragglers, *open);
    } else if (std::any_of(
                   health_.findings.begin(), health_.findings.end(),
                   [](const PageFinding& one) { return one.finding.kind != "late-once"; })) {
      health_.status = "unknown";
      health_.headline = "No trouble found in what was recorded, which is not all";
    } else if (data_.stragglers.decided + data_.stragglers.undecided == 0 &&
               data_.stragglers.operations > 0) {
      health_.status = "unknown";
      health_.headline = "No trouble found; who came late cannot be told";
    } else {
      health_.status = "ok";
      health_.headline = "No trouble found";
    }
  }

  std::string headline(const PageFinding& first) const {
    if (first.section == "stuck") {
      if (data_.hang->sentences.empty()) {
        return first.finding.text;
      }
      // The first of several sentences in one text.
      const std::string& text = data_.hang->sentences.front();
      return text.substr(0, text.find(". "));
    }
    if (first.finding.kind == "straggler") {
      return late_headline();
    }
    return first.finding.text;
  }

  // The one that costs most.
  std::string late_headline() const {
    const metrics::Stragglers& all = data_.stragglers;
    const metrics::Lateness* late = nullptr;
    for (const auto* const found : {&all.ranks, &all.hosts}) {
      for (const metrics::Lateness& one : *found) {
        if (one.is_straggler && (late == nullptr || one.cost_ns > late->cost_ns)) {
          late = &one;
        }
      }
    }
    if (late == nullptr) {
      return "A rank is late";
    }
    return name_of(*late) + " is late: the others waited " + human_duration(late->cost_ns) +
           " for it, " + cost_of(all, *late) + " of all ranks' time";
  }

  const PageData& data_;
  Health health_;
};

}  // namespace

Health judge_health(const PageData& data, const Document& stragglers, const Document& network,
                    const Document& match) {
  return Judge(data).judge(stragglers, network, match);
}

}  // namespace ringside::report
