// SPDX-License-Identifier: Apache-2.0
//
// Written from NCCL 2.29.7's src/ras/client_support.cc, which 2.28.9 and 2.30.7 agree with.
// Recordings: test/data/ras. Reports of diagnostics are read as the documentation and the source of
// NCCL 2.31 and 2.32 describe them (troubleshooting/ras.rst); there is no recording of one.
#include "analyzer/load/imports/ras.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <simdjson.h>
#include <system_error>

#include "analyzer/load/json/dom_value.h"
#include "analyzer/load/json/json_error.h"
#include "analyzer/load/source/byte_source.h"
#include "analyzer/load/source/plain_text.h"
#include "analyzer/model/numbers_in.h"

namespace ringside::load {
namespace {

using simdjson::dom::array;
using simdjson::dom::object;

constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr std::string_view kTextBegin = "NCCL version ";
constexpr std::string_view kDiagnostics = " NCCL DIAG ";
constexpr std::int64_t kInProgress = 7;  // ncclInProgress: of a communicator that does not block

bool is_true(const object& from, std::string_view key) {
  bool value = false;
  return from[key].get(value) == simdjson::SUCCESS && value;
}

bool read_rank(const object& from, model::RasRank& rank) {
  const auto number = integer_at(from, "rank");
  if (!number || !std::in_range<std::uint32_t>(*number)) {
    return false;
  }
  rank.rank = static_cast<std::uint32_t>(*number);
  rank.host = text_at(from, "host");
  rank.pid = integer_at(from, "pid").value_or(-1);
  object part;
  if (from["status"].get(part) == simdjson::SUCCESS) {
    rank.init_error = integer_at(part, "init_state").value_or(0);
    rank.async_error = integer_at(part, "async_error").value_or(0);
    for (std::int64_t* const result : {&rank.init_error, &rank.async_error}) {
      rank.is_in_progress = rank.is_in_progress || *result == kInProgress;
      *result = *result == kInProgress ? 0 : *result;
    }
    rank.is_aborted = is_true(part, "abort_flag");
    rank.is_unresponsive = is_true(part, "unresponsive");
    rank.is_dead = is_true(part, "considered_dead");
  }
  if (from["collective_counts"].get(part) == simdjson::SUCCESS) {
    for (const simdjson::dom::key_value_pair count : part) {
      if (const auto launched = integer_of(count.value); launched && *launched >= 0) {
        rank.launched[std::string(count.key)] = static_cast<std::uint64_t>(*launched);
      }
    }
  }
  return true;
}

bool read_ranks(const object& communicator, std::string_view key,
                std::vector<model::RasRank>& ranks) {
  array list;
  if (communicator[key].get(list) != simdjson::SUCCESS) {
    return false;
  }
  for (const simdjson::dom::element element : list) {
    object rank;
    if (element.get(rank) != simdjson::SUCCESS || !read_rank(rank, ranks.emplace_back())) {
      return false;
    }
  }
  return true;
}

// Each rank of a communicator is there once, with all counts. Returns what is wrong with one.
std::string trouble_with_ranks(const model::RasCommunicator& communicator) {
  std::set<std::uint32_t> seen;
  for (const auto* const ranks : {&communicator.ranks, &communicator.absent}) {
    for (const model::RasRank& rank : *ranks) {
      const std::string name = "rank " + std::to_string(rank.rank);
      if (!seen.insert(rank.rank).second) {
        return name + " is there twice";
      }
      if (communicator.nranks > 0 && rank.rank >= communicator.nranks) {
        return name + " is none of its " + std::to_string(communicator.nranks);
      }
      if (ranks == &communicator.ranks &&
          !std::equal(rank.launched.begin(), rank.launched.end(), ranks->front().launched.begin(),
                      ranks->front().launched.end(),
                      [](const auto& a, const auto& b) { return a.first == b.first; })) {
        return name + " does not have the same counts as rank " +
               std::to_string(ranks->front().rank);
      }
    }
  }
  return {};
}

std::string read_json(std::string_view text, model::Ras& ras) {
  simdjson::dom::parser parser;
  object top;
  array communicators;
  if (const auto error = parser.parse(text.data(), text.size()).get(top)) {
    return std::string("no JSON that can be read: ") + json_error_text(error);
  }
  if (top["communicators"].get(communicators) != simdjson::SUCCESS) {
    return "no answer of RAS: it has no list of communicators";
  }
  ras.nccl_version = text_at(top, "nccl_version");
  ras.time = text_at(top, "timestamp");
  object service;
  if (top["ras"].get(service) == simdjson::SUCCESS) {
    ras.timeouts = static_cast<std::uint64_t>(
        std::max<std::int64_t>(integer_at(service, "timeouts_count").value_or(0), 0));
  }
  for (const simdjson::dom::element element : communicators) {
    object from;
    model::RasCommunicator& communicator = ras.communicators.emplace_back();
    if (element.get(from) != simdjson::SUCCESS || !read_ranks(from, "ranks", communicator.ranks) ||
        !read_ranks(from, "missing_ranks", communicator.absent)) {
      return "no answer of RAS: a communicator without its ranks";
    }
    communicator.hash = text_at(from, "hash");
    const auto size = integer_at(from, "size");
    communicator.nranks =
        size && std::in_range<std::uint32_t>(*size) ? static_cast<std::uint32_t>(*size) : 0;
    if (const std::string trouble = trouble_with_ranks(communicator); !trouble.empty()) {
      return "no whole answer of RAS: of communicator " + communicator.hash + ", " + trouble;
    }
  }
  const std::int64_t listed = std::ssize(ras.communicators);
  ras.not_listed = static_cast<std::uint64_t>(
      std::max(integer_at(top, "communicators_count").value_or(listed), listed) - listed);
  return {};
}

// Its own lines below the headings: "#0-0 (fa93) MISMATCH", "INCOMPLETE", and what is indented.
bool is_of_report(std::string_view line) {
  const std::string_view word = line.substr(0, line.find(' '));
  return line.starts_with("  ") || line.starts_with('#') ||
         (word.size() > 1 && word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == word.npos);
}

// Its tables are for people; what is wrong is below two headings, and others' lines may follow.
std::string read_text(std::string_view text, model::Ras& ras) {
  ras.is_text = true;
  bool is_wanted = false;
  bool has_headings = false;
  std::vector<std::string> aborted;
  bool has_trouble = false;  // as the table of communicators has it, whose last column is "OK" else
  std::string_view version = text.substr(kTextBegin.size());
  ras.nccl_version = version.substr(0, version.find_first_of(" \n"));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line == "Errors" || line == "Warnings") {
      is_wanted = true;
      has_headings = true;
    } else if (is_wanted && line.find_first_not_of(" =") != line.npos) {
      is_wanted = is_of_report(line);
      if (is_wanted) {
        ras.lines.emplace_back(line);
      }
    }
    has_trouble = has_trouble || line.ends_with(" MISMATCH") || line.ends_with(" INCOMPLETE");
    const std::string_view row = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    if (!has_headings && row.find(" ABORT ") != row.npos && row.front() >= '0' &&
        row.front() <= '9') {
      aborted.push_back("the communicators of group " + std::string(row.substr(0, row.find(' '))) +
                        " are aborted (ABORT in its table)");
    }
  }
  ras.lines.insert(ras.lines.begin(), aborted.begin(), aborted.end());
  if (has_trouble && ras.lines.empty()) {
    return "no whole answer of RAS: it ends before it describes what its table shows";
  }
  return has_headings ? "" : "no whole answer of RAS: it ends before it says what is wrong";
}

