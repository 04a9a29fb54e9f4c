// SPDX-License-Identifier: Apache-2.0
//
// The opcodes of pickles.
#ifndef RINGSIDE_ANALYZER_LOAD_PICKLE_PICKLE_OPCODES_H
#define RINGSIDE_ANALYZER_LOAD_PICKLE_PICKLE_OPCODES_H

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace ringside::load {

/// By the names that Python's pickletools gives them.
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
inline constexpr std::array<std::pair<unsigned char, const char*>, 32> kRefused = {{
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

inline std::string hexadecimal(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return std::string("0x") + kDigits[byte / 16U] + kDigits[byte % 16U];
}

/// Its name in messages.
inline std::string name_of(unsigned char opcode) {
  for (const auto& [byte, name] : kRefused) {
    if (byte == opcode) {
      return name;
    }
  }
  return hexadecimal(opcode);
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PICKLE_PICKLE_OPCODES_H
