// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/stack_samples.h"

#include <unistd.h>

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
      "#2  0x00007f2e in ncclCommInitRank () from /lib/libnccl.so.2\n";
  CHECK(read_native(kGdb) == Stack{{"__GI___clock_nanosleep", "clock_nanosleep.c:48"},
                                   {"std::this_thread::sleep_for<long, std::ratio<1l, 1000l> >",
                                    "this_thread_sleep.h:80"},
                                   {"ncclCommInitRank", ""}});
  constexpr std::string_view kEuStack =
      "PID 7 - process\nTID 7:\n"
      "#0  0x00007f2d clock_nanosleep@@GLIBC_2.17\n"
      "#1  0x000055d0 main\n"
      "#2  0x00007f2c __libc_start_call_main - 1\n";
  CHECK(read_native(kEuStack) ==
        Stack{{"clock_nanosleep", ""}, {"main", ""}, {"__libc_start_call_main", ""}});
  CHECK(read_native("ptrace: Operation not permitted.\n#").empty());
}

TEST_CASE("what all samples share is said, without lines that differ") {
  const Stack first = {{"sleep", ""}, {"load", "data.py:5"}, {"train", "train.py:8"}};
  const Stack second = {
      {"read", ""}, {"open", "data.py:2"}, {"load", "data.py:6"}, {"train", "train.py:8"}};
  CHECK(shared_frames({first, first}) == "sleep < load (data.py:5) < train (train.py:8)");
  CHECK(shared_frames({first, second}) == "load (data.py) < train (train.py:8)");
  CHECK(shared_frames({first, {{"other", "x.py:1"}}}).empty());
  CHECK(shared_frames({}).empty());
  const Stack deep(20, {"recurse", "deep.py:1"});
  CHECK(shared_frames({deep}).ends_with("< recurse (deep.py:1) < ..."));
}

TEST_CASE("a process that has no plugin is not looked at") {
  const std::vector<Evidence> evidence = sample_stacks({getpid(), 0});
  REQUIRE(evidence.size() == 2);
  CHECK(evidence[0].reason.find("no process with Ringside's plugin") != std::string::npos);
  CHECK(evidence[1].reason.find("cannot be read") != std::string::npos);
}

}  // namespace
}  // namespace ringside::live
