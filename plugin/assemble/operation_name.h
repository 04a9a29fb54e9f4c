// SPDX-License-Identifier: Apache-2.0
//
// How all messages and tables name an operation by its number. Plugin and analyzer use it.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_OPERATION_NAME_H
#define RINGSIDE_PLUGIN_ASSEMBLE_OPERATION_NAME_H

#include <cstdint>
#include <string>
#include <string_view>

namespace ringside::assemble {

/// "AllReduce #5".
inline std::string numbered(std::string_view function, std::uint64_t number) {
  return std::string(function) + " #" + std::to_string(number);
}

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_OPERATION_NAME_H
