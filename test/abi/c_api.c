/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program sees of the library that NCCL_PROFILER_PLUGIN names: its version is the header's,
 * each result has a text, and behind each table for NCCL there are NULL pointers. An NCCL that
 * looks for a member which a later draft of the interface has added finds none.
 */
#include <ringside/ringside.h>

#define FIRST_INTERFACE 1
#define LAST_INTERFACE 7
#define MEMBERS 6 /* of a table: its name and five functions */
#define LATER_MEMBERS 8

static int failures = 0;

static void check(int is_so, const char* what, int number) {
  if (!is_so) {
    printf("failed: %s (%d)\n", what, number);
    failures++;
  }
}

static void check_texts(const ringside_functions* functions) {
  const char* unknown = functions->error_text(RINGSIDE_ERROR_BUSY - 1);
  int result;
  check(strcmp(unknown, "unknown error") == 0, unknown, RINGSIDE_ERROR_BUSY - 1);
  check(functions->error_text(1) == unknown, functions->error_text(1), 1);
  for (result = RINGSIDE_OK; result >= RINGSIDE_ERROR_BUSY; result--) {
    const char* text = functions->error_text(result);
    int other;
    check(text != NULL && text[0] != '\0' && strcmp(text, unknown) != 0, "it has no text", result);
    for (other = RINGSIDE_OK; other > result; other--) {
      check(strcmp(text, functions->error_text(other)) != 0, text, result);
    }
  }
  check(strstr(functions->error_text(RINGSIDE_ERROR_ARGUMENT), RINGSIDE_EVENT_NAMES) != NULL,
        "the events have no names", RINGSIDE_ERROR_ARGUMENT);
}

static void check_tables(void* library) {
  int version;
  for (version = FIRST_INTERFACE; version <= LAST_INTERFACE; version++) {
    char name[32];
    const void* const* table;
    int i;
    snprintf(name, sizeof name, "ncclProfiler_v%d", version);
    table = (const void* const*)dlsym(library, name);
    check(table != NULL, name, version);
    for (i = 0; table != NULL && i < MEMBERS + LATER_MEMBERS; i++) {
      check((table[i] != NULL) == (i < MEMBERS), name, i);
    }
  }
}

int main(void) {
  char version[32];
  ringside_functions functions;
  if (ringside_open(&functions) != RINGSIDE_OK) {
    printf("failed: NCCL_PROFILER_PLUGIN names no library of Ringside\n");
    return 1;
  }
  snprintf(version, sizeof version, "%d.%d.%d", RINGSIDE_VERSION_MAJOR, RINGSIDE_VERSION_MINOR,
           RINGSIDE_VERSION_PATCH);
  check(strcmp(functions.version(), version) == 0, functions.version(), 0);
  check_texts(&functions);
  check_tables(dlopen(getenv("NCCL_PROFILER_PLUGIN"), RTLD_NOW | RTLD_LOCAL));
  return failures == 0 ? 0 : 1;
}
