// SPDX-License-Identifier: Apache-2.0
//
// The options that `ringside-mpi` has beside those of `ringside`, and the commands that it has not.
#ifndef RINGSIDE_ANALYZER_MPI_COMMAND_LINE_H
#define RINGSIDE_ANALYZER_MPI_COMMAND_LINE_H

#include <string>
#include <vector>

namespace ringside::mpi {

struct CommandLine {
  bool is_local = false;
  bool has_statistics = false;
  bool wants_help = false;
  bool wants_version = false;
  std::string trouble;       // why it cannot be run; empty: it can be
  std::vector<char*> words;  // the others, for ringside::cli::run()
};

CommandLine read_command_line(int argc, char** argv);

std::string help_text();

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_COMMAND_LINE_H
