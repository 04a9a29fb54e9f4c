// SPDX-License-Identifier: Apache-2.0
//
// The directory of this process in memory (tmpfs), `<stem of the trace's name>.rings` in
// RINGSIDE_RING_DIR. It holds the rings' files and the journal, so that they outlive the process,
// and the control socket. A lock on the journal, which the kernel drops at the process's death,
// says that it is in use. If there is no memory for files, the journal is empty.
#ifndef RINGSIDE_PLUGIN_SESSION_RING_DIRECTORY_H
#define RINGSIDE_PLUGIN_SESSION_RING_DIRECTORY_H

#include <string>
#include <sys/types.h>

#include "plugin/result/result.h"
#include "plugin/session/memory_share.h"

namespace ringside::session {

class RingDirectory {
 public:
  RingDirectory() = default;
  RingDirectory(const RingDirectory&) = delete;
  RingDirectory& operator=(const RingDirectory&) = delete;
  ~RingDirectory();

  /// Makes the directory, private to the user, and the journal in it, and locks the journal.
  /// Fails with the system's error, for instance if there is no such parent, or no permission.
  Result create(const std::string& parent, const std::string& stem);

  /// Then maps the journal. Fails with ENOSPC if there is no memory for it beside NCCL's own, else
  /// with the system's error.
  Result map_journal(const MemoryWanted& wanted);

  bool is_open() const { return directory_ >= 0; }
  const std::string& path() const { return path_; }
  int descriptor() const { return directory_; }
  void* journal() const { return journal_; }  ///< NULL: there is none
  /// The bytes that this process may take there; all zeros without a journal.
  const MemoryShare& share() const { return share_; }
  std::uint64_t free_bytes() const { return free_bytes_; }  ///< when that was found out

  /// Takes the lock again. It is lost whenever anybody in this process opens the journal and closes
  /// it: an application that copies all files it finds, or an older Ringside beside this one.
  void keep_lock();

  /// Removes the journal, the control socket, the files of the first `rings` rings and the
  /// directory. The memory stays mapped: a late callback may still write there. Does nothing in the
  /// child of a fork.
  void remove(unsigned rings);

  /// How many directories in `parent` are of processes of this user that have died, and how many
  /// bytes they hold.
  static std::size_t count_left_over(const std::string& parent, std::size_t& bytes);

 private:
  Result fail(int error);

  std::string path_;
  int directory_ = -1;
  int lock_ = -1;  ///< the journal's descriptor; closing it ends the lock
  pid_t owner_ = 0;
  void* journal_ = nullptr;
  MemoryShare share_;
  std::uint64_t free_bytes_ = 0;
};

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_RING_DIRECTORY_H
