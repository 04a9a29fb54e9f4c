// SPDX-License-Identifier: Apache-2.0
//
// What got slower or faster from one set of traces to another, beyond what the spread explains.
#ifndef RINGSIDE_ANALYZER_METRICS_COMPARE_H
#define RINGSIDE_ANALYZER_METRICS_COMPARE_H

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// What makes operations of two runs comparable.
struct OperationKind {
  std::string communicator;  // its name; empty if not known
  std::uint32_t nranks = 0;
  std::uint32_t hosts = 0;  // of the ranks that have a trace
  bool nranks_inferred = false;
  std::string function;
  std::optional<std::uint64_t> bytes;
  std::string datatype;

  auto tied() const {
    return std::tie(communicator, nranks, hosts, nranks_inferred, function, bytes, datatype);
  }
  bool operator<(const OperationKind& other) const { return tied() < other.tied(); }
  bool operator==(const OperationKind& other) const { return tied() == other.tied(); }
};

/// The operations of one kind. Those whose ranks disagree, that did not finish, that some rank did
/// not record, or of whose execution nothing is known, have no time and are not here.
struct TimesOfKind {
  OperationKind kind;
  std::uint32_t ranks = 0;  // that take part: 2 in a pair
  /// The least of the ranks' own durations, ascending.
  std::vector<std::int64_t> least_ns;
  /// From the last start to the last end, ascending; empty unless the clocks give it for all, to a
  /// tenth of it.
  std::vector<std::int64_t> busy_ns;
  bool is_alone = false;  // only one rank is known: there is no bandwidth that depends on ranks
};

/// By kind.
std::vector<TimesOfKind> times_of_kinds(const model::Traces& traces, const match::Matches& matches,
                                        const align::Alignment& alignment);

/// What a duration of both sides is: one definition for both.
enum class TimeIs : std::uint8_t { kBusy, kLeast };

struct Change {
  OperationKind kind;
  TimeIs time_is = TimeIs::kLeast;
  std::uint64_t count_a = 0;
  std::uint64_t count_b = 0;
  std::optional<double> median_a_ns;
  std::optional<double> median_b_ns;
  std::optional<double> busbw_a_gb_s;
  std::optional<double> busbw_b_gb_s;
  std::optional<double> percent;  // of the median time, from A to B: above 0 is slower
  /// The probability of such a difference where there is none, corrected for the number of rows;
  /// nothing where one side has fewer than kLeastToJudge.
  std::optional<double> chance;

  bool is_significant() const { return chance && *chance < 0.05; }
};

inline constexpr std::size_t kLeastToJudge = 8;

/// All kinds of either side, by kind.
std::vector<Change> compare(const std::vector<TimesOfKind>& a, const std::vector<TimesOfKind>& b);

/// The two-sided probability of Mann and Whitney's U by the normal approximation, with correction
/// for ties and for continuity. Both are ascending and not empty. 1 where all values are equal.
double mann_whitney(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b);

/// Holm's correction: the probabilities, raised so that all together are wrong no more often than
/// each said alone. At most 1.
std::vector<double> holm(const std::vector<double>& probabilities);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_COMPARE_H
