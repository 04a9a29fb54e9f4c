// SPDX-License-Identifier: Apache-2.0
//
// Writes the protobuf wire format (protobuf.dev, "Encoding"): no more of it than TrackEvent and
// Chakra's execution traces need, and no generated code.
#ifndef RINGSIDE_ANALYZER_MERGE_PERFETTO_PROTOBUF_H
#define RINGSIDE_ANALYZER_MERGE_PERFETTO_PROTOBUF_H

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ringside::merge {

inline void append_varint(std::string& text, std::uint64_t value) {
  while (value >= 0x80) {
    text += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  text += static_cast<char>(value);
}

class Message {
 public:
  /// uint32, uint64, int64, bool and enums; a negative int64 as its two's complement.
  Message& integer(std::uint32_t field, std::uint64_t value) {
    tag(field, 0);
    varint(value);
    return *this;
  }
  Message& fixed64(std::uint32_t field, std::uint64_t value) {
    tag(field, 1);
    for (int i = 0; i < 8; ++i) {
      text_ += static_cast<char>(value >> (8 * i));
    }
    return *this;
  }
  Message& real(std::uint32_t field, double value) {
    return fixed64(field, std::bit_cast<std::uint64_t>(value));
  }
  /// string, bytes, and messages.
  Message& bytes(std::uint32_t field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  /// A repeated uint64, packed as proto3 has it.
  Message& packed(std::uint32_t field, std::span<const std::uint64_t> values) {
    std::string all;
    for (const std::uint64_t value : values) {
      append_varint(all, value);
    }
    return values.empty() ? *this : bytes(field, all);
  }
  Message& message(std::uint32_t field, const Message& value) { return bytes(field, value.text()); }

  /// Fields that are written already.
  Message& raw(std::string_view fields) {
    text_ += fields;
    return *this;
  }

  std::string_view text() const { return text_; }
  bool empty() const { return text_.empty(); }
  void clear() { text_.clear(); }

 private:
  void tag(std::uint32_t field, std::uint32_t type) { varint(std::uint64_t{field} << 3 | type); }
  void varint(std::uint64_t value) { append_varint(text_, value); }

  std::string text_;
};

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_PERFETTO_PROTOBUF_H
