// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_CHOICE_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_CHOICE_H

#include <cstdint>
#include <string>

namespace ringside::load {

/// The choice of files that are no traces of Ringside's: dumps of PyTorch's Flight Recorder above
/// all.
struct DumpChoice {
  bool takes_dumps = false;
  bool takes_others = true;     // traces and other records, too
  bool joins_traces = false;    // they are taken where there are traces of the same job, too
  bool takes_profiles = false;  // traces of PyTorch's profiler, where there is nothing else
  std::string prefix;           // of their names; empty: any that ends with a rank
  /// The ranks of a replica group of torchft: there default_pg lists its ranks within that group,
  /// and the file's name has the rank in the job. 0: no torchft.
  std::uint32_t replica_ranks = 0;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_CHOICE_H
