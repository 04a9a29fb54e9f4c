// SPDX-License-Identifier: Apache-2.0
//
// Device buffers of any NCCL type, with contents that can be computed and checked.
#pragma once

#include <cstddef>
#include <functional>
#include <nccl.h>
#include <string>

namespace ranks {

std::size_t size_of(ncclDataType_t type);
const char* nccl_name_of(ncclDataType_t type);

// All contents repeat with this period, which divides no chunk or channel size.
inline constexpr std::size_t kPeriod = 7;

// The value at a position within the period. Small whole numbers are exact in every type.
using Values = std::function<double(std::size_t position)>;

// The value that a rank contributes to a collective.
double contribution(int rank, std::size_t position);

class Buffer {
 public:
  Buffer(std::size_t count, ncclDataType_t type = ncclFloat);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  char* at(std::size_t element) const { return data_ + element * element_size_; }
  void* data() const { return data_; }

  // Values are a function of the position counted from `begin`.
  void fill(std::size_t begin, std::size_t count, const Values& values);

  // Throws if an element differs from the expectation by more than the relative tolerance.
  void expect(const std::string& what, std::size_t begin, std::size_t count, const Values& values,
              double tolerance = 0) const;

 private:
  std::size_t count_;
  ncclDataType_t type_;
  std::size_t element_size_;
  char* data_ = nullptr;
};

}  // namespace ranks
