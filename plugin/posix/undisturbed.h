// SPDX-License-Identifier: Apache-2.0
//
// Threads of the application run the plugin's code now and then. No signal that this code raises
// may reach the application, and no handler of the application may run in the middle of it: a
// handler that calls exit() would wait for what the interrupted code holds. Nor may the application
// cancel a thread there: pthread_cancel() unwinds the thread's stack where it waits for something,
// and behind that would be locks that nobody gives back, and functions that let no exception out,
// which end the application.
#ifndef RINGSIDE_PLUGIN_POSIX_UNDISTURBED_H
#define RINGSIDE_PLUGIN_POSIX_UNDISTURBED_H

#include <csignal>
#include <ctime>
#include <pthread.h>

namespace ringside::posix {

/// Signals to the calling thread wait while this lives, and come when it ends.
class HeldSignals {
 public:
  HeldSignals() noexcept { hold(); }
  ~HeldSignals() { release(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// For a wait in between: signals come from here until hold().
  void release() noexcept { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  void hold() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }

 private:
  sigset_t before_;
};

/// As HeldSignals. Besides, the signals with which the kernel answers a call that writes never come
/// if they were raised while this lived: SIGPIPE (nobody reads) and SIGXFSZ (the limit of file
/// sizes). The call's error says the same.
class SilentCalls {
 public:
  SilentCalls() noexcept { sigpending(&before_); }
  ~SilentCalls() {
    sigset_t now;
    sigpending(&now);
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&now, signal) == 1 && sigismember(&before_, signal) == 0) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, signal);
        const timespec no_time{};
        sigtimedwait(&one, nullptr, &no_time);
      }
    }
  }
  SilentCalls(const SilentCalls&) = delete;
  SilentCalls& operator=(const SilentCalls&) = delete;

 private:
  HeldSignals held_;
  sigset_t before_;  ///< what waited already
};

/// The calling thread is not cancelled while this lives; a request waits until the thread has left
/// the plugin. It stands at every entry of the application's threads but the callbacks of threads
/// that have their ring, which never wait.
class Uncancelled {
 public:
  Uncancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace ringside::posix

#endif  // RINGSIDE_PLUGIN_POSIX_UNDISTURBED_H
