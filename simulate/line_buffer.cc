// SPDX-License-Identifier: Apache-2.0
#include "simulate/line_buffer.h"

#include <cstdio>
#include <stdexcept>

namespace ringside::simulate {

void LineBuffer::flush() {
  std::FILE* const file = std::fopen(path_.c_str(), is_begun_ ? "ab" : "wb");
  if (file == nullptr) {
    throw std::runtime_error(path_ + " cannot be opened");
  }
  const bool is_written = std::fwrite(text_.data(), 1, text_.size(), file) == text_.size();
  if (std::fclose(file) != 0 || !is_written) {
    throw std::runtime_error(path_ + " cannot be written");
  }
  is_begun_ = true;
  text_.clear();
}

}  // namespace ringside::simulate
