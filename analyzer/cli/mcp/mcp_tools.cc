// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/mcp/mcp_tools.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "analyzer/load/source/descriptor.h"

namespace ringside::cli {
namespace {

using nlohmann::json;

enum class Kind : std::uint8_t { kPath, kOption, kNumber, kFlag, kSql };

const char* type_of(Kind kind) {
  return kind == Kind::kFlag ? "boolean" : kind == Kind::kNumber ? "integer" : "string";
}

struct Argument {
  const char* name;
  Kind kind;
  bool is_required;
  const char* meaning;
};

struct Tool {
  const char* name;
  const char* command;  // of ringside, with options that it always has
  const char* meaning;
  std::vector<Argument> arguments;
};

constexpr Argument kPath = {"path", Kind::kPath, false,
                            "A directory of traces or a file; may be left out where one directory "
                            "is served"};

std::vector<Argument> with_selection(std::vector<Argument> arguments) {
  for (const Argument& one :
       {Argument{"func", Kind::kOption, false, "Only this function: AllReduce, ..., SendRecv"},
        Argument{"comm", Kind::kOption, false, "Only this communicator, by name or hash"},
        Argument{"rank", Kind::kNumber, false, "Only the trace of this rank"},
        Argument{"host", Kind::kOption, false, "Only the traces of this host"}}) {
    arguments.push_back(one);
  }
  return arguments;
}

const std::vector<Tool>& tools() {
  static const std::vector<Tool> all = {
      {"summary", "summary",
       "How a job's NCCL communication went: what is wrong first, then time, algorithm and bus "
       "bandwidth of each kind of operation. Ask this first.",
       with_selection({kPath})},
      {"hang",
       "hang",
       "What is stuck, which rank has not come, and who waits for whom; of traces, or of dumps of "
       "PyTorch's Flight Recorder.",
       {kPath}},
      {"stragglers",
       "stragglers",
       "Who slows the job, by how many percent of the wall time (best, least, most), and since "
       "which iteration.",
       {kPath}},
      {"what_if",
       "what-if",
       "What the job would take without a slow rank or host, with balanced work, or with a faster "
       "network. Without a change it answers all of these questions.",
       {kPath,
        {"without", Kind::kOption, false, "rank:NUMBER or host:NAME is like the others"},
        {"balanced", Kind::kFlag, false, "All ranks have the same work"},
        {"network", Kind::kOption, false, "2x, peak or infinite"}}},
      {"network",
       "network --top=100",
       "How fast each link was, what it waited for, and which stand out as slow. Needs traces that "
       "were recorded with RINGSIDE_EVENTS=default,steps.",
       {kPath}},
      {"compare",
       "compare",
       "What got slower or faster from one run (before) to another (after).",
       {{"before", Kind::kPath, true, "A directory of traces"},
        {"after", Kind::kPath, true, "A directory of traces"}}},
      {"query",
       "query --top=200 --seconds=60",
       "Answers one SELECT of SQLite over the tables and views that `views` lists. At most 200 "
       "rows come back, and it may take 60 seconds.",
       {kPath, {"sql", Kind::kSql, true, "SELECT * FROM rank_times"}}},
      {"views", "query --views", "The views and tables of `query`, with their columns.", {}},
  };
  return all;
}

bool has_type(const json& value, Kind kind) {
  return kind == Kind::kFlag ? value.is_boolean()
         : kind == Kind::kNumber
             ? value.is_number_integer()
             : value.is_string() && value.get<std::string>().find('\0') == std::string::npos;
}

}  // namespace

McpDirectories::McpDirectories(const std::vector<std::string>& directories, std::string& error) {
  for (const std::string& directory : directories) {
    std::error_code failure;
    const auto path = std::filesystem::canonical(directory, failure);
    if (failure || !std::filesystem::is_directory(path, failure)) {
      error = directory + (failure ? ": " + failure.message() : ": is no directory");
      return;
    }
    paths_.push_back(path.string());
  }
}

std::string McpDirectories::find(const std::string& asked, std::string& error) const {
  std::error_code failure;
  for (const std::string& directory : paths_) {
    // A whole path takes the place of the directory.
    const auto path = std::filesystem::canonical(std::filesystem::path(directory) / asked, failure);
    if (!failure && load::is_within(path.string(), paths_)) {
      return path.string();
    }
  }
  error = asked + " is not in a directory that is served: " + text();
  return {};
}

json list_tools(const McpDirectories& directories) {
  json list = json::array();
  for (const Tool& tool : tools()) {
    json properties = json::object();
    json required = json::array();
    for (const Argument& argument : tool.arguments) {
      const std::string served =
          argument.kind == Kind::kPath ? "; within " + directories.text() : std::string();
      properties[argument.name] = {{"type", type_of(argument.kind)},
                                   {"description", argument.meaning + served}};
      if (argument.is_required) {
        required.push_back(argument.name);
      }
    }
    list.push_back({{"name", tool.name},
                    {"description", tool.meaning},
                    {"inputSchema",
                     {{"type", "object"},
                      {"properties", properties},
                      {"required", required},
                      {"additionalProperties", false}}},
                    {"annotations", {{"readOnlyHint", true}, {"openWorldHint", false}}}});
  }
  return {{"tools", list}};
}

std::vector<std::string> words_of_tool(const std::string& name, const json& arguments,
                                       const McpDirectories& directories, std::string& error) {
  const auto tool = std::find_if(tools().begin(), tools().end(),
                                 [&](const Tool& one) { return name == one.name; });
  if (tool == tools().end()) {
    error = "there is no tool " + name;
    return {};
  }
  for (const auto& [key, value] : arguments.items()) {
    if (std::none_of(tool->arguments.begin(), tool->arguments.end(),
                     [&, &key = key](const Argument& one) { return key == one.name; })) {
      error = std::string(name).append(" has no argument ").append(key);
      return {};
    }
  }
  std::vector<std::string> words;
  for (const std::string& directory : directories.paths()) {
    words.push_back("--within=" + directory);
  }
  std::string_view command = tool->command;
  while (!command.empty()) {
    words.emplace_back(command.substr(0, command.find(' ')));
    command.remove_prefix(std::min(command.size(), words.back().size() + 1));
  }
  words.insert(words.end(), {"--format=json", "--quiet"});
  std::vector<std::string> places;  // behind the options
  for (const Argument& argument : tool->arguments) {
    const auto given = arguments.find(argument.name);
    const bool is_given = given != arguments.end() && !given->is_null();
    if (is_given && !has_type(*given, argument.kind)) {
      error = std::string(argument.name).append(" must be of type ").append(type_of(argument.kind));
    } else if (!is_given && argument.kind == Kind::kPath && !argument.is_required &&
               directories.paths().size() == 1) {
      places.push_back(directories.paths().front());
    } else if (!is_given && (argument.is_required || argument.kind == Kind::kPath)) {
      error = std::string(name).append(" needs the argument ").append(argument.name);
      error += argument.kind == Kind::kPath ? ", within " + directories.text() : "";
    } else if (is_given && argument.kind == Kind::kPath) {
      places.push_back(directories.find(*given, error));
    } else if (is_given && argument.kind == Kind::kSql) {
      places.push_back(*given);
    } else if (is_given && argument.kind != Kind::kFlag) {
      words.push_back(std::string("--").append(argument.name).append("="));
      words.back() += given->is_string() ? given->get<std::string>() : given->dump();
    } else if (is_given && given->get<bool>()) {
      words.push_back(std::string("--").append(argument.name));
    }
    if (!error.empty()) {
      return {};
    }
  }
  if (!places.empty()) {
    words.emplace_back("--");  // none of them is an option, whatever it begins with
    words.insert(words.end(), places.begin(), places.end());
  }
  return words;
}

}  // namespace ringside::cli
