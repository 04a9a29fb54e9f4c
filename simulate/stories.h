// SPDX-License-Identifier: Apache-2.0
//
// The jobs that `ringside demo` shows: a healthy one, and one for each kind of trouble.
#ifndef RINGSIDE_SIMULATE_STORIES_H
#define RINGSIDE_SIMULATE_STORIES_H

#include <array>

#include "simulate/options.h"

namespace ringside::simulate {

struct Story {
  const char* name;
  const char* about;    // what happens, a sentence
  const char* command;  // of `ringside`, that says most of it
  void (*change)(Options& options);
};

extern const std::array<Story, 5> kStories;

/// The job of a story; its directory is not set.
Options job_of(const Story& story);

}  // namespace ringside::simulate

#endif  // RINGSIDE_SIMULATE_STORIES_H
