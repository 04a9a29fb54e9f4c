// SPDX-License-Identifier: Apache-2.0
//
// The place at which the program called an operation. Operation::called_by is a name. A dump gives
// it a line for each frame of the stack, "FILE:LINE in FUNCTION", the innermost first. A trace with
// ranges around the calls of torch.distributed gives it "FILE:LINE FUNCTION (PART)", and leaves out
// what is not known: FUNCTION is that of torch.distributed, PART a module, DDP's bucket or FSDP's
// unit.
#ifndef RINGSIDE_ANALYZER_MODEL_CALL_SITE_H
#define RINGSIDE_ANALYZER_MODEL_CALL_SITE_H

#include <string>
#include <string_view>
#include <vector>

namespace ringside::model {

/// The frames of a stack, one after the other.
inline std::vector<std::string_view> frames_of(std::string_view stack) {
  std::vector<std::string_view> frames;
  while (!stack.empty()) {
    const std::size_t end = stack.find('\n');
    frames.push_back(stack.substr(0, end));
    stack.remove_prefix(end < stack.size() ? end + 1 : stack.size());
  }
  return frames;
}

/// The line of the program that called: the innermost frame outside the files of PyTorch and of
/// Python, else the innermost one.
inline std::string_view calling_frame(std::string_view stack) {
  const auto has = [](std::string_view file, std::string_view part) {
    return file.find(part) != std::string_view::npos;
  };
  const auto is_of_library = [&](std::string_view frame) {
    const std::string_view file = frame.substr(0, frame.rfind(" in "));
    return has(file, "-packages/torch/") || has(file, "/torch/distributed/") ||
           has(file, "/pytorch/torch/") ||
           (has(file, "/lib/python3.") && !has(file, "-packages/")) || file.starts_with('<');
  };
  const auto frames = frames_of(stack);
  std::string_view found = frames.empty() ? std::string_view() : frames.front();
  for (const std::string_view frame : frames) {
    if (!is_of_library(frame)) {
      found = frame;
      break;
    }
  }
  return found;
}

/// The same without directories: "train.py:17 in step", "train.py:17 torch.all_reduce
/// (layers.3.attn)".
inline std::string_view call_site(std::string_view stack) {
  const std::string_view frame = calling_frame(stack);
  return frame.substr(frame.rfind('/', frame.rfind(" in ")) + 1);
}

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_CALL_SITE_H
