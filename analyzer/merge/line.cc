// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/line.h"

#include "analyzer/load/json/canonical_line.h"
#include "analyzer/load/json/event_parser.h"
#include "analyzer/load/json/json_error.h"
#include "analyzer/load/json/parse_number.h"

namespace ringside::merge {
namespace {

constexpr std::uint64_t kFlowBits = 32;

}  // namespace

// A value that is written as the plugin writes it. Anything else is false.
class EventLine::WrittenValue {
 public:
  explicit WrittenValue(load::CanonicalCursor& cursor) : cursor_(cursor) {}

  bool text(std::string_view& result) { return cursor_.skip('"') && cursor_.rest_of_text(result); }
  bool microseconds(std::optional<std::int64_t>& result_ns) {
    return cursor_.microseconds(result_ns.emplace());
  }
  bool local_of(std::string_view& result) {
    return cursor_.skip("{\"local\":\"") && cursor_.rest_of_text(result) && cursor_.skip('}');
  }
  bool arguments_of(EventLine& line) {
    return !line.has(Key::kArguments) && load::take_canonical_arguments(cursor_, line.arguments_);
  }
  bool any() { return cursor_.skip_value(); }

 private:
  load::CanonicalCursor& cursor_;
};

// A value of JSON. One of another type is as absent.
class EventLine::ParsedValue {
 public:
  explicit ParsedValue(simdjson::ondemand::value& value) : value_(value) {}

  bool text(std::string_view& result) {
    result = {};
    static_cast<void>(load::take_view(value_, result));
    return true;
  }
  bool microseconds(std::optional<std::int64_t>& result_ns) {
    result_ns = load::nanoseconds(value_.raw_json_token());
    return true;
  }
  bool local_of(std::string_view& result) {
    result = {};
    visit([&](std::string_view key, simdjson::ondemand::value& member) {
      return key == "local" ? load::take_view(member, result) : simdjson::SUCCESS;
    });
    return true;
  }
  bool arguments_of(EventLine& line) {
    line.arguments_.begin();
    line.gpu_index.reset();
    visit([&](std::string_view key, simdjson::ondemand::value& member) {
      if (key == "gpu") {
        ParsedValue(member).visit([&](std::string_view part, simdjson::ondemand::value& number) {
          return part == "index" ? load::take_integer(number, line.gpu_index) : simdjson::SUCCESS;
        });
      } else {
        static_cast<void>(line.arguments_(key, member));
      }
      return simdjson::SUCCESS;
    });
    return true;
  }
  static bool any() { return true; }

 private:
  template <typename Visit>
  void visit(Visit visit) {
    static_cast<void>(load::visit_object(value_, visit));
  }

  simdjson::ondemand::value& value_;
};

template <typename Value>
bool EventLine::take(Key key, Value& value) {
  const auto take_one = [&] {
    std::optional<std::int64_t> time_ns;
    std::string_view text;
    switch (key) {
      case Key::kPhase:
        return value.text(phase);
      case Key::kCategory:
        return value.text(category);
      case Key::kName:
        return value.text(name);
      case Key::kId:
        return value.local_of(id);
      case Key::kArguments:
        return value.arguments_of(*this);
      case Key::kTs:
        return value.microseconds(ts_ns);
      case Key::kDur: {
        const bool is_taken = value.microseconds(time_ns) && time_ns;
        dur_ns = time_ns.value_or(0);
        return is_taken;
      }
      case Key::kBindId: {
        const auto number = value.text(text) ? load::parse_hex(text) : std::nullopt;
        bind_id_ = number.value_or(0);
        return number.has_value();
      }
      case Key::kPid:
      case Key::kTid:
      case Key::kOther:
        break;
    }
    return value.any();
  };
  const bool is_taken = take_one();
  seen_ |= 1U << static_cast<unsigned>(key);
  return is_taken;
}

void EventLine::clear() {
  phase = category = name = id = {};
  ts_ns.reset();
  dur_ns = 0;
  gpu_index.reset();
  fields_.clear();
  seen_ = 0;
  keys_.restart();
  arguments_.begin();
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
  fields_.push_back({Key::kPhase, json.data() + 1, nullptr, cursor.at()});
  while (cursor.skip(',')) {
    Field field{Key::kOther, cursor.at()};
    if (!cursor.skip('"')) {
      return false;
    }
    const load::KeyPlace known = keys_.find_at(cursor.at());
    field.key = static_cast<Key>(known.index);
    cursor.step(known.size);
    std::string_view unknown;
    if (field.key == Key::kPhase || !(known.size > 0 || cursor.rest_of_text(unknown)) ||
        !cursor.skip(':')) {
      return false;
    }
    field.value = cursor.at();
    WrittenValue value(cursor);
    if (!take(field.key, value)) {
      return false;
    }
    field.end = cursor.at();
    if (is_kept(field.key)) {
      fields_.push_back(field);
    }
  }
  return cursor.skip('}') && cursor.at() == json.data() + json.size() && has_all() && ts_ns;
}

std::optional<std::string> EventLine::parse_any(std::string_view json) {
  if (const auto error = checker_.parse(json.data(), json.size(), false).get_object().error()) {
    return std::string("not a JSON object: ") + load::json_error_text(error);
  }
  const std::size_t first = json.find('{');
  line_ = json.substr(first, json.rfind('}') + 1 - first);
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  const simdjson::padded_string_view padded(json.data(), json.size(),
                                            json.size() + load::LineReader::kPadding);
  if (const auto error = parser_.iterate(padded).get(document)) {
    return load::failure_of(error);
  }
  if (const auto error = document.get_object().get(object)) {
    return load::failure_of(error);
  }
  const auto end_last = [&](const char* end) {
    if (!fields_.empty() && fields_.back().end == nullptr) {
      fields_.back().end = end;
    }
  };
  for (auto member : object) {
    simdjson::ondemand::raw_json_string raw;
    std::string_view key;
    simdjson::ondemand::value value;
    if (const auto error = member.key().get(raw)) {
      return load::failure_of(error);
    }
    const char* begin = raw.raw() - 1;  // before it there are blanks, and what is before these
    while (begin[-1] != ',' && begin[-1] != '{') {
      --begin;
    }
    end_last(begin - 1);
    if (const auto error = load::take_key(member, key)) {
      return load::failure_of(error);
    }
    if (const auto error = member.value().get(value)) {
      return load::failure_of(error);
    }
    const Field field{static_cast<Key>(keys_.find(key)), begin, value.raw_json_token().data()};
    ParsedValue parsed(value);
    if (!take(field.key, parsed)) {
      return field.key == Key::kDur ? "\"dur\" is not microseconds with three decimals"
                                    : "\"bind_id\" is not a number as \"0x...\"";
    }
    if (is_kept(field.key)) {
      fields_.push_back(field);
    }
  }
  end_last(line_.data() + line_.size() - 1);
  if (!has_all()) {
    return "\"ph\", \"pid\" or \"dur\" is missing";
  }
  if (phase == "M") {
    ts_ns.reset();
  } else if (!ts_ns) {
    return "\"ts\" is not microseconds with three decimals";
  }
  return std::nullopt;
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
    if (is_dropped(field.key)) {
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
