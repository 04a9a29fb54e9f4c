// SPDX-License-Identifier: Apache-2.0
//
// Finds a key in the list of those that are known. The plugin writes keys in one order, so the next
// one is nearly always where the last was found, or soon after.
#ifndef RINGSIDE_ANALYZER_LOAD_KEY_ORDER_H
#define RINGSIDE_ANALYZER_LOAD_KEY_ORDER_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "analyzer/load/byte_words.h"

namespace ringside::load {

template <std::size_t kSize>
class KeyOrder {
 public:
  /// No key is longer than 16 bytes.
  explicit KeyOrder(const std::array<std::string_view, kSize>& keys) {
    for (std::size_t i = 0; i < kSize; ++i) {
      char padded[kLongest] = {};
      std::memcpy(padded, keys[i].data(), keys[i].size());
      keys_[i] = {load_word(padded), load_word(padded + 8), keys[i].size()};
    }
  }

  /// The next key is likely to be the first.
  void restart() { next_ = 0; }

  /// The index of the key, kSize if it is not known. From its start 16 bytes may be read, whatever
  /// its length.
  std::size_t find(std::string_view key) {
    if (key.size() > kLongest) {
      return kSize;
    }
    const Key wanted = {load_word(key.data()) & mask(key.size()),
                        load_word(key.data() + 8) & (key.size() > 8 ? mask(key.size() - 8) : 0),
                        key.size()};
    for (std::size_t i = next_; i < kSize; ++i) {
      if (keys_[i] == wanted) {
        next_ = i + 1;
        return i;
      }
    }
    for (std::size_t i = 0; i < next_; ++i) {
      if (keys_[i] == wanted) {
        next_ = i + 1;
        return i;
      }
    }
    return kSize;
  }

 private:
  static constexpr std::size_t kLongest = 16;

  struct Key {
    std::uint64_t first = 0;  // 8 bytes, the rest 0
    std::uint64_t rest = 0;
    std::size_t size = 0;

    bool operator==(const Key& other) const {
      return ((first ^ other.first) | (rest ^ other.rest) | (size ^ other.size)) == 0;
    }
  };

  // Of the first bytes of a word, little endian.
  static std::uint64_t mask(std::size_t bytes) {
    return bytes == 0 ? 0 : bytes >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes) - 1;
  }

  std::array<Key, kSize> keys_;
  std::size_t next_ = 0;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_KEY_ORDER_H
