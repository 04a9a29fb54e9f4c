// SPDX-License-Identifier: Apache-2.0
//
// The commands that a program may ask for over the Model Context Protocol.
#ifndef RINGSIDE_ANALYZER_CLI_MCP_MCP_TOOLS_H
#define RINGSIDE_ANALYZER_CLI_MCP_MCP_TOOLS_H

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "analyzer/model/joined.h"

namespace ringside::cli {

/// The directories that may be read, and nothing outside of them.
class McpDirectories {
 public:
  /// `error`: a sentence, if one of them is no directory.
  McpDirectories(const std::vector<std::string>& directories, std::string& error);

  const std::vector<std::string>& paths() const { return paths_; }
  /// Their paths, as the end of a sentence.
  std::string text() const { return model::joined(paths_, paths_.size()); }
  /// The whole path of what a program asks for, which is relative to one of the directories or
  /// whole itself; links are followed. Empty, with an `error`, if it is not within them.
  std::string find(const std::string& asked, std::string& error) const;

 private:
  std::vector<std::string> paths_;
};

/// What `tools/list` answers.
nlohmann::json list_tools(const McpDirectories& directories);

/// The words of a command of `ringside` for this call, which reads nothing outside of the
/// directories; none, with an `error`, if a name or an argument is wrong.
std::vector<std::string> words_of_tool(const std::string& name, const nlohmann::json& arguments,
                                       const McpDirectories& directories, std::string& error);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_MCP_MCP_TOOLS_H
