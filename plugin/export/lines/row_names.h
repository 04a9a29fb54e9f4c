// SPDX-License-Identifier: Apache-2.0
//
// The names of the rows of a timeline. A row is named after its communicator. If the process has
// several ranks of one communicator, the name also has the rank.
#ifndef RINGSIDE_PLUGIN_EXPORT_LINES_ROW_NAMES_H
#define RINGSIDE_PLUGIN_EXPORT_LINES_ROW_NAMES_H

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugin/assemble/rows.h"

namespace ringside::exporting {

class RowNames {
 public:
  /// Call this when a communicator was opened, or when more is known about it.
  void learn(const assemble::Communicator& communicator);

  /// Returns the name of the row of a communicator's operations. Valid until the next call of
  /// learn().
  std::string_view operations(std::uint32_t context) { return names(context).operations; }
  /// Returns the name of the row `what` of this context's rank. Valid until the next call of this
  /// class.
  std::string_view of_rank(std::uint32_t context, std::string_view what);
  /// Like of_rank(), followed by the number of a channel.
  std::string_view of_channel(std::uint32_t context, std::string_view what, int channel,
                              std::string_view behind = {});

 private:
  struct Names {
    std::string operations;
    std::string rank_prefix;  ///< "rank 2 " where the process has several ranks
    std::string own;          ///< the communicator's name, without the rank
    int rank = 0;
  };
  Names& names(std::uint32_t context);
  void compose(Names& of) const;

  std::vector<Names> names_;                      ///< by context
  std::unordered_map<std::uint64_t, int> ranks_;  ///< by hash, until one has several
  bool several_ranks_ = false;
  std::string text_;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LINES_ROW_NAMES_H
