// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/stack_samples.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/process_files.h"
#include "test/unit/catch.h"

namespace ringside::live {
namespace {

TEST_CASE("the main thread of py-spy counts, whatever stands before it") {
  constexpr std::string_view kJson = R"([
    {"pid": 7, "thread_id": 2, "thread_name": "pin_memory", "os_thread_id": 9, "active": false,
     "owns_gil": false, "frames": [
       {"name": "wait", "filename": "/usr/lib/python3.11/threading.py", "module": null,
        "short_filename": "threading.py", "line": 320, "locals": null}]},
    {"pid": 7, "thread_id": 1, "thread_name": "MainThread", "os_thread_id": 7, "active": true,
     "owns_gil": true, "frames": [
       {"name": "load_batch", "filename": "/job/train.py", "module": null,
        "short_filename": "train.py", "line": 12, "locals": null},
       {"name": "<module>", "filename": "/job/train.py", "module": null,
        "short_filename": "train.py", "line": 21, "locals": null}]}])";
  CHECK(read_py_spy(kJson) == Stack{{"load_batch", "train.py:12"}, {"<module>", "train.py:21"}});
  for (const std::string_view other : {"", "Error: Permission Denied", "{}", "[]", "[1, [2]]",
                                       R"([{"thread_name": "MainThread", "frames": 3}])"}) {
    CHECK(read_py_spy(other).empty());
  }
}

TEST_CASE("native stacks are read as gdb and eu-stack write them") {
  constexpr std::string_view kGdb =
      "[New LWP 30431]\n"
      "0x00007f2d in __GI___clock_nanosleep (clock_id=0) at ../sysdeps/clock_nanosleep.c:48\n"
      "#0  0x00007f2d in __GI___clock_nanosleep (clock_id=0) at ../sysdeps/clock_nanosleep.c:48\n"
      "#1  std::this_thread::sleep_for<long, std::ratio<1l, 1000l> > (time=...) at "
      "/usr/include/c++/12/bits/this_thread_sleep.h:80\n"
      "#2  0x00007f2e in ncclCommInitRank () from /lib/libnccl.so.2\n"
      "#3  0x00007f2f in ?? () from /lib/libtorch_cpu.so\n"
      "#4  0x00007f31 in ?? ()\n";
  CHECK(read_native(kGdb) == Stack{{"__GI___clock_nanosleep", "clock_nanosleep.c:48"},
                                   {"std::this_thread::sleep_for<long, std::ratio<1l, 1000l> >",
                                    "this_thread_sleep.h:80"},
                                   {"ncclCommInitRank", ""},
                                   {"libtorch_cpu.so", ""},
                                   {"?", ""}});
  constexpr std::string_view kEuStack =
      "PID 7 - process\nTID 7:\n"
      "#0  0x00007f2d clock_nanosleep@@GLIBC_2.17 - /lib/libc.so.6\n"
      "#1  0x00007f04 - /lib/libnccl.so.2\n"
      "#2  0x00007f05 - /lib/libnccl.so.2\n"
      "#3  0x000055d0 main\n"
      "#4  0x00007f2c __libc_start_call_main - 1\n";
  CHECK(read_native(kEuStack) == Stack{{"clock_nanosleep", ""},
                                       {"libnccl.so.2", ""},
                                       {"main", ""},
                                       {"__libc_start_call_main", ""}});
  CHECK(read_native("ptrace: Operation not permitted.\n#").empty());
}

TEST_CASE("what all samples share is said, without lines that differ") {
  const Stack first = {{"sleep", ""}, {"load", "data.py:5"}, {"train", "train.py:8"}};
  const Stack second = {
      {"read", ""}, {"open", "data.py:2"}, {"load", "data.py:6"}, {"train", "train.py:8"}};
  CHECK(where_samples_are({first, first}) ==
        "in all 2 samples in sleep < load (data.py:5) < train (train.py:8)");
  CHECK(where_samples_are({first, second}) ==
        "in all 2 samples in load (data.py) < train (train.py:8)");
  CHECK(where_samples_are({first, {{"other", "x.py:1"}}}) == "elsewhere in each of 2 samples");
  const Stack deep(20, {"recurse", "deep.py:1"});
  CHECK(where_samples_are({deep}).ends_with("< recurse (deep.py:1) < ..."));
}

TEST_CASE("what most samples share is said, too") {
  const Stack lock = {{"lock", ""}, {"load", "data.py:5"}, {"train", "train.py:8"}};
  const Stack reduce = {{"all_reduce", ""}, {"train", "train.py:9"}};
  CHECK(where_samples_are({lock, reduce, lock}) ==
        "in all 3 samples in train (train.py), in 2 of them in lock < load (data.py:5)");
  CHECK(where_samples_are({lock, {{"exit", ""}}, lock}) ==
        "in 2 of 3 samples in lock < load (data.py:5) < train (train.py:8)");
}

