// SPDX-License-Identifier: Apache-2.0
//
// The topology of one host from a file of another tool: NCCL's own dump (NCCL_TOPO_DUMP_FILE), or
// the output of `nvidia-smi topo -m`.
#ifndef RINGSIDE_ANALYZER_LOAD_TOPOLOGY_FILE_H
#define RINGSIDE_ANALYZER_LOAD_TOPOLOGY_FILE_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/topology/machine.h"

namespace ringside::load {

struct TopologyFile {
  topology::Machine machine;
  std::vector<std::string> labels;  // of the GPUs, in their order: "rank 3", "GPU 3"
  std::string source;               // "NCCL's topology dump"
  /// False of nvidia-smi, whose NV12 may be direct links or links through switches.
  bool tells_switches = true;
};

enum class TopologyFormat { kNcclXml, kNvidiaSmi };

/// The format of the text, by its beginning; nothing if it is neither.
std::optional<TopologyFormat> topology_format(std::string_view text);

/// Nothing, and a reason in `error`, if the text is damaged, or has no GPU.
std::optional<TopologyFile> read_topology_text(std::string_view text, TopologyFormat format,
                                               std::string& error);

/// NCCL's dump alone; a build without pugixml says so in `error`.
std::optional<TopologyFile> read_nccl_xml(std::string_view text, std::string& error);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_TOPOLOGY_FILE_H
