// SPDX-License-Identifier: Apache-2.0
//
// Reads the JSON object that a profiler writes, one item after the other: each event of its array
// "traceEvents" (or of another name), and each other member. Memory holds a few items, however long
// the file is.
#ifndef RINGSIDE_ANALYZER_LOAD_KINETO_KINETO_ITEMS_H
#define RINGSIDE_ANALYZER_LOAD_KINETO_KINETO_ITEMS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/source/ahead_source.h"

namespace ringside::load {

struct KinetoItem {
  bool is_event = false;
  bool is_too_long = false;  // `text` is empty then
  std::string_view key;      // of a member; as it is written, without the quotes
  std::string_view text;     // the value; bytes of simdjson's padding behind it may be read
};

class KinetoItems {
 public:
  /// A longer item is skipped. PyTorch's longest is the list of process groups of a large job.
  static constexpr std::size_t kMostItem_bytes = std::size_t{64} << 20;

  /// `chunk_bytes` is how much is read at once; tests make it small. `array` is a literal.
  explicit KinetoItems(const char* array)
      : KinetoItems(std::size_t{512} << 10, kMostItem_bytes, array) {}
  explicit KinetoItems(std::size_t chunk_bytes = std::size_t{512} << 10,
                       std::size_t most_item_bytes = kMostItem_bytes,
                       const char* array = "traceEvents")
      : chunk_bytes_(chunk_bytes), most_item_bytes_(most_item_bytes), array_(array) {}

  /// Returns why the file cannot be opened; nothing if it can.
  std::optional<std::string> open(const std::string& path);

  /// Returns false at the end, and where the text is no such object: error() says which. The views
  /// of the item are valid until the next call.
  bool next(KinetoItem& item);

  /// Why reading ended before the object's end; nothing if it did not.
  const std::optional<std::string>& error() const { return error_; }
  /// Whether error() is that the text ends too early: all items before it are complete.
  bool is_cut() const { return error_ && has_ended_; }
  /// Whether the object has that array.
  bool has_events() const { return has_events_; }

 private:
  bool fill();
  std::optional<char> peek();  // the next byte that is no white space
  bool take(char wanted);
  bool scan(std::size_t& length, bool& is_too_long);
  bool fail(const char* why);
  bool next_event(KinetoItem& item);
  bool next_member(KinetoItem& item);

  std::size_t chunk_bytes_;
  std::size_t most_item_bytes_;
  const char* array_;
  AheadSource source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // what is not taken yet is [begin_, end_)
  std::size_t end_ = 0;
  std::uint64_t given_bytes_ = 0;  // before begin_
  bool is_inside_ = false;         // the object's first brace was taken
  bool is_first_ = true;           // of the object, or of the array
  bool is_in_events_ = false;
  bool is_over_ = false;
  bool has_ended_ = false;  // there is nothing more to read
  bool has_events_ = false;
  std::string key_;
  std::optional<std::string> error_;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_KINETO_KINETO_ITEMS_H
