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

namespace ringside::control {

struct Variable {
  std::string name;
  std::string meaning;       ///< for the overview
  std::string values;        ///< what it must be
  std::string default_text;  ///< as it would be given; or in words where nothing is to be given
  bool is_in_trace = true;   ///< Config::listed() has it
  /// Takes the value. False if it cannot be used; `detail` may then say more, in parentheses.
  std::function<bool(std::string_view text, Config& config, std::string& detail)> read;
  /// The value in force.
  std::function<std::string(const Config& config)> show;
};

/// In the order in which they are read: a later one may depend on an earlier one.
const std::vector<Variable>& variables();

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_CONFIG_VARIABLES_H
