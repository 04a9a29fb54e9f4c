// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_MODEL_JOINED_H
#define RINGSIDE_ANALYZER_MODEL_JOINED_H

#include <cstddef>
#include <string>

namespace ringside::model {

/// Returns the first `most` texts of a container with commas between them, and how many more there
/// are: "a, b and 3 more".
template <typename Texts>
std::string joined(const Texts& texts, std::size_t most) {
  std::string result;
  std::size_t count = 0;
  for (const std::string& text : texts) {
    if (count == most) {
      return result + " and " + std::to_string(texts.size() - most) + " more";
    }
    result += (count++ == 0 ? "" : ", ") + text;
  }
  return result;
}

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_JOINED_H
