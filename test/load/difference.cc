// SPDX-License-Identifier: Apache-2.0
#include "test/load/difference.h"

#include <algorithm>
#include <concepts>
#include <set>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ringside::plain {
namespace {

// One thing of the model as text: "key=value key=value".
class Text {
 public:
  explicit Text(std::string start) : text_(std::move(start)) {}

  template <typename Value>
  Text& add(const char* key, const Value& value) {
    text_ += std::string(" ") + key + '=';
    append(value);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  template <typename Value>
  void append(const Value& value) {
    if constexpr (std::convertible_to<Value, std::string_view>) {
      text_ += '"' + std::string(value) + '"';
    } else if constexpr (std::is_enum_v<Value>) {
      text_ += std::to_string(static_cast<int>(value));
    } else if constexpr (std::integral<Value>) {
      text_ += std::to_string(value);
    } else if (value) {
      append(*value);
    } else {
      text_ += '-';
    }
  }

  std::string text_;
};

using Lines = std::vector<std::string>;

std::string describe(const model::Operation& operation, const model::NameTable& names) {
  return Text("operation")
      .add("id", operation.id)
      .add("context", operation.context)
      .add("kind", operation.kind)
      .add("times_from", operation.times_from)
      .add("state", operation.state)
      .add("in_flight", operation.in_flight)
      .add("func", names.text(operation.func))
      .add("datatype", names.text(operation.datatype))
      .add("algo", names.text(operation.algo))
      .add("proto", names.text(operation.proto))
      .add("seq", operation.seq)
      .add("count", operation.count)
      .add("bytes", operation.bytes)
      .add("root", operation.root)
      .add("peer", operation.peer)
      .add("group", operation.group)
      .add("window", operation.window)
      .add("channels", operation.channels)
      .add("graph", operation.graph)
      .add("gpu_polled", operation.gpu_polled)
      .add("start_is_latest", operation.start_is_latest)
      .add("gpu_rejected", operation.gpu_rejected)
      .add("stream", names.text(operation.stream))
      .add("sample_of", operation.sample_of)
      .add("sampled_out", operation.sampled_out)
      .add("tid", operation.tid)
      .add("enqueue_start_ns", operation.enqueue_start_ns)
      .add("enqueue_end_ns", operation.enqueue_end_ns)
      .add("start_ns", operation.start_ns)
      .add("end_ns", operation.end_ns)
      .text();
}

std::string describe(const model::ProxyOperation& proxy) {
  return Text("proxy")
      .add("operation", proxy.operation)
      .add("context", proxy.context)
      .add("peer", proxy.peer)
      .add("channel", proxy.channel)
      .add("is_send", proxy.is_send)
      .add("in_flight", proxy.in_flight)
      .add("start_ns", proxy.start_ns)
      .add("end_ns", proxy.end_ns)
      .add("bytes", proxy.bytes)
      .add("steps", proxy.steps)
      .add("foreign_pid", proxy.foreign_pid)
      .text();
}

std::string describe(const model::Step& step) {
  return Text("step")
      .add("operation", step.operation)
      .add("context", step.context)
      .add("peer", step.peer)
      .add("channel", step.channel)
      .add("is_send", step.is_send)
      .add("in_flight", step.in_flight)
      .add("start_ns", step.start_ns)
      .add("end_ns", step.end_ns)
      .add("bytes", step.bytes)
      .add("gpu_wait_ns", step.gpu_wait_ns)
      .add("peer_wait_ns", step.peer_wait_ns)
      .add("transfer_ns", step.transfer_ns)
      .add("flush_ns", step.flush_ns)
      .text();
}

std::string describe(const model::Process& process) {
  return Text("process")
      .add("run_id", process.run_id)
      .add("dump", process.dump)
      .add("segment", process.segment)
      .add("segment_start_ns", process.segment_start_ns)
      .add("job", process.job)
      .add("host", process.host)
      .add("boot_id", process.boot_id)
      .add("pid", process.pid)
      .add("launcher_rank", process.launcher_rank)
      .add("base_time_s", process.base_time_s)
      .add("start_ns", process.start_ns)
      .add("nccl_version", process.nccl_version)
      .add("abi", process.abi)
      .add("coll_of", process.sampling.coll_of)
      .add("p2p_of", process.sampling.p2p_of)
      .add("window_ns", process.sampling.window_ns)
      .add("period_ns", process.sampling.period_ns)
      .add("min_bytes", process.sampling.min_bytes)
      .add("starts_at_load", process.starts_at_load)
      .add("has_events", process.has_events)
      .text();
}

std::string describe(const model::Context& context, std::uint32_t number) {
  return Text("context")
      .add("number", number)
      .add("comm", context.comm)
      .add("name", context.name)
      .add("rank", context.rank)
      .add("nranks", context.nranks)
      .add("created_ns", context.created_ns)
      .add("finalized_ns", context.finalized_ns)
      .add("operations", context.operations)
      .text();
}

std::string describe(const model::Account& account) {
  Text text("account");
  text.add("produced", account.produced)
      .add("sampled_out", account.sampled_out)
      .add("in_rings", account.in_rings)
      .add("rotated", account.rotated)
      .add("given_up", account.given_up);
  for (const auto& [reason, callbacks] : account.dropped) {
    text.add(reason.c_str(), callbacks);
  }
  return text.text();
}

std::string describe(const topology::Gpu& gpu) {
  Text text("gpu");
  text.add("index", gpu.index)
      .add("pci", gpu.pci)
      .add("uuid", gpu.uuid)
      .add("name", gpu.name)
      .add("pcie_generation", gpu.pcie_generation)
      .add("pcie_width", gpu.pcie_width)
      .add("most_pcie_generation", gpu.most_pcie_generation)
      .add("most_pcie_width", gpu.most_pcie_width)
      .add("numa_node", gpu.numa_node)
      .add("pci_path", gpu.pci_path)
      .add("fabric_cluster", gpu.fabric_cluster)
      .add("fabric_clique", gpu.fabric_clique);
  for (const topology::NvLink& link : gpu.links) {
    text.add("link", link.number)
        .add("is_up", link.is_up)
        .add("version", link.version)
        .add("speed_mbytes_s", link.speed_mbytes_s)
        .add("remote", link.remote)
        .add("remote_pci", link.remote_pci);
    for (const auto& errors : link.errors) {
      text.add("errors", errors);
    }
  }
  return text.text();
}

std::string describe(const topology::Port& port) {
  Text text("port");
  text.add("device", port.device)
      .add("number", port.number)
      .add("pci", port.pci)
      .add("pci_path", port.pci_path)
      .add("numa_node", port.numa_node)
      .add("link_layer", port.link_layer)
      .add("state", port.state)
      .add("rate_mbit_s", port.rate_mbit_s);
  for (const auto& [name, count] : port.counters) {
    text.add(name.c_str(), count);
  }
  return text.text();
}

std::string describe_whole(const model::TraceFile& file) {
  return Text("file")
      .add("path", file.path)
      .add("last_ns", file.last_ns)
      .add("operations_written", file.operations_written)
      .add("segments", file.segments)
      .add("segments_missing", file.segments_missing)
      .add("next_segment", file.next_segment)
      .add("closed", file.closed)
      .add("recovered", file.recovered)
      .add("silent_ns", file.silent_ns)
      .add("marks_lost", file.marks_lost)
      .add("ranges_lost", file.ranges_lost)
      .add("torn", file.torn)
      .add("size_bytes", file.size_bytes)
      .add("lines", file.lines)
      .add("bad_lines", file.bad_lines)
      .text();
}

void describe(const model::TraceFile& file, const model::NameTable& names, Lines& lines) {
  lines.push_back(describe_whole(file));
  lines.push_back(describe(file.process));
  lines.push_back(describe(file.account));
  for (const auto& [number, context] : file.contexts) {
    lines.push_back(describe(context, number));
  }
  for (const auto& [number, window] : file.windows) {
    lines.push_back(Text("window")
                        .add("number", number)
                        .add("start_ns", window.start_ns)
                        .add("end_ns", window.end_ns)
                        .text());
  }
  for (const auto& [number, mark] : file.marks) {
    lines.push_back(Text("mark")
                        .add("number", number)
                        .add("name", names.text(mark.name))
                        .add("tid", mark.tid)
                        .add("is_range", mark.is_range)
                        .add("start_ns", mark.start_ns)
                        .add("end_ns", mark.end_ns)
                        .text());
  }
  for (const model::ClockReading& reading : file.clocks) {
    lines.push_back(Text("clock")
                        .add("ts_ns", reading.ts_ns)
                        .add("realtime_ns", reading.realtime_ns)
                        .add("monotonic_ns", reading.monotonic_ns)
                        .add("uncertainty_ns", reading.uncertainty_ns)
                        .add("is_synchronised", reading.is_synchronised)
                        .add("estimated_error_ns", reading.estimated_error_ns)
                        .add("maximum_error_ns", reading.maximum_error_ns)
                        .add("step_after_ns", reading.step_after_ns)
                        .text());
  }
  // If the line of a reading itself is repeated and tells less, it depends on the ranges which of
  // them counts. The plugin writes the same line again.
  for (const auto& [ts_ns, machine] : file.machines) {
    lines.push_back(Text("machine").add("ts_ns", ts_ns).text());
    for (const topology::Gpu& gpu : machine.gpus) {
      lines.push_back(describe(gpu));
    }
    for (const topology::Port& port : machine.ports) {
      lines.push_back(describe(port));
    }
  }
  for (const model::Operation& operation : file.operations) {
    lines.push_back(describe(operation, names));
  }
  for (const model::ProxyOperation& proxy : file.proxies) {
    lines.push_back(describe(proxy));
  }
  for (const model::Step& step : file.steps) {
    lines.push_back(describe(step));
  }
}

std::string first_difference(const Lines& one, const Lines& other) {
  const auto at = [](const Lines& lines, std::size_t i) {
    return i < lines.size() ? lines[i] : std::string("nothing more");
  };
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    if (at(one, i) != at(other, i)) {
      return at(one, i) + "\ninstead of\n" + at(other, i);
    }
  }
  return {};
}

Lines describe(const model::Traces& traces) {
  Lines lines;
  for (const model::TraceFile& file : traces.files) {
    describe(file, traces.names, lines);
  }
  return lines;
}

Lines describe(const model::Problems& problems) {
  Lines lines = {Text("bad lines").add("number", problems.bad_lines()).text()};
  for (const model::Problem& problem : problems.lines()) {
    lines.push_back(Text("bad line").add("path", problem.path).add("number", problem.line).text());
  }
  std::set<std::string> paths;
  for (const model::Problem& problem : problems.files()) {
    paths.insert(problem.path);
  }
  for (const std::string& path : paths) {
    lines.push_back(Text("bad file").add("path", path).text());
  }
  return lines;
}

}  // namespace

std::string difference_of(const model::Traces& one, const model::Traces& other) {
  return first_difference(describe(one), describe(other));
}

std::string difference_of(const model::Problems& one, const model::Problems& other) {
  return first_difference(describe(one), describe(other));
}

}  // namespace ringside::plain
