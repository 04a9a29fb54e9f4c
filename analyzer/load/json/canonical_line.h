// SPDX-License-Identifier: Apache-2.0
//
// Reads a line of an operation, or of a row of the proxy thread, that is written as the plugin
// writes it: in one pass, and without simdjson, which looks at every byte once before it begins.
// Nearly all of these lines are; any other is left to EventParser.
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_CANONICAL_LINE_H
#define RINGSIDE_ANALYZER_LOAD_JSON_CANONICAL_LINE_H

#include <string_view>

#include "analyzer/load/json/canonical_cursor.h"
#include "analyzer/load/json/event_parser.h"
#include "analyzer/load/json/key_order.h"
#include "ringside/trace_schema.h"

namespace ringside::load {

/// The members of args, the cursor before its bracket. reader.find_key(at) is of a KeyOrder, and
/// reader.take(index, value) takes the value of the key.
template <typename Reader>
bool take_canonical_arguments(CanonicalCursor& place, Reader& reader) {
  CanonicalCursor cursor = place;  // of one's own, so that it stays in a register
  if (!cursor.skip('{') || cursor.skip('}')) {
    return false;  // there are none without members
  }
  do {
    if (!cursor.skip('"')) {
      return false;
    }
    const KeyPlace key = reader.find_key(cursor.at());
    cursor.step(key.size);
    std::string_view unknown;
    CanonicalValue value;
    if (!(key.size > 0 || cursor.rest_of_text(unknown)) || !cursor.skip(':') ||
        !cursor.value(value) || reader.take(key.index, value) != simdjson::SUCCESS) {
      return false;
    }
  } while (cursor.skip(','));
  place = cursor;
  return place.skip('}');
}

/// The members up to "tid", which all have.
inline bool read_canonical_start(CanonicalCursor& cursor, Event& event) {
  if (!cursor.skip("{\"ph\":\"") || (*cursor.at() != 'b' && *cursor.at() != 'e')) {
    return false;
  }
  event.phase = {cursor.at(), 1};
  cursor.step(1);
  if (!cursor.skip("\",\"cat\":\"") || !cursor.rest_of_text(event.category)) {
    return false;
  }
  const bool is_row =
      event.category == schema::kCategoryProxy || event.category == schema::kCategoryStep;
  if (!is_row && (event.phase == "e" || event.category != schema::kCategoryOperation)) {
    return false;
  }
  std::string_view local_id;
  std::uint64_t number = 0;
  return cursor.skip(",\"id2\":{\"local\":\"") && cursor.rest_of_text(local_id) &&
         cursor.skip("},\"pid\":") && cursor.number(number) && cursor.skip(",\"tid\":") &&
         cursor.number(number);
}

/// A member behind "tid".
template <typename Taker>
bool take_canonical_member(CanonicalCursor& cursor, Event& event, Taker& taker) {
  if (cursor.skip("\"ts\":")) {
    return cursor.microseconds(event.ts_ns.emplace());
  }
  if (cursor.skip("\"name\":\"")) {
    return cursor.rest_of_text(event.name);
  }
  if (cursor.skip("\"args\":")) {
    if (event.arguments_taken || !taker.takes(event)) {
      return false;
    }
    event.arguments_taken = true;
    return taker.give([&](auto& reader) { return take_canonical_arguments(cursor, reader); });
  }
  std::string_view key;
  CanonicalValue value;
  // "ph" and "cat" say how to read the line and must not come again; a "name" here is no text.
  return cursor.key(key) && key != "ph" && key != "cat" && key != "name" && cursor.value(value);
}

/// Does what EventParser::parse() does, and gives the args to the taker. Returns false if anything
/// is not as expected, be it right or wrong in JSON; `event` and the args that the taker was given
/// mean nothing then. The line goes on to its newline, behind which LineReader::kPadding bytes may
/// be read.
template <typename Taker>
bool parse_canonical(std::string_view json, Event& event, Taker& taker) {
  event = {};
  CanonicalCursor cursor(json.data());
  if (json.empty() || !read_canonical_start(cursor, event)) {
    return false;
  }
  while (cursor.skip(',')) {
    if (!take_canonical_member(cursor, event, taker)) {
      return false;
    }
  }
  return cursor.skip('}') && cursor.at() == json.data() + json.size();
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_CANONICAL_LINE_H
