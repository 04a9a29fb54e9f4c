// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LOAD_SOURCE_DESCRIPTOR_H
#define RINGSIDE_ANALYZER_LOAD_SOURCE_DESCRIPTOR_H

#include <cerrno>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace ringside::load {

/// From now on nothing is read but files in these directories, whatever names and links lead to
/// others. The directories are whole paths without links. Call this before the first thread.
void read_only_within(const std::vector<std::string>& directories);

/// Whether a whole path without links is one of these directories, or in one.
bool is_within(std::string_view path, const std::vector<std::string>& directories);

/// Opens a file for reading: all that this room reads comes through here. -1, and errno, if that
/// fails; EPERM if the file must not be read.
int open_to_read(const std::string& path);

/// A file that is open for reading as long as the object lives.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : number_(open_to_read(path)), error_(number_ < 0 ? errno : 0) {}
  ~Descriptor() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  int error() const { return error_; }

 private:
  int number_;
  int error_;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_SOURCE_DESCRIPTOR_H
