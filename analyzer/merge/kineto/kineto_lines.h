// SPDX-License-Identifier: Apache-2.0
//
// The events of one of PyTorch's traces as lines of a merged file.
#ifndef RINGSIDE_ANALYZER_MERGE_KINETO_KINETO_LINES_H
#define RINGSIDE_ANALYZER_MERGE_KINETO_KINETO_LINES_H

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <simdjson.h>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/align/alignment.h"
#include "analyzer/load/kineto/kineto.h"
#include "analyzer/merge/plan.h"
#include "analyzer/model/trace.h"

namespace ringside::merge {

class KinetoLines {
 public:
  /// `number`: of the trace in the merged file, from 1. `free_pid`: this one and greater ones are
  /// nobody's.
  KinetoLines(const model::Traces& traces, const align::Alignment& alignment, const Plan& plan,
              std::uint32_t number, std::uint32_t free_pid);

  /// Gives `put` the lines, each with ",\n". Why the file cannot be read; nothing if it can.
  std::optional<std::string> write(const std::function<void(std::string_view)>& put);

  std::uint64_t written() const { return written_; }
  /// Events whose times have no place on the time line, or that are none.
  std::uint64_t damaged() const { return damaged_; }
  std::uint32_t free_pid() const { return free_pid_; }

 private:
  using Object = simdjson::dom::object;
  struct Group {  // what the trace calls a process
    std::uint32_t pid = 0;
    std::string name, labels;
    std::map<std::string, std::uint32_t> named_threads;  // by tid, where that is no positive number
  };

  bool take(const Object& event, const KinetoLink* link, std::string& output);
  void take_metadata(const Object& event, std::string_view name, std::string& output);
  std::uint64_t flow_id(const simdjson::dom::element& id) const;
  Group& group_of(const Object& event);
  std::string thread_of(const Object& event, Group& group);
  std::optional<std::int64_t> line_ns(std::int64_t epoch_ns) const;
  bool is_left_out(const Object& event, std::int64_t begin_ns, std::int64_t end_ns) const;
  void name_groups(std::string& output);

  const align::Alignment& alignment_;
  const Plan& plan_;
  const KinetoPlan& planned_;
  const ProcessPlan& process_;
  const model::Process& of_;
  std::uint32_t number_;
  std::uint32_t free_pid_;
  std::map<std::string, Group> groups_;
  std::string new_group_;  // a line for it
  std::uint64_t written_ = 0;
  std::uint64_t damaged_ = 0;
};

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_KINETO_KINETO_LINES_H
