// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/doctor.h"
#include "launch/files.h"
#include "launch/plan.h"
#include "launch/process_files.h"
#include "launch/text.h"
#include "test/unit/catch.h"

namespace ringside::launch {
namespace {

constexpr std::uint64_t kMiB_bytes = 1U << 20;

// A node on which nothing is wrong.
Facts good_machine() {
  Facts facts;
  facts.plugin_path = "/opt/lib/libnccl-profiler-ringside.so";
  facts.plugin = {{1, 2, 3, 4, 5, 6, 7}, true, ""};
  facts.nccl = {{"/usr/lib/libnccl.so.2", "the loader", 22809, ""}};
  facts.rings = Place{"/dev/shm", true, true, true, 64000 * kMiB_bytes, 60000 * kMiB_bytes, ""};
  facts.ring_bytes = 2 * kMiB_bytes;
  facts.journal_bytes = 32 * kMiB_bytes;
  facts.output = {"/work", true, true, false, 64000 * kMiB_bytes, 60000 * kMiB_bytes, ""};
  facts.max_trace_bytes = 2048 * kMiB_bytes;
  facts.clock = record::ClockSource::kTsc;
  facts.kernel_clock = "tsc";
  facts.driver = "550.54.15";
  facts.gpus = 8;
  facts.has_libcuda = true;
  facts.has_nvml = true;
  return facts;
}

// The worst check of a subject.
Check worst(const Facts& facts, const std::string& subject) {
  Check found{Health::kOk, "nothing is said of " + subject, "", ""};
  for (const Check& check : judge(facts)) {
    if (check.subject == subject &&
        (found.subject != subject ||
         static_cast<int>(check.health) > static_cast<int>(found.health))) {
      found = check;
    }
    CHECK((check.health != Health::kProblem || !check.advice.empty()));
  }
  CHECK(found.subject == subject);
  return found;
}

TEST_CASE("doctor finds nothing wrong where nothing is") {
  for (const Check& check : judge(good_machine())) {
    INFO(check.text);
    CHECK(check.health == Health::kOk);
  }
  CHECK(worst(good_machine(), "nccl").text.find("NCCL 2.28.9") == 0);
  CHECK(worst(good_machine(), "nccl").text.find("interface v5") != std::string::npos);
}

TEST_CASE("doctor says what is wrong with memory for rings") {
  Facts facts = good_machine();
  facts.rings->size_bytes = facts.rings->free_bytes = 64 * kMiB_bytes;  // docker's default
  CHECK(worst(facts, "rings").health == Health::kNote);
  CHECK(worst(facts, "rings").text.find("a process takes 2 MiB only") != std::string::npos);
  CHECK(worst(facts, "rings").advice.find("--shm-size") != std::string::npos);
  facts.rings->free_bytes = 24 * kMiB_bytes - 1;
  CHECK(worst(facts, "rings").health == Health::kProblem);
  // The journal of 32 MiB is half of a 64th of what is free beyond 512 MiB.
  facts.rings->free_bytes = (512 + 64 * 64) * kMiB_bytes;
  CHECK(worst(facts, "rings").health == Health::kOk);
  facts.rings->free_bytes -= kMiB_bytes;
  CHECK(worst(facts, "rings").health == Health::kNote);

  facts = good_machine();
  facts.ring_bytes = facts.journal_bytes = ~std::uint64_t{0} / 16;
  CHECK(worst(facts, "rings").health == Health::kNote);
  facts = good_machine();
  facts = good_machine();
  facts.rings->is_memory = false;
  CHECK(worst(facts, "rings").health == Health::kProblem);
  facts.rings->is_writable = false;
  CHECK(worst(facts, "rings").health == Health::kProblem);
  facts.rings.reset();
  CHECK(worst(facts, "rings").health == Health::kNote);
}

TEST_CASE("doctor is no surer than what it found") {
  Facts facts = good_machine();
  facts.nccl.clear();  // it may be inside the program
  CHECK(worst(facts, "nccl").health == Health::kNote);
  facts.nccl = {{"/a/libnccl.so.2", "the loader", 22809, ""},
                {"/b/libnccl.so.2", "python3", 22703, ""}};
  CHECK(worst(facts, "nccl").health == Health::kNote);
  facts.nccl = {{"/a/libnccl.so.2", "the loader", 22907, ""}};
  CHECK(worst(facts, "nccl").health == Health::kNote);
  facts.broadcasts = "0";
  CHECK(worst(facts, "nccl").health == Health::kOk);
  facts.nccl = {{"/a/libnccl.so.2", "the loader", 0, "it crashed (signal 11)"}};
  CHECK(worst(facts, "nccl").health == Health::kProblem);
  facts.nccl = {{"/a/libnccl.so.2", "the loader", 22005, ""}};
  CHECK(worst(facts, "nccl").health == Health::kProblem);

  facts = good_machine();
  facts.driver.clear();
  facts.gpus = 0;
  facts.has_libcuda = facts.has_nvml = false;
  CHECK(worst(facts, "gpu").health == Health::kNote);
  facts.driver = "550.54.15";  // a container without the libraries
  CHECK(worst(facts, "gpu").health == Health::kProblem);
  facts.clock = record::ClockSource::kClockGettime;
  CHECK(worst(facts, "clock").health == Health::kNote);
  facts.container = "/.dockerenv";
  CHECK(worst(facts, "container").health == Health::kNote);
}

TEST_CASE("doctor names what is wrong with the plugin") {
  Facts facts = good_machine();
  facts.plugin = {{}, false, "/lib/libc.so.6: version `GLIBC_2.38' not found"};
  CHECK(worst(facts, "plugin").health == Health::kProblem);
  CHECK(worst(facts, "plugin").advice.find("on the oldest") != std::string::npos);
  facts.plugin_path.clear();
  CHECK(worst(facts, "plugin").health == Health::kProblem);
  facts = good_machine();
  facts.fallback_plugin = "/usr/lib/libnccl-profiler.so";
  CHECK(worst(facts, "variable").health == Health::kNote);
  facts.other_plugin = "/usr/lib/libnccl-profiler-other.so";
  CHECK(worst(facts, "variable").health == Health::kProblem);
}

TEST_CASE("doctor says what the plugin's probe reads") {
  Facts facts = good_machine();
  topology::Machine machine;
  machine.took_ns = 12'000'000;
  machine.gpus.resize(2);
  for (topology::Gpu& gpu : machine.gpus) {
    gpu.pci = "0000:18:00.0";
    gpu.links.resize(18);
    for (topology::NvLink& link : gpu.links) {
      link.is_up = true;
    }
  }
  machine.ports.resize(2);
  machine.ports[0].state = "ACTIVE";
  machine.ports[0].rate_mbit_s = 400'000;
  facts.machine = describe_machine(machine);
  CHECK(worst(facts, "topology").health == Health::kOk);
  CHECK(
      worst(facts, "topology").text ==
      "2 GPUs with 18 NVLinks each, 1 port of 400 Gb/s, 1 port that is not active; read in 12 ms");
  machine.gpus[0].links[7].number = 7;
  machine.gpus[0].links[7].is_up = false;
  machine.gpus[1].pcie_width = 8;
  machine.gpus[1].most_pcie_width = 16;
  facts.machine = describe_machine(machine);
  CHECK(facts.machine.troubles ==
        std::vector<std::string>{"NVLink 7 of GPU 0 (0000:18:00.0) is down",
                                 "PCIe of GPU 0 (0000:18:00.0) has 8 lanes of 16"});
  CHECK(worst(facts, "topology").health == Health::kProblem);
  machine.state = topology::State::kFailed;
  machine.reason = "NVML: Driver Not Loaded";
  facts.machine = describe_machine(machine);
  CHECK(worst(facts, "topology").text ==
        "the plugin's probe learns nothing: NVML: Driver Not Loaded");
}

TEST_CASE("releases of NCCL") {
  CHECK(version_text(22907) == "2.29.7");
  CHECK(version_text(23100) == "2.31.0");
  CHECK(version_text(2708) == "2.7.8");
  CHECK(interface_of(2708) == 0);
  CHECK(interface_of(22205) == 0);
  CHECK(interface_of(22304) == 1);
  CHECK(interface_of(22501) == 2);
  CHECK(interface_of(22606) == 3);
  CHECK(interface_of(23007) == 6);
  CHECK(interface_of(23100) == 7);
  CHECK(interface_of(30000) == 7);
  CHECK_FALSE(hides_broadcasts(22901));
  CHECK(hides_broadcasts(22902));
  CHECK_FALSE(hides_broadcasts(0));
}

TEST_CASE("names of files and of their directory") {
  CHECK(name_prefix("run 17/../x") == "ringside.run_17____x.");
  CHECK(name_prefix(std::string(200, 'x')).size() == std::string("ringside..").size() + 64);
  CHECK(base_name("/shared/run-17//") == "run-17");
  CHECK(base_name("/").empty());
  CHECK(is_trace_name("ringside.job.host.1.2.json"));
  CHECK(is_trace_name("ringside.job.host.1.2.s000002.json.gz"));
  CHECK_FALSE(is_trace_name("ringside.job.host.1.2.rings"));
  CHECK_FALSE(is_trace_name("ringside.job.host.1.2.json.gz.tmp"));
}

TEST_CASE("a text that cannot be written whole is told with the reason of now") {
  std::string path = "/tmp/ringside-launch-test-XXXXXX";
  const int file = mkstemp(path.data());
  REQUIRE(file >= 0);
  unlink(path.c_str());
  REQUIRE(write_whole(file, "one\n"));
  const pid_t child = fork();
  if (child == 0) {  // the limit is for good
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{8, 8};
    const bool is_limited = setrlimit(RLIMIT_FSIZE, &limit) == 0;
    errno = 0;
    _exit(is_limited && !write_whole(file, "a second line\n") && errno == EFBIG ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(lseek(file, 0, SEEK_END) == 8);
  close(file);
}

TEST_CASE("text that a shell reads") {
  CHECK(shell_quoted("it's") == "'it'\\''s'");
  CHECK(shell_word("RINGSIDE_DIR=/a/b-1") == "RINGSIDE_DIR=/a/b-1");
  CHECK(shell_word("~") == "'~'");
  CHECK(shell_word("") == "''");
  CHECK(as_comment({"a", "b\nc"}) == "# a 'b\n# c'\n");
  CHECK(printable("a\x1b[2J\n\x7f\xc3\xa9") == "a?[2J??\xc3\xa9");
  CHECK(printable("\xc3\xa9\xff") == "\xc3\xa9?");
  CHECK(printable("\xc2\x9b"
                  "2J\xc2\xa0") == "?2J\xc2\xa0");
}

TEST_CASE("bytes that are UTF-8") {
  for (const char* const text : {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    INFO(text);
    CHECK(is_utf8(text));
  }
  for (const char* const text :
       {"\x80", "\xc3", "\xc3z", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xe2\x82",
        "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    CHECK_FALSE(is_utf8(text));
  }
}

TEST_CASE("a job is named alike on all its nodes") {
  const auto job_of = [](const std::string& directory, std::map<std::string, std::string> set) {
    PlanOptions options;
    options.directory = directory;
    options.plugin = "/proc/self/exe";  // any library will do
    const auto get = [&set](const char* name) -> const char* {
      const auto found = set.find(name);
      return found == set.end() ? nullptr : found->second.c_str();
    };
    const Plan plan = make_plan(options, get, {}, {});
    CHECK(plan.error.empty());
    return plan.job;
  };
  CHECK(job_of("", {}) == "job");
  CHECK(job_of("/shared/run-17", {}) == "run-17");
  CHECK(job_of("/", {}) == "job");
  CHECK(job_of("/shared/run-17", {{"SLURM_JOB_ID", "42"}}) == "42");
  CHECK(job_of("", {{"RINGSIDE_DIR", "/shared/run-18"}}) == "run-18");
  CHECK(job_of("/shared/run-17", {{"RINGSIDE_JOB", "job"}}) == "job");
}

TEST_CASE("a file of a process that can be opened and not read is empty") {
  const std::vector<std::string> members = process_stat(getpid());
  REQUIRE(members.size() > 19);
  CHECK(members.front() == "R");
  CHECK(process_file(getpid(), "comm").size() > 1);
  CHECK(process_file(getpid(), "mem").empty());  // as a process that goes before it is read
  CHECK(process_stat(0).empty());
}

}  // namespace
}  // namespace ringside::launch
