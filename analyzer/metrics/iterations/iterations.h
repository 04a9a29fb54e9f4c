// SPDX-License-Identifier: Apache-2.0
//
// The iterations of a job, where its operations repeat: how long each took, how long it
// communicated, and for whom it waited. docs/metrics.md defines the figures.
#ifndef RINGSIDE_ANALYZER_METRICS_ITERATIONS_ITERATIONS_H
#define RINGSIDE_ANALYZER_METRICS_ITERATIONS_ITERATIONS_H

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/iterations/distribution.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

struct Iteration {
  std::int64_t start_ns = 0;  // its first call on the reference rank: epoch, common clock
  /// From a rank's first call to that of its next operation after the iteration: median over the
  /// ranks, each by its own clock. Nothing if no rank called anything after it.
  std::optional<std::int64_t> duration_ns;
  std::uint64_t ranks = 0;  // whose duration is known
  /// The time in which at least one operation ran on a rank: median over the ranks that saw one
  /// run.
  std::optional<std::int64_t> busy_ns;
  /// What all ranks waited for others; nothing if no execution was seen. replay::add_waits() fills
  /// in this and the next three.
  std::optional<std::int64_t> waited_ns;
  std::string slowest;           // the rank that the others waited for most; may be empty
  std::string slowest_host;      // where it runs
  std::int64_t delay_ns = 0;     // how long they waited for it, where each waits at once
  std::uint64_t operations = 0;  // of the reference rank, extra ones among them
};

/// The part of the reference rank's operations in which iterations were sought.
struct IterationScope {
  std::optional<std::uint32_t> communicator;  // one only; nothing: all
  bool with_sizes = true;                     // sizes tell operations apart
  bool with_roots = true;                     // roots do
};

/// An operation that is in no iteration, or not here.
inline constexpr std::uint32_t kNoIteration = std::numeric_limits<std::uint32_t>::max();

/// An operation of an iteration, by the records of its lowest rank.
struct PeriodCall {
  std::uint32_t operation = 0;  // index into Matches::operations
  match::MatchedOperation matched;
  std::optional<std::uint64_t> bytes;
  model::NameId datatype = model::kNoName;
  std::optional<std::uint32_t> root;
};

/// The sequence that repeats in the calls of one rank.
struct RunPeriod {
  std::uint64_t operations = 0;  // of that rank, in the scope
  IterationScope scope;
  /// Operations of one iteration in the order of their calls: those of the first iteration without
  /// extra ones. Empty if nothing repeats.
  std::vector<PeriodCall> period;
  std::string name;     // of the ranges or marks by which the application names them; empty: none
  double coverage = 0;  // of the period, over all operations; 0 to 1
  std::vector<std::size_t> other_lengths;     // of sequences that repeat too
  std::optional<std::size_t> nearest_length;  // of what repeats too rarely, if nothing is found
  double nearest_coverage = 0;
  std::uint64_t before = 0;  // operations before the first iteration
  std::uint64_t between = 0;
  std::uint64_t after = 0;
  std::int64_t zero_ns = 0;  // first call of the rank: epoch, common clock
};

/// The iterations of one run.
struct RunIterations : RunPeriod {
  std::uint32_t run = 0;              // index into Runs::runs
  std::string reference;              // the rank whose calls were looked at: the one with the most
  std::uint64_t ranks = 0;            // of the run
  std::uint64_t ranks_apart = 0;      // of them, those that share no iteration with the reference
  std::vector<Iteration> iterations;  // by time
  std::optional<Distribution> duration;  // over the iterations
  std::optional<Distribution> busy;
  std::optional<Distribution> waited;
  /// By operation; kNoIteration of others.
  std::vector<std::uint32_t> iteration_of;
};

/// The iterations of each run that has operations. `length`: take the sequence of so many
/// operations that repeats most; 0: find the length.
std::vector<RunIterations> find_iterations(const facts::Facts& facts, std::size_t length);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ITERATIONS_ITERATIONS_H
