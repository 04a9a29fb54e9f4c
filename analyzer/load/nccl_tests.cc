// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/nccl_tests.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "analyzer/load/byte_source.h"
#include "plugin/assemble/message_bytes.h"

namespace ringside::load {
namespace {

using Words = std::vector<std::string_view>;

struct TestName {
  std::string_view program;
  std::string_view function;
};
constexpr std::array<TestName, 9> kTests = {{{"all_reduce_perf", "AllReduce"},
                                             {"all_gather_perf", "AllGather"},
                                             {"reduce_scatter_perf", "ReduceScatter"},
                                             {"broadcast_perf", "Broadcast"},
                                             {"reduce_perf", "Reduce"},
                                             {"alltoall_perf", "AlltoAll"},
                                             {"gather_perf", "Gather"},
                                             {"scatter_perf", "Scatter"},
                                             {"sendrecv_perf", "SendRecv ring"}}};

// The function of the program that the text names first; "all_reduce_perf" has "reduce_perf" in it.
std::string_view function_named(std::string_view text) {
  std::size_t first = text.npos;
  std::string_view function;
  for (const TestName& test : kTests) {
    for (std::size_t at = text.find(test.program); at != text.npos;
         at = text.find(test.program, at + 1)) {
      const char before = at == 0 ? ' ' : text[at - 1];
      const bool is_part = before == '_' || (before >= 'a' && before <= 'z');
      if (!is_part && at < first) {
        first = at;
        function = test.function;
      }
    }
  }
  return function;
}

Words words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  Words words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == line.npos) {
      return words;
    }
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

template <typename Number>
std::optional<Number> number_of(std::string_view word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() ? std::optional(number)
                                                                  : std::nullopt;
}

// mpirun and srun may put the process before each line: "[1,0]<stdout>:", "[0]", "0: ".
std::string_view without_process(std::string_view line) {
  if (line.starts_with('[')) {
    line.remove_prefix(std::min(line.find(']') + 1, line.size()));
    for (const std::string_view mark : {"<stdout>:", "<stderr>:"}) {
      line.remove_prefix(line.starts_with(mark) ? mark.size() : 0);
    }
    return line;
  }
  const std::size_t colon = line.find(": ");
  const bool is_process = colon != line.npos && colon > 0 &&
                          line.substr(0, colon).find_first_not_of("0123456789") == line.npos;
  return is_process ? line.substr(colon + 2) : line;
}

class TestReader {
 public:
  explicit TestReader(std::string_view text, std::string_view path) : path_(path) {
    // A command above the output often names the program; of several tests, each says itself.
    function_ = function_named(text);
    if (function_.empty()) {
      function_ = function_named(path.substr(path.rfind('/') + 1));
    }
  }

  void line(std::string_view text) {
    const Words words = words_of(text);
    if (words.empty()) {
      return;
    }
    const bool is_comment = words[0].starts_with('#');
    if (is_comment && text.find("test starting:") != text.npos) {
      function_ = function_named(text);
    } else if (has_nccl_tests(text)) {
      ranks_of_group_.clear();
      columns_.clear();
    } else if (is_comment && has(words, "Rank") && has(words, "Pid")) {
      const auto group = std::find(words.begin(), words.end(), "Group");
      const bool has_group = group != words.end() && group + 1 != words.end();
      ++ranks_of_group_[std::string(has_group ? *(group + 1) : "")];
    } else if (is_comment && has(words, "size") && has(words, "busbw")) {
      columns_.assign(words.begin() + (words[0] == "#" ? 1 : 0), words.end());
    } else if (!is_comment && !columns_.empty() && number_of<std::uint64_t>(words[0])) {
      result(words);
    }
  }

  NcclTests finish() {
    const auto note = [&](std::uint64_t count, const char* one, const char* several,
                          const char* why) {
      if (count > 0) {
        tests_.notes.push_back(std::string(path_) + ": " + std::to_string(count) +
                               (count == 1 ? one : several) + why);
      }
    };
    note(wrong_, " result was", " results were", " wrong by nccl-tests' own check; left out");
    note(unread_, " result is", " results are",
         " no such as nccl-tests writes: size, time, bandwidths and ranks do not agree; left out");
    note(unnamed_, " result is", " results are",
         " of a test that is not named, in the text or as the name of the file, or not known; left "
         "out");
    note(uneven_, " result is", " results are",
         " of communicators of different sizes, or of one rank; left out");
    return std::move(tests_);
  }

