// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "analyzer/load/event_parser.h"

namespace ringside::merge {
namespace {

constexpr std::uint64_t kFlowBits = 32;

// The raw text of each of the `count` members of an object that is known to be valid JSON. The last
// is what is left, so that nobody looks at each byte of args, which are most of a line.
void split_members(std::string_view json, std::size_t count,
                   std::vector<std::string_view>& members) {
  members.clear();
  int depth = 1;
  bool in_string = false;
  std::size_t begin = json.find('{') + 1;
  for (std::size_t i = begin; members.size() + 1 < count; ++i) {
    const char c = json[i];
    if (in_string) {
      i += c == '\\' ? 1U : 0U;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
    if (!in_string && depth == 1 && c == ',') {
      members.push_back(json.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  members.push_back(json.substr(begin, json.rfind('}') - begin));
}

// Returns where the value of a member begins: behind its key and the colon.
std::size_t value_of(std::string_view member) {
  std::size_t i = member.find('"') + 1;
  while (member[i] != '"') {
    i += member[i] == '\\' ? 2 : 1;
  }
  i = member.find(':', i) + 1;
  return member.find_first_not_of(" \t\r\n", i);
}

template <typename T>
void take_text(const simdjson::dom::element& value, T& text) {
  std::string_view view;
  text = value.get_string().get(view) == simdjson::SUCCESS ? view : std::string_view();
}

}  // namespace

std::optional<std::uint64_t> hex_number(std::string_view text) {
  std::uint64_t number = 0;
  if (!text.starts_with("0x")) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), number, 16);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

void append_number(std::uint64_t number, std::string& output, int base) {
  std::array<char, 24> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number, base).ptr;
  output.append(text.data(), end);
}

void append_microseconds(std::int64_t time_ns, std::string& output) {
  const auto number = static_cast<std::uint64_t>(time_ns);
  append_number(number / 1000, output);
  const auto digit = [&](std::uint64_t of) { return static_cast<char>('0' + number / of % 10); };
  output.append({'.', digit(100), digit(10), digit(1)});
}

void append_quoted(std::string_view text, std::string& output) {
  constexpr std::string_view kHex = "0123456789abcdef";
  output += '"';
  std::size_t begin = 0;  // of what can be copied
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') {
      continue;
    }
    output += text.substr(begin, i - begin);
    begin = i + 1;
    output += byte < 0x20 ? "\\u00" : "\\";
    if (byte < 0x20) {
      output += kHex[byte >> 4U];
      output += kHex[byte & 0xFU];
    } else {
      output += text[i];
    }
  }
  output += text.substr(begin);
  output += '"';
}

void append_hex(std::uint64_t value, std::string& output) {
  output += "\"0x";
  append_number(value, output, 16);
  output += '"';
}

void EventLine::clear() {
  phase = category = name = id = {};
  ts_ns.reset();
  dur_ns = 0;
  operation.reset();
  gpu_index.reset();
  values.clear();
  fields_.clear();
  arguments_.clear();
}

std::optional<std::string> EventLine::parse(std::string_view json) {
  clear();
  if (parse_canonical(json)) {
    return std::nullopt;
  }
  clear();
  return parse_any(json);
}

bool EventLine::parse_canonical(std::string_view json) {
  constexpr std::string_view kPhases = "beXi";  // others are rare
  load::CanonicalCursor cursor(json.data());
  if (json.empty() || !cursor.skip("{\"ph\":\"") ||
      kPhases.find(*cursor.at()) == std::string_view::npos) {
    return false;
  }
  phase = {cursor.at(), 1};
  cursor.step(1);
  if (!cursor.skip('"')) {
    return false;
  }
  fields_.push_back({Key::kDropped, json.substr(1, 8), 5});
  bool has_pid = false;
  bool has_dur = false;
  while (cursor.skip(',')) {
    const char* const begin = cursor.at();
    std::string_view key;
    if (!cursor.key(key)) {
      return false;
    }
    Field field{Key::kOther, {}, static_cast<std::size_t>(cursor.at() - begin)};
    if (!take_canonical(key, cursor, field)) {
      return false;
    }
    has_pid = has_pid || field.key == Key::kPid;
    has_dur = has_dur || field.key == Key::kDur;
    field.text = {begin, static_cast<std::size_t>(cursor.at() - begin)};
    fields_.push_back(field);
  }
  return cursor.skip('}') && cursor.at() == json.data() + json.size() && has_pid && ts_ns &&
         (phase != "X" || has_dur);
}

bool EventLine::take_canonical(std::string_view key, load::CanonicalCursor& cursor, Field& field) {
  std::uint64_t number = 0;
  if (key == "pid" || key == "tid") {
    field.key = key == "pid" ? Key::kPid : Key::kDropped;
    return cursor.number(number);
  }
  if (key == "cat") {
    return cursor.skip('"') && cursor.rest_of_text(category);
  }
  if (key == "ts") {
    field.key = Key::kTs;
    return cursor.microseconds(ts_ns.emplace());
  }
  if (key == "dur") {
    field.key = Key::kDur;
    return cursor.microseconds(dur_ns);
  }
  if (key == "name") {
    field.key = Key::kName;
    return cursor.skip('"') && cursor.rest_of_text(name);
  }
  if (key == "id2") {
    field.key = Key::kDropped;
    return cursor.skip("{\"local\":\"") && cursor.rest_of_text(id) && cursor.skip('}');
  }
  if (key == "args") {
    field.key = Key::kArguments;
    return take_canonical_arguments(cursor);
  }
  if (key == "bind_id") {
    field.key = Key::kBindId;
    std::string_view text;
    const bool is_text = cursor.skip('"') && cursor.rest_of_text(text);
    const auto bind_id = is_text ? hex_number(text) : std::nullopt;
    bind_id_ = bind_id.value_or(0);
    return bind_id.has_value();
  }
  load::CanonicalValue value;
  return key != "ph" && cursor.value(value);
}

bool EventLine::take_canonical_arguments(load::CanonicalCursor& cursor) {
  if (operation || !arguments_.empty() || !cursor.skip('{')) {
    return false;  // there were some already
  }
  if (cursor.skip('}')) {
    return true;
  }
  const bool is_slice = phase == "b";  // only of these more than args.op is asked for
  do {
    std::string_view key;
    load::CanonicalValue value;
    if (!cursor.key(key) || !cursor.value(value)) {
      return false;
    }
    const bool is_number = value.type == load::CanonicalValue::Type::kNumber;
    if (is_number && key == "op") {
      operation = value.number;
    }
    if (is_slice) {
      Argument& argument = arguments_.emplace_back();
      argument.key = key;
      argument.text = value.text;
      if (is_number) {
        argument.number = static_cast<std::int64_t>(value.number);
      }
    }
  } while (cursor.skip(','));
  return cursor.skip('}');
}

EventLine::Argument EventLine::argument(std::string_view key) const {
  const auto found = std::find_if(arguments_.begin(), arguments_.end(),
                                  [&](const Argument& one) { return one.key == key; });
  return found == arguments_.end() ? Argument() : *found;
}

std::optional<std::string> EventLine::parse_any(std::string_view json) {
  simdjson::dom::object object;
  if (const auto error = parser_.parse(json.data(), json.size(), false).get_object().get(object)) {
    return std::string("not a JSON object: ") + simdjson::error_message(error);
  }
  split_members(json, object.size(), raw_);
  std::size_t i = 0;
  bool has_pid = false;
  bool has_dur = false;
  std::string_view ts;
  for (const auto member : object) {
    Field field{Key::kOther, raw_[i], value_of(raw_[i])};
    const std::string_view value = field.text.substr(field.value);
    if (auto failure = take(member.key, member.value, value, field)) {
      return failure;
    }
    has_pid = has_pid || field.key == Key::kPid;
    has_dur = has_dur || field.key == Key::kDur;
    ts = field.key == Key::kTs ? value : ts;
    fields_.push_back(field);
    ++i;
  }
  if (phase.empty() || !has_pid || (phase == "X" && !has_dur)) {
    return "\"ph\", \"pid\" or \"dur\" is missing";
  }
  if (phase == "C") {
    take_values(object);
  }
  if (phase != "M") {
    ts_ns = load::nanoseconds(ts);
    if (!ts_ns) {
      return "\"ts\" is not microseconds with three decimals";
    }
  }
  return std::nullopt;
}

std::optional<std::string> EventLine::take(std::string_view key,
                                           const simdjson::dom::element& value,
                                           std::string_view raw, Field& field) {
  if (key == "ph") {
    field.key = Key::kDropped;
    take_text(value, phase);
  } else if (key == "cat") {
    take_text(value, category);
  } else if (key == "name") {
    field.key = Key::kName;
    take_text(value, name);
  } else if (key == "tid") {
    field.key = Key::kDropped;
  } else if (key == "pid") {
    field.key = Key::kPid;
  } else if (key == "ts") {
    field.key = Key::kTs;
  } else if (key == "dur") {
    field.key = Key::kDur;
    const auto duration_ns = load::nanoseconds(raw);
    if (!duration_ns) {
      return "\"dur\" is not microseconds with three decimals";
    }
    dur_ns = *duration_ns;
  } else if (key == "bind_id") {
    field.key = Key::kBindId;
    std::string_view text;
    take_text(value, text);
    const auto number = hex_number(text);
    if (!number) {
      return "\"bind_id\" is not a number as \"0x...\"";
    }
    bind_id_ = *number;
  } else if (key == "id2") {
    field.key = Key::kDropped;
    std::string_view local;
    id = value["local"].get_string().get(local) == simdjson::SUCCESS ? local : std::string_view();
  } else if (key == "args") {
    field.key = Key::kArguments;
    take_arguments(value);
  }
  return std::nullopt;
}

void EventLine::take_arguments(const simdjson::dom::element& value) {
  operation.reset();
  gpu_index.reset();
  arguments_.clear();
  simdjson::dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) {
    return;
  }
  for (const auto member : object) {
    Argument& argument = arguments_.emplace_back();
    argument.key = member.key;
    take_text(member.value, argument.text);
    std::int64_t whole = 0;
    if (member.value.get_int64().get(whole) == simdjson::SUCCESS) {
      argument.number = whole;
    }
    std::uint64_t number = 0;
    if (member.key == "op" && member.value.get_uint64().get(number) == simdjson::SUCCESS) {
      operation = number;
    } else if (member.key == "gpu") {
      std::int64_t index = 0;
      if (member.value["index"].get_int64().get(index) == simdjson::SUCCESS) {
        gpu_index = index;
      }
    }
  }
}

