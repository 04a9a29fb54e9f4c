// SPDX-License-Identifier: Apache-2.0
//
// Work that may crash, hang or print is done in a child process: loading somebody else's library
// runs its code.
#ifndef RINGSIDE_ANALYZER_LAUNCH_ISOLATED_H
#define RINGSIDE_ANALYZER_LAUNCH_ISOLATED_H

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace ringside::launch {

struct Answer {
  std::vector<std::string> lines;  ///< that the child gave, 64 KiB at most
  std::string error;  ///< "" if it ended by itself, well; else a phrase: "it crashed (signal 11)"

  /// Empty if there are fewer.
  std::string line(std::size_t index) const { return index < lines.size() ? lines[index] : ""; }
};

/// Calls `work` in a child, with its standard streams at /dev/null; the lines that it returns are
/// the answer.
Answer ask_child(const std::function<std::vector<std::string>()>& work);

/// Runs a program, found in PATH, and reads its standard output.
Answer ask_program(const std::vector<std::string>& command);

/// The longest time that a child may take.
inline constexpr int kMostChild_s = 20;

}  // namespace ringside::launch

#endif  // RINGSIDE_ANALYZER_LAUNCH_ISOLATED_H
