// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/help.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <vector>

#include "analyzer/cli/exit_status.h"
#include "analyzer/cli/output.h"

namespace ringside::cli {
namespace {

// The words, from the end of the last line of `out` on; further lines are indented.
void append_words(std::string& out, std::string_view words, std::size_t indent,
                  std::size_t columns) {
  const std::size_t newline = out.rfind('\n');
  std::size_t used = out.size() - (newline == out.npos ? 0 : newline + 1);
  bool is_first = true;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    const std::size_t gap = is_first ? 0 : 1;
    if (!is_first && used + gap + end > columns) {
      out.append("\n").append(indent, ' ');
      used = indent;
    } else {
      out.append(gap, ' ');
      used += gap;
    }
    out += words.substr(0, end);
    used += end;
    is_first = false;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  out += '\n';
}

void append_columns(std::string& out, const std::vector<std::string_view>& block,
                    std::size_t columns) {
  std::size_t width = 0;
  for (const std::string_view line : block) {
    const std::size_t left = line.find('\t');
    width = left <= columns * 3 / 5 ? std::max(width, left) : width;
  }
  width = std::max<std::size_t>(width, 4) + 2;
  for (const std::string_view line : block) {
    const std::size_t left = std::min(line.find('\t'), line.size());
    out += line.substr(0, left);
    if (left == line.size()) {
      out += '\n';
      continue;
    }
    if (left + 2 > width) {
      out.append("\n").append(width, ' ');
    } else {
      out.append(width - left, ' ');
    }
    append_words(out, line.substr(left + 1), width, columns);
  }
}

std::string option_line(const CLI::Option& option) {
  const bool is_argument = option.get_positional();
  std::string text = "  " + (is_argument ? option.get_name(true) : option.get_name(false, true));
  if (const std::size_t comma = text.find(','); comma != text.npos) {
    text.insert(comma + 1, 1, ' ');
  }
  if (!is_argument && !kind_of(option).empty()) {
    text += ' ' + kind_of(option);
  }
  text += '\t' + option.get_description();
  if (!option.get_default_str().empty()) {
    text += " (default: " + option.get_default_str() + ')';
  }
  for (const CLI::Option* const other : option.get_excludes()) {
    text += " (not with " + other->get_name() + ')';
  }
  return text + '\n';
}

std::string usage(const CLI::App& app, const std::string& name) {
  std::string text = "Usage: " + name;
  if (!app.get_subcommands({}).empty()) {
    return text + " COMMAND [OPTIONS]\n";
  }
  text += " [OPTIONS]";
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_required() && option->nonpositional()) {
      text += (option->get_snames().empty() ? " --" + option->get_lnames().front()
                                            : " -" + option->get_snames().front()) +
              ' ' + kind_of(*option);
    }
  }
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_positional()) {
      const int most = option->get_expected_max();
      const std::string argument =
          most == 2 ? "A B"
                    : option->get_name(true) +
                          (most >= CLI::detail::expected_max_vector_size ? "..." : "");
      text += ' ' + (option->get_required() ? argument : '[' + argument + ']');
    }
  }
  return text + '\n';
}

}  // namespace

std::string kind_of(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  return option.get_type_size() == 0 ? std::string() : name.substr(0, name.find(':'));
}

std::string exit_statuses(std::initializer_list<StatusMeaning> own) {
  std::map<int, const char*> all = {
      {kExitOk, "success"},
      {kExitUsage, "the command line is wrong"},
      {kExitInternal, "a bug in ringside, or the output cannot be written"}};
  for (const StatusMeaning& one : own) {
    all[one.status] = one.meaning;
    if (one.meaning == kNothingFits) {
      all.emplace(kExitIncomplete, kRestsOnPart);  // what reads traces may read a part of them
    }
  }
  std::string text = "\nExit status:\n";
  for (const auto& [status, meaning] : all) {
    text += "  " + std::to_string(status) + '\t' + meaning + '\n';
  }
  return text;
}

std::size_t help_columns() {
  constexpr std::size_t kLeast = 80;
  constexpr std::size_t kMost = 120;
  constexpr std::size_t kOtherwise = 100;
  std::size_t columns = 0;
  if (const char* const text = std::getenv("COLUMNS")) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view digits(text);
    std::from_chars(digits.data(), digits.data() + digits.size(), columns);
  }
  columns = columns > 0 ? columns : screen_columns();
  return columns > 0 ? std::clamp(columns, kLeast, kMost) : kOtherwise;
}

std::string lay_out(std::string_view text, std::size_t columns) {
  std::string out;
  std::vector<std::string_view> block;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find('\t') != line.npos || line.starts_with("  ")) {
      block.push_back(line);
      continue;
    }
    append_columns(out, block, columns);
    block.clear();
    append_words(out, line, 0, columns);
  }
  append_columns(out, block, columns);
  return out;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode /*mode*/) const {
  std::string use = usage(*app, name);
  use.insert(use.size() - 1, usage_end_);
  std::string text = app->get_description() + ".\n\n" + use;
  std::string group;
  std::size_t longest = 0;
  for (const CLI::App* const command : app->get_subcommands({})) {
    longest = std::max(longest, command->get_name().size());
  }
  for (const CLI::App* const command : app->get_subcommands({})) {
    if (command->get_group() != group) {
      group = command->get_group();
      text += '\n' + (group == "Subcommands" ? "Commands" : group) + ":\n";
    }
    std::string padded = command->get_name();
    padded.resize(longest, ' ');
    text += "  " + padded + '\t' + command->get_description() + '\n';
  }
  std::string arguments;
  for (const CLI::Option* const option : app->get_options()) {
    arguments += option->get_positional() ? option_line(*option) : "";
  }
  text += arguments.empty() ? "" : "\nArguments:\n" + arguments;
  for (const std::string& options : app->get_groups()) {
    if (options.empty()) {
      continue;  // hidden
    }
    std::string lines;
    for (const CLI::Option* const option : app->get_options()) {
      lines +=
          option->nonpositional() && option->get_group() == options ? option_line(*option) : "";
    }
    if (!lines.empty()) {
      text.append("\n").append(options).append(":\n").append(lines);
    }
  }
  return lay_out(text + '\n' + app->get_footer(), help_columns());
}

}  // namespace ringside::cli
