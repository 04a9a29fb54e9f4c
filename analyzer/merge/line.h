// SPDX-License-Identifier: Apache-2.0
//
// One line of a trace, and the same line in a merged file: its content stays, its process, its time
// and its flow are those of the merged file.
#ifndef RINGSIDE_ANALYZER_MERGE_LINE_H
#define RINGSIDE_ANALYZER_MERGE_LINE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <simdjson.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/load/json/canonical_cursor.h"
#include "analyzer/merge/appender.h"

namespace ringside::merge {

/// Set in the bind_id of arrows between ranks, which no process's own flow has.
inline constexpr std::uint64_t kArrowBit = std::uint64_t{1} << 63;

/// The place to which the lines of a process go.
struct Place {
  std::uint32_t pid = 0;
  std::uint32_t number = 0;  // of the process in the merged file, from 1: above the flows' own bits
  /// A time of the trace on the time line of the merged file, in ns; nothing if it has no place.
  std::function<std::optional<std::int64_t>(std::int64_t)> time;
};

class EventLine {
 public:
  /// `json` goes on to its newline, is followed by load::LineReader::kPadding bytes that may be
  /// read, and must outlive the use of this line. Returns why it is no event that can be moved;
  /// nothing if it is one.
  std::optional<std::string> parse(std::string_view json);

  // Valid until the next parse(); of a key that is there twice the last counts.
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view id;                     // id2.local
  std::optional<std::int64_t> ts_ns;       // nothing in metadata
  std::int64_t dur_ns = 0;                 // of slices
  std::optional<std::uint64_t> operation;  // args.op
  std::optional<std::int64_t> gpu_index;   // args.gpu.index

  // These are of a slice's begin ("b"):
  /// Returns a whole number among the args; nothing if there is none of this key.
  template <std::size_t kSize>
  std::optional<std::int64_t> integer(const char (&key)[kSize]) const {
    return argument(key).number;
  }
  /// Returns a text among the args; an empty one if there is none of this key.
  template <std::size_t kSize>
  std::string_view text(const char (&key)[kSize]) const {
    return argument(key).text;
  }

  /// Appends the line with the process, time and flow of `place`, without comma and newline.
  /// Returns its time there, 0 of metadata; nothing, and nothing is appended, if its time has no
  /// place there.
  std::optional<std::int64_t> append_moved(const Place& place, std::string& output) const;

  /// Appends the members of an async slice's begin that a slice of a thread has, too, under another
  /// name, each with a comma before it: all but ph, tid and dur. `more` are members for `args`,
  /// each with a comma before it. Returns as append_moved().
  std::optional<std::int64_t> append_members(const Place& place, std::string_view new_name,
                                             std::string_view more, std::string& output) const;

 private:
  static constexpr std::size_t kLongestArgument = 5;  // of the keys that are asked for

  enum class Key : std::uint8_t { kOther, kPid, kTs, kDur, kBindId, kName, kArguments, kDropped };
  struct Field {
    Key key = Key::kOther;
    const char* begin = nullptr;
    const char* value = nullptr;
    const char* end = nullptr;
  };
  struct Argument {
    std::string_view key;
    std::string_view text;               // empty: it is none
    std::optional<std::int64_t> number;  // nothing: it is no whole one
  };

  /// Returns the first of this key; one without a value if there is none.
  template <std::size_t kSize>
  Argument argument(const char (&key)[kSize]) const {
    static_assert(kSize - 1 <= kLongestArgument);
    const auto found = std::find_if(arguments_.begin(), arguments_.end(), [&](const Argument& one) {
      return load::is_text(one.key, key);
    });
    return found == arguments_.end() ? Argument() : *found;
  }
  void clear();
  /// Reads a line that is written as the plugin writes it, as nearly all are: in one pass, without
  /// simdjson. Returns false if anything else stands there, be it right or wrong in JSON; what was
  /// read means nothing then.
  bool parse_canonical(std::string_view json);
  bool take_canonical(load::CanonicalCursor& cursor, Field& field);
  bool take_canonical_arguments(load::CanonicalCursor& place);
  std::optional<std::string> parse_any(std::string_view json);

  std::optional<std::string> take(std::string_view key, const simdjson::dom::element& value,
                                  std::string_view raw, Field& field);
  void take_arguments(const simdjson::dom::element& value);
  /// Whether its value is another one in the merged file.
  bool is_moved(const Field& field) const;
  void put_value(const Field& field, const Place& place, std::int64_t begin_ns, std::int64_t end_ns,
                 Appender& text) const;

  simdjson::dom::parser parser_;
  std::string_view line_;      // from bracket to bracket
  std::vector<Field> fields_;  // that are asked for, in their order
  std::vector<Argument> arguments_;
  std::vector<std::string_view> raw_;
  std::uint64_t bind_id_ = 0;
};

/// Returns the number of "0x1a"; nothing if the text is anything else.
std::optional<std::uint64_t> hex_number(std::string_view text);

// As Appender has them.
inline void append_microseconds(std::int64_t time_ns, std::string& output) {
  Appender(output, Appender::kNumber_bytes).microseconds(time_ns);
}

inline void append_quoted(std::string_view text, std::string& output) {
  Appender(output, Appender::quoted_bytes(text)).quoted(text);
}

inline void append_hex(std::uint64_t value, std::string& output) {
  Appender(output, Appender::kNumber_bytes).hex(value);
}

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_LINE_H
