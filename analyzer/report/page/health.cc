// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/report/numbers.h"
#include "analyzer/report/page/page_data.h"

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
      if (finding.kind == "late-once" && !is_worth_a_note()) {
        continue;
      }
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

  // What was late once is told where ranks wait at all.
  bool is_worth_a_note() const {
    constexpr double kLeastShare = 0.01;
    return static_cast<double>(data_.stragglers.waited_ns) >= kLeastShare * ranks_time_ns(data_);
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
    } else if (std::any_of(
                   health_.findings.begin(), health_.findings.end(),
                   [](const PageFinding& one) { return one.finding.kind != "late-once"; })) {
      health_.status = "unknown";
      health_.headline = "No trouble found in what was recorded, which is not all";
    } else if (data_.stragglers.decided == 0) {
      health_.status = "ok";
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

  // The rank rather than its host, as long as the others do not wait more for the host.
  std::string late_headline() const {
    const metrics::Stragglers& all = data_.stragglers;
    const auto pick = [](const std::vector<metrics::Lateness>& found) {
      const auto late = std::find_if(found.begin(), found.end(),
                                     [](const auto& one) { return one.is_significant(); });
      return late == found.end() ? nullptr : &*late;
    };
    const metrics::Lateness* const rank = pick(all.ranks);
    const metrics::Lateness* const host = pick(all.hosts);
    const bool is_rank =
        rank != nullptr && (host == nullptr || rank->caused_wait_ns >= host->caused_wait_ns / 2);
    const metrics::Lateness* const late = is_rank ? rank : host;
    if (late == nullptr) {
      return "A rank is late";
    }
    const std::string who = is_rank ? late->label + " (" + late->host + ")" : "host " + late->label;
    const auto waited_ns = static_cast<double>(late->caused_wait_ns);
    const double all_ns = ranks_time_ns(data_);
    return who + " is late: the others waited " + human_duration(waited_ns) + " for it" +
           (all_ns > 0 ? ", " + fixed(100 * waited_ns / all_ns, 1) + " % of all ranks' time" : "");
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
