// SPDX-License-Identifier: Apache-2.0
#include "reduction.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

#include "cuda/log.h"

namespace emugpu::nccl {
namespace {

// A 16-bit float whose arithmetic happens in float.
struct Float16 {
  std::uint16_t bits;

  operator float() const { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
  static Float16 from(float value) {
    return {std::bit_cast<std::uint16_t>(static_cast<_Float16>(value))};
  }
};

struct BFloat16 {
  std::uint16_t bits;

  operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
  static BFloat16 from(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t round_to_even = 0x7fff + ((wide >> 16) & 1);
    return {static_cast<std::uint16_t>((wide + round_to_even) >> 16)};
  }
};

template <class Element>
constexpr bool kIsNarrow = std::is_same_v<Element, Float16> || std::is_same_v<Element, BFloat16>;

// The type in which an element is computed.
template <class Element>
using Wide = std::conditional_t<kIsNarrow<Element>, float, Element>;

template <class Element>
Element narrow(Wide<Element> value) {
  if constexpr (kIsNarrow<Element>) {
    return Element::from(value);
  } else {
    return value;
  }
}

template <class Element>
Element element_in(std::uint64_t scalar) {
  Element value;
  std::memcpy(&value, &scalar, sizeof value);
  return value;
}

struct Sum {
  template <class Number>
  static Number apply(Number left, Number right, std::uint64_t) {
    return static_cast<Number>(left + right);
  }
};

struct Product {
  template <class Number>
  static Number apply(Number left, Number right, std::uint64_t) {
    return static_cast<Number>(left * right);
  }
};

struct MinimumOrMaximum {
  static constexpr std::uint64_t kMaximumBit = 1;

  template <std::floating_point Number>
  static Number apply(Number left, Number right, std::uint64_t scalar) {
    return (scalar & kMaximumBit) != 0 ? std::max(left, right) : std::min(left, right);
  }

  // Flipping all bits reverses the order, flipping the sign bit makes signed numbers compare as
  // unsigned ones: the host chose the mask such that the wanted element is the smallest.
  template <std::unsigned_integral Number>
  static Number apply(Number left, Number right, std::uint64_t scalar) {
    const auto mask = static_cast<Number>(scalar);
    return static_cast<Number>(left ^ mask) < static_cast<Number>(right ^ mask) ? left : right;
  }
};

// The elements need not be aligned to their size: user buffers may start anywhere. The copies
// compile to plain moves.
template <class Element>
Element load(const char* array, std::size_t index) {
  Element value;
  std::memcpy(&value, array + index * sizeof value, sizeof value);
  return value;
}

template <class Element>
void store(char* array, std::size_t index, Element value) {
  std::memcpy(array + index * sizeof value, &value, sizeof value);
}

template <class Element, class Operator>
void combine_arrays(char* result, const char* left, const char* right, std::size_t count,
                    std::uint64_t scalar) {
  for (std::size_t i = 0; i < count; ++i) {
    const Wide<Element> a = load<Element>(left, i);
    const Wide<Element> b = load<Element>(right, i);
    store(result, i, narrow<Element>(Operator::apply(a, b, scalar)));
  }
}

template <class Element>
void scale_array(char* result, const char* input, std::size_t count, std::uint64_t scalar) {
  const Wide<Element> factor = element_in<Element>(scalar);
  for (std::size_t i = 0; i < count; ++i) {
    const Wide<Element> value = load<Element>(input, i);
    store(result, i, narrow<Element>(static_cast<Wide<Element>>(value * factor)));
  }
}

template <std::unsigned_integral Element>
void divide_array(char* result, const char* input, std::size_t count, std::uint64_t scalar) {
  const auto divisor = static_cast<Element>(scalar >> 1);
  const bool is_signed = (scalar & 1) != 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = load<Element>(input, i);
    const bool negative = is_signed && static_cast<std::make_signed_t<Element>>(value) < 0;
    const auto magnitude = static_cast<Element>(negative ? -value : value);
    const auto quotient = static_cast<Element>(magnitude / divisor);
    store(result, i, static_cast<Element>(negative ? -quotient : quotient));
  }
}

}  // namespace

std::size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return 2;
    case ElementType::kInt32:
    case ElementType::kUint32:
    case ElementType::kFloat32:
      return 4;
    case ElementType::kInt64:
    case ElementType::kUint64:
    case ElementType::kFloat64:
      return 8;
    default:
      return 1;
  }
}

template <class Element>
void Reduction::choose_arithmetic(Operation operation) {
  switch (operation) {
    case Operation::kSum:
      combine_ = combine_arrays<Element, Sum>;
      break;
    case Operation::kProduct:
      combine_ = combine_arrays<Element, Product>;
      break;
    case Operation::kMinimumOrMaximum:
      combine_ = combine_arrays<Element, MinimumOrMaximum>;
      break;
    case Operation::kScaledSum:
      combine_ = combine_arrays<Element, Sum>;
      prepare_ = scale_array<Element>;
      break;
    case Operation::kSumThenDivide:
      combine_ = combine_arrays<Element, Sum>;
      if constexpr (std::unsigned_integral<Element>) finish_ = divide_array<Element>;
      break;
  }
}

// Signed integers are computed as unsigned ones: the same bits, and no undefined overflow.
Reduction::Reduction(Operation operation, ElementType type, std::uint64_t scalar)
    : element_size_(nccl::element_size(type)), scalar_(scalar) {
  switch (type) {
    case ElementType::kInt8:
    case ElementType::kUint8:
      choose_arithmetic<std::uint8_t>(operation);
      break;
    case ElementType::kInt32:
    case ElementType::kUint32:
      choose_arithmetic<std::uint32_t>(operation);
      break;
    case ElementType::kInt64:
    case ElementType::kUint64:
      choose_arithmetic<std::uint64_t>(operation);
      break;
    case ElementType::kFloat16:
      choose_arithmetic<Float16>(operation);
      break;
    case ElementType::kBfloat16:
      choose_arithmetic<BFloat16>(operation);
      break;
    case ElementType::kFloat32:
      choose_arithmetic<float>(operation);
      break;
    case ElementType::kFloat64:
      choose_arithmetic<double>(operation);
      break;
    default:
      fatal("reductions of 8-bit floats are not emulated");
  }
}

const char* Reduction::prepare(const char* input, std::size_t count,
                               std::vector<char>& scratch) const {
  if (prepare_ == nullptr) return input;
  scratch.resize(count * element_size_);
  prepare_(scratch.data(), input, count, scalar_);
  return scratch.data();
}

void Reduction::combine(char* result, const char* left, const char* right,
                        std::size_t count) const {
  combine_(result, left, right, count, scalar_);
}

void Reduction::finish(char* result, std::size_t count) const {
  if (finish_ != nullptr) finish_(result, result, count, scalar_);
}

}  // namespace emugpu::nccl
