// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/command_line.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "analyzer/cli/exit_status.h"
#include "analyzer/cli/help.h"

namespace ringside::mpi {
namespace {

// Commands of `ringside` that are not for several processes, and what to use in their place.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kRefused = {{
    {"merge", "it copies the lines of the traces: use `ringside merge` where they all are"},
    {"lint", "it checks the lines of each file: use `ringside lint` where they are"},
    {"recover", "it reads the rings of one host: use `ringside recover` there"},
    {"reduce", "each host makes a partial of its own: use `ringside reduce` there"},
    {"export",
     "it writes all rows: use `ringside export`, of the partials of `ringside reduce` where the "
     "traces are on several hosts"},
    {"query", "it needs all rows: use `ringside query`"},
    {"mcp", "use `ringside mcp`"},
    {"demo", "use `ringside demo`"},
    {"run", "use `ringside run`"},
    {"env", "use `ringside env`"},
    {"doctor", "use `ringside doctor`"},
    {"ctl", "use `ringside ctl`"},
    {"top", "use `ringside top`"},
    {"watch", "use `ringside watch`"},
    {"ras", "use `ringside ras`"},
    {"exporter", "use `ringside exporter`"},
}};

constexpr char kHelp[] =
    "Analyses the traces of a job with several processes, which MPI starts. It says what "
    "`ringside` says, to the byte.\n"
    "\n"
    "Usage: mpirun -n PROCESSES ringside-mpi COMMAND [OPTIONS]\n"
    "\n"
    "Commands, with the options that they have in `ringside`:\n"
    "  summary, match, calls, communicators, hang, fr, stragglers, what-if, network,\n"
    "  overlap, critical-path, iterations, dependencies, compare, topology, report\n"
    "\n"
    "Options, before or behind the command:\n"
    "  --local\tEach host has traces of its own: its processes read what is there under the names "
    "that are given. Without it all hosts must see all files.\n"
    "  --stats\tAlso say, on standard error, what each process has read, sent and received, its "
    "processor time and its greatest memory\n"
    "  -h, --help\tPrint this help and exit; `ringside-mpi help COMMAND` has a command's\n"
    "  --version\tPrint the version, and which MPI this is built with, and exit\n"
    "\n"
    "The files are shared out by size. Each process reads its share on all cores that it may use, "
    "so that one process a host is enough, and sends process 0 a partial of each file, as "
    "`ringside reduce` makes it. Process 0 does the rest on all of its cores. It reads partials, "
    "dumps and pipes itself.\n"
    "\n"
    "Examples:\n"
    "  mpirun --map-by node --bind-to none ringside-mpi summary /shared/traces\ta directory that "
    "all hosts see\n"
    "  srun --mpi=pmix --ntasks-per-node 1 ringside-mpi report --local /local/traces\teach host's "
    "own\n"
    "  mpirun -n 4 ringside-mpi --stats stragglers traces/\n";

}  // namespace

CommandLine read_command_line(int argc, char** argv) {
  CommandLine line;
  line.words.push_back(argv[0]);
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--local" || word == "--stats") {
      (word == "--local" ? line.is_local : line.has_statistics) = true;
    } else {
      line.words.push_back(argv[i]);
    }
  }
  const std::string_view command = line.words.size() > 1 ? line.words[1] : "";
  line.wants_help =
      command == "-h" || command == "--help" || (command == "help" && line.words.size() == 2);
  line.wants_version = command == "--version";
  if (command.empty()) {
    line.trouble = "say which command";
  }
  for (const auto& [refused, reason] : kRefused) {
    if (command == refused) {
      line.trouble = std::string("there is no ").append(refused).append(" here: ").append(reason);
    }
  }
  const bool has_profiles = std::any_of(
      line.words.begin(), line.words.end(),
      [](std::string_view word) { return word == "--kineto" || word.starts_with("--kineto="); });
  if (line.is_local && has_profiles) {
    line.trouble =
        "--kineto: traces of PyTorch's profiler are read by process 0, which does not see those of "
        "other hosts: use it without --local";
  }
  return line;
}

std::string help_text() {
  return cli::lay_out(
      std::string(kHelp) +
          cli::exit_statuses({{cli::kExitFindings, "as the command has it"},
                              {cli::kExitNoInput, "nothing that was named could be read"},
                              {cli::kExitInternal,
                               "a process has failed, or a bug in ringside, or the output cannot "
                               "be written; there is no answer then"}}),
      cli::help_columns());
}

}  // namespace ringside::mpi
