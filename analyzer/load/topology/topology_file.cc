// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/topology/topology_file.h"

#include <algorithm>

#include "analyzer/load/source/plain_text.h"

namespace ringside::load {

// A byte order mark, a declaration and comments may be before the root.
std::string_view root_of_xml(std::string_view text) {
  text = without_byte_order_mark(text);
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    const bool has_entities = text.starts_with("<!DOC") && text.find('[') < text.find('>');
    const std::string_view end = text.starts_with("<!--")                              ? "-->"
                                 : has_entities                                        ? "]>"
                                 : text.starts_with("<?") || text.starts_with("<!DOC") ? ">"
                                                                                       : "";
    if (end.empty()) {
      break;
    }
    const std::size_t at = text.find(end);
    text.remove_prefix(at == text.npos ? text.size() : at + end.size());
  }
  return text.starts_with('<') ? text.substr(1, text.find_first_of(" \t\r\n/>") - 1)
                               : std::string_view();
}

std::optional<TopologyFormat> topology_format(std::string_view text) {
  if (root_of_xml(text) == "system") {
    return TopologyFormat::kNcclXml;
  }
  return has_nvidia_smi(text) ? std::optional(TopologyFormat::kNvidiaSmi) : std::nullopt;
}

std::optional<model::TopologyFile> read_topology_text(std::string_view text, TopologyFormat format,
                                                      std::string& error) {
  return format == TopologyFormat::kNcclXml ? read_nccl_xml(text, error)
                                            : read_nvidia_smi(text, error);
}

}  // namespace ringside::load
