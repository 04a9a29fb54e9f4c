// SPDX-License-Identifier: Apache-2.0
//
// The calls that were open on a thread at a moment, in a trace of PyTorch's profiler.
#ifndef RINGSIDE_ANALYZER_MATCH_CALLS_CALL_STACK_H
#define RINGSIDE_ANALYZER_MATCH_CALLS_CALL_STACK_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/model/kineto/kineto.h"

namespace ringside::match {

/// Whether it is a function in a file of the program: "train.py(17): step". Files of PyTorch and of
/// Python itself have no directory before their package there.
inline bool is_of_program(std::string_view name) {
  const auto starts = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return name.find(".py(") != name.npos && !starts("torch/") && !starts("<") &&
         !starts("contextlib.py(") && !starts("functools.py(") && !starts("threading.py(") &&
         !starts("multiprocessing/") && !starts("concurrent/");
}

/// The calls of one thread that are open at a moment. They must outlive it.
class CallStack {
 public:
  void add(const model::KinetoCall& call) { calls_.push_back(&call); }

  void settle() {
    // If two begin together, the longer is around the other.
    std::stable_sort(calls_.begin(), calls_.end(), [](const auto* one, const auto* other) {
      return std::pair(one->start_ns, -one->end_ns) < std::pair(other->start_ns, -other->end_ns);
    });
    std::size_t open = 0;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      while (open > 0 && calls_[open - 1]->end_ns < calls_[i]->end_ns) {
        open = around_[open - 1];
      }
      around_.push_back(open);
      open = i + 1;
    }
  }

  /// The innermost function of the program in which the thread was for most of this time: the part
  /// of the time in which it was, or all of it if there is none.
  std::pair<std::int64_t, std::int64_t> mostly_in(const model::NameTable& names,
                                                  std::int64_t start_ns,
                                                  std::int64_t end_ns) const {
    std::pair part(start_ns, end_ns);
    auto at = std::upper_bound(
        calls_.begin(), calls_.end(), start_ns,
        [](std::int64_t at_ns, const model::KinetoCall* call) { return at_ns < call->start_ns; });
    for (; at != calls_.end() && (*at)->start_ns < end_ns; ++at) {
      const std::int64_t until_ns = std::min((*at)->end_ns, end_ns);
      if (until_ns - (*at)->start_ns > (end_ns - start_ns) / 2 &&
          is_of_program(names.text((*at)->name))) {
        part = {(*at)->start_ns, until_ns};
      }
    }
    return part;
  }

  /// Innermost first.
  std::vector<const model::KinetoCall*> around(std::int64_t start_ns, std::int64_t end_ns) const {
    std::vector<const model::KinetoCall*> found;
    const auto next = std::upper_bound(
        calls_.begin(), calls_.end(), start_ns,
        [](std::int64_t at_ns, const model::KinetoCall* call) { return at_ns < call->start_ns; });
    for (auto at = static_cast<std::size_t>(next - calls_.begin()); at > 0; at = around_[at - 1]) {
      if (calls_[at - 1]->end_ns >= end_ns) {
        found.push_back(calls_[at - 1]);
      }
    }
    return found;
  }

 private:
  std::vector<const model::KinetoCall*> calls_;
  std::vector<std::size_t> around_;  // 1 + index of the one around it; 0: none
};

/// "train.py:17 in step".
inline std::string frame_of(std::string_view name) {
  const std::size_t open = name.find(".py(") + 3;
  const std::size_t close = name.find("): ", open);
  std::string text(name.substr(0, open));
  if (close == name.npos) {
    return std::string(name);
  }
  text.append(":").append(name.substr(open + 1, close - open - 1));
  return text.append(" in ").append(name.substr(close + 3));
}

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_CALLS_CALL_STACK_H
