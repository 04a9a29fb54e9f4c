// SPDX-License-Identifier: Apache-2.0
//
// The directory of this process outside the trace, `<stem of the trace's name>.rings` in
// RINGSIDE_RING_DIR, in memory (tmpfs). It holds the rings' files and the journal, so that they
// outlive the process, and the control socket. A lock on the journal, which the kernel drops at the
// process's death, says that it is in use. If there is no memory for files, the journal is empty.
// Where that directory cannot be made or is not wanted, one elsewhere has the socket alone.
#ifndef RINGSIDE_PLUGIN_SESSION_RING_DIRECTORY_H
#define RINGSIDE_PLUGIN_SESSION_RING_DIRECTORY_H

#include <string>
#include <sys/types.h>

#include "plugin/config/config.h"
#include "plugin/export/trace_file.h"
#include "plugin/record/ring_pool.h"
#include "plugin/result/result.h"
#include "plugin/session/memory_share.h"

namespace ringside::session {

class RingDirectory {
 public:
  /// Makes the directory, once, private to the user; `stem` is the trace's name without its ending.
  /// Returns what is to be said of processes that have died and left rings, or "". Before the drain
  /// thread begins; from then on any thread may read, and the drain thread calls keep_lock().
  std::string make(const config::Config& config, const std::string& stem);

  bool is_open() const { return journal_file_.is_open(); }
  const std::string& path() const { return path_; }
  void* journal() const { return journal_; }  ///< NULL: there is none
  /// The bytes that this process may take there; all zeros without a journal.
  const MemoryShare& share() const { return share_; }

  /// Says for the line at load where the rings and the control socket are, and why they are not
  /// elsewhere.
  std::string description(const config::Config& config) const;

  /// Takes the lock again. It is lost whenever anybody in this process opens the journal and closes
  /// it: an application that copies all files it finds, or closes all descriptors, or an older
  /// Ringside in the same process.
  void keep_lock();

  /// Removes the journal, the control socket, the files of the rings and the directory. The memory
  /// stays mapped: a late callback may still write there. Allocates nothing. Does nothing in the
  /// child of a fork.
  void remove(record::RingPool& rings) noexcept;

 private:
  Result create(const std::string& parent, const std::string& stem);
  Result map_journal(const MemoryWanted& wanted);

  std::string path_;
  exporting::OpenFile journal_file_;  ///< its lock ends when anybody here closes the file
  pid_t owner_ = 0;
  void* journal_ = nullptr;
  MemoryShare share_;
  std::uint64_t free_bytes_ = 0;  ///< when the share was found
  Result rings_made_, control_made_;
};

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_RING_DIRECTORY_H
