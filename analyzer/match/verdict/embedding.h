// SPDX-License-Identifier: Apache-2.0
//
// Embeds a shorter sequence in a longer one.
#ifndef RINGSIDE_ANALYZER_MATCH_VERDICT_EMBEDDING_H
#define RINGSIDE_ANALYZER_MATCH_VERDICT_EMBEDDING_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringside::match {

/// All ways to get `calls` by removing elements of `reference`. Takes n log n time.
class Embedding {
 public:
  Embedding(const std::vector<std::uint32_t>& reference, const std::vector<std::uint32_t>& calls);

  /// False if there is no way. The other functions must not be called then.
  bool is_there() const { return from_begin_.back() == calls_; }
  /// Returns the least number of elements at the beginning of the reference that the calls need.
  std::size_t first_end() const;
  /// True if some way keeps the reference's element `place`. Likewise, may_be_removed() for
  /// removing it.
  bool may_be_kept(std::size_t place) const { return used_[place]; }
  bool may_be_removed(std::size_t place) const {
    return from_begin_[place] + from_end_[place + 1] >= calls_;
  }

 private:
  std::size_t calls_;
  std::vector<std::size_t> from_begin_;  // how many of the calls fit before each place
  std::vector<std::size_t> from_end_;    // how many fit from each place on
  std::vector<bool> used_;
};

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_VERDICT_EMBEDDING_H
