// SPDX-License-Identifier: Apache-2.0
//
// NCCL's threads yield in a loop while they have nothing to do. With fewer cores than such threads
// that is a storm: Linux 6.18 was seen to keep every other thread of the machine, the kernel's own
// too, from running for up to 65 s while three ranks waited for a fourth. So some of the yields are
// short sleeps here. Hidden: it is what NCCL's archive in this library calls, and nobody else.
#include <ctime>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" __attribute__((visibility("hidden"))) int sched_yield() noexcept {
  constexpr unsigned kYieldsPerSleep = 8;
  static thread_local unsigned yields = 0;
  if (++yields % kYieldsPerSleep == 0) {
    const timespec shortest{0, 1};  // with the kernel's slack some 50 us
    return nanosleep(&shortest, nullptr);
  }
  return static_cast<int>(syscall(SYS_sched_yield));
}
