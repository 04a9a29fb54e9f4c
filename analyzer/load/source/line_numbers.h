// SPDX-License-Identifier: Apache-2.0
//
// Ascending line numbers, about one byte each.
#ifndef RINGSIDE_ANALYZER_LOAD_SOURCE_LINE_NUMBERS_H
#define RINGSIDE_ANALYZER_LOAD_SOURCE_LINE_NUMBERS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringside::load {

class LineNumbers {
 public:
  /// Adds a number that is not less than the last one.
  void add(std::uint64_t line) {
    std::uint64_t step = line - last_;
    last_ = line;
    for (; step >= kMore; step >>= kBits) {
      bytes_.push_back(static_cast<std::uint8_t>(step | kMore));
    }
    bytes_.push_back(static_cast<std::uint8_t>(step));
  }

  /// Gives the numbers back, one after the other. The numbers must outlive it.
  class Reader {
   public:
    explicit Reader(const LineNumbers& numbers) : bytes_(numbers.bytes_) {}

    /// Must not be called more often than numbers were added.
    std::uint64_t next() {
      for (unsigned shift = 0;; shift += kBits) {
        const std::uint64_t byte = bytes_[at_++];
        line_ += (byte & (kMore - 1)) << shift;
        if (byte < kMore) {
          return line_;
        }
      }
    }

   private:
    const std::vector<std::uint8_t>& bytes_;
    std::size_t at_ = 0;
    std::uint64_t line_ = 0;
  };

 private:
  static constexpr unsigned kBits = 7;
  static constexpr std::uint64_t kMore = 1U << kBits;  // a byte with this bit has another behind it

  std::vector<std::uint8_t> bytes_;  // the steps from one number to the next
  std::uint64_t last_ = 0;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_SOURCE_LINE_NUMBERS_H
