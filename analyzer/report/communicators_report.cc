// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "analyzer/match/membership.h"
#include "analyzer/match/verdict/describe.h"
#include "analyzer/model/joined.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/match_report.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {
namespace {

constexpr std::size_t kHostsListed = 8;

// "0-3, 8", in the order of the communicator's own ranks where that is not ascending.
std::string global_rank_text(const match::Membership& membership) {
  std::vector<std::uint32_t> ranks;
  std::uint64_t unknown = 0;
  for (const auto& rank : membership.global_ranks) {
    if (rank) {
      ranks.push_back(*rank);
    } else {
      ++unknown;
    }
  }
  std::sort(ranks.begin(), ranks.end());
  std::string text = ranks.empty() ? "" : match::rank_list(ranks);
  text.erase(0, text.find(' ') + 1);
  if (unknown > 0) {
    text += (text.empty() ? "" : " and ") + std::to_string(unknown) + " not known";
  }
  return text;
}

}  // namespace

Document communicators_document(const model::Traces& traces, const match::Matches& matches) {
  const auto memberships = match::find_memberships(traces, matches);
  Document document;
  document.command = "communicators";
  document.sentences.push_back(counted(matches.communicators.size(), "communicator") + " in " +
                               counted(matches.runs.runs.size(), "run") + ", of " +
                               counted(traces.files.size(), "process", "processes") + '.');
  for (const std::string& line : run_lines(matches.runs.runs)) {
    document.sentences.push_back(line);
  }
  Table table = {"communicators",
                 "Communicators, in the order of their creation",
                 {{"number", "number", Shown::kInteger},
                  {"run", "run", Shown::kInteger},
                  {"name", "name"},
                  {"hash", "hash"},
                  {"nranks", "ranks", Shown::kInteger},
                  {"ranks_seen", "seen", Shown::kInteger},
                  {"global_ranks", "global ranks"},
                  {"hosts", "hosts"},
                  {"inside", "inside", Shown::kInteger},
                  {"operations", "operations", Shown::kInteger}},
                 {}};
  bool has_inferred = false;
  for (std::size_t c = 0; c < memberships.size(); ++c) {
    const match::Communicator& communicator = matches.communicators[c];
    const match::Membership& membership = memberships[c];
    has_inferred = has_inferred || communicator.nranks_inferred;
    table.rows.push_back(
        {std::uint64_t{c} + 1, std::uint64_t{communicator.run} + 1,
         communicator.name.empty() ? Cell() : Cell(communicator.name),
         communicator.hash.empty() ? Cell() : Cell(communicator.hash),
         communicator.nranks_inferred ? Cell() : Cell(std::uint64_t{communicator.nranks}),
         std::uint64_t{communicator.members.size()}, global_rank_text(membership),
         model::joined(membership.hosts, kHostsListed),
         membership.inside ? Cell(std::uint64_t{*membership.inside} + 1) : Cell(),
         membership.operations});
  }
  document.tables.push_back(std::move(table));
  document.notes.emplace_back(
      "global ranks: the launcher's, else those of the largest communicator of the process; "
      "inside: "
      "the number of the smallest communicator that has all these ranks and more");
  if (const std::string inferred = inferred_text(matches.communicators); !inferred.empty()) {
    document.notes.push_back(inferred);
  }
  if (has_inferred) {
    document.notes.emplace_back("ranks -: the profiler interface does not say how many there are");
  }
  return document;
}

}  // namespace ringside::report