void EventLine::take_values(const simdjson::dom::object& line) {
  simdjson::dom::object object;
  if (line["args"].get_object().get(object) != simdjson::SUCCESS) {
    return;
  }
  for (const auto member : object) {
    double value = 0;
    if (member.value.get_double().get(value) == simdjson::SUCCESS) {
      values.emplace_back(member.key, value);
    }
  }
}

std::optional<std::int64_t> EventLine::append_moved(const Place& place, std::string& output) const {
  std::optional<std::int64_t> begin_ns = 0;
  std::optional<std::int64_t> end_ns = 0;
  if (ts_ns) {
    begin_ns = place.time(*ts_ns);
    end_ns = begin_ns;
    // Both ends are moved: slices that touch or nest still do, whatever the clock's drift.
    std::int64_t last_ns = 0;
    if (dur_ns != 0) {
      end_ns =
          __builtin_add_overflow(*ts_ns, dur_ns, &last_ns) ? std::nullopt : place.time(last_ns);
    }
    if (!begin_ns || !end_ns || *end_ns < *begin_ns) {
      return std::nullopt;
    }
  }
  char separator = '{';
  for (const Field& field : fields_) {
    output += separator;
    separator = ',';
    append_field(field, place, *begin_ns, *end_ns, output);
  }
  output += '}';
  return begin_ns;
}

