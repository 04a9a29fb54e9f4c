// SPDX-License-Identifier: Apache-2.0
//
// Finds what got slower or faster from one set of traces to another, beyond chance.
#ifndef RINGSIDE_ANALYZER_METRICS_COMPARE_COMPARE_H
#define RINGSIDE_ANALYZER_METRICS_COMPARE_COMPARE_H

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/compare/difference.h"
#include "analyzer/metrics/iterations/iterations.h"
#include "analyzer/metrics/machine/peak.h"
#include "analyzer/metrics/rows/grouping.h"

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
  facts::Interval time;
  std::int64_t best_ns = 0;  // how long its data took; above 0
};

/// The operations of one kind. Those whose ranks disagree, that did not finish, that some rank did
/// not record, or of whose execution nothing is known, are not here.
struct TimesOfKind {
  OperationKind kind;
  std::uint32_t ranks = 0;            // that take part: 2 in a pair
  std::vector<TimedOperation> times;  // by run and time
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

struct Change {
  OperationKind kind;
  bool is_in_a = false;
  bool is_in_b = false;
  /// The size of the message. For a size class it is the middle one of A and B, of two the lower.
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> bytes_min;
  std::optional<std::uint64_t> bytes_max;
  std::uint64_t count_a = 0;
  std::uint64_t count_b = 0;
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
  /// What the change of the median time would be if the errors of the times were not alike on both
  /// sides: they are, where the times have one source.
  std::optional<double> percent_least;
  std::optional<double> percent_most;
  JudgedBy judged_by = JudgedBy::kNothing;
  std::size_t units_a = 0;  // runs or blocks
  std::size_t units_b = 0;
  /// The probability of such a difference if in truth there is none. It is corrected for the number
  /// of rows. Nothing if it was not judged.
  std::optional<double> chance;

  /// busbw as a part of the peak, in percent.
  std::optional<double> efficiency_a_percent() const { return percent_of(busbw_a_gb_s, peak_a); }
  std::optional<double> efficiency_b_percent() const { return percent_of(busbw_b_gb_s, peak_b); }

  bool is_significant() const { return chance && *chance < 0.05; }
};

/// The iterations of one side.
struct IterationTimes {
  std::vector<TimesOfRun> duration_ns;  // of each run, in the order of time
  std::vector<double> waited_ns;        // of a rank, the mean over all: by iteration
};

IterationTimes iteration_times(const std::vector<RunIterations>& runs);

/// The whole job: it is looked at before single kinds.
struct IterationChange {
  std::uint64_t count_a = 0;
  std::uint64_t count_b = 0;
  double median_a_ns = 0;
  double median_b_ns = 0;
  std::optional<double> waited_a_ns;  // medians
  std::optional<double> waited_b_ns;
  Difference difference;

  double percent() const { return (median_b_ns / median_a_ns - 1) * 100; }
  bool is_significant() const {
    return difference.judged_by != JudgedBy::kNothing && difference.chance < 0.05;
  }
};

/// Nothing if a side has no iterations.
std::optional<IterationChange> compare(const IterationTimes& a, const IterationTimes& b);

/// All kinds of either side, by kind. A size class changed only where both the time and the time
/// per byte did: more bytes never take less time, and never more time each, so that one of the two
/// does not rise by other sizes alone.
std::vector<Change> compare(const std::vector<TimesOfKind>& a, const std::vector<TimesOfKind>& b);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_COMPARE_COMPARE_H
