// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/command_output.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace ringside::live {
namespace {

void close_one(int& descriptor) {
  if (descriptor >= 0) {
    close(std::exchange(descriptor, -1));
  }
}

}  // namespace

CommandOutput::CommandOutput() {
  try {
    for (Pipe* const pipe : {&output_, &errors_}) {
      std::array<int, 2> ends{};
      if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category());
      }
      pipe->here = ends[0];
      pipe->command = ends[1];
      fcntl(pipe->here, F_SETFL, O_NONBLOCK);
    }
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_ < 0) {
      throw std::system_error(errno, std::generic_category());
    }
    thread_ = std::thread([this] { take_all(); });
  } catch (...) {
    close_all();
    throw;
  }
}

CommandOutput::~CommandOutput() {
  finish();
}

void CommandOutput::close_command_ends() {
  close_one(output_.command);
  close_one(errors_.command);
}

void CommandOutput::finish() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    while (write(wake_, &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread_.join();
  }
  close_all();
}

void CommandOutput::close_all() {
  close_command_ends();
  close_one(output_.here);
  close_one(errors_.here);
  close_one(wake_);
}

// Takes what is there, at most what a pipe holds; closes the pipe at its end.
void CommandOutput::take(Pipe& pipe, std::size_t most_bytes, bool ends_at_most) {
  constexpr int kMostReads = 64;
  std::array<char, 65536> bytes;
  for (int reads = 0; reads < kMostReads && pipe.here >= 0; ++reads) {
    const ssize_t got = read(pipe.here, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0 && errno == EAGAIN) {
      return;
    }
    if (got <= 0) {
      return close_one(pipe.here);
    }
    const auto size = static_cast<std::size_t>(got);
    const std::size_t taken = std::min(size, most_bytes - pipe.text.size());
    pipe.text.append(bytes.data(), taken);
    if (taken < size && ends_at_most) {
      pipe.is_too_long = true;
      return close_one(pipe.here);
    }
  }
}

void CommandOutput::take_all() {
  bool is_over = false;
  while (!is_over && (output_.here >= 0 || errors_.here >= 0)) {
    std::array<pollfd, 3> waits{
        {{wake_, POLLIN, 0}, {output_.here, POLLIN, 0}, {errors_.here, POLLIN, 0}}};
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) {
      return;
    }
    is_over = waits[0].revents != 0;
    take(output_, kMostOutput_bytes, true);
    take(errors_, kMostErrors_bytes, false);
  }
}

}  // namespace ringside::live
