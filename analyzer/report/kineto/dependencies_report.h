// SPDX-License-Identifier: Apache-2.0
//
// Which operators of the CPU depend on the GPU: the document of `ringside dependencies`.
#ifndef RINGSIDE_ANALYZER_REPORT_KINETO_DEPENDENCIES_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_KINETO_DEPENDENCIES_REPORT_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/match/kineto/kineto_join.h"
#include "analyzer/metrics/steps/gpu_waits.h"
#include "analyzer/model/kineto/kineto.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

struct DependencyChoice {
  std::optional<std::string> annotation;  // only calls in ranges whose names contain this
  std::optional<std::size_t> instance;    // of these ranges of a rank: this one, from 0, by start
  std::vector<std::int64_t> threads;      // none: all
  bool is_critical = false;               // only those on the critical path of a range
  bool has_left_out = false;              // list those that External ids do not tell apart, too
  bool is_longest_first = false;          // else by rank and time
};

/// The figures of one trace of PyTorch's profiler; they refer to nothing of the trace.
struct DependencyPart {
  struct Row {
    std::int64_t waited_ns = 0;
    std::vector<Cell> cells;
  };
  struct Sum {
    std::vector<Cell> key;  // rank, range, thread
    std::uint64_t calls = 0;
    std::uint64_t dependencies = 0;
    std::int64_t waited_ns = 0;
    std::int64_t most_ns = 0;
  };

  std::string path;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> pid;
  std::optional<match::ProfiledTime> time;
  std::uint64_t events = 0;
  std::vector<Row> rows;
  std::vector<Sum> sums;
  std::size_t ranges = 0;  // that `annotation` and `instance` choose
  std::uint64_t calls = 0;
  std::uint64_t unresolved = 0;
  std::uint64_t inferred = 0;
  std::uint64_t same_id = 0;
  std::uint64_t no_id = 0;
  std::uint64_t damaged = 0;
  bool has_syncs = false;
  bool has_gpu = false;
  std::set<std::int64_t> threads;  // of those that are chosen, that have calls here
};

/// One part, or with `instance` one for each range of the trace that may be the chosen one of its
/// rank, from the first on, and behind them one of no range.
std::vector<DependencyPart> dependency_parts(const model::KinetoTrace& trace,
                                             const DependencyChoice& choice);

/// Chooses the part of each trace that has the range `instance` of its rank. A rank may have
/// several traces, one after the other: its ranges are counted over all of them.
std::vector<DependencyPart> choose_parts(std::vector<std::vector<DependencyPart>> traces,
                                         std::optional<std::size_t> instance);

/// The parts of all ranks, in any order.
Document dependencies_document(std::vector<DependencyPart> parts, const DependencyChoice& choice);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_KINETO_DEPENDENCIES_REPORT_H
