// SPDX-License-Identifier: Apache-2.0
//
// A library that `ringside doctor` may find: a libnccl.so.2 of the release LAUNCH_TEST_VERSION,
// which crashes when asked if that is "crash"; and a profiler plugin that is not Ringside's.
#include <stdlib.h>
#include <string.h>

int ncclGetVersion(int* version);
extern const int ncclProfiler_v4;

const int ncclProfiler_v4 = 0;

int ncclGetVersion(int* version) {
  const char* const text = getenv("LAUNCH_TEST_VERSION");
  if (text == NULL) {
    return 1;
  }
  if (strcmp(text, "crash") == 0) {
    abort();
  }
  *version = atoi(text);
  return 0;
}
