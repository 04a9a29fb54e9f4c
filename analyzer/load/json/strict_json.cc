// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/json/strict_json.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace ringside::load {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

class Text {
 public:
  explicit Text(std::string_view rest) : rest_(rest) {}

  bool is_at_end() const { return rest_.empty(); }
  /// 0 at the end, which no text of JSON has.
  char next() const { return rest_.empty() ? '\0' : rest_.front(); }

  bool take(char wanted) {
    const bool is_there = rest_.starts_with(wanted);
    rest_.remove_prefix(is_there ? 1 : 0);
    return is_there;
  }
  void take_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }
  /// Up to its value.
  bool take_key() {
    if (!take_string()) {
      return false;
    }
    take_blanks();
    const bool is_key = take(':');
    take_blanks();
    return is_key;
  }
  bool take_scalar() {
    return next() == '"'
               ? take_string()
               : take_number() || take_word("true") || take_word("false") || take_word("null");
  }

 private:
  bool take_word(std::string_view word) {
    const bool is_there = rest_.starts_with(word);
    rest_.remove_prefix(is_there ? word.size() : 0);
    return is_there;
  }
  bool take_digits() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_digit);
    const auto count = static_cast<std::size_t>(end - rest_.begin());
    rest_.remove_prefix(count);
    return count != 0;
  }
  bool take_number() {
    take('-');
    if (!take('0') && !take_digits()) {
      return false;
    }
    if (take('.') && !take_digits()) {
      return false;
    }
    if (take('e') || take('E')) {
      static_cast<void>(take('+') || take('-'));
      return take_digits();
    }
    return true;
  }
  bool take_escape() {
    if (take('u')) {
      const std::string_view code = rest_.substr(0, 4);
      rest_.remove_prefix(code.size());
      return code.size() == 4 && std::all_of(code.begin(), code.end(), is_hex);
    }
    const bool is_one = std::string_view("\"\\/bfnrt").find(next()) != std::string_view::npos;
    rest_.remove_prefix(is_one ? 1 : 0);
    return is_one;
  }
  bool take_string() {
    if (!take('"')) {
      return false;
    }
    while (!take('"')) {
      if (take('\\')) {
        if (!take_escape()) {
          return false;
        }
      } else if (rest_.empty() || static_cast<unsigned char>(rest_.front()) < ' ') {
        return false;
      } else {
        rest_.remove_prefix(1);
      }
    }
    return true;
  }

  std::string_view rest_;
};

}  // namespace

bool is_json_object(std::string_view json) {
  Text text(json);
  std::string closing;  // of what is open; not the stack, which a line of brackets would exhaust
  text.take_blanks();
  if (text.next() != '{') {
    return false;
  }
  for (;;) {
    const char first = text.next();
    if (text.take('{') || text.take('[')) {
      closing += first == '{' ? '}' : ']';
      text.take_blanks();
      if (text.next() != closing.back()) {
        if (first == '{' && !text.take_key()) {
          return false;
        }
        continue;
      }
    } else if (!text.take_scalar()) {
      return false;
    }
    text.take_blanks();
    while (!closing.empty() && text.take(closing.back())) {
      closing.pop_back();
      text.take_blanks();
    }
    if (closing.empty()) {
      return text.is_at_end();
    }
    if (!text.take(',')) {
      return false;
    }
    text.take_blanks();
    if (closing.back() == '}' && !text.take_key()) {
      return false;
    }
  }
}

}  // namespace ringside::load
