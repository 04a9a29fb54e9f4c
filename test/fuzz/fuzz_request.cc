// SPDX-License-Identifier: Apache-2.0
//
// Bytes as a request of the control socket: what the plugin makes of them is what simdjson does,
// but for what only one of them takes by design.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <simdjson.h>
#include <string>
#include <string_view>

#include "analyzer/load/json/json_error.h"
#include "plugin/doors/control_request.h"

namespace {

using nlohmann::ordered_json;
using simdjson::dom::element_type;

bool is_same(const ordered_json& ours, const simdjson::dom::element& theirs) {
  switch (theirs.type()) {
    case element_type::NULL_VALUE:
      return ours.is_null();
    case element_type::BOOL:
      return ours == theirs.get_bool().value_unsafe();
    case element_type::INT64:
      return ours.is_number_integer() && ours == theirs.get_int64().value_unsafe();
    case element_type::UINT64:  // beyond an int64
      return ours.is_number_unsigned() && ours == theirs.get_uint64().value_unsafe();
    case element_type::DOUBLE:
      return ours.is_number_float() && ours == theirs.get_double().value_unsafe();
    case element_type::STRING:
      return ours == theirs.get_string().value_unsafe();
    default:
      return false;
  }
}

/// One flat object, each name once, and no NUL in a text.
bool is_flat(const simdjson::dom::element& document) {
  simdjson::dom::object object;
  if (document.get_object().get(object) != simdjson::SUCCESS) {
    return false;
  }
  std::set<std::string_view> names;
  for (const auto& [name, value] : object) {
    std::string_view text;
    const bool has_nul = name.find('\0') != std::string_view::npos ||
                         (value.get_string().get(text) == simdjson::SUCCESS &&
                          text.find('\0') != std::string_view::npos);
    if (has_nul || value.is_object() || value.is_array() || !names.insert(name).second) {
      return false;
    }
  }
  return true;
}

void fail(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ours = ringside::doors::ControlRequest::parse(text);
  if (text.starts_with("\xEF\xBB\xBF")) {
    return 0;
  }
  simdjson::dom::parser parser;
  simdjson::dom::element theirs;
  const simdjson::error_code error = parser.parse(text.data(), text.size()).get(theirs);
  if (ringside::load::is_number_error(error)) {
    return 0;  // also an integer of more than 64 bits, which ours takes as a double
  }
  const bool is_json = error == simdjson::SUCCESS;
  if ((ours != nullptr) != (is_json && is_flat(theirs))) {
    fail(ours != nullptr ? "only ours takes it" : "only simdjson takes it");
  }
  if (ours != nullptr) {
    auto member = ours->object().begin();
    for (const auto& [name, value] : simdjson::dom::object(theirs)) {
      if (member == ours->object().end() || member.key() != name ||
          !is_same(member.value(), value)) {
        fail(("another value of " + std::string(name)).c_str());
      }
      ++member;
    }
    if (member != ours->object().end()) {
      fail("another number of members");
    }
  }
  return 0;
}
