// SPDX-License-Identifier: Apache-2.0
//
// A program may close descriptors that are not its own, as daemons do. The number then belongs to a
// file of the program, in which nothing must be written.
#ifndef RINGSIDE_PLUGIN_POSIX_FILE_IDENTITY_H
#define RINGSIDE_PLUGIN_POSIX_FILE_IDENTITY_H

#include <sys/stat.h>

namespace ringside::posix {

/// Which file it is, whatever its name or number.
class FileIdentity {
 public:
  FileIdentity() = default;
  explicit FileIdentity(int descriptor) noexcept {
    struct stat found {};
    if (descriptor >= 0 && fstat(descriptor, &found) == 0) {
      device_ = found.st_dev;
      inode_ = found.st_ino;
    }
  }

  bool is_of(const struct stat& found) const noexcept {
    return found.st_dev == device_ && found.st_ino == inode_;
  }
  bool is_of(int descriptor) const noexcept {
    struct stat found {};
    return descriptor >= 0 && fstat(descriptor, &found) == 0 && is_of(found);
  }

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace ringside::posix

#endif  // RINGSIDE_PLUGIN_POSIX_FILE_IDENTITY_H