// "HOST:PID NCCL DIAG [INFO] ECC: ... on rank(s) {1,3} ... in comm 0x1234", or "p2p: ... srcRank=0
// dstRank=1". Other lines of a process's output may stand between these.
model::RasDiagnostic read_diagnostic(std::string_view text) {
  constexpr std::string_view kComm = "comm 0x";
  model::RasDiagnostic diagnostic;
  const std::size_t colon = std::min(text.find(": "), text.size());
  diagnostic.check = text.substr(0, colon);
  diagnostic.text = text.substr(std::min(colon + 2, text.size()));
  if (const std::size_t at = text.find(kComm); at < text.size()) {
    const std::string_view hash = text.substr(at + kComm.size());
    diagnostic.hash =
        "0x" + std::string(hash.substr(0, hash.find_first_not_of("0123456789abcdef")));
  }
  for (const std::string_view begin : {"rank(s) ", "srcRank=", "dstRank="}) {
    const std::size_t at = text.find(begin);
    const std::string_view ranks = at == text.npos ? "" : text.substr(at + begin.size());
    const auto found = model::numbers_in(ranks.substr(0, ranks.find_first_of("} ")));
    diagnostic.ranks.insert(diagnostic.ranks.end(), found.begin(), found.end());
  }
  return diagnostic;
}

