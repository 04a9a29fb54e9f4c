// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/pickle/pickle.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <simdjson.h>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/load/pickle/dict_shapes.h"
#include "analyzer/load/pickle/pickle_opcodes.h"
#include "analyzer/load/pickle/value_stack.h"
#include "analyzer/load/source/byte_words.h"

namespace ringside::load {
namespace {

using Kind = PlainValue::Kind;

// Most texts are short, and ASCII: then eight bytes at a time are looked at here.
bool is_utf8(std::string_view text) {
  constexpr std::size_t kShort = 64;
  const char* at = text.data();
  const char* const end = at + (text.size() <= kShort ? text.size() : 0);
  std::uint64_t seen = 0;
  for (; static_cast<std::size_t>(end - at) >= sizeof seen; at += sizeof seen) {
    seen |= load_word(at);
  }
  for (; at < end; ++at) {
    seen |= static_cast<unsigned char>(*at);
  }
  return (text.size() <= kShort && (seen & kTops) == 0) ||
         simdjson::validate_utf8(text.data(), text.size());
}

// Keeps its memory from one pickle to the next.
class PickleReader {
 public:
  PickleResult read(std::string_view bytes, PlainTree& tree) {
    tree_ = &tree;
    begin_ = next_ = bytes.data();
    end_ = begin_ + bytes.size();
    stack_.clear();
    marks_.clear();
    memo_.clear();
    shapes_.forget();
    is_done_ = false;
    error_.clear();
    while (!is_done_) {
      do_frequent();
      opcode_ = next_;
      if (stack_.size() >= kMostValues || tree_->is_full()) {
        fail_for_memory();
        break;
      }
      const auto opcode = take_number<unsigned char>();
      PlainValue value;
      if (is_value(opcode, value)) {
        stack_.push_back(value);
      } else if (!is_done_) {
        do_other(opcode);
      }
    }
    if (error_.empty() && next_ != end_) {
      fail("the pickle ends here, and bytes follow it");
    }
    return error_.empty() ? PickleResult{stack_.back(), {}} : PickleResult{{}, error_};
  }

 private:
  // Stands in the memo where nothing was stored.
  static constexpr Kind kNothing{0xff};
  // An opcode with its number is no longer, nor is the rest of a short text beside it.
  static constexpr std::ptrdiff_t kLongest = 16;

  // The stack holds so many values at most, and so many marks: 96 MiB together. A dump needs no
  // more values there than it has entries.
  static constexpr std::size_t kMostValues = std::size_t{1} << 22;

  template <typename Number>
  static Number number_at(const char* at) {
    Number number = 0;
    std::memcpy(&number, at, sizeof number);
    return number;
  }

