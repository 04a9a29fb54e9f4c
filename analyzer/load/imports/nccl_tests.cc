// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/imports/nccl_tests.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>
#include <simdjson.h>
#include <utility>

#include "analyzer/load/json/dom_value.h"
#include "analyzer/load/json/parse_number.h"
#include "analyzer/load/source/byte_source.h"
#include "analyzer/load/source/plain_text.h"
#include "plugin/assemble/message_bytes.h"

namespace ringside::load {
namespace {

using Tokens = std::vector<std::string_view>;

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

// Calls `take` with the function of each program that the text names, in their order. Something may
// be before a name ("node1_all_reduce_perf"), but no letter: "all_reduce_perf" is no "reduce_perf".
template <typename Take>
void for_names(std::string_view text, Take take) {
  constexpr std::string_view kEnd = "_perf";
  const auto is_letter = [](char one) { return one >= 'a' && one <= 'z'; };
  for (std::size_t at = text.find(kEnd); at != text.npos; at = text.find(kEnd, at + 1)) {
    const std::size_t end = at + kEnd.size();
    const TestName* longest = nullptr;
    for (const TestName& test : kTests) {
      if (text.substr(0, end).ends_with(test.program) &&
          (longest == nullptr || longest->program.size() < test.program.size())) {
        longest = &test;
      }
    }
    const bool is_whole =
        longest != nullptr &&
        (end == longest->program.size() || !is_letter(text[end - longest->program.size() - 1]));
    if (is_whole && (end == text.size() || !is_letter(text[end]))) {
      take(longest->function);
    }
  }
}

// The first of them; empty if there is none.
std::string_view function_named(std::string_view text) {
  std::string_view first;
  for_names(text, [&](std::string_view function) { first = first.empty() ? function : first; });
  return first;
}

Tokens tokens_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  Tokens words;
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

// Whether a line has all of these, in this order.
bool has_line(std::string_view text, std::initializer_list<std::string_view> parts) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    std::size_t at = 0;
    for (const std::string_view part : parts) {
      at = line.find(part, at);
    }
    if (at != line.npos) {
      return true;
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return false;
}

class TestReader {
 public:
  // A test is named by the lines above it. If only one program is named, it is that of all tests.
  TestReader(std::string_view text, std::string_view path) : path_(path) {
    std::set<std::string_view> named;
    for_names(text, [&](std::string_view function) { named.insert(function); });
    if (named.empty()) {
      only_ = function_named(path.substr(path.rfind('/') + 1));
    } else if (named.size() == 1) {
      only_ = *named.begin();
    }
    begin_test();
  }

  // mpirun, srun and kubectl may put words before each line: "[1,0]<stdout>:", " 0: ", a time. They
  // are as many before a result as before the columns, whose # a copy may have lost.
  void line(std::string_view text) {
    const std::size_t mark = text.find('#');
    const bool is_comment = mark != text.npos;
    const Tokens words = tokens_of(is_comment ? text.substr(mark + 1) : text);
    if (has_line(text, {"nThread ", "minBytes "})) {
      begin_test();
    } else if (has(words, "Rank") && has(words, "Pid")) {
      const auto group = std::find(words.begin(), words.end(), "Group");
      const bool has_group = group != words.end() && group + 1 != words.end();
      ++ranks_of_group_[std::string(has_group ? *(group + 1) : "")];
    } else if (has(words, "size") && has(words, "busbw")) {
      columns_.assign(std::find(words.begin(), words.end(), "size"), words.end());
      words_before_ = tokens_of(text.substr(0, std::min(mark, text.find(" size ")))).size();
    } else if (has(words, "bounds") && has(words, "FAILED")) {
      // The column `error` of old releases does not say which results are wrong.
      if (std::find(columns_.begin(), columns_.end(), "error") != columns_.end()) {
        wrong_ += tests_.results.size() - first_;
        tests_.results.resize(first_);
      }
    } else if (!is_comment && !columns_.empty() && words.size() > words_before_ &&
               parse_number<std::uint64_t>(words[words_before_])) {
      result({words.begin() + static_cast<std::ptrdiff_t>(words_before_), words.end()});
    } else if (text.find("test concluded:") == text.npos) {
      const std::string_view function = function_named(text);
      named_ = function.empty() ? named_ : function;
    }
  }

  // rccl-tests write this with -x: a row is on each line, as CSV or JSON.
  void rccl_line(std::string_view text) {
    constexpr std::string_view kAround = " [],\r";  // of the list that newer releases make of it
    text.remove_prefix(std::min(text.find_first_not_of(kAround), text.size()));
    text = text.substr(0, text.find_last_not_of(kAround) + 1);
    if (text.starts_with('{')) {
      rccl_json(text);
    } else if (!text.empty()) {
      rccl_csv(text);
    }
  }