std::string read_diagnostics(std::string_view text, model::Ras& ras) {
  ras.is_diagnostics = true;
  bool is_whole = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t tag = line.find(kDiagnostics);
    if (tag == std::string_view::npos) {
      continue;
    }
    line.remove_prefix(tag + kDiagnostics.size());
    if (line.starts_with("[OK]")) {
      ++ras.checks_passed;
    } else if (line.starts_with('[')) {  // [INFO], and what later releases may say
      line.remove_prefix(line.starts_with("[INFO]") ? line.find(']') + 1 : 0);
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      ras.diagnostics.push_back(read_diagnostic(line));
    }
    is_whole = is_whole || line.starts_with("RAS diagnostics completed") ||
               line.starts_with("NCCL diagnostics completed");  // of NCCL_RUN_DIAGNOSTICS=1
  }
  return is_whole ? "" : "no whole report of diagnostics: its last line is not there";
}

// The answer from its first line on; empty if there is none. Lines of others may be before it, as
// kubectl's, but its own text begins as lines of NCCL_DEBUG=VERSION do.
std::string_view from_begin(std::string_view text) {
  constexpr std::string_view kJsonBegin = "\"nccl_version\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const bool is_text = rest.starts_with(kTextBegin) &&
                         (at == 0 || rest.substr(0, end).find(" compiled with CUDA ") != rest.npos);
    const std::size_t key = std::min(rest.find_first_not_of(" \n", 1), rest.size());
    const bool is_json = rest.starts_with('{') && rest.substr(key).starts_with(kJsonBegin) &&
                         rest.find("\"cuda_runtime_version\"") != rest.npos;
    if (is_text || is_json) {
      return rest;
    }
    at += end + 1;
  }
  return {};
}

}  // namespace

bool begins_as_ras(std::string_view bytes) {
  return bytes.substr(0, bytes.find('\n')).find(kDiagnostics) != bytes.npos ||
         !from_begin(plain_text(bytes)).empty();
}

std::string read_ras(std::string_view text, model::Ras& ras) {
  const std::string plain = plain_text(text);
  const std::string_view begin = from_begin(plain);
  if (begin.starts_with(kTextBegin)) {
    return read_text(begin, ras);
  }
  if (!begin.empty() || plain.starts_with('{')) {
    return read_json(begin.empty() ? std::string_view(plain) : begin, ras);
  }
  return plain.find(kDiagnostics) != plain.npos ? read_diagnostics(plain, ras)
         : plain.starts_with("BUSY")            ? "RAS was busy with other diagnostics: ask again"
                                                : "no answer of RAS, neither its text nor its JSON";
}

std::string load_ras(const std::string& path, model::Ras& ras) {
  ByteSource source;
  if (const auto error = source.open(path)) {
    return "cannot be read: " + *error;
  }
  const std::string text = source.text(kMostBytes + 1);
  return source.error()             ? "cannot be read: " + *source.error()
         : text.size() > kMostBytes ? "larger than 256 MiB: no answer of RAS is"
                                    : read_ras(text, ras);
}

std::vector<std::string> find_ras(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    std::error_code error;
    fs::directory_iterator entry(path, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      std::error_code ignored;
      if (entry->is_regular_file(ignored) && begins_as_ras(first_bytes(entry->path().string()))) {
        found.push_back(entry->path().string());
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace ringside::load
