// SPDX-License-Identifier: Apache-2.0
//
// Finds the plugin, the directory of the traces, and those of its files that are of one run.
#ifndef RINGSIDE_ANALYZER_LAUNCH_FILES_H
#define RINGSIDE_ANALYZER_LAUNCH_FILES_H

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::launch {

inline constexpr char kPluginName[] = "libnccl-profiler-ringside.so";

/// A path that stays right in another working directory; links are not resolved.
std::string absolute_path(const std::string& path);

/// The last part of a path, whatever slashes it ends in; "" for "/" alone.
std::string base_name(std::string path);

/// The places of the plugin for an executable in `directory`, in the order of search: beside it,
/// and in the library directories of its build or installation tree.
std::vector<std::string> plugin_places(const std::string& directory);

/// The plugin that belongs to this executable; "" if it is at none of its places.
std::string find_plugin();

/// Whether it is a library, and has all bytes that its headers say. Whoever loads a copy that was
/// broken off may die of SIGBUS, where a page has no bytes of the file.
bool is_whole_library(const std::string& path);

/// Writes all of a text to an open file. False, with the reason in errno, if that cannot be done; a
/// part may be written then.
bool write_whole(int file, std::string_view text);

/// Makes a directory and those above it, private to the user (0700), and sees that files can be
/// made in it. "" or what is wrong. One that exists is left as it is.
std::string make_directory(const std::string& path);

/// Makes `path`, or `path-2`, `path-3` and so on where that exists already, so that no two callers
/// ever get the same. The one that was made; "" and what is wrong in `error`.
std::string make_new_directory(const std::string& path, std::string& error);

/// The first of these names that does not exist; nothing is made.
std::string unused_directory(const std::string& path);

/// How the plugin begins the names of traces and rings: `ringside.<job>.`, with `_` for what does
/// not suit a file's name.
std::string name_prefix(std::string_view job);

/// Names in a directory that begin with a prefix; none if it cannot be read.
std::set<std::string> names_with_prefix(const std::string& directory, std::string_view prefix);

/// Whether a file of that name is a trace, as the plugin or `ringside recover` names it.
bool is_trace_name(std::string_view name);

}  // namespace ringside::launch

#endif  // RINGSIDE_ANALYZER_LAUNCH_FILES_H
