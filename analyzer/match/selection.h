// SPDX-License-Identifier: Apache-2.0
//
// What part of the traces a command is to look at. Ranks and hosts are chosen before the matching:
// what others did is unknown then, never missing. All else is chosen after it, so that no operation
// loses ranks at an edge.
#ifndef RINGSIDE_ANALYZER_MATCH_SELECTION_H
#define RINGSIDE_ANALYZER_MATCH_SELECTION_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::match {

/// A moment that --from or --to names: a mark, or an end of a range, of the application.
struct NamedMoment {
  std::string name;          // empty: none
  std::uint64_t number = 1;  // the how many-th of that name, in each process
};

struct Selection {
  std::vector<std::string> communicators;  // names or hashes; empty: all
  std::vector<std::string> functions;      // "Send" and "Recv" choose pairs as "SendRecv" does
  std::vector<std::int64_t> ranks;         // of the launcher
  std::vector<std::string> hosts;
  std::uint64_t least_bytes = 0;
  std::optional<double> from_s;  // since the first operation
  std::optional<double> to_s;
  NamedMoment from_mark;  // instead of from_s: since that moment, or the beginning of that range
  NamedMoment to_mark;    // instead of to_s: until that moment, or the end of that range
  std::optional<std::int64_t> from_ns;  // what they mean, on the common clock
  std::optional<std::int64_t> to_ns;
};

/// "mark:TEXT" or "mark:TEXT#NUMBER". Nothing if the text is not of that form.
std::optional<NamedMoment> parse_moment(std::string_view text);

/// Sets from_ns and to_ns: when the first process came to the moment that is named. Processes come
/// to it at different times, and all that one calls before it, it calls before all that it calls
/// behind it: so what the first call of an operation is compared with is the first process's.
/// Returns what is wrong: that no process has it; empty if nothing is.
std::string find_moments(const model::Traces& traces, const align::Alignment& alignment,
                         Selection& selection);

/// Whether it chooses the communicator, by name or hash.
bool is_chosen(const Selection& selection, const Communicator& communicator);

/// Whether it chooses among operations, not only among files.
bool chooses_operations(const Selection& selection);

/// Takes out the files of ranks and hosts that were not chosen. Returns how many were taken out.
std::size_t select_files(const Selection& selection, model::Traces& traces);

/// Takes out the matched operations that were not chosen, and those that sampling left out and that
/// are in the traces only since they were in flight: they are of use to find out what is stuck.
void select_operations(const Selection& selection, const model::Traces& traces,
                       const align::Alignment& alignment, Matches& matches);

/// Takes out steps and proxy operations that are of none of the matched operations. Returns how
/// many.
std::uint64_t select_transfers(const Matches& matches, model::Traces& traces);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_SELECTION_H
