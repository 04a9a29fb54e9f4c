// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "analyzer/match/membership.h"
#include "analyzer/model/joined.h"
#include "analyzer/report/document/columns.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/match_report.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {
namespace {

constexpr std::size_t kHostsListed = 8;

Ranks known_global_ranks(const match::Membership& membership) {
  Ranks ranks;
  for (const auto& rank : membership.global_ranks) {
    if (rank) {
      ranks.push_back(*rank);
    }
  }
  return ranks;
}

std::size_t count_unknown(const match::Membership& membership) {
  return static_cast<std::size_t>(
      std::count(membership.global_ranks.begin(), membership.global_ranks.end(), std::nullopt));
}

}  // namespace

Document communicators_document(const model::Traces& traces, const match::Matches& matches) {
  const auto memberships = match::find_memberships(traces, matches);
  Document document{"communicators"};
  document.sentences.push_back(counted(matches.communicators.size(), "communicator") + " in " +
                               counted(matches.runs.runs.size(), "run") + ", of " +
                               counted(traces.files.size(), "process", "processes") + '.');
  for (const std::string& line : run_lines(matches.runs.runs)) {
    document.sentences.push_back(line);
  }
  const auto& all = matches.communicators;
  const auto place_of = [&](auto& one) { return static_cast<std::size_t>(&one - &all[0]); };
  using One = match::Communicator;
  document.tables.push_back(table_of(
      "communicators", "Communicators, in the order of their creation", all,
      {{"number", "number", Shown::kInteger, [&](auto& one) { return place_of(one) + 1; }},
       {"run", "run", Shown::kInteger, [](auto& one) { return one.run + 1; }},
       {"name", "name", [](auto& one) { return text_cell(one.name); }},
       {"hash", "hash", [](auto& one) { return text_cell(one.hash); }},
       {"nranks", "ranks", Shown::kInteger,
        [](auto& one) { return one.nranks_inferred ? Cell() : cell_of(one.nranks); }},
       {"ranks_seen", "seen", Shown::kInteger, [](auto& one) { return one.members.size(); }},
       {"global_ranks", "global ranks",
        [&](auto& one) { return known_global_ranks(memberships[place_of(one)]); }},
       {"global_ranks_unknown", "", Shown::kNot,
        [&](auto& one) { return count_unknown(memberships[place_of(one)]); }},
       {"hosts", "hosts",
        [&](auto& one) { return model::joined(memberships[place_of(one)].hosts, kHostsListed); }},
       {"inside", "inside", Shown::kInteger,
        [&](auto& one) {
          const auto& inside = memberships[place_of(one)].inside;
          return inside ? cell_of(*inside + 1) : Cell();
        }},
       {"operations", "operations", Shown::kInteger,
        [&](auto& one) { return memberships[place_of(one)].operations; }}}));
  document.notes.emplace_back(
      "global ranks: the launcher's, else those of the largest communicator of the process; "
      "inside: "
      "the number of the smallest communicator that has all these ranks and more");
  const std::size_t unknown =
      std::transform_reduce(memberships.begin(), memberships.end(), std::size_t{0}, std::plus<>(),
                            [](const auto& one) { return count_unknown(one); });
  if (unknown > 0) {
    document.notes.push_back("the global ranks of " + counted(unknown, "member") +
                             " are not known");
  }
  if (const std::string inferred = inferred_text(matches.communicators); !inferred.empty()) {
    document.notes.push_back(inferred);
  }
  if (std::any_of(all.begin(), all.end(), std::mem_fn(&One::nranks_inferred))) {
    document.notes.emplace_back("ranks -: the profiler interface does not say how many there are");
  }
  return document;
}

}  // namespace ringside::report
