// SPDX-License-Identifier: Apache-2.0
//
// The matrix of `nvidia-smi topo -m`, as words: names of columns, then each name again with a cell
// for each column, and the affinities of a GPU. So a terminal may have broken the lines, and
// columns may be in any order.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/load/json/parse_number.h"
#include "analyzer/load/source/plain_text.h"
#include "analyzer/load/topology/topology_file.h"

namespace ringside::load {
namespace {

constexpr std::uint32_t kMostOfPair = 1000;
// A cell has one of these words, or X, or the number of NVLinks. Old drivers print SOC and PSB.
constexpr std::array<std::string_view, 7> kDistances = {"PIX", "PXB", "PHB", "NODE",
                                                        "SYS", "SOC", "PSB"};
constexpr std::array<std::string_view, 7> kPeerStates = {"OK",  "NS", "CNS", "GNS",
                                                         "TNS", "DR", "U"};

struct Word {
  std::string_view text;
  std::size_t line = 0;   // from 1
  std::size_t place = 0;  // in its line
};
using Words = std::vector<Word>;

template <std::size_t kCount>
bool is_one_of(const std::array<std::string_view, kCount>& all, std::string_view word) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

std::optional<std::uint32_t> numbered(std::string_view text, std::string_view name) {
  return text.starts_with(name) ? parse_number<std::uint32_t>(text.substr(name.size()))
                                : std::nullopt;
}

// The lines of each label ("node1:") together, if all lines have one: pdsh and mpirun write those
// of several hosts as they come.
std::string with_labels_together(const std::string& text) {
  std::vector<std::string_view> lines;
  std::map<std::string_view, std::size_t> order;  // by label
  const auto label_of = [](std::string_view line) {
    const std::string_view label = line.substr(0, line.find(':'));
    return label.size() < line.size() && label.find_first_of(" \t") == label.npos
               ? label
               : std::string_view();
  };
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) {
      continue;
    }
    if (label_of(line).empty()) {
      return text;
    }
    lines.push_back(line);
    order.try_emplace(label_of(line), order.size());
  }
  std::stable_sort(lines.begin(), lines.end(), [&](std::string_view a, std::string_view b) {
    return order[label_of(a)] < order[label_of(b)];
  });
  std::string together;
  for (const std::string_view line : lines) {
    together.append(line).append("\n");
  }
  return together;
}

// Lines of the parts of a GPU are left out: NVLink joins whole GPUs.
Words words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  Words words;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    std::size_t begin = whole.find_first_not_of(kBlanks);
    for (std::size_t place = 0; begin != whole.npos; ++place) {
      const std::size_t end = std::min(whole.find_first_of(kBlanks, begin), whole.size());
      const std::string_view word = whole.substr(begin, end - begin);
      if (place == 0 && word.starts_with("MIG")) {
        break;
      }
      words.push_back({word, line, place});
      begin = whole.find_first_not_of(kBlanks, end);
    }
  }
  return words;
}

struct Header {
  std::size_t begin = 0;
  std::size_t place = 0;                     // of its first word, in its line
  std::vector<std::string_view> devices;     // GPUs and adapters
  std::vector<std::string_view> affinities;  // the first words of their names
  std::size_t end = 0;                       // the word after it: a row begins

  bool has(std::string_view name) const {
    return std::find(devices.begin(), devices.end(), name) != devices.end();
  }
  // A row begins with its name; where each line has a label, as the header's, with that.
  std::optional<std::size_t> name_of_row(const Words& words, std::size_t at) const {
    for (const std::size_t label : {std::size_t{0}, place}) {
      if (at + label < words.size() && words[at].place == 0 && words[at + label].place == label &&
          has(words[at + label].text)) {
        return at + label;
      }
    }
    return std::nullopt;
  }
  std::size_t gpus() const {
    return static_cast<std::size_t>(
        std::count_if(devices.begin(), devices.end(),
                      [](std::string_view name) { return numbered(name, "GPU").has_value(); }));
  }
};

