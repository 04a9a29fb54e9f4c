/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that runs with and without Ringside: the functions are looked up in the library that
 * NCCL_PROFILER_PLUGIN names, when there is one.
 */
#include <ringside/ringside.h>
#include <stdio.h>

int main(int argument_count, char** arguments) {
  ringside_functions profiler;
  if (argument_count != 2) {
    fprintf(stderr, "usage: %s DUMP_FILE\n", arguments[0]);
    return 2;
  }
  if (ringside_open(&profiler) != RINGSIDE_OK) {
    printf("no Ringside here; set NCCL_PROFILER_PLUGIN to libnccl-profiler-ringside.so\n");
    return 0;
  }
  const ringside_start_options options = {sizeof options, "coll,p2p"};
  int result = profiler.start(&options);

  profiler.push("step", "looked_up.c:23");
  /* The work with NCCL would be here. */
  profiler.pop();

  if (result == RINGSIDE_OK) result = profiler.stop();
  if (result == RINGSIDE_OK) result = profiler.dump(arguments[1]);
  if (result != RINGSIDE_OK) {
    fprintf(stderr, "looked_up: %s\n", profiler.error_text(result));
    return 1;
  }
  printf("Ringside %s wrote %s\n", profiler.version(), arguments[1]);
  return 0;
}
