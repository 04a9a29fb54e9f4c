// SPDX-License-Identifier: Apache-2.0
//
// Groups operations by what the application says of them, for every command with --by.
#ifndef RINGSIDE_ANALYZER_METRICS_ROWS_GROUPING_H
#define RINGSIDE_ANALYZER_METRICS_ROWS_GROUPING_H

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/match/matcher.h"
#include "analyzer/match/ranges.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// The operations of a row have this in common beside their kind: nothing more, the range of the
/// application (ringside_push), the line of the program, or NCCL's user tag of the call.
enum class RowsBy : std::uint8_t { kKind, kRange, kCaller, kUserTag };

/// Says to which group an operation belongs: as the lowest rank does that tells it. It refers to
/// the traces and the matches. Thread-safe.
class Grouping {
 public:
  /// The number of a group that no rank tells, and of every group if no grouping was asked for.
  static constexpr std::uint32_t kNone = 0;

  Grouping(const model::Traces& traces, const match::Matches& matches, RowsBy by);

  RowsBy by() const { return by_; }

  /// Returns a number, so that many operations need no text each. Numbers may differ where texts do
  /// not: a line has as many as it has stacks.
  std::uint32_t group_of(const match::MatchedOperation& operation) const;

  /// "epoch / step / forward", "train.py:212 torch.all_reduce (layers.3.attn)", "0x2a". Empty for
  /// kNone.
  std::string text_of(std::uint32_t group) const;

 private:
  const model::Traces& traces_;
  const match::Matches& matches_;
  const RowsBy by_;
  bool may_have_groups_ = true;  // else no operation is looked through for one
  std::optional<match::Ranges> ranges_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ROWS_GROUPING_H
