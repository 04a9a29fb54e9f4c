// SPDX-License-Identifier: Apache-2.0
#include "launch/text.h"

#include <algorithm>

namespace ringside::launch {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./,:=+@%").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + '\'';
}

std::string shell_word(std::string_view text) {
  const bool is_safe = !text.empty() && std::all_of(text.begin(), text.end(), is_plain);
  return is_safe ? std::string(text) : shell_quoted(text);
}

std::string as_exports(const Variables& variables) {
  std::string text;
  for (const Variable& variable : variables) {
    text += "export " + variable.name + '=' + shell_quoted(variable.value) + '\n';
  }
  return text;
}

std::string as_options(const Variables& variables, std::string_view option) {
  std::string text;
  for (const Variable& variable : variables) {
    text += text.empty() ? "" : " ";
    text += std::string(option) + ' ' + shell_word(variable.name + '=' + variable.value);
  }
  return text + '\n';
}

std::string as_comment(const std::vector<std::string>& command) {
  std::string text = "#";
  for (const std::string& word : command) {
    text += ' ' + shell_word(word);
  }
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    text.insert(at + 1, "# ");
  }
  return text + '\n';
}

std::vector<char*> argument_pointers(const std::vector<std::string>& command) {
  std::vector<char*> pointers(command.size() + 1, nullptr);
  // exec does not write to them; its declaration is older than const.
  std::transform(command.begin(), command.end(), pointers.begin(),
                 [](const std::string& word) { return const_cast<char*>(word.c_str()); });
  return pointers;
}

}  // namespace ringside::launch
