// SPDX-License-Identifier: Apache-2.0
//
// The topology of a host, or of several, from a file of another tool. Plain data.
#ifndef RINGSIDE_ANALYZER_MODEL_TOPOLOGY_FILE_H
#define RINGSIDE_ANALYZER_MODEL_TOPOLOGY_FILE_H

#include <map>
#include <string>
#include <vector>

#include "plugin/topology/machine.h"

namespace ringside::model {

struct TopologyHost {
  std::string name;
  topology::Machine machine;
  std::vector<std::string> labels;  // of the GPUs, in their order: "rank 3", "GPU 3"
  /// By GPU: the adapters at each distance, in the words of `nvidia-smi topo`.
  std::vector<std::map<std::string, std::vector<std::string>>> adapters;
};

struct TopologyFile {
  std::string source;               // "NCCL's topology dump"
  std::string link = "NVLink";      // what its links are called
  std::vector<TopologyHost> hosts;  // one at least, with a GPU each
  std::vector<std::string> notes;   // what was left out: sentences without a full stop
  /// False of nvidia-smi, whose NV12 may be direct links or links through switches.
  bool tells_switches = true;
};

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_TOPOLOGY_FILE_H
