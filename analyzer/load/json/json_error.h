// SPDX-License-Identifier: Apache-2.0
//
// The error messages of simdjson, in the words that all of its releases share.
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_JSON_ERROR_H
#define RINGSIDE_ANALYZER_LOAD_JSON_JSON_ERROR_H

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

/// Whether a number cannot be parsed. Newer releases have a separate error for integers of more
/// than 64 bits; older ones do not know its name.
inline bool is_number_error(simdjson::error_code error) {
  return error == simdjson::NUMBER_ERROR ||
         std::string_view(simdjson::error_message(error)).starts_with("BIGINT_ERROR");
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_JSON_ERROR_H
