// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/foreign_file.h"

#include <filesystem>
#include <system_error>

#include "analyzer/load/dump/flight_recorder.h"
#include "analyzer/load/durations.h"
#include "analyzer/load/imports/nccl_tests.h"
#include "analyzer/load/imports/ras.h"
#include "analyzer/load/kineto/kineto.h"
#include "analyzer/load/partial/partial_sections.h"
#include "analyzer/load/source/byte_source.h"
#include "analyzer/load/topology/topology_file.h"
#include "analyzer/model/printable.h"

namespace ringside::load {

std::string foreign_file_text(std::string_view first_bytes) {
  if (begins_as_ras(first_bytes)) {
    return "an answer of NCCL's RAS service, no trace: `ringside ras FILE` shows it, and `ringside "
           "hang TRACES --ras FILE` puts it into the verdict";
  }
  if (topology_format(first_bytes)) {
    return "the topology of a host, no trace: `ringside topology FILE` reads it";
  }
  if (has_nccl_tests(first_bytes)) {
    return "the output of nccl-tests, no trace: `--baseline FILE` of `summary`, `report` and "
           "`compare` reads it";
  }
  const std::size_t begin = first_bytes.find_first_not_of(" \n");
  if (begins_as_kineto(first_bytes)) {
    return "a trace of PyTorch's profiler, and is not read here: `ringside summary`, `stragglers`, "
           "`match` and others read a directory of them, or take it as `--kineto FILE` with the "
           "traces of the job";
  }
  if (const std::string_view root = root_of_xml(first_bytes); !root.empty()) {
    return "XML with the root <" + model::printable(root) +
           ">, no trace: of XML, only NCCL's topology dump is read, whose root is <system>";
  }
  if (first_bytes.substr(0, first_bytes.find('[')).find("\"rocprofiler-sdk-tool\"") !=
      first_bytes.npos) {
    return "a trace of rocprofv3, and is not read: of profilers, PyTorch's traces are";
  }
  if (first_bytes.starts_with("\xff\xfe") || first_bytes.starts_with("\xfe\xff")) {
    return "text in UTF-16, as PowerShell writes it, and is not read: write it in UTF-8";
  }
  if (first_bytes.find("(UUID: GPU-") != first_bytes.npos &&
      first_bytes.find(" Link ") != first_bytes.npos) {
    return "what `nvidia-smi nvlink` prints, and is not read: `nvidia-smi topo -m` is";
  }
  if (first_bytes.find("LINK TYPE TABLE:") != first_bytes.npos) {
    return "what `amd-smi topology` prints, and is not read: RCCL's own dump is "
           "(NCCL_TOPO_DUMP_FILE)";
  }
  if (first_bytes.find("-chakra.") != first_bytes.npos) {
    return "an execution trace of PyTorch, no trace of NCCL: `ringside export TRACES --chakra "
           "DIRECTORY --et FILE` reads it";
  }
  if (first_bytes.starts_with("SQLite format 3")) {
    return "a database, no trace: `ringside export` writes such, and none is read";
  }
  if (begin != first_bytes.npos && first_bytes[begin] != '[' && first_bytes[begin] != '{' &&
      first_bytes.find(" NCCL INFO ") != first_bytes.npos) {
    return "a log of NCCL (NCCL_DEBUG), no trace, and is not read";
  }
  if (first_bytes.find("\x1b[") != first_bytes.npos && !first_bytes.starts_with(kPartialMagic)) {
    return "text with the colours of a terminal, and is not read: write it without";
  }
  return {};
}

std::string trouble_or_kind(const std::string& path, const std::string& trouble,
                            bool (*is_of_kind)(std::string_view first_bytes)) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return trouble;  // a pipe would wait
  }
  const std::string begin = first_bytes(path, kForeignBegin_bytes);
  const std::string other =
      is_of_kind(begin)            ? std::string()
      : begins_as_durations(begin) ? "records of NCCL Inspector or of NVIDIA's example profiler: "
                                     "`ringside summary FILE` reads them"
      : begins_as_dump(begin) ? "a dump of PyTorch's Flight Recorder: `ringside hang` and `match` "
                                "read a directory of them"
                              : foreign_file_text(begin);
  return other.empty() ? trouble : "it is " + other;
}

}  // namespace ringside::load