  // What -J writes. Each device stands for the GPUs of a process.
  void json(std::string_view text) {
    namespace dom = simdjson::dom;
    dom::parser parser;
    dom::object top;
    dom::object config;
    dom::array results;
    dom::array devices;
    if (parser.parse(text.data(), text.size()).get(top) != simdjson::SUCCESS ||
        top["config"].get(config) != simdjson::SUCCESS ||
        top["results"].get(results) != simdjson::SUCCESS ||
        config["devices"].get(devices) != simdjson::SUCCESS) {
      tests_.notes.push_back(std::string(path_) +
                             ": JSON with bandwidths that is not what nccl-tests writes with -J: "
                             "it is not read; its printed tables are");
      return;
    }
    begin_test();
    const auto threads = integer_at(config, "nthreads").value_or(0);
    const auto gpus = integer_at(config, "ngpus").value_or(0);
    const bool is_known =
        std::in_range<std::uint16_t>(threads) && std::in_range<std::uint16_t>(gpus);
    for (const dom::element element : devices) {
      dom::object device;
      if (is_known && element.get(device) == simdjson::SUCCESS) {
        ranks_of_group_[std::to_string(integer_at(device, "group").value_or(0))] +=
            static_cast<std::uint32_t>(threads * gpus);
      }
    }
    for (const dom::element element : results) {
      dom::object row;
      std::uint64_t size_bytes = 0;
      const bool has_size =
          element.get(row) == simdjson::SUCCESS && row["size"].get(size_bytes) == simdjson::SUCCESS;
      for (const char* const place : {"out_of_place", "in_place"}) {
        dom::object body;
        if (!has_size || row[place].get(body) == simdjson::SUCCESS) {
          const auto found = has_size ? measured(body, size_bytes) : std::nullopt;
          if (found) {
            add(size_bytes, *found);
          } else {
            ++unread_;
          }
        }
      }
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
         " of communicators of different sizes, of one rank, or whose ranks are not all listed; "
         "left out");
    if (tests_.results.empty() && tests_.notes.empty()) {
      tests_.notes.push_back(std::string(path_) +
                             ": there is a test, and no line of columns (size, busbw) with results "
                             "below it");
    }
    return std::move(tests_);
  }

 private:
  // Releases with MPI leave out the name of a column behind `collective`.
  void rccl_csv(std::string_view text) {
    Tokens words;
    while (!text.empty()) {
      words.push_back(text.substr(0, text.find(',')));
      text.remove_prefix(std::min(words.back().size() + 1, text.size()));
    }
    if (has(words, "collective")) {
      columns_.assign(words.begin(), words.end());
    } else if (!columns_.empty() && words.size() >= columns_.size()) {
      std::map<std::string, std::string> row;
      std::size_t more = 0;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        row[columns_[i]] = words[i + more];
        more = columns_[i] == "collective" ? words.size() - columns_.size() : more;
      }
      rccl_row(row);
    } else {
      ++unread_;
    }
  }

  // The same names as in CSV, with other letters.
  void rccl_json(std::string_view text) {
    simdjson::dom::parser parser;
    simdjson::dom::object members;
    std::map<std::string, std::string> row;
    if (parser.parse(text.data(), text.size()).get(members) == simdjson::SUCCESS) {
      for (const simdjson::dom::key_value_pair one : members) {
        std::string key = one.key == "name"    ? "collective"
                          : one.key == "wrong" ? "#wrong"
                                               : std::string(one.key);
        std::transform(key.begin(), key.end(), key.begin(),
                       [](unsigned char letter) { return std::tolower(letter); });
        row[key] = simdjson::minify(one.value);
      }
    }
    rccl_row(row);
  }

  // A rank of RCCL's `ranks` may have several GPUs, which are ranks of the communicator each.
  void rccl_row(const std::map<std::string, std::string>& row) {
    const auto text_of = [&](const char* name) {
      const auto found = row.find(name);
      std::string_view text = found == row.end() ? std::string_view() : found->second;
      text.remove_prefix(text.starts_with('"') ? 1 : 0);
      return text.substr(0, text.find('"'));
    };
    const auto number = [&](const char* name) { return parse_number<double>(text_of(name)); };
    function_ = {};
    for (const TestName& test : kTests) {
      const std::string_view first_word = test.function.substr(0, test.function.find(' '));
      function_ = first_word == text_of("collective") ? test.function : function_;
    }
    const double gpus = number("gpus").value_or(number("gpusperrank").value_or(1));
    const double ranks = number("ranks").value_or(1) * gpus;
    const auto size_bytes = parse_number<std::uint64_t>(text_of("size"));
    const auto time_us = number("time");
    const auto algbw_gb_s = number("algbw");
    const auto busbw_gb_s = number("busbw");
    if (!size_bytes || !time_us || !algbw_gb_s || !busbw_gb_s || !(ranks >= 1 && ranks < 1e6) ||
        !is_consistent(*algbw_gb_s, *time_us, *size_bytes, false)) {
      ++unread_;
      return;
    }
    ranks_of_group_[""] = static_cast<std::uint32_t>(ranks);
    add(*size_bytes, {*algbw_gb_s, *busbw_gb_s, number("#wrong").value_or(0) != 0});
  }

  static bool has(const Tokens& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  }

