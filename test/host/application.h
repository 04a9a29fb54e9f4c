// SPDX-License-Identifier: Apache-2.0
//
// The application's actions beside NCCL: it calls Ringside's C API, and forks.
#ifndef RINGSIDE_TEST_HOST_APPLICATION_H
#define RINGSIDE_TEST_HOST_APPLICATION_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "test/host/options.h"

namespace ringside::host {

class Application {
 public:
  /// `mask`: NCCL's.
  Application(std::string plugin, std::vector<Action> actions, int* mask)
      : plugin_(std::move(plugin)), actions_(std::move(actions)), mask_(mask) {}

  /// Does what is to be done after so many calls.
  void act(std::int64_t calls);

  /// Forks a child that exits normally; waits for it.
  void fork_and_exit();

  /// Prints ringside_status as a line of JSON.
  void print_status();

  /// Says what went wrong; empty if nothing did. Actions that were never due count.
  std::string trouble() const;

 private:
  void do_action(const Action& action);
  void* function(const char* name);
  void expect(const std::string& what, int result, int expected);

  std::string plugin_;
  std::vector<Action> actions_;
  int* mask_;
  int mask_before_ = 0;
  std::size_t next_ = 0;
  void* library_ = nullptr;
  std::string trouble_;
};

}  // namespace ringside::host

#endif  // RINGSIDE_TEST_HOST_APPLICATION_H
