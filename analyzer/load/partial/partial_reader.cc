// SPDX-License-Identifier: Apache-2.0
//
// Partials of `ringside reduce`. A trace of which a section is damaged is left out as a whole; the
// others are used, as far as the starts of the sections lead to them.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "analyzer/load/partial/partial_machine.h"
#include "analyzer/load/partial/partial_rows.h"
#include "analyzer/load/partial/partial_sections.h"
#include "analyzer/load/reader.h"
#include "analyzer/load/source/descriptor.h"
#include "analyzer/load/trace/operation_line.h"
#include "analyzer/load/trace_loader.h"

namespace ringside::load {
namespace {

// A section, and what was in it once it is read.
struct Section {
  std::uint64_t offset = 0;  // of its start
  SectionStart start;
  std::optional<std::string> damage;

  // The section of a trace has these.
  std::vector<model::TraceFile> files;  // one, or none if there are problems only
  BlockRows rows;
  std::vector<std::string> names;
  model::Problems problems;

  // The section of a block has these.
  model::Operations operations;
  std::deque<model::ProxyOperation> proxies;
  std::deque<model::Step> steps;
  std::map<std::uint32_t, std::uint64_t> operations_of_context;

  model::NameId greatest_name = 0;
};

bool read_exactly(int descriptor, std::uint64_t offset, std::size_t size, std::string& bytes) {
  bytes.resize(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(descriptor, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return false;
    }
    done += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  return true;
}

// Each number once.
template <typename Number, typename Value>
bool read_entries(ByteReader& bytes, std::map<Number, Value>& entries,
                  model::NameId* greatest_name = nullptr) {
  return read_table(bytes, [&](ColumnReader& reader) {
    std::pair<Number, Value> entry;
    reader(entry.first);
    if constexpr (std::is_same_v<Number, std::string>) {
      reader(entry.second);
    } else {
      visit(reader, entry.second);
    }
    if (greatest_name != nullptr) {
      *greatest_name = std::max(*greatest_name, reader.greatest_name());
    }
    reader.check(entries.insert(std::move(entry)).second);
  });
}

bool read_tables(ByteReader& bytes, model::TraceFile& file, Section& section) {
  return read_entries(bytes, file.contexts) && read_entries(bytes, file.windows) &&
         read_entries(bytes, file.marks, &section.greatest_name) &&
         read_table(bytes,
                    [&](ColumnReader& reader) { visit(reader, file.clocks.emplace_back()); }) &&
         read_machines(bytes, file.machines) &&
         read_entries(bytes, file.process.nccl_environment) &&
         read_entries(bytes, file.account.dropped) &&
         read_table(bytes, [&](ColumnReader& reader) { reader(section.names.emplace_back()); });
}

bool read_trace(ByteReader& bytes, Section& section) {
  const bool is_file_whole = read_table(bytes, [&](ColumnReader& reader) {
    reader.check(section.files.empty());
    visit(reader, section.files.emplace_back(), section.rows);
  });
  if (!is_file_whole ||
      (!section.files.empty() && !read_tables(bytes, section.files.front(), section))) {
    return false;
  }
  for (const bool is_line : {true, false}) {
    const bool is_whole = read_table(bytes, [&](ColumnReader& reader) {
      model::Problem problem;
      reader(problem.path, problem.line, problem.reason);
      if (is_line) {
        section.problems.add_line(std::move(problem.path), problem.line, std::move(problem.reason));
      } else {
        section.problems.add_file(std::move(problem.path), std::move(problem.reason));
      }
    });
    if (!is_whole) {
      return false;
    }
  }
  section.problems.count_lines(bytes.number());
  // One of both is there, so that it is known what trace it is.
  return !section.files.empty() || !section.problems.files().empty();
}

bool read_operations(ByteReader& bytes, Section& section) {
  const std::uint64_t rows = bytes.number();
  std::vector<model::Operation> shapes;
  const bool is_dictionary_whole = read_table(bytes, [&](ColumnReader& reader) {
    model::Operation& shape = shapes.emplace_back();
    visit_shape(reader, shape);
    reader.check(shape.func != model::kNoName);
    section.greatest_name = reader.greatest_name();
  });
  model::Operations& operations = section.operations;
  std::vector<std::size_t> doubtful;
  if (!is_dictionary_whole || rows > kBlockRows ||
      !operations.take_packed(shapes, rows, bytes.text(bytes.rest()), doubtful)) {
    return false;
  }
  for (const std::size_t i : doubtful) {
    if (impossible_times(operations[i])) {
      return false;
    }
  }
  const bool has_one_context = std::all_of(
      shapes.begin(), shapes.end(),
      [&](const model::Operation& shape) { return shape.context == shapes.front().context; });
  for (const model::Operation& shape : shapes) {
    section.operations_of_context[shape.context] = has_one_context ? rows : 0;
  }
  for (std::size_t i = 0; i < rows && !has_one_context; ++i) {
    ++section.operations_of_context[operations.context(i)];
  }
  return true;
}

template <typename Row>
bool read_rows(ByteReader& bytes, std::deque<Row>& rows) {
  return read_table(bytes, [&](ColumnReader& reader) { visit(reader, rows.emplace_back()); });
}

bool decode(std::string_view bytes, Section& section) {
  ByteReader reader(bytes);
  const bool is_whole = [&] {
    switch (section.start.kind) {
      case SectionKind::kTrace:
        return read_trace(reader, section);
      case SectionKind::kOperations:
        return read_operations(reader, section);
      case SectionKind::kProxies:
        return read_rows(reader, section.proxies);
      case SectionKind::kSteps:
        return read_rows(reader, section.steps);
      case SectionKind::kEnd:
        return true;
    }
    return false;
  }();
  return is_whole && !reader.failed();
}

class PartialReader final : public Reader {
 public:
  PartialReader(std::string path, const FileStart& start);
  PartialReader(std::string path, std::string partial);

  std::size_t pieces() const override { return sections_.size(); }
  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t read(std::size_t piece, TextBuffer& buffer) override;
  std::vector<std::string> traces() const override;
  void finish(std::size_t trace, model::Traces& traces, model::Problems& problems) override;

 private:
  void find_sections(int descriptor);
  bool read_bytes(int descriptor, std::uint64_t offset, std::size_t size, std::string& bytes) const;
  std::optional<std::string> damage_of(std::size_t begin, std::size_t end) const;

  std::string path_;
  std::string partial_;  // all of it; empty: it is in the file
  std::uint64_t bytes_;
  std::vector<Section> sections_;        // without the last one
  std::vector<std::size_t> begins_;      // of the traces among them
  std::optional<std::string> damage_;    // of the whole
  std::atomic<std::size_t> unread_ = 0;  // sections
};

std::string at_byte(std::uint64_t offset) {
  return "byte " + std::to_string(offset) + ": ";
}

PartialReader::PartialReader(std::string path, const FileStart& start)
    : path_(std::move(path)), bytes_(static_cast<std::uint64_t>(start.status.st_size)) {
  damage_ = check_partial_start(start.bytes);
  if (!damage_) {
    const Descriptor file(path_);
    if (file.number() < 0) {
      damage_ = std::strerror(file.error());
    } else {
      find_sections(file.number());
    }
  }
}

PartialReader::PartialReader(std::string path, std::string partial)
    : path_(std::move(path)), partial_(std::move(partial)), bytes_(partial_.size()) {
  damage_ = check_partial_start(partial_.substr(0, kPartialStart_bytes));
  if (!damage_) {
    find_sections(-1);
  }
  unread_ = sections_.size();
}

bool PartialReader::read_bytes(int descriptor, std::uint64_t offset, std::size_t size,
                               std::string& bytes) const {
  if (partial_.empty()) {
    return read_exactly(descriptor, offset, size, bytes);
  }
  bytes = partial_.substr(std::min<std::size_t>(offset, partial_.size()), size);
  return bytes.size() == size;
}

void PartialReader::find_sections(int descriptor) {
  std::uint64_t offset = kPartialStart_bytes;
  std::string bytes;
  for (;;) {
    if (offset == bytes_) {
      damage_ = at_byte(offset) + "it is cut off here: further traces may be missing";
      return;
    }
    const bool is_there = bytes_ - offset >= kSectionStart_bytes &&
                          read_bytes(descriptor, offset, kSectionStart_bytes, bytes);
    const auto start = is_there ? read_section_start(bytes) : std::nullopt;
    const std::uint64_t rest = is_there ? bytes_ - offset - kSectionStart_bytes : 0;
    if (!start || start->stored_bytes > rest) {
      damage_ = at_byte(offset) +
                (start || !is_there ? "it is cut off in this section"
                                    : "the start of a section is damaged") +
                ": the traces behind it are left out";
      return;
    }
    const std::uint64_t end = offset + kSectionStart_bytes + start->stored_bytes;
    if (start->kind == SectionKind::kEnd) {
      std::string stored;
      const bool is_read = read_bytes(descriptor, offset + kSectionStart_bytes,
                                      static_cast<std::size_t>(start->stored_bytes), stored) &&
                           unpack_section(*start, stored, bytes);
      ByteReader number(bytes);
      if (!is_read || number.number() != begins_.size()) {
        damage_ = at_byte(offset) + "not all traces are there that were written";
      } else if (end != bytes_) {
        damage_ = at_byte(end) + "what follows its end is left out";
      }
      return;
    }
    if (start->kind == SectionKind::kTrace) {
      begins_.push_back(sections_.size());
    } else if (begins_.empty()) {
      damage_ = at_byte(offset) + "a block is of no trace";
      return;
    }
    Section& section = sections_.emplace_back();
    section.offset = offset;
    section.start = *start;
    offset = end;
  }
}

std::uint64_t PartialReader::read(std::size_t piece, TextBuffer& /*buffer*/) {
  Section& section = sections_[piece];
  const std::uint64_t size = section.start.stored_bytes;
  const std::optional<Descriptor> file =
      partial_.empty() ? std::optional<Descriptor>(path_) : std::nullopt;
  std::string stored;
  std::string bytes;
  if ((file && file->number() < 0) ||
      !read_bytes(file ? file->number() : -1, section.offset + kSectionStart_bytes,
                  static_cast<std::size_t>(size), stored)) {
    section.damage = "it cannot be read";
  } else if (!unpack_section(section.start, stored, bytes)) {
    section.damage = "the checksum does not fit";
  } else if (!decode(bytes, section)) {
    section.damage = "it says what no trace can say";
  }
  if (!file && --unread_ == 0) {
    partial_ = {};
  }
  return size + kSectionStart_bytes;
}

std::vector<std::string> PartialReader::traces() const {
  std::vector<std::string> paths;
  for (const std::size_t begin : begins_) {
    const Section& section = sections_[begin];
    paths.push_back(section.damage          ? path_
                    : section.files.empty() ? section.problems.files().front().path
                                            : section.files.front().path);
  }
  if (damage_) {
    paths.push_back(path_);
  }
  return paths;
}

// Returns the damage of a trace, as its sections show it; nothing if they are whole and agree.
std::optional<std::string> PartialReader::damage_of(std::size_t begin, std::size_t end) const {
  for (std::size_t i = begin; i < end; ++i) {
    const Section& section = sections_[i];
    if (section.damage) {
      return at_byte(section.offset) + *section.damage;
    }
  }
  const Section& trace = sections_[begin];
  BlockRows rows;
  for (std::size_t i = begin; i < end; ++i) {
    const Section& section = sections_[i];
    bool is_known = section.greatest_name < std::max<std::size_t>(trace.names.size(), 1);
    for (const auto& [context, operations] : section.operations_of_context) {
      is_known = is_known && !trace.files.empty() && trace.files.front().contexts.contains(context);
    }
    if (!is_known) {
      return at_byte(section.offset) + "it refers to what is not there";
    }
    rows.operations += section.operations.size();
    rows.proxies += section.proxies.size();
    rows.steps += section.steps.size();
  }
  if (rows.operations != trace.rows.operations || rows.proxies != trace.rows.proxies ||
      rows.steps != trace.rows.steps) {
    return at_byte(trace.offset) + "not all blocks of this trace are there";
  }
  return std::nullopt;
}

void PartialReader::finish(std::size_t trace, model::Traces& traces, model::Problems& problems) {
  if (trace == begins_.size()) {
    problems.add_file(path_, *damage_);
    return;
  }
  const std::size_t begin = begins_[trace];
  const std::size_t end = trace + 1 < begins_.size() ? begins_[trace + 1] : sections_.size();
  Section& head = sections_[begin];
  if (const auto damage = damage_of(begin, end)) {
    const bool has_name = !head.damage && !head.files.empty();
    problems.add_file(
        path_, *damage + "; " + (has_name ? head.files.front().path : "a trace") + " is left out");
    return;
  }
  append_problems(head.problems, problems);
  if (head.files.empty()) {
    return;
  }
  model::TraceFile& file = traces.files.emplace_back(std::move(head.files.front()));
  std::vector<model::NameId> names;
  for (const std::string& name : head.names) {
    names.push_back(traces.names.id(name));
  }
  names.resize(std::max<std::size_t>(names.size(), 1));
  for (auto& [number, mark] : file.marks) {
    mark.rename(names);
  }
  for (std::size_t i = begin; i < end; ++i) {
    Section section = std::exchange(sections_[i], Section());
    file.operations.append(std::move(section.operations), names);
    file.proxies.insert(file.proxies.end(), section.proxies.begin(), section.proxies.end());
    file.steps.insert(file.steps.end(), section.steps.begin(), section.steps.end());
    for (const auto& [context, operations] : section.operations_of_context) {
      file.contexts[context].operations += operations;
    }
  }
}

}  // namespace

std::unique_ptr<Reader> make_partial_reader(const std::string& path, const FileStart& start) {
  return start.bytes.starts_with(kPartialMagic) ? std::make_unique<PartialReader>(path, start)
                                                : nullptr;
}

std::unique_ptr<Reader> make_partial_reader(const std::string& path, std::string partial) {
  return std::make_unique<PartialReader>(path, std::move(partial));
}

}  // namespace ringside::load
