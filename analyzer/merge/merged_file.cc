// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/merged_file.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/load/source/line_reader.h"
#include "analyzer/merge/in_order.h"
#include "analyzer/merge/kineto/kineto_lines.h"
#include "analyzer/merge/line.h"
#include "analyzer/merge/overview/host_counters.h"
#include "analyzer/merge/overview/overview.h"
#include "analyzer/merge/perfetto/perfetto_trace.h"
#include "analyzer/merge/process_lines.h"
#include "analyzer/model/parallel.h"
#include "analyzer/report/document/numbers.h"
#include "ringside/trace_schema.h"

namespace ringside::merge {
namespace {

constexpr std::size_t kText_bytes = std::size_t{1} << 20;       // given on at once
constexpr std::size_t kWaiting_bytes = std::size_t{256} << 20;  // of processes ahead of their turn

class Writer {
 public:
  Writer(const model::Traces& traces, const align::Alignment& alignment, const Plan& plan,
         const WriteOptions& options, OutputFile& output, model::Problems& problems)
      : traces_(traces),
        alignment_(alignment),
        plan_(plan),
        options_(options),
        output_(output),
        problems_(problems) {
    if (options.is_perfetto) {
      perfetto_.emplace(plan, [this](std::string_view bytes) { output_.write(bytes); });
    }
  }

  MergedLines write() {
    if (options_.is_overview) {
      overview_.emplace(traces_, alignment_, plan_);
    }
    write_head();
    copy_processes();
    write_counters_of_hosts();
    write_kineto();
    const std::string arguments = "\"lines\":" + std::to_string(lines_.written) +
                                  ",\"lines_left_out\":" + std::to_string(lines_.damaged);
    put(metadata(schema::kLineMergedEnd, arguments) + "\n]\n");
    if (perfetto_) {
      perfetto_->finish();
    }
    return lines_;
  }

 private:
  // In the name of the first process: the event must have one.
  std::string metadata(const char* name, const std::string& arguments) const {
    const std::string pid = std::to_string(plan_.processes.front().pid);
    return "{\"ph\":\"M\",\"pid\":" + pid + ",\"tid\":" + pid + ",\"ts\":0,\"name\":\"" + name +
           "\",\"args\":{" + arguments + "}}";
  }

  void put(std::string_view lines) {
    if (perfetto_) {
      perfetto_->take(lines);
    } else {
      output_.write(lines);
    }
  }

  void write_head() {
    std::string arguments =
        "\"format_version\":" + std::to_string(schema::kFormatVersion) + ",\"ringside_version\":";
    append_quoted(RINGSIDE_VERSION, arguments);
    arguments += ",\"base_time_s\":" + std::to_string(plan_.base_time_s) +
                 ",\"processes\":" + std::to_string(plan_.processes.size()) +
                 ",\"hosts\":" + std::to_string(alignment_.hosts().size()) +
                 ",\"aligned\":" + (alignment_.is_aligned() ? "true" : "false") + ",\"part\":" +
                 (plan_.is_part || overview_ || !options_.has_steps ? "true" : "false");
    put("[" + metadata(schema::kLineMerged, arguments) + ",\n");
    for (const align::HostOffset& host : alignment_.hosts()) {
      write_host(host);
    }
  }

  void write_host(const align::HostOffset& host) {
    std::string arguments = "\"host\":";
    append_quoted(host.host, arguments);
    arguments += std::string(",\"is_reference\":") + (host.is_reference ? "true" : "false");
    if (host.is_bounded && !host.is_reference) {
      const std::int64_t at_ns = host.at_ns - plan_.base_time_s * 1'000'000'000;
      arguments += ",\"at_ns\":" + std::to_string(at_ns) +
                   ",\"offset_ns\":" + std::to_string(host.offset_ns) +
                   (host.drift_ppb ? ",\"drift_ppb\":" + report::fixed(*host.drift_ppb, 3) : "") +
                   ",\"uncertainty_ns\":" + std::to_string(host.uncertainty_ns) +
                   ",\"most_uncertainty_ns\":" + std::to_string(host.most_uncertainty_ns) +
                   ",\"set_by\":";
      append_quoted(host.set_by, arguments);
    }
    put(metadata(schema::kLineMergedHost, arguments) + ",\n");
  }

  static std::string ids_of(std::uint32_t pid) {
    const std::string text = std::to_string(pid);
    return "\"pid\":" + text + ",\"tid\":" + text;
  }

  // Behind the ranks, of hosts with several of them.
  void write_counters_of_hosts() {
    for (std::uint32_t host = 0; host < alignment_.hosts().size(); ++host) {
      const std::size_t processes = counters_.processes(host);
      if (processes < 2) {
        continue;
      }
      const std::string ids = ids_of(plan_.free_pid + host);
      text_ = "{\"ph\":\"M\",";
      text_ += ids;
      text_ += R"(,"ts":0,"name":"process_name","args":{"name":)";
      append_quoted(alignment_.hosts()[host].host + ": sum of " +
                        report::counted(processes, "process", "processes"),
                    text_);
      text_ += "}},\n{\"ph\":\"M\"," + ids +
               ",\"ts\":0,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":" +
               std::to_string(plan_.processes.size() + 1 + host) + "}},\n";
      const auto keeps = [&](std::int64_t line_ns) {
        const std::int64_t common_ns = line_ns + plan_.base_time_s * 1'000'000'000;
        return !plan_.is_part || is_in_spans(plan_, common_ns, common_ns);
      };
      lines_.written += 2 + counters_.append(host, plan_.free_pid + host, keeps, text_);
      put(text_);
    }
  }