// A name of a GPU or an adapter ends with its number: GPU0, NIC11, mlx5_0, rocep1s0f1.
bool is_device(std::string_view word) {
  const bool is_name = word.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "0123456789_-.") == word.npos &&
                       !(word.front() >= '0' && word.front() <= '9');
  return is_name && word.back() >= '0' && word.back() <= '9' && !numbered(word, "NV");
}

// The header that begins with the word `at`, which becomes the word where the search ended.
std::optional<Header> header_at(const Words& words, std::size_t& at) {
  constexpr std::size_t kMostColumns = 1024;
  Header header;
  header.begin = at;
  header.place = words[at].place;
  std::string_view phrase;
  for (; at < words.size() && header.devices.size() < kMostColumns; ++at) {
    const std::string_view word = words[at].text;
    if (header.gpus() > 0 && phrase.empty() && header.name_of_row(words, at)) {
      header.end = at;
      return header;
    }
    if (word == "CPU" || word == "NUMA" || word == "GPU") {
      phrase = phrase.empty() ? word : phrase;
    } else if ((word == "Affinity" || word == "ID") && !phrase.empty()) {
      header.affinities.push_back(std::exchange(phrase, {}));
    } else if (!is_device(word) || header.has(word)) {
      return std::nullopt;
    } else {
      header.devices.push_back(word);
    }
  }
  return std::nullopt;
}

std::optional<Header> next_header(const Words& words, std::size_t from) {
  for (std::size_t at = from; at < words.size(); ++at) {
    const std::size_t begin = at;
    if (words[at].place > 0 && !numbered(words[at].text, "GPU")) {
      continue;  // behind a label, the first column is a GPU
    }
    if (words[at].place == 0 && at + 1 < words.size() && words[at + 1].place == 0) {
      continue;  // a word by itself is a title, as the name of a host
    }
    if (auto header = header_at(words, at)) {
      return header;
    }
    at -= at > begin ? 1 : 0;  // the word that ended it may begin another
  }
  return std::nullopt;
}

// "0-55,112-167", "0x3ff", "1", "N/A".
bool is_affinity(std::string_view word) {
  return word == "N/A" || (word.find_first_not_of("0123456789abcdefx,-") == word.npos &&
                           word.front() >= '0' && word.front() <= '9');
}

class TableReader {
 public:
  TableReader(const Words& words, const Header& header)
      : words_(words), header_(header), at_(header.end) {}

  std::string error() const { return error_; }
  /// Whether it was refused as one of `topo -p2p`.
  bool is_of_peers() const { return is_of_peers_; }
  std::size_t end() const { return at_; }

  bool read(model::TopologyHost& host) {
    std::set<std::string_view> done;
    while (const auto name = header_.name_of_row(words_, at_)) {
      at_ = *name;
      const std::string_view row = words_[at_].text;
      if (!done.insert(row).second) {
        return fail(words_[at_], "there is a second row of " + std::string(row));
      }
      if (!read_row(row, host)) {
        return false;
      }
    }
    if (host.machine.gpus.size() != header_.gpus()) {
      return fail(words_[header_.begin],
                  "the header has " + std::to_string(header_.gpus()) + " GPUs, and there are " +
                      std::to_string(host.machine.gpus.size()) + " rows of GPUs");
    }
    return true;
  }

 private:
  bool fail(const Word& word, const std::string& why) {
    error_ = "line " + std::to_string(word.line) + ": " + why;
    return false;
  }

