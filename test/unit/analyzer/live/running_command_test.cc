// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/running_command.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "live/hosts/slow_hosts.h"
#include "live/metrics/finding_outlet.h"
#include "test/unit/catch.h"

namespace ringside::live {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong(20000);

HostCommand shell(std::string text, std::string input = {}) {
  HostCommand command;
  command.command = std::move(text);
  command.input = std::move(input);
  return command;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// What `take` has for a host once it is not late any more.
std::optional<HostCommand> when_it_ends(SlowHosts& slow, const std::string& host,
                                        const HostCommand& command) {
  const auto begin = std::chrono::steady_clock::now();
  auto taken = slow.take(host, command);
  while (taken && taken->is_late && seconds_since(begin) < 10) {
    slow.go_on(1, kLong);
    std::this_thread::sleep_for(milliseconds(10));
    taken = slow.take(host, command);
  }
  return taken;
}

}  // namespace

TEST_CASE("a program without a shell gets its words as they are, and a secret as descriptor 3") {
  std::vector<HostCommand> commands(1);
  commands[0].words = {"cat", "-", "/dev/fd/3", "$HOME;no"};
  commands[0].input = "in";
  commands[0].secret = "X-Key: 7";
  run_all(commands, 1, kLong);
  CHECK(commands[0].output == "inX-Key: 7");
  CHECK(commands[0].error.find("$HOME;no") != std::string::npos);
  CHECK_FALSE(commands[0].is_late);
  commands[0].words = {"ringside-no-such-program"};
  run_all(commands, 1, kLong);
  CHECK(commands[0].error == "cannot be started: No such file or directory");
}

TEST_CASE("a command that takes too long is late, and all that it has started is ended") {
  std::vector<HostCommand> commands(1);
  commands[0].command = "sleep 60 & echo $!; wait";
  const auto begin = std::chrono::steady_clock::now();
  run_all(commands, 1, milliseconds(300));
  CHECK(commands[0].is_late);
  CHECK(commands[0].error == "has not answered within 0.3 s");
  CHECK(seconds_since(begin) < 20);
}

TEST_CASE("what a command writes is bounded, and one that writes on is ended") {
  std::vector<HostCommand> commands(2);
  commands[0].command = "exec cat /dev/zero";
  commands[1].command = "head -c 5000000 /dev/zero >&2; head -c 5000000 /dev/zero; exit 3";
  run_all(commands, 2, kLong);
  CHECK(commands[0].error == "has answered more than 64 MiB");
  CHECK_FALSE(commands[0].is_late);
  CHECK(commands[0].output.size() == std::size_t{64} << 20);
  CHECK(commands[1].output.size() == 5'000'000);
  CHECK(commands[1].error.starts_with("ended with status 3: "));
  CHECK(commands[1].error.size() < 5000);
}

TEST_CASE("nobody waits for what a command has left behind") {
  std::vector<HostCommand> commands(1);
  const auto begin = std::chrono::steady_clock::now();
  commands[0].command = "sleep 60 & exec cat";
  commands[0].input = "in";
  run_all(commands, 1, kLong);
  CHECK(commands[0].output == "in");
  CHECK(commands[0].error.empty());
  CHECK(seconds_since(begin) < 20);
}

TEST_CASE("a late host is asked in the background, and nobody waits for it") {
  SlowHosts slow;
  const HostCommand find = shell("sleep 0.4; cat", "find");
  CHECK_FALSE(slow.take("node1", find));
  HostCommand late = find;
  late.is_late = true;
  late.error = "has not answered within 0.1 s";
  slow.add("node1", late);
  slow.go_on(8, kLong);
  const auto taken = slow.take("node1", find);
  REQUIRE(taken);
  CHECK(taken->is_late);
  CHECK(taken->error == "has not answered within 0.1 s");
  // Its answer comes by itself, and then it is as any other.
  const auto answer = when_it_ends(slow, "node1", find);
  REQUIRE(answer);
  CHECK_FALSE(answer->is_late);
  CHECK(answer->output == "find");
  CHECK_FALSE(slow.take("node1", find));
}

TEST_CASE("the answer of a late host to one question is none to another") {
  SlowHosts slow;
  HostCommand late = shell("cat", "find");
  late.is_late = true;
  slow.add("node1", late);
  CHECK_FALSE(when_it_ends(slow, "node1", shell("cat", "ask")));
}

TEST_CASE("findings are handed over one after the other, and nobody waits for a slow program") {
  std::vector<std::string> told;
  std::mutex mutex;
  std::vector<FindingTaker> takers(2);
  takers[0] = {"--command", shell("sleep 0.2"), kLong};
  takers[1] = {"--command", shell("echo refused >&2; exit 3"), kLong};
  FindingOutlet outlet(takers, [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    told.push_back(text);
  });
  const auto begin = std::chrono::steady_clock::now();
  outlet.add("one\n");
  outlet.add("two\n");
  CHECK(seconds_since(begin) < 0.2);
  outlet.finish(kLong);
  CHECK(seconds_since(begin) > 0.39);
  CHECK(told == std::vector<std::string>{"--command ended with status 3: refused",
                                         "--command ended with status 3: refused",
                                         "2 findings have not been handed over"});
}

TEST_CASE("a program that does not end holds the end of the watch for no longer than is said") {
  std::vector<std::string> told;
  FindingOutlet outlet({{"--command", shell("sleep 60"), kLong}},
                       [&](const std::string& text) { told.push_back(text); });
  outlet.add("one\n");
  const auto begin = std::chrono::steady_clock::now();
  outlet.finish(milliseconds(200));
  CHECK(seconds_since(begin) < 15);
  CHECK(told == std::vector<std::string>{"1 finding has not been handed over"});
}

}  // namespace ringside::live
