// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/text_table.h"

#include <algorithm>

namespace ringside::report {
namespace {

// Width on the terminal: UTF-8 continuation bytes take none.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
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

std::string TextTable::aligned(std::size_t indent) const {
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
      widths[i] = std::max(widths[i], width_of(line[i]));
    }
  }
  std::string text;
  for (const auto& line : lines) {
    std::string padded(indent, ' ');
    for (std::size_t i = 0; i < line.size(); ++i) {
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

}  // namespace ringside::report
