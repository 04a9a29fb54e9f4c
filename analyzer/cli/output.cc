// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/output.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include <CLI/CLI.hpp>

#include "analyzer/model/printable.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/document/text_table.h"

namespace ringside::cli {
namespace {

bool g_is_quiet = false;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Only "error:" and "warning:" have a colour: the rest is easier to read without.
std::string coloured(const std::string& text) {
  constexpr std::string_view kColours[][2] = {{"error:", "\x1b[1;31m"}, {"warning:", "\x1b[1;33m"}};
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(at, end - at);
    std::size_t done = 0;
    for (const auto& [word, colour] : kColours) {
      if (line.starts_with(word)) {
        result.append(colour).append(word).append("\x1b[0m");
        done = word.size();
      }
    }
    result += line.substr(done);
    at = end;
  }
  return result;
}

winsize screen_size(int descriptor) {
  winsize screen{};
  return ioctl(descriptor, TIOCGWINSZ, &screen) == 0 ? screen : winsize{};
}

bool fits(const std::string& text) {
  const winsize screen = screen_size(STDOUT_FILENO);
  if (screen.ws_row == 0 || screen.ws_col == 0) {
    return true;
  }
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size(); ++lines) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (report::width_of(std::string_view(text).substr(at, end - at)) > screen.ws_col) {
      return false;
    }
    at = end + 1;
  }
  return lines < screen.ws_row;  // the prompt has a line, too
}

// False if there is no pager to be had.
bool page(const std::string& text) {
  const char* const wanted = std::getenv("PAGER");
  const std::string command = wanted != nullptr ? wanted : "less";
  const std::string word = command.substr(0, command.find(' '));
  if (word.empty() || word == "cat" ||
      std::system(("command -v " + word + " > /dev/null 2>&1").c_str()) != 0) {
    return false;
  }
  setenv("LESS", "FRSX", 0);  // ends where all fits, has colours, cuts lines, leaves the text there
  std::signal(SIGPIPE, SIG_IGN);  // who has seen enough leaves
  std::FILE* const pager = popen(command.c_str(), "w");
  if (pager == nullptr) {
    return false;
  }
  std::fwrite(text.data(), 1, text.size(), pager);
  pclose(pager);
  return true;
}

// "FILE: what is said": what is said of several files is said once, with the first of them.
std::vector<std::string> said_once(const std::vector<std::string>& texts) {
  const auto words_of = [](const std::string& text) {
    return std::string_view(text).substr(std::min(text.find(": "), text.size()));
  };
  std::map<std::string_view, std::size_t> files_of;  // by what is said of them
  for (const std::string& text : texts) {
    ++files_of[words_of(text)];
  }
  std::vector<std::string> once;
  once.reserve(files_of.size());
  for (const std::string& text : texts) {
    const std::string_view words = words_of(text);
    const std::size_t files = std::exchange(files_of[words], 0);
    if (files > 0) {
      once.push_back(text.substr(0, text.size() - words.size()) +
                     (files > 1 ? " and " + report::counted(files - 1, "more file") : "") +
                     std::string(words));
    }
  }
  return once;
}

}  // namespace

bool print(std::string_view text) {
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (is_written && std::fflush(stdout) == 0) {
    return true;
  }
  std::fprintf(stderr, "ringside: cannot write to standard output: %s\n", std::strerror(errno));
  return false;
}

void add_quiet_option(CLI::App& command) {
  command.add_flag("-q,--quiet", g_is_quiet, "Say nothing on standard error but errors");
}

bool is_quiet() {
  return g_is_quiet;
}

void note(const std::string& line) {
  if (!g_is_quiet) {
    tell(line);
  }
}

void tell(const std::string& line) {
  std::fprintf(stderr, "%s\n", model::printable(line).c_str());
}

std::size_t screen_columns(int descriptor) {
  return isatty(descriptor) != 0 ? screen_size(descriptor).ws_col : 0;
}

bool show(const std::string& text, std::string_view format) {
  if (isatty(STDOUT_FILENO) == 0) {
    return print(text);
  }
  const std::string safe = model::printable_lines(text);
  if (format != "table") {
    return print(safe);
  }
  const bool has_colour = variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  const std::string shown = has_colour ? coloured(safe) : safe;
  return (!fits(safe) && page(shown)) || print(shown);
}

void print_problems(const model::Problems& problems, const std::vector<std::string>& notes) {
  for (const std::string& one : said_once(notes)) {
    note("note: " + one);
  }
  std::vector<std::string> files;
  files.reserve(problems.files().size());
  for (const model::Problem& file : problems.files()) {
    files.push_back(file.path + ": " + file.reason);
  }
  files = said_once(files);
  constexpr std::size_t kMostSaid = 20;
  for (std::size_t i = 0; i < std::min(files.size(), kMostSaid); ++i) {
    tell("error: " + files[i]);
  }
  if (files.size() > kMostSaid) {
    tell("error: " + std::to_string(files.size() - kMostSaid) +
         " more files could not be used; the last is " + files.back());
  }
  for (const model::Problem& problem : problems.lines()) {
    tell("error: " + problem.path + (problem.line > 0 ? ':' + std::to_string(problem.line) : "") +
         ": " + problem.reason);
  }
  if (problems.bad_lines() > problems.lines().size()) {
    std::fprintf(stderr, "error: %llu more bad lines; `ringside lint FILE` says of which kinds\n",
                 static_cast<unsigned long long>(problems.bad_lines() - problems.lines().size()));
  }
}

}  // namespace ringside::cli
