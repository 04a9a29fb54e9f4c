// SPDX-License-Identifier: Apache-2.0
//
// Runs a list of jobs strictly one after the other, each on the thread that it belongs to. A thread
// begins with its first job and ends after its last, as most of NCCL's do.
#ifndef RINGSIDE_TEST_HOST_TURNS_H
#define RINGSIDE_TEST_HOST_TURNS_H

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace ringside::host {

class Turns {
 public:
  using Job = std::function<void(std::size_t index)>;

  /// Job number size() so far belongs to thread, a number of the caller's choice.
  void add(int thread);

  void set_name(int thread, std::string name);

  /// This thread's jobs run on the thread that calls run().
  void set_main(int thread);

  std::size_t size() const { return owners_.size(); }

  /// Returns when all jobs have run.
  void run(const Job& job);

 private:
  struct Worker {
    std::string name;
    std::vector<std::size_t> jobs;
    std::binary_semaphore turn{0};
    std::thread thread;
    bool is_main = false;
    bool started = false;
  };

  void work(Worker& worker, const Job& job);
  void hand_to(std::size_t index, const Job& job);

  std::map<int, std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> owners_;
  std::binary_semaphore finished_{0};
};

}  // namespace ringside::host

#endif  // RINGSIDE_TEST_HOST_TURNS_H
