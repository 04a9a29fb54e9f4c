// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/json/unneeded_line.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "analyzer/load/source/byte_words.h"

namespace ringside::load {
namespace {

// The top bit of each byte below 0x20; exact, no carry crosses bytes.
std::uint64_t control(std::uint64_t bytes) {
  return ~(((bytes & ~kTops) + kOnes * 0x60) | bytes) & kTops;
}

bool is_clean(std::string_view text) {
  std::uint64_t bad = 0;
  std::uint64_t quotes = 0;
  std::uint64_t braces = 0;
  const auto add = [&](std::uint64_t bytes) {
    bad |= control(bytes) | equal_bytes(bytes, '\\');
    // The parity of a sum is that of the exclusive or.
    quotes ^= equal_bytes(bytes, '"');
    braces ^= equal_bytes(bytes, '{') ^ equal_bytes(bytes, '}');
  };
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    add(load_word(text.data() + at));
  }
  std::uint64_t rest = kOnes * ' ';
  std::memcpy(&rest, text.data() + at, text.size() - at);
  add(rest);
  return bad == 0 && std::popcount(quotes) % 2 == 0 && std::popcount(braces) % 2 == 0;
}

bool is_unneeded_kind(std::string_view line) {
  constexpr std::string_view kStart = "{\"ph\":\"";
  if (!line.starts_with(kStart)) {
    return false;
  }
  const char phase = line.size() > kStart.size() ? line[kStart.size()] : '\0';
  std::string_view rest = line.substr(kStart.size() + (phase == '\0' ? 0 : 1));
  if (phase == 'C' || phase == 'i' || phase == 'X') {
    return rest.starts_with("\",");
  }
  constexpr std::string_view kCategory = "\",\"cat\":\"";
  if ((phase != 'b' && phase != 'e') || !rest.starts_with(kCategory)) {
    return false;
  }
  rest.remove_prefix(kCategory.size());
  if (rest.starts_with("op\",")) {
    return phase == 'e' || rest.find("\"args\"") == std::string_view::npos;
  }
  for (const std::string_view category :
       {"api\",", "gpu\",", "phase\",", "ctrl\",", "net\",", "ce\","}) {
    if (rest.starts_with(category)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_unneeded(std::string_view line) {
  if (line.ends_with(',')) {
    line.remove_suffix(1);
  }
  return line.ends_with('}') && is_unneeded_kind(line) && is_clean(line);
}

}  // namespace ringside::load
