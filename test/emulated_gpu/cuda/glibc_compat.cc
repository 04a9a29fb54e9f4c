// SPDX-License-Identifier: Apache-2.0
//
// Newer C libraries rename these functions for programs compiled in newer C dialects. The archive
// refers to the new names, which a C library before 2.38 lacks; the old functions serve. Hidden, so
// that nothing outside the library that contains them can come to depend on them.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

// A newer library would call its own names from here, and so these functions without end.
#if !__GLIBC_PREREQ(2, 38)

#define HIDDEN __attribute__((visibility("hidden")))

extern "C" {
HIDDEN long __isoc23_strtol(const char* text, char** end, int base) {
  return strtol(text, end, base);
}

HIDDEN long long __isoc23_strtoll(const char* text, char** end, int base) {
  return strtoll(text, end, base);
}

HIDDEN unsigned long __isoc23_strtoul(const char* text, char** end, int base) {
  return strtoul(text, end, base);
}

HIDDEN unsigned long long __isoc23_strtoull(const char* text, char** end, int base) {
  return strtoull(text, end, base);
}

HIDDEN int __isoc23_sscanf(const char* text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int converted = vsscanf(text, format, arguments);
  va_end(arguments);
  return converted;
}

HIDDEN int __isoc23_fscanf(FILE* file, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int converted = vfscanf(file, format, arguments);
  va_end(arguments);
  return converted;
}

}  // extern "C"

#endif
