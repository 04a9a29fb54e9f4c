/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is linked with libnccl-profiler-ringside.so. NCCL must then load the same file
 * (NCCL_PROFILER_PLUGIN names it), so that both use one instance.
 */
#include <ringside/ringside.h>
#include <stdio.h>
#include <string.h>

static int check(int result, const char* what) {
  if (result != RINGSIDE_OK) fprintf(stderr, "linked: %s: %s\n", what, ringside_error_text(result));
  return result == RINGSIDE_OK;
}

int main(int argument_count, char** arguments) {
  ringside_status_info info;
  if (argument_count != 2) {
    fprintf(stderr, "usage: %s DUMP_FILE\n", arguments[0]);
    return 2;
  }
  if (!check(ringside_start(NULL), "ringside_start")) return 1;
  if (!check(ringside_mark("training begins"), "ringside_mark")) return 1;

  if (!check(ringside_push("step", "linked.c:24"), "ringside_push")) return 1;
  /* The work with NCCL would be here. */
  if (!check(ringside_pop(), "ringside_pop")) return 1;

  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  if (!check(ringside_status(&info), "ringside_status")) return 1;
  printf("Ringside %s: %s, %llu operations, %llu callbacks dropped\n", ringside_version(),
         info.started ? "recording" : "stopped", (unsigned long long)info.operations,
         (unsigned long long)info.dropped);
  if (!check(ringside_stop(), "ringside_stop")) return 1;
  if (!check(ringside_dump(arguments[1]), "ringside_dump")) return 1;
  printf("wrote %s\n", arguments[1]);
  return 0;
}
