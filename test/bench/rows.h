// SPDX-License-Identifier: Apache-2.0
//
// The figures that ringside_bench_callbacks measured: one row a callback. A row is a line between
// its processes, and rows are printed as a table or as JSON.
#ifndef RINGSIDE_TEST_BENCH_ROWS_H
#define RINGSIDE_TEST_BENCH_ROWS_H

#include <cstdint>
#include <string>
#include <vector>

namespace ringside::bench {

struct Row {
  std::string plugin;
  int version;
  int threads;
  std::string gate;  // on, stopped, type off
  std::string callback;
  double p50_ns, p99_ns, p999_ns, clock_ns;
  std::uint64_t dropped;
};

/// A row as one line of text, with its end.
std::string row_line(const Row& row);
Row parse_row(const std::string& line);

/// The figures of one callback, one row a pass.
using Passes = std::vector<Row>;

/// Each figure's median over the passes, and all that was dropped.
Row median_of(const Passes& passes);

/// All rows, in the order in which they first came.
class Results {
 public:
  void add(const Row& row) {
    for (Passes& passes : all_) {
      if (is_same(passes.front(), row)) {
        passes.push_back(row);
        return;
      }
    }
    all_.push_back({row});
  }
  const std::vector<Passes>& all() const { return all_; }

 private:
  static bool is_same(const Row& left, const Row& right) {
    return left.plugin == right.plugin && left.version == right.version &&
           left.threads == right.threads && left.gate == right.gate &&
           left.callback == right.callback;
  }
  std::vector<Passes> all_;
};

void print_head(bool json, int passes);
void print_row(const Row& row, bool json, bool first);

}  // namespace ringside::bench

#endif  // RINGSIDE_TEST_BENCH_ROWS_H
