// SPDX-License-Identifier: Apache-2.0
//
// A request to a control socket, as docs/dev/control-socket.md has it.
#ifndef RINGSIDE_ANALYZER_LIVE_REQUEST_H
#define RINGSIDE_ANALYZER_LIVE_REQUEST_H

#include <cstdint>
#include <string>
#include <string_view>

namespace ringside::live {

class Request {
 public:
  explicit Request(std::string_view verb);

  // Nothing is added for an empty text, or for 0.
  Request& text(std::string_view name, std::string_view value);
  Request& integer(std::string_view name, std::uint64_t value);
  Request& seconds(std::string_view name, double value);

  std::string line() const { return line_ + '}'; }

 private:
  void name(std::string_view name);

  std::string line_;
};

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_REQUEST_H
