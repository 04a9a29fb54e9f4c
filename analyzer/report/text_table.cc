// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/text_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analyzer/model/printable.h"

namespace ringside::report {
namespace {

// No text of a table is wider, however long a name in a trace is.
constexpr std::size_t kMostText = 200;

// Counts characters, as the terminal does.
std::string without_middle(const std::string& text, std::size_t width) {
  const std::size_t has = width_of(text);
  if (has <= width) {
    return text;
  }
  constexpr std::string_view kGap = "..";  // every terminal has these
  const std::size_t kept = width - kGap.size();
  const std::size_t left = (kept + 1) / 2;
  std::string result;
  std::size_t at = 0;  // of the character that begins next
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
      ++end;
    }
    if (at < left || at >= has - (kept - left)) {
      result.append(text, i, end - i);
    } else if (at == left) {
      result += kGap;
    }
    ++at;
    i = end;
  }
  return result;
}

constexpr std::size_t kLeastText = 14;

// The width of all columns together, if texts give way as far as they may.
std::size_t least_width(const std::vector<Column>& columns,
                        const std::vector<std::size_t>& widths) {
  std::size_t least = 2 * (widths.size() - 1);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    least += columns[i].is_number ? widths[i] : std::min(widths[i], kLeastText);
  }
  return least;
}

// The widest texts give way first, so that the others stay whole; none does if that would not be
// enough.
void fit(const std::vector<Column>& columns, std::size_t most, std::vector<std::size_t>& widths) {
  std::size_t all = std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
  if (least_width(columns, widths) > most) {
    return;
  }
  while (all > most) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (!columns[i].is_number && widths[i] > kLeastText &&
          (widest == widths.size() || widths[i] > widths[widest])) {
        widest = i;
      }
    }
    --widths[widest];
    --all;
  }
}

std::string escaped_for_markdown(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '\\') {
      result += '\\';
    }
    result += c;
  }
  return result;
}

}  // namespace

// UTF-8 continuation bytes take no column.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

void append_csv(std::string& line, std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    line += field;
    return;
  }
  line += '"';
  for (const char c : field) {
    line.append(c == '"' ? 2 : 1, c);
  }
  line += '"';
}

void TextTable::add_row(std::vector<std::string> cells) {
  for (std::string& cell : cells) {
    cell = model::printable(cell);
  }
  rows_.push_back(std::move(cells));
}

std::string TextTable::aligned(std::size_t indent, std::size_t most_columns,
                               std::vector<std::string>* left_out) const {
  std::vector<std::string> titles;
  std::vector<std::string> units;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    units.push_back(column.unit);
  }
  const bool has_units =
      std::any_of(units.begin(), units.end(), [](const auto& unit) { return !unit.empty(); });
  std::vector<std::vector<std::string>> lines = {std::move(titles)};
  if (has_units) {
    lines.push_back(std::move(units));
  }
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::size_t width = width_of(line[i]);
      widths[i] = std::max(widths[i], columns_[i].is_number ? width : std::min(width, kMostText));
    }
  }
  if (most_columns > indent && !widths.empty()) {
    constexpr std::size_t kKept = 3;
    while (left_out != nullptr && widths.size() > kKept &&
           least_width(columns_, widths) > most_columns - indent) {
      left_out->insert(left_out->begin(), columns_[widths.size() - 1].title);
      widths.pop_back();
    }
    fit(columns_, most_columns - indent, widths);
  }
  std::string text;
  for (auto& line : lines) {
    std::string padded(indent, ' ');
    for (std::size_t i = 0; i < widths.size(); ++i) {
      line[i] = without_middle(line[i], widths[i]);
      const std::string gap(widths[i] - width_of(line[i]), ' ');
      padded += columns_[i].is_number ? gap + line[i] : line[i] + gap;
      padded += "  ";
    }
    padded.erase(padded.find_last_not_of(' ') + 1);
    text += padded + '\n';
  }
  return text;
}

std::string TextTable::markdown() const {
  std::string text = "|";
  for (const Column& column : columns_) {
    text += ' ' + column.title + (column.unit.empty() ? "" : " (" + column.unit + ')') + " |";
  }
  text += "\n|";
  for (const Column& column : columns_) {
    text += column.is_number ? "---:|" : "---|";
  }
  text += '\n';
  for (const auto& row : rows_) {
    text += '|';
    for (const std::string& cell : row) {
      text += ' ' + escaped_for_markdown(cell) + " |";
    }
    text += '\n';
  }
  return text;
}

std::string wrapped(const std::string& foreign, std::size_t most_columns) {
  const std::string line = model::printable(foreign);
  const std::size_t indent = line.find_first_not_of(' ');
  if (most_columns == 0 || indent == std::string::npos || width_of(line) <= most_columns) {
    return line + '\n';
  }
  const std::string next_line = '\n' + std::string(indent + 2, ' ');
  std::string text = line.substr(0, indent);
  std::size_t used = indent;
  for (std::size_t at = indent; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string word = line.substr(at, end - at);
    if (used + 1 + width_of(word) > most_columns && at != indent) {
      text += next_line;
      used = indent + 2;
    } else if (at != indent) {
      text += ' ';
      ++used;
    }
    text += word;
    used += width_of(word);
    at = end + 1;
  }
  return text + '\n';
}

}  // namespace ringside::report