  void write_kineto() {
    auto free_pid = plan_.free_pid + static_cast<std::uint32_t>(alignment_.hosts().size());
    for (std::uint32_t i = 0; i < plan_.kineto.size(); ++i) {
      const std::string& path = plan_.kineto[i].path;
      KinetoLines kineto(traces_, alignment_, plan_, i + 1, free_pid);
      if (const auto error = kineto.write([this](std::string_view lines) { put(lines); })) {
        problems_.add_file(path, *error);
      }
      free_pid = kineto.free_pid();
      lines_.written += kineto.written();
      lines_.kineto_events += kineto.written();
      if (lines_.damaged == 0 && kineto.damaged() != 0) {
        lines_.first_damaged = path + ": an event without a time, or with one that has no place";
      }
      lines_.damaged += kineto.damaged();
    }
    if (plan_.path_lines) {
      const std::string path = plan_.path_lines(free_pid);
      lines_.written += static_cast<std::uint64_t>(std::count(path.begin(), path.end(), '\n'));
      put(path);
    }
  }

  // Memory that a thread uses again for the next process.
  struct CopyMemory {
    std::string text;  // empty between processes
    std::vector<std::string> of_slices;
  };

  // One process on its way, on any thread.
  struct Copy {
    HostCounters counters;
    MergedLines lines;
    model::Problems problems;
  };

  void copy_processes() {
    std::vector<Copy> copies(plan_.processes.size());
    InOrder in_order([this](std::string_view text) { put_if_well(text); }, kWaiting_bytes);
    in_parallel(
        copies.size(), options_.threads, [] { return CopyMemory(); },
        [&](std::size_t i, CopyMemory& memory) {
          copy_process(i, copies[i], memory, in_order);
          in_order.end(i);
        });
    for (Copy& copy : copies) {
      counters_.add(std::move(copy.counters));
      for (const model::Problem& problem : copy.problems.files()) {
        problems_.add_file(problem.path, problem.reason);
      }
      lines_.unread += copy.problems.files().empty() ? 0 : 1;
      lines_.written += copy.lines.written;
      if (lines_.damaged == 0) {
        lines_.first_damaged = std::move(copy.lines.first_damaged);
      }
      lines_.damaged += copy.lines.damaged;
    }
  }

  void put_if_well(std::string_view text) {
    put(text);
    has_failed_ = !output_.error().empty();
  }

  void copy_process(std::size_t number, Copy& copy, CopyMemory& memory, InOrder& in_order) {
    std::string& text = memory.text;
    if (!plan_.processes[number].has_lines) {
      in_order.add(number, text);
      return;
    }
    ProcessLines process(traces_, alignment_, plan_, static_cast<std::uint32_t>(number + 1),
                         options_.has_steps, copy.counters, memory.of_slices);
    const auto copy_file = [&](const std::string& path) {
      load::LineReader reader;
      if (const auto error = reader.open(path)) {
        copy.problems.add_file(path, "cannot be opened: " + *error);
        return;
      }
      std::uint64_t bytes = 0;
      load::Line line;
      while (!has_failed_ && reader.next(line)) {
        if (!line.has_newline && !load::closes_array(line)) {
          break;  // torn
        }
        copy_line(path, line, process, copy, text);
        if (text.size() >= kText_bytes) {
          in_order.add(number, text);
          report_progress(reader.bytes_read() - std::exchange(bytes, reader.bytes_read()));
        }
      }
      if (reader.error()) {
        copy.problems.add_file(path, "cannot be read: " + *reader.error());
      }
      report_progress(reader.bytes_read() - bytes);
    };
    if (!overview_) {
      const model::TraceFile& file = traces_.files[plan_.processes[number].file];
      copy_file(file.path);
      std::for_each(file.later_paths.begin(), file.later_paths.end(), copy_file);
      if (copy.problems.files().empty()) {
        process.append_counters(text);  // else the lines of their operations are absent
      }
    }
    process.finish(text);
    if (overview_) {
      copy.lines.written = overview_->append(number, text);
    }
    in_order.add(number, text);
    copy.lines.written += process.written();
  }

  static void copy_line(const std::string& path, const load::Line& line, ProcessLines& process,
                        Copy& copy, std::string& text) {
    const std::string_view json = load::event_of_line(line);
    if (json.empty() && load::closes_array(line)) {
      return;
    }
    const auto failure = line.is_too_long ? std::optional<std::string>("longer than 1 MiB")
                                          : process.take(json, text);
    if (failure && copy.lines.damaged++ == 0) {
      copy.lines.first_damaged = path + ':' + std::to_string(line.number) + ": " + *failure;
    }
  }

  void report_progress(std::uint64_t bytes) {
    if (options_.bytes_read != nullptr) {
      *options_.bytes_read += bytes;
    }
  }

  const model::Traces& traces_;
  const align::Alignment& alignment_;
  const Plan& plan_;
  const WriteOptions& options_;
  OutputFile& output_;
  model::Problems& problems_;
  std::optional<PerfettoTrace> perfetto_;
  std::optional<Overview> overview_;
  HostCounters counters_;
  MergedLines lines_;
  std::string text_;
  std::atomic<bool> has_failed_ = false;  // the output
};

}  // namespace

MergedLines write_merged(const model::Traces& traces, const align::Alignment& alignment,
                         const Plan& plan, const WriteOptions& options, OutputFile& output,
                         model::Problems& problems) {
  return Writer(traces, alignment, plan, options, output, problems).write();
}

}  // namespace ringside::merge
