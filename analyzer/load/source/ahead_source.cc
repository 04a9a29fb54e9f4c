// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/source/ahead_source.h"

#include <algorithm>
#include <cstring>
#include <system_error>

namespace ringside::load {

AheadSource::~AheadSource() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      is_unwanted_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
}

std::optional<std::string> AheadSource::open(const std::string& path) {
  if (auto error = source_.open(path)) {
    return error;
  }
  if (source_.is_compressed()) {
    for (Block& block : blocks_) {
      block.bytes.resize(kBlock_bytes);
    }
    try {
      thread_ = std::thread([this] { read_ahead(); });
    } catch (const std::system_error&) {
      // No thread is to be had: read() reads by itself.
    }
  }
  return std::nullopt;
}

void AheadSource::read_ahead() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_unwanted_ || filled_ - taken_ < kBlocks; });
      if (is_unwanted_) {
        return;
      }
    }
    Block& block = blocks_[filled_ % kBlocks];
    block.size = source_.read(block.bytes.data(), block.bytes.size());
    const bool is_last = block.size == 0;
    {
      const std::lock_guard lock(mutex_);
      ++filled_;
    }
    changed_.notify_all();
    if (is_last) {
      return;
    }
  }
}

std::size_t AheadSource::read(char* text, std::size_t size) {
  if (is_at_end_) {
    return 0;
  }
  if (!thread_.joinable()) {
    const std::size_t got = source_.read(text, size);
    is_at_end_ = got == 0;
    return got;
  }
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return filled_ > taken_; });
  }
  const Block& block = blocks_[taken_ % kBlocks];
  const std::size_t given = std::min(size, block.size - given_bytes_);
  std::memcpy(text, block.bytes.data() + given_bytes_, given);
  given_bytes_ += given;
  is_at_end_ = block.size == 0;
  if (given_bytes_ == block.size && !is_at_end_) {
    given_bytes_ = 0;
    {
      const std::lock_guard lock(mutex_);
      ++taken_;
    }
    changed_.notify_all();
  }
  return given;
}

}  // namespace ringside::load
