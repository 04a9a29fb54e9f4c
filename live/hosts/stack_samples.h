// SPDX-License-Identifier: Apache-2.0
//
// What a process was doing: its main thread's stack, several times, by the tools that are on its
// host. No tool is installed, and the process is stopped for no longer than a tool takes.
#ifndef RINGSIDE_LIVE_HOSTS_STACK_SAMPLES_H
#define RINGSIDE_LIVE_HOSTS_STACK_SAMPLES_H

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "live/hosts/evidence.h"

namespace ringside::live {

struct StackFrame {
  std::string function;
  std::string place;  ///< "train.py:88"; empty: not known

  bool operator==(const StackFrame&) const = default;
};

/// The innermost first.
using Stack = std::vector<StackFrame>;

inline constexpr int kStackSamples = 5;
inline constexpr std::chrono::seconds kStackInterval(1);

/// The stack of the main thread, as `py-spy dump --json` and the package's show_stacks() have it;
/// empty if there is none.
Stack read_py_spy(std::string_view json);
/// The stack of the first thread, as `eu-stack` and `gdb` have it.
Stack read_native(std::string_view text);

/// "in all 5 samples in load_batch (train.py:88) < train (train.py:40)": what the samples share,
/// from the outermost frame inwards, with the innermost of these first. A line that differs is left
/// out. Where more than half of them share more, as those of a rank that is often late do, ", in 4
/// of them in ..." follows.
std::string where_samples_are(const std::vector<Stack>& samples);

/// Samples these processes of this host, which takes kStackSamples times kStackInterval: of each
/// where the samples are, by which tool, and how much of a processor the process used meanwhile,
/// or why there is none: the predicate of a sentence whose subject the caller knows, then a line
/// for each of its first child processes. Processes without Ringside's plugin or its variable are
/// not looked at: the number may be another's by now. One line more says if a tool lacks rights.
std::vector<Evidence> sample_stacks(const std::vector<std::int64_t>& pids);

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_HOSTS_STACK_SAMPLES_H
