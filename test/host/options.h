// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_TEST_HOST_OPTIONS_H
#define RINGSIDE_TEST_HOST_OPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace ringside::host {

/// Something that the application does when so many of NCCL's calls have been made.
struct Action {
  enum class What { kStart, kStop, kDump, kMark, kPush, kPop, kFork, kSleep, kMask };
  What what = What::kStart;
  std::int64_t after_calls = 0;
  std::string text;  // path, marker, events, mask or seconds
};

struct Options {
  std::string plugin;
  int abi = 0;
  std::vector<std::string> recordings;  // files
  bool timing = false;
  double speed = 1;
  int repeat = 1;
  std::string until;   ///< a file: repeat until it is there; empty: as `repeat` says
  double pause_s = 0;  ///< after each time
  bool honour_mask = false;
  int mask_process = -1;  ///< whose mask is changed, by its place in `recordings`; -1: of all
  bool foreign = false;
  bool no_finalize = false;
  bool status = false;
  std::int64_t kill_after = 0;
  std::string death = "kill";   ///< kill, abort, segfault or _exit
  std::vector<Action> actions;  // in order of after_calls
};

/// Exits with 0 for --help and with 2 for a wrong command line.
Options parse_options(int argc, char** argv);

}  // namespace ringside::host

#endif  // RINGSIDE_TEST_HOST_OPTIONS_H
