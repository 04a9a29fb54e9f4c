// SPDX-License-Identifier: Apache-2.0
#include "live/watch/watcher.h"

#include <chrono>
#include <string>
#include <vector>

#include "test/unit/catch.h"

namespace ringside::live {
namespace {

using Seconds = std::chrono::seconds;

// A job of one communicator, whose ranks have done operations of so many ns each.
class Job {
 public:
  explicit Job(std::vector<std::int64_t> operation_ns, std::int64_t nranks = 0) {
    nranks = nranks == 0 ? static_cast<std::int64_t>(operation_ns.size()) : nranks;
    for (std::size_t rank = 0; rank < operation_ns.size(); ++rank) {
      LiveProcess process;
      process.reply.endpoint.path = "/rings/" + std::to_string(rank);
      process.reply.endpoint.pid = 100 + static_cast<std::int64_t>(rank);
      process.reply.status.emplace();
      process.reply.status->host = "host" + std::to_string(rank / 2);
      process.reply.status->job = "job";
      process.reply.status->rank = static_cast<std::int64_t>(rank);
      LiveCommunicator& communicator = process.sample.emplace().communicators.emplace_back();
      communicator.comm = "0x1";
      communicator.name = "world";
      communicator.rank = static_cast<std::int64_t>(rank);
      communicator.nranks = nranks;
      processes_.emplace(process.reply.endpoint.path, std::move(process));
    }
    operation_ns_ = std::move(operation_ns);
  }

  LiveCommunicator& of(std::size_t rank) {
    return processes_.at("/rings/" + std::to_string(rank)).sample->communicators.front();
  }
  LiveProcess& process(std::size_t rank) { return processes_.at("/rings/" + std::to_string(rank)); }
  void leave(std::size_t rank) { processes_.erase("/rings/" + std::to_string(rank)); }

  void add(const std::string& place, const LiveProcess& process) {
    processes_.emplace(place, process);
  }
  void remove(const std::string& place) { processes_.erase(place); }

  /// Each rank does so many more operations; then all are looked at, 10 s after the last look.
  std::vector<WatchFinding> look(std::uint64_t operations, Watcher& watcher) {
    for (std::size_t rank = 0; rank < operation_ns_.size(); ++rank) {
      if (processes_.contains("/rings/" + std::to_string(rank))) {
        of(rank).joint_operations += operations;
        of(rank).joint_ns += operations * static_cast<std::uint64_t>(operation_ns_[rank]);
      }
    }
    now_ += Seconds(10);
    return watcher.look(chosen, processes_, now_);
  }

  Chosen chosen;

 private:
  std::vector<std::int64_t> operation_ns_;
  LiveProcesses processes_;
  Watcher::Clock::time_point now_;
};

}  // namespace

TEST_CASE("a rank that all wait for is told after two windows, with what it costs at least") {
  // In 10 s 100 operations: three of four ranks wait 40 ms in each, 4 s of 10 for 3 of 4 ranks: 30
  // %.
  Job job({5'000'000, 45'000'000, 45'000'000, 47'000'000});
  Watcher watcher({});
  CHECK(job.look(100, watcher).empty());
  CHECK(job.look(100, watcher).empty());
  const auto found = job.look(100, watcher);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == WatchFinding::Kind::kLate);
  CHECK(found[0].ranks == std::vector<std::int64_t>{0});
  CHECK(found[0].percent_of_time == Approx(30));
  CHECK(
      found[0].sentence ==
      "Rank 0 (host0) is late in communicator world: in the last 10 s the others waited for it at "
      "least 30.0 % of all ranks' time.");
  CHECK(job.look(100, watcher).empty());  // once
  REQUIRE(watcher.current().size() == 1);
  CHECK(watcher.current()[0].ranks == std::vector<std::int64_t>{0});
  CHECK(watcher.current()[0].comm == "0x1");
  // It is as fast as the others: that is over.
  for (std::size_t rank = 1; rank < 4; ++rank) {
    job.of(rank).joint_ns -= 300 * 40'000'000ULL;
  }
  CHECK(job.look(1, watcher).size() == 1);
  CHECK(watcher.current().empty());
}

