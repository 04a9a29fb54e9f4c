// SPDX-License-Identifier: Apache-2.0
#include "examples/gpu/communicator.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <unistd.h>

#include "examples/gpu/check.h"

namespace example {
namespace {

void write_id(const std::string& file, const ncclUniqueId& id) {
  if (std::filesystem::exists(file)) {
    throw std::runtime_error(file + " exists already: remove it, or name another --id-file");
  }
  // Renamed when complete, so that nobody reads half of it.
  const std::string unfinished = file + ".part";
  std::ofstream stream(unfinished, std::ios::binary);
  stream.write(id.internal, sizeof id.internal);
  stream.close();
  if (!stream) throw std::runtime_error("cannot write " + unfinished);
  std::filesystem::rename(unfinished, file);
}

ncclUniqueId wait_for_id(const std::string& file) {
  constexpr std::chrono::seconds kPatience(60);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!std::filesystem::exists(file)) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("rank 0 has not written " + file + " within a minute");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ncclUniqueId id;
  std::ifstream stream(file, std::ios::binary);
  stream.read(id.internal, sizeof id.internal);
  if (!stream) throw std::runtime_error("cannot read NCCL's id from " + file);
  return id;
}

// NCCL refuses two ranks of one host on one GPU. With a host id of its own, each rank is a host to
// NCCL, and the ranks talk over the network, here loopback.
void share_gpus(int rank) {
  const std::string host = "collectives-bench-" + std::to_string(rank);
  setenv("NCCL_HOSTID", host.c_str(), 0);
  setenv("NCCL_SOCKET_IFNAME", "lo", 0);
}

}  // namespace

Communicator::Communicator(int rank, int ranks, const std::string& id_file)
    : rank_(rank), ranks_(ranks) {
  // As job launchers do; Ringside writes it into the trace.
  setenv("RANK", std::to_string(rank).c_str(), 0);
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices == 0) throw std::runtime_error("there is no CUDA device here");
  if (ranks > devices) share_gpus(rank);
  check(cudaSetDevice(rank % devices), "cudaSetDevice");
  check(cudaStreamCreate(&stream_), "cudaStreamCreate");

  ncclUniqueId id;
  if (rank == 0) {
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    write_id(id_file, id);
  } else {
    id = wait_for_id(id_file);
  }
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.commName = "world";
  check(ncclCommInitRankConfig(&handle_, ranks, id, rank, &config), "ncclCommInitRankConfig");
}

Communicator::~Communicator() {
  if (handle_ != nullptr) ncclCommAbort(handle_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

void Communicator::synchronize() const {
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  ncclResult_t error = ncclSuccess;
  check(ncclCommGetAsyncError(handle_, &error), "ncclCommGetAsyncError");
  check(error, "asynchronous error of NCCL");
}

double Communicator::average(double value) const {
  Floats sum(1);
  const auto own = static_cast<float>(value);
  check(cudaMemcpy(sum.at(0), &own, sizeof own, cudaMemcpyHostToDevice), "cudaMemcpy");
  check(ncclAllReduce(sum.at(0), sum.at(0), 1, ncclFloat, ncclSum, handle_, stream_),
        "ncclAllReduce");
  synchronize();
  return static_cast<double>(sum.read(0)) / ranks_;
}

void Communicator::close() {
  check(ncclCommFinalize(handle_), "ncclCommFinalize");
  check(ncclCommDestroy(handle_), "ncclCommDestroy");
  handle_ = nullptr;
}

Floats::Floats(std::size_t count) {
  check(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(float)), "cudaMalloc");
  const std::vector<float> ones(count, 1.0F);
  check(cudaMemcpy(data_, ones.data(), count * sizeof(float), cudaMemcpyHostToDevice),
        "cudaMemcpy");
}

Floats::~Floats() {
  cudaFree(data_);
}

float Floats::read(std::size_t index) const {
  float value = 0;
  check(cudaMemcpy(&value, data_ + index, sizeof value, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return value;
}

}  // namespace example
