// SPDX-License-Identifier: Apache-2.0
//
// NCCL's threads yield in a loop, or ask sockets in a loop, while they have nothing to do. With
// fewer cores than such threads that is a storm: Linux 6.18 was seen to keep every other thread of
// the machine, the kernel's own too, from running for up to 65 s while three ranks waited for a
// fourth; and 64 ranks had not connected after 90 s. So some of these calls are short sleeps here.
// Hidden: it is what NCCL's archive in this library calls, and nobody else.
#include <algorithm>
#include <cerrno>
#include <ctime>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

/// Counts a thread's calls that found nothing to do, and has some of them sleep, ever longer: up to
/// a sixteenth of the time that it has waited.
class Idling {
 public:
  void found_nothing() noexcept {
    ++calls_;
    if (calls_ % kCallsPerSleep != 0) return;
    const timespec time{0, std::min(kLongestSleep_ns, calls_ * kSleep_ns)};
    nanosleep(&time, nullptr);  // with the kernel's slack some 50 us more
  }

  void found_something() noexcept { calls_ = 0; }

 private:
  static constexpr long kCallsPerSleep = 8;
  static constexpr long kSleep_ns = 500;
  static constexpr long kLongestSleep_ns = 1'000'000;

  long calls_ = 0;
};

thread_local Idling idling;

template <typename Result>
Result told_of_socket(Result result) noexcept {
  if (result >= 0) {
    idling.found_something();
  } else if (errno == EAGAIN) {
    idling.found_nothing();
    errno = EAGAIN;
  }
  return result;
}

}  // namespace

extern "C" {

__attribute__((visibility("hidden"))) int sched_yield() noexcept {
  idling.found_nothing();
  return static_cast<int>(syscall(SYS_sched_yield));
}

__attribute__((visibility("hidden"))) ssize_t recv(int socket, void* to, size_t bytes, int flags) {
  return told_of_socket(syscall(SYS_recvfrom, socket, to, bytes, flags, nullptr, nullptr));
}

__attribute__((visibility("hidden"))) ssize_t send(int socket, const void* from, size_t bytes,
                                                   int flags) {
  return told_of_socket(syscall(SYS_sendto, socket, from, bytes, flags, nullptr, 0));
}

__attribute__((visibility("hidden"))) int accept(int socket, sockaddr* address, socklen_t* bytes) {
  return told_of_socket(static_cast<int>(syscall(SYS_accept, socket, address, bytes)));
}
}
