// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/dump_calls.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ringside::load {

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
