// SPDX-License-Identifier: Apache-2.0
#include "test/load/drawn_line.h"

#include <algorithm>
#include <string>

namespace ringside::plain {
namespace {

bool begins_as_drawn(std::string_view line) {
  for (const char* const phase : {"C", "i", "X"}) {
    if (line.starts_with(std::string("{\"ph\":\"") + phase + "\",")) {
      return true;
    }
  }
  for (const char* const phase : {"b", "e"}) {
    for (const char* const category : {"api", "gpu", "phase", "ctrl", "net", "ce"}) {
      if (line.starts_with(std::string("{\"ph\":\"") + phase + R"(","cat":")" + category + "\",")) {
        return true;
      }
    }
  }
  return line.starts_with(R"({"ph":"e","cat":"op",)") ||
         (line.starts_with(R"({"ph":"b","cat":"op",)") &&
          line.find("\"args\"") == std::string_view::npos);
}

}  // namespace

bool is_drawn_only(std::string_view line) {
  const auto count = [&](char wanted) { return std::count(line.begin(), line.end(), wanted); };
  const bool has_control_character = std::any_of(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  return begins_as_drawn(line) && (line.ends_with("}") || line.ends_with("},")) &&
         !has_control_character && count('\\') == 0 && count('"') % 2 == 0 &&
         (count('{') + count('}')) % 2 == 0;
}

}  // namespace ringside::plain
