// SPDX-License-Identifier: Apache-2.0
//
// Selects the part of the traces that a command looks at. Ranks and hosts are selected before the
// matching, so that calls of the others are unknown instead of missing. Everything else is selected
// after it, so that no operation loses ranks at an edge.
#ifndef RINGSIDE_ANALYZER_MATCH_SELECTION_H
#define RINGSIDE_ANALYZER_MATCH_SELECTION_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/match/calls/common_clock.h"
#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::match {

/// A moment that --from or --to names: a mark of the application, or an end of its range.
struct NamedMoment {
  std::string name;          // empty: none
  std::uint64_t number = 1;  // counts marks of that name in each process, from 1
  bool is_numbered = false;  // by the text
};

struct Selection {
  std::vector<std::string> communicators;  // names or hashes; empty: all
  std::vector<std::string> functions;      // "Send" and "Recv" choose pairs as "SendRecv" does
  std::vector<std::int64_t> ranks;         // the launcher's ranks
  std::vector<std::string> hosts;
  std::vector<std::string> user_tags;  // "0x2a", as traces have them
  std::uint64_t least_bytes = 0;
  std::optional<double> from_s;  // since the first operation
  std::optional<double> to_s;
  NamedMoment from_mark;                // instead of from_s: a mark, or the beginning of a range
  NamedMoment to_mark;                  // instead of to_s: a mark, or the end of a range
  std::optional<std::int64_t> from_ns;  // the resulting times, on the common clock
  std::optional<std::int64_t> to_ns;
};

/// Parses "mark:TEXT" or "mark:TEXT#NUMBER". Returns nothing for any other text.
std::optional<NamedMoment> parse_moment(std::string_view text);

/// Sets from_ns and to_ns to the time at which the first process reached the named moment. An
/// operation counts by its first call, so the first process's time separates the operations before
/// the moment from those after it. Returns an empty text, or an error if no process has the mark.
std::string find_moments(const model::Traces& traces, const CommonClock& clock,
                         Selection& selection);

/// True if the communicator is selected, by name or hash.
bool is_chosen(const Selection& selection, const Communicator& communicator);

/// True if the selection is among operations, and not among files only.
bool chooses_operations(const Selection& selection);

/// Whether moments of the run limit it.
inline bool chooses_moments(const Selection& selection) {
  return selection.from_s || selection.to_s || !selection.from_mark.name.empty() ||
         !selection.to_mark.name.empty();
}

/// Whether it leaves out ranks or hosts.
inline bool chooses_files(const Selection& selection) {
  return !selection.ranks.empty() || !selection.hosts.empty();
}

/// Removes the files of ranks and hosts that are not selected. Returns how many were removed.
std::size_t select_files(const Selection& selection, model::Traces& traces);

/// Removes the matched operations that are not selected. Also removes operations that were sampled
/// out and are in the traces only because they were in flight. `hang` needs them.
void select_operations(const Selection& selection, const model::Traces& traces,
                       const CommonClock& clock, Matches& matches);

/// Removes steps and proxy operations of operations that are not matched. Returns how many.
std::uint64_t select_transfers(const Matches& matches, model::Traces& traces);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_SELECTION_H
