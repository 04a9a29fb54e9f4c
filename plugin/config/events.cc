// SPDX-License-Identifier: Apache-2.0
#include "plugin/config/events.h"

#include <utility>

#include "plugin/assemble/event_names.h"

namespace ringside::config {
namespace {

using record::bit;
using record::EventType;

constexpr std::uint32_t kCall =
    bit(EventType::kGroup) | bit(EventType::kGroupApi) | bit(EventType::kKernelLaunch);
constexpr std::uint32_t kColl = kCall | bit(EventType::kColl) | bit(EventType::kCollApi);
constexpr std::uint32_t kP2p = kCall | bit(EventType::kP2p) | bit(EventType::kP2pApi);
constexpr std::uint32_t kProxy = bit(EventType::kProxyOp);
constexpr std::uint32_t kSteps = kProxy | bit(EventType::kProxyStep);
constexpr std::uint32_t kKernel = bit(EventType::kKernelCh);
constexpr std::uint32_t kCopyEngine =
    kColl | bit(EventType::kCeColl) | bit(EventType::kCeSync) | bit(EventType::kCeBatch);
constexpr std::uint32_t kAll = (1U << record::kEventTypes) - 1;

constexpr std::array<std::pair<std::string_view, std::uint32_t>, 9> kNames = {{
    {"coll", kColl},
    {"p2p", kP2p},
    {"kernel", kKernel},
    {"proxy", kProxy},
    {"steps", kSteps},
    {"ctrl", bit(EventType::kProxyCtrl)},
    {"net", kSteps | bit(EventType::kNetPlugin)},
    {"ce", kCopyEngine},
    {"phase", kKernel | bit(EventType::kKernelPhase)},
}};

// All events but control events belong to operations, so operations are recorded with them.
std::uint32_t with_ancestors(std::uint32_t types) {
  const std::uint32_t descendants =
      kSteps | kKernel | bit(EventType::kNetPlugin) | bit(EventType::kKernelPhase);
  const std::uint32_t operations = bit(EventType::kColl) | bit(EventType::kP2p);
  return (types & descendants) != 0 && (types & operations) == 0 ? types | kColl | kP2p : types;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::optional<EventChoice> parse_events(std::string_view text, std::string& unknown) {
  EventChoice choice{false, 0};
  bool any = false;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view name = trim(text.substr(0, comma));
    if (name == "default") {
      choice.use_default = true;
    } else if (name == "all") {
      choice.types = kAll;
    } else if (name != "none") {
      bool found = false;
      for (const auto& [known, types] : kNames) {
        if (name == known) {
          choice.types |= types;
          found = true;
        }
      }
      if (!found) {
        unknown = name;
        return std::nullopt;
      }
    }
    any = any || !name.empty();
    if (comma == std::string_view::npos) {
      break;
    }
    text.remove_prefix(comma + 1);
  }
  if (!any) {
    return std::nullopt;
  }
  choice.types = with_ancestors(choice.types);
  return choice;
}

bool kernels_can_hurt(const NcclFacts& nccl) {
  constexpr int kFirstAffected = 22902;  // 2.29.2; no release is known to be fixed
  const bool is_affected = nccl.version == 0 || nccl.version >= kFirstAffected;
  return (is_affected && !nccl.is_made_safe) || !nccl.recorded_from_start;
}

std::uint32_t resolve_events(const EventChoice& choice, const NcclFacts& nccl) {
  const std::uint32_t has = record::types_of_interface(nccl.abi_version);
  std::uint32_t types = choice.types;
  if (choice.use_default) {
    types |= kColl | kP2p | kProxy | kCopyEngine;
    types |= (has & kKernel) != 0 && !kernels_can_hurt(nccl) ? kKernel : kSteps;
  }
  constexpr int kFirstThatCrashes = 7;  // NCCL frees their counters before it ends their reader
  if (nccl.abi_version >= kFirstThatCrashes && kernels_can_hurt(nccl)) {
    types &= ~(kKernel | bit(EventType::kKernelPhase));
  }
  return types & has;
}

std::vector<std::string_view> event_names(std::uint32_t types) {
  std::vector<std::string_view> names;
  for (int i = 0; i < record::kEventTypes; ++i) {
    const auto type = static_cast<EventType>(i);
    if ((types & bit(type)) != 0) {
      names.push_back(assemble::type_name(type));
    }
  }
  return names;
}

std::string event_names_text(std::uint32_t types) {
  std::string text;
  for (const std::string_view name : event_names(types)) {
    text.append(text.empty() ? "" : ",").append(name);
  }
  return text.empty() ? "none" : text;
}

}  // namespace ringside::config
