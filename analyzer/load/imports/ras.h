// SPDX-License-Identifier: Apache-2.0
//
// Reads what NCCL's RAS service answers, as `ncclras` and `ringside ras --save` write it.
#ifndef RINGSIDE_ANALYZER_LOAD_IMPORTS_RAS_H
#define RINGSIDE_ANALYZER_LOAD_IMPORTS_RAS_H

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/ras.h"

namespace ringside::load {

/// Whether a file with these first bytes is an answer of RAS: it is cheap.
bool begins_as_ras(std::string_view bytes);

/// Reads the JSON form (NCCL 2.28 and newer) or the text form. Returns why it is neither; empty if
/// it is one.
std::string read_ras(std::string_view text, model::Ras& ras);

/// The same from a file.
std::string load_ras(const std::string& path, model::Ras& ras);

/// The answers of RAS directly in those of these paths that are directories, sorted.
std::vector<std::string> find_ras(const std::vector<std::string>& paths);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_IMPORTS_RAS_H
