// SPDX-License-Identifier: Apache-2.0
//
// Checks names that begin with RINGSIDE_ and are not in the table of variables.
#ifndef RINGSIDE_PLUGIN_CONFIG_VARIABLE_NAMES_H
#define RINGSIDE_PLUGIN_CONFIG_VARIABLE_NAMES_H

#include <string>
#include <vector>

namespace ringside::config {

/// Returns a sentence for each name that is no variable of Ringside. It has the nearest variable,
/// or the replacement of one that is gone. `names` may be "NAME=value", as in an environment.
std::vector<std::string> trouble_with_names(const std::vector<std::string>& names);

}  // namespace ringside::config

#endif  // RINGSIDE_PLUGIN_CONFIG_VARIABLE_NAMES_H