 private:
  static bool has(const Words& words, std::string_view word) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view one) {
      return one == word || (one.starts_with('#') && one.substr(1) == word);
    });
  }

  // All groups have one number of ranks.
  std::optional<std::uint32_t> ranks() const {
    if (ranks_of_group_.empty()) {
      return std::nullopt;
    }
    const std::uint32_t first = ranks_of_group_.begin()->second;
    const bool is_even = std::all_of(ranks_of_group_.begin(), ranks_of_group_.end(),
                                     [&](const auto& group) { return group.second == first; });
    return is_even && first > 1 ? std::optional(first) : std::nullopt;
  }

  struct Measured {
    double algbw_gb_s = 0;
    double busbw_gb_s = 0;
    bool is_wrong = false;
  };

  // Two decimals are printed; the time has four digits or more.
  static bool is_near(double printed, double expected) {
    return std::abs(printed - expected) <= 0.02 * expected + 0.011;
  }

  // The result of the column `busbw`, if its neighbours agree: size / time is algbw.
  std::optional<Measured> measured(const Words& words, std::size_t size_bytes,
                                   std::ptrdiff_t busbw) const {
    if (busbw < 2 || static_cast<std::size_t>(busbw) >= words.size()) {
      return std::nullopt;
    }
    const auto at = static_cast<std::size_t>(busbw);
    const auto time_us = number_of<double>(words[at - 2]);
    const auto algbw_gb_s = number_of<double>(words[at - 1]);
    const auto busbw_gb_s = number_of<double>(words[at]);
    if (!time_us || !algbw_gb_s || !busbw_gb_s || !(*time_us > 0)) {
      return std::nullopt;
    }
    const double expected = static_cast<double>(size_bytes) / *time_us / 1000;
    if (!is_near(*algbw_gb_s, expected)) {
      return std::nullopt;
    }
    const auto wrong = at + 1 < words.size() ? number_of<double>(words[at + 1]) : std::nullopt;
    return Measured{*algbw_gb_s, *busbw_gb_s, wrong && *wrong != 0};
  }

  void result(const Words& words) {
    const auto size_bytes = *number_of<std::uint64_t>(words[0]);
    const auto more =
        static_cast<std::ptrdiff_t>(words.size()) - static_cast<std::ptrdiff_t>(columns_.size());
    bool is_read = false;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] != "busbw") {
        continue;
      }
      // Old releases leave the operation of a reduction blank, so columns are counted from the end.
      const auto column = static_cast<std::ptrdiff_t>(i);
      auto found = measured(words, size_bytes, column);
      found = found ? found : measured(words, size_bytes, column + more);
      if (found) {
        is_read = true;
        add(size_bytes, *found);
      }
    }
    unread_ += is_read ? 0 : 1;
  }

  void add(std::uint64_t size_bytes, const Measured& found) {
    if (found.is_wrong) {
      ++wrong_;
    } else if (function_.empty()) {
      ++unnamed_;
    } else if (!ranks()) {
      ++uneven_;
    } else if (!is_near(found.busbw_gb_s,
                        found.algbw_gb_s * assemble::bus_factor(function_, *ranks()))) {
      ++unread_;
    } else if (found.busbw_gb_s > 0) {
      tests_.results.push_back({std::string(function_), *ranks(), size_bytes, found.busbw_gb_s});
    }
  }

  std::string_view path_;
  std::string_view function_;
  std::vector<std::string> columns_;  // of the table
  std::map<std::string, std::uint32_t> ranks_of_group_;
  std::uint64_t wrong_ = 0, unread_ = 0, unnamed_ = 0, uneven_ = 0;
  NcclTests tests_;
};

}  // namespace

bool has_nccl_tests(std::string_view text) {
  for (std::size_t at = text.find("nThread "); at != text.npos;
       at = text.find("nThread ", at + 1)) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (line.find("minBytes ") != line.npos) {
      return true;
    }
  }
  return false;
}

NcclTests read_nccl_tests(std::string_view text, std::string_view path) {
  TestReader reader(text, path);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.line(without_process(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.finish();
}

std::optional<std::string> text_of_nccl_tests(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  constexpr std::size_t kPart = std::size_t{1} << 20;
  ByteSource source;
  if (source.open(path)) {
    return std::nullopt;
  }
  std::string text;
  for (std::size_t used = 0; used <= kMost; used = text.size()) {
    text.resize(used + kPart);
    text.resize(used + source.read(text.data() + used, kPart));
    if (used == 0 && (text.starts_with('[') && text.find("\"ringside_trace\"") < kPart)) {
      return std::nullopt;
    }
    if (text.size() == used) {
      return has_nccl_tests(text) ? std::optional(std::move(text)) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace ringside::load
