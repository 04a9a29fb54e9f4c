// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_TEST_UNIT_ANALYZER_TEMPORARY_FILE_H
#define RINGSIDE_TEST_UNIT_ANALYZER_TEMPORARY_FILE_H

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>

namespace ringside {

/// A file with a text of the test's own; it goes with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text) {
    const int descriptor = ::mkstemp(path_.data());
    if (descriptor >= 0) {
      ::close(descriptor);
    }
    write(text);
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view text) {
    std::ofstream stream(path_, std::ios::binary | std::ios::trunc);
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/ringside-test-XXXXXX";
};

}  // namespace ringside

#endif  // RINGSIDE_TEST_UNIT_ANALYZER_TEMPORARY_FILE_H
