// SPDX-License-Identifier: Apache-2.0
//
// How `--help` looks: options with the kinds of their values, examples and exit statuses, as wide
// as the terminal.
#ifndef RINGSIDE_ANALYZER_CLI_HELP_H
#define RINGSIDE_ANALYZER_CLI_HELP_H

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

namespace ringside::cli {

/// Returns COLUMNS, else the width of the terminal that stdout is, both between 80 and 120; else
/// 100.
std::size_t help_columns();

/// Returns "NAME" of an option `--comm NAME`, without what its checks say; nothing for a flag.
std::string kind_of(const CLI::Option& option);

/// Breaks lines between words where they would be longer than `columns`. Lines "left<tab>right"
/// that follow each other become two columns.
std::string lay_out(std::string_view text, std::size_t columns);

/// Footers are texts for lay_out().
class HelpFormatter : public CLI::FormatterBase {
 public:
  /// `usage_end`: what CLI11 does not know of, at the end of the usage line.
  explicit HelpFormatter(std::string usage_end = {}) : usage_end_(std::move(usage_end)) {}
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;

 private:
  std::string usage_end_;
};

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_HELP_H
