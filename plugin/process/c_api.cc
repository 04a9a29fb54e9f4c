// SPDX-License-Identifier: Apache-2.0
//
// The C API of include/ringside/ringside.h. It checks arguments and lets no exception out.
#include <cstddef>
#include <cstring>
#include <string_view>

#include "plugin/config/version.h"
#include "plugin/posix/undisturbed.h"
#include "plugin/process/profiler.h"
#include "plugin/record/recorder.h"
#include "ringside/ringside.h"

namespace {

using ringside::process::Profiler;
using ringside::record::g_recorder;
using ringside::session::Session;

template <typename Action>
int with_session(Action action) noexcept {
  const ringside::posix::Uncancelled uncancelled;
  try {
    Profiler* const profiler = Profiler::get();
    return profiler != nullptr ? action(profiler->session()) : RINGSIDE_ERROR_DISABLED;
  } catch (...) {
    return RINGSIDE_ERROR_DISABLED;
  }
}

// The text may be NULL, and need not end behind its longest part.
std::string_view bounded(const char* text) {
  return text != nullptr ? std::string_view(text, strnlen(text, ringside::record::kMostText_bytes))
                         : std::string_view();
}

#define RINGSIDE_TEXT(number) #number
#define RINGSIDE_VERSION_TEXT(major, minor, patch) \
  RINGSIDE_TEXT(major) "." RINGSIDE_TEXT(minor) "." RINGSIDE_TEXT(patch)

static_assert(std::string_view(ringside::config::kVersion) ==
                  RINGSIDE_VERSION_TEXT(RINGSIDE_VERSION_MAJOR, RINGSIDE_VERSION_MINOR,
                                        RINGSIDE_VERSION_PATCH),
              "ringside.h has another version than the project");

}  // namespace

extern "C" {

int ringside_start(const ringside_start_options* options) {
  const char* events = nullptr;
  if (options != nullptr) {
    constexpr std::size_t kNeeded = offsetof(ringside_start_options, events) + sizeof(const char*);
    if (options->struct_size < kNeeded) {
      return RINGSIDE_ERROR_ARGUMENT;
    }
    events = options->events;
  }
  return with_session([&](Session& session) { return session.start(events); });
}

int ringside_stop(void) {
  return with_session([](Session& session) { return session.stop(); });
}

int ringside_dump(const char* path) {
  if (path != nullptr && path[0] == '\0') {
    return RINGSIDE_ERROR_ARGUMENT;
  }
  return with_session([&](Session& session) { return session.dump(path); });
}

int ringside_status(ringside_status_info* info) {
  if (info == nullptr || info->struct_size < offsetof(ringside_status_info, trace_path)) {
    return RINGSIDE_ERROR_ARGUMENT;
  }
  return with_session([&](Session& session) {
    ringside_status_info full = session.status().info;
    const std::size_t size = info->struct_size < sizeof full ? info->struct_size : sizeof full;
    full.struct_size = info->struct_size;
    std::memcpy(info, &full, size);
    return RINGSIDE_OK;
  });
}

const char* ringside_version(void) {
  return ringside::config::kVersion;
}

const char* ringside_error_text(int result) {
  switch (result) {
    case RINGSIDE_OK:
      return "success";
    case RINGSIDE_ERROR_ARGUMENT:
      return "an argument is not valid; names of events are " RINGSIDE_EVENT_NAMES;
    case RINGSIDE_ERROR_EXISTS:
      return "the file exists already";
    case RINGSIDE_ERROR_IO:
      return "a file could not be created or written";
    case RINGSIDE_ERROR_DISABLED:
      return "this process records nothing: the child of a fork, or no memory at load";
    case RINGSIDE_ERROR_TIMEOUT:
      return "no complete dump within ten seconds";
    case RINGSIDE_ERROR_NOT_FOUND:
      return "there is no such library, or it lacks functions of Ringside";
    case RINGSIDE_ERROR_BUSY:
      return "too much waits to be written";
    default:
      return "unknown error";
  }
}

int ringside_mark(const char* text) {
  if (text == nullptr) {
    return RINGSIDE_ERROR_ARGUMENT;
  }
  return with_session(
      [&](Session&) { return g_recorder.mark(bounded(text)) ? RINGSIDE_OK : RINGSIDE_ERROR_BUSY; });
}

int ringside_push(const char* text, const char* source) {
  if (text == nullptr) {
    return RINGSIDE_ERROR_ARGUMENT;
  }
  return with_session([&](Session&) {
    return g_recorder.push(bounded(text), bounded(source)) ? RINGSIDE_OK : RINGSIDE_ERROR_BUSY;
  });
}

int ringside_pop(void) {
  return with_session([](Session&) {
    g_recorder.pop();
    return RINGSIDE_OK;
  });
}

int ringside_is_recording(void) {
  return with_session([](Session& session) { return session.is_started() ? 1 : 0; }) == 1 ? 1 : 0;
}

}  // extern "C"
