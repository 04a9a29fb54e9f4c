// SPDX-License-Identifier: Apache-2.0
//
// The scenarios of guarantee_host. Each prints at most one line of JSON and gives the exit status.
#ifndef RINGSIDE_TEST_GUARANTEES_SCENARIOS_H
#define RINGSIDE_TEST_GUARANTEES_SCENARIOS_H

#include <cstdlib>
#include <string>
#include <vector>

#include "ringside/ringside.h"
#include "test/guarantees/caller.h"

namespace ringside::guarantees {

struct Program {
  const char* path;
  int abi;
  Row* rows;
  std::vector<std::string> arguments;

  std::uint64_t number(std::size_t index) const {
    return std::strtoull(arguments.at(index).c_str(), nullptr, 10);
  }
};

/// THREADS OPERATIONS: that many in each of the threads, which then stay until the process exits.
int storm(const Program& program);
/// CYCLES COMMUNICATORS: load, init, events, finalize, unload.
int cycles(const Program& program);
/// THREADS BATCH: short-lived threads with events also from their destructors.
int short_threads(const Program& program);
/// MARKS WINDOWS BYTES: many of each, faster than anybody writes, with texts of so many bytes.
int notes(const Program& program);
/// THREADS: alive at once, each with one operation.
int many_threads(const Program& program);
/// OPERATIONS: so many by a thread while memory is too short for its ring, as many by it after
/// that, and by two threads that begin then.
int short_of_memory(const Program& program);
/// HOW: threads record while the process forks; what the children do.
int fork_while_recording(const Program& program);
/// HOW: threads that record make children that the plugin does not know of, or that end as threads.
int fork_without_atfork(const Program& program);
/// HOW OPERATIONS PAUSE_US: two threads record, and the process ends in one of many ways.
int way_out(const Program& program);
/// A thread records after the main thread has ended. The process ends with that thread.
int main_ends(const Program& program);
/// HOW: events, a condition of the system changes, events again.
int trouble(const Program& program);
/// COPY FILE: a second copy of the plugin is loaded from COPY, or with a slash at its end the
/// journals there are opened and closed; the process ends when there is FILE.
int copies(const Program& program);
/// PATH...: dumps to each, prints what ringside_dump returned.
int dump_to(const Program& program);
/// Two NCCLs, of which one is unloaded; start and stop.
int several_nccls(const Program& program);
/// Starts and stops; then somebody else clears the mask, until a start writes it again.
int foreign_mask(const Program& program);
/// HOW: the C API, also a dump, and no communicator; ends when its standard input does.
int api_only(const Program& program);
/// HOW: loaded, the C API called or not, forked, and NCCL initialised in the child alone.
int fork_before_init(const Program& program);
/// A child that runs no fork handler has all that was open, and stays.
int fork_and_stay(const Program& program);
/// NCCL's logger calls the plugin, and waits for another thread that does.
int logger_calls(const Program& program);
/// DUMP: a thread whose cancellation is due loads the plugin and calls all of it, a dump to DUMP
/// among it; then the main thread exits, and its cancellation is due, too.
int cancelled(const Program& program);
/// STEP:ARGUMENT...: what steps.cc lists, one after the other.
int steps(const Program& program);
/// Calls that NCCL does not make.
int absurd(const Program& program);

/// A function of the loaded plugin's C API.
void* c_function(const Loaded& loaded, const char* name);

ringside_status_info status_of(const Loaded& loaded);
void print_status(const ringside_status_info& status);

}  // namespace ringside::guarantees

#endif  // RINGSIDE_TEST_GUARANTEES_SCENARIOS_H
