// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/stack_samples.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <thread>
#include <unistd.h>
#include <utility>

#include "analyzer/report/document/numbers.h"
#include "launch/files.h"
#include "launch/process_files.h"
#include "live/hosts/host_commands.h"
#include "live/hosts/starting.h"
#include "live/json_members.h"

namespace ringside::live {
namespace {

constexpr std::size_t kMostFrames = 8;         // of a text
constexpr std::size_t kMostChildren = 4;       // of a process
constexpr std::chrono::seconds kMostTime(12);  // kGuard ends a tool before

// A process whose debugger is ended stays stopped, so it goes on afterwards, also if Ringside has
// been ended meanwhile. `timeout` takes the debugger out of the group that Ringside ends.
constexpr char kGuard[] = R"(trap : TERM INT HUP
pid=$1
shift
timeout -s KILL 10 "$@"
status=$?
for try in 1 2 3 4 5; do
  case $(sed 's/.*) //' "/proc/$pid/stat") in [Tt]*) kill -CONT "$pid" ;; esac
  [ $status -ge 124 ] || exit $status
  sleep 0.2
done
exit $status)";

/// Time on processors, in seconds.
std::optional<double> processor_time_s(std::int64_t pid) {
  constexpr std::size_t kUser = 11;
  constexpr std::size_t kSystem = 12;
  const std::vector<std::string> members = launch::process_stat(pid);
  if (members.size() <= kSystem) {
    return std::nullopt;
  }
  const double ticks = std::atof(members[kUser].c_str()) + std::atof(members[kSystem].c_str());
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

struct Tool {
  const char* name;
  bool stops;                      // the process, meanwhile
  bool is_slow_for_python;         // and stops it for half a minute: its libraries are large
  std::vector<std::string> words;  // then the process
  Stack (*read)(std::string_view output);
};

const std::vector<Tool>& tools() {
  static const std::vector<Tool> all = {
      {"py-spy", false, false, {"py-spy", "dump", "--json", "--nonblocking", "--pid"}, read_py_spy},
      {"eu-stack", true, false, {"eu-stack", "-1", "-p"}, read_native},
      {"gdb", true, true, {"gdb", "-nx", "-batch", "-ex", "bt", "-p"}, read_native},
  };
  return all;
}

class Sampler {
 public:
  explicit Sampler(std::int64_t pid) : pid_(pid), begin_s_(processor_time_s(pid)) {
    const std::string maps = launch::process_file(pid, "maps");
    if (maps.find("libnccl-profiler-ringside") == std::string::npos && !has_plugin_variable(pid)) {
      reason_ = maps.empty() ? "/proc/" + std::to_string(pid) + "/maps cannot be read"
                             : "it is no process with Ringside's plugin any more";
    } else if (const auto stat = launch::process_stat(pid); !stat.empty() && stat[0] == "T") {
      reason_ = "it is stopped; `kill -CONT " + std::to_string(pid) + "` lets it go on";
    }
    is_python_ = maps.find("python") != std::string::npos;
  }

  /// False if another sample would give nothing, either.
  bool take() {
    if (!reason_.empty()) {
      return false;
    }
    for (; tool_ < tools().size(); ++tool_) {
      const Tool& tool = tools()[tool_];
      if (tool.is_slow_for_python && is_python_) {
        continue;
      }
      const std::string pid = std::to_string(pid_);
      std::vector<HostCommand> commands(1);
      std::vector<std::string>& words = commands[0].words;
      if (tool.stops) {
        words = {"/bin/sh", "-c", kGuard, "sh", pid};
      }
      words.insert(words.end(), tool.words.begin(), tool.words.end());
      words.push_back(pid);
      run_all(commands, 1, kMostTime);
      Stack stack = tool.read(commands[0].output);
      if (!stack.empty()) {
        samples_.push_back(std::move(stack));
        return true;
      }
      if (!samples_.empty()) {
        return true;  // a thread that moves cannot always be read
      }
      const std::string& said = commands[0].errors;
      lacks_rights_ = lacks_rights_ || said.find("ermission denied") != std::string::npos ||
                      said.find("ermission Denied") != std::string::npos ||
                      said.find("not permitted") != std::string::npos;
      troubles_ += (troubles_.empty() ? "" : "; ") + std::string(tool.name) + ' ' +
                   (commands[0].error.empty() ? "shows no stack" : commands[0].error);
    }
    return false;
  }

  std::int64_t pid() const { return pid_; }
  bool is_looked_at() const { return reason_.empty(); }
  bool has_stack() const { return !samples_.empty(); }
  bool lacks_rights() const { return lacks_rights_ && samples_.empty(); }

  Evidence result() const {
    if (!reason_.empty()) {
      return {"stack", "", "was not looked at: " + reason_};
    }
    const auto end_s = processor_time_s(pid_);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin_;
    std::string used;
    if (begin_s_ && end_s && took >= kStackInterval) {
      used = " used " + report::fixed(100 * (*end_s - *begin_s_) / took.count(), 0) +
             " % of a processor";
    }
    if (samples_.empty()) {
      return {"stack", "",
              (used.empty() ? "" : used.substr(1) + ", and ") + "shows no stack: " + troubles_ +
                  (is_python_ ? "; for lines of Python: pip install py-spy there" : "")};
    }
    const std::string count = std::to_string(samples_.size());
    const std::string frames = shared_frames(samples_);
    return {"stack",
            (frames.empty() ? "was elsewhere in each of " + count + " samples"
                            : "was in all " + count + " samples in " + frames) +
                " (by " + tools()[tool_].name + (used.empty() ? "" : "; it" + used) +
                (is_python_ && tool_ > 0 ? "; for lines of Python: pip install py-spy there" : "") +
                ")\n",
            ""};
  }

 private:
  std::int64_t pid_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<double> begin_s_;
  bool is_python_ = false;
  std::size_t tool_ = 0;  // the first that works
  std::vector<Stack> samples_;
  std::string reason_;
  std::string troubles_;
  bool lacks_rights_ = false;  // a tool said so
};

}  // namespace

