// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LOAD_SOURCE_DESCRIPTOR_H
#define RINGSIDE_ANALYZER_LOAD_SOURCE_DESCRIPTOR_H

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace ringside::load {

/// A file that is open for reading as long as the object lives.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), error_(number_ < 0 ? errno : 0) {}
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
