// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/trace/callers.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/parallel.h"
#include "analyzer/model/percent_decoded.h"

namespace ringside::load {
namespace {

// "layers.2.weight and 7 more", of "layers.2.weight,layers.2.bias,+6".
std::string first_of(std::string_view names) {
  const auto commas = std::count(names.begin(), names.end(), ',');
  std::uint32_t unnamed = 1;  // that the last of them stands for
  if (const std::size_t plus = names.rfind(",+"); plus != names.npos) {
    std::from_chars(names.data() + plus + 2, names.data() + names.size(), unnamed);
  }
  const std::int64_t more = commas > 0 ? commas - 1 + unnamed : 0;
  return std::string(names.substr(0, names.find(','))) +
         (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

struct Range {
  std::int64_t end_ns = 0;
  const model::Mark* mark = nullptr;
  std::size_t around = 0;  // 1 + index of the one around this one; 0: none
};

// The ranges of one thread, in the order of their starts. Ranges of a thread nest.
class Thread {
 public:
  void add(const model::Mark& mark) {
    while (open_ > 0 && ranges_[open_ - 1].end_ns <= mark.start_ns) {
      open_ = ranges_[open_ - 1].around;
    }
    ranges_.push_back(
        {mark.end_ns.value_or(std::numeric_limits<std::int64_t>::max()), &mark, open_});
    open_ = ranges_.size();
  }

  // nullptr if there is none.
  const model::Mark* innermost(std::int64_t time_ns) const {
    const auto next = std::upper_bound(
        ranges_.begin(), ranges_.end(), time_ns,
        [](std::int64_t at_ns, const Range& range) { return at_ns < range.mark->start_ns; });
    auto at = static_cast<std::size_t>(next - ranges_.begin());
    while (at > 0 && ranges_[at - 1].end_ns <= time_ns) {
      at = ranges_[at - 1].around;
    }
    return at > 0 ? ranges_[at - 1].mark : nullptr;
  }

 private:
  std::vector<Range> ranges_;
  std::size_t open_ = 0;  // as Range::around, of the next one
};

std::map<std::uint32_t, Thread> threads_of(const model::TraceFile& file) {
  // A range without an end may have ended long ago, if ends of ranges may be lost.
  const bool is_end_lost = file.ranges_lost.value_or(0) > 0 || file.bad_lines > 0 || file.torn;
  std::vector<const model::Mark*> calls;
  for (const auto& [number, mark] : file.marks) {
    if (mark.called_by != model::kNoName && (mark.end_ns || !is_end_lost)) {
      calls.push_back(&mark);
    }
  }
  // Marks are numbered in the order in which they begin, on each thread.
  std::stable_sort(calls.begin(), calls.end(), [](const auto* one, const auto* other) {
    return one->start_ns < other->start_ns;
  });
  std::map<std::uint32_t, Thread> threads;
  for (const model::Mark* const mark : calls) {
    threads[mark->tid].add(*mark);
  }
  return threads;
}

}  // namespace

void name_mark(std::string_view name, std::string_view source, model::NameTable& names,
               model::Mark& mark) {
  if (!mark.is_range || !name.starts_with("torch.")) {
    mark.name = names.id(name);
    return;
  }
  std::string called = source.empty() ? "" : std::string(source) + ' ';
  called += name.substr(0, name.find(' '));
  std::string group;
  std::string description;
  std::string part;  // of the model
  for (std::size_t space = name.find(' '); space != name.npos;) {
    const std::size_t next = name.find(' ', space + 1);
    const std::string_view field = name.substr(space + 1, next - space - 1);
    const std::string_view key = field.substr(0, field.find('='));
    const std::string_view value = field.substr(std::min(key.size() + 1, field.size()));
    if (key == "group") group = model::percent_decoded(value);
    if (key == "description") description = model::percent_decoded(value);
    if (key == "module") part = model::percent_decoded(value);
    if (key == "unit") part = "FSDP unit " + model::percent_decoded(value);
    if (key == "bucket") part = "DDP bucket " + model::percent_decoded(value);
    if (key == "parameters") part += ": " + first_of(model::percent_decoded(value));
    if (std::uint64_t seq = 0;
        key == "seq" && std::from_chars(value.data(), value.data() + value.size(), seq).ptr ==
                            value.data() + value.size()) {
      mark.torch_seq = seq;
    }
    space = next;
  }
  mark.name = names.id(called);
  mark.called_by = names.id(part.empty() ? called : called + " (" + part + ')');
  mark.process_group = names.id(description.empty() ? group : description);
}

void find_callers(model::Traces& traces) {
  for_each_on_cores(traces.files.size(), [&](std::size_t, std::size_t i) {
    model::TraceFile& file = traces.files[i];
    const auto threads = threads_of(file);
    if (threads.empty()) {
      return;
    }
    model::Operations operations;
    for (model::Operation operation : file.operations) {
      const auto thread = threads.find(operation.tid);
      const model::Mark* const mark = thread != threads.end() && operation.enqueue_start_ns
                                          ? thread->second.innermost(*operation.enqueue_start_ns)
                                          : nullptr;
      if (mark != nullptr) {
        operation.called_by = mark->called_by;
        operation.process_group = mark->process_group;
        operation.torch_seq = mark->torch_seq;
      }
      operations.push_back(operation);
    }
    file.operations = std::move(operations);
  });
}

}  // namespace ringside::load
