// SPDX-License-Identifier: Apache-2.0
//
// One line of a trace, and the same line in a merged file: its content stays, its process, its time
// and its flow are those of the merged file.
#ifndef RINGSIDE_ANALYZER_MERGE_LINE_H
#define RINGSIDE_ANALYZER_MERGE_LINE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <simdjson.h>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analyzer/load/json/field_reader.h"
#include "analyzer/load/json/key_order.h"
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

/// The args of a line that decide its name and place. A value of another type counts as absent.
struct Arguments {
  std::optional<std::uint64_t> op;
  std::optional<std::int64_t> peer;
  std::optional<std::int64_t> bytes;
  std::optional<std::int64_t> seq;
  std::optional<std::int64_t> step;
  std::optional<std::int64_t> phase;
  std::string_view state;
  std::string_view kind;
  std::string_view type;
};

// In the order in which they mostly stand. A key that is not here is looked for among all of them,
// so those that most slices have are, too.
inline constexpr std::tuple kArgumentFields{load::Field{"op", &Arguments::op},
                                            load::UnreadField{"context"},
                                            load::UnreadField{"comm"},
                                            load::UnreadField{"rank"},
                                            load::UnreadField{"nranks"},
                                            load::Field{"kind", &Arguments::kind},
                                            load::UnreadField{"func"},
                                            load::Field{"seq", &Arguments::seq},
                                            load::UnreadField{"count"},
                                            load::UnreadField{"datatype"},
                                            load::Field{"bytes", &Arguments::bytes},
                                            load::UnreadField{"root"},
                                            load::Field{"peer", &Arguments::peer},
                                            load::UnreadField{"algo"},
                                            load::UnreadField{"proto"},
                                            load::UnreadField{"channels"},
                                            load::UnreadField{"tid"},
                                            load::UnreadField{"enqueue_start_ns"},
                                            load::UnreadField{"enqueue_end_ns"},
                                            load::UnreadField{"start_ns"},
                                            load::UnreadField{"end_ns"},
                                            load::UnreadField{"times_from"},
                                            load::Field{"state", &Arguments::state},
                                            load::Field{"step", &Arguments::step},
                                            load::Field{"phase", &Arguments::phase},
                                            load::Field{"type", &Arguments::type}};

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
  std::string_view id;                    // id2.local
  std::optional<std::int64_t> ts_ns;      // nothing in metadata
  std::int64_t dur_ns = 0;                // of slices
  std::optional<std::int64_t> gpu_index;  // args.gpu.index
  const Arguments& arguments() const { return arguments_.row(); }

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
  // In the order in which they mostly stand.
  enum class Key : std::uint8_t {
    kPhase,
    kCategory,
    kId,
    kPid,
    kTid,
    kTs,
    kName,
    kDur,
    kArguments,
    kBindId,
    kOther,
  };
  static constexpr std::array<std::string_view, 10> kKeys = {
      "ph", "cat", "id2", "pid", "tid", "ts", "name", "dur", "args", "bind_id"};

  struct Field {
    Key key = Key::kOther;
    const char* begin = nullptr;  // behind the comma, or the line's bracket
    const char* value = nullptr;
    const char* end = nullptr;
  };
  class WrittenValue;
  class ParsedValue;

  void clear();
  /// Reads a line that is written as the plugin writes it, as nearly all are: in one pass, without
  /// simdjson. Returns false if anything else stands there, be it right or wrong in JSON; what was
  /// read means nothing then.
  bool parse_canonical(std::string_view json);
  std::optional<std::string> parse_any(std::string_view json);

  /// Takes the value of a member, as either of them finds it. False if the line cannot be moved
  /// with it.
  template <typename Value>
  bool take(Key key, Value& value);
  static bool is_kept(Key key) { return key != Key::kCategory && key != Key::kOther; }
  /// Whether a slice of a thread has its own, or none.
  static bool is_dropped(Key key) {
    return key == Key::kPhase || key == Key::kId || key == Key::kTid || key == Key::kDur;
  }
  bool has(Key key) const { return (seen_ >> static_cast<unsigned>(key) & 1U) != 0; }
  bool has_all() const {
    return !phase.empty() && has(Key::kPid) && (phase != "X" || has(Key::kDur));
  }
  /// Whether its value is another one in the merged file.
  bool is_moved(const Field& field) const;
  void put_value(const Field& field, const Place& place, std::int64_t begin_ns, std::int64_t end_ns,
                 Appender& text) const;

  simdjson::dom::parser checker_;
  simdjson::ondemand::parser parser_;
  std::string_view line_;      // from bracket to bracket
  std::vector<Field> fields_;  // that are asked for, in their order
  std::uint32_t seen_ = 0;     // a bit for each key
  load::KeyOrder<kKeys.size()> keys_{kKeys};
  load::FieldReader<Arguments, kArgumentFields> arguments_;
  std::uint64_t bind_id_ = 0;
};

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
