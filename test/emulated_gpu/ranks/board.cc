// SPDX-License-Identifier: Apache-2.0
#include "board.h"

#include <chrono>
#include <new>
#include <sys/mman.h>
#include <system_error>
#include <thread>

namespace ranks {
namespace {

void pause() {
  std::this_thread::sleep_for(std::chrono::microseconds(100));
}

}  // namespace

Board& Board::create(int rank_count) {
  void* const memory =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  auto* const board = new (memory) Board;
  board->rank_count_ = rank_count;
  return *board;
}

void Board::publish_id(const ncclUniqueId& id) {
  id_ = id;
  id_published_ = true;
}

ncclUniqueId Board::wait_for_id() const {
  while (!id_published_) pause();
  return id_;
}

void Board::barrier() {
  const int passed = barriers_passed_;
  if (++arrived_ == rank_count_) {
    arrived_ = 0;
    ++barriers_passed_;
    return;
  }
  while (barriers_passed_ == passed) pause();
}

double Board::average_measurement() const {
  double sum = 0;
  for (int i = 0; i < rank_count_; ++i) sum += ranks_[i].measurement;
  return sum / rank_count_;
}

}  // namespace ranks
