// SPDX-License-Identifier: Apache-2.0
#include "test/host/turns.h"

#include <pthread.h>
#include <utility>

namespace ringside::host {

void Turns::add(int thread) {
  auto& worker = workers_[thread];
  if (!worker) worker = std::make_unique<Worker>();
  worker->jobs.push_back(owners_.size());
  owners_.push_back(worker.get());
}

void Turns::set_name(int thread, std::string name) {
  workers_.at(thread)->name = std::move(name);
}

void Turns::set_main(int thread) {
  workers_.at(thread)->is_main = true;
  workers_.at(thread)->started = true;
}

void Turns::run(const Job& job) {
  if (owners_.empty()) return;
  hand_to(0, job);
  for (auto& [number, worker] : workers_) {
    if (worker->is_main) work(*worker, job);
  }
  finished_.acquire();
  for (auto& [number, worker] : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

void Turns::work(Worker& worker, const Job& job) {
  bool is_my_turn = false;
  for (const std::size_t index : worker.jobs) {
    if (!is_my_turn) worker.turn.acquire();
    job(index);
    is_my_turn = index + 1 < owners_.size() && owners_[index + 1] == &worker;
    if (!is_my_turn) hand_to(index + 1, job);
  }
}

// Called by the thread whose turn it is, so workers need no lock.
void Turns::hand_to(std::size_t index, const Job& job) {
  if (index == owners_.size()) {
    finished_.release();
    return;
  }
  Worker& worker = *owners_[index];
  if (!worker.started) {
    worker.started = true;
    worker.thread = std::thread([this, &worker, &job] {
      // The kernel takes 15 bytes and a terminator.
      pthread_setname_np(pthread_self(), worker.name.substr(0, 15).c_str());
      work(worker, job);
    });
  }
  worker.turn.release();
}

}  // namespace ringside::host
