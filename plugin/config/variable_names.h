// SPDX-License-Identifier: Apache-2.0
//
// Names that begin with RINGSIDE_ and are not in the table of variables.
#ifndef RINGSIDE_PLUGIN_CONFIG_VARIABLE_NAMES_H
#define RINGSIDE_PLUGIN_CONFIG_VARIABLE_NAMES_H

#include <string>
#include <vector>

namespace ringside::control {

/// A sentence for each such name that is none of Ringside's: which variable is nearest to it, or
/// what replaces it. `names` may be "NAME=value", as in an environment.
std::vector<std::string> trouble_with_names(const std::vector<std::string>& names);

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_CONFIG_VARIABLE_NAMES_H