  // Does the opcodes of which dumps are nearly made, each with few instructions, as long as all is
  // as it should be and the end is not near. It stops before any other opcode, and that is done, or
  // refused, by the functions below.
  void do_frequent() {
    if (end_ - next_ <= kLongest) {
      return;
    }
    const char* at = next_;
    const char* const last = end_ - kLongest;
    PlainValue* const bottom = stack_.begin();
    PlainValue* const limit = stack_.limit();
    PlainValue* top = stack_.end();
    PlainValue* mark = bottom + (marks_.empty() ? 0 : marks_.back());
    PlainValue* memo = memo_.begin();
    std::size_t memo_size = memo_.size();
    std::size_t memo_room = static_cast<std::size_t>(memo_.limit() - memo);
    const auto drop_mark = [&] {
      marks_.pop_back();
      top = mark;
      mark = bottom + (marks_.empty() ? 0 : marks_.back());
    };
    // Whether a container of that kind is below the values that the last MARK is before.
    const auto is_below_mark = [&](Kind kind) {
      const std::size_t least = marks_.size() < 2 ? 0 : marks_[marks_.size() - 2];
      return !marks_.empty() && mark - bottom > static_cast<std::ptrdiff_t>(least) &&
             mark[-1].kind == kind;
    };
    while (at < last && top != limit) {
      switch (static_cast<Opcode>(*at)) {
        case Opcode::kBinGet:
          do {
            const std::size_t number = number_at<std::uint8_t>(at + 1);
            if (number >= memo_size || memo[number].kind == kNothing) {
              goto done;
            }
            *top++ = memo[number];
            at += 2;
          } while (static_cast<Opcode>(*at) == Opcode::kBinGet && at < last && top != limit);
          break;
        case Opcode::kLongBinGet: {
          const std::size_t number = number_at<std::uint32_t>(at + 1);
          if (number >= memo_size || memo[number].kind == kNothing) {
            goto done;
          }
          *top++ = memo[number];
          at += 5;
          break;
        }
        case Opcode::kNone:
          *top++ = {};
          ++at;
          break;
        case Opcode::kNewTrue:
        case Opcode::kNewFalse:
          *top++ = {Kind::kBool, 0, static_cast<Opcode>(*at) == Opcode::kNewTrue ? 1 : 0};
          ++at;
          break;
        case Opcode::kBinInt1:
          *top++ = integer(number_at<std::uint8_t>(at + 1));
          at += 2;
          break;
        case Opcode::kBinInt2:
          *top++ = integer(number_at<std::uint16_t>(at + 1));
          at += 3;
          break;
        case Opcode::kBinInt:
          *top++ = integer(number_at<std::int32_t>(at + 1));
          at += 5;
          break;
        case Opcode::kLong1: {
          const unsigned size = number_at<std::uint8_t>(at + 1);
          if (size == 0 || size > sizeof(std::int64_t)) {
            goto done;
          }
          // The sign is in the last byte; what is behind it is shifted out.
          const unsigned unused = 64 - 8 * size;
          *top++ = integer(static_cast<std::int64_t>(number_at<std::uint64_t>(at + 2) << unused) >>
                           unused);
          at += 2 + size;
          break;
        }
        case Opcode::kBinUnicode: {
          const std::size_t size = number_at<std::uint32_t>(at + 1);
          const std::string_view text(at + 5, size);
          if (size > static_cast<std::size_t>(last - at) || !is_utf8(text)) {
            goto done;
          }
          *top++ = PlainValue::of_text(text);
          at += 5 + size;
          break;
        }
        case Opcode::kBinPut:
        case Opcode::kLongBinPut: {
          const bool is_short = static_cast<Opcode>(*at) == Opcode::kBinPut;
          const std::size_t number =
              is_short ? number_at<std::uint8_t>(at + 1) : number_at<std::uint32_t>(at + 1);
          if (number != memo_size || memo_size == memo_room || top == bottom) {
            goto done;
          }
          memo[memo_size++] = top[-1];
          at += is_short ? 2 : 5;
          break;
        }
        case Opcode::kMark:
          if (marks_.size() == kMostValues) {
            goto done;
          }
          marks_.push_back(static_cast<std::size_t>(top - bottom));
          mark = top;
          ++at;
          break;
        case Opcode::kEmptyList:
          *top++ = tree_->add_container(Kind::kList);
          ++at;
          break;
        case Opcode::kEmptyDict:
          *top++ = tree_->add_container(Kind::kDict);
          ++at;
          break;
        case Opcode::kAppend:
          if (top - mark < 2 || top[-2].kind != Kind::kList) {
            goto done;
          }
          --top;
          tree_->append(top[-1], std::span(top, 1));
          ++at;
          break;
        case Opcode::kAppends:
          if (!is_below_mark(Kind::kList)) {
            goto done;
          }
          tree_->append(mark[-1], std::span(mark, top));
          drop_mark();
          ++at;
          break;
        case Opcode::kSetItems: {
          if (!is_below_mark(Kind::kDict) || !tree_->is_empty(mark[-1])) {
            goto done;
          }
          const std::span<const PlainValue> pairs(mark, top);
          const Shape shape = shapes_.known(pairs);
          if (shape == 0) {
            goto done;
          }
          tree_->append(mark[-1], pairs);
          tree_->set_shape(mark[-1], shape);
          drop_mark();
          ++at;
          break;
        }
        default:
          goto done;
      }
    }
  done:
    stack_.set_size(static_cast<std::size_t>(top - bottom));
    memo_.set_size(memo_size);
    next_ = at;
    if (top == limit && stack_.size() < kMostValues) {
      stack_.reserve_one();
    }
  }

  [[gnu::noinline, gnu::cold]] void fail(const std::string& why) {
    is_done_ = true;
    if (error_.empty()) {
      error_ = why + " (at byte " + std::to_string(opcode_ - begin_) + ')';
    }
  }

  [[gnu::noinline, gnu::cold]] void fail_for_memory() {
    fail("the pickle would take too much memory: it has more values than any dump");
  }

  [[gnu::always_inline]] std::string_view take(std::uint64_t size) {
    if (size > static_cast<std::uint64_t>(end_ - next_)) {
      fail("the pickle is cut off");
      size = 0;
    }
    const char* const from = std::exchange(next_, next_ + size);
    return {from, static_cast<std::size_t>(size)};
  }

  // Little-endian; 0 behind the end.
  template <typename Number>
  [[gnu::always_inline]] Number take_number() {
    static_assert(std::endian::native == std::endian::little);
    Number number = 0;
    const std::string_view bytes = take(sizeof number);
    std::memcpy(&number, bytes.data(), bytes.size());
    return number;
  }