TEST_CASE("a share is of the processes' own time where their answers come late") {
  // Looks are 10 s apart, and the last answers came 2.5 s after that look, with 125 operations.
  Job job({5'000'000, 45'000'000, 45'000'000, 45'000'000});
  Watcher watcher({});
  CHECK(job.look(100, watcher).empty());
  CHECK(job.look(100, watcher).empty());
  job.process(2).sample->time_ns = 12'500'000'000;
  const auto found = job.look(125, watcher);
  REQUIRE(found.size() == 1);
  CHECK(found[0].percent_of_time == Approx(30));  // not 37.5: 40 ms, 125 of 12.5 s, 3 of 4 ranks
}

TEST_CASE("two ranks that are late together are told together") {
  Job job({45'000'000, 5'000'000, 45'000'000, 6'000'000, 45'000'000, 45'000'000});
  Watcher watcher({});
  job.look(100, watcher);
  job.look(100, watcher);
  const auto found = job.look(100, watcher);
  REQUIRE(found.size() == 1);
  CHECK(found[0].ranks == std::vector<std::int64_t>{1, 3});
  CHECK(found[0].hosts == std::vector<std::string>{"host0", "host1"});
  CHECK(found[0].percent_of_time == Approx(26));  // 39 ms, 100 of 10 s, 4 of 6 ranks
}

TEST_CASE("nobody is late where ranks differ by little, early ones are few, or one is not seen") {
  const auto is_quiet = [](Job job) {
    Watcher watcher({});
    for (int i = 0; i < 6; ++i) {
      if (!job.look(100, watcher).empty()) {
        return false;
      }
    }
    return true;
  };
  CHECK(is_quiet(Job({40'000'000, 45'000'000, 48'000'000, 50'000'000})));
  CHECK(is_quiet(Job({5'000'000, 45'000'000, 45'000'000}, 4)));  // rank 3 may be later still
  CHECK(is_quiet(Job({5'000'000})));
  CHECK(is_quiet(Job({5'000'000, 5'000'000, 5'000'000, 45'000'000})));  // its own end is late
}

TEST_CASE("what is stuck is told once, and when it has gone on") {
  Job job({1, 1, 1});
  Watcher watcher({});
  CHECK(job.look(1, watcher).empty());
  for (const std::size_t rank : {0U, 2U}) {
    job.of(rank).oldest_age_ns = 12'000'000'000;
    job.of(rank).oldest_func = "AllReduce";
    job.of(rank).oldest_seq = 7;
    job.of(rank).in_flight_operations = 1;
  }
  // Not yet; and then one that was asked a moment before the other.
  job.of(0).oldest_age_ns = 9'900'000'000;
  job.of(2).oldest_age_ns = 9'950'000'000;
  CHECK(job.look(0, watcher).empty());
  job.of(2).oldest_age_ns = 12'000'000'000;
  const auto found = job.look(0, watcher);
  REQUIRE(found.size() == 1);
  CHECK(found[0].sentence ==
        "Ranks 0 and 2 (on 2 hosts) have waited in AllReduce #7 of communicator world for 12.0 "
        "s. Rank 1 (host0) has nothing in flight there.");
  CHECK(job.look(0, watcher).empty());
  job.of(0).oldest_age_ns.reset();
  job.of(2).oldest_age_ns.reset();
  const auto over = job.look(1, watcher);
  REQUIRE(over.size() == 1);
  CHECK(over[0].ends);
  CHECK(over[0].function == "AllReduce");
  CHECK(over[0].seq == 7);
  CHECK(over[0].ranks == std::vector<std::int64_t>{0, 2});
  CHECK(over[0].sentence == "AllReduce #7 of communicator world has gone on.");
}

