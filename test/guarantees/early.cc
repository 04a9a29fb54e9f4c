// SPDX-License-Identifier: Apache-2.0
//
// Before the first communicator, and while it is opened: the C API alone, forks, cancelled threads,
// NCCL's logger.
#include <chrono>
#include <cstdio>
#include <dlfcn.h>
#include <future>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "plugin/abi/versions.h"
#include "test/guarantees/scenarios.h"

namespace ringside::guarantees {
namespace {

template <typename Function>
Function* c_api(const Loaded& loaded, const char* name) {
  return reinterpret_cast<Function*>(c_function(loaded, name));
}

const Loaded* logging = nullptr;
std::atomic<int> logged = 0;

// Calls the plugin, and does not return before others have, too.
void calling_logger(int, unsigned long, const char*, int, const char*, ...) {
  status_of(*logging);
  const auto mark = c_api<decltype(ringside_mark)>(*logging, "ringside_mark");
  std::async(std::launch::async, [mark] { mark("while NCCL's logger is called"); }).get();
  ++logged;
}

}  // namespace

int api_only(const Program& program) {
  Loaded loaded(program.path, program.abi);
  c_api<decltype(ringside_mark)>(loaded, "ringside_mark")("a mark");
  c_api<decltype(ringside_start)>(loaded, "ringside_start")(nullptr);
  status_of(loaded);
  c_api<decltype(ringside_stop)>(loaded, "ringside_stop")();
  if (program.arguments.at(0) == "dump") {
    c_api<decltype(ringside_dump)>(loaded, "ringside_dump")(nullptr);
  }
  std::printf("called\n");
  std::fflush(stdout);
  std::fgetc(stdin);
  std::exit(0);
}

int fork_before_init(const Program& program) {
  const std::string& how = program.arguments.at(0);
  static Loaded loaded(program.path, program.abi);
  const auto push = c_api<decltype(ringside_push)>(loaded, "ringside_push");
  const auto pop = c_api<decltype(ringside_pop)>(loaded, "ringside_pop");
  const ringside_start_options collectives = {sizeof collectives, "coll"};
  if (how != "silent") {
    c_api<decltype(ringside_start)>(loaded, "ringside_start")(&collectives);
    push("of the parent", nullptr);
  }
  const pid_t pid = how == "_Fork" ? _Fork() : fork();
  if (pid == 0) {
    pop();  // no range of the child's
    void* const context = loaded.new_communicator(1);
    require(loaded.mask() != 0, "init in the child asks for nothing");
    Caller(loaded.plugin(), context, program.rows[0]).operations(100, 0);
    loaded.plugin().finalize(context);
    if (how == "grandchild") {
      const pid_t grandchild = fork();
      if (grandchild == 0) {
        Caller(loaded.plugin(), context, program.rows[1]).operations(100, 0);
        const auto mark = c_api<decltype(ringside_mark)>(loaded, "ringside_mark");
        _exit(mark("grandchild") == RINGSIDE_ERROR_DISABLED ? 0 : 1);
      }
      int status = 0;
      require(waitpid(grandchild, &status, 0) == grandchild && status == 0, "the grandchild");
    }
    std::exit(0);
  }
  int status = 0;
  require(waitpid(pid, &status, 0) == pid && status == 0, "the child");
  std::exit(0);
}

int fork_and_stay(const Program& program) {
  Loaded loaded(program.path, program.abi);
  Caller(loaded.plugin(), loaded.new_communicator(1), program.rows[0]).operations(10, 0);
  std::printf("recording\n");
  std::fflush(stdout);
  std::fgetc(stdin);  // until somebody is connected
  const pid_t pid = _Fork();
  if (pid == 0) {
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    sleep(60);
    _exit(0);
  }
  std::printf("%d\n", pid);
  std::fflush(stdout);
  std::fgetc(stdin);
  std::exit(0);
}

namespace {

// Has a frame of its own: where a thread is cancelled, AddressSanitizer keeps the marks of the
// frames that are left without a return.
[[gnu::noinline]] void call_all(const Program& program) {
  Loaded& loaded = *new Loaded(program.path, program.abi);
  void* const context = loaded.new_communicator(1);
  Caller(loaded.plugin(), context, program.rows[0]).operations(100, 0);
  c_api<decltype(ringside_mark)>(loaded, "ringside_mark")("a mark");
  c_api<decltype(ringside_stop)>(loaded, "ringside_stop")();
  c_api<decltype(ringside_start)>(loaded, "ringside_start")(nullptr);
  status_of(loaded);
  const char* const dump = program.arguments.at(0).c_str();
  require(c_api<decltype(ringside_dump)>(loaded, "ringside_dump")(dump) == RINGSIDE_OK, "no dump");
  loaded.plugin().finalize(context);
}

}  // namespace

int cancelled(const Program& program) {
  const auto of_thread = [](void* given) -> void* {
    const Program& its_program = *static_cast<const Program*>(given);
    pthread_cancel(pthread_self());  // takes effect where the thread next could wait for something
    call_all(its_program);
    pthread_testcancel();
    return nullptr;
  };
  Program copy = program;
  pthread_t thread{};
  void* result = nullptr;
  require(pthread_create(&thread, nullptr, of_thread, &copy) == 0, "no thread");
  require(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED, "it ends otherwise");
  pthread_cancel(pthread_self());
  std::exit(0);
}

int logger_calls(const Program& program) {
  Loaded loaded(program.path, program.abi);
  logging = &loaded;
  alarm(30);  // a deadlock is none of the program's results
  const auto* const profiler =
      static_cast<const abi::v6::Profiler*>(c_function(loaded, "ncclProfiler_v6"));
  int mask = 0;
  void* context = nullptr;
  profiler->init(&context, 1, &mask, "logged", 1, 2, 0, calling_logger);
  require(logged > 0, "NCCL's logger was not called");
  profiler->finalize(context);
  return 0;
}

}  // namespace ringside::guarantees
