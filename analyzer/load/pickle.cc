// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/pickle.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <simdjson.h>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/load/byte_words.h"

namespace ringside::load {
namespace {

using Kind = PlainValue::Kind;

// By the names that Python's pickletools gives them.
enum class Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinUnicode = 'X',
  kAppend = 'a',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kMemoize = 0x94,
  kFrame = 0x95,
};

// The other opcodes, for messages: those that import, make or call something come first.
constexpr std::array<std::pair<unsigned char, const char*>, 32> kRefused = {{
    {'c', "GLOBAL"},         {0x93, "STACK_GLOBAL"},
    {'R', "REDUCE"},         {'b', "BUILD"},
    {'i', "INST"},           {'o', "OBJ"},
    {0x81, "NEWOBJ"},        {0x92, "NEWOBJ_EX"},
    {'P', "PERSID"},         {'Q', "BINPERSID"},
    {0x82, "EXT1"},          {0x83, "EXT2"},
    {0x84, "EXT4"},          {'0', "POP"},
    {'1', "POP_MARK"},       {'2', "DUP"},
    {'F', "FLOAT"},          {'I', "INT"},
    {'L', "LONG"},           {'S', "STRING"},
    {'T', "BINSTRING"},      {'U', "SHORT_BINSTRING"},
    {'V', "UNICODE"},        {'B', "BINBYTES"},
    {'C', "SHORT_BINBYTES"}, {0x8e, "BINBYTES8"},
    {0x8f, "EMPTY_SET"},     {0x91, "FROZENSET"},
    {0x96, "BYTEARRAY8"},    {'l', "LIST"},
    {'d', "DICT"},           {'p', "PUT"},
}};

std::string hexadecimal(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return std::string("0x") + kDigits[byte / 16U] + kDigits[byte % 16U];
}

std::string name_of(unsigned char opcode) {
  for (const auto& [byte, name] : kRefused) {
    if (byte == opcode) {
      return name;
    }
  }
  return hexadecimal(opcode);
}

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
    is_done_ = false;
    error_.clear();
    while (!is_done_) {
      opcode_ = next_;
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

  [[gnu::noinline, gnu::cold]] void fail(const std::string& why) {
    is_done_ = true;
    if (error_.empty()) {
      error_ = why + " (at byte " + std::to_string(opcode_ - begin_) + ')';
    }
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
    tree_->append(container, std::span(stack_).subspan(from));
    stack_.resize(from);
  }

  void push_tuple(std::size_t size) {
    const std::size_t least = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - least < size) {
      fail("a tuple of more values than there are");
      return;
    }
    const PlainValue tuple = tree_->add_container(Kind::kList);
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
    move_to(from, stack_[from - 1]);
  }

  void add_last(Kind kind, std::size_t count) {
    if (stack_.size() < count) {
      fail("a value for a container, and none is there");
      return;
    }
    add_to(kind, stack_.size() - count);
  }

  // Numbers of the memo are no greater than the bytes that were read, so that it cannot take much
  // more memory than they do.
  void remember(std::uint64_t number) {
    if (stack_.empty() || number > static_cast<std::uint64_t>(next_ - begin_)) {
      fail(stack_.empty() ? "nothing is there to be remembered"
                          : "number " + std::to_string(number) + " of the memo is out of order");
      return;
    }
    if (memo_.size() == number) {
      memo_.push_back(stack_.back());
      return;
    }
    if (memo_.size() < number) {
      memo_.resize(static_cast<std::size_t>(number) + 1, {kNothing});
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
        return marks_.push_back(stack_.size());
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
  std::vector<PlainValue> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::vector<PlainValue> memo_;
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
