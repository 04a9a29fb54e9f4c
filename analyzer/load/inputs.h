// SPDX-License-Identifier: Apache-2.0
//
// From what the user named on the command line to the files to read.
#ifndef RINGSIDE_ANALYZER_LOAD_INPUTS_H
#define RINGSIDE_ANALYZER_LOAD_INPUTS_H

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/dump_choice.h"
#include "analyzer/model/problem.h"

namespace ringside::load {

struct Inputs {
  std::vector<std::string> paths;     // sorted, each once
  std::vector<std::string> notes;     // files of directories that were left out, and why
  std::vector<std::string> profiles;  // traces of PyTorch's profiler, by themselves
};

/// The note on a file of a directory that is named as a trace, behind its path.
inline constexpr std::string_view kNoTrace = ": not a Ringside trace, left out";

/// Why the other commands refuse dumps, and which take them: the end of a sentence.
inline constexpr std::string_view kDumpsRefused =
    "which show what each rank called and what was seen to finish, but not when it began or ended, "
    "so no durations, bandwidths or late ranks: `ringside match`, `hang`, `calls`, "
    "`communicators`, "
    "`report`, `export`, `lint` and `fr` read them";

/// Directories stand for the Ringside traces directly in them: *.json and *.json.gz whose first
/// line is that of a trace, and all of them named ringside.*; or, where there is no trace, for the
/// partials (*.part), or where there are none either, for the Flight Recorder dumps, or else for
/// the records of durations (*.log, *.json, *.txt), or for traces of PyTorch's profiler. Dumps are
/// taken beside traces too, where both are joined. A compressed file beside the same uncompressed
/// is left out. Files are taken as they are. An argument that does not exist is a problem.
Inputs find_inputs(const std::vector<std::string>& arguments, model::Problems& problems,
                   const DumpChoice& dumps = {});

/// The same, whatever other processes there are: what this host has.
Inputs find_own_inputs(const std::vector<std::string>& arguments, model::Problems& problems,
                       const DumpChoice& dumps);

/// Whether each of these arguments has traces of another run than the first one: some rank of it is
/// there, and is another process. Directories of one job's hosts have different ranks.
bool are_several_runs(const std::vector<std::string>& arguments);

/// Whether a file is a dump of PyTorch's Flight Recorder.
bool is_flight_recorder_dump(const std::string& path);

/// The first of these files that is a partial of `ringside reduce`; empty if none is.
std::string first_partial(const std::vector<std::string>& paths);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_INPUTS_H
