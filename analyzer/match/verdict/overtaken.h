// SPDX-License-Identifier: Apache-2.0
//
// Tells whether an operation in flight is really unfinished. NCCL runs the operations of a rank in
// one communicator in the order of their calls. So an operation before one that has finished has
// finished, too, and only the record of its end was lost.
#ifndef RINGSIDE_ANALYZER_MATCH_VERDICT_OVERTAKEN_H
#define RINGSIDE_ANALYZER_MATCH_VERDICT_OVERTAKEN_H

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "analyzer/model/trace.h"

namespace ringside::match {

/// The latest calls of one rank in one communicator that have finished. Calls of one group run
/// together, so the latest one outside of its group counts as well.
class LatestFinished {
 public:
  /// Adds an operation. One that has not finished is ignored.
  void add(const model::Operation& operation);
  /// True if an operation that was called after this one has finished.
  bool overtakes(const model::Operation& operation) const;

 private:
  struct Call {
    std::pair<std::int64_t, std::uint64_t> order;  // time, then id
    std::uint64_t group = 0;
    bool is_known = false;
  };
  static bool is_later(const Call& call, const Call& than);
  static Call call_of(const model::Operation& operation);

  Call last_;
  Call last_of_other_group_;
};

/// The peer of a send or receive that may run in a communicator of its own with that peer
/// (model::Process::has_pair_communicators), and so in no order with the other calls of its
/// context.
std::optional<std::uint32_t> peer_of_own_communicator(const model::Process& process,
                                                      const model::Operation& operation);

/// Answers for the operations of all files. It reads the operations of a file when it is first
/// asked about that file.
class Overtaken {
 public:
  explicit Overtaken(const model::Traces& traces) : traces_(traces) {}

  bool is_overtaken(std::uint32_t file, const model::Operation& operation);

 private:
  const model::Traces& traces_;
  // A context, and peer_of_own_communicator().
  using Lane = std::pair<std::uint32_t, std::optional<std::uint32_t>>;

  std::map<std::uint32_t, std::map<Lane, LatestFinished>> files_;
};

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_VERDICT_OVERTAKEN_H
