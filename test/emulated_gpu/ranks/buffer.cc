// SPDX-License-Identifier: Apache-2.0
#include "buffer.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "status.h"

namespace ranks {
namespace {

struct BFloat16 {
  std::uint16_t bits;
  // Whole numbers below 256 survive dropping the low half.
  explicit BFloat16(double value)
      : bits(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >>
                                        16)) {}
  explicit operator double() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

// Calls the function with a value of the C++ type that represents the NCCL type.
template <class Function>
void with_type(ncclDataType_t type, Function function) {
  switch (type) {
    case ncclInt8:
      return function(std::int8_t{});
    case ncclUint8:
      return function(std::uint8_t{});
    case ncclInt32:
      return function(std::int32_t{});
    case ncclUint32:
      return function(std::uint32_t{});
    case ncclInt64:
      return function(std::int64_t{});
    case ncclUint64:
      return function(std::uint64_t{});
    case ncclFloat16:
      return function(_Float16{});
    case ncclFloat32:
      return function(float{});
    case ncclFloat64:
      return function(double{});
    case ncclBfloat16:
      return function(BFloat16{0});
    default:
      throw std::invalid_argument("type without a C++ counterpart here");
  }
}

std::array<double, kPeriod> tabulate(const Values& values) {
  std::array<double, kPeriod> table{};
  for (std::size_t position = 0; position < kPeriod; ++position) table[position] = values(position);
  return table;
}

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  std::size_t size = 0;
  with_type(type, [&](auto example) { size = sizeof example; });
  return size;
}

const char* nccl_name_of(ncclDataType_t type) {
  constexpr std::array kNames{"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",
                              "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                              "ncclFloat64", "ncclBfloat16"};
  return kNames.at(static_cast<std::size_t>(type));
}

double contribution(int rank, std::size_t position) {
  return static_cast<double>((static_cast<std::size_t>(rank) + position) % kPeriod);
}

Buffer::Buffer(std::size_t count, ncclDataType_t type)
    : count_(count), type_(type), element_size_(size_of(type)) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, count * element_size_), "cudaMalloc");
  data_ = static_cast<char*>(memory);
}

Buffer::~Buffer() {
  cudaFree(data_);
}

void Buffer::fill(std::size_t begin, std::size_t count, const Values& values) {
  const auto table = tabulate(values);
  with_type(type_, [&](auto example) {
    using Element = decltype(example);
    std::vector<Element> host(count, example);
    for (std::size_t i = 0; i < count; ++i) host[i] = static_cast<Element>(table[i % kPeriod]);
    check(cudaMemcpy(at(begin), host.data(), count * element_size_, cudaMemcpyHostToDevice),
          "copy to the device");
  });
}

void Buffer::expect(const std::string& what, std::size_t begin, std::size_t count,
                    const Values& values, double tolerance) const {
  const auto table = tabulate(values);
  with_type(type_, [&](auto example) {
    using Element = decltype(example);
    std::vector<Element> host(count, example);
    check(cudaMemcpy(host.data(), at(begin), count * element_size_, cudaMemcpyDeviceToHost),
          "copy to the host");
    for (std::size_t i = 0; i < count; ++i) {
      const auto actual = static_cast<double>(host[i]);
      const double expected = table[i % kPeriod];
      if (std::abs(actual - expected) <= tolerance * std::abs(expected)) continue;
      throw std::runtime_error(what + ": element " + std::to_string(i) + " of " +
                               std::to_string(count) + " is " + std::to_string(actual) +
                               ", expected " + std::to_string(expected));
    }
  });
}

}  // namespace ranks
