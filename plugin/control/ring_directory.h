// SPDX-License-Identifier: Apache-2.0
//
// The directory in memory (tmpfs) that holds the rings' files and the journal of this process, so
// that they outlive it: `<stem of the trace's name>.rings` in RINGSIDE_RING_DIR. A lock on the
// journal, which the kernel drops at the process's death, says that it is in use.
#ifndef RINGSIDE_PLUGIN_CONTROL_RING_DIRECTORY_H
#define RINGSIDE_PLUGIN_CONTROL_RING_DIRECTORY_H

#include <cstddef>
#include <string>
#include <sys/types.h>

namespace ringside::control {

class RingDirectory {
 public:
  RingDirectory() = default;
  RingDirectory(const RingDirectory&) = delete;
  RingDirectory& operator=(const RingDirectory&) = delete;
  ~RingDirectory();

  /// Makes the directory, private to the user, and the journal in it, and maps and locks that.
  /// False if that cannot be, with the reason in why(): there is less room than NCCL's own shared
  /// memory should be left, no such directory, no permission.
  bool create(const std::string& parent, const std::string& stem, std::size_t journal_bytes);

  bool is_open() const { return directory_ >= 0; }
  const std::string& path() const { return path_; }
  const std::string& why() const { return why_; }
  int descriptor() const { return directory_; }
  void* journal() const { return journal_; }
  std::size_t journal_bytes() const { return journal_bytes_; }

  /// Removes the journal, the control socket, the first `rings` rings' files and the directory. The
  /// memory stays mapped: a late callback may still write there. Not in the child of a fork.
  void remove(unsigned rings);

  /// Directories in `parent` of this user's processes that have died; how many bytes they hold.
  static std::size_t count_left_over(const std::string& parent, std::size_t& bytes);

 private:
  bool fail(const std::string& what, int error);

  std::string path_, why_;
  int directory_ = -1;
  int lock_ = -1;  ///< the journal's descriptor; closing it ends the lock
  pid_t owner_ = 0;
  void* journal_ = nullptr;
  std::size_t journal_bytes_ = 0;
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_CONTROL_RING_DIRECTORY_H
