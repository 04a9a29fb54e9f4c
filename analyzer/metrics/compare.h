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
  /// The message; of AlltoAllv, which follows the data, the least of its size class: 2^k bytes of
  /// those from 2^k to 2^(k+1) - 1.
  std::optional<std::uint64_t> bytes;
  bool is_size_class = false;
  std::string datatype;

  auto tied() const {
    return std::tie(communicator, nranks, hosts, nranks_inferred, function, bytes, is_size_class,
                    datatype);
  }
  bool operator<(const OperationKind& other) const { return tied() < other.tied(); }
  bool operator==(const OperationKind& other) const { return tied() == other.tied(); }
};

/// An operation of a size class.
struct SizedTime {
  std::uint64_t bytes = 0;  // above 0
  std::int64_t time_ns = 0;
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
  /// The same with their sizes, in any order; empty unless the kind is a size class.
  std::vector<SizedTime> least_of_size;
  std::vector<SizedTime> busy_of_size;
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
  /// The message: of a size class the middle one of A and B, of two the lower.
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> bytes_min;
  std::optional<std::uint64_t> bytes_max;
  std::uint64_t count_a = 0;
  std::uint64_t count_b = 0;
  std::optional<double> median_a_ns;
  std::optional<double> median_b_ns;
  std::optional<double> busbw_a_gb_s;
  std::optional<double> busbw_b_gb_s;
  /// Of the median time, from A to B: above 0 is slower. Of a size class the lesser of its change
  /// and that of the median time per byte; nothing where these go apart, since the sizes alone may
  /// do that.
  std::optional<double> percent;
  /// The probability of such a difference where there is none, corrected for the number of rows;
  /// nothing where one side has fewer than kLeastToJudge.
  std::optional<double> chance;

  bool is_significant() const { return chance && *chance < 0.05; }
};

inline constexpr std::size_t kLeastToJudge = 8;

/// All kinds of either side, by kind. A size class changed only where both the time and the time
/// per byte did: more bytes never take less time, and never more time each, so that one of the two
/// does not rise by other sizes alone.
std::vector<Change> compare(const std::vector<TimesOfKind>& a, const std::vector<TimesOfKind>& b);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_COMPARE_H
