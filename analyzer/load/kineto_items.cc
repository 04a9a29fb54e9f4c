// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/kineto_items.h"

#include <array>
#include <bit>
#include <cstring>
#include <simdjson.h>

namespace ringside::load {
namespace {

// The meaning of a byte outside of a text for the place at which a value ends.
enum class Role : std::uint8_t { kNone, kQuote, kOpen, kClose, kEnd };

constexpr std::array<Role, 256> kRoles = [] {
  std::array<Role, 256> roles = {};
  roles['"'] = Role::kQuote;
  roles['{'] = roles['['] = Role::kOpen;
  roles['}'] = roles[']'] = Role::kClose;
  roles[','] = roles[' '] = roles['\t'] = roles['\n'] = roles['\r'] = Role::kEnd;
  return roles;
}();

Role role_of(char byte) {
  return kRoles[static_cast<unsigned char>(byte)];
}

// Where the first quote is of 8 bytes; 8 if there is none.
std::size_t first_quote(const char* bytes) {
  constexpr std::uint64_t kLow = 0x0101010101010101;
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));  // the machine's first byte is the lowest
  word ^= kLow * '"';
  const std::uint64_t found = (word - kLow) & ~word & (kLow << 7);
  return static_cast<std::size_t>(std::countr_zero(found)) / 8;
}

bool is_space(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

}  // namespace

std::optional<std::string> KinetoItems::open(const std::string& path) {
  if (auto error = source_.open(path)) {
    return error;
  }
  buffer_.resize(chunk_bytes_ + simdjson::SIMDJSON_PADDING);
  return std::nullopt;
}

bool KinetoItems::fail(const char* why) {
  if (!error_) {
    error_ = source_.error()
                 ? *source_.error()
                 : std::string(why) + " at byte " + std::to_string(given_bytes_ + begin_);
  }
  is_over_ = true;
  return false;
}

// Reads on behind what is there. Places count from begin_ and stay what they are.
bool KinetoItems::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    given_bytes_ += begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  const std::size_t room = buffer_.size() - simdjson::SIMDJSON_PADDING - end_;
  if (room <= chunk_bytes_ / 2) {
    buffer_.resize(buffer_.size() * 2);
  }
  const std::size_t got =
      source_.read(buffer_.data() + end_, buffer_.size() - simdjson::SIMDJSON_PADDING - end_);
  end_ += got;
  return got > 0;
}

std::optional<char> KinetoItems::peek() {
  while (true) {
    while (begin_ < end_ && is_space(buffer_[begin_])) {
      ++begin_;
    }
    if (begin_ < end_) {
      return buffer_[begin_];
    }
    if (!fill()) {
      return std::nullopt;
    }
  }
}

bool KinetoItems::take(char wanted) {
  const bool is_there = peek() == wanted;
  begin_ += is_there ? 1 : 0;
  return is_there;
}

// `at`, from begin_, is behind a quote; then it is behind the one that ends the text.
bool KinetoItems::scan_text(std::size_t& at) {
  constexpr std::size_t kShort_bytes = 64;
  constexpr char kTooLong[] = "a text longer than any of PyTorch's profiler";
  const std::size_t begin = at;
  // Nearly all are short, and have no backslash before the quote.
  for (std::size_t ahead = at; ahead < begin + kShort_bytes && begin_ + ahead + 8 <= end_;) {
    const std::size_t quote = first_quote(buffer_.data() + begin_ + ahead);
    ahead += quote;
    if (quote < 8) {
      if (buffer_[begin_ + ahead - 1] != '\\' && ahead - begin < most_item_bytes_) {
        at = ahead + 1;
        return true;
      }
      break;
    }
  }
  while (true) {
    const char* const from = buffer_.data() + begin_ + at;
    const auto* const quote = static_cast<const char*>(std::memchr(from, '"', end_ - begin_ - at));
    if (quote == nullptr) {
      // Whether a backslash is one of a pair is seen from the text's beginning only, so all of it
      // is kept.
      if (end_ - begin_ - begin > most_item_bytes_) {
        return fail(kTooLong);
      }
      if (!fill()) {
        return false;
      }
      continue;
    }
    std::size_t backslashes = 0;
    while (quote - backslashes > from && *(quote - backslashes - 1) == '\\') {
      ++backslashes;
    }
    at = static_cast<std::size_t>(quote - (buffer_.data() + begin_)) + 1;
    if (at - begin > most_item_bytes_) {
      return fail(kTooLong);
    }
    if (backslashes % 2 == 0) {
      return true;
    }
  }
}

