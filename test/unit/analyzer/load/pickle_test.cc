// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/pickle/pickle.h"

#include <bit>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "test/unit/catch.h"

namespace ringside::load {
namespace {

#include "test/unit/analyzer/load/pickles.inc"

using Kind = PlainValue::Kind;

template <std::size_t kSize>
std::string_view bytes_of(const char (&literal)[kSize]) {
  return {literal, kSize - 1};
}

std::string error_of(std::string_view bytes) {
  PlainTree tree(1000);
  return read_pickle(bytes, tree).error;
}

std::vector<std::int64_t> numbers_of(const PlainTree& tree, const PlainValue& list) {
  std::vector<std::int64_t> numbers;
  for (const PlainValue& value : tree.list(list)) {
    numbers.push_back(integer_of(value).value_or(-42));
  }
  return numbers;
}

TEST_CASE("what Python pickled is read, whatever its protocol") {
  for (const std::string_view bytes :
       {bytes_of(kPlain2), bytes_of(kPlain3), bytes_of(kPlain4), bytes_of(kPlain5)}) {
    CHECK(begins_as_pickle(bytes));
    PlainTree tree(1000);
    const PickleResult read = read_pickle(bytes, tree);
    REQUIRE(read.error.empty());
    const std::vector<std::int64_t> numbers = {
        1,  -1, 255, 65535, 70000, -70000, 1LL << 31, 1LL << 40, -(1LL << 62), 0x7fffffffffffffffLL,
        -42};
    CHECK(numbers_of(tree, tree.at(read.value, "numbers")) == numbers);
    CHECK(numbers_of(tree, tree.at(read.value, "again")) == numbers);
    CHECK(tree.list(tree.at(read.value, "numbers")).back().kind == Kind::kOther);
    const auto tuples = tree.list(tree.at(read.value, "tuples"));
    REQUIRE(tuples.size() == 5);
    for (std::size_t size = 0; size < tuples.size(); ++size) {
      REQUIRE(tree.list(tuples[size]).size() == size);
      CHECK((size == 0 || integer_of(tree.list(tuples[size]).back()) == size));
    }
    CHECK(tree.at(read.value, "none").kind == Kind::kNone);
    const auto truth = tree.list(tree.at(read.value, "truth"));
    REQUIRE(truth.size() == 2);
    CHECK((truth[0].kind == Kind::kBool && truth[0].number == 1 && truth[1].number == 0));
    CHECK(std::bit_cast<double>(tree.at(read.value, "real").number) == -1.5);
    CHECK(tree.text(tree.at(read.value, "long")) == std::string(300, 'x'));
    CHECK(tree.text(tree.at(read.value, "text")) == "\xc3\xa9");
    CHECK(tree.at(read.value, "long negative").kind == Kind::kOther);
    const auto nested = tree.list(tree.at(read.value, "nested"));
    REQUIRE(nested.size() == 2);
    const auto deep = tree.list(tree.at(tree.list(nested[0])[0], "deep"));
    CHECK(numbers_of(tree, deep[0]) == std::vector<std::int64_t>{7});
    CHECK(tree.at(read.value, "not there").kind == Kind::kNone);
  }
}

TEST_CASE("each pickle that is cut off is an error") {
  for (const std::string_view bytes : {bytes_of(kPlain2), bytes_of(kPlain5)}) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::string cut(bytes.substr(0, size));  // so that a read behind the end is seen
      INFO(size);
      CHECK(error_of(cut).find("the pickle is cut off (at byte ") == 0);
    }
  }
  CHECK(error_of(std::string(bytes_of(kPlain2)) + 'N') ==
        "the pickle ends here, and bytes follow it (at byte " +
            std::to_string(bytes_of(kPlain2).size() - 1) + ')');
}

TEST_CASE("a pickle that would run something is an error, and nothing runs") {
  constexpr std::string_view kRest =
      ", which dumps do not need, is not followed: nothing of a pickle is ever run (at byte ";
  CHECK(error_of(bytes_of(kRuns2)) == "opcode GLOBAL" + std::string(kRest) + "2)");
  CHECK(error_of(bytes_of(kRuns4)) == "opcode STACK_GLOBAL" + std::string(kRest) + "28)");
  CHECK(::access("executed", F_OK) != 0);
  for (const char opcode : std::string_view("cRbioPQ\x81\x82\x83\x84\x92\x93")) {
    const std::string error = error_of(std::string("\x80\x02N") + opcode + "0000.");
    CHECK(error.find("opcode ") == 0);
    CHECK(error.find(std::string(kRest) + "3)") != std::string::npos);
  }
  CHECK(error_of(bytes_of(kBytes)).find("opcode SHORT_BINBYTES,") == 0);
  CHECK(error_of(bytes_of(kSet)).find("opcode EMPTY_SET,") == 0);
  CHECK(error_of(bytes_of(kText0)).find("opcode LIST,") == 0);
  CHECK(error_of("\x80\x02\xff.").find("opcode 0xff,") == 0);
}

