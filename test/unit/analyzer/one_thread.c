// SPDX-License-Identifier: Apache-2.0
//
// Loaded before a program that must start no thread: one that does is ended.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  (void)thread;
  (void)attributes;
  (void)start;
  (void)argument;
  fputs("a test that is said to have one thread starts another\n", stderr);
  abort();
}