  bool read_row(std::string_view row, model::TopologyHost& host) {
    const Word& name = words_[at_++];
    topology::Gpu gpu;
    std::map<std::string, std::vector<std::string>> adapters;
    for (std::size_t i = 0; i < header_.devices.size(); ++i, ++at_) {
      const std::string_view column = header_.devices[i];
      if (at_ == words_.size() || header_.name_of_row(words_, at_)) {
        return fail(name, "the row of " + std::string(row) + " has " + std::to_string(i) +
                              " cells, and there are " + std::to_string(header_.devices.size()) +
                              " columns of GPUs and adapters");
      }
      const std::string_view cell = words_[at_].text;
      const auto links = numbered(cell, "NV");
      const bool is_known = row == column ? cell == "X"
                                          : (links && *links > 0 && *links <= kMostOfPair) ||
                                                is_one_of(kDistances, cell);
      if (!is_known) {
        return refuse(words_[at_], row, column);
      }
      if (numbered(column, "GPU")) {
        topology::NvLink link;
        link.is_up = true;
        link.remote = topology::Remote::kGpu;
        link.remote_pci = column;
        gpu.links.resize(gpu.links.size() + links.value_or(0), link);
      } else if (row != column && !links) {
        adapters[std::string(cell == "SOC"   ? "SYS"
                             : cell == "PSB" ? "PIX"
                                             : cell)]
            .emplace_back(column);
      }
    }
    const std::optional<std::int32_t> node = read_affinities();
    if (at_ < words_.size() && words_[at_].place > 0) {
      return refuse(words_[at_], row, "its end");
    }
    if (const auto index = numbered(row, "GPU")) {
      gpu.index = *index;
      gpu.pci = row;
      gpu.numa_node = node;
      for (std::size_t i = 0; i < gpu.links.size(); ++i) {
        gpu.links[i].number = static_cast<std::uint32_t>(i);
      }
      host.labels.push_back("GPU " + std::to_string(*index));
      host.machine.gpus.push_back(std::move(gpu));
      host.adapters.push_back(std::move(adapters));
    }
    return true;
  }

  bool refuse(const Word& cell, std::string_view row, std::string_view column) {
    if (is_one_of(kPeerStates, cell.text)) {
      is_of_peers_ = true;
      return fail(cell,
                  "`" + std::string(cell.text) +
                      "` is of `nvidia-smi topo -p2p`, which says whether GPUs reach each other, "
                      "not by how many links: give what `nvidia-smi topo -m` prints");
    }
    return fail(cell, "unknown cell `" + std::string(cell.text) + "` in the row of " +
                          std::string(row) + ", at " + std::string(column));
  }

  // The NUMA node, if all affinities are there: one that is blank is not known from the next.
  std::optional<std::int32_t> read_affinities() {
    std::vector<std::string_view> found;
    for (; at_ < words_.size() && is_affinity(words_[at_].text) &&
           found.size() < header_.affinities.size();
         ++at_) {
      found.push_back(words_[at_].text);
      while (at_ + 1 < words_.size() && words_[at_].text.ends_with(',')) {
        ++at_;  // "0-3, 8-11"
      }
    }
    const auto numa = std::find(header_.affinities.begin(), header_.affinities.end(), "NUMA");
    if (found.size() != header_.affinities.size() || numa == header_.affinities.end()) {
      return std::nullopt;
    }
    const auto node =
        numbered(found[static_cast<std::size_t>(numa - header_.affinities.begin())], "");
    return node ? std::optional(static_cast<std::int32_t>(*node)) : std::nullopt;
  }

  const Words& words_;
  const Header& header_;
  std::size_t at_;
  std::string error_;
  bool is_of_peers_ = false;
};

// "NIC0: mlx5_0", below the table. Returns the word after the last one.
std::size_t read_legend(const Words& words, std::size_t from, std::size_t until,
                        const Header& header, model::TopologyHost& host) {
  std::size_t end = from;
  for (std::size_t at = from; at + 1 < until; ++at) {
    const std::string_view name = words[at].text.substr(0, words[at].text.size() - 1);
    const bool is_entry =
        words[at].text.ends_with(':') && words[at + 1].place > 0 && header.has(name);
    if (!is_entry) {
      continue;
    }
    end = at + 2;
    for (auto& adapters : host.adapters) {
      for (auto& [distance, devices] : adapters) {
        std::replace(devices.begin(), devices.end(), std::string(name),
                     std::string(words[at + 1].text));
      }
    }
  }
  return end;
}

