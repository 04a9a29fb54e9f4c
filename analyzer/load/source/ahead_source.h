// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a file as a ByteSource gives them. A compressed file is decompressed by a thread of
// its own, a few blocks ahead, while what was read before is worked on.
#ifndef RINGSIDE_ANALYZER_LOAD_SOURCE_AHEAD_SOURCE_H
#define RINGSIDE_ANALYZER_LOAD_SOURCE_AHEAD_SOURCE_H

#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "analyzer/load/source/byte_source.h"

namespace ringside::load {

class AheadSource {
 public:
  AheadSource() = default;
  ~AheadSource();
  AheadSource(const AheadSource&) = delete;
  AheadSource& operator=(const AheadSource&) = delete;

  /// Returns why the file cannot be opened; nothing if it can.
  std::optional<std::string> open(const std::string& path);

  /// Reads up to `size` bytes of the text. Returns 0 at its end, and if it cannot be read further:
  /// error() says which.
  std::size_t read(char* text, std::size_t size);

  /// Why the text cannot be read further, once all that could be read has been given.
  std::optional<std::string> error() const { return is_at_end_ ? source_.error() : std::nullopt; }

 private:
  static constexpr std::size_t kBlock_bytes = std::size_t{256} << 10;
  static constexpr std::size_t kBlocks = 3;

  struct Block {
    std::vector<char> bytes;
    std::size_t size = 0;
  };

  void read_ahead();

  ByteSource source_;  // the thread's, as long as it reads
  bool is_at_end_ = false;
  std::size_t given_bytes_ = 0;  // of the block that is read

  // Block i is the thread's while it is not filled, and the reader's until it is taken.
  std::array<Block, kBlocks> blocks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t filled_ = 0;  // blocks so far, as `taken_`
  std::size_t taken_ = 0;
  bool is_unwanted_ = false;
  std::thread thread_;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_SOURCE_AHEAD_SOURCE_H
