// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a fuzzer, taken as values. Behind the end all are zero.
#ifndef RINGSIDE_TEST_FUZZ_INPUT_H
#define RINGSIDE_TEST_FUZZ_INPUT_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ringside::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  bool is_empty() const { return size_ == 0; }

  template <typename Value>
  Value take() {
    Value value{};
    const std::size_t have = std::min(size_, sizeof value);
    std::memcpy(&value, data_, have);
    data_ += have;
    size_ -= have;
    return value;
  }
  std::uint8_t byte() { return take<std::uint8_t>(); }

  /// A number below `bound`, which is not 0.
  std::size_t below(std::size_t bound) { return take<std::uint16_t>() % bound; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace ringside::fuzz

#endif  // RINGSIDE_TEST_FUZZ_INPUT_H
