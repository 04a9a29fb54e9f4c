// SPDX-License-Identifier: Apache-2.0
//
// nccl_ranks: runs NCCL collectives among processes of this machine, on emulated devices.
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

#include "environment.h"
#include "job.h"
#include "scenarios.h"

namespace {

// Returns only by exception.
[[noreturn]] void replace_by(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  throw std::system_error(errno, std::generic_category(), "cannot run " + command[0]);
}

}  // namespace

int main(int argument_count, char** arguments) {
  using namespace ranks;
  if (argument_count == 2 && std::strcmp(arguments[1], "--help") == 0) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  try {
    const Options options = parse_options(argument_count, arguments);
    for (const std::string& name : options.scenarios) scenario_named(name);
    std::filesystem::create_directories(options.directory);
    prepare_environment(options);
    if (!options.command.empty()) replace_by(options.command);
    Job job(options, Board::create(options.rank_count));
    job.wait();
    return job.judge() ? 0 : 1;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "nccl_ranks: %s\n%s", error.what(), kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nccl_ranks: %s\n", error.what());
    return 1;
  }
}