TEST_CASE("a process that has no plugin is not looked at") {
  const std::vector<Evidence> evidence = sample_stacks({getpid(), 0});
  REQUIRE(evidence.size() == 2);
  CHECK(evidence[0].reason.find("no process with Ringside's plugin") != std::string::npos);
  CHECK(evidence[1].reason.find("cannot be read") != std::string::npos);
}

TEST_CASE("a process that a debugger has left stopped goes on") {
  char directory[] = "/tmp/ringside-tools-XXXXXX";
  REQUIRE(mkdtemp(directory) != nullptr);
  const std::string tools = directory;
  std::ofstream(tools + "/py-spy") << "#!/bin/sh\nexit 1\n";
  for (const char* const name : {"/eu-stack", "/gdb"}) {
    std::ofstream(tools + name) << "#!/bin/sh\nfor pid; do :; done\nkill -STOP $pid\nexit 137\n";
  }
  for (const char* const name : {"/py-spy", "/eu-stack", "/gdb"}) {
    REQUIRE(chmod((tools + name).c_str(), S_IRWXU) == 0);
  }
  const std::string path = std::getenv("PATH");
  setenv("PATH", (tools + ':' + path).c_str(), 1);
  const int library = memfd_create("libnccl-profiler-ringside.so", 0);
  REQUIRE(library >= 0);
  REQUIRE(ftruncate(library, 1) == 0);
  REQUIRE(mmap(nullptr, 1, PROT_READ, MAP_SHARED, library, 0) != MAP_FAILED);
  const pid_t child = fork();
  if (child == 0) {
    while (true) {
      pause();
    }
  }
  const std::vector<Evidence> evidence = sample_stacks({child});
  setenv("PATH", path.c_str(), 1);
  std::filesystem::remove_all(tools);
  const std::string state = launch::process_stat(child).at(0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(state == "S");
  REQUIRE(evidence.size() == 1);
  CHECK(evidence[0].reason.find("gdb ended with status 137") != std::string::npos);
}

TEST_CASE("child processes are sampled, too, and what the tools need is said once") {
  char directory[] = "/tmp/ringside-tools-XXXXXX";
  REQUIRE(mkdtemp(directory) != nullptr);
  const std::string tools = directory;
  setenv("NCCL_PROFILER_PLUGIN", "libnccl-profiler-ringside.so", 1);
  const pid_t rank = fork();
  if (rank == 0) {
    setpgid(0, 0);
    execlp("sh", "sh", "-c", "sleep 1000 & wait", nullptr);
  }
  unsetenv("NCCL_PROFILER_PLUGIN");
  const std::string task = "task/" + std::to_string(rank) + "/children";
  std::string child;
  while (child.empty()) {
    std::istringstream(launch::process_file(rank, task.c_str())) >> child;
  }
  std::ofstream(tools + "/py-spy")
      << "#!/bin/sh\n[ $5 = " << child << " ] || { echo 'Error: Permission Denied' >&2; exit 1; }\n"
      << "echo '[{\"thread_name\": \"MainThread\", \"frames\": [{\"name\": \"load\", "
         "\"filename\": \"worker.py\", \"line\": 3}]}]'\n";
  for (const char* const name : {"/eu-stack", "/gdb"}) {
    std::ofstream(tools + name) << "#!/bin/sh\necho 'Operation not permitted' >&2\nexit 1\n";
  }
  for (const char* const name : {"/py-spy", "/eu-stack", "/gdb"}) {
    REQUIRE(chmod((tools + name).c_str(), S_IRWXU) == 0);
  }
  const std::string path = std::getenv("PATH");
  setenv("PATH", (tools + ':' + path).c_str(), 1);
  const std::vector<Evidence> evidence = sample_stacks({rank});
  setenv("PATH", path.c_str(), 1);
  std::filesystem::remove_all(tools);
  kill(-rank, SIGKILL);
  waitpid(rank, nullptr, 0);
  REQUIRE(evidence.size() == 2);
  CHECK(evidence[0].reason.find("shows no stack: py-spy ended with status 1") != std::string::npos);
  CHECK(evidence[0].reason.find("\nIts child process " + child +
                                " was in all 5 samples in load (worker.py:3)") !=
        std::string::npos);
  CHECK(evidence[1].reason.find("ptrace_scope=0") != std::string::npos);
}

}  // namespace
}  // namespace ringside::live
