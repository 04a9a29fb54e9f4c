// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/overview/overview.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/merge/line.h"
#include "analyzer/merge/slice_rows.h"
#include "analyzer/report/document/numbers.h"
#include "ringside/trace_schema.h"

namespace ringside::merge {
namespace {

constexpr std::int64_t kStretches = 512;

using Times = std::pair<std::int64_t, std::int64_t>;

// The execution, or the call where only that is known. An operation that has not ended lasts until
// the end of the record.
std::optional<Times> times_of(const model::Operation& one, const model::TraceFile& file) {
  const auto begin = one.start_ns ? one.start_ns : one.enqueue_start_ns;
  const std::int64_t last_ns = file.operations.extent_ns()->second;
  const auto end = one.in_flight  ? std::optional(std::max(last_ns, file.last_ns.value_or(last_ns)))
                   : one.start_ns ? one.end_ns
                                  : one.enqueue_end_ns;
  return begin && end && *end >= *begin ? std::optional(Times(*begin, *end)) : std::nullopt;
}

std::string percent_text(std::int64_t part, std::int64_t whole) {
  return report::fixed(
      whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0, 1);
}

}  // namespace

Overview::Overview(const model::Traces& traces, const align::Alignment& alignment, const Plan& plan)
    : traces_(traces), alignment_(alignment), plan_(plan) {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns = 0;
  for (const ProcessPlan& process : plan.processes) {
    const model::TraceFile& file = traces.files[process.file];
    for (const model::Operation& one : file.operations) {
      if (const auto times = times_of(one, file)) {
        first_ns = std::min(first_ns, alignment.to_common_ns(process.file, times->first));
        last_ns = std::max(last_ns, alignment.to_common_ns(process.file, times->second));
      }
    }
  }
  begin_ns_ = first_ns;
  stretch_ns_ = std::max<std::int64_t>((last_ns - first_ns) / kStretches + 1, 2 * kRounding_ns);
}

std::string Overview::name_of(const OverviewStretch& stretch) const {
  if (stretch.in_flight != model::kNoName) {
    return std::string(traces_.names.text(stretch.in_flight)) + " in flight to the end";
  }
  if (stretch.all_waiting_ns() * 2 < stretch.operations_ns || stretch.waiting_ns.empty()) {
    return "communication";
  }
  const auto most =
      std::max_element(stretch.waiting_ns.begin(), stretch.waiting_ns.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return "waiting, mostly for " + plan_.processes[most->first].label;
}

std::map<std::uint32_t, Overview::Stretches> Overview::stretches_of(
    const ProcessPlan& process) const {
  const model::TraceFile& file = traces_.files[process.file];
  std::map<std::uint32_t, Stretches> contexts;
  std::map<std::uint32_t, std::vector<Times>> times_of_context;
  const auto each = [&](std::int64_t begin_ns, std::int64_t end_ns, const auto& take) {
    for (std::int64_t i = (begin_ns - begin_ns_) / stretch_ns_;
         i <= (end_ns - begin_ns_) / stretch_ns_; ++i) {
      const std::int64_t from_ns = std::max(begin_ns, begin_ns_ + i * stretch_ns_);
      const std::int64_t to_ns = std::min(end_ns, begin_ns_ + (i + 1) * stretch_ns_ - kRounding_ns);
      take(i, from_ns, std::max(from_ns, to_ns));
    }
  };
  for (const model::Operation& one : file.operations) {
    const auto times = times_of(one, file);
    const bool is_kept = !plan_.is_part || std::binary_search(process.operations.begin(),
                                                              process.operations.end(), one.id);
    if (!times || !is_kept) {
      continue;
    }
    const std::int64_t begin_ns = alignment_.to_common_ns(process.file, times->first);
    const std::int64_t end_ns =
        std::max(begin_ns, alignment_.to_common_ns(process.file, times->second));
    auto& stretches = contexts[one.context];
    each(begin_ns, end_ns, [&](std::int64_t i, std::int64_t from_ns, std::int64_t to_ns) {
      OverviewStretch& stretch = stretches[i];
      stretch.add({.operations = from_ns == begin_ns ? 1U : 0U,
                   .operations_ns = to_ns - from_ns,
                   .busy_ns = 0,
                   .in_flight = one.in_flight ? one.func : model::kNoName,
                   .first_ns = from_ns,
                   .last_ns = to_ns,
                   .waiting_ns = {}});
    });
    times_of_context[one.context].emplace_back(begin_ns, end_ns);
    const auto wait = std::lower_bound(
        process.waits.begin(), process.waits.end(), one.id,
        [](const Wait& of, std::uint64_t operation) { return of.operation < operation; });
    if (wait != process.waits.end() && wait->operation == one.id && wait->until_ns > begin_ns) {
      each(begin_ns, std::min(wait->until_ns, end_ns),
           [&](std::int64_t i, std::int64_t from_ns, std::int64_t to_ns) {
             stretches[i].waiting_ns[wait->last] += to_ns - from_ns;
           });
    }
  }
  for (auto& [context, times] : times_of_context) {
    std::sort(times.begin(), times.end());
    std::int64_t until_ns = begin_ns_;
    for (const auto& [begin_ns, end_ns] : times) {
      if (end_ns > until_ns) {
        each(std::max(begin_ns, until_ns), end_ns,
             [&stretches = contexts[context]](std::int64_t i, std::int64_t from_ns,
                                              std::int64_t to_ns) {
               stretches[i].busy_ns += to_ns - from_ns;
             });
        until_ns = end_ns;
      }
    }
  }
  return contexts;
}

std::uint64_t Overview::append(std::size_t index, std::string& output) const {
  const ProcessPlan& process = plan_.processes[index];
  const model::TraceFile& file = traces_.files[process.file];
  std::uint64_t lines = 0;
  std::uint32_t tid = kFirstRow;
  const std::string pid = std::to_string(process.pid);
  for (const auto& [context, stretches] : stretches_of(process)) {
    const auto known = file.contexts.find(context);
    const std::string ids = "\"pid\":" + pid + ",\"tid\":" + std::to_string(++tid) + ",\"ts\":";
    output += R"({"ph":"M",)" + ids + R"(0,"name":"thread_name","args":{"name":)";
    const std::string number = "communicator " + std::to_string(context);
    const std::string_view row =
        known != file.contexts.end() ? process.name_of(context, known->second.name) : "";
    append_quoted(row.empty() ? number : row, output);
    output += "}},\n{\"ph\":\"M\"," + ids +
              R"(0,"name":"thread_sort_index","args":{"sort_index":)" + std::to_string(tid) +
              "}},\n";
    lines += 2;
    for (auto i = stretches.begin(); i != stretches.end();) {
      OverviewStretch stretch = i->second;
      const std::string name = name_of(stretch);
      auto next = std::next(i);
      for (std::int64_t at = i->first;
           next != stretches.end() && next->first == ++at && name_of(next->second) == name;
           ++next) {
        stretch.add(next->second);
      }
      i = next;
      const std::int64_t line_ns = stretch.first_ns - plan_.base_time_s * 1'000'000'000;
      if (line_ns < 0) {
        continue;
      }
      output += R"({"ph":"X","cat":"op",)" + ids;
      append_microseconds(line_ns, output);
      output += ",\"dur\":";
      append_microseconds(stretch.last_ns - stretch.first_ns, output);
      output += ",\"name\":";
      append_quoted(name, output);
      output +=
          ",\"args\":{\"operations\":" + std::to_string(stretch.operations) +
          ",\"busy_percent\":" + percent_text(stretch.busy_ns, stretch.last_ns - stretch.first_ns) +
          ",\"waiting_percent\":" + percent_text(stretch.all_waiting_ns(), stretch.operations_ns) +
          "}},\n";
      ++lines;
    }
  }
  return lines;
}

}  // namespace ringside::merge
