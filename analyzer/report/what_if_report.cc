// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/what_if_report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "analyzer/report/numbers.h"

namespace ringside::report {
namespace {

using replay::Group;
using replay::Job;
using replay::Network;
using replay::Slow;
using replay::WhatIf;
using replay::WhatIfQuestion;

// A replay that differs by more from the job as it was says nothing of what would be.
constexpr double kMostInfidelity = 0.1;

std::string percent(double part) {
  return fixed(100 * part, 1) + " %";
}

std::string name_of(const Job& job, std::uint32_t rank) {
  const replay::JobRank& one = job.ranks[rank];
  return one.host.empty() ? one.label : one.label + " (" + one.host + ")";
}

std::string names_of(const Slow& slow, const Job& job) {
  if (slow.group == Group::kRank) {
    return name_of(job, slow.ranks.front());
  }
  if (slow.group == Group::kHost) {
    return "host " + job.ranks[slow.ranks.front()].host;
  }
  constexpr std::size_t kNamed = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, slow.ranks.size()); ++i) {
    text += (i == 0 ? "" : ", ") + job.ranks[slow.ranks[i]].label;
  }
  return slow.ranks.size() > kNamed
             ? text + " and " + std::to_string(slow.ranks.size() - kNamed) + " more"
             : text;
}

bool is_plural(const Slow& slow) {
  return slow.group == Group::kRole;
}

struct Row {
  std::string change;
  WhatIfQuestion question;
};

class Answers {
 public:
  Answers(const Job& job, WhatIf& what_if) : wall_ns_(job.wall_ns()), what_if_(what_if) {
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

Table slow_table(const Slow& slow, const Job& job) {
  std::string ranks;
  for (const std::uint32_t rank : slow.ranks) {
    ranks += (ranks.empty() ? "" : ", ") + job.ranks[rank].label;
  }
  const char* const group = slow.group == Group::kRank   ? "rank"
                            : slow.group == Group::kHost ? "host"
                                                         : "role";
  return {"slow",
          "Who slows the job",
          {{"who", "who"},
           {"group", "group", Shown::kNot},
           {"ranks", "ranks", Shown::kNot},
           {"cost_percent", "costs", Shown::kNumber, "% of wall time", 1},
           {"cost_least_percent", "at least", Shown::kNumber, "%", 1},
           {"cost_most_percent", "at most", Shown::kNumber, "%", 1},
           {"slow_iterations", "slow in", Shown::kInteger, "iterations"},
           {"iterations", "of", Shown::kInteger},
           {"first_slow_iteration", "first", Shown::kInteger}},
          {{names_of(slow, job), std::string(group), ranks, 100 * slow.cost.best,
            100 * slow.cost.least, 100 * slow.cost.most, std::uint64_t{slow.slow_iterations},
            std::uint64_t{slow.iterations}, std::uint64_t{slow.first_slow}}}};
}

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
    if ((kind != "rank" && kind != "host") || name.empty()) {
      read.wrong = "\"" + one + "\" is neither rank:NUMBER nor host:NAME";
      return read;
    }
    std::size_t found = 0;
    for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
      const replay::JobRank& candidate = job.ranks[rank];
      if (kind == "rank" ? candidate.label == "rank " + name : candidate.host == name) {
        read.question.like_others.push_back(rank);
        ++found;
      }
    }
    if (found == 0) {
      read.wrong = "the traces have no ";
      read.wrong.append(kind).append(" ").append(name).append(" that ran an operation to its end");
      return read;
    }
  }
  read.question.is_balanced = asked.is_balanced;
  if (asked.network == "peak") {
    read.question.network = Network::kPeak;
  } else if (asked.network == "infinite") {
    read.question.network = Network::kInfinite;
  } else if (!asked.network.empty()) {
    const char* const end = asked.network.data() + asked.network.size() - 1;
    const auto [stop, error] =
        std::from_chars(asked.network.data(), end, read.question.network_speed);
    if (error != std::errc() || stop != end || *end != 'x' ||
        !(read.question.network_speed > 0 && std::isfinite(read.question.network_speed))) {
      read.wrong = "\"" + asked.network + "\" is none of 2x (or another factor), peak, infinite";
      return read;
    }
    read.question.network = Network::kScaled;
  }
  return read;
}

std::string slow_sentence(const Slow& slow, const Job& job) {
  std::string text = capitalised(names_of(slow, job)) + (is_plural(slow) ? " slow" : " slows") +
                     " the job by about " + percent(slow.cost.best);
  if (slow.slow_iterations == 1 && slow.iterations > 1) {
    return text + ", once, in iteration " + std::to_string(slow.first_slow) + " of " +
           std::to_string(slow.iterations) + ".";
  }
  text += " (" + fixed(100 * slow.cost.least, 1) + " to " + percent(slow.cost.most) + ")";
  if (slow.first_slow > slow.iterations / 10 &&
      2 * slow.slow_iterations > slow.iterations - slow.first_slow) {
    text += ", since iteration " + std::to_string(slow.first_slow);
  } else if (2 * slow.slow_iterations < slow.iterations) {
    text += ", in " + std::to_string(slow.slow_iterations) + " of " +
            counted(slow.iterations, "iteration");
  }
  return text + '.';
}

Document what_if_document(const Job& job, const AskedChange& asked) {
  Document document{"what-if", {}, {}, {}, {}};
  if (job.kernels.empty()) {
    document.sentences.push_back("No operation was seen to run from its start to its end.");
    document.notes.push_back(
        "Times of executions come from kernel channels: RINGSIDE_EVENTS=default,kernelch.");
    return document;
  }
  WhatIf what_if(job);
  const double infidelity = std::abs(1 - what_if.fidelity());
  if (!what_if.is_possible() || infidelity > kMostInfidelity) {
    document.sentences.push_back("What the job would take cannot be computed from these traces.");
    document.notes.push_back(
        what_if.is_possible()
            ? "A replay of the job as it was takes " + percent(what_if.fidelity()) + " of its time."
            : "The operations of the ranks are in orders that contradict each other.");
    return document;
  }
  Answers answers(job, what_if);
  if (!asked.is_empty()) {
    const double saved = answers.add(text_of(asked), read_change(asked, job).question);
    document.sentences.push_back("The job would take " + percent(std::abs(saved)) +
                                 (saved < 0 ? " more" : " less") + " if " + text_of(asked) + ".");
  } else {
    const std::optional<Slow> slow = replay::find_slow(job, what_if);
    document.sentences.push_back(slow ? slow_sentence(*slow, job)
                                      : "No rank and no host slows the job by 2 % or more.");
    if (slow) {
      document.findings.push_back({Severity::kWarning, "slow-rank", slow_sentence(*slow, job)});
      document.tables.push_back(slow_table(*slow, job));
      answers.add_row(
          names_of(*slow, job) + (is_plural(*slow) ? " are" : " is") + " like the others",
          slow->cost.best);
    }
    answers.add("all ranks have the same work", {.is_balanced = true});
    answers.add("each transfer is as fast as the fastest alike", {.network = Network::kPeak});
    answers.add("the network is twice as fast", {.network = Network::kScaled, .network_speed = 2});
    answers.add("transfers take no time", {.network = Network::kInfinite});
  }
  document.tables.push_back(answers.take());
  document.notes.push_back("The replay of the job as it was takes " + percent(what_if.fidelity()) +
                           " of its time.");
  return document;
}

}  // namespace ringside::report
