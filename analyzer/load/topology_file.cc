// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/topology_file.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace ringside::load {
namespace {

// A table of nvidia-smi has tabs and blanks between its cells, and may be underlined on a terminal.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '\x1b') {
      i = std::min(line.find('m', i), line.size() - 1);
    } else if (i == line.size() || line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
      if (!cell.empty()) {
        cells.push_back(std::exchange(cell, {}));
      }
    } else {
      cell += line[i];
    }
  }
  return cells;
}

bool is_numbered(std::string_view text, std::string_view word, std::uint32_t& number) {
  if (!text.starts_with(word)) {
    return false;
  }
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + word.size(), end, number);
  return error == std::errc() && at == end;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// How many of the header's columns are GPUs; they come first.
std::size_t gpu_columns(std::string_view line) {
  const std::vector<std::string> cells = cells_of(line);
  std::uint32_t number = 0;
  const auto end = std::find_if(cells.begin(), cells.end(), [&](const std::string& cell) {
    return !is_numbered(cell, "GPU", number);
  });
  return static_cast<std::size_t>(end - cells.begin());
}

// One row of the matrix: GPU3, then a cell for each GPU.
bool read_row(const std::vector<std::string>& cells, std::size_t gpus, topology::Gpu& gpu,
              std::string& error) {
  gpu.pci = cells[0];
  for (std::size_t other = 0; other < gpus; ++other) {
    if (other + 1 >= cells.size()) {
      error = "the row of " + cells[0] + " has " + std::to_string(cells.size() - 1) +
              " cells, and there are " + std::to_string(gpus) + " GPUs";
      return false;
    }
    std::uint32_t links = 0;
    constexpr std::uint32_t kMostLinks = 1000;
    if (!cells[other + 1].starts_with("NV")) {
      continue;  // X, or the PCI distance of GPUs that no NVLink joins
    }
    if (!is_numbered(cells[other + 1], "NV", links) || links > kMostLinks) {
      error =
          "the row of " + cells[0] + " has " + cells[other + 1] + ", which is no number of links";
      return false;
    }
    for (std::uint32_t i = 0; i < links; ++i) {
      topology::NvLink link;
      link.number = static_cast<std::uint32_t>(gpu.links.size());
      link.is_up = true;
      link.remote = topology::Remote::kGpu;
      link.remote_pci = "GPU" + std::to_string(other);
      gpu.links.push_back(std::move(link));
    }
  }
  return true;
}

std::optional<TopologyFile> read_nvidia_smi(std::string_view text, std::string& error) {
  TopologyFile file;
  file.source = "nvidia-smi topo -m";
  file.tells_switches = false;
  const std::vector<std::string_view> lines = lines_of(text);
  std::size_t at = 0;
  while (at < lines.size() && gpu_columns(lines[at]) == 0) {
    ++at;
  }
  const std::size_t gpus = at < lines.size() ? gpu_columns(lines[at]) : 0;
  for (++at; at < lines.size() && file.machine.gpus.size() < gpus; ++at) {
    const std::vector<std::string> cells = cells_of(lines[at]);
    std::uint32_t number = 0;
    if (cells.empty() || !is_numbered(cells[0], "GPU", number)) {
      break;
    }
    topology::Gpu gpu;
    gpu.index = number;
    if (!read_row(cells, gpus, gpu, error)) {
      return std::nullopt;
    }
    file.labels.push_back("GPU " + std::to_string(number));
    file.machine.gpus.push_back(std::move(gpu));
  }
  if (file.machine.gpus.size() != gpus || gpus == 0) {
    error = "its header has " + std::to_string(gpus) + " GPUs, and there are " +
            std::to_string(file.machine.gpus.size()) + " rows of GPUs";
    return std::nullopt;
  }
  return file;
}

}  // namespace

std::optional<TopologyFormat> topology_format(std::string_view text) {
  std::string_view start = text;
  while (!start.empty() && (start.front() == ' ' || start.front() == '\n' ||
                            start.front() == '\r' || start.front() == '\t')) {
    start.remove_prefix(1);
  }
  if (start.starts_with("<system") || start.starts_with("<?xml")) {
    return TopologyFormat::kNcclXml;
  }
  const std::vector<std::string_view> lines = lines_of(text.substr(0, 4096));
  const bool is_table = std::any_of(lines.begin(), lines.end(),
                                    [](std::string_view line) { return gpu_columns(line) > 0; });
  return is_table ? std::optional(TopologyFormat::kNvidiaSmi) : std::nullopt;
}

std::optional<TopologyFile> read_topology_text(std::string_view text, TopologyFormat format,
                                               std::string& error) {
  return format == TopologyFormat::kNcclXml ? read_nccl_xml(text, error)
                                            : read_nvidia_smi(text, error);
}

}  // namespace ringside::load