std::optional<std::int64_t> EventLine::append_members(const Place& place, std::string_view new_name,
                                                      std::string_view more,
                                                      std::string& output) const {
  const auto begin_ns = place.time(*ts_ns);
  for (const Field& field : fields_) {
    if (!begin_ns || field.key == Key::kDropped || field.key == Key::kDur) {
      continue;
    }
    output += ',';
    if (field.key == Key::kName) {
      output += "\"name\":";
      append_quoted(new_name, output);
    } else if (field.key == Key::kArguments && !more.empty()) {
      output.append(field.text.substr(0, field.text.rfind('}'))).append(more) += '}';
    } else {
      append_field(field, place, *begin_ns, *begin_ns, output);
    }
  }
  return begin_ns;
}

void EventLine::append_field(const Field& field, const Place& place, std::int64_t begin_ns,
                             std::int64_t end_ns, std::string& output) const {
  const bool is_moved =
      field.key == Key::kTs || field.key == Key::kDur || field.key == Key::kBindId;
  if (field.key != Key::kPid && !(is_moved && ts_ns)) {
    output += field.text;
    return;
  }
  output += field.text.substr(0, field.value);
  if (field.key == Key::kPid) {
    append_number(place.pid, output);
  } else if (field.key == Key::kTs) {
    append_microseconds(begin_ns, output);
  } else if (field.key == Key::kDur) {
    append_microseconds(end_ns - begin_ns, output);
  } else {
    const std::uint64_t own = bind_id_ & ((std::uint64_t{1} << kFlowBits) - 1);
    append_hex(std::uint64_t{place.number} << kFlowBits | own, output);
  }
}

}  // namespace ringside::merge
