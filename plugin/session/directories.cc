// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/directories.h"

#include <cstdlib>
#include <string_view>

#include "plugin/drain/process_info.h"
#include "plugin/journal/journal_format.h"

namespace ringside::session {
namespace {

// One process of a host says for all what they would find: launchers number those of a host.
bool is_first_of_host() {
  for (const char* const name :
       {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID"}) {
    if (const char* const value = std::getenv(name); value != nullptr) {
      return std::string_view(value) == "0";
    }
  }
  return true;
}

}  // namespace

std::string Directories::make(const config::Config& config, const std::string& stem) {
  // The application may change its directory later.
  const std::string parent =
      config.ring_directory.empty() ? "" : drain::absolute_path(config.ring_directory);
  std::string left_over;
  if (!parent.empty()) {
    std::size_t bytes = 0;
    const std::size_t dead = is_first_of_host() ? RingDirectory::count_left_over(parent, bytes) : 0;
    if (dead != 0) {
      left_over = parent + " holds the rings of " + std::to_string(dead) +
                  " processes that have died (" + std::to_string(bytes >> 20) +
                  " MiB): `ringside recover " + parent + "` makes traces of them and removes them";
    }
    rings_made_ = rings_.create(parent, stem);
    if (rings_made_.is_ok()) {
      rings_made_ =
          rings_.map_journal({config.journal_bytes, config.ring_bytes, config.flight_bytes});
    }
  }
  if (!rings_.is_open() && config.control) {
    control_made_ = control_only_.create(journal::control_parent(), stem);
  }
  return left_over;
}

void Directories::keep_locks() {
  rings_.keep_lock();
  control_only_.keep_lock();
}

void Directories::remove(unsigned rings) {
  rings_.remove(rings);
  control_only_.remove(0);
}

std::string Directories::description(const config::Config& config) const {
  const auto kib = [](std::uint64_t bytes) { return std::to_string(bytes >> 10) + " KiB"; };
  if (rings_.journal() != nullptr) {
    const MemoryShare& share = rings_.share();
    const bool is_less =
        share.journal_bytes < config.journal_bytes || share.ring_bytes < config.ring_bytes;
    return ", rings " + rings_.path() + " (if the process dies: ringside recover" +
           (is_less ? "; a journal of " + kib(share.journal_bytes) + " and rings of " +
                          kib(share.ring_bytes) + ", since " +
                          std::to_string(rings_.free_bytes() >> 20) + " MiB were free"
                    : std::string()) +
           ")";
  }
  return " (rings in memory, " + (config.ring_directory.empty() ? "as asked" : rings_made_.text()) +
         ": a process that is killed loses about the last second" +
         (!config.control       ? std::string()
          : control().is_open() ? "; control socket in " + control().path()
                                : "; no control socket, " + control_made_.text()) +
         ")";
}

}  // namespace ringside::session
