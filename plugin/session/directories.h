// SPDX-License-Identifier: Apache-2.0
//
// The directories of this process outside the trace: that of its rings, its journal and its control
// socket, or, where that cannot be made or is not wanted, one elsewhere with the socket alone.
#ifndef RINGSIDE_PLUGIN_SESSION_DIRECTORIES_H
#define RINGSIDE_PLUGIN_SESSION_DIRECTORIES_H

#include <string>

#include "plugin/config/config.h"
#include "plugin/result/result.h"
#include "plugin/session/ring_directory.h"

namespace ringside::session {

class Directories {
 public:
  /// Makes them, once; `stem` is the trace's name without its ending. Returns what is to be said of
  /// processes that have died and left rings, or "". Before the drain thread begins; from then on
  /// any thread may read, and the drain thread calls keep_locks().
  std::string make(const config::Config& config, const std::string& stem);

  const RingDirectory& rings() const { return rings_; }
  /// The one that the control socket is in; it may not be open.
  const RingDirectory& control() const { return rings_.is_open() ? rings_ : control_only_; }

  /// As RingDirectory::keep_lock().
  void keep_locks();
  /// Removes both with all that is in them, at exit. Not in the child of a fork.
  void remove(unsigned rings);

  /// Says for the line at load where the rings and the control socket are, and why they are not
  /// elsewhere.
  std::string description(const config::Config& config) const;

 private:
  RingDirectory rings_;
  RingDirectory control_only_;
  // Results of make().
  Result rings_made_;
  Result control_made_;
};

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_DIRECTORIES_H
