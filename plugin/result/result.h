// SPDX-License-Identifier: Apache-2.0
//
// How a function ended: the one error model of all rooms but those of the hot path.
#ifndef RINGSIDE_PLUGIN_RESULT_RESULT_H
#define RINGSIDE_PLUGIN_RESULT_RESULT_H

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace ringside {

/// Success, or an error number of errno.h. It has a sentence of its own where the system's text for
/// the number does not say enough. A Result without one never allocates. It converts to no other
/// type, so that a test of it cannot be inverted by accident.
class [[nodiscard]] Result {
 public:
  Result() noexcept = default;  ///< success
  /// 0: success.
  explicit Result(int error) noexcept : error_(error) {}
  explicit Result(bool) = delete;
  Result(int error, std::string text) : error_(error), text_(std::move(text)) {}

  /// The result of a system call that has just returned: success, or errno.
  static Result of_call(bool is_ok) noexcept { return Result(is_ok ? 0 : errno); }

  /// The same error, with a text that first says what it concerns.
  Result about(const std::string& what) const { return {error_, what + ": " + text()}; }

  /// The result of `next()`, which is called after a success only; else this error.
  template <typename Next>
  Result then(Next next) && {
    return is_ok() ? next() : std::move(*this);
  }

  bool is_ok() const { return error_ == 0; }
  int error() const { return error_; }
  /// The error for people: its own sentence, or the system's text for the number.
  std::string text() const { return text_.empty() ? std::strerror(error_) : text_; }

 private:
  int error_ = 0;
  std::string text_;
};

}  // namespace ringside

#endif  // RINGSIDE_PLUGIN_RESULT_RESULT_H
