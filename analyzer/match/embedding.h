// SPDX-License-Identifier: Apache-2.0
//
// A shorter sequence within a longer one.
#ifndef RINGSIDE_ANALYZER_MATCH_EMBEDDING_H
#define RINGSIDE_ANALYZER_MATCH_EMBEDDING_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringside::match {

/// All ways to make `calls` of `reference` by leaving out some of it. Takes n log n time.
class Embedding {
 public:
  Embedding(const std::vector<std::uint32_t>& reference, const std::vector<std::uint32_t>& calls);

  /// False if there is no way: nothing else is to be asked then.
  bool is_there() const { return from_begin_.back() == calls_; }
  /// So many places of the reference, from its begin, are needed at least.
  std::size_t first_end() const;
  /// Whether any way keeps, or leaves out, what the reference has at that place.
  bool may_be_used(std::size_t place) const { return used_[place]; }
  bool may_be_left_out(std::size_t place) const {
    return from_begin_[place] + from_end_[place + 1] >= calls_;
  }

 private:
  std::size_t calls_;
  std::vector<std::size_t> from_begin_;  // so many of the calls are found before each place
  std::vector<std::size_t> from_end_;    // from each place on
  std::vector<bool> used_;
};

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_EMBEDDING_H
