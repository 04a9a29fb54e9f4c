// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/line.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "analyzer/load/json/event_parser.h"
#include "analyzer/load/json/json_error.h"

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

void EventLine::clear() {
  phase = category = name = id = {};
  ts_ns.reset();
  dur_ns = 0;
  operation.reset();
  gpu_index.reset();
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
  line_ = json;
  fields_.push_back({Key::kDropped, json.data() + 1, nullptr, cursor.at()});
  bool has_pid = false;
  bool has_dur = false;
  while (cursor.skip(',')) {
    Field field{Key::kOther, cursor.at()};
    if (!take_canonical(cursor, field)) {
      return false;
    }
    has_pid = has_pid || field.key == Key::kPid;
    has_dur = has_dur || field.key == Key::kDur;
    if (field.key != Key::kOther) {
      field.end = cursor.at();
      fields_.push_back(field);
    }
  }
  return cursor.skip('}') && cursor.at() == json.data() + json.size() && has_pid && ts_ns &&
         (phase != "X" || has_dur);
}

// The keys in the order in which they mostly stand.
bool EventLine::take_canonical(load::CanonicalCursor& cursor, Field& field) {
  std::uint64_t number = 0;
  const auto take_key = [&](const auto& text, Key key) {
    const bool is_it = cursor.skip(text);
    field.key = is_it ? key : field.key;
    field.value = cursor.at();
    return is_it;
  };
  if (take_key("\"cat\":", Key::kOther)) {
    return cursor.skip('"') && cursor.rest_of_text(category);
  }
  if (take_key("\"id2\":", Key::kDropped)) {
    return cursor.skip("{\"local\":\"") && cursor.rest_of_text(id) && cursor.skip('}');
  }
  if (take_key("\"pid\":", Key::kPid) || take_key("\"tid\":", Key::kDropped)) {
    return cursor.number(number);
  }
  if (take_key("\"ts\":", Key::kTs)) {
    return cursor.microseconds(ts_ns.emplace());
  }
  if (take_key("\"name\":", Key::kName)) {
    return cursor.skip('"') && cursor.rest_of_text(name);
  }
  if (take_key("\"args\":", Key::kArguments)) {
    return take_canonical_arguments(cursor);
  }
  if (take_key("\"dur\":", Key::kDur)) {
    return cursor.microseconds(dur_ns);
  }
  if (take_key("\"bind_id\":", Key::kBindId)) {
    std::string_view text;
    const bool is_text = cursor.skip('"') && cursor.rest_of_text(text);
    const auto bind_id = is_text ? hex_number(text) : std::nullopt;
    bind_id_ = bind_id.value_or(0);
    return bind_id.has_value();
  }
  std::string_view key;
  return cursor.key(key) && key != "ph" && cursor.skip_value();
}

bool EventLine::take_canonical_arguments(load::CanonicalCursor& place) {
  load::CanonicalCursor cursor = place;  // of one's own, so that it stays in a register
  if (operation || !arguments_.empty() || !cursor.skip('{')) {
    return false;  // there were some already
  }
  if (cursor.skip('}')) {
    place = cursor;
    return true;
  }
  const bool is_slice = phase == "b";  // only of these more than args.op is asked for
  do {
    std::string_view key;
    if (!cursor.key(key)) {
      return false;
    }
    const bool is_operation = load::is_text(key, "op");
    if (!is_operation && (!is_slice || key.size() > kLongestArgument)) {
      if (!cursor.skip_value()) {
        return false;
      }
      continue;
    }
    load::CanonicalValue value;
    if (!cursor.value(value)) {
      return false;
    }
    const bool is_number = value.type == load::CanonicalValue::Type::kNumber;
    if (is_operation && is_number) {
      operation = value.number;
    }
    Argument& argument = arguments_.emplace_back();
    argument.key = key;
    argument.text = value.text;
    if (is_number) {
      argument.number = static_cast<std::int64_t>(value.number);
    }
  } while (cursor.skip(','));
  place = cursor;
  return place.skip('}');
}

