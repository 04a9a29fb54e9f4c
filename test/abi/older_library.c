/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with the C API of before ringside_push and ringside_pop: programs that were built with
 * today's header find it by ringside_open(), and their ranges do nothing.
 */
#include <stddef.h>

#include "include/ringside/ringside.h"

int ringside_start(const ringside_start_options* options) {
  return options != NULL ? RINGSIDE_OK : RINGSIDE_ERROR_ARGUMENT;
}

int ringside_stop(void) {
  return RINGSIDE_OK;
}

int ringside_dump(const char* path) {
  return path != NULL ? RINGSIDE_OK : RINGSIDE_ERROR_ARGUMENT;
}

int ringside_status(ringside_status_info* info) {
  return info != NULL ? RINGSIDE_OK : RINGSIDE_ERROR_ARGUMENT;
}

const char* ringside_version(void) {
  return "0.0.9";
}

int ringside_mark(const char* text) {
  return text != NULL ? RINGSIDE_OK : RINGSIDE_ERROR_ARGUMENT;
}
