// SPDX-License-Identifier: Apache-2.0
//
// Files that are read as a whole, each of a process: dumps of PyTorch's Flight Recorder, as pickles
// and as JSON, and records of durations.
#include <algorithm>
#include <functional>
#include <simdjson.h>
#include <span>
#include <utility>

#include "analyzer/load/dump/flight_recorder.h"
#include "analyzer/load/durations.h"
#include "analyzer/load/json/json_error.h"
#include "analyzer/load/json/parse_number.h"
#include "analyzer/load/pickle/pickle.h"
#include "analyzer/load/reader.h"
#include "analyzer/load/source/byte_source.h"

namespace ringside::load {
namespace {

using Kind = PlainValue::Kind;

constexpr std::string_view kDigits = "0123456789";

class JsonTree {
 public:
  explicit JsonTree(PlainTree& tree) : tree_(tree) {}

  // simdjson bounds the depth, so the stack suffices.
  PlainValue value_of(const simdjson::dom::element& element) {
    simdjson::dom::array array;
    simdjson::dom::object object;
    std::int64_t number = 0;
    bool truth = false;
    std::string_view text;
    PlainValue value;
    if (element.get(array) == simdjson::SUCCESS) {
      const std::size_t from = items_.size();
      for (const simdjson::dom::element item : array) {
        add(value_of(item));
      }
      return container_of(Kind::kList, from);
    }
    if (element.get(object) == simdjson::SUCCESS) {
      const std::size_t from = items_.size();
      for (const simdjson::dom::key_value_pair field : object) {
        add(PlainValue::of_text(field.key));
        add(value_of(field.value));
      }
      return container_of(Kind::kDict, from);
    }
    if (element.get(number) == simdjson::SUCCESS) {
      value = {Kind::kInteger, 0, number};
    } else if (element.get(text) == simdjson::SUCCESS) {
      value = PlainValue::of_text(text);
    } else if (element.get(truth) == simdjson::SUCCESS) {
      value = {Kind::kBool, 0, truth ? 1 : 0};
    } else {
      value.kind = element.is_null() ? Kind::kNone : Kind::kOther;
    }
    return value;
  }

 private:
  // One more than the tree takes is enough for it to be full.
  void add(const PlainValue& value) {
    if (items_.size() <= tree_.most_items()) {
      items_.push_back(value);
    }
  }

  PlainValue container_of(Kind kind, std::size_t from) {
    const PlainValue made = tree_.add_container(kind);
    tree_.append(made, std::span(items_).subspan(from));
    items_.resize(from);
    return made;
  }

  PlainTree& tree_;
  std::vector<PlainValue> items_;  // of the containers that are being read
};

// All of a file. A compressed one may be far larger than itself.
std::string read_text(const std::string& path, std::uint64_t file_size, TextBuffer& buffer,
                      std::string_view& text) {
  constexpr std::size_t kMostInflated = std::size_t{1} << 30;
  ByteSource source;
  if (const auto error = source.open(path)) {
    return "cannot be read: " + *error;
  }
  std::size_t room = static_cast<std::size_t>(file_size) + 1;
  char* bytes = buffer.grow(room, 0);
  std::size_t size = 0;
  for (std::size_t got = 1; got > 0; size += got) {
    if (size == room && room > std::max<std::size_t>(file_size + 1, kMostInflated)) {
      return "its text is larger than 1 GiB: no dump is";
    }
    if (size == room) {
      room *= 2;
      bytes = buffer.grow(room, size);
    }
    got = source.read(bytes + size, room - size);
  }
  text = {bytes, size};
  return source.error() ? "cannot be read: " + *source.error() : std::string();
}

// Returns why the text cannot be read; empty if it can.
using ReadText = std::function<std::string(std::string_view text, Dump& dump)>;

class FileReader final : public Reader {
 public:
  /// `trouble`: why the file cannot be read; empty if that is to be found out.
  FileReader(std::string path, const FileStart& start, ReadText read_it, std::string trouble)
      : path_(std::move(path)),
        size_(static_cast<std::uint64_t>(start.status.st_size)),
        read_it_(std::move(read_it)),
        trouble_(std::move(trouble)) {}

  std::size_t pieces() const override { return 1; }
  std::uint64_t bytes() const override { return size_; }
  bool is_joined_with_traces() const override { return true; }
  void leave_out_tensors() override { dump_.has_tensors = false; }

  std::uint64_t read(std::size_t /*piece*/, TextBuffer& buffer) override {
    if (!trouble_.empty()) {
      return size_;
    }
    std::string_view text;
    trouble_ = read_text(path_, size_, buffer, text);
    if (trouble_.empty()) {
      trouble_ = read_it_(text, dump_);
    }
    return size_;
  }