// The title of a table is what each of its lines begins with ("node1:"), or the line above it, if
// that line is one word ("== node1 ==").
std::string title_of(const Words& words, std::size_t from, const Header& header) {
  constexpr std::string_view kMarks = "=-#*|:[]()<>";
  const std::string_view label = words[header.begin - header.place].text;
  if (header.place > 0 && label.ends_with(':')) {
    return std::string(label.substr(0, label.size() - 1));
  }
  std::string_view title;
  std::size_t line = 0;
  std::size_t count = 0;  // of the line's words
  for (std::size_t at = from; at < header.begin - header.place; ++at) {
    const std::string_view word = words[at].text;
    const std::size_t begin = word.find_first_not_of(kMarks);
    if (begin != word.npos) {
      title = word.substr(begin, word.find_last_not_of(kMarks) + 1 - begin);
      if (title.find('[') != title.npos) {  // "node[2-3]"
        title = word.substr(begin, word.rfind(']') + 1 - begin);
      }
      count = words[at].line == line ? count + 1 : 1;
      line = words[at].line;
    }
  }
  return count == 1 ? std::string(title)
                    : "table of line " + std::to_string(words[header.begin].line);
}

// `topo -mp` has the ways through PCI only, whatever NVLinks there are. Its legend has no NV#.
bool is_pci_only(std::span<const Word> above, std::span<const Word> below,
                 const topology::Machine& machine) {
  const auto has_pair = [](std::span<const Word> words, std::string_view one,
                           std::string_view next) {
    return std::adjacent_find(words.begin(), words.end(), [&](const Word& a, const Word& b) {
             return a.text == one && b.text == next;
           }) != words.end();
  };
  return (has_pair(above, "topo", "-mp") || has_pair(above, "topo", "--matrix_pci") ||
          (has_pair(below, "SYS", "=") && !has_pair(below, "NV#", "="))) &&
         std::all_of(machine.gpus.begin(), machine.gpus.end(),
                     [](const topology::Gpu& gpu) { return gpu.links.empty(); });
}

}  // namespace

bool has_nvidia_smi(std::string_view text) {
  const std::string plain = plain_text(text);
  return next_header(words_of(plain), 0).has_value();
}

std::optional<model::TopologyFile> read_nvidia_smi(std::string_view text, std::string& error) {
  if (text.find(" between two GPUs") != text.npos) {
    error =
        "this is of `rocm-smi --showtopo`, which is not read; RCCL's own dump is "
        "(NCCL_TOPO_DUMP_FILE)";
    return std::nullopt;
  }
  const std::string plain = with_labels_together(plain_text(text));
  const Words words = words_of(plain);
  model::TopologyFile file;
  file.source = "nvidia-smi topo -m";
  file.tells_switches = false;
  std::size_t from = 0;
  std::size_t above = 0;  // the end of the table before
  std::set<std::string> names;
  for (auto header = next_header(words, 0); header;) {
    model::TopologyHost& host = file.hosts.emplace_back();
    host.name = title_of(words, from, *header);
    if (!names.insert(host.name).second) {
      host.name += ", line " + std::to_string(words[header->begin].line);
    }
    TableReader table(words, *header);
    const bool is_read = table.read(host);
    auto next = next_header(words, table.end());
    const std::size_t until = next ? next->begin : words.size();
    const std::span all(words);
    if (is_read && !is_pci_only(all.subspan(above, header->begin - above),
                                all.subspan(table.end(), until - table.end()), host.machine)) {
      from = read_legend(words, table.end(), until, *header, host);
    } else {
      error = !error.empty() ? error
              : is_read ? "this is of `nvidia-smi topo -mp`, which says nothing of NVLinks: give "
                          "what `nvidia-smi topo -m` prints"
                        : table.error();
      file.hosts.pop_back();
      if (!is_read && !table.is_of_peers()) {
        return std::nullopt;
      }
      from = table.end();
    }
    above = table.end();
    header = std::move(next);
  }
  if (file.hosts.empty()) {
    error = error.empty() ? "it has no table of GPUs with its rows" : error;
    return std::nullopt;
  }
  return file;
}

}  // namespace ringside::load
