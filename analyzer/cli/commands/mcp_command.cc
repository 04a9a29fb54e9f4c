// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <poll.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/mcp/mcp_tools.h"
#include "analyzer/cli/output.h"
#include "analyzer/report/document/numbers.h"
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
    "This command speaks the Model Context Protocol (JSON-RPC 2.0, a message on each line) on "
    "standard input and output, until its input ends. Its tools are commands of ringside, whose "
    "JSON they answer: summary, hang, stragglers, what_if, network, compare, query and views. It "
    "writes no file, and reads none outside of these directories, whatever links are in them. When "
    "its input ends, the commands that run end, too. docs/for-agents.md says which to ask.\n"
    "\nExamples:\n"
    "  ringside mcp /shared/traces\twhat a client of the protocol starts\n"
    "  claude mcp add ringside -- ringside mcp /shared/traces\tin one of them\n";

constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;

constexpr std::chrono::minutes kMostTime(10);  // for a tool
constexpr std::size_t kMostCalls = 8;          // at once

json result_message(const json& id, json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

json error_message(const json& id, int code, const std::string& text) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", text}}}};
}

class McpServer {
 public:
  explicit McpServer(const McpDirectories& directories) : directories_(directories) {}

  /// Answers messages until its input ends; what runs then is ended. False if nobody reads the
  /// answers.
  bool serve() {
    constexpr int kLook_ms = 5;  // for commands that have ended
    std::string unread;
    std::array<char, 65536> bytes;
    while (is_heard_) {
      pollfd input{STDIN_FILENO, POLLIN, 0};
      ::poll(&input, 1, calls_.empty() ? -1 : kLook_ms);
      if (input.revents != 0) {
        const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
        if (got == 0 || (got < 0 && errno != EINTR)) {
          break;
        }
        unread.append(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      }
      for (std::size_t end = 0; (end = unread.find('\n')) != unread.npos;
           unread.erase(0, end + 1)) {
        take(std::string_view(unread).substr(0, end));
      }
      for (auto call = calls_.begin(); call != calls_.end();) {
        if (call->running.has_ended()) {
          answer(*call);
          call = calls_.erase(call);
        } else {
          ++call;
        }
      }
    }
    take(unread);
    if (!calls_.empty()) {
      tell("ringside mcp: the input ended, and so does what ran: " +
           report::counted(calls_.size(), "call"));
    }
    return is_heard_;
  }

 private:
  struct Call {
    json id;
    std::string tool;
    live::RunningCommand running;
  };

  void say(const json& message) {
    constexpr auto kReplace = json::error_handler_t::replace;  // what is no UTF-8
    is_heard_ = is_heard_ && print(message.dump(-1, ' ', false, kReplace) + '\n');
  }

  void take(std::string_view line) {
    if (line.find_first_not_of(" \t\r") == line.npos) {
      return;
    }
    const json message = json::parse(line, nullptr, false);
    if (message.is_discarded()) {
      return say(error_message(nullptr, kParseError, "this line is no JSON"));
    }
    const bool has_id = message.is_object() && message.contains("id");
    const json id = has_id ? message["id"] : json();
    if (!message.is_object() || !message.contains("method") || !message["method"].is_string() ||
        (has_id && !id.is_string() && !id.is_number_integer())) {
      return say(error_message(nullptr, kInvalidRequest,
                               "this is no request of JSON-RPC with a text or a whole number of 64 "
                               "bits as its id; several in one message are not taken"));
    }
    const std::string method = message["method"];
    const json parameters = message.value("params", json::object());
    if (!has_id) {
      return method == "notifications/cancelled" ? cancel(parameters) : void();
    }
    if (!parameters.is_object()) {
      say(error_message(id, kInvalidParams, "params is no object"));
    } else if (method == "initialize") {
      say(result_message(id, initialize(parameters)));
    } else if (method == "ping") {
      say(result_message(id, json::object()));
    } else if (method == "tools/list") {
      say(result_message(id, list_tools(directories_)));
    } else if (method == "tools/call") {
      begin(id, parameters);
    } else {
      say(error_message(id, kMethodNotFound, "there is no " + method));
    }
  }

  static json initialize(const json& parameters) {
    // Nothing that is said here differs between the two.
    const json asked = parameters.value("protocolVersion", json());
    return {
        {"protocolVersion", asked == "2024-11-05" ? "2024-11-05" : "2025-06-18"},
        {"capabilities", {{"tools", json::object()}}},
        {"serverInfo", {{"name", "ringside"}, {"version", RINGSIDE_VERSION}}},
        {"instructions",
         "Ask summary first. \"findings\" say what is wrong, the worst first; \"sentences\" are "
         "the answer. Names that end with _ns are nanoseconds; null is unknown."}};
  }

  void begin(const json& id, const json& parameters) {
    const json name = parameters.value("name", json());
    const json arguments = parameters.value("arguments", json::object());
    std::string error;
    live::HostCommand command;
    if (!name.is_string() || !arguments.is_object()) {
      error = "a name and an object of arguments are needed";
    } else if (calls_.size() == kMostCalls) {
      error = "as many calls run as may run at once; wait for one, or cancel it";
    } else {
      command.words = words_of_tool(name, arguments, directories_, error);
    }
    if (!error.empty()) {
      return say(error_message(id, kInvalidParams, error));
    }
    command.words.insert(command.words.begin(), "/proc/self/exe");
    calls_.push_back({id, name, live::RunningCommand(std::move(command), kMostTime)});
  }

  // Its command is killed, and it has no answer.
  void cancel(const json& parameters) {
    if (parameters.is_object() && parameters.contains("requestId")) {
      std::erase_if(calls_, [&](const Call& call) { return call.id == parameters["requestId"]; });
    }
  }

  void answer(Call& call) {
    const live::HostCommand& command = call.running.command();
    // A status that says that something is wrong with the job is an answer, too.
    const json answered = json::parse(command.output, nullptr, false);
    const bool is_error = answered.is_discarded() || !answered.is_object();
    // Standard error says more than its last line, which is behind the colon.
    const std::string why = command.error.substr(0, command.error.find(": "));
    const std::string failure =
        call.tool + ' ' + (command.errors.empty() ? command.error : why + ": " + command.errors);
    json content = json::array();
    content.push_back({{"type", "text"}, {"text", is_error ? failure : command.output}});
    json result = {{"isError", is_error}};
    if (!is_error) {
      result["structuredContent"] = answered;
      if (!command.errors.empty()) {
        content.push_back({{"type", "text"}, {"text", command.errors}});
      }
    }
    result["content"] = std::move(content);
    say(result_message(call.id, std::move(result)));
  }

  const McpDirectories& directories_;
  std::vector<Call> calls_;  // that run
  bool is_heard_ = true;
};

ExitStatus run_mcp(const McpOptions& options) {
  std::string error;
  const McpDirectories directories(options.directories, error);
  if (!error.empty()) {
    tell("ringside mcp: " + error);
    return kExitNoInput;
  }
  live::end_commands_with_this_process();
  return McpServer(directories).serve() ? kExitOk : kExitInternal;
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
