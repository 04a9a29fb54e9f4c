// SPDX-License-Identifier: Apache-2.0
//
// Dumps of PyTorch's Flight Recorder, as pickles and as JSON: a file is a process.
#include <cerrno>
#include <cstring>
#include <simdjson.h>
#include <utility>

#include "analyzer/load/descriptor.h"
#include "analyzer/load/flight_recorder.h"
#include "analyzer/load/pickle.h"
#include "analyzer/load/reader.h"

namespace ringside::load {
namespace {

using Kind = PlainValue::Kind;

// simdjson bounds the depth, so the stack suffices.
PlainValue value_of(const simdjson::dom::element& element, PlainTree& tree) {
  simdjson::dom::array array;
  simdjson::dom::object object;
  std::int64_t number = 0;
  bool truth = false;
  PlainValue value;
  if (element.get(array) == simdjson::SUCCESS) {
    value = tree.add_container(Kind::kList);
    for (const simdjson::dom::element item : array) {
      const PlainValue added = value_of(item, tree);
      tree.items_of(value).push_back(added);
    }
  } else if (element.get(object) == simdjson::SUCCESS) {
    value = tree.add_container(Kind::kDict);
    for (const simdjson::dom::key_value_pair field : object) {
      const PlainValue added = value_of(field.value, tree);
      tree.items_of(value).push_back({Kind::kText, 0, 0, field.key});
      tree.items_of(value).push_back(added);
    }
  } else if (element.get(number) == simdjson::SUCCESS) {
    value = {Kind::kInteger, number, 0, {}};
  } else if (element.get(value.text) == simdjson::SUCCESS) {
    value.kind = Kind::kText;
  } else if (element.get(truth) == simdjson::SUCCESS) {
    value = {Kind::kBool, truth ? 1 : 0, 0, {}};
  } else if (element.get(value.real) == simdjson::SUCCESS) {
    value.kind = Kind::kReal;
  } else {
    value.kind = element.is_null() ? Kind::kNone : Kind::kOther;
  }
  return value;
}

class FileReader final : public Reader {
 public:
  FileReader(std::string path, const FileStart& start, const std::string& prefix)
      : path_(std::move(path)),
        size_(static_cast<std::uint64_t>(start.status.st_size)),
        rank_(rank_of_dump(path_, prefix)) {
    if (!rank_) {
      trouble_ = prefix.empty()
                     ? "its name does not end with a rank: name it so, as nccl_trace_rank_7"
                     : "its name is not that of --prefix and a rank";
    }
  }

  std::size_t pieces() const override { return 1; }
  std::uint64_t bytes() const override { return size_; }

  std::uint64_t read(std::size_t /*piece*/, TextBuffer& buffer) override {
    if (!trouble_.empty()) {
      return size_;
    }
    const std::size_t size = static_cast<std::size_t>(size_);
    char* const text = buffer.grow(size, 0);
    const Descriptor file(path_);
    std::size_t have = 0;
    ssize_t got = 1;
    while (file.number() >= 0 && have < size && got > 0) {
      got = ::pread(file.number(), text + have, size - have, static_cast<off_t>(have));
      have += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    trouble_ = file.number() < 0 || got < 0 ? std::string("cannot be read: ") + std::strerror(errno)
                                            : read_dump({text, have}, *rank_, dump_);
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
  std::optional<std::int64_t> rank_;
  std::string trouble_;
  Dump dump_;
};

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

std::string read_dump(std::string_view bytes, std::int64_t rank, Dump& dump) {
  PlainTree tree;
  if (begins_as_pickle(bytes)) {
    const PickleResult pickle = read_pickle(bytes, tree);
    return pickle.error.empty() ? read_dump(tree, pickle.value, rank, dump) : pickle.error;
  }
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto error = parser.parse(bytes.data(), bytes.size()).get(root)) {
    return std::string("no JSON that can be read: ") + simdjson::error_message(error);
  }
  return read_dump(tree, value_of(root, tree), rank, dump);
}

std::unique_ptr<Reader> make_dump_reader(const std::string& path, const FileStart& start,
                                         const std::string& prefix) {
  if (!begins_as_dump(start.bytes)) {
    return nullptr;
  }
  return std::make_unique<FileReader>(path, start, prefix);
}

}  // namespace ringside::load
