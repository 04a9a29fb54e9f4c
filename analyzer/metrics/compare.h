// SPDX-License-Identifier: Apache-2.0
//
// Finds what got slower or faster from one set of traces to another, beyond chance and beyond the
// uncertainty of the times.
#ifndef RINGSIDE_ANALYZER_METRICS_COMPARE_H
#define RINGSIDE_ANALYZER_METRICS_COMPARE_H

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/difference.h"
#include "analyzer/metrics/grouping.h"
#include "analyzer/metrics/peak.h"

namespace ringside::metrics {

/// Operations of two runs are comparable if they have the same kind.
struct OperationKind {
  std::string by;            // the text of its group (Grouping); empty if none, or not asked for
  std::string communicator;  // its name; empty if not known
  std::uint32_t nranks = 0;
  std::uint32_t hosts = 0;  // of the ranks that have a trace
  bool nranks_inferred = false;
  std::string function;
  /// The size of the message. AlltoAllv's follows the data, so this is the least of its size class:
  /// 2^k for those from 2^k to 2^(k+1) - 1 bytes.
  std::optional<std::uint64_t> bytes;
  bool is_size_class = false;
  std::string datatype;

  auto tied() const {
    return std::tie(by, communicator, nranks, hosts, nranks_inferred, function, bytes,
                    is_size_class, datatype);
  }
  bool operator<(const OperationKind& other) const { return tied() < other.tied(); }
  bool operator==(const OperationKind& other) const { return tied() == other.tied(); }
};

/// One operation.
struct TimedOperation {
  std::uint32_t run = 0;
  std::int64_t at_ns = 0;   // when its first rank came, on the common clock
  std::uint64_t bytes = 0;  // of a size class above 0
  facts::Interval time;     // what is known of its time; both above 0
  std::int64_t best_ns = 0;
};

/// The operations of one kind. Those whose ranks disagree, that did not finish, that some rank did
/// not record, or of whose execution nothing is known, are not here.
struct TimesOfKind {
  OperationKind kind;
  std::uint32_t ranks = 0;       // that take part: 2 in a pair
  std::uint64_t operations = 0;  // also those whose time is not known well
  /// How long the data took, of those of which that is known to a tenth. By run and time.
  std::vector<TimedOperation> busy;
  /// The least of the ranks' own durations, which needs no common clock. Only of functions in which
  /// every rank waits for all others: the last to come waits for nobody. Likewise.
  std::vector<TimedOperation> least;
  bool is_alone = false;  // only one rank is known: there is no bandwidth that depends on ranks
  /// The most busbw that links allow; nothing if it is not known, or not the same for all of these
  /// operations (another algorithm, another communicator).
  std::optional<Peak> peak;
  bool is_grouped = false;  // some were called together with others, and have the time of all
};

/// By kind. `by`: kinds are also told apart by this. `knows_groups`: is_grouped is found in any
/// case; else, which takes less time, only where links are known.
std::vector<TimesOfKind> times_of_kinds(const facts::Facts& facts, RowsBy by = RowsBy::kKind,
                                        bool knows_groups = false);

/// The duration that is compared, by one definition for both sides.
enum class TimeIs : std::uint8_t { kBusy, kLeast };

struct Change {
  OperationKind kind;
  TimeIs time_is = TimeIs::kLeast;
  bool is_in_a = false;
  bool is_in_b = false;
  /// The size of the message. For a size class it is the middle one of A and B, of two the lower.
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> bytes_min;
  std::optional<std::uint64_t> bytes_max;
  std::uint64_t count_a = 0;  // operations whose time counts
  std::uint64_t count_b = 0;
  std::uint64_t unknown = 0;  // operations of both sides whose time is not known well
  std::optional<double> median_a_ns;
  std::optional<double> median_b_ns;
  std::optional<double> busbw_a_gb_s;
  std::optional<double> busbw_b_gb_s;
  std::optional<Peak> peak_a;
  std::optional<Peak> peak_b;
  /// The change of the median time from A to B: above 0 is slower. For a size class it is the
  /// lesser of this and the change of the median time per byte, and nothing if these have different
  /// signs, since the sizes alone may cause that.
  std::optional<double> percent;
  /// The bounds of the change of the median time, by the intervals of the times.
  std::optional<double> percent_least;
  std::optional<double> percent_most;
  JudgedBy judged_by = JudgedBy::kNothing;
  std::size_t units_a = 0;  // runs or blocks
  std::size_t units_b = 0;
  /// The probability of such a difference, beyond the uncertainty of the times, if in truth there
  /// is none. It is corrected for the number of rows. Nothing if it was not judged.
  std::optional<double> chance;

  /// busbw as a part of the peak, in percent.
  std::optional<double> efficiency_a_percent() const { return percent_of(busbw_a_gb_s, peak_a); }
  std::optional<double> efficiency_b_percent() const { return percent_of(busbw_b_gb_s, peak_b); }

  bool is_significant() const { return chance && *chance < 0.05; }
};

/// All kinds of either side, by kind. A size class changed only where both the time and the time
/// per byte did: more bytes never take less time, and never more time each, so that one of the two
/// does not rise by other sizes alone.
std::vector<Change> compare(const std::vector<TimesOfKind>& a, const std::vector<TimesOfKind>& b);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_COMPARE_H