Stack read_py_spy(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::array threads;
  Stack stack;
  if (parser.parse(json.data(), json.size()).get_array().get(threads) != simdjson::SUCCESS) {
    return stack;
  }
  for (const auto thread : threads) {
    JsonObject object;
    if (thread.get(object) != simdjson::SUCCESS) {
      continue;
    }
    simdjson::dom::array frames;
    const bool is_main = text_of(object, "thread_name") == "MainThread";
    if ((!stack.empty() && !is_main) || !take(object, "frames", frames)) {
      continue;
    }
    stack.clear();
    for (const auto one : frames) {
      JsonObject frame;
      if (one.get(frame) == simdjson::SUCCESS) {
        const std::int64_t line = integer_of(frame, "line").value_or(0);
        const std::string file = launch::base_name(text_of(frame, "filename"));
        stack.push_back(
            {text_of(frame, "name"), line > 0 ? file + ':' + std::to_string(line) : file});
      }
    }
    if (is_main) {
      break;
    }
  }
  return stack;
}

Stack read_native(std::string_view text) {
  Stack stack;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    // "#1  0x00007f04 in function (arguments) at /source/file.c:12", or without " in " and behind
    // the name "@@GLIBC_2.3" or " - 1".
    if (!line.starts_with('#')) {
      continue;
    }
    std::size_t begin = line.find_first_not_of(" 0123456789#");
    if (begin != std::string::npos && line.compare(begin - 1, 2, "0x") == 0) {
      begin = line.find(' ', begin);
      begin = line.find_first_not_of(' ', begin);
      if (begin != std::string::npos && line.compare(begin, 3, "in ") == 0) {
        begin += 3;
      }
    }
    if (begin == std::string::npos) {
      continue;
    }
    StackFrame& frame = stack.emplace_back();
    frame.function = line.substr(begin, line.find_first_of("@(", begin) - begin);
    frame.function.erase(frame.function.find(" - ") == std::string::npos
                             ? frame.function.find_last_not_of(' ') + 1
                             : frame.function.find(" - "));
    if (const std::size_t at = line.rfind(" at "); at != std::string::npos) {
      frame.place = launch::base_name(line.substr(at + 4));
    }
  }
  return stack;
}

