// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/document/text_table.h"

#include <algorithm>
#include <charconv>
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
// Columns that give way do so before a text of this length is cut: a name of an operation is one.
constexpr std::size_t kWholeText = 26;

// A column that is shown: its place in the table, and its width.
struct ShownColumn {
  std::size_t at;
  std::size_t width;
};

// The width of all columns together, if texts are cut to this length.
std::size_t least_width(const std::vector<Column>& columns, const std::vector<ShownColumn>& shown,
                        std::size_t least_text) {
  std::size_t least = 2 * (shown.size() - 1);
  for (const ShownColumn& one : shown) {
    least += columns[one.at].is_number ? one.width : std::min(one.width, least_text);
  }
  return least;
}

// The widest texts give way first, so that the others stay whole; none does if that would not be
// enough.
void fit(const std::vector<Column>& columns, std::size_t most, std::vector<ShownColumn>& shown) {
  std::size_t all = 2 * (shown.size() - 1);
  for (const ShownColumn& one : shown) {
    all += one.width;
  }
  if (least_width(columns, shown, kLeastText) > most) {
    return;
  }
  for (; all > most; --all) {
    ShownColumn* widest = nullptr;
    for (ShownColumn& one : shown) {
      if (!columns[one.at].is_number && one.width > kLeastText &&
          (widest == nullptr || one.width > widest->width)) {
        widest = &one;
      }
    }
    --widest->width;
  }
}

// The column to take away next. `is_last_resort`: also one that gives way to all others.
std::vector<ShownColumn>::iterator least_column(const std::vector<Column>& columns,
                                                bool is_last_resort,
                                                std::vector<ShownColumn>& shown) {
  constexpr std::size_t kKept = 3;
  auto first = shown.end();
  for (auto one = shown.begin(); one != shown.end(); ++one) {
    const std::size_t turn = columns[one->at].gives_way;
    if ((turn != kGivesWayLast || (is_last_resort && one->at >= kKept)) &&
        (first == shown.end() || turn <= columns[first->at].gives_way)) {
      first = one;
    }
  }
  return first;
}

// Takes columns away until the others fit, and gives their places, in order.
std::vector<std::size_t> leave_out(const std::vector<Column>& columns, std::size_t most,
                                   std::vector<ShownColumn>& shown) {
  std::vector<std::size_t> left_out;
  for (const bool is_last_resort : {false, true}) {
    while (least_width(columns, shown, is_last_resort ? kLeastText : kWholeText) > most) {
      const auto least = least_column(columns, is_last_resort, shown);
      if (least == shown.end()) {
        break;
      }
      left_out.push_back(least->at);
      shown.erase(least);
    }
  }
  std::sort(left_out.begin(), left_out.end());
  return left_out;
}

bool looks_like_formula(std::string_view field) {
  double number = 0;
  const char* const end = field.data() + field.size();
  return !field.empty() && std::string_view("=+-@\t\r").find(field.front()) != field.npos &&
         std::from_chars(field.data(), end, number).ptr != end;
}

}  // namespace

// UTF-8 continuation bytes take no column.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

void append_csv(std::string& line, std::string_view field) {
  const char* const mark = looks_like_formula(field) ? "'" : "";
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    line.append(mark).append(field);
    return;
  }
  line.append(1, '"').append(mark);
  for (const char c : field) {
    line.append(c == '"' ? 2 : 1, c);
  }
  line += '"';
}

// Not every reader of Markdown knows a backslash before these two.
std::string markdown_text(std::string_view foreign) {
  std::string text;
  for (const char c : model::printable(foreign)) {
    if (c == '<' || c == '&') {
      text += c == '<' ? "&lt;" : "&amp;";
      continue;
    }
    if (std::string_view("*_`[\\#|").find(c) != std::string_view::npos) {
      text += '\\';
    }
    text += c;
  }
  return text;
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
  std::vector<ShownColumn> shown;
  for (const Column& column : columns_) {
    const std::size_t width = std::max(width_of(column.title), width_of(column.unit));
    shown.push_back({shown.size(), width});
    titles.push_back(column.title);
    units.push_back(column.unit);
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t width = width_of(row[i]);
      shown[i].width =
          std::max(shown[i].width, columns_[i].is_number ? width : std::min(width, kMostText));
    }
  }
  if (most_columns > indent && !shown.empty()) {
    if (left_out != nullptr) {
      for (const std::size_t at : leave_out(columns_, most_columns - indent, shown)) {
        left_out->push_back(columns_[at].unit.empty()
                                ? columns_[at].title
                                : columns_[at].title + ' ' + columns_[at].unit);
      }
    }
    fit(columns_, most_columns - indent, shown);
  }
  std::vector<std::vector<std::string>> lines = {std::move(titles)};
  if (std::any_of(shown.begin(), shown.end(),
                  [&](const ShownColumn& one) { return !columns_[one.at].unit.empty(); })) {
    lines.push_back(std::move(units));
  }
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::string text;
  for (const auto& line : lines) {
    std::string padded(indent, ' ');
    for (const ShownColumn& one : shown) {
      const std::string cell = without_middle(line[one.at], one.width);
      const std::string gap(one.width - width_of(cell), ' ');
      padded += columns_[one.at].is_number ? gap + cell : cell + gap;
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
    text += ' ' + markdown_text(column.title) +
            (column.unit.empty() ? "" : " (" + column.unit + ')') + " |";
  }
  text += "\n|";
  for (const Column& column : columns_) {
    text += column.is_number ? "---:|" : "---|";
  }
  text += '\n';
  for (const auto& row : rows_) {
    text += '|';
    for (const std::string& cell : row) {
      text += ' ' + markdown_text(cell) + " |";
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
