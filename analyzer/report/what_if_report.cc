// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/what_if_report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "analyzer/report/document/numbers.h"
#include "analyzer/report/document/slow_text.h"

namespace ringside::report {
namespace {

using replay::Job;
using replay::WhatIf;
using replay::WhatIfQuestion;

constexpr double kMostNetworkSpeed = 1e6;

class Answers {
 public:
  Answers(const Job& job, WhatIf& what_if) : wall_ns_(job.wall_ns), what_if_(what_if) {
    table_ = {"changes",
              "What the job would take",
              {{"change", "if"},
               {"wall_ns", "wall time", Shown::kDuration},
               {"saved_percent", "saved", Shown::kNumber, "%", 1}},
              {}};
    add_row("nothing changes", 0);
  }

  double add(const std::string& change, const WhatIfQuestion& question) {
    const double saved = what_if_.ask(question).saved;
    add_row(change, saved);
    return saved;
  }
  void add_row(const std::string& change, double saved) {
    const double wall_ns = static_cast<double>(wall_ns_) * (1 - saved);
    table_.rows.push_back({change, std::llround(wall_ns), 100 * saved});
  }
  Table take() { return std::move(table_); }

 private:
  const std::int64_t wall_ns_;
  WhatIf& what_if_;
  Table table_;
};

std::string text_of(const AskedChange& asked) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const std::string& one : asked.without) {
    std::string name = one;
    std::replace(name.begin(), name.end(), ':', ' ');
    add(name + " is like the others");
  }
  if (asked.is_balanced) {
    add("all ranks have the same work");
  }
  if (!asked.network.empty()) {
    add(asked.network == "peak"       ? "each transfer is as fast as the fastest alike"
        : asked.network == "infinite" ? "transfers take no time"
                                      : "the network is " + asked.network + " as fast");
  }
  return text;
}

}  // namespace

ReadChange read_change(const AskedChange& asked, const Job& job) {
  ReadChange read;
  for (const std::string& one : asked.without) {
    const std::size_t colon = one.find(':');
    const std::string kind = one.substr(0, colon);
    const std::string name = colon == std::string::npos ? "" : one.substr(colon + 1);
    std::size_t found = 0;
    for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
      const replay::JobRank& candidate = job.ranks[rank];
      if (kind == "rank" ? candidate.label == "rank " + name : candidate.host == name) {
        read.question.like_others.push_back(rank);
        ++found;
      }
    }
    if (found == 0) {
      read.wrong = "--without: the traces have no ";
      read.wrong.append(kind).append(" ").append(name).append(" that ran an operation to its end");
      return read;
    }
  }
  read.question.is_balanced = asked.is_balanced;
  read.question.is_network_peak = asked.network == "peak";
  read.question.network_speed = network_speed(asked.network).value_or(1);
  return read;
}

std::optional<double> network_speed(const std::string& asked) {
  if (asked == "infinite") {
    return std::numeric_limits<double>::infinity();
  }
  double speed = 0;
  const char* const end = asked.data() + asked.size();
  const auto [stop, error] = std::from_chars(asked.data(), end, speed);
  return error == std::errc() && stop + 1 == end && *stop == 'x' && speed > 0 &&
                 speed <= kMostNetworkSpeed
             ? std::optional(speed)
             : std::nullopt;
}

Document what_if_document(const replay::Replays& replays, const AskedChange& asked) {
  replay::RunReplay* const run = replays.longest();
  Document document{"what-if", {}, {}, {}, {}};
  if (run == nullptr) {
    document.sentences.push_back("No operation was seen to run from its start to its end.");
    document.notes.push_back("`ringside run -- COMMAND` records when operations run");
    return document;
  }
  const Job& job = run->job();
  if (!run->is_possible()) {
    document.sentences.push_back("What the job would take cannot be computed from these traces.");
    document.notes.push_back(
        run->what_if().is_possible()
            ? "A replay of the job as it was takes " + percent_text(run->what_if().fidelity()) +
                  " of its time."
            : "The operations of the ranks are in orders that contradict each other.");
    return document;
  }
  Answers answers(job, run->what_if());
  if (!asked.is_empty()) {
    const double saved = answers.add(text_of(asked), read_change(asked, job).question);
    document.sentences.push_back("The job would take " + percent_text(std::abs(saved)) +
                                 (saved < 0 ? " more" : " less") + " if " + text_of(asked) + ".");
  } else {
    const auto& worst = run->slow().worst;
    const std::optional<Finding> finding = slow_finding(*run);
    const std::string unseen = unseen_sentence(replays);
    document.is_open = is_open(replays);
    document.sentences.push_back(
        (finding ? finding->text : capitalised(unseen.empty() ? nobody_sentence(*run) : unseen)) +
        ".");
    if (finding) {
      document.findings.push_back(*finding);
    }
    if (worst) {
      answers.add_row(
          names_of(*worst, job) + (are_several(*worst) ? " are" : " is") + " like the others",
          worst->cost.best);
    }
    answers.add("all ranks have the same work", {.is_balanced = true});
    answers.add("each transfer is as fast as the fastest alike", {.is_network_peak = true});
    answers.add("the network is twice as fast", {.network_speed = 2});
    answers.add("transfers take no time",
                {.network_speed = std::numeric_limits<double>::infinity()});
  }
  document.tables.push_back(answers.take());
  document.notes.push_back("The replay of the job as it was takes " +
                           percent_text(run->what_if().fidelity()) + " of its time.");
  return document;
}

}  // namespace ringside::report
