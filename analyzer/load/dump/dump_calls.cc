// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/dump/dump_calls.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/load/json/parse_number.h"

namespace ringside::load {

std::optional<NamedCall> named_call(std::string_view profiling_name) {
  const std::string_view text = profiling_name.substr(profiling_name.rfind(':') + 1);
  std::size_t arrow = std::string_view::npos;
  char before = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char one = text[i];
    if ((one >= 0 && one < ' ') || one == '\x7f') {
      return std::nullopt;
    }
    if (((before == '-' && one == '>') || (before == '<' && one == '-')) && arrow > i) {
      arrow = i - 1;
    }
    before = one;
  }
  if (text.empty() || text.front() == ' ' || text.back() == ' ') {
    return std::nullopt;
  }
  if (arrow > text.size() && !text.starts_with("send ") && !text.starts_with("recv ")) {
    return NamedCall{text, false, 0, std::nullopt};
  }
  const bool is_send = text.starts_with("send ");
  constexpr std::size_t kVerb = 5;
  if (!text.starts_with(is_send ? "send " : "recv ") || arrow > text.size() ||
      text.substr(arrow, 2) != (is_send ? "->" : "<-")) {
    return std::nullopt;
  }
  const auto own = parse_number<std::uint32_t>(text.substr(kVerb, arrow - kVerb));
  const std::string_view peer = text.substr(arrow + 2);
  const auto number = parse_number<std::uint32_t>(peer);
  return own && (number || peer == "?")
             ? std::optional(NamedCall{is_send ? "Send" : "Recv", true, *own, number})
             : std::nullopt;
}

Alike alike_in(std::string_view call) {
  constexpr std::array<std::pair<std::string_view, Alike>, 19> kAlike = {
      {{"all_reduce", Alike::kInput},
       {"all_reduce_barrier", Alike::kInput},
       {"allreduce_coalesced", Alike::kInput},
       {"broadcast", Alike::kInput},
       {"_broadcast_oop", Alike::kOutput},
       {"reduce", Alike::kInput},
       {"_reduce_oop", Alike::kInput},
       {"gather", Alike::kInput},
       {"scatter", Alike::kOutput},
       {"_all_gather_base", Alike::kOutput},
       {"all_gather", Alike::kOutput},
       {"all_gather_single", Alike::kOutput},
       {"all_gather_into_tensor_coalesced", Alike::kOutput},
       {"_reduce_scatter_base", Alike::kInput},
       {"reduce_scatter", Alike::kInput},
       {"reduce_scatter_single", Alike::kInput},
       {"reduce_scatter_tensor_coalesced", Alike::kInput},
       {"Send", Alike::kInput},
       {"Recv", Alike::kOutput}}};
  const auto* const found = std::find_if(kAlike.begin(), kAlike.end(),
                                         [&](const auto& one) { return one.first == call; });
  return found == kAlike.end() ? Alike::kNone : found->second;
}

}  // namespace ringside::load
