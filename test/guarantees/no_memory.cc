// SPDX-License-Identifier: Apache-2.0
//
// Loaded before a program (LD_PRELOAD), it has no memory for the threads of one name
// (NO_MEMORY_THREAD): for allocation number NO_MEMORY_FROM of each, and with NO_MEMORY_FOR_EVER for
// all that follow. At the end it writes how many there were.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>
#include <unistd.h>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

std::atomic<unsigned long> most{0};

struct Thread {
  bool is_meant = false;
  unsigned long count = 0;
};
__attribute__((tls_model("initial-exec"))) thread_local constinit Thread t_thread;

bool fails() {
  static const char* const name = std::getenv("NO_MEMORY_THREAD");
  static const char* const from_text = std::getenv("NO_MEMORY_FROM");
  static const bool for_ever = std::getenv("NO_MEMORY_FOR_EVER") != nullptr;
  if (name == nullptr || from_text == nullptr) {
    return false;
  }
  if (!t_thread.is_meant) {
    char own[16] = {};  // a thread gets its name a moment after it has begun
    prctl(PR_GET_NAME, own);
    t_thread.is_meant = std::strcmp(own, name) == 0;
  }
  if (!t_thread.is_meant) {
    return false;
  }
  const unsigned long from = std::strtoul(from_text, nullptr, 10);
  const unsigned long now = ++t_thread.count;
  if (now > most.load(std::memory_order_relaxed)) {
    most.store(now, std::memory_order_relaxed);
  }
  const bool is_failure = from != 0 && (for_ever ? now >= from : now == from);
  errno = is_failure ? ENOMEM : errno;
  return is_failure;
}

__attribute__((destructor)) void say() {
  char line[64];
  const int size = std::snprintf(line, sizeof line, "no_memory: %lu allocations\n", most.load());
  if (write(STDERR_FILENO, line, static_cast<std::size_t>(size)) < 0) {
    return;
  }
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void* malloc(std::size_t size) {
  return fails() ? nullptr : __libc_malloc(size);
}
__attribute__((visibility("default"))) void* calloc(std::size_t count, std::size_t size) {
  return fails() ? nullptr : __libc_calloc(count, size);
}
__attribute__((visibility("default"))) void* realloc(void* memory, std::size_t size) {
  return fails() ? nullptr : __libc_realloc(memory, size);
}
__attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment,
                                                           std::size_t size) {
  return fails() ? nullptr : __libc_memalign(alignment, size);
}
__attribute__((visibility("default"))) int posix_memalign(void** memory, std::size_t alignment,
                                                          std::size_t size) {
  if (fails()) {
    return ENOMEM;
  }
  *memory = __libc_memalign(alignment, size);
  return *memory != nullptr ? 0 : ENOMEM;
}
}