TEST_CASE("a process that died while it was watched is told, and one that was dead before is not") {
  Job job({1, 1});
  job.process(0).reply.status->communicators = 1;
  job.process(1).reply.status->communicators = 1;
  Watcher watcher({});
  Reply dead;
  dead.endpoint.path = "/rings/old";
  job.chosen.dead.push_back(dead);
  CHECK(job.look(1, watcher).empty());
  dead.endpoint.path = "/rings/1";
  job.chosen.dead.push_back(dead);
  job.leave(1);
  const auto found = job.look(1, watcher);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == WatchFinding::Kind::kDied);
  CHECK(found[0].ranks == std::vector<std::int64_t>{1});
  CHECK(found[0].sentence ==
        "The process of rank 1 (host0) has ended without a farewell, and with 1 open communicator "
        "when it answered last: it was killed, has crashed, or has called _exit. `ringside recover "
        "/rings/1` makes a whole trace of what it left.");
  CHECK(job.look(1, watcher).empty());
}

TEST_CASE("of processes that died between two looks none is said to be the first") {
  Job job({1, 1, 1});
  for (const std::size_t one : {0, 1, 2}) {
    job.process(one).reply.status->communicators = 1;
  }
  Watcher watcher({});
  CHECK(job.look(1, watcher).empty());
  for (const char* const path : {"/rings/0", "/rings/2"}) {
    job.chosen.dead.emplace_back().endpoint.path = path;
  }
  job.leave(0);
  job.leave(2);
  const auto found = job.look(1, watcher);
  REQUIRE(found.size() == 2);
  for (const WatchFinding& one : found) {
    CHECK(one.sentence.ends_with(
        "2 processes ended between the same two looks, and in which order is unknown."));
  }
}

TEST_CASE("a process that had closed its communicators before it went is not told") {
  Job job({1, 1});
  job.process(1).reply.status->communicators = 0;
  Watcher watcher({});
  CHECK(job.look(1, watcher).empty());
  Reply dead;
  dead.endpoint.path = "/rings/1";
  job.chosen.dead.push_back(dead);
  job.leave(1);
  CHECK(job.look(1, watcher).empty());
}

TEST_CASE("a process that gives no answer twice is told, and when it answers again") {
  Job job({1, 1});
  Watcher watcher({});
  job.look(1, watcher);
  const auto status = job.process(1).reply.status;
  job.process(1).reply.status.reset();
  job.process(1).reply.error = "has not answered in time";
  CHECK(job.look(1, watcher).empty());
  auto found = job.look(1, watcher);
  REQUIRE(found.size() == 1);
  CHECK(found[0].sentence == "Process 101 (/rings/1) has not answered in time.");
  CHECK(job.look(1, watcher).empty());
  job.process(1).reply.status = status;
  found = job.look(1, watcher);
  REQUIRE(found.size() == 1);
  CHECK(found[0].ends);
  CHECK(found[0].sentence == "Process 101 (/rings/1) answers again.");
}

TEST_CASE("a host that gives no answer twice is told, and when its processes are there again") {
  Job job({1, 1});
  Watcher watcher({});
  LiveProcess host;
  host.reply.endpoint.host = "node7";
  host.reply.error = "host node7 has not answered within 15.0 s";
  job.add("node7 ", host);
  CHECK(job.look(1, watcher).empty());
  auto found = job.look(1, watcher);
  REQUIRE(found.size() == 1);
  CHECK(found[0].sentence == "Host node7 has not answered within 15.0 s.");
  CHECK(found[0].hosts == std::vector<std::string>{"node7"});
  job.remove("node7 ");
  found = job.look(1, watcher);
  REQUIRE(found.size() == 1);
  CHECK(found[0].ends);
  CHECK(found[0].sentence == "Host node7 answers again.");
  CHECK(job.look(1, watcher).empty());
}

}  // namespace ringside::live
