// SPDX-License-Identifier: Apache-2.0
//
// An application may cancel its threads, also while they run the plugin's code. pthread_cancel()
// unwinds the thread's stack where it waits for something, and behind that would be locks that
// nobody gives back, and functions that let no exception out, which end the application.
#ifndef RINGSIDE_PLUGIN_POSIX_UNCANCELLED_H
#define RINGSIDE_PLUGIN_POSIX_UNCANCELLED_H

#include <pthread.h>

namespace ringside::posix {

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

#endif  // RINGSIDE_PLUGIN_POSIX_UNCANCELLED_H
