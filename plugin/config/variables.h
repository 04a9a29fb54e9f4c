// SPDX-License-Identifier: Apache-2.0
//
// The table of environment variables. Reading them, the advice of `ringside doctor`, the overview
// in docs/environment.md and the messages about names that do not exist all come from it.
#ifndef RINGSIDE_PLUGIN_CONFIG_VARIABLES_H
#define RINGSIDE_PLUGIN_CONFIG_VARIABLES_H

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/config/config.h"

namespace ringside::config {

struct Variable {
  std::string name;
  std::string meaning;       ///< what it sets, for the overview
  std::string values;        ///< the allowed values, in words
  std::string default_text;  ///< the default as a value, or in words
  bool is_in_trace = true;   ///< Config::listed() includes it
  /// Parses a value into `config`. Returns false if it is not valid; `detail` may then have a
  /// reason.
  std::function<bool(std::string_view text, Config& config, std::string& detail)> read;
  std::function<std::string(const Config& config)> show;
};

/// Returns all variables in the order in which they are read. A later one may depend on an earlier
/// one.
const std::vector<Variable>& variables();

/// Returns a sentence for each name that is no variable of Ringside. It has the nearest variable.
/// `names` may be "NAME=value", as in an environment.
std::vector<std::string> trouble_with_names(const std::vector<std::string>& names);

}  // namespace ringside::config

#endif  // RINGSIDE_PLUGIN_CONFIG_VARIABLES_H