// Finds where the value ends that begins at begin_. False if the text ends before that.
bool KinetoItems::scan(std::size_t& length, bool& is_too_long) {
  std::size_t depth = 0;
  std::size_t at = 0;
  is_too_long = false;
  const auto is_passed = [&](char byte) {
    const Role role = role_of(byte);
    return role == Role::kNone || (role == Role::kEnd && depth > 0);
  };
  const auto drop = [&] {
    is_too_long = true;
    begin_ += at;
    at = 0;
  };
  while (true) {
    if (at > most_item_bytes_) {
      drop();
    }
    if (begin_ + at == end_) {
      if (!fill()) {
        return false;
      }
      continue;
    }
    switch (role_of(buffer_[begin_ + at])) {
      case Role::kNone:
        do {
          ++at;
        } while (begin_ + at < end_ && is_passed(buffer_[begin_ + at]));
        break;
      case Role::kQuote:
        ++at;
        if (!scan_text(at)) {
          return false;
        }
        if (depth == 0) {
          length = at;
          return true;
        }
        break;
      case Role::kOpen:
        ++depth;
        ++at;
        break;
      case Role::kClose:
        if (depth == 0) {  // of what is around a number or a word
          length = at;
          return at > 0 || is_too_long;
        }
        ++at;
        if (--depth == 0) {
          length = at;
          return true;
        }
        break;
      case Role::kEnd:
        if (depth == 0) {
          length = at;
          return at > 0 || is_too_long;
        }
        do {
          ++at;
        } while (begin_ + at < end_ && is_passed(buffer_[begin_ + at]));
        break;
    }
  }
}

bool KinetoItems::next_event(KinetoItem& item) {
  if (take(']')) {
    is_in_events_ = false;
    is_first_ = false;
    return next_member(item);
  }
  if (!is_first_ && !take(',')) {
    return fail(peek() ? "no comma between two events" : "cut off: ends among its events");
  }
  is_first_ = false;
  std::size_t length = 0;
  if (!peek() || !scan(length, item.is_too_long)) {
    return fail("cut off: ends in the middle of an event");
  }
  item.is_event = true;
  item.key = {};
  item.text =
      item.is_too_long ? std::string_view() : std::string_view(buffer_.data() + begin_, length);
  begin_ += length;
  return true;
}

bool KinetoItems::next_member(KinetoItem& item) {
  if (take('}')) {
    if (peek()) {
      return fail("more behind the end of the JSON object");
    }
    if (source_.error()) {
      return fail("");
    }
    is_over_ = true;
    return false;
  }
  if (!is_first_ && !take(',')) {
    return fail(peek() ? "not a JSON object, as PyTorch's profiler writes: no comma"
                       : "cut off: the JSON object does not end");
  }
  is_first_ = false;
  std::size_t length = 0;
  if (peek() != '"' || !scan(length, item.is_too_long) || item.is_too_long) {
    return fail("not a JSON object, as PyTorch's profiler writes: no name of a member");
  }
  key_.assign(buffer_.data() + begin_ + 1, length - 2);
  begin_ += length;
  if (!take(':')) {
    return fail("not a JSON object, as PyTorch's profiler writes: no colon");
  }
  if (key_ == array_ && take('[')) {
    if (has_events_) {
      return fail(("has \"" + key_ + "\" twice").c_str());
    }
    has_events_ = is_in_events_ = is_first_ = true;
    return next_event(item);
  }
  if (!peek() || !scan(length, item.is_too_long)) {
    return fail("cut off: the JSON object does not end");
  }
  item.is_event = false;
  item.key = key_;
  item.text =
      item.is_too_long ? std::string_view() : std::string_view(buffer_.data() + begin_, length);
  begin_ += length;
  return true;
}

bool KinetoItems::next(KinetoItem& item) {
  if (is_over_) {
    return false;
  }
  if (!is_inside_) {
    if (!take('{')) {
      return fail("not a JSON object, as PyTorch's profiler writes: no brace");
    }
    is_inside_ = true;
  }
  return is_in_events_ ? next_event(item) : next_member(item);
}

}  // namespace ringside::load
