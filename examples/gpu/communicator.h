// SPDX-License-Identifier: Apache-2.0
//
// A rank's device, stream and communicator.
#ifndef RINGSIDE_EXAMPLES_GPU_COMMUNICATOR_H
#define RINGSIDE_EXAMPLES_GPU_COMMUNICATOR_H

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <string>
#include <vector>

namespace example {

class Communicator {
 public:
  /// Rank 0 writes NCCL's id to the file, the others wait for it.
  Communicator(int rank, int ranks, const std::string& id_file);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  ncclComm_t handle() const { return handle_; }
  cudaStream_t stream() const { return stream_; }

  /// Waits for the stream's work.
  void synchronize() const;

  /// The average of all ranks' values. It is itself a collective.
  double average(double value) const;

  /// Waits for all ranks and destroys the communicator.
  void close();

 private:
  const int rank_;
  const int ranks_;
  ncclComm_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

/// Device memory for a number of floats, all 1 to begin with.
class Floats {
 public:
  explicit Floats(std::size_t count);
  ~Floats();
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  float* at(std::size_t index) const { return data_ + index; }
  float read(std::size_t index) const;

 private:
  float* data_ = nullptr;
};

}  // namespace example

#endif  // RINGSIDE_EXAMPLES_GPU_COMMUNICATOR_H
