// SPDX-License-Identifier: Apache-2.0
#include "plugin/threads/background_thread.h"

#include <csignal>
#include <pthread.h>

namespace ringside::threads {

bool start_background_thread(const char* name, std::size_t stack_bytes, void* (*main)(void*),
                             void* argument) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack_bytes != 0) {
    pthread_attr_setstacksize(&attributes, stack_bytes);
  }
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool runs = pthread_create(&thread, &attributes, main, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (runs) {
    pthread_setname_np(thread, name);
    pthread_detach(thread);
  }
  return runs;
}

}  // namespace ringside::threads