  void begin_test() {
    function_ = named_.empty() ? only_ : named_;
    named_ = {};
    ranks_of_group_.clear();
    columns_.clear();
    first_ = tests_.results.size();
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

  // Size / time is algbw; but a `cputime` is that of the launch.
  static bool is_consistent(double algbw_gb_s, double time_us, std::uint64_t size_bytes,
                            bool is_of_cpu) {
    return time_us > 0 &&
           (is_of_cpu || is_near(algbw_gb_s, static_cast<double>(size_bytes) / time_us / 1000));
  }

  static std::optional<Measured> measured(const simdjson::dom::object& body,
                                          std::uint64_t size_bytes) {
    double time_us = 0;
    double algbw_gb_s = 0;
    double busbw_gb_s = 0;
    double wrong = 0;
    const bool is_of_cpu = body["cpu_time"].get(time_us) == simdjson::SUCCESS;
    if ((!is_of_cpu && body["time"].get(time_us) != simdjson::SUCCESS) ||
        body["alg_bw"].get(algbw_gb_s) != simdjson::SUCCESS ||
        body["bus_bw"].get(busbw_gb_s) != simdjson::SUCCESS ||
        !is_consistent(algbw_gb_s, time_us, size_bytes, is_of_cpu)) {
      return std::nullopt;
    }
    const bool is_checked = body["nwrong"].get(wrong) == simdjson::SUCCESS;
    return Measured{algbw_gb_s, busbw_gb_s, is_checked && wrong != 0};
  }

  // The result of the column `busbw`, if its neighbours agree.
  std::optional<Measured> measured(const Tokens& words, std::size_t size_bytes,
                                   std::ptrdiff_t busbw) const {
    if (busbw < 2 || static_cast<std::size_t>(busbw) >= words.size()) {
      return std::nullopt;
    }
    const auto at = static_cast<std::size_t>(busbw);
    const auto time_us = parse_number<double>(words[at - 2]);
    const auto algbw_gb_s = parse_number<double>(words[at - 1]);
    const auto busbw_gb_s = parse_number<double>(words[at]);
    const bool is_of_cpu = std::find(columns_.begin(), columns_.end(), "cputime") != columns_.end();
    if (!time_us || !algbw_gb_s || !busbw_gb_s ||
        !is_consistent(*algbw_gb_s, *time_us, size_bytes, is_of_cpu)) {
      return std::nullopt;
    }
    const bool is_count = std::find(columns_.begin(), columns_.end(), "error") == columns_.end();
    const auto wrong =
        is_count && at + 1 < words.size() ? parse_number<double>(words[at + 1]) : std::nullopt;
    return Measured{*algbw_gb_s, *busbw_gb_s, wrong && *wrong != 0};
  }

  void result(const Tokens& words) {
    const auto size_bytes = *parse_number<std::uint64_t>(words[0]);
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
  std::string_view only_;             // the one program that is named
  std::string_view named_;            // since the last test began
  std::string_view function_;         // of the test
  std::size_t first_ = 0;             // its first result
  std::size_t words_before_ = 0;      // of each line
  std::vector<std::string> columns_;  // of the table
  std::map<std::string, std::uint32_t> ranks_of_group_;
  std::uint64_t wrong_ = 0, unread_ = 0, unnamed_ = 0, uneven_ = 0;
  NcclTests tests_;
};

// What -J writes, and other forms in JSON, which are named when they are refused.
bool is_json(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \r\n"), text.size())).starts_with('{') &&
         (text.find("\"bus_bw\":") != text.npos || text.find("busbw\":") != text.npos ||
          (text.find("\"args\"") != text.npos && text.find("_perf\"") != text.npos));
}

// rccl-tests write this with -x.
bool is_rccl(std::string_view text) {
  const std::string_view row = text.substr(0, text.find('}'));
  return text.starts_with("numCycle,") || text.starts_with("collective,") ||
         (text.find_first_not_of("[ \r\n") == row.find('{') && row.find("\"algBw\":") != row.npos &&
          row.find("\"busBw\":") != row.npos);
}

}  // namespace

bool has_nccl_tests(std::string_view text) {
  return has_line(text, {"nThread ", "minBytes "}) ||
         has_line(text, {" size ", " algbw ", " busbw "}) || is_json(text) || is_rccl(text);
}

NcclTests read_nccl_tests(std::string_view text, std::string_view path) {
  TestReader reader(text, path);
  if (is_json(text)) {
    reader.json(text);
    return reader.finish();
  }
  const bool is_of_rccl = is_rccl(text);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    is_of_rccl ? reader.rccl_line(line) : reader.line(line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return reader.finish();
}

std::optional<std::string> text_of_nccl_tests(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  const bool is_trace = first_bytes(path).find("\"ringside_trace\"") != std::string::npos;
  const std::string text = is_trace ? std::string() : first_bytes(path, kMost + 1);
  return text.size() <= kMost && has_nccl_tests(text) ? std::optional(plain_text(text))
                                                      : std::nullopt;
}

}  // namespace ringside::load
