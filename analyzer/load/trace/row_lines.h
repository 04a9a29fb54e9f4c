// SPDX-License-Identifier: Apache-2.0
//
// Reads the rows of the proxy thread: its operations and their steps. A row is two lines, and the
// one that ends it follows the one that begins it.
#ifndef RINGSIDE_ANALYZER_LOAD_TRACE_ROW_LINES_H
#define RINGSIDE_ANALYZER_LOAD_TRACE_ROW_LINES_H

#include <array>
#include <simdjson.h>
#include <string_view>

#include "analyzer/load/json/event_parser.h"
#include "analyzer/load/json/key_order.h"
#include "analyzer/load/trace/part.h"

namespace ringside::load {

class RowReader {
 public:
  explicit RowReader(Part& part);

  /// Before the first member of the args of an event with "ph":"b" and "cat":"proxy" or "step".
  void begin();
  /// For each member.
  simdjson::error_code operator()(std::string_view key, simdjson::ondemand::value& value) {
    return take(keys_.find(key), value);
  }
  /// The same in two steps: which key begins at `at`, and its value, which is a
  /// simdjson::ondemand::value or a CanonicalValue.
  KeyPlace find_key(const char* at) { return keys_.find_at(at); }
  template <typename Value>
  simdjson::error_code take(std::size_t key, Value& value);
  /// After the last.
  Failure finish(const Event& event);

  /// Takes "ph":"e" of these: it ends the row that was begun last.
  void end(const Event& event);

  /// A bad line may have begun or ended a row: the next end is nobody's.
  void lose();

 private:
  static constexpr std::size_t kKeys = 12;
  static const std::array<std::string_view, kKeys> kKeyNames;

  Part& part_;
  KeyOrder<kKeys> keys_;
  model::Step row_;
  std::optional<std::uint32_t> context_;
  std::uint32_t steps_ = 0;
  std::int32_t foreign_pid_ = 0;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_TRACE_ROW_LINES_H
