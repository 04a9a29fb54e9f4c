// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/kineto/kineto_items.h"

#include <array>
#include <bit>
#include <cstring>
#include <simdjson.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#else
#include "analyzer/load/source/byte_words.h"
#endif

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

bool is_space(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

// Which of 64 bytes are backslashes, quotes, begin an object or array, and end one: a bit for each.
struct Marks {
#if defined(__SSE2__)
  explicit Marks(const char* bytes) {
    for (std::size_t i = 0; i < kBlock_bytes; i += sizeof(__m128i)) {
      const __m128i word = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i));
      const auto equal = [i](__m128i some, char wanted) {
        const int bits = _mm_movemask_epi8(_mm_cmpeq_epi8(some, _mm_set1_epi8(wanted)));
        return static_cast<std::uint64_t>(bits) << i;
      };
      add(word, _mm_or_si128(word, _mm_set1_epi8(0x20)), equal);
    }
  }
#else
  explicit Marks(const char* bytes) {
    for (std::size_t i = 0; i < kBlock_bytes; i += sizeof(std::uint64_t)) {
      const std::uint64_t word = load_word(bytes + i);
      const auto equal = [i](std::uint64_t some, char wanted) {
        // Brings the top bits of eight bytes side by side.
        const std::uint64_t tops = equal_bytes(some, static_cast<unsigned char>(wanted));
        return ((tops >> 7) * 0x0102040810204080U >> 56) << i;
      };
      add(word, word | kOnes * 0x20, equal);
    }
  }
#endif

  // `lower` has "{" in place of "[", and "}" in place of "]".
  template <typename Word, typename Equal>
  void add(const Word& word, const Word& lower, const Equal& equal) {
    backslashes |= equal(word, '\\');
    quotes |= equal(word, '"');
    opens |= equal(lower, '{');
    closes |= equal(lower, '}');
  }

  static constexpr std::size_t kBlock_bytes = 64;
  std::uint64_t backslashes = 0;
  std::uint64_t quotes = 0;
  std::uint64_t opens = 0;
  std::uint64_t closes = 0;
};

// Finds where a value ends, of whose text one piece after the other is passed.
class ValueScan {
 public:
  bool is_over() const { return is_over_; }

  // Returns the end of what is passed: of the value, if it is over, or else of the piece.
  const char* pass(const char* at, const char* end) {
    while (at < end && !is_over_) {
      if (depth_ == 0 || end - at < std::ptrdiff_t{Marks::kBlock_bytes}) {
        at = pass_byte(at);
        continue;
      }
      const Marks marks(at);
      if (marks.backslashes == 0 && !is_escaped_) {
        at = pass_block(at, marks);
        continue;
      }
      for (const char* const stop = at + Marks::kBlock_bytes; at < stop && !is_over_;) {
        at = pass_byte(at);
      }
    }
    return at;
  }

 private:
  const char* pass_byte(const char* at) {
    if (is_escaped_) {
      is_escaped_ = false;
      return at + 1;
    }
    if (is_in_text_) {
      is_escaped_ = *at == '\\';
      is_in_text_ = *at != '"';
      is_over_ = !is_in_text_ && depth_ == 0;
      return at + 1;
    }
    switch (role_of(*at)) {
      case Role::kNone:
        break;
      case Role::kQuote:
        is_in_text_ = true;
        break;
      case Role::kOpen:
        ++depth_;
        break;
      case Role::kClose:
        if (depth_ == 0) {  // of what is around a number or a word
          is_over_ = true;
          return at;
        }
        is_over_ = --depth_ == 0;
        break;
      case Role::kEnd:
        if (depth_ == 0) {
          is_over_ = true;
          return at;
        }
        break;
    }
    return at + 1;
  }

  // There is no backslash, and the value does not end before its last bracket does.
  const char* pass_block(const char* at, const Marks& marks) {
    // A bit of this says whether the byte is in a text: the number of quotes up to it is odd.
    std::uint64_t in_text = marks.quotes;
    in_text ^= in_text << 1;
    in_text ^= in_text << 2;
    in_text ^= in_text << 4;
    in_text ^= in_text << 8;
    in_text ^= in_text << 16;
    in_text ^= in_text << 32;
    in_text ^= is_in_text_ ? ~std::uint64_t{0} : 0;
    const std::uint64_t opens = marks.opens & ~in_text;
    const std::uint64_t closes = marks.closes & ~in_text;
    is_in_text_ = in_text >> 63 != 0;
    for (std::uint64_t left = opens | closes; left != 0; left &= left - 1) {
      const int bit = std::countr_zero(left);
      if ((opens >> bit & 1) != 0) {
        ++depth_;
      } else if (--depth_ == 0) {
        is_in_text_ = false;
        is_over_ = true;
        return at + bit + 1;
      }
    }
    return at + Marks::kBlock_bytes;
  }

  std::size_t depth_ = 0;  // of objects and arrays
  bool is_in_text_ = false;
  bool is_escaped_ = false;  // the next byte: a backslash was before it
  bool is_over_ = false;
};

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
    error_ = source_.error();
    if (!error_) {
      error_ = std::string(why) + " at byte " + std::to_string(given_bytes_ + begin_);
    }
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
  has_ended_ = got == 0;
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

// Finds where the value ends that begins at begin_. False if the text ends before that.
bool KinetoItems::scan(std::size_t& length, bool& is_too_long) {
  ValueScan scan;
  std::size_t at = 0;
  is_too_long = false;
  while (true) {
    const char* const begin = buffer_.data() + begin_;
    at = static_cast<std::size_t>(scan.pass(begin + at, buffer_.data() + end_) - begin);
    is_too_long = is_too_long || at > most_item_bytes_;
    if (scan.is_over()) {
      length = at;
      return at > 0 || is_too_long;
    }
    if (is_too_long) {
      begin_ += at;
      at = 0;
    }
    if (!fill()) {
      return false;
    }
  }
}

bool KinetoItems::next_event(KinetoItem& item) {
  const bool has_comma = is_first_ || take(',');
  if (take(']')) {  // a comma before it is no JSON, but scripts that edit such files leave it
    is_in_events_ = false;
    is_first_ = false;
    return next_member(item);
  }
  if (!has_comma) {
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
  const bool has_comma = is_first_ || take(',');
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
  if (!has_comma) {
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
    while (take('\xEF') || take('\xBB') || take('\xBF')) {  // a byte order mark
    }
    if (!take('{')) {
      return fail("not a JSON object, as PyTorch's profiler writes: no brace");
    }
    is_inside_ = true;
  }
  return is_in_events_ ? next_event(item) : next_member(item);
}

}  // namespace ringside::load
