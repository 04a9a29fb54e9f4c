// SPDX-License-Identifier: Apache-2.0
//
// Files of other tools, of which some option or command makes use, given where traces are read.
#ifndef RINGSIDE_ANALYZER_LOAD_FOREIGN_FILE_H
#define RINGSIDE_ANALYZER_LOAD_FOREIGN_FILE_H

#include <cstddef>
#include <string>
#include <string_view>

namespace ringside::load {

inline constexpr std::size_t kForeignBegin_bytes = 4096;

/// What a file with these first bytes is, and what reads it: the end of a sentence. Empty if it may
/// be a trace, or nothing is known of it.
std::string foreign_file_text(std::string_view first_bytes);

/// Returns why an option refuses a file: because another tool wrote it, else `trouble`.
/// `is_of_kind` says whether first bytes are of the option's kind.
std::string trouble_or_kind(const std::string& path, const std::string& trouble,
                            bool (*is_of_kind)(std::string_view first_bytes));

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_FOREIGN_FILE_H
