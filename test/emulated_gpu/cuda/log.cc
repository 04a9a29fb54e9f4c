// SPDX-License-Identifier: Apache-2.0
#include "log.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace emugpu {
namespace {

void print_line(const char* format, va_list arguments) {
  char message[1024];
  std::vsnprintf(message, sizeof message, format, arguments);
  std::fprintf(stderr, "[emugpu %d/%d] %s\n", getpid(), gettid(), message);
}

}  // namespace

long environment_number(const char* name, long fallback) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtol(text, nullptr, 0) : fallback;
}

void trace(const char* format, ...) {
  static const bool enabled = environment_number("EMUGPU_TRACE", 0) != 0;
  if (!enabled) return;
  va_list arguments;
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
}

void fatal(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
  std::abort();
}

}  // namespace emugpu