  static PlainValue integer(std::int64_t number) { return {Kind::kInteger, 0, number}; }
  PlainValue take_text(std::uint64_t size) {
    const std::string_view text = take(size);
    if (!is_utf8(text)) {
      fail("a text is not UTF-8");
    }
    return PlainValue::of_text(text);
  }

  // Two's complement of any length. One that does not fit 64 bits is kept as such.
  PlainValue take_long(std::uint64_t size) {
    const std::string_view digits = take(size);
    std::int64_t number = 0;
    if (digits.size() > sizeof number) {
      return {Kind::kOther};
    }
    const bool is_negative = !digits.empty() && static_cast<signed char>(digits.back()) < 0;
    number = is_negative ? -1 : 0;
    std::memcpy(&number, digits.data(), digits.size());
    return integer(number);
  }

  [[gnu::always_inline]] PlainValue recall(std::uint64_t number) {
    if (number >= memo_.size() || memo_[static_cast<std::size_t>(number)].kind == kNothing) {
      fail_to_recall(number);
      return {};
    }
    return memo_[static_cast<std::size_t>(number)];
  }

  [[gnu::noinline, gnu::cold]] void fail_to_recall(std::uint64_t number) {
    fail("number " + std::to_string(number) + " of the memo was never stored");
  }

  // Whether the opcode puts a value on the stack that is read from the bytes or is in the memo.
  [[gnu::always_inline]] bool is_value(unsigned char opcode, PlainValue& value) {
    switch (static_cast<Opcode>(opcode)) {
      case Opcode::kNone:
        break;
      case Opcode::kNewTrue:
        value = {Kind::kBool, 0, 1};
        break;
      case Opcode::kNewFalse:
        value = {Kind::kBool};
        break;
      case Opcode::kBinInt:
        value = integer(take_number<std::int32_t>());
        break;
      case Opcode::kBinInt1:
        value = integer(take_number<std::uint8_t>());
        break;
      case Opcode::kBinInt2:
        value = integer(take_number<std::uint16_t>());
        break;
      case Opcode::kLong1:
        value = take_long(take_number<std::uint8_t>());
        break;
      case Opcode::kLong4:
        value = take_long(take_number<std::uint32_t>());
        break;
      case Opcode::kBinFloat:
        value = {Kind::kReal, 0,
                 static_cast<std::int64_t>(__builtin_bswap64(take_number<std::uint64_t>()))};
        break;
      case Opcode::kShortBinUnicode:
        value = take_text(take_number<std::uint8_t>());
        break;
      case Opcode::kBinUnicode:
        value = take_text(take_number<std::uint32_t>());
        break;
      case Opcode::kBinUnicode8:
        value = take_text(take_number<std::uint64_t>());
        break;
      case Opcode::kBinGet:
        value = recall(take_number<std::uint8_t>());
        break;
      case Opcode::kLongBinGet:
        value = recall(take_number<std::uint32_t>());
        break;
      case Opcode::kEmptyList:
        value = tree_->add_container(Kind::kList);
        break;
      case Opcode::kEmptyDict:
        value = tree_->add_container(Kind::kDict);
        break;
      default:
        return false;
    }
    return true;
  }

  // Moves the values above the size `from` of the stack into a container.
  void move_to(std::size_t from, const PlainValue& container) {
    tree_->append(container, stack_.from(from));
    stack_.set_size(from);
  }

  // Whether Python takes the value as a key of a dict.
  static bool may_be_key(const PlainValue& value) {
    return value.kind != Kind::kDict && (value.kind != Kind::kList || value.text_size == 1);
  }

  void add_to_dict(std::size_t from) {
    const PlainValue dict = stack_[from - 1];
    const bool is_whole = tree_->is_empty(dict) && stack_.size() > from;
    const Shape shape = is_whole ? shapes_.of(stack_.from(from)) : 0;
    for (std::size_t i = shape == 0 ? from : stack_.size(); i < stack_.size(); i += 2) {
      if (!may_be_key(stack_[i])) {
        fail(std::string(static_cast<Opcode>(*opcode_) == Opcode::kSetItem ? "SETITEM"
                                                                           : "SETITEMS") +
             " with a list or dict as the key of a dict, which Python refuses, too");
        return;
      }
    }
    move_to(from, dict);
    tree_->set_shape(dict, shape);
  }

  void push_tuple(std::size_t size) {
    const std::size_t least = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - least < size) {
      fail("a tuple of more values than there are");
      return;
    }
    PlainValue tuple = tree_->add_container(Kind::kList);
    const auto items = stack_.from(stack_.size() - size);
    tuple.text_size = std::all_of(items.begin(), items.end(), may_be_key) ? 1 : 0;
    move_to(stack_.size() - size, tuple);
    stack_.push_back(tuple);
  }

