// SPDX-License-Identifier: Apache-2.0
//
// Values as bytes, for another process of the same build. A class says once, for both directions,
// what it consists of:
//   template <typename Archive>
//   void transfer(Archive& archive) { archive(first_, second_); }
#ifndef RINGSIDE_ANALYZER_MODEL_ARCHIVE_H
#define RINGSIDE_ANALYZER_MODEL_ARCHIVE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ringside::model {

/// Whether a value is its bytes, in memory too.
template <typename Value>
inline constexpr bool kIsPlain = std::is_arithmetic_v<Value> || std::is_enum_v<Value>;

/// Shared by both directions. `Own` has bytes(data, size), which writes or reads so many.
template <typename Own, bool kReads>
class Archive {
 public:
  template <typename... Values>
  Own& operator()(Values&... values) {
    (transfer(values), ...);
    return static_cast<Own&>(*this);
  }

 private:
  template <typename Value>
  void transfer(Value& value) {
    if constexpr (requires { value.transfer(static_cast<Own&>(*this)); }) {
      value.transfer(static_cast<Own&>(*this));
    } else {
      static_assert(std::is_trivially_copyable_v<Value> && !std::is_pointer_v<Value> &&
                    !std::is_same_v<Value, std::string_view>);
      static_cast<Own&>(*this).bytes(&value, sizeof(value));
    }
  }
  template <typename First, typename Second>
  void transfer(std::pair<First, Second>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <typename Value, std::size_t kSize>
  void transfer(std::array<Value, kSize>& values) {
    if constexpr (kIsPlain<Value>) {
      static_cast<Own&>(*this).bytes(values.data(), sizeof(values));
    } else {
      for (Value& value : values) {
        transfer(value);
      }
    }
  }
  template <typename Value>
  void transfer(std::optional<Value>& value) {
    bool is_there = value.has_value();
    transfer(is_there);
    if constexpr (kReads) {
      value.reset();
      if (is_there) {
        value.emplace();
      }
    }
    if (is_there) {
      transfer(*value);
    }
  }
  void transfer(std::string& text) {
    resize(text);
    static_cast<Own&>(*this).bytes(text.data(), text.size());
  }
  template <typename Value>
  void transfer(std::vector<Value>& values) {
    resize(values);
    if constexpr (kIsPlain<Value>) {
      static_cast<Own&>(*this).bytes(values.data(), values.size() * sizeof(Value));
    } else {
      for (Value& value : values) {
        transfer(value);
      }
    }
  }
  void transfer(std::vector<bool>& values) {
    resize(values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      bool value = values[i];
      transfer(value);
      values[i] = value;
    }
  }
  template <typename Value>
  void transfer(std::deque<Value>& values) {
    resize(values);
    for (Value& value : values) {
      transfer(value);
    }
  }
  template <typename Key, typename Value>
  void transfer(std::map<Key, Value>& values) {
    std::uint64_t size = values.size();
    transfer(size);
    if constexpr (kReads) {
      values.clear();
      for (; size > 0; --size) {
        Key key{};
        transfer(key);
        transfer(values.emplace_hint(values.end(), std::move(key), Value())->second);
      }
    } else {
      for (auto& [key, value] : values) {
        transfer(const_cast<Key&>(key));  // it is only read
        transfer(value);
      }
    }
  }
  template <typename Value>
  void transfer(std::shared_ptr<const Value>& value) {
    Value copy = value != nullptr ? *value : Value();
    transfer(copy);
    value = std::make_shared<const Value>(std::move(copy));
  }
  template <typename Values>
  void resize(Values& values) {
    std::uint64_t size = values.size();
    transfer(size);
    if constexpr (kReads) {
      static_cast<Own&>(*this).expect(size);
      values.resize(size);
    }
  }
};

class ArchiveWriter : public Archive<ArchiveWriter, false> {
 public:
  static constexpr bool kReads = false;
  void bytes(const void* data, std::size_t size) {
    text_.append(static_cast<const char*>(data), size);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// Throws std::runtime_error where the bytes have ended. They must outlive it.
class ArchiveReader : public Archive<ArchiveReader, true> {
 public:
  static constexpr bool kReads = true;
  explicit ArchiveReader(std::string_view text) : rest_(text) {}
  void bytes(void* data, std::size_t size) {
    if (size > rest_.size()) {
      throw std::runtime_error("a message of another process is too short");
    }
    if (size > 0) {
      std::memcpy(data, rest_.data(), size);
    }
    rest_.remove_prefix(size);
  }
  /// So many elements follow, each of which takes a byte at least but for bits and empty ones.
  void expect(std::uint64_t count) {
    if (count > rest_.size()) {
      throw std::runtime_error("a message of another process is too short");
    }
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// The bytes of some values.
template <typename... Values>
std::string archived(Values&... values) {
  ArchiveWriter writer;
  writer(values...);
  return writer.take();
}

/// The values of these bytes.
template <typename... Values>
void unarchive(std::string_view text, Values&... values) {
  ArchiveReader reader(text);
  reader(values...);
}

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_ARCHIVE_H
