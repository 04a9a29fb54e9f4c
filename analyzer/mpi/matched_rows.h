// SPDX-License-Identifier: Apache-2.0
//
// Operations that process 0 has matched by their rows, for the processes that have these.
#ifndef RINGSIDE_ANALYZER_MPI_MATCHED_ROWS_H
#define RINGSIDE_ANALYZER_MPI_MATCHED_ROWS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/match/matcher.h"
#include "analyzer/model/packed_table.h"

namespace ringside::mpi {

/// Part::operation counts the rows of a file that are matched so, where the parts are.
class MatchedRows {
 public:
  /// `place`: of the operation among those of its communicator.
  void add(std::uint32_t place, const match::MatchedOperation& matched,
           std::span<const match::Part> parts) {
    operations_.push_back({place, matched.communicator, static_cast<std::int64_t>(matched.way),
                           static_cast<std::int64_t>(matched.pattern), matched.is_aligned ? 1 : 0,
                           matched.func, static_cast<std::int64_t>(matched.number),
                           matched.occurrence, matched.source, matched.destination,
                           static_cast<std::int64_t>(parts.size())});
    for (const match::Part& part : parts) {
      parts_.push_back({part.member, part.file, part.operation});
    }
  }

  /// Calls take(place, operation, parts) for each, in their order.
  template <typename Take>
  void for_each(const Take& take) const {
    std::vector<match::Part> parts;
    std::size_t next = 0;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const auto row = operations_.first(i);
      match::MatchedOperation matched;
      matched.communicator = static_cast<std::uint32_t>(row[1]);
      matched.way = static_cast<match::Way>(row[2]);
      matched.pattern = static_cast<match::Pattern>(row[3]);
      matched.is_aligned = row[4] != 0;
      matched.func = static_cast<model::NameId>(row[5]);
      matched.number = static_cast<std::uint64_t>(row[6]);
      matched.occurrence = static_cast<std::uint32_t>(row[7]);
      matched.source = static_cast<std::uint32_t>(row[8]);
      matched.destination = static_cast<std::uint32_t>(row[9]);
      matched.part_count = static_cast<std::uint32_t>(row[10]);
      parts.clear();
      for (std::uint32_t part = 0; part < matched.part_count; ++part, ++next) {
        const auto own = parts_.first(next);
        parts.push_back({static_cast<std::uint32_t>(own[0]), static_cast<std::uint32_t>(own[1]),
                         static_cast<std::uint32_t>(own[2])});
      }
      take(static_cast<std::uint32_t>(row[0]), matched, std::span<const match::Part>(parts));
    }
  }

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(operations_, parts_);
  }

 private:
  model::PackedTable<std::array<std::size_t, 11>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}> operations_;
  model::PackedTable<std::array<std::size_t, 3>{0, 0, 2}> parts_;
};

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_MATCHED_ROWS_H
