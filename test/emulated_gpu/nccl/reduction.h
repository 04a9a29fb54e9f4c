// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of reductions, on arrays of any element type NCCL knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "function_table.h"

namespace emugpu::nccl {

std::size_t element_size(ElementType type);

class Reduction {
 public:
  // `scalar` is the operation's argument as NCCL's host code encodes it: the factor, twice the
  // divisor plus one for signed types, or what turns a minimum of integers into a maximum.
  Reduction(Operation operation, ElementType type, std::uint64_t scalar);

  // Moves bytes only.
  static Reduction copying() { return {Operation::kSum, ElementType::kUint8, 0}; }

  std::size_t element_size() const { return element_size_; }

  // A rank's own input as it enters the reduction: `scratch` holds it where it must be scaled.
  const char* prepare(const char* input, std::size_t count, std::vector<char>& scratch) const;

  // result = left (op) right; the result may be either of them.
  void combine(char* result, const char* left, const char* right, std::size_t count) const;

  // Turns the reduction of all inputs into the result.
  void finish(char* result, std::size_t count) const;

 private:
  using Combine = void (*)(char*, const char*, const char*, std::size_t, std::uint64_t);
  using Transform = void (*)(char*, const char*, std::size_t, std::uint64_t);

  template <class Element>
  void choose_arithmetic(Operation operation);

  std::size_t element_size_;
  std::uint64_t scalar_;
  Combine combine_ = nullptr;
  Transform prepare_ = nullptr;  // null: the identity
  Transform finish_ = nullptr;
};

}  // namespace emugpu::nccl
