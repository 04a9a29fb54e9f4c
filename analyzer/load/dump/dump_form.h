// SPDX-License-Identifier: Apache-2.0
//
// In which form a Flight Recorder dump is.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_FORM_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_FORM_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "analyzer/load/dump/dump_entry.h"
#include "analyzer/load/pickle/plain_tree.h"

namespace ringside::load {

/// Reads the number behind the dot of a dump's version. Returns why no dump of it can be read;
/// empty if one can.
std::string read_version(std::string_view text, std::uint32_t& minor);

/// torchcomms counts all calls of a process together, from 0 as its records, and describes a group
/// by its backend. PyTorch counts from 1, each group for itself. Some entries may be damaged.
bool is_of_torchcomms(const PlainTree& tree, std::span<const PlainValue> entries,
                      const DumpKeys& keys);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_FORM_H
