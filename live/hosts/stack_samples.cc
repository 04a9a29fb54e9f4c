// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/stack_samples.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <thread>
#include <unistd.h>
#include <utility>

#include "analyzer/report/document/numbers.h"
#include "launch/files.h"
#include "launch/process_files.h"
#include "live/hosts/running_command.h"
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

// Reads the symbols of the libraries that are in the stack, and of no others: PyTorch's largest
// alone take ten seconds. What calls them is left out.
constexpr char kOfStack[] = R"(python
import re
read = set()
frame, depth = gdb.newest_frame(), 0
while frame is not None and depth < 256:
  name = gdb.solib_name(frame.pc())
  if name and name not in read:
    if "libtorch_c" in name:
      break
    read.add(name)
    gdb.execute("sharedlibrary " + re.sub("[^a-zA-Z0-9_/]", ".", name), to_string=True)
    frame, depth = gdb.newest_frame(), 0
  else:
    frame, depth = frame.older(), depth + 1
gdb.execute("bt %d" % max(depth, 1)))";

// Frames that so many of the samples share, the outermost first.
struct Shared {
  Stack frames;
  std::vector<const Stack*> samples;
};

Shared shared_by(const std::vector<Stack>& samples, std::size_t least) {
  const auto file = [](const StackFrame& frame) {
    return frame.place.substr(0, frame.place.rfind(':'));
  };
  Shared shared;
  for (const Stack& sample : samples) {
    shared.samples.push_back(&sample);
  }
  for (std::size_t depth = 1;; ++depth) {
    std::map<std::pair<std::string, std::string>, std::vector<const Stack*>> groups;
    for (const Stack* const sample : shared.samples) {
      if (depth <= sample->size()) {
        const StackFrame& frame = (*sample)[sample->size() - depth];
        groups[{frame.function, file(frame)}].push_back(sample);
      }
    }
    const auto most = std::max_element(groups.begin(), groups.end(), [](auto& a, auto& b) {
      return a.second.size() < b.second.size();
    });
    if (most == groups.end() || most->second.size() < least) {
      return shared;
    }
    shared.samples = most->second;
    const auto frame = [&](const Stack* sample) { return (*sample)[sample->size() - depth]; };
    const StackFrame first = frame(shared.samples.front());
    const bool is_one_line =
        std::all_of(shared.samples.begin(), shared.samples.end(),
                    [&](const Stack* sample) { return frame(sample) == first; });
    shared.frames.push_back({first.function, is_one_line ? first.place : file(first)});
  }
}

// The innermost of the frames from this one on, the innermost first.
std::string frames_text(const Stack& frames, std::size_t from) {
  std::string text;
  for (std::size_t i = frames.size(); i > from && frames.size() - i < kMostFrames; --i) {
    const StackFrame& frame = frames[i - 1];
    text += (text.empty() ? "" : " < ") + frame.function +
            (frame.place.empty() ? "" : " (" + frame.place + ')');
  }
  return text + (frames.size() - from > kMostFrames ? " < ..." : "");
}

// Asks nccl_ringside.show_stacks() of the process; a container may have one of the same number.
constexpr char kShown[] = R"(import socket, struct, sys
try:
  s = socket.socket(socket.AF_UNIX)
  s.settimeout(2)
  s.connect("\0ringside-stacks-" + sys.argv[1])
  peer = s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
  if struct.unpack("3i", peer)[0] == int(sys.argv[1]):
    print("".join(iter(lambda: s.recv(65536).decode(), "")))
except OSError:
  pass)";

struct Tool {
  const char* name;
  bool stops;                      // the process, meanwhile
  std::vector<std::string> words;  // then the process
  Stack (*read)(std::string_view output);
};

const std::vector<Tool>& tools(bool is_python) {
  static const std::vector<Tool> python = {
      {"py-spy", false, {"py-spy", "dump", "--json", "--nonblocking", "--pid"}, read_py_spy},
      {"show_stacks", false, {"python3", "-c", kShown}, read_py_spy}};
  static const std::vector<Tool> native = {
      {"eu-stack", true, {"eu-stack", "-1", "-m", "-p"}, read_native},
      {"gdb",
       true,
       {"gdb", "-nx", "-batch", "-iex", "set auto-solib-add off", "-ex", kOfStack, "-p"},
       read_native}};
  return is_python ? python : native;
}

// The samples of one language.
class Samples {
 public:
  explicit Samples(bool is_python) : tools_(tools(is_python)) {}

