// SPDX-License-Identifier: Apache-2.0
//
// The ring directory of a process as files: finding, locking, reading, removing.
#ifndef RINGSIDE_PLUGIN_RECOVER_LEFT_OVER_H
#define RINGSIDE_PLUGIN_RECOVER_LEFT_OVER_H

#include <cstddef>
#include <string>
#include <sys/types.h>
#include <vector>

#include "plugin/journal/images.h"
#include "plugin/result/result.h"

namespace ringside::recover {

class LeftOver {
 public:
  explicit LeftOver(std::string path) : path_(std::move(path)) {}
  LeftOver(const LeftOver&) = delete;
  LeftOver& operator=(const LeftOver&) = delete;
  ~LeftOver();

  /// Opens the directory. One of this user is locked, so that only one recovery uses it; nothing in
  /// another user's is changed. Fails with the system's error if the directory or its journal
  /// cannot be opened.
  Result open();
  /// True if the process lives, or another recovery is at work. The directory is not locked then.
  bool is_in_use() const { return is_in_use_; }
  /// True if other files than the journal are left. Their removal was interrupted, after a recovery
  /// or a normal exit.
  bool is_remains() const { return is_remains_; }
  /// True if this user owns the directory. What another user has written there may be hostile.
  bool is_own() const { return is_own_; }
  /// The user whose files count: those of others in the directory do not.
  uid_t owner() const { return owner_; }

  /// Reads everything. Fails if the journal cannot be read: with EAGAIN if it changes too fast,
  /// with EBADMSG if it is damaged. For each ring that cannot be read, a note is added.
  Result read(journal::JournalImage& journal, std::vector<journal::RingImage>& rings,
              std::vector<std::string>& notes);
  std::size_t unread_rings() const { return unread_rings_; }

  /// Removes the journal, the control socket, the rings and the directory. Fails with the error of
  /// rmdir(2) if something is left.
  Result remove();

  const std::string& path() const { return path_; }

 private:
  Result read_state(std::vector<std::byte>& journal, std::vector<journal::RingImage>& rings,
                    std::vector<std::string>& notes);
  std::uint64_t turns() const;
  void read_rings(std::vector<journal::RingImage>& rings, std::vector<std::string>& notes);
  std::vector<std::string> names() const;
  bool has_files() const;
  Result read_file(const char* name, std::vector<std::byte>& bytes);
  Result read_all(int file, std::vector<std::byte>& bytes);

  std::string path_;
  int directory_ = -1;
  int lock_ = -1;
  bool is_in_use_ = false;
  bool is_own_ = false;
  uid_t owner_ = 0;
  bool is_remains_ = false;
  std::size_t unread_rings_ = 0;
  std::size_t left_bytes_ = 0;  ///< how much may still be read of another user's
};

}  // namespace ringside::recover

#endif  // RINGSIDE_PLUGIN_RECOVER_LEFT_OVER_H
