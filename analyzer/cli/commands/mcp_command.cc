// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/mcp/mcp_tools.h"
#include "analyzer/cli/output.h"
#include "live/hosts/running_command.h"

#ifndef RINGSIDE_VERSION
#error "RINGSIDE_VERSION is defined by analyzer/CMakeLists.txt"
#endif

namespace ringside::cli {
namespace {

using nlohmann::json;

struct McpOptions {
  std::vector<std::string> directories;
};

constexpr char kMcpExample[] =
    "Speaks the Model Context Protocol (JSON-RPC 2.0, a message on each line) on standard "
    "input and output, until its input ends. Its tools are commands of ringside, whose JSON they "
    "answer: "
    "summary, hang, stragglers, what_if, network, compare, query and views. It writes no file, and "
    "reads none outside of these directories. docs/for-agents.md says which to ask.\n"
    "\n"
    "Examples:\n"
    "  ringside mcp /shared/traces\twhat a client of the protocol starts\n"
    "  claude mcp add ringside -- ringside mcp /shared/traces\tin one of them\n";

constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;

constexpr std::chrono::minutes kMostTime(10);  // for a tool

json result_message(const json& id, json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

json error_message(const json& id, int code, const std::string& text) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", text}}}};
}

class McpServer {
 public:
  explicit McpServer(const McpDirectories& directories) : directories_(directories) {}

  /// The answer to a message; null for one that wants none.
  json answer(const std::string& line) const {
    const json message = json::parse(line, nullptr, false);
    if (message.is_discarded()) {
      return error_message(nullptr, kParseError, "this line is no JSON");
    }
    const json id = message.is_object() ? message.value("id", json()) : json();
    if (!message.is_object() || !message.contains("method") || !message["method"].is_string()) {
      return error_message(id, kInvalidRequest, "this is no request of JSON-RPC");
    }
    if (!message.contains("id")) {
      return nullptr;
    }
    const std::string method = message["method"];
    json parameters = message.value("params", json::object());
    if (!parameters.is_object()) {
      return error_message(id, kInvalidParams, "params is no object");
    }
    if (method == "initialize") {
      return result_message(id, initialize(parameters));
    }
    if (method == "ping") {
      return result_message(id, json::object());
    }
    if (method == "tools/list") {
      return result_message(id, list_tools());
    }
    return method == "tools/call" ? call(id, parameters)
                                  : error_message(id, kMethodNotFound, "there is no " + method);
  }

 private:
  static json initialize(const json& parameters) {
    // Nothing that is said here differs between these versions.
    std::string version = "2025-06-18";
    for (const char* const known : {"2024-11-05", "2025-03-26"}) {
      version = parameters.value("protocolVersion", json()) == known ? known : version;
    }
    return {
        {"protocolVersion", version},
        {"capabilities", {{"tools", json::object()}}},
        {"serverInfo", {{"name", "ringside"}, {"version", RINGSIDE_VERSION}}},
        {"instructions",
         "Ask summary first. \"findings\" say what is wrong, the worst first; \"sentences\" are "
         "the answer. Names that end with _ns are nanoseconds; null is unknown."}};
  }

  json call(const json& id, const json& parameters) const {
    const json name = parameters.value("name", json());
    const json arguments = parameters.value("arguments", json::object());
    if (!name.is_string() || !arguments.is_object()) {
      return error_message(id, kInvalidParams, "a name and an object of arguments are needed");
    }
    std::string error;
    live::HostCommand command;
    command.words = words_of_tool(name, arguments, directories_, error);
    if (!error.empty()) {
      return error_message(id, kInvalidParams, error);
    }
    command.words.insert(command.words.begin(), "/proc/self/exe");
    live::RunningCommand running(std::move(command), kMostTime);
    while (!running.has_ended()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    // A status that says that something is wrong with the job is an answer, too.
    const std::string& output = running.command().output;
    const json answered = json::parse(output, nullptr, false);
    const bool is_error = answered.is_discarded() || !answered.is_object();
    json result = {
        {"content", {{{"type", "text"}, {"text", is_error ? running.command().error : output}}}},
        {"isError", is_error}};
    if (!is_error) {
      result["structuredContent"] = answered;
    }
    return result_message(id, std::move(result));
  }

  const McpDirectories& directories_;
};

ExitStatus run_mcp(const McpOptions& options) {
  std::string error;
  const McpDirectories directories(options.directories, error);
  if (!error.empty()) {
    tell("ringside mcp: " + error);
    return kExitNoInput;
  }
  live::end_commands_with_this_process();
  const McpServer server(directories);
  for (std::string line; std::getline(std::cin, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    const json answer = server.answer(line);
    constexpr auto kReplace = json::error_handler_t::replace;  // what is no UTF-8
    if (!answer.is_null() && !print(answer.dump(-1, ' ', false, kReplace) + '\n')) {
      return kExitInternal;
    }
  }
  return kExitOk;
}

}  // namespace

void add_mcp(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<McpOptions>();
  CLI::App* const command = app.add_subcommand(
      "mcp", "Answer programs over the Model Context Protocol, on standard input and output");
  command->add_option("DIR", options->directories, "Directories with traces, or of such")
      ->required();
  set_command(*command, kMcpExample, {{3, "a directory cannot be read"}}, options, chosen, run_mcp);
}

}  // namespace ringside::cli
