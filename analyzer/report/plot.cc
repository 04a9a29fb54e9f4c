// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/plot.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/report/document/numbers.h"

namespace ringside::report {
namespace {

constexpr std::size_t kSizeWidth = 12;  // "1023.9 KiB"
constexpr std::size_t kHowWidth = 11;   // "RING SIMPLE"

std::string bar(double share, std::size_t columns, bool is_utf8) {
  // Eighths of a column; what is there at all is seen.
  const auto eighths = static_cast<std::size_t>(
      std::max(1.0, share * static_cast<double>(columns) * 8 + (is_utf8 ? 0.5 : 4.0)));
  std::string text;
  if (!is_utf8) {
    return text.append(std::clamp<std::size_t>(eighths / 8, 1, columns), '#');
  }
  constexpr std::array<std::string_view, 8> kParts = {"",       "\u258f", "\u258e", "\u258d",
                                                      "\u258c", "\u258b", "\u258a", "\u2589"};
  for (std::size_t i = 0; i < eighths / 8; ++i) {
    text += "\u2588";
  }
  return text.append(kParts[eighths % 8]);
}

std::string padded(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

// Control characters, and what a terminal may show in any width, never reach it.
std::string shortened(const std::string& text, std::size_t width) {
  std::string result;
  for (const char c : text.substr(0, width)) {
    result += c >= ' ' && c < '\x7F' ? c : '?';
  }
  return result;
}

std::optional<double> best_busbw(const metrics::Row& row) {
  return row.busbw_gb_s ? std::optional(row.busbw_gb_s->best) : std::nullopt;
}

double most_busbw(const Summary& summary) {
  double most_gb_s = 0;
  for (const metrics::CommunicatorRows& communicator : summary.rows) {
    for (const metrics::Row& row : communicator.rows) {
      most_gb_s = std::max(most_gb_s, best_busbw(row).value_or(0));
    }
  }
  return most_gb_s;
}

std::optional<double> best_percent(const metrics::Row& row) {
  const auto percent = row.efficiency_percent();
  return percent ? std::optional(percent->best) : std::nullopt;
}

std::string value_text(const metrics::Row& row) {
  const double busbw_gb_s = *best_busbw(row);
  const auto percent = best_percent(row);
  return (busbw_gb_s > 0 && busbw_gb_s < 0.005 ? "<0.01" : fixed(busbw_gb_s, 2)) +
         (row.busbw_inferred ? "?" : "") + (percent ? ' ' + small_percent(*percent) + '%' : "");
}

// The width of the longest text behind a bar.
std::size_t value_width(const Summary& summary) {
  std::size_t width = 5;
  for (const metrics::CommunicatorRows& communicator : summary.rows) {
    for (const metrics::Row& row : communicator.rows) {
      width = std::max(width, best_busbw(row) && row.bytes ? value_text(row).size() : 0);
    }
  }
  return width;
}

std::string line_of(const metrics::Row& row, double most_gb_s, std::size_t columns, bool is_utf8) {
  const std::string how = shortened(row.algorithm + ' ' + row.protocol, kHowWidth);
  return padded(human_bytes(*row.bytes), kSizeWidth) + ' ' + how +
         std::string(kHowWidth - how.size(), ' ') + ' ' +
         bar(most_gb_s > 0 ? *best_busbw(row) / most_gb_s : 0, columns, is_utf8) + ' ' +
         value_text(row) + '\n';
}

// The width that the other columns, and the blanks between them, leave for the bars.
std::size_t bar_columns(const Summary& summary, std::size_t width) {
  const std::size_t others = kSizeWidth + kHowWidth + value_width(summary) + 4;
  return width > others ? width - others : 1;
}

}  // namespace

std::string bandwidth_plot(const Summary& summary, std::size_t width, bool is_utf8) {
  width = std::max(width, kLeastPlotWidth);
  const double most_gb_s = most_busbw(summary);
  const std::size_t columns = bar_columns(summary, width);
  std::string text;
  for (std::size_t i = 0; i < summary.communicators.size(); ++i) {
    std::string_view function;
    for (const metrics::Row& row : summary.rows[i].rows) {
      if (!best_busbw(row) || !row.bytes) {
        continue;
      }
      if (row.function != function) {
        function = row.function;
        text += '\n' + shortened(label_of(summary.communicators[i]) + ", " + row.function, width) +
                '\n';
      }
      text += line_of(row, most_gb_s, columns, is_utf8);
    }
  }
  return text.empty() ? "\nNo bandwidth is known: there is nothing to draw.\n"
                      : "\nbusbw, GB/s, of the median time, by message size" +
                            std::string(has_peaks(summary) ? "; percent of peak\n" : "\n") + text;
}

}  // namespace ringside::report
