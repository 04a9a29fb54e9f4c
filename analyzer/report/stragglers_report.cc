// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/stragglers_report.h"

#include <algorithm>
#include <utility>

#include "analyzer/report/numbers.h"
#include "analyzer/report/summary.h"

namespace ringside::report {
namespace {

// Less is not worth a person's time, however significant.
constexpr double kLeastShare = 0.01;
constexpr double kLeastShareOnce = 0.1;

std::string where(const metrics::Lateness& lateness, const match::Matches& matches) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> most;
  for (const auto& [communicator, times] : lateness.last_in) {
    most.emplace_back(times, communicator);
  }
  std::stable_sort(most.begin(), most.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t kMostCommunicators = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most.size(), kMostCommunicators); ++i) {
    text += (i == 0 ? "" : ", ") + label_of(matches.communicators[most[i].second]);
  }
  return most.size() > kMostCommunicators
             ? text + " and " + std::to_string(most.size() - kMostCommunicators) + " more"
             : text;
}

bool is_finding(const metrics::Stragglers& all, const metrics::Lateness& one) {
  return one.is_significant() && all.share_of(one) >= kLeastShare;
}

// Where some could not be decided, a share of the others is no share of all.
std::string sentence(const metrics::Stragglers& all, const metrics::Lateness& one, bool is_host) {
  const bool are_all_decided = one.operations == one.took_part;
  std::string text = is_host ? "host " + one.label : one.label + " (" + one.host + ")";
  text +=
      " came last in " + std::to_string(one.last) + " of " + (are_all_decided ? "" : "the ") +
      std::to_string(one.operations) + " operations" +
      (are_all_decided ? "" : " that could be decided, out of " + std::to_string(one.took_part)) +
      " (" + fixed(one.expected, 0) + " by chance): the others waited " +
      human_duration(one.caused_wait_ns) + " of GPU time for it, " +
      fixed(all.share_of(one) * 100, 1) + " % of all" + (are_all_decided ? "" : " time in those");
  if (one.since_ns) {
    text += ", since " + time_of_day(*one.since_ns) + " UTC";
  }
  return text;
}

Table table_of(const metrics::Stragglers& all, const std::vector<metrics::Lateness>& found,
               const match::Matches& matches, bool hosts) {
  Table table{
      hosts ? "hosts" : "ranks",
      hosts ? "Hosts, by what others waited for them" : "Ranks, by what others waited for them",
      {{hosts ? "host" : "rank", hosts ? "host" : "rank"}},
      {}};
  if (!hosts) {
    table.columns.insert(table.columns.end(), {{"host", "host"}, {"pid", "pid", Shown::kInteger}});
  }
  const std::vector<CellColumn> rest = {{"took_part", "operations", Shown::kInteger},
                                        {"operations", "decided", Shown::kInteger},
                                        {"last", "last", Shown::kInteger},
                                        {"expected", "by chance", Shown::kNumber, "", 1},
                                        {"chance", "chance of that", Shown::kNumber, "", 9},
                                        {"caused_wait_ns", "others waited", Shown::kDuration},
                                        {"share_percent", "of all", Shown::kNumber, "%", 2},
                                        {"delay_ns", "delayed by", Shown::kDuration},
                                        {"median_margin_ns", "margin", Shown::kDuration, "median"},
                                        {"most_margin_ns", "at most", Shown::kDuration},
                                        {"waited_ns", "waited itself", Shown::kDuration},
                                        {"since_ns", "since", Shown::kMoment, "UTC"},
                                        {"communicators", "in"}};
  table.columns.insert(table.columns.end(), rest.begin(), rest.end());
  for (const metrics::Lateness& one : found) {
    std::vector<Cell> row = {one.label};
    if (!hosts) {
      row.insert(row.end(), {one.host, one.pid});
    }
    row.insert(row.end(), {one.took_part, one.operations, one.last, one.expected, one.chance,
                           one.caused_wait_ns, all.share_of(one) * 100, one.delay_ns,
                           one.median_margin_ns, one.most_margin_ns});
    row.push_back(hosts ? Cell() : Cell(one.waited_ns));
    row.push_back(cell_of(one.since_ns));
    row.emplace_back(where(one, matches));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::string decided_of(const metrics::Stragglers& all) {
  return std::to_string(all.decided) + " of " + counted(all.operations, "operation") +
         " in which it is sure who came last";
}

Document stragglers_document(const metrics::Stragglers& stragglers, const match::Matches& matches) {
  Document document;
  document.command = "stragglers";
  for (const metrics::Lateness& host : stragglers.hosts) {
    if (is_finding(stragglers, host)) {
      document.findings.push_back(
          {Severity::kWarning, "straggler", sentence(stragglers, host, true)});
    }
  }
  for (const metrics::Lateness& rank : stragglers.ranks) {
    if (is_finding(stragglers, rank)) {
      document.findings.push_back(
          {Severity::kWarning, "straggler", sentence(stragglers, rank, false)});
    }
  }
  for (const metrics::Lateness& rank : stragglers.ranks) {
    if (!rank.is_significant() && stragglers.share_of(rank) >= kLeastShareOnce &&
        2 * rank.most_margin_ns > rank.delay_ns) {
      document.findings.push_back({Severity::kNote, "late-once",
                                   rank.label + " (" + rank.host +
                                       ") is not late as a rule, but was once by " +
                                       human_duration(rank.most_margin_ns) + ", at " +
                                       time_of_day(rank.most_at_ns) + " UTC"});
    }
  }
  if (stragglers.operations == 0) {
    document.sentences.push_back(
        "There is no AllReduce, AllGather, ReduceScatter or AlltoAll of several ranks here: nobody "
        "waits for all others.");
  } else if (stragglers.decided == 0) {
    document.sentences.push_back("In none of " + counted(stragglers.operations, "operation") +
                                 " can it be said who came last.");
  } else if (std::none_of(document.findings.begin(), document.findings.end(),
                          [](const Finding& one) { return one.kind == "straggler"; })) {
    const std::string answer =
        " rank is late more often than chance makes it, or so late that "
        "it matters.";
    document.sentences.push_back((stragglers.decided == stragglers.operations
                                      ? "No"
                                      : "In the " + decided_of(stragglers) + ", no") +
                                 answer);
  } else {
    document.sentences.push_back(
        "Ranks waited " + human_duration(stragglers.waited_ns) +
        " of GPU time for each other, of " + human_duration(stragglers.rank_time_ns) + " in " +
        (stragglers.decided == stragglers.operations ? "these operations."
                                                     : "the " + decided_of(stragglers) + '.'));
  }
  document.tables.push_back(table_of(stragglers, stragglers.ranks, matches, false));
  if (stragglers.hosts.size() > 1) {
    document.tables.push_back(table_of(stragglers, stragglers.hosts, matches, true));
  }
  document.notes.push_back(
      counted(stragglers.operations, "operation that synchronises", "operations that synchronise") +
      ": " + std::to_string(stragglers.decided) + " with somebody surely last, " +
      std::to_string(stragglers.undecided) + " too near to tell, " +
      std::to_string(stragglers.partial) + " not recorded on all ranks, " +
      std::to_string(stragglers.impossible) + " with times that contradict each other");
  if (stragglers.by_call > 0) {
    document.notes.push_back("of " + counted(stragglers.by_call, "operation") +
                             " only the call is known: who called last need not have begun last");
  }
  return document;
}

}  // namespace ringside::report
