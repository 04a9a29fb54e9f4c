// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/trace/machine_line.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "analyzer/load/json/json_value.h"
#include "analyzer/load/json/parse_number.h"
#include "ringside/trace_schema.h"

namespace ringside::load {
namespace {

using simdjson::error_code;
using Value = simdjson::ondemand::value;

error_code take_link_member(std::string_view key, Value& value, topology::NvLink& link) {
  if (key == "link") return take_integer(value, link.number);
  if (key == "up") return take_bool(value, link.is_up.emplace());
  if (key == "version") return take_integer(value, link.version);
  if (key == "speed_mbytes_s") return take_integer(value, link.speed_mbytes_s);
  if (key == "remote_pci") return take_text(value, link.remote_pci);
  if (key == "remote") {
    std::string name;
    const error_code error = take_text(value, name);
    const auto& names = topology::kRemoteNames;
    const auto* const found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) {
      link.remote = static_cast<topology::Remote>(found - names.begin());
    }
    return error;
  }
  const auto& counters = topology::kLinkCounterNames;
  const auto* const counter = std::find(counters.begin(), counters.end(), key);
  if (counter != counters.end()) {
    std::int64_t count = 0;
    if (const auto error = take_integer(value, count)) return error;
    if (count < 0) return simdjson::NUMBER_OUT_OF_RANGE;
    link.errors[static_cast<std::size_t>(counter - counters.begin())] =
        static_cast<std::uint64_t>(count);
  }
  return simdjson::SUCCESS;
}

error_code take_links(Value& value, std::vector<topology::NvLink>& links) {
  simdjson::ondemand::array array;
  if (const auto error = value.get_array().get(array)) return error;
  for (auto element : array) {
    Value object;
    if (const auto error = element.get(object)) return error;
    topology::NvLink& link = links.emplace_back();
    const auto error = visit_object(object, [&](std::string_view key, Value& member) {
      return take_link_member(key, member, link);
    });
    if (error) return error;
  }
  return simdjson::SUCCESS;
}

// A counter of up to 64 bits: a number, or "0x..." above 2^53.
error_code take_counter(Value& value, std::uint64_t& count) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) {
    std::int64_t number = 0;
    const error_code error = take_integer(value, number);
    count = static_cast<std::uint64_t>(number);
    return error != simdjson::SUCCESS ? error
           : number < 0               ? simdjson::NUMBER_OUT_OF_RANGE
                                      : simdjson::SUCCESS;
  }
  const auto number = parse_hex(text);
  count = number.value_or(0);
  return number                   ? simdjson::SUCCESS
         : text.starts_with("0x") ? simdjson::NUMBER_OUT_OF_RANGE
                                  : simdjson::INCORRECT_TYPE;
}

error_code take_counters(Value& value, std::map<std::string, std::uint64_t>& counters) {
  return visit_object(value, [&](std::string_view key, Value& member) {
    std::uint64_t count = 0;
    const error_code error = take_counter(member, count);
    if (!error) {
      counters[std::string(key)] = count;
    }
    return error;
  });
}

error_code take_gpu_member(std::string_view key, Value& value, topology::Gpu& gpu) {
  if (key == "index") return take_integer(value, gpu.index);
  if (key == "pci") return take_text(value, gpu.pci);
  if (key == "uuid") return take_text(value, gpu.uuid);
  if (key == "name") return take_text(value, gpu.name);
  if (key == "pcie_generation") return take_integer(value, gpu.pcie_generation);
  if (key == "pcie_width") return take_integer(value, gpu.pcie_width);
  if (key == "most_pcie_generation") return take_integer(value, gpu.most_pcie_generation);
  if (key == "most_pcie_width") return take_integer(value, gpu.most_pcie_width);
  if (key == "numa_node") return take_integer(value, gpu.numa_node);
  if (key == "pci_path") return take_text(value, gpu.pci_path);
  if (key == "fabric_cluster") return take_text(value, gpu.fabric_cluster);
  if (key == "fabric_clique") return take_integer(value, gpu.fabric_clique);
  if (key == "links") return take_links(value, gpu.links);
  return simdjson::SUCCESS;
}

