// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/stragglers_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "analyzer/report/numbers.h"
#include "analyzer/report/summary.h"

namespace ringside::report {
namespace {

using metrics::Lateness;
using metrics::Stragglers;

std::string where(const Lateness& lateness, const match::Matches& matches) {
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

std::string how_often(const Lateness& one) {
  std::string text =
      "late in " + std::to_string(one.times.times) + " of " + counted(one.took_part, "operation");
  if (one.times.every_operations) {
    text += " (one of " + std::to_string(*one.times.every_operations) + ", every " +
            human_duration(*one.times.every_ns) + ")";
  }
  if (one.times.since_ns) {
    text += ", since " + time_of_day(*one.times.since_ns) + " UTC";
  }
  return text;
}

std::string sentence(const Stragglers& all, const Lateness& one) {
  std::string text = name_of(one) + " costs " + cost_of(all, one) +
                     " of all ranks' time: the others waited " + human_duration(one.cost_ns) +
                     " of GPU time for it, " + how_often(one);
  if (one.chance) {
    text += "; " + chance_text(*one.chance);
  }
  return text;
}

std::string once_sentence(const Stragglers& all, const Lateness& one) {
  return name_of(one) + " is not late as a rule, but once, at " + time_of_day(one.most_at_ns) +
         " UTC, the others waited " + human_duration(one.most_cost_ns) + " of GPU time for it, " +
         fixed(all.share(one.most_cost_ns) * 100, 1) + " % of all ranks' time: it came " +
         human_duration(one.most_margin_ns) + " after the one before it";
}

// The head of a chain, and those that only hand on what they waited for themselves.
std::string chain_sentence(const Stragglers& all) {
  std::int64_t passed_ns = 0;
  std::vector<std::string> victims;
  for (const Lateness& one : all.ranks) {
    passed_ns += one.passed_on_ns;
    if (one.passed_on_ns > one.caused_wait_ns / 2 && all.share(one.passed_on_ns) >= 0.005) {
      victims.push_back(one.label);
    }
  }
  if (victims.empty() || all.ranks.empty() || all.waited_ns <= 0) {
    return {};
  }
  const Lateness& head = all.ranks.front();
  constexpr std::size_t kNamed = 4;
  std::string names = victims.front();
  for (std::size_t i = 1; i < std::min(victims.size(), kNamed); ++i) {
    names += ", " + victims[i];
  }
  if (victims.size() > kNamed) {
    names += " and " + std::to_string(victims.size() - kNamed) + " more";
  }
  return name_of(head) + " is the origin of " +
         fixed(100 * static_cast<double>(head.cost_ns) / static_cast<double>(all.waited_ns), 0) +
         " % of the waiting. " + human_duration(passed_ns) +
         " of GPU time were passed on: " + names + (victims.size() == 1 ? " is" : " are") +
         " late only because of what " + (victims.size() == 1 ? "it" : "they") + " waited for.";
}

Table table_of(const Stragglers& all, const std::vector<Lateness>& found,
               const match::Matches& matches, bool hosts) {
  Table table{hosts ? "hosts" : "ranks",
              hosts ? "Hosts, by what they cost the others" : "Ranks, by what they cost the others",
              {{hosts ? "host" : "rank", hosts ? "host" : "rank"}},
              {}};
  if (!hosts) {
    table.columns.insert(table.columns.end(), {{"host", "host"}, {"pid", "pid", Shown::kInteger}});
  }
  const std::vector<CellColumn> rest = {
      {"is_straggler", "late"},
      {"share_percent", "costs", Shown::kNumber, "% of all"},
      {"share_most_percent", "at most", Shown::kNumber, "% of all"},
      {"chance", "chance", Shown::kNumber, "", 6},
      {"cost_ns", "others waited", Shown::kDuration, "because of it"},
      {"cost_most_ns", "cost at most", Shown::kNot},
      {"expected_ns", "by chance", Shown::kDuration},
      {"caused_wait_ns", "waited for it", Shown::kDuration},
      {"passed_on_ns", "passed on", Shown::kDuration},
      {"waited_ns", "waited itself", Shown::kDuration},
      {"took_part", "operations", Shown::kInteger},
      {"last", "last", Shown::kInteger},
      {"delay_ns", "delayed by", Shown::kDuration},
      {"median_margin_ns", "margin", Shown::kDuration, "median"},
      {"most_margin_ns", "margin", Shown::kDuration, "at most"},
      {"late_times", "late", Shown::kNot},
      {"every_operations", "one of", Shown::kNot},
      {"every_ns", "every", Shown::kNot},
      {"since_ns", "since", Shown::kMoment, "UTC"},
      {"communicators", "in"}};
  table.columns.insert(table.columns.end(), rest.begin(), rest.end());
  table.gives_way = {"expected_ns", "passed_on_ns",      "waited_ns", "caused_wait_ns",
                     "delay_ns",    "most_margin_ns",    "took_part", "communicators",
                     "chance",      "median_margin_ns",  "pid",       "last",
                     "since_ns",    "share_most_percent"};
  for (const Lateness& one : found) {
    std::vector<Cell> row = {one.label};
    if (!hosts) {
      row.insert(row.end(), {one.host, one.pid});
    }
    const metrics::LateTimes& times = one.times;
    // Where none of its operations could be judged, nothing is known of what it costs.
    const auto known = [&](Cell cell) { return one.judged > 0 ? std::move(cell) : Cell(); };
    const auto most = [&](Cell cell) { return all.has_untold() ? Cell() : known(std::move(cell)); };
    row.insert(row.end(), {known(std::string(one.is_straggler ? "yes" : "no")),
                           known(all.share_of(one) * 100),
                           most(all.most_share_of(one) * 100),
                           cell_of(one.chance),
                           known(one.cost_ns),
                           most(one.cost_most_ns),
                           known(one.expected_ns),
                           known(one.caused_wait_ns),
                           hosts ? Cell() : known(one.passed_on_ns),
                           hosts ? Cell() : known(one.waited_ns),
                           one.took_part,
                           known(one.last),
                           known(one.delay_ns),
                           known(one.median_margin_ns),
                           known(one.most_margin_ns),
                           one.is_straggler ? Cell(times.times) : Cell(),
                           cell_of(times.every_operations),
                           cell_of(times.every_ns),
                           cell_of(times.since_ns),
                           where(one, matches)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

using Group = std::pair<std::pair<std::string, std::string>, metrics::WaitedAt>;

// By waiting, most first. Nothing where no group is known.
std::vector<Group> groups_of(const Stragglers& all) {
  std::vector<Group> groups(all.by_group.begin(), all.by_group.end());
  if (std::all_of(groups.begin(), groups.end(),
                  [](const Group& one) { return one.first.first.empty(); })) {
    return {};
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return a.second.waited_ns > b.second.waited_ns;
  });
  return groups;
}

std::optional<double> share_percent(const Stragglers& all, const Group& group) {
  return all.waited_ns > 0 ? std::optional(100 * static_cast<double>(group.second.waited_ns) /
                                           static_cast<double>(all.waited_ns))
                           : std::nullopt;
}

// The group in which most of the waiting is; one that is not known says nothing.
std::string group_sentence(const Stragglers& all, const std::vector<Group>& groups) {
  if (all.waited_ns <= 0 || groups.empty() || groups.front().first.first.empty()) {
    return {};
  }
  const Group& most = groups.front();
  const bool is_line = all.grouped_by == metrics::RowsBy::kCaller;
  return std::string(most.first.second) +
         (is_line ? " from " : std::string(" of ") + title_of(all.grouped_by) + ' ') +
         most.first.first + ": " + fixed(share_percent(all, most).value_or(0), 0) +
         " % of all waiting.";
}

Table groups_table(const Stragglers& all, const std::vector<Group>& groups) {
  const auto [key, title] = [&]() -> std::pair<const char*, const char*> {
    switch (all.grouped_by) {
      case metrics::RowsBy::kRange:
        return {"ranges", "Ranges of the application, by the waiting in what was called there"};
      case metrics::RowsBy::kUserTag:
        return {"user_tags", "User tags of NCCL, by the waiting in the calls that have them"};
      default:
        return {"callers", "Lines of the program, by the waiting in what they called"};
    }
  }();
  Table table{key,
              title,
              {{column_of(all.grouped_by), title_of(all.grouped_by)},
               {"function", "function"},
               {"operations", "operations", Shown::kInteger},
               {"waited_ns", "waited", Shown::kDuration},
               {"wait_share_percent", "waiting", Shown::kNumber, "% of all"}},
              {}};
  for (const Group& group : groups) {
    const auto& [text, function] = group.first;
    table.rows.push_back({group_cell(all.grouped_by, text), std::string(function),
                          group.second.operations, group.second.waited_ns,
                          cell_of(share_percent(all, group))});
  }
  return table;
}

void add_findings(const Stragglers& stragglers, Document& document) {
  for (const auto* const found : {&stragglers.ranks, &stragglers.hosts}) {
    for (const Lateness& one : *found) {
      if (one.is_straggler) {
        document.findings.push_back({Severity::kWarning, "straggler", sentence(stragglers, one)});
      }
    }
  }
  for (const Lateness& rank : stragglers.ranks) {
    if (rank.was_late_once) {
      document.findings.push_back({Severity::kNote, "late-once", once_sentence(stragglers, rank)});
    }
  }
  if (const auto open = stragglers.find_open(); !open.empty()) {
    document.findings.push_back({Severity::kNote, "late-unknown", open_sentence(stragglers, open)});
    const bool is_any_late =
        !document.findings.empty() && document.findings.front().severity == Severity::kWarning;
    if (!is_any_late && stragglers.share_of(*open.front()) <= metrics::kOpenShare &&
        stragglers.hosts.size() > 1 && stragglers.unseen == 0) {
      document.findings.push_back({Severity::kNote, "clock-or-late",
                                   "a rank that is always late looks like a host whose clock is "
                                   "ahead; if the hosts' clocks "
                                   "are synchronised, `--clock-error` (say 50us) decides it"});
    }
  }
}

}  // namespace

std::string name_of(const Lateness& one) {
  return one.label == one.host ? "host " + one.label : one.label + " (" + one.host + ")";
}

std::string chance_text(double chance) {
  constexpr int kLeastExponent = -9;
  constexpr int kLeastPlain = -4;
  if (chance >= 1) {
    return "p = 1";
  }
  // One digit, rounded up: it is below that.
  int exponent = chance > 0 ? static_cast<int>(std::floor(std::log10(chance))) : kLeastExponent - 1;
  if (exponent < kLeastExponent) {
    return "p < 1e" + std::to_string(kLeastExponent);
  }
  int digit = static_cast<int>(chance / std::pow(10, exponent)) + 1;
  if (digit >= 10) {
    digit = 1;
    ++exponent;
  }
  return "p < " + (exponent < kLeastPlain
                       ? std::to_string(digit) + 'e' + std::to_string(exponent)
                       : fixed(digit * std::pow(10, exponent), std::max(0, -exponent)));
}

std::string cost_of(const Stragglers& all, const Lateness& one) {
  const std::string least = fixed(all.share_of(one) * 100, 1);
  const std::string most = fixed(all.most_share_of(one) * 100, 1);
  if (all.has_untold()) {
    return least + " % or more";
  }
  return least == most ? least + " %" : least + " to " + most + " %";
}

std::vector<const Lateness*> tied_with_first(const Stragglers& all,
                                             const std::vector<const Lateness*>& found) {
  constexpr double kAlike = 0.9;
  const Lateness& first = *found.front();
  const auto least = [&](const Lateness& one) { return fixed(all.share_of(one) * 100, 1); };
  std::vector<const Lateness*> tied;
  std::copy_if(found.begin(), found.end(), std::back_inserter(tied), [&](const Lateness* one) {
    return least(*one) == least(first) && all.most_share_of(*one) <= all.most_share_of(first) &&
           all.most_share_of(*one) >= kAlike * all.most_share_of(first);
  });
  return tied;
}

std::string names_of(const std::vector<const Lateness*>& some) {
  constexpr std::size_t kNamed = 4;
  if (some.size() > kNamed) {
    const bool are_hosts = some.front()->label == some.front()->host;
    return counted(some.size(), are_hosts ? "host" : "rank");
  }
  std::string text;
  for (std::size_t i = 0; i < some.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == some.size() ? " and " : ", ") + name_of(*some[i]);
  }
  return text;
}

std::string open_sentence(const Stragglers& all, const std::vector<const Lateness*>& open) {
  const Lateness& one = *open.front();
  const auto tied = tied_with_first(all, open);
  const bool is_one = tied.size() == 1;
  const char* const reason = one.uncompared_ns > one.cost_ns / 2
                                 ? ", most of it in sends and receives: each rank has a part of "
                                   "its own in them, so nothing "
                                   "tells what is usual"
                                 : ", which may be chance: few late arrivals, or noise that lasts";
  return all.share_of(one) > metrics::kOpenShare
             ? names_of(tied) + (is_one ? " costs " : " each cost ") + cost_of(all, one) +
                   " of all ranks' time" + reason +
                   (one.is_frequent_root ? ", or come with being the root of many operations" : "")
             : names_of(tied) + (is_one ? " may cost " : " may each cost ") + cost_of(all, one) +
                   " of all ranks' time: " +
                   (all.hosts.size() > 1 && all.unseen == 0 ? "the clocks leave it open"
                                                            : "what was recorded leaves it open");
}

Document stragglers_document(const Stragglers& stragglers, const match::Matches& matches) {
  Document document;
  document.command = "stragglers";
  add_findings(stragglers, document);
  const auto groups = groups_of(stragglers);
  const std::uint64_t judged = stragglers.decided + stragglers.undecided;
  if (judged == 0) {
    document.sentences.push_back(
        "There is no operation of several ranks here whose times are known for all of them: "
        "nothing is known of who waits for whom.");
  } else {
    document.sentences.push_back(
        "Ranks surely waited " + human_duration(stragglers.waited_ns) +
        " of GPU time for each other, " + fixed(stragglers.share(stragglers.waited_ns) * 100, 1) +
        " % of all ranks' time" +
        (stragglers.has_untold()
             ? "; who waited in " + std::to_string(stragglers.untold()) + " of " +
                   counted(stragglers.operations, "operation") + " is not known."
         : stragglers.share(stragglers.waited_most_ns - stragglers.waited_ns) < 0.001
             ? "."
             : "; at most " + fixed(stragglers.share(stragglers.waited_most_ns) * 100, 1) + " %."));
    if (const std::string chain = chain_sentence(stragglers); !chain.empty()) {
      document.sentences.push_back(chain);
    }
    if (const std::string most = group_sentence(stragglers, groups); !most.empty()) {
      document.sentences.push_back(most);
    }
    if (std::none_of(document.findings.begin(), document.findings.end(),
                     [](const Finding& one) { return one.severity != Severity::kNote; })) {
      document.sentences.push_back(
          stragglers.has_untold() || !stragglers.find_open().empty()
              ? "No rank surely costs more than chance makes it, but some may."
              : "No rank costs the others more than chance makes it, or so much that it matters.");
    }
  }
  document.tables.push_back(table_of(stragglers, stragglers.ranks, matches, false));
  if (stragglers.hosts.size() > 1) {
    document.tables.push_back(table_of(stragglers, stragglers.hosts, matches, true));
  }
  if (!groups.empty()) {
    document.tables.push_back(groups_table(stragglers, groups));
  }
  document.notes.push_back(counted(stragglers.operations, "operation") +
                           " of several ranks: " + std::to_string(stragglers.decided) +
                           " in which it is sure for whom the others waited, " +
                           std::to_string(stragglers.undecided) + " in which it is not, " +
                           std::to_string(stragglers.partial) + " not recorded on all ranks, " +
                           std::to_string(stragglers.impossible) +
                           " with times that contradict each other");
  if (stragglers.by_call > 0) {
    document.notes.push_back(
        "of " + counted(stragglers.by_call, "operation") +
        ", some ranks have only a call: calls do not tell who waited; record the event `kernel`, "
        "too, to know it");
  }
  if (stragglers.unseen > 0) {
    document.notes.push_back("in " + counted(stragglers.unseen, "operation") +
                             ", some rank has only a call, or was first seen when its GPU took "
                             "data that another rank had "
                             "sent: it may have come at any time since its call; record the event "
                             "`kernel`, too, to know "
                             "it");
  }
  return document;
}

}  // namespace ringside::report
