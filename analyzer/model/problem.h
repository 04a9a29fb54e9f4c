// SPDX-License-Identifier: Apache-2.0
//
// Data that could not be read: its place, and why.
#ifndef RINGSIDE_ANALYZER_MODEL_PROBLEM_H
#define RINGSIDE_ANALYZER_MODEL_PROBLEM_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ringside::model {

struct Problem {
  std::string path;
  std::uint64_t line = 0;  // 0: the file as a whole
  std::string reason;
};

/// Keeps the first bad lines of a run, 10 unless told otherwise, and counts the others, so that a
/// damaged file of millions of lines neither floods the terminal nor the memory. Unreadable files
/// are all kept.
class Problems {
 public:
  static constexpr std::size_t kLinesKept = 10;

  Problems() = default;
  explicit Problems(std::size_t most_lines) : most_lines_(most_lines) {}

  void add_line(std::string path, std::uint64_t line, std::string reason) {
    if (lines_.size() < most_lines_) {
      lines_.push_back({std::move(path), line, std::move(reason)});
    }
    ++bad_lines_;
  }
  /// Bad lines beyond those that are kept.
  void count_lines(std::uint64_t lines) { bad_lines_ += lines; }
  void add_file(std::string path, std::string reason) {
    files_.push_back({std::move(path), 0, std::move(reason)});
  }

  const std::vector<Problem>& lines() const { return lines_; }
  const std::vector<Problem>& files() const { return files_; }
  std::uint64_t bad_lines() const { return bad_lines_; }

 private:
  std::vector<Problem> lines_;
  std::vector<Problem> files_;
  std::size_t most_lines_ = kLinesKept;
  std::uint64_t bad_lines_ = 0;
};

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_PROBLEM_H
