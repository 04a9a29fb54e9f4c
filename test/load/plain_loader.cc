// SPDX-License-Identifier: Apache-2.0
#include "test/load/plain_loader.h"

#include <array>
#include <zlib.h>

#include "test/load/drawn_line.h"
#include "test/load/plain_json.h"
#include "test/load/plain_lines.h"
#include "test/load/plain_metadata.h"
#include "test/load/plain_segments.h"

namespace ringside::plain {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // of a line

// zlib reads plain files as they are.
bool read_file(const std::string& path, std::string& text) {
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    return false;
  }
  std::array<char, 65536> some{};
  int got = 0;
  while ((got = gzread(file, some.data(), some.size())) > 0) {
    text.append(some.data(), static_cast<std::size_t>(got));
  }
  return gzclose(file) == Z_OK && got == 0;
}

// Without the comma behind it and, of the first line, the bracket before it.
std::string_view event_text(std::string_view line, bool is_first) {
  line = trimmed(line);
  if (is_first && line.starts_with('[')) {
    line = trimmed(line.substr(1));
  }
  if (line.ends_with(',')) {
    line.remove_suffix(1);
  }
  return line;
}

// Only lines of these phases matter. If a line of another phase is damaged, in its args too,
// nothing is lost by ignoring it, so a reader need not see the damage. The same holds if the text
// leaves the phase open.
bool may_be_needed(std::string_view line) {
  constexpr std::string_view kPhase = "\"ph\":\"";
  bool has_phase = false;
  for (std::size_t at = line.find(kPhase); at != std::string_view::npos;
       at = line.find(kPhase, at + 1)) {
    const std::string_view value = line.substr(at + kPhase.size(), 2);
    if (value != "M\"" && value != "b\"" && value != "e\"") {
      return false;
    }
    has_phase = true;
  }
  return has_phase;
}

class FileLoader {
 public:
  FileLoader(model::TraceFile& file, model::NameTable& names, const MayUse& may_use)
      : file_(file), reader_(names, file), may_use_(may_use) {}

  /// False if the line is bad.
  bool read(std::string_view line) {
    if (line.size() <= kMostBytes && (is_drawn_only(line) || trimmed(line) == "]")) {
      return true;
    }
    const auto event = usable_event(line, false);
    if (!event && !may_be_needed(line) && may_use_ && may_use_(line, false)) {
      return true;
    }
    const bool is_good = event && reader_.read(*event);
    if (!is_good) {
      reader_.lose_row();
    }
    return is_good && !reader_.has_repeated();
  }

  /// False if the file is no trace.
  bool read_first(std::string_view line) {
    const auto event = usable_event(line, true);
    return event && event->phase == "M" && event->name == "ringside_trace" && event->arguments &&
           read_process(*event->arguments, file_.process);
  }

 private:
  std::optional<Event> usable_event(std::string_view line, bool is_first) {
    if (line.size() > kMostBytes) {
      return std::nullopt;
    }
    const std::string_view text = event_text(line, is_first);
    auto event = event_of(text);
    if (event && !is_json_object(trimmed(text)) && !(may_use_ && may_use_(line, is_first))) {
      event.reset();
    }
    return event;
  }

  model::TraceFile& file_;
  LineReader reader_;
  const MayUse& may_use_;
};

void load_file(const std::string& path, const MayUse& may_use, Loaded& loaded) {
  std::string text;
  if (!read_file(path, text)) {
    loaded.problems.add_file(path, "cannot be read to its end");
  }
  model::TraceFile file;
  file.path = path;
  file.size_bytes = text.size();
  FileLoader loader(file, loaded.traces.names, may_use);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t newline = text.find('\n', begin);
    const bool has_newline = newline != std::string::npos;
    const std::size_t end = has_newline ? newline : text.size();
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++file.lines;
    if (!has_newline && trimmed(line) != "]") {
      file.torn = true;
    }
    if (file.lines == 1) {
      if (file.torn || !loader.read_first(line)) {
        loaded.problems.add_file(path, "not a trace");
        return;
      }
    } else if (!file.torn && !loader.read(line)) {
      ++file.bad_lines;
      loaded.problems.add_line(path, file.lines, "bad");
    }
  }
  if (file.lines == 0) {
    loaded.problems.add_file(path, "empty");
    return;
  }
  loaded.traces.files.push_back(std::move(file));
}

}  // namespace

Loaded load_plainly(const std::vector<std::string>& paths, const MayUse& may_use) {
  Loaded loaded;
  for (const std::string& path : paths) {
    load_file(path, may_use, loaded);
  }
  join_segments(loaded.traces.files);
  return loaded;
}

}  // namespace ringside::plain
