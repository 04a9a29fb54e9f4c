// SPDX-License-Identifier: Apache-2.0
//
// Two copies of the plugin in one process, and an application that reads what it finds.
#include <chrono>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

#include "test/guarantees/scenarios.h"

namespace ringside::guarantees {
namespace {

/// Opens and closes each journal there, as an application does that copies a directory.
void read_journals(const std::string& rings) {
  const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir(rings.c_str()), closedir);
  while (const dirent* entry = all != nullptr ? readdir(all.get()) : nullptr) {
    const int file = open((rings + "/" + entry->d_name + "/journal").c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
      close(file);
    }
  }
}

void wait_for_file(const std::string& path) {
  while (access(path.c_str(), F_OK) != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

int copies(const Program& program) {
  const std::string& other = program.arguments.at(0);
  const std::string& until = program.arguments.at(1);
  constexpr std::uint64_t kOperations = 500;
  Loaded first(program.path, program.abi);
  Caller of_first(first.plugin(), first.new_communicator(1), program.rows[0]);
  of_first.operations(kOperations, 0);
  const bool is_path = other.starts_with('/') && !other.ends_with('/');
  const auto second = is_path ? std::make_unique<Loaded>(other.c_str(), program.abi) : nullptr;
  if (second != nullptr) {
    Caller(second->plugin(), second->new_communicator(2), program.rows[1])
        .operations(kOperations, 0);
  } else {
    read_journals(other);
    std::this_thread::sleep_for(std::chrono::seconds(1));  // many turns of the drain thread
  }
  std::printf("recording\n");
  std::fflush(stdout);
  wait_for_file(until);
  of_first.operations(kOperations, 0);
  std::exit(0);
}

}  // namespace ringside::guarantees