error_code take_port_member(std::string_view key, Value& value, topology::Port& port) {
  if (key == "device") return take_text(value, port.device);
  if (key == "port") return take_integer(value, port.number);
  if (key == "pci") return take_text(value, port.pci);
  if (key == "pci_path") return take_text(value, port.pci_path);
  if (key == "numa_node") return take_integer(value, port.numa_node);
  if (key == "link_layer") return take_text(value, port.link_layer);
  if (key == "state") return take_text(value, port.state);
  if (key == "rate_mbit_s") return take_integer(value, port.rate_mbit_s);
  if (key == "counters") return take_counters(value, port.counters);
  return simdjson::SUCCESS;
}

bool is_same(const topology::Gpu& one, const topology::Gpu& other) {
  return one.index == other.index;
}
bool is_same(const topology::Port& one, const topology::Port& other) {
  return std::tie(one.device, one.number) == std::tie(other.device, other.number);
}

// A line that is repeated takes the place of the one before.
template <typename Part>
void put(Part&& newer, std::vector<Part>& known) {
  const auto same = std::find_if(known.begin(), known.end(),
                                 [&](const Part& one) { return is_same(one, newer); });
  if (same != known.end()) {
    *same = std::move(newer);
  } else {
    known.push_back(std::move(newer));
  }
}

// The reading as ringside_topology tells it; its GPUs and ports have lines of their own.
void put_head(topology::Machine&& head, topology::Machine& known) {
  head.gpus = std::move(known.gpus);
  head.ports = std::move(known.ports);
  known = std::move(head);
}

Failure read_head(EventParser& parser, const Event& event, std::optional<std::int64_t>& ts_ns,
                  topology::Machine& machine) {
  std::string state;
  auto failure = parser.visit_arguments(event, [&](std::string_view key, Value& value) {
    if (key == "ts_ns") return take_integer(value, ts_ns);
    if (key == "state") return take_text(value, state);
    if (key == "reason") return take_text(value, machine.reason);
    if (key == "driver") return take_text(value, machine.driver);
    if (key == "took_ns") return take_integer(value, machine.took_ns);
    if (key == "nvml_ns") return take_integer(value, machine.nvml_ns);
    if (key == "left_out") return take_integer(value, machine.left_out);
    return simdjson::SUCCESS;
  });
  const auto& names = topology::kStateNames;
  const auto* const found = std::find(names.begin(), names.end(), state);
  if (!failure && found == names.end()) {
    return "the state of a topology is \"" + state + "\"";
  }
  machine.state = static_cast<topology::State>(found - names.begin());
  return failure;
}

}  // namespace

bool is_machine_line(std::string_view name) {
  return name == schema::kLineTopology || name == schema::kLineGpu || name == schema::kLinePort;
}

Failure read_machine_line(EventParser& parser, const Event& event, Part& part) {
  std::optional<std::int64_t> ts_ns;
  topology::Machine head;
  topology::Gpu gpu;
  topology::Port port;
  Failure failure;
  if (event.name == schema::kLineTopology) {
    failure = read_head(parser, event, ts_ns, head);
  } else {
    const bool is_gpu = event.name == schema::kLineGpu;
    failure = parser.visit_arguments(event, [&](std::string_view key, Value& value) {
      return key == "ts_ns" ? take_integer(value, ts_ns)
             : is_gpu       ? take_gpu_member(key, value, gpu)
                            : take_port_member(key, value, port);
    });
  }
  if (failure) {
    return failure;
  }
  if (!ts_ns) {
    return failure_of(simdjson::NO_SUCH_FIELD, "ts_ns");
  }
  topology::Machine& machine = part.file.machines[*ts_ns];
  if (event.name == schema::kLineTopology) {
    put_head(std::move(head), machine);
  } else if (event.name == schema::kLineGpu) {
    put(std::move(gpu), machine.gpus);
  } else {
    put(std::move(port), machine.ports);
  }
  return std::nullopt;
}

void append_machines(std::map<std::int64_t, topology::Machine>&& next,
                     std::map<std::int64_t, topology::Machine>& known) {
  for (auto& [ts_ns, newer] : next) {
    topology::Machine& machine = known[ts_ns];
    for (topology::Gpu& gpu : newer.gpus) {
      put(std::move(gpu), machine.gpus);
    }
    for (topology::Port& port : newer.ports) {
      put(std::move(port), machine.ports);
    }
    if (newer.took_ns != 0 || newer.state != topology::State::kComplete) {
      put_head(std::move(newer), machine);
    }
  }
}

}  // namespace ringside::load
