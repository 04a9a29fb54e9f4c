/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that is not Ringside's, with the functions of Ringside's C API. INCOMPLETE: without the
 * last of them.
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

int ringside_push(const char* text, const char* source) {
  return text != NULL || source != NULL ? RINGSIDE_OK : RINGSIDE_ERROR_ARGUMENT;
}

int ringside_pop(void) {
  return RINGSIDE_OK;
}

int ringside_is_recording(void) {
  return 1;
}

#ifndef INCOMPLETE
const char* ringside_error_text(int result) {
  return result == RINGSIDE_OK ? "success" : "an error";
}
#endif