  std::size_t take_mark() {
    if (marks_.empty()) {
      fail("values of a container without their MARK");
      return stack_.size();
    }
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }

  // Puts the values above the size `from` into the container below them.
  void add_to(Kind kind, std::size_t from) {
    const std::size_t least = marks_.empty() ? 0 : marks_.back();
    const bool is_there = !is_done_ && from > least && stack_[from - 1].kind == kind &&
                          (kind == Kind::kList || (stack_.size() - from) % 2 == 0);
    if (!is_there) {
      fail(kind == Kind::kList ? "values for a list, and no list below them"
                               : "keys and values for a dict, and no dict below them");
      return;
    }
    if (kind == Kind::kDict) {
      return add_to_dict(from);
    }
    move_to(from, stack_[from - 1]);
  }

  void add_last(Kind kind, std::size_t count) {
    if (stack_.size() < count) {
      fail("a value for a container, and none is there");
      return;
    }
    add_to(kind, stack_.size() - count);
  }

  // Numbers of the memo are no greater than the bytes that were read.
  void remember(std::uint64_t number) {
    if (stack_.empty() || number > static_cast<std::uint64_t>(next_ - begin_)) {
      fail(stack_.empty() ? "nothing is there to be remembered"
                          : "number " + std::to_string(number) + " of the memo is out of order");
      return;
    }
    if (number >= tree_->most_items()) {
      return fail_for_memory();
    }
    if (memo_.size() == number) {
      memo_.push_back(stack_.back());
      return;
    }
    while (memo_.size() <= number) {
      memo_.push_back({kNothing});
    }
    memo_[static_cast<std::size_t>(number)] = stack_.back();
  }

  void finish() {
    is_done_ = true;
    if (stack_.size() != 1 || !marks_.empty()) {
      fail("STOP, and " + std::to_string(stack_.size()) + " values instead of one are there");
    }
  }

  void check_protocol() {
    constexpr unsigned kLeast = 2;
    constexpr unsigned kNewest = 5;
    const unsigned protocol = take_number<std::uint8_t>();
    if (!is_done_ && (protocol < kLeast || protocol > kNewest)) {
      fail("protocol " + std::to_string(protocol) + " of pickle; 2 to 5 are read");
    }
  }

  void do_other(unsigned char opcode) {
    switch (static_cast<Opcode>(opcode)) {
      case Opcode::kMark:
        return marks_.size() < kMostValues ? marks_.push_back(stack_.size()) : fail_for_memory();
      case Opcode::kBinPut:
        return remember(take_number<std::uint8_t>());
      case Opcode::kLongBinPut:
        return remember(take_number<std::uint32_t>());
      case Opcode::kMemoize:
        return remember(memo_.size());
      case Opcode::kAppend:
        return add_last(Kind::kList, 1);
      case Opcode::kAppends:
        return add_to(Kind::kList, take_mark());
      case Opcode::kSetItem:
        return add_last(Kind::kDict, 2);
      case Opcode::kSetItems:
        return add_to(Kind::kDict, take_mark());
      case Opcode::kEmptyTuple:
        return push_tuple(0);
      case Opcode::kTuple1:
        return push_tuple(1);
      case Opcode::kTuple2:
        return push_tuple(2);
      case Opcode::kTuple3:
        return push_tuple(3);
      case Opcode::kTuple:
        return push_tuple(stack_.size() - take_mark());
      case Opcode::kProto:
        return check_protocol();
      case Opcode::kFrame:
        take_number<std::uint64_t>();  // how much could be read ahead
        return;
      case Opcode::kStop:
        return finish();
      default:
        fail("opcode " + name_of(opcode) +
             ", which dumps do not need, is not followed: nothing of a pickle is ever run");
    }
  }

  PlainTree* tree_ = nullptr;
  const char* begin_ = nullptr;
  const char* next_ = nullptr;
  const char* end_ = nullptr;
  const char* opcode_ = nullptr;  // the one that is done
  ValueStack stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  ValueStack memo_;
  DictShapes shapes_;
  bool is_done_ = false;
  std::string error_;
};

}  // namespace

bool begins_as_pickle(std::string_view bytes) {
  return bytes.size() >= 2 && static_cast<Opcode>(bytes[0]) == Opcode::kProto && bytes[1] >= 2 &&
         bytes[1] <= 5;
}

PickleResult read_pickle(std::string_view bytes, PlainTree& tree) {
  thread_local PickleReader reader;
  return reader.read(bytes, tree);
}

}  // namespace ringside::load