std::string shared_frames(const std::vector<Stack>& samples) {
  Stack shared;  // the outermost first
  const auto at = [](const Stack& stack, std::size_t depth) -> const StackFrame* {
    return depth < stack.size() ? &stack[stack.size() - 1 - depth] : nullptr;
  };
  const auto file = [](const StackFrame& frame) {
    return frame.place.substr(0, frame.place.rfind(':'));
  };
  for (std::size_t depth = 0; !samples.empty(); ++depth) {
    const StackFrame* const first = at(samples.front(), depth);
    const bool is_shared =
        first != nullptr && std::all_of(samples.begin(), samples.end(), [&](const Stack& stack) {
          const StackFrame* const one = at(stack, depth);
          return one != nullptr && one->function == first->function && file(*one) == file(*first);
        });
    if (!is_shared) {
      break;
    }
    const bool is_one_line = std::all_of(samples.begin(), samples.end(), [&](const Stack& stack) {
      return *at(stack, depth) == *first;
    });
    shared.push_back({first->function, is_one_line ? first->place : file(*first)});
  }
  std::string text;
  for (std::size_t i = 0; i < shared.size() && i < kMostFrames; ++i) {
    const StackFrame& frame = shared[shared.size() - 1 - i];
    text += (i == 0 ? "" : " < ") + frame.function +
            (frame.place.empty() ? "" : " (" + frame.place + ')');
  }
  return text + (shared.size() > kMostFrames ? " < ..." : "");
}

std::vector<Evidence> sample_stacks(const std::vector<std::int64_t>& pids) {
  std::vector<Sampler> samplers(pids.begin(), pids.end());
  std::vector<std::size_t> parents;  // of the children, which are behind
  for (std::size_t i = 0; i < pids.size(); ++i) {
    // A rank often waits for a child process, as for a worker of its data loader.
    std::vector<std::int64_t> children;
    if (samplers[i].is_looked_at()) {
      children = launch::children_of(pids[i]);
    }
    for (std::size_t k = 0; k < std::min(children.size(), kMostChildren); ++k) {
      samplers.emplace_back(children[k]);
      parents.push_back(i);
    }
  }
  bool goes_on = true;
  for (int i = 0; i < kStackSamples && goes_on; ++i) {
    const auto next = std::chrono::steady_clock::now() + kStackInterval;
    goes_on = false;
    for (Sampler& sampler : samplers) {
      goes_on = sampler.take() || goes_on;
    }
    if (goes_on) {
      std::this_thread::sleep_until(next);
    }
  }
  std::vector<Evidence> evidence;
  for (std::size_t i = 0; i < samplers.size(); ++i) {
    const bool is_child = i >= pids.size();
    if (!is_child) {
      evidence.push_back(samplers[i].result());
    } else if (Evidence& of = evidence[parents[i - pids.size()]]; samplers[i].has_stack()) {
      (of.reason.empty() ? of.text : of.reason.append("\n")) += "Its child process " +
                                                                std::to_string(samplers[i].pid()) +
                                                                ' ' + samplers[i].result().text;
    }
  }
  if (std::any_of(samplers.begin(), samplers.end(),
                  [](const Sampler& one) { return one.lacks_rights(); })) {
    evidence.push_back({"stack", "",
                        "For stacks there the tools need rights: run ringside as root or with "
                        "CAP_SYS_PTRACE, or call `sysctl kernel.yama.ptrace_scope=0` there"});
  }
  return evidence;
}

}  // namespace ringside::live
