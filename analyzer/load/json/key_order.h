// SPDX-License-Identifier: Apache-2.0
//
// Finds a key in the list of those that are known. Whoever writes lines writes their keys in one
// order, so that a key is nearly always the one that stood behind the same key on the line before.
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_KEY_ORDER_H
#define RINGSIDE_ANALYZER_LOAD_JSON_KEY_ORDER_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "analyzer/load/source/byte_words.h"

namespace ringside::load {

/// A key's index, and its length in bytes with the quote behind it; 0 if the key is not known.
struct KeyPlace {
  std::size_t index = 0;
  std::size_t size = 0;
};

template <std::size_t kSize>
class KeyOrder {
 public:
  /// No key is empty or longer than 16 bytes.
  explicit KeyOrder(const std::array<std::string_view, kSize>& keys) {
    for (std::size_t i = 0; i < kSize; ++i) {
      char text[kLongest] = {};
      char mask[kLongest] = {};
      std::memcpy(text, keys[i].data(), keys[i].size());
      std::memset(mask, 0xFF, keys[i].size());
      keys_[i] = {load_word(text), load_word(text + 8), load_word(mask), load_word(mask + 8),
                  keys[i].size()};
      next_[i] = i;
    }
    next_[kSize] = 0;
  }

  /// A line begins.
  void restart() { last_ = kSize; }

  /// The index of the key, kSize if it is not known. From its start 16 bytes may be read, whatever
  /// its length.
  std::size_t find(std::string_view key) {
    return find(key.data(), [&](const Key& known) { return known.size == key.size(); }).index;
  }

  /// The key that begins at `at` and ends with a quote; its index is kSize, and its size 0, if it
  /// is not known. From `at` 17 bytes may be read.
  KeyPlace find_at(const char* at) {
    return find(at, [&](const Key& known) { return at[known.size] == '"'; });
  }

 private:
  static constexpr std::size_t kLongest = 16;

  struct Key {
    std::uint64_t first = 0;  // 8 bytes, the rest 0
    std::uint64_t rest = 0;
    std::uint64_t first_mask = 0;
    std::uint64_t rest_mask = 0;
    std::size_t size = 0;
  };

  template <typename Ends>
  KeyPlace find(const char* at, Ends ends) {
    const std::uint64_t first = load_word(at);
    const std::uint64_t rest = load_word(at + 8);
    const auto matches = [&](const Key& key) {
      return (((first ^ key.first) & key.first_mask) | ((rest ^ key.rest) & key.rest_mask)) == 0 &&
             ends(key);
    };
    const std::size_t expected = next_[last_];
    if (matches(keys_[expected])) {
      last_ = expected;
      return {expected, keys_[expected].size + 1};
    }
    for (std::size_t i = 0; i < kSize; ++i) {
      if (matches(keys_[i])) {
        next_[last_] = i;
        last_ = i;
        return {i, keys_[i].size + 1};
      }
    }
    return {kSize, 0};
  }

  std::array<Key, kSize> keys_;
  std::array<std::size_t, kSize + 1> next_ = {};  // behind each key; of kSize the first of a line
  std::size_t last_ = kSize;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_KEY_ORDER_H
