// SPDX-License-Identifier: Apache-2.0
//
// What simdjson finds wrong, in the words that all of its releases share.
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_ERROR_H
#define RINGSIDE_ANALYZER_LOAD_JSON_ERROR_H

#include <simdjson.h>
#include <string>
#include <string_view>

namespace ringside::load {

/// Newer releases put the name of the error first and, of some, say that it is fatal.
inline std::string json_error_text(simdjson::error_code error) {
  std::string_view text = simdjson::error_message(error);
  const std::size_t name = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
  if (name != text.npos && text.substr(name).starts_with(": ")) {
    text.remove_prefix(name + 2);
  }
  return std::string(text.substr(0, text.find("  This is a fatal")));
}

/// Whether it is a number that does not fit. Newer releases have an error of its own for integers
/// of more than 64 bits, whose name older ones do not know.
inline bool is_number_error(simdjson::error_code error) {
  return error == simdjson::NUMBER_ERROR || error == simdjson::NUMBER_OUT_OF_RANGE ||
         std::string_view(simdjson::error_message(error)).starts_with("BIGINT_ERROR");
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_ERROR_H
