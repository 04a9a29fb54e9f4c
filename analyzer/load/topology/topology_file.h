// SPDX-License-Identifier: Apache-2.0
//
// Reads the topology that another tool has written: NCCL's own dump (NCCL_TOPO_DUMP_FILE), or the
// output of `nvidia-smi topo -m`.
#ifndef RINGSIDE_ANALYZER_LOAD_TOPOLOGY_TOPOLOGY_FILE_H
#define RINGSIDE_ANALYZER_LOAD_TOPOLOGY_TOPOLOGY_FILE_H

#include <optional>
#include <string>
#include <string_view>

#include "analyzer/model/topology_file.h"

namespace ringside::load {

enum class TopologyFormat { kNcclXml, kNvidiaSmi };

/// The format of the text; nothing if it is neither. Other text may be before a table of
/// nvidia-smi; what is much like one (`topo -p2p`, rocm-smi's) counts, and is refused by name.
std::optional<TopologyFormat> topology_format(std::string_view text);

/// Nothing, and a reason in `error`, if the text is damaged, has no GPU, or has anything that is
/// not known.
std::optional<model::TopologyFile> read_topology_text(std::string_view text, TopologyFormat format,
                                                      std::string& error);

/// The name of the root of a text that begins as XML; empty if it does not.
std::string_view root_of_xml(std::string_view text);

/// NCCL's dump alone; a build without pugixml says so in `error`.
std::optional<model::TopologyFile> read_nccl_xml(std::string_view text, std::string& error);

/// A table of `nvidia-smi topo -m` alone.
bool has_nvidia_smi(std::string_view text);
std::optional<model::TopologyFile> read_nvidia_smi(std::string_view text, std::string& error);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_TOPOLOGY_TOPOLOGY_FILE_H
