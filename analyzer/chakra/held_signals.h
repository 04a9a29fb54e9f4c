// SPDX-License-Identifier: Apache-2.0
//
// An export writes a file for each rank, and an interrupted one shall leave none.
#ifndef RINGSIDE_ANALYZER_CHAKRA_HELD_SIGNALS_H
#define RINGSIDE_ANALYZER_CHAKRA_HELD_SIGNALS_H

#include <csignal>
#include <initializer_list>

namespace ringside::chakra {

/// Holds back what would end the process, on this thread and on those that it makes, until the end
/// of the object's life. SIGXFSZ is ignored meanwhile, so that a write fails instead.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&held_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
      sigaddset(&held_, signal);
    }
    pthread_sigmask(SIG_BLOCK, &held_, &before_);
    old_limit_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~HeldSignals() {
    std::signal(SIGXFSZ, old_limit_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// Whether one has come, and waits for the end of this object's life.
  bool has_come() const {
    sigset_t pending;
    sigpending(&pending);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
      if (sigismember(&pending, signal) == 1 && sigismember(&before_, signal) == 0) {
        return true;
      }
    }
    return false;
  }

 private:
  sigset_t held_{};
  sigset_t before_{};
  void (*old_limit_)(int) = SIG_DFL;
};

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_HELD_SIGNALS_H
