// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/requests.h"

#include <array>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>

#include "analyzer/mpi/messages.h"
#include "analyzer/mpi/packing.h"

namespace ringside::mpi {
namespace {

FileState state_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return {};
  }
  return {static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
}

// The greatest memory of this process; getrusage() would count what its starter had.
std::uint64_t peak_bytes() {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    std::uint64_t kilobytes = 0;
    if (word == "VmHWM:" && file >> kilobytes) {
      return kilobytes * 1024;
    }
  }
  return 0;
}

std::uint64_t cpu_ms() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::int64_t us = 0;
  for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
    us += std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
  }
  return static_cast<std::uint64_t>(us / 1000);
}

}  // namespace

FoundFiles find_on_this_host(const std::vector<std::string>& arguments,
                             const load::DumpChoice& dumps) {
  FoundFiles found;
  model::Problems problems;
  found.inputs = load::find_own_inputs(arguments, problems, dumps);
  for (const std::string& path : found.inputs.paths) {
    found.states.push_back(state_of(path));
  }
  for (const model::Problem& problem : problems.files()) {
    found.problems.emplace_back(problem.path, problem.reason);
  }
  return found;
}

void complete(const Messages& messages, Statistics& statistics) {
  statistics.bytes_sent = messages.bytes_sent();
  statistics.bytes_received = messages.bytes_received();
  statistics.cpu_ms = cpu_ms();
  statistics.peak_bytes = peak_bytes();
}

void pack(const load::DumpChoice& dumps, Packer& packer) {
  packer.number(dumps.takes_dumps ? 1 : 0);
  packer.number(dumps.takes_others ? 1 : 0);
  packer.number(dumps.joins_traces ? 1 : 0);
  packer.text(dumps.prefix);
  packer.number(dumps.replica_ranks);
}

load::DumpChoice unpack_dump_choice(Unpacker& unpacker) {
  load::DumpChoice dumps;
  dumps.takes_dumps = unpacker.number() != 0;
  dumps.takes_others = unpacker.number() != 0;
  dumps.joins_traces = unpacker.number() != 0;
  dumps.prefix = unpacker.text();
  dumps.replica_ranks = static_cast<std::uint32_t>(unpacker.number());
  return dumps;
}

void pack(const FoundFiles& found, Packer& packer) {
  packer.texts(found.inputs.paths);
  packer.texts(found.inputs.notes);
  for (const FileState& state : found.states) {
    packer.number(state.bytes);
    packer.number(static_cast<std::uint64_t>(state.changed_ns));
  }
  packer.number(found.problems.size());
  for (const auto& [path, reason] : found.problems) {
    packer.text(path);
    packer.text(reason);
  }
}

FoundFiles unpack_found(Unpacker& unpacker) {
  FoundFiles found;
  found.inputs.paths = unpacker.texts();
  found.inputs.notes = unpacker.texts();
  found.states.resize(found.inputs.paths.size());
  for (FileState& state : found.states) {
    state.bytes = unpacker.number();
    state.changed_ns = static_cast<std::int64_t>(unpacker.number());
  }
  found.problems.resize(unpacker.number());
  for (auto& [path, reason] : found.problems) {
    path = unpacker.text();
    reason = unpacker.text();
  }
  return found;
}

void pack(const Statistics& statistics, Packer& packer) {
  for (const std::uint64_t number :
       {statistics.files, statistics.bytes, statistics.bytes_sent, statistics.bytes_received,
        statistics.cpu_ms, statistics.peak_bytes}) {
    packer.number(number);
  }
}

Statistics unpack_statistics(Unpacker& unpacker) {
  Statistics statistics;
  for (std::uint64_t* const number :
       {&statistics.files, &statistics.bytes, &statistics.bytes_sent, &statistics.bytes_received,
        &statistics.cpu_ms, &statistics.peak_bytes}) {
    *number = unpacker.number();
  }
  return statistics;
}

}  // namespace ringside::mpi
