// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/pickle.h"

#include <array>
#include <bit>
#include <cstdint>
#include <simdjson.h>
#include <span>
#include <utility>
#include <vector>

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

class PickleReader {
 public:
  PickleReader(std::string_view bytes, PlainTree& tree) : bytes_(bytes), tree_(tree) {}

  PickleResult read() {
    while (error_.empty() && !is_done_) {
      opcode_at_ = at_;
      const std::string_view opcode = take(1);
      if (error_.empty()) {
        do_one(static_cast<unsigned char>(opcode.front()));
      }
    }
    if (error_.empty() && at_ != bytes_.size()) {
      fail("the pickle ends here, and bytes follow it");
    }
    return error_.empty() ? PickleResult{stack_.back(), {}} : PickleResult{{}, error_};
  }

 private:
  void fail(const std::string& why) {
    if (error_.empty()) {
      error_ = why + " (at byte " + std::to_string(opcode_at_) + ')';
    }
  }

  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) {
      fail("the pickle is cut off");
      return {};
    }
    const std::string_view taken = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += taken.size();
    return taken;
  }

  // Little-endian; 0 behind the end.
  std::uint64_t take_number(std::size_t size) {
    std::uint64_t number = 0;
    std::size_t place = 0;
    for (const char byte : take(size)) {
      number |= std::uint64_t{static_cast<unsigned char>(byte)} << (8 * place++);
    }
    return number;
  }

  void push(const PlainValue& value) { stack_.push_back(value); }
  void push_integer(std::int64_t number) { push({Kind::kInteger, number}); }
  void push_text(std::uint64_t size) {
    const std::string_view text = take(size);
    if (!simdjson::validate_utf8(text.data(), text.size())) {
      fail("a text is not UTF-8");
    }
    push({Kind::kText, 0, text});
  }

  void push_real() {
    std::uint64_t bits = 0;
    for (const char byte : take(sizeof bits)) {
      bits = bits << 8U | static_cast<unsigned char>(byte);
    }
    push({Kind::kReal, std::bit_cast<std::int64_t>(bits)});
  }

  // Two's complement of any length. One that does not fit 64 bits is kept as such.
  void push_long(std::uint64_t size) {
    const std::string_view digits = take(size);
    if (digits.size() > sizeof(std::uint64_t)) {
      push({Kind::kOther});
      return;
    }
    std::uint64_t number = 0;
    const bool is_negative = !digits.empty() && static_cast<signed char>(digits.back()) < 0;
    for (std::size_t i = sizeof number; i-- > 0;) {
      const unsigned char digit = i < digits.size() ? static_cast<unsigned char>(digits[i])
                                  : is_negative     ? 0xff
                                                    : 0;
      number = number << 8U | digit;
    }
    push_integer(std::bit_cast<std::int64_t>(number));
  }

  // Moves the values above the size `from` of the stack into a container.
  void move_to(std::size_t from, const PlainValue& container) {
    tree_.append(container, std::span(stack_).subspan(from));
    stack_.resize(from);
  }

  void push_tuple(std::size_t size) {
    const std::size_t least = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - least < size) {
      fail("a tuple of more values than there are");
      return;
    }
    const PlainValue tuple = tree_.add_container(Kind::kList);
    move_to(stack_.size() - size, tuple);
    push(tuple);
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
    const bool is_there = error_.empty() && from > least && stack_[from - 1].kind == kind &&
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
    if (stack_.empty() || number > at_) {
      fail(stack_.empty() ? "nothing is there to be remembered"
                          : "number " + std::to_string(number) + " of the memo is out of order");
      return;
    }
    if (memo_.size() <= number) {
      memo_.resize(static_cast<std::size_t>(number) + 1);
    }
    memo_[static_cast<std::size_t>(number)] = stack_.back();
  }

  void recall(std::uint64_t number) {
    if (number >= memo_.size() || !memo_[static_cast<std::size_t>(number)]) {
      fail("number " + std::to_string(number) + " of the memo was never stored");
      return;
    }
    push(*memo_[static_cast<std::size_t>(number)]);
  }

  void finish() {
    is_done_ = true;
    if (stack_.size() != 1 || !marks_.empty()) {
      fail("STOP, and " + std::to_string(stack_.size()) + " values instead of one are there");
    }
  }

  void check_protocol() {
    constexpr std::uint64_t kLeast = 2;
    constexpr std::uint64_t kNewest = 5;
    const std::uint64_t protocol = take_number(1);
    if (error_.empty() && (protocol < kLeast || protocol > kNewest)) {
      fail("protocol " + std::to_string(protocol) + " of pickle; 2 to 5 are read");
    }
  }

  void do_one(unsigned char opcode) {
    switch (static_cast<Opcode>(opcode)) {
      case Opcode::kProto:
        return check_protocol();
      case Opcode::kFrame:
        static_cast<void>(take_number(8));  // how much could be read ahead
        return;
      case Opcode::kStop:
        return finish();
      case Opcode::kMark:
        return marks_.push_back(stack_.size());
      case Opcode::kNone:
        return push({});
      case Opcode::kNewTrue:
        return push({Kind::kBool, 1});
      case Opcode::kNewFalse:
        return push({Kind::kBool});
      case Opcode::kBinInt:
        return push_integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(take_number(4))));
      case Opcode::kBinInt1:
        return push_integer(static_cast<std::int64_t>(take_number(1)));
      case Opcode::kBinInt2:
        return push_integer(static_cast<std::int64_t>(take_number(2)));
      case Opcode::kLong1:
        return push_long(take_number(1));
      case Opcode::kLong4:
        return push_long(take_number(4));
      case Opcode::kBinFloat:
        return push_real();
      case Opcode::kShortBinUnicode:
        return push_text(take_number(1));
      case Opcode::kBinUnicode:
        return push_text(take_number(4));
      case Opcode::kBinUnicode8:
        return push_text(take_number(8));
      default:
        return do_container(opcode);
    }
  }

  void do_container(unsigned char opcode) {
    switch (static_cast<Opcode>(opcode)) {
      case Opcode::kEmptyList:
        return push(tree_.add_container(Kind::kList));
      case Opcode::kEmptyDict:
        return push(tree_.add_container(Kind::kDict));
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
      case Opcode::kAppend:
        return add_last(Kind::kList, 1);
      case Opcode::kAppends:
        return add_to(Kind::kList, take_mark());
      case Opcode::kSetItem:
        return add_last(Kind::kDict, 2);
      case Opcode::kSetItems:
        return add_to(Kind::kDict, take_mark());
      case Opcode::kBinPut:
        return remember(take_number(1));
      case Opcode::kLongBinPut:
        return remember(take_number(4));
      case Opcode::kMemoize:
        return remember(memo_.size());
      case Opcode::kBinGet:
        return recall(take_number(1));
      case Opcode::kLongBinGet:
        return recall(take_number(4));
      default:
        fail("opcode " + name_of(opcode) +
             ", which dumps do not need, is not followed: nothing of a pickle is ever run");
    }
  }

  std::string_view bytes_;
  PlainTree& tree_;
  std::size_t at_ = 0;
  std::size_t opcode_at_ = 0;
  std::vector<PlainValue> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::vector<std::optional<PlainValue>> memo_;
  bool is_done_ = false;
  std::string error_;
};

}  // namespace

bool begins_as_pickle(std::string_view bytes) {
  return bytes.size() >= 2 && static_cast<Opcode>(bytes[0]) == Opcode::kProto && bytes[1] >= 2 &&
         bytes[1] <= 5;
}

PickleResult read_pickle(std::string_view bytes, PlainTree& tree) {
  return PickleReader(bytes, tree).read();
}

}  // namespace ringside::load
