// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/dump/dump_form.h"

#include <algorithm>
#include <optional>

#include "analyzer/load/json/parse_number.h"

namespace ringside::load {

std::string read_version(std::string_view text, std::uint32_t& minor) {
  const std::size_t dot = text.find('.');
  const auto major = parse_number<std::uint32_t>(text.substr(0, dot));
  const auto told = dot < text.size() ? parse_number<std::uint32_t>(text.substr(dot + 1))
                                      : std::optional<std::uint32_t>();
  if (!major || !told) {
    return text.empty() ? "no Flight Recorder dump: it does not name its version"
                        : "the dump's version is \"" + std::string(text) +
                              "\", and not two numbers with a dot between them, as 2.10";
  }
  minor = *told;
  return *major == 2 ? ""
                     : "version " + std::string(text) +
                           " of the Flight Recorder's dumps; versions 2.0 and newer of 2 are read";
}

bool is_of_torchcomms(const PlainTree& tree, std::span<const PlainValue> entries,
                      const DumpKeys& keys) {
  const auto count = std::count_if(entries.begin(), entries.end(), [&](const PlainValue& value) {
    const auto record = integer_of(tree.at(value, keys.record_id));
    if (!record || record != integer_of(tree.at(value, keys.collective_seq_id)) ||
        integer_of(tree.at(value, keys.p2p_seq_id)) != 0) {
      return false;
    }
    const auto names = tree.list(tree.at(value, keys.process_group));
    const std::string_view call = tree.text(tree.at(value, keys.profiling_name));
    return names.size() == 2 && call.substr(0, call.find(':')) == tree.text(names[1]);
  });
  return 2 * static_cast<std::size_t>(count) > entries.size();
}

}  // namespace ringside::load