TEST_CASE("a pickle that is no program either is an error") {
  const auto at = [](std::string_view rest) { return error_of("\x80\x02" + std::string(rest)); };
  CHECK(at(".") == "STOP, and 0 values instead of one are there (at byte 2)");
  CHECK(at("NN.") == "STOP, and 2 values instead of one are there (at byte 4)");
  CHECK(at("N(.") == "STOP, and 1 values instead of one are there (at byte 4)");
  CHECK(at("u.") == "values of a container without their MARK (at byte 2)");
  CHECK(at("t.") == "values of a container without their MARK (at byte 2)");
  CHECK(at("N\x86.") == "a tuple of more values than there are (at byte 3)");
  CHECK(at("N(N\x86.") == "a tuple of more values than there are (at byte 5)");
  CHECK(at("NNa.") == "values for a list, and no list below them (at byte 4)");
  CHECK(at("]s.") == "a value for a container, and none is there (at byte 3)");
  CHECK(at("](a.") == "values for a list, and no list below them (at byte 4)");
  CHECK(at("}(Nu.") == "keys and values for a dict, and no dict below them (at byte 5)");
  CHECK(at("h\x05.") == "number 5 of the memo was never stored (at byte 2)");
  CHECK(at("Nr\xff\xff\xff\xff.") == "number 4294967295 of the memo is out of order (at byte 3)");
  CHECK(at("q\x01.") == "nothing is there to be remembered (at byte 2)");
  CHECK(at("\x8d\xff\xff\xff\xff\xff\xff\xff\xff.") == "the pickle is cut off (at byte 2)");
  CHECK(at("\x8c\x02"
           "a\xff.") == "a text is not UTF-8 (at byte 2)");
  CHECK(error_of("\x80\x06N.") == "protocol 6 of pickle; 2 to 5 are read (at byte 0)");
}

// Python's own module raises TypeError of each: unhashable type.
TEST_CASE("a list or dict is no key, as in Python") {
  const auto at = [](std::string_view rest) { return error_of("\x80\x02" + std::string(rest)); };
  const std::string why = " with a list or dict as the key of a dict, which Python refuses, too";
  CHECK(at("}(]K\x01u.") == "SETITEMS" + why + " (at byte 7)");
  CHECK(at("}}K\x01s.") == "SETITEM" + why + " (at byte 6)");
  CHECK(at("}(K\x01N]\x85Nu.") == "SETITEMS" + why + " (at byte 10)");  // in a tuple
  CHECK(at("}(N\x85\x85Nu.").empty());
}

TEST_CASE("of a key that is there twice the last value counts, as in Python") {
  const std::string a = std::string("X\x01\0\0\0", 5) + "a";
  const std::string b = std::string("X\x01\0\0\0", 5) + "b";
  for (const std::string& rest :
       {"](}(" + a + "K\x01" + b + "K\x02" + a + "K\x07ue.",
        "](}(" + a + "K\x01" + b + "K\x02u(" + a + "K\x07ue.",
        "](}" + a + "K\x01s" + a + "K\x07s" + b + "K\x02se.",
        // Behind a dict that has each key once, with the texts of the same place.
        "](}(" + a + "q\x01K\x01" + b + "q\x02K\x02u}(h\x01K\x03h\x02K\x02h\x01K\x07ue."}) {
    const std::string bytes = "\x80\x02" + rest;
    PlainTree tree(1000);
    const PickleResult read = read_pickle(bytes, tree);
    REQUIRE(read.error.empty());
    const PlainKey key("a");
    tree.at(tree.list(read.value).front(), key);  // it learns where the key is
    const PlainValue dict = tree.list(read.value).back();
    CHECK(integer_of(tree.at(dict, key)) == 7);
    CHECK(integer_of(tree.at(dict, "b")) == 2);
  }
}

TEST_CASE("a deep pickle takes no more stack than another") {
  CHECK(error_of(bytes_of(kDeep)).empty());
  constexpr std::size_t kDeepest = 1'000'000;
  std::string bytes = "\x80\x02";
  bytes += std::string(kDeepest, ']') + std::string(kDeepest - 1, 'a') + '.';
  CHECK(error_of(bytes).empty());
  bytes = "\x80\x02]q\x01";  // a list that holds itself
  bytes += "h\x01";
  bytes += "a.";
  PlainTree tree(1000);
  const PickleResult read = read_pickle(bytes, tree);
  CHECK(read.error.empty());
  CHECK(tree.list(read.value).size() == 1);
}

}  // namespace
}  // namespace ringside::load
