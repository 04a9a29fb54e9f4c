// SPDX-License-Identifier: Apache-2.0
//
// The ring directory of a process as files: finding, locking, reading, removing.
#ifndef RINGSIDE_PLUGIN_RECOVER_LEFT_OVER_H
#define RINGSIDE_PLUGIN_RECOVER_LEFT_OVER_H

#include <cstddef>
#include <string>
#include <vector>

#include "plugin/journal/journal_image.h"
#include "plugin/journal/ring_image.h"

namespace ringside::recover {

class LeftOver {
 public:
  explicit LeftOver(std::string path) : path_(std::move(path)) {}
  LeftOver(const LeftOver&) = delete;
  LeftOver& operator=(const LeftOver&) = delete;
  ~LeftOver();

  /// Opens the directory and takes its lock, so that it is recovered once. Empty, or what is wrong.
  std::string open();
  /// The process lives, or somebody else recovers it now; there is no lock then.
  bool is_in_use() const { return is_in_use_; }
  /// The journal is gone and other files are not: all was recovered, or the process had ended, and
  /// who removed the rest was killed.
  bool is_remains() const { return is_remains_; }
  /// Another user's directory could name any file as its trace.
  bool is_own() const { return is_own_; }

  /// Reads everything. Empty, or why the journal cannot be read; rings that cannot are noted.
  std::string read(JournalImage& journal, std::vector<RingImage>& rings,
                   std::vector<std::string>& notes);
  /// How many rings were there that could not be read.
  std::size_t unread_rings() const { return unread_rings_; }

  /// Removes the journal, the control socket, the rings and the directory. False, with errno, if
  /// something stays.
  bool remove();

  const std::string& path() const { return path_; }

 private:
  std::string read_state(std::vector<std::byte>& journal, std::vector<RingImage>& rings,
                         std::vector<std::string>& notes);
  std::uint64_t turns() const;
  void read_rings(std::vector<RingImage>& rings, std::vector<std::string>& notes);
  bool has_files() const;
  std::string read_file(const char* name, std::vector<std::byte>& bytes) const;

  std::string path_;
  int directory_ = -1;
  int lock_ = -1;
  bool is_in_use_ = false;
  bool is_own_ = false;
  bool is_remains_ = false;
  std::size_t unread_rings_ = 0;
};

}  // namespace ringside::recover

#endif  // RINGSIDE_PLUGIN_RECOVER_LEFT_OVER_H