  std::vector<std::string> traces() const override { return {path_}; }

  void finish(std::size_t /*trace*/, model::Traces& traces, model::Problems& problems) override {
    if (!trouble_.empty()) {
      problems.add_file(path_, trouble_);
      return;
    }
    for (const model::Problem& problem : dump_.problems.lines()) {
      problems.add_line(path_, problem.line, problem.reason);
    }
    problems.count_lines(dump_.problems.bad_lines() - dump_.problems.lines().size());
    std::vector<model::NameId> ids;
    for (model::NameId id = 0; id < dump_.names.size(); ++id) {
      ids.push_back(traces.names.id(dump_.names.text(id)));
    }
    model::TraceFile& file = dump_.file;
    model::Operations operations;
    operations.append(std::move(file.operations), ids);
    file.operations = std::move(operations);
    file.path = path_;
    file.size_bytes = size_;
    traces.files.push_back(std::move(file));
  }

 private:
  std::string path_;
  std::uint64_t size_;
  ReadText read_it_;
  std::string trouble_;
  Dump dump_;
};

// The number behind the minus sign of "fr_rank_-1" is no rank; "fr-1" has none.
bool ends_with_minus(std::string_view before_digits) {
  return before_digits.ends_with('-') &&
         (before_digits.size() == 1 ||
          std::string_view("_-.").find(before_digits.end()[-2]) != std::string_view::npos);
}

std::string start_of_text(const std::string& path, const FileStart& start) {
  return start.bytes.starts_with("\x1f\x8b") ? first_bytes(path) : start.bytes;
}

}  // namespace

bool begins_as_dump(std::string_view bytes) {
  if (begins_as_pickle(bytes)) {
    return true;
  }
  if (!bytes.starts_with('{')) {
    return false;
  }
  const std::size_t key = bytes.find_first_not_of(" \t\r\n", 1);
  const std::string_view rest = bytes.substr(std::min(key, bytes.size()));
  for (const std::string_view known :
       {"\"version\"", "\"entries\"", "\"pg_config\"", "\"pg_status\"", "\"comm_lib_version\"",
        "\"nccl_version\"", "\"nccl_comm_state\""}) {
    if (rest.starts_with(known)) {
      return true;
    }
  }
  return false;
}

std::optional<std::int64_t> rank_of_dump(std::string_view path, std::string_view prefix) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view ending : {".gz", ".json", ".pickle", ".pkl"}) {
    if (name.ends_with(ending)) {
      name.remove_suffix(ending.size());
    }
  }
  const std::size_t digits = prefix.empty() ? name.find_last_not_of(kDigits) + 1 : prefix.size();
  if (!name.starts_with(prefix) || (prefix.empty() && ends_with_minus(name.substr(0, digits)))) {
    return std::nullopt;
  }
  const auto rank = parse_number<std::int64_t>(name.substr(digits));
  return rank && *rank >= 0 ? rank : std::nullopt;
}

std::string read_dump(std::string_view bytes, std::int64_t rank, Dump& dump,
                      std::uint32_t replica_ranks) {
  thread_local PlainTree tree(0);
  tree.clear(bytes.size());
  if (begins_as_pickle(bytes)) {
    const PickleResult pickle = read_pickle(bytes, tree);
    return pickle.error.empty() ? read_dump(tree, pickle.value, rank, dump, replica_ranks)
                                : pickle.error;
  }
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto error = parser.parse(bytes.data(), bytes.size()).get(root)) {
    return std::string("no JSON that can be read: ") + json_error_text(error);
  }
  return read_dump(tree, JsonTree(tree).value_of(root), rank, dump, replica_ranks);
}

std::unique_ptr<Reader> make_dump_reader(const std::string& path, const FileStart& start,
                                         const DumpChoice& dumps) {
  if (!begins_as_dump(start_of_text(path, start))) {
    return nullptr;
  }
  const auto rank = rank_of_dump(path, dumps.prefix);
  std::string trouble = rank ? ""
                        : dumps.prefix.empty()
                            ? "its name does not end with a rank: name it so, as "
                              "nccl_trace_rank_7"
                            : "its name is not that of --prefix and a rank";
  return std::make_unique<FileReader>(
      path, start,
      [rank, replica_ranks = dumps.replica_ranks](std::string_view text, Dump& dump) {
        return read_dump(text, *rank, dump, replica_ranks);
      },
      std::move(trouble));
}

std::unique_ptr<Reader> make_durations_reader(const std::string& path, const FileStart& start) {
  if (!begins_as_durations(start_of_text(path, start))) {
    return nullptr;
  }
  return std::make_unique<FileReader>(path, start, read_durations, "");
}

}  // namespace ringside::load
