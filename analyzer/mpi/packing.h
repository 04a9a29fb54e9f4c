// SPDX-License-Identifier: Apache-2.0
//
// Numbers and texts as the bytes of a message. All processes are of one build.
#ifndef RINGSIDE_ANALYZER_MPI_PACKING_H
#define RINGSIDE_ANALYZER_MPI_PACKING_H

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::mpi {

class Packer {
 public:
  void number(std::uint64_t value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(std::string_view value) {
    number(value.size());
    text_ += value;
  }
  void texts(const std::vector<std::string>& values) {
    number(values.size());
    for (const std::string& value : values) {
      text(value);
    }
  }
  const std::string& packed() const { return text_; }

 private:
  std::string text_;
};

/// Each function throws std::runtime_error where the message has ended. The message must outlive
/// it.
class Unpacker {
 public:
  explicit Unpacker(std::string_view packed) : rest_(packed) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
    return value;
  }
  std::string text() { return std::string(take(number())); }
  std::vector<std::string> texts() {
    std::vector<std::string> values;
    for (std::uint64_t left = number(); left > 0; --left) {
      values.push_back(text());
    }
    return values;
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view take(std::uint64_t bytes) {
    if (bytes > rest_.size()) {
      throw std::runtime_error("a message of another process is too short");
    }
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  std::string_view rest_;
};

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_PACKING_H