std::optional<std::string> EventLine::parse_any(std::string_view json) {
  simdjson::dom::object object;
  if (const auto error = parser_.parse(json.data(), json.size(), false).get_object().get(object)) {
    return std::string("not a JSON object: ") + load::json_error_text(error);
  }
  split_members(json, object.size(), raw_);
  const std::size_t begin = json.find('{');
  line_ = json.substr(begin, json.rfind('}') + 1 - begin);
  std::size_t i = 0;
  bool has_pid = false;
  bool has_dur = false;
  std::string_view ts;
  for (const auto member : object) {
    const std::string_view text = raw_[i];
    const std::string_view value = text.substr(value_of(text));
    Field field{Key::kOther, text.data(), value.data(), text.data() + text.size()};
    if (auto failure = take(member.key, member.value, value, field)) {
      return failure;
    }
    has_pid = has_pid || field.key == Key::kPid;
    has_dur = has_dur || field.key == Key::kDur;
    ts = field.key == Key::kTs ? value : ts;
    if (field.key != Key::kOther) {
      fields_.push_back(field);
    }
    ++i;
  }
  if (phase.empty() || !has_pid || (phase == "X" && !has_dur)) {
    return "\"ph\", \"pid\" or \"dur\" is missing";
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
  const char* from = line_.data();
  Appender text(output, line_.size() + fields_.size() * Appender::kNumber_bytes);
  for (const Field& field : fields_) {
    if (is_moved(field)) {
      text.put(from, static_cast<std::size_t>(field.value - from));
      put_value(field, place, *begin_ns, *end_ns, text);
      from = field.end;
    }
  }
  text.put(from, static_cast<std::size_t>(line_.data() + line_.size() - from));
  return begin_ns;
}

std::optional<std::int64_t> EventLine::append_members(const Place& place, std::string_view new_name,
                                                      std::string_view more,
                                                      std::string& output) const {
  const auto begin_ns = place.time(*ts_ns);
  if (!begin_ns) {
    return std::nullopt;
  }
  constexpr std::string_view kName = ",\"name\":";
  std::size_t most_bytes = line_.size();
  for (const Field& field : fields_) {
    most_bytes += field.key == Key::kName        ? kName.size() + Appender::quoted_bytes(new_name)
                  : field.key == Key::kArguments ? more.size()
                  : is_moved(field)              ? Appender::kNumber_bytes
                                                 : 0;
  }
  Appender text(output, most_bytes);
  const char* from = line_.data();
  const auto copy_to = [&](const char* to) {
    if (from == line_.data() && from != to) {
      text.put(",");  // where the line has its bracket
      ++from;
    }
    text.put(from, static_cast<std::size_t>(to - from));
  };
  for (const Field& field : fields_) {
    const char* const before = field.begin - 1;  // its comma, or the line's bracket
    if (field.key == Key::kDropped || field.key == Key::kDur) {
      copy_to(before);
    } else if (field.key == Key::kName) {
      copy_to(before);
      text.put(kName).quoted(new_name);
    } else if (is_moved(field)) {
      copy_to(field.value);
      put_value(field, place, *begin_ns, *begin_ns, text);
    } else {  // args
      const std::string_view own(field.begin, static_cast<std::size_t>(field.end - field.begin));
      const std::size_t bracket = own.rfind('}');
      if (more.empty() || bracket == std::string_view::npos) {
        continue;
      }
      copy_to(field.begin + bracket);
      text.put(more).put("}");
    }
    from = field.end;
  }
  copy_to(line_.data() + line_.size() - 1);
  return begin_ns;
}

bool EventLine::is_moved(const Field& field) const {
  return field.key == Key::kPid ||
         (ts_ns && (field.key == Key::kTs || field.key == Key::kDur || field.key == Key::kBindId));
}

void EventLine::put_value(const Field& field, const Place& place, std::int64_t begin_ns,
                          std::int64_t end_ns, Appender& text) const {
  if (field.key == Key::kPid) {
    text.number(place.pid);
  } else if (field.key == Key::kTs) {
    text.microseconds(begin_ns);
  } else if (field.key == Key::kDur) {
    text.microseconds(end_ns - begin_ns);
  } else {
    const std::uint64_t own = bind_id_ & ((std::uint64_t{1} << kFlowBits) - 1);
    text.hex(std::uint64_t{place.number} << kFlowBits | own);
  }
}

}  // namespace ringside::merge
