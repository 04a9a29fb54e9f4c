// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/path_lines.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analyzer/merge/line.h"
#include "analyzer/report/kineto/step_text.h"
#include "ringside/trace_schema.h"

namespace ringside::merge {
namespace {

using metrics::StepPart;
using metrics::StepPath;

constexpr std::uint32_t kStepsRow = 1;  // ranks have the rows behind it

class Lines {
 public:
  Lines(const std::vector<metrics::ProcessGraph>& graphs, const facts::Facts& facts,
        const Plan& plan, std::uint32_t pid)
      : graphs_(graphs), facts_(facts), plan_(plan), pid_(pid) {}

  std::string write(const metrics::StepPaths& paths) {
    metadata(schema::kLineMergedForeign, pid_,
             R"("from":"Ringside","file":"the critical path of the steps")");
    metadata("process_name", pid_, R"("name":"critical path")");
    metadata("process_sort_index", pid_, R"("sort_index":-1)");
    metadata("thread_name", kStepsRow, R"("name":"steps")");
    std::set<std::uint32_t> named;
    for (const StepPath& step : paths.steps) {
      slice(kStepsRow, step.name, step.start_ns, step.end_ns, "step");
      const StepPart* before = nullptr;
      for (const StepPart& part : step.parts) {
        if (part.end_ns == part.start_ns) {
          continue;
        }
        if (named.insert(part.process).second) {
          std::string arguments = "\"name\":";
          append_quoted(name_of(part.process), arguments);
          metadata("thread_name", row_of(part), arguments);
        }
        slice(row_of(part), report::step_part_text(facts_, graphs_, part), part.start_ns,
              part.end_ns, report::path_kind_text(part.kind));
        if (before != nullptr && before->process != part.process) {
          arrow(*before, part);
        }
        before = &part;
      }
    }
    return std::move(text_);
  }

 private:
  std::string name_of(std::uint32_t process) const {
    const model::Process& known = facts_.traces().files[graphs_[process].file].process;
    return known.launcher_rank ? "rank " + std::to_string(*known.launcher_rank)
                               : known.host + ':' + std::to_string(known.pid);
  }

  static std::uint32_t row_of(const StepPart& part) { return kStepsRow + 1 + part.process; }

  void metadata(std::string_view name, std::uint32_t row, std::string_view arguments) {
    text_ += "{\"ph\":\"M\",\"pid\":" + std::to_string(pid_) + ",\"tid\":" + std::to_string(row) +
             ",\"ts\":0,\"name\":\"";
    text_.append(name).append("\",\"args\":{").append(arguments).append("}},\n");
  }

  // Microseconds of the file's time line.
  std::string time_text(std::int64_t common_ns) const {
    const std::int64_t time_ns =
        std::max<std::int64_t>(0, common_ns - plan_.base_time_s * 1'000'000'000);
    return microseconds(time_ns);
  }
  static std::string microseconds(std::int64_t time_ns) {
    const std::string rest = std::to_string(time_ns % 1000);
    return std::to_string(time_ns / 1000) + '.' + std::string(3 - rest.size(), '0') + rest;
  }

  void begin(std::string_view phase, std::uint32_t row, std::int64_t at_ns) {
    text_.append("{\"ph\":\"").append(phase).append("\",\"cat\":\"critical_path\",\"pid\":");
    text_ +=
        std::to_string(pid_) + ",\"tid\":" + std::to_string(row) + ",\"ts\":" + time_text(at_ns);
  }

  void slice(std::uint32_t row, std::string_view name, std::int64_t start_ns, std::int64_t end_ns,
             std::string_view kind) {
    begin("X", row, start_ns);
    text_ += ",\"dur\":" + microseconds(end_ns - start_ns) + ",\"name\":";
    append_quoted(name, text_);
    text_ += ",\"args\":{\"kind\":";
    append_quoted(kind, text_);
    text_ += "}},\n";
  }

  // Behind the numbers that arrows of PyTorch's traces have.
  void arrow(const StepPart& from, const StepPart& to) {
    const std::string id =
        std::to_string((std::uint64_t{plan_.kineto.size()} + 1) << 40 | ++arrows_);
    begin("s", row_of(from), from.start_ns);
    text_ += ",\"id\":" + id + ",\"name\":\"waited for\"},\n";
    begin("f", row_of(to), to.start_ns);
    text_ += ",\"id\":" + id + ",\"bp\":\"e\",\"name\":\"waited for\"},\n";
  }

  const std::vector<metrics::ProcessGraph>& graphs_;
  const facts::Facts& facts_;
  const Plan& plan_;
  std::uint32_t pid_;
  std::uint64_t arrows_ = 0;
  std::string text_;
};

}  // namespace

std::string path_lines(const metrics::StepPaths& paths,
                       const std::vector<metrics::ProcessGraph>& graphs, const facts::Facts& facts,
                       const Plan& plan, std::uint32_t pid) {
  return paths.steps.empty() ? std::string() : Lines(graphs, facts, plan, pid).write(paths);
}

}  // namespace ringside::merge
