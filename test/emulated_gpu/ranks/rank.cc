// SPDX-License-Identifier: Apache-2.0
#include "rank.h"

#include <algorithm>
#include <chrono>
#include <signal.h>
#include <thread>
#include <unistd.h>

#include "status.h"

using namespace std::chrono_literals;

namespace ranks {
namespace {

bool due(const Fault& fault, int rank, long collective) {
  return fault.rank == rank && collective >= fault.at;
}

std::string log_path(const Options& options, int rank) {
  if (!options.log_calls) return "";
  return options.directory + "/calls-" + std::to_string(rank) + ".jsonl";
}

}  // namespace

Rank::Rank(const Options& options, Board& board, int index)
    : options_(options), board_(board), index_(index), log_(log_path(options, index)) {
  check(cudaSetDevice(options.device_of(index)), "cudaSetDevice");
  ncclUniqueId id;
  if (index == 0) {
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    board.publish_id(id);
  } else {
    id = board.wait_for_id();
  }
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.commName = "world";
  ncclComm_t communicator = nullptr;
  check(ncclCommInitRankConfig(&communicator, options.rank_count, id, index, &config),
        "ncclCommInitRankConfig");
  world_ = join(communicator, "world");
}

Group Rank::join(ncclComm_t communicator, const char* name) {
  Group group;
  group.name = name;
  group.communicator = communicator;
  check(ncclCommUserRank(communicator, &group.rank), "ncclCommUserRank");
  check(ncclCommCount(communicator, &group.size), "ncclCommCount");
  check(cudaStreamCreateWithFlags(&group.stream, cudaStreamNonBlocking), "cudaStreamCreate");
  const std::lock_guard lock(mutex_);
  communicators_.push_back(communicator);
  return group;
}

Group Rank::split(const Group& group, int color, const char* name) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.commName = name;
  ncclComm_t communicator = nullptr;
  check(ncclCommSplit(group.communicator, color, group.rank, &communicator, &config),
        "ncclCommSplit");
  return join(communicator, name);
}

void Rank::destroy(Group group) {
  check(ncclCommDestroy(group.communicator), "ncclCommDestroy");
  check(cudaStreamDestroy(group.stream), "cudaStreamDestroy");
  const std::lock_guard lock(mutex_);
  std::erase(communicators_, group.communicator);
}

void Rank::leave() {
  destroy(world_);
}

void Rank::abort() {
  const std::lock_guard lock(mutex_);
  for (const ncclComm_t communicator : communicators_) ncclCommAbort(communicator);
  communicators_.clear();
}

void Rank::begin_collective() {
  const long number = board_.rank(index_).collectives++;
  if (due(options_.late, index_, number)) {
    std::this_thread::sleep_for(std::chrono::microseconds(options_.late_microseconds));
  }
  if (due(options_.kill, index_, number)) raise(SIGKILL);
  if (due(options_.stuck, index_, number)) {
    for (;;) pause();
  }
}

std::size_t Rank::all_reduce_count(std::size_t count) {
  if (!due(options_.mismatch, index_, collectives() - 1)) return count;
  if (mismatched_.exchange(true)) return count;
  return std::max<std::size_t>(1, count / 2);
}

bool Rank::leaves_out() const {
  return options_.leave_out.rank == index_ && collectives() - 1 == options_.leave_out.at;
}

void Rank::wait(const Group& group) {
  const std::int64_t begin = monotonic_ns();
  constexpr std::chrono::nanoseconds kShortestSleep = 20us, kLongestSleep = 1ms;
  for (;;) {
    const cudaError_t progress = cudaStreamQuery(group.stream);
    if (progress == cudaSuccess) {
      log_.waited(group, begin);
      return;
    }
    if (progress != cudaErrorNotReady) check(progress, "cudaStreamQuery");
    ncclResult_t error = ncclSuccess;
    check(ncclCommGetAsyncError(group.communicator, &error), "ncclCommGetAsyncError");
    check(error, "asynchronous error");
    // A share of the time waited: many ranks must not take the processor from what they wait for.
    const std::chrono::nanoseconds waited(monotonic_ns() - begin);
    std::this_thread::sleep_for(std::clamp(waited / 16, kShortestSleep, kLongestSleep));
  }
}

}  // namespace ranks
