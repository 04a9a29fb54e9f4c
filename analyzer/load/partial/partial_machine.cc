// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/partial/partial_machine.h"

#include <utility>
#include <vector>

namespace ringside::load {

template <>
inline constexpr std::uint64_t kGreatest<topology::State> = topology::kStateNames.size() - 1;
template <>
inline constexpr std::uint64_t kGreatest<topology::Remote> = topology::kRemoteNames.size() - 1;

namespace {

// The members of each type, for writer and reader alike. GPUs, ports and links have tables of their
// own, whose rows say how many belong to the row above.
template <typename Archive>
void visit(Archive& archive, Of<Archive, topology::Machine> machine,
           Of<Archive, std::uint64_t> gpu_count, Of<Archive, std::uint64_t> port_count) {
  auto& [state, reason, driver, took_ns, nvml_ns, gpus, ports, left_out] = machine;
  archive(state, reason, driver, took_ns, nvml_ns, left_out, gpu_count, port_count);
}

template <typename Archive>
void visit(Archive& archive, Of<Archive, topology::Gpu> gpu,
           Of<Archive, std::uint64_t> link_count) {
  auto& [index, pci, uuid, name, pcie_generation, pcie_width, most_pcie_generation, most_pcie_width,
         numa_node, pci_path, fabric_cluster, fabric_clique, links] = gpu;
  archive(index, pci, uuid, name, pcie_generation, pcie_width, most_pcie_generation,
          most_pcie_width, numa_node, pci_path, fabric_cluster, fabric_clique, link_count);
}

template <typename Archive>
void visit(Archive& archive, Of<Archive, topology::NvLink> link) {
  auto& [number, is_up, version, speed_mbytes_s, remote, remote_pci, errors] = link;
  archive(number, is_up, version, speed_mbytes_s, remote, remote_pci);
  for (auto& counter : errors) {
    archive(counter);
  }
}

template <typename Archive>
void visit(Archive& archive, Of<Archive, topology::Port> port,
           Of<Archive, std::uint64_t> counter_count) {
  auto& [device, number, pci, pci_path, numa_node, link_layer, state, rate_mbit_s, counters] = port;
  archive(device, number, pci, pci_path, numa_node, link_layer, state, rate_mbit_s, counter_count);
}

// Reads a table whose rows belong to `owners`: `counts` has how many each of them has. False if the
// table is damaged or has another number of rows. read(reader, owner) reads one row.
template <typename Owner, typename Read>
bool read_owned(ByteReader& bytes, const std::vector<Owner*>& owners,
                const std::vector<std::uint64_t>& counts, Read read) {
  std::size_t owner = 0;
  std::uint64_t taken = 0;
  const auto skip_full = [&] {
    for (; owner < owners.size() && taken == counts[owner]; ++owner) {
      taken = 0;
    }
  };
  const bool is_whole = read_table(bytes, [&](ColumnReader& reader) {
    skip_full();
    if (owner == owners.size()) {
      reader.check(false);
      return;
    }
    read(reader, *owners[owner]);
    ++taken;
  });
  skip_full();
  return is_whole && owner == owners.size();
}

// The rows of a table that `owners` have in `member`, in the order of the table.
template <typename Owner, typename Row>
std::vector<Row*> rows_of(const std::vector<Owner*>& owners, std::vector<Row> Owner::*member) {
  std::vector<Row*> rows;
  for (Owner* const owner : owners) {
    for (Row& row : owner->*member) {
      rows.push_back(&row);
    }
  }
  return rows;
}

}  // namespace

void write_machines(const std::map<std::int64_t, topology::Machine>& machines, std::string& bytes) {
  ColumnWriter readings;
  ColumnWriter gpus;
  ColumnWriter links;
  ColumnWriter ports;
  ColumnWriter counters;
  for (const auto& [time_ns, machine] : machines) {
    readings.begin_row();
    readings(time_ns);
    visit(readings, machine, machine.gpus.size(), machine.ports.size());
    for (const topology::Gpu& gpu : machine.gpus) {
      gpus.begin_row();
      visit(gpus, gpu, gpu.links.size());
      for (const topology::NvLink& link : gpu.links) {
        links.begin_row();
        visit(links, link);
      }
    }
    for (const topology::Port& port : machine.ports) {
      ports.begin_row();
      visit(ports, port, port.counters.size());
      for (const auto& [name, value] : port.counters) {
        counters.begin_row();
        counters(name, value);
      }
    }
  }
  for (const ColumnWriter* const table : {&readings, &gpus, &links, &ports, &counters}) {
    table->append_to(bytes);
  }
}

bool read_machines(ByteReader& bytes, std::map<std::int64_t, topology::Machine>& machines) {
  std::vector<topology::Machine*> all;
  std::vector<std::uint64_t> gpu_counts;
  std::vector<std::uint64_t> port_counts;
  const bool are_readings_whole = read_table(bytes, [&](ColumnReader& reader) {
    std::int64_t time_ns = 0;
    topology::Machine machine;
    reader(time_ns);
    visit(reader, machine, gpu_counts.emplace_back(), port_counts.emplace_back());
    const auto [at, is_new] = machines.emplace(time_ns, std::move(machine));
    reader.check(is_new);
    all.push_back(&at->second);
  });
  std::vector<std::uint64_t> link_counts;
  std::vector<std::uint64_t> counter_counts;
  if (!are_readings_whole ||
      !read_owned(bytes, all, gpu_counts, [&](ColumnReader& reader, topology::Machine& machine) {
        visit(reader, machine.gpus.emplace_back(), link_counts.emplace_back());
      })) {
    return false;
  }
  if (!read_owned(bytes, rows_of(all, &topology::Machine::gpus), link_counts,
                  [](ColumnReader& reader, topology::Gpu& gpu) {
                    visit(reader, gpu.links.emplace_back());
                  }) ||
      !read_owned(bytes, all, port_counts, [&](ColumnReader& reader, topology::Machine& machine) {
        visit(reader, machine.ports.emplace_back(), counter_counts.emplace_back());
      })) {
    return false;
  }
  return read_owned(bytes, rows_of(all, &topology::Machine::ports), counter_counts,
                    [](ColumnReader& reader, topology::Port& port) {
                      std::pair<std::string, std::uint64_t> counter;
                      reader(counter.first, counter.second);
                      reader.check(port.counters.insert(std::move(counter)).second);
                    });
}

}  // namespace ringside::load
