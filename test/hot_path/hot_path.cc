// SPDX-License-Identifier: Apache-2.0
//
// Proves that NCCL's threads pay neither an allocation, nor a lock, nor a system call once a thread
// is known: a million callbacks of every kind that a table has, bogus handles among them, and the
// application's marks and ranges, under counting allocators and locks and a seccomp filter of this
// thread that kills at any system call.
//
// usage: hot_path PLUGIN VERSION
// Exit: 0 clean, 1 not clean, 77 cannot be shown here; killed (SIGSYS) at a system call.
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/record/clock.h"
#include "ringside/ringside.h"
#include "test/bench/descriptors.h"
#include "test/bench/profiler_table.h"

namespace {

thread_local constinit bool t_watched = false;
thread_local constinit long t_allocations = 0;
thread_local constinit long t_locks = 0;

void count_allocation() {
  t_allocations += t_watched ? 1 : 0;
}
void count_lock() {
  t_locks += t_watched ? 1 : 0;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// The executable's definitions come before the C library's for every library of the process. The
// C library's own entry points do the work, so that memory of both kinds can be mixed. operator new
// of libstdc++ and mmap'ed allocation end in these or in a system call.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void __libc_free(void*);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) {
  count_allocation();
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  count_allocation();
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  count_allocation();
  return __libc_realloc(memory, bytes);
}
void free(void* memory) {
  count_allocation();
  __libc_free(memory);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  count_allocation();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  count_allocation();
  *memory = __libc_memalign(alignment, bytes);
  return *memory != nullptr ? 0 : ENOMEM;
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  count_lock();
  static const auto real = next<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
  return real(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  count_lock();
  static const auto real = next<int (*)(pthread_mutex_t*)>("pthread_mutex_trylock");
  return real(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  count_lock();
  static const auto real = next<int (*)(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  return real(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  count_lock();
  static const auto real = next<int (*)(pthread_rwlock_t*)>("pthread_rwlock_wrlock");
  return real(lock);
}
int pthread_cond_signal(pthread_cond_t* condition) {
  count_lock();
  static const auto real = next<int (*)(pthread_cond_t*)>("pthread_cond_signal");
  return real(condition);
}
int pthread_cond_broadcast(pthread_cond_t* condition) {
  count_lock();
  static const auto real = next<int (*)(pthread_cond_t*)>("pthread_cond_broadcast");
  return real(condition);
}
}

namespace {

using namespace ringside;  // NOLINT(google-build-using-namespace)

constexpr int kCallbacks = 1'000'000;

/// Any system call of the calling thread kills the process, but exit_group with this argument,
/// which leaves the watched section with its result.
constexpr unsigned kLeave = 0x52470000;

bool forbid_system_calls() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xFFFF0000U),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kLeave, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof rules / sizeof rules[0], rules};
  // No SECCOMP_FILTER_FLAG_TSYNC: the drain thread may call what it likes.
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Every kind of callback that the version has, once; how many calls that were.
int one_round(const bench::ProfilerTable& table, int version, void* context, void* const* parents,
              bench::Descriptor* descriptors) {
  int calls = 0;
  bench::StateArgs args{};
  for (std::size_t i = 0; i < bench::kKinds.size(); ++i) {
    const bench::Kind& kind = bench::kKinds[i];
    if (!bench::has_kind(version, kind)) {
      continue;
    }
    void* handle = nullptr;
    table.start_event(context, &handle, &descriptors[i]);
    const int state = bench::state_of(version, kind);
    table.record_event_state(handle, state, &args);
    table.record_event_state(handle, state, nullptr);
    table.stop_event(handle);
    table.stop_event(handle);  // doubled
    calls += 5;
  }
  // Bogus: a context and handles that nobody gave out, and NULL.
  void* handle = nullptr;
  int on_stack = 0;
  table.start_event(&on_stack, &handle, &descriptors[1]);
  table.stop_event(handle);
  table.stop_event(&on_stack);
  table.record_event_state(&on_stack, 8, &args);
  table.stop_event(nullptr);
  table.start_event(context, nullptr, nullptr);
  table.stop_event(parents[0]);
  return calls + 7;
}

/// The application's marks and ranges.
struct Marks {
  decltype(&ringside_mark) mark;
  decltype(&ringside_push) push;
  decltype(&ringside_pop) pop;

  explicit Marks(void* library)
      : mark(reinterpret_cast<decltype(mark)>(dlsym(library, "ringside_mark"))),
        push(reinterpret_cast<decltype(push)>(dlsym(library, "ringside_push"))),
        pop(reinterpret_cast<decltype(pop)>(dlsym(library, "ringside_pop"))) {}
  int one_round() const {
    push("step", "train.py:17");
    mark("half way");
    pop();
    pop();  // one too many
    return 4;
  }
};

int watch(const char* path, int version) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const bench::ProfilerTable* const table = bench::find_table(library, version);
  void* context = nullptr;
  int mask = 0;
  if (table == nullptr || bench::init_table(*table, version, &context, &mask) != 0 || mask == 0) {
    std::fprintf(stderr, "version %d: no table, or it records nothing\n", version);
    return 1;
  }
  bench::Descriptor descriptors[bench::kKinds.size()];
  void* parents[bench::kKinds.size()] = {};
  for (std::size_t i = 0; i < bench::kKinds.size(); ++i) {
    descriptors[i] =
        bench::make_descriptor(version, bench::kKinds[i], i > 0 ? parents[0] : nullptr);
    if (i == 0) {
      // The thread's first event: from here on it is known.
      table->start_event(context, &parents[0], &descriptors[0]);
    }
  }
  const Marks marks(library);
  if (!forbid_system_calls()) {
    std::perror("seccomp");
    return 77;
  }
  t_watched = true;
  int calls = 0;
  while (calls < kCallbacks) {
    calls += one_round(*table, version, context, parents, descriptors) + marks.one_round();
  }
  t_watched = false;
  // Nothing can be printed any more: the status says what was found.
  const unsigned found = (t_allocations != 0 ? 2U : 0U) | (t_locks != 0 ? 4U : 0U);
  syscall(SYS_exit_group, kLeave | found);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: hot_path PLUGIN VERSION\n");
    return 1;
  }
  if (record::find_clock_source() == record::ClockSource::kClockGettime) {
    std::printf("skipped: reading this machine's clock may be a system call\n");
    return 77;
  }
  return watch(argv[1], std::atoi(argv[2]));
}
