// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_TEST_LOAD_PARTIAL_OF_H
#define RINGSIDE_TEST_LOAD_PARTIAL_OF_H

#include <string>
#include <vector>
#include <zlib.h>

#include "analyzer/load/partial/partial_sections.h"
#include "analyzer/load/partial/partial_writer.h"

namespace ringside {

/// The bytes of a partial of these.
inline std::string partial_of(const std::vector<load::LoadedTrace>& loaded) {
  std::string bytes = load::partial_start();
  for (const std::string& trace : load::encode_traces(loaded)) {
    bytes += trace;
  }
  return bytes + load::partial_end(loaded.size());
}

/// The first bytes of a partial of this version (below 256).
inline std::string start_of_version(unsigned version) {
  std::string start(load::kPartialMagic);
  start += {static_cast<char>(version), '\0', '\0', '\0'};
  const auto checksum =
      crc32(0, reinterpret_cast<const Bytef*>(start.data()), static_cast<uInt>(start.size()));
  for (unsigned byte = 0; byte < 4; ++byte) {
    start += static_cast<char>(checksum >> (8 * byte));
  }
  return start;
}

}  // namespace ringside

#endif  // RINGSIDE_TEST_LOAD_PARTIAL_OF_H
