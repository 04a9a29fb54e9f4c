// SPDX-License-Identifier: Apache-2.0
//
// `ringside-mpi`: the commands of `ringside` that analyse traces, with several processes to read
// them. Process 0 is `ringside`, but for where loading meets other processes
// (load/other_processes.h); the others do what it asks for.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <malloc.h>
#include <string>

#include "analyzer/cli/exit_status.h"
#include "analyzer/cli/run.h"
#include "analyzer/mpi/captured_output.h"
#include "analyzer/mpi/command_line.h"
#include "analyzer/mpi/leader.h"
#include "analyzer/mpi/messages.h"
#include "analyzer/mpi/worker.h"
#include "analyzer/report/document/numbers.h"

namespace ringside::mpi {
namespace {

void print_statistics(const Messages& messages, const std::vector<Statistics>& statistics) {
  std::fprintf(stderr, "%7s  %-16s  %6s  %9s  %9s  %9s  %8s  %s\n", "process", "host", "files",
               "read", "sent", "received", "CPU", "greatest memory");
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    const Statistics& one = statistics[i];
    std::fprintf(stderr, "%7zu  %-16s  %6s  %9s  %9s  %9s  %6s s  %s\n", i,
                 messages.hosts()[i].c_str(), std::to_string(one.files).c_str(),
                 report::human_bytes(one.bytes).c_str(),
                 report::human_bytes(one.bytes_sent).c_str(),
                 report::human_bytes(one.bytes_received).c_str(),
                 report::fixed(static_cast<double>(one.cpu_ms) / 1000, 2).c_str(),
                 report::human_bytes(one.peak_bytes).c_str());
  }
}

int run_command(const CommandLine& line, std::vector<char*> words) {
  if (line.wants_help) {
    std::fputs(help_text().c_str(), stdout);
    return cli::kExitOk;
  }
  if (line.wants_version) {
    std::printf("ringside-mpi " RINGSIDE_VERSION ", %s\n", Messages::library().c_str());
    return cli::kExitOk;
  }
  if (!line.trouble.empty()) {
    std::fprintf(stderr, "ringside-mpi: %s\nTry `ringside-mpi --help`.\n", line.trouble.c_str());
    return cli::kExitUsage;
  }
  words.push_back(nullptr);
  return cli::run(static_cast<int>(words.size()) - 1, words.data());
}

// The work of process 0.
int lead(Messages& messages, int argc, char** argv) {
  const CommandLine line = read_command_line(argc, argv);
  Leader leader(messages, line.is_local);
  load::set_other_processes(&leader);
  CapturedOutput output;
  const int status = run_command(line, line.words);
  const std::vector<Statistics> statistics = leader.end();
  const bool is_written = output.release();
  if (line.has_statistics) {
    print_statistics(messages, statistics);
  }
  return is_written ? status : cli::kExitInternal;
}

// A process that was started with others, but by a starter that its MPI does not know, would do the
// work of all of them, and so would each of the others.
const char* lone_variable(const Messages& messages) {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* const processes = std::getenv(name);
    if (messages.processes() == 1 && processes != nullptr && std::atoi(processes) > 1) {
      return name;
    }
  }
  return nullptr;
}

int run(Messages& messages, int argc, char** argv) {
  if (const char* const variable = lone_variable(messages)) {
    std::fprintf(stderr,
                 "ringside-mpi: %s=%s says that several processes were started, but this one is "
                 "alone: start it with the mpirun of %s, or with `srun --mpi=...` as that needs\n",
                 variable, std::getenv(variable), Messages::library().c_str());
    return cli::kExitUsage;
  }
  try {
    if (messages.process() == 0) {
      return lead(messages, argc, argv);
    }
    serve(messages);
    return cli::kExitOk;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ringside-mpi: process %d on %s: %s\n", messages.process(),
                 messages.hosts()[static_cast<std::size_t>(messages.process())].c_str(),
                 error.what());
    std::fflush(stderr);
    Messages::abort(cli::kExitInternal);
  }
}

}  // namespace
}  // namespace ringside::mpi

int main(int argc, char** argv) {
  mallopt(M_ARENA_MAX, 1);  // as in `ringside`
  ringside::mpi::Messages messages(argc, argv);
  return ringside::mpi::run(messages, argc, argv);
}
