// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/durations.h"

namespace ringside::load {

std::string durations_refused() {
  return "records of NCCL Inspector or of NVIDIA's example profiler, which have durations and no "
         "starts by a clock that ranks share, so that they do not show who came late or what is "
         "stuck: `ringside summary`, `match` and `communicators` read them";
}

bool begins_as_durations(std::string_view bytes) {
  return begins_as_inspector(bytes) || begins_as_example_profiler(bytes);
}

std::string read_durations(std::string_view text, Dump& records) {
  return begins_as_inspector(text) ? read_inspector(text, records)
                                   : read_example_profiler(text, records);
}

}  // namespace ringside::load
