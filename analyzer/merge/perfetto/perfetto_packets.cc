// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/perfetto/perfetto_packets.h"

#include "analyzer/load/json/dom_value.h"
#include "analyzer/merge/perfetto/perfetto_fields.h"

namespace ringside::merge {

using namespace perfetto;

namespace {

constexpr std::size_t kMostInternedText_bytes = 64;

}  // namespace

PerfettoPackets::PerfettoPackets(std::function<void(std::string_view)> write)
    : write_(std::move(write)) {
  Message first;
  first.integer(packet_field::kFlags, kStateCleared).integer(packet_field::kFirst, 1);
  packet(first);
}

std::uint64_t PerfettoPackets::interned(InternTable& table, std::uint32_t field,
                                        std::string_view text) {
  const InternTable::Found found = table.find(text);
  if (found.is_new) {
    Message entry;
    entry.integer(1, found.number).bytes(2, text);  // "iid", and "name" or "str"
    new_interned_.message(field, entry);
  }
  return found.number;
}

Message PerfettoPackets::event_of(const Object& line, std::uint64_t type, std::uint64_t track) {
  Message event;
  event.integer(event_field::kType, type).integer(event_field::kTrack, track);
  const auto named = [&](InternTable& table, std::uint32_t in, std::uint32_t number,
                         std::uint32_t text, std::string_view value) {
    if (value.empty()) {
      return;
    }
    if (const std::uint64_t found = interned(table, in, value); found != 0) {
      event.integer(number, found);
    } else {
      event.bytes(text, value);
    }
  };
  named(categories_, interned_field::kCategories, event_field::kCategory,
        event_field::kCategoryText, load::text_at(line, "cat"));
  named(names_, interned_field::kNames, event_field::kName, event_field::kNameText,
        load::text_at(line, "name"));
  Object arguments;
  if (line["args"].get_object().get(arguments) == simdjson::SUCCESS) {
    for (const auto argument : arguments) {
      add_argument(event_field::kArgument, argument.key, argument.value, event);
    }
  }
  return event;
}

void PerfettoPackets::add_argument(std::uint32_t field, std::optional<std::string_view> key,
                                   const Element& value, Message& event) {
  Message annotation;
  if (key) {
    if (const std::uint64_t found = interned(keys_, interned_field::kKeys, *key); found != 0) {
      annotation.integer(argument_field::kKey, found);
    } else {
      annotation.bytes(argument_field::kKeyText, *key);
    }
  }
  add_value(value, annotation);
  event.message(field, annotation);
}

void PerfettoPackets::add_value(const Element& value, Message& annotation) {
  using simdjson::dom::element_type;
  switch (value.type()) {
    case element_type::STRING: {
      const std::string_view text = value.get_string().value_unsafe();
      const std::uint64_t found = text.size() <= kMostInternedText_bytes
                                      ? interned(texts_, interned_field::kTexts, text)
                                      : 0;
      if (found != 0) {
        annotation.integer(argument_field::kInternedText, found);
      } else {
        annotation.bytes(argument_field::kText, text);
      }
      break;
    }
    case element_type::INT64:
      annotation.integer(argument_field::kSigned,
                         static_cast<std::uint64_t>(value.get_int64().value_unsafe()));
      break;
    case element_type::UINT64:
      annotation.integer(argument_field::kUnsigned, value.get_uint64().value_unsafe());
      break;
    case element_type::DOUBLE:
      annotation.real(argument_field::kDouble, value.get_double().value_unsafe());
      break;
    case element_type::BOOL:
      annotation.integer(argument_field::kBool, value.get_bool().value_unsafe() ? 1 : 0);
      break;
    case element_type::OBJECT: {
      const Object members = value.get_object().value_unsafe();
      for (const auto member : members) {
        add_argument(argument_field::kEntry, member.key, member.value, annotation);
      }
      break;
    }
    case element_type::ARRAY: {
      const simdjson::dom::array items = value.get_array().value_unsafe();
      for (const Element item : items) {
        add_argument(argument_field::kItem, std::nullopt, item, annotation);
      }
      break;
    }
    case element_type::NULL_VALUE:
      break;
  }
}

void PerfettoPackets::describe(const Message& track) {
  Message made;
  made.message(packet_field::kTrackDescriptor, track);
  packet(made);
}

void PerfettoPackets::put(std::uint64_t at_ns, const Message& event) {
  Message made;
  made.integer(packet_field::kTimestamp, at_ns).message(packet_field::kTrackEvent, event);
  packet(made);
}

void PerfettoPackets::packet(const Message& message) {
  Message made = message;
  made.integer(packet_field::kSequence, kSequence);
  if (tracks_ != 0) {
    made.integer(packet_field::kFlags, kNeedsState);
  }
  if (!new_interned_.empty()) {
    made.message(packet_field::kInterned, new_interned_);
    new_interned_.clear();
  }
  Message trace;
  trace.message(packet_field::kPacket, made);
  write_(trace.text());
}

void PerfettoPackets::put_names() {
  if (!new_interned_.empty()) {
    packet({});
  }
}

}  // namespace ringside::merge
