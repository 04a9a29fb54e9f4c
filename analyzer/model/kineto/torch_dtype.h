// SPDX-License-Identifier: Apache-2.0
//
// Datatypes by the names that PyTorch gives them in traces (c10::ScalarType).
#ifndef RINGSIDE_ANALYZER_MODEL_KINETO_TORCH_DTYPE_H
#define RINGSIDE_ANALYZER_MODEL_KINETO_TORCH_DTYPE_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace ringside::model {

/// Size of an element of a datatype ("BFloat16"); nothing if it is not known.
inline std::optional<std::uint64_t> element_bytes(std::string_view dtype) {
  using Pair = std::pair<std::string_view, std::uint64_t>;
  constexpr std::array<Pair, 17> kSizes = {{{"Byte", 1},
                                            {"Char", 1},
                                            {"Bool", 1},
                                            {"Short", 2},
                                            {"Half", 2},
                                            {"BFloat16", 2},
                                            {"UInt16", 2},
                                            {"Int", 4},
                                            {"Float", 4},
                                            {"UInt32", 4},
                                            {"ComplexHalf", 4},
                                            {"Long", 8},
                                            {"Double", 8},
                                            {"UInt64", 8},
                                            {"ComplexFloat", 8},
                                            {"ComplexDouble", 16}}};
  const auto* const found = std::find_if(kSizes.begin(), kSizes.end(),
                                         [&](const Pair& one) { return one.first == dtype; });
  return found != kSizes.end()          ? std::optional(found->second)
         : dtype.starts_with("Float8_") ? std::optional<std::uint64_t>(1)
                                        : std::nullopt;
}

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_KINETO_TORCH_DTYPE_H