  /// False if another sample would give nothing, either.
  bool take(const std::string& pid) {
    for (; tool_ < tools_.size(); ++tool_) {
      const Tool& tool = tools_[tool_];
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
        stacks_.push_back(std::move(stack));
        return true;
      }
      if (!stacks_.empty()) {
        return true;  // a thread that moves cannot always be read
      }
      const std::string& said = commands[0].errors;
      lacks_rights_ = lacks_rights_ || said.find("ermission ") != std::string::npos ||
                      said.find("not permitted") != std::string::npos;
      troubles_ += (troubles_.empty() ? "" : "; ") + std::string(tool.name) + ' ' +
                   (commands[0].error.empty() ? "shows no stack" : commands[0].error);
    }
    return false;
  }

  bool is_empty() const { return stacks_.empty(); }
  bool lacks_rights() const { return lacks_rights_ && is_empty(); }
  const std::string& troubles() const { return troubles_; }
  const char* tool() const { return tools_[tool_].name; }
  std::string where() const { return where_samples_are(stacks_); }

 private:
  const std::vector<Tool>& tools_;
  std::size_t tool_ = 0;  // the first that works
  std::vector<Stack> stacks_;
  std::string troubles_;
  bool lacks_rights_ = false;  // a tool said so
};

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

  void run() {
    const std::string pid = std::to_string(pid_);
    bool goes_on = is_looked_at();
    // On a busy machine a few samples in time are better than all of them too late.
    const auto until = begin_ + 2 * kStackSamples * kStackInterval;
    for (int i = 0; i < kStackSamples && goes_on && std::chrono::steady_clock::now() < until; ++i) {
      const auto next = std::chrono::steady_clock::now() + kStackInterval;
      const bool has_lines = python_.take(pid);
      // A line of Python may wait in a library.
      goes_on = (has_lines && !is_python_) || native_.take(pid) || has_lines;
      if (goes_on) {
        std::this_thread::sleep_until(next);
      }
    }
    end_ = std::chrono::steady_clock::now();
    end_s_ = processor_time_s(pid_);
  }

  std::int64_t pid() const { return pid_; }
  bool is_looked_at() const { return reason_.empty(); }
  bool has_stack() const { return !python_.is_empty() || !native_.is_empty(); }
  bool lacks_lines() const { return is_looked_at() && is_python_ && python_.is_empty(); }
  bool lacks_rights() const {
    return !has_stack() && (python_.lacks_rights() || native_.lacks_rights());
  }

  Evidence result() const {
    if (!reason_.empty()) {
      return {"stack", "", "was not looked at: " + reason_};
    }
    const std::chrono::duration<double> took = end_ - begin_;
    std::string used;
    if (begin_s_ && end_s_ && took >= kStackInterval) {
      used = " used " + report::fixed(100 * (*end_s_ - *begin_s_) / took.count(), 0) +
             " % of a processor";
    }
    if (!has_stack()) {
      return {"stack", "",
              (used.empty() ? "" : used.substr(1) + ", and ") +
                  "shows no stack: " + python_.troubles() + "; " + native_.troubles()};
    }
    const Samples& first = python_.is_empty() ? native_ : python_;
    std::string text =
        "was " + first.where() + " (by " + first.tool() + (used.empty() ? "" : "; it" + used) + ')';
    if (!python_.is_empty() && !native_.is_empty()) {
      text += ", natively " + native_.where() + " (by " + native_.tool() + ')';
    }
    return {"stack", text + '\n', ""};
  }

 private:
  std::int64_t pid_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), end_;
  std::optional<double> begin_s_, end_s_;
  bool is_python_ = false;
  Samples python_{true};
  Samples native_{false};
  std::string reason_;
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
    // the name "@@GLIBC_2.3", " - 1" and " - /the/library".
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
    StackFrame frame;
    const std::size_t end = std::min(line.find_first_of("@(", begin), line.find(" - ", begin - 1));
    frame.function = line.substr(begin, end < begin ? 0 : end - begin);
    frame.function.erase(frame.function.find_last_not_of(' ') + 1);
    if (const std::size_t at = line.rfind(" at "); at != std::string::npos) {
      frame.place = launch::base_name(line.substr(at + 4));
    }
    if (frame.function.empty() || frame.function == "??") {
      const std::size_t library = line.rfind('/');  // whose names have been stripped
      frame.function = library == std::string::npos ? "?" : line.substr(library + 1);
      if (!stack.empty() && stack.back() == frame) {
        continue;
      }
    }
    stack.push_back(std::move(frame));
  }
  return stack;
}

std::string where_samples_are(const std::vector<Stack>& samples) {
  const std::string count = std::to_string(samples.size());
  const Shared by_all = shared_by(samples, samples.size());
  const Shared by_most = shared_by(samples, samples.size() / 2 + 1);
  std::string text;
  if (!by_all.frames.empty()) {
    text = "in all " + count + " samples in " + frames_text(by_all.frames, 0);
  }
  if (by_most.frames.size() > by_all.frames.size()) {
    text += (text.empty() ? "in " : ", in ") + std::to_string(by_most.samples.size()) + " of " +
            (text.empty() ? count + " samples" : "them") + " in " +
            frames_text(by_most.frames, by_all.frames.size());
  }
  return text.empty() ? "elsewhere in each of " + count + " samples" : text;
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
  std::vector<std::jthread> threads;
  for (Sampler& sampler : samplers) {
    threads.emplace_back(&Sampler::run, &sampler);
  }
  threads.clear();
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
  const auto say_once = [&](bool (Sampler::*is_true)() const, const char* text) {
    if (std::ranges::any_of(samplers, is_true)) {
      evidence.push_back({"stack", "", text});
    }
  };
  say_once(&Sampler::lacks_lines,
           "For lines of Python: pip install py-spy there, or nccl_ringside.show_stacks() in the "
           "program");
  say_once(&Sampler::lacks_rights,
           "For stacks there the tools need rights: run ringside as root or with CAP_SYS_PTRACE, "
           "or call `sysctl kernel.yama.ptrace_scope=0` there");
  return evidence;
}

}  // namespace ringside::live
