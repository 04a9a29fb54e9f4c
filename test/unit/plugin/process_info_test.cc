// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/process_info.h"

#include <cstddef>
#include <set>
#include <string>

#include "test/unit/catch.h"

namespace ringside::drain {
namespace {

TEST_CASE("containers of equal host and process id have traces of their own at the same moment") {
  const config::Config config;
  std::set<std::string> ends;
  constexpr std::size_t kContainers = 100;
  for (std::size_t i = 0; i < kContainers; ++i) {
    const std::string name = trace_name(config, read_process_facts(config));
    ends.insert(name.substr(name.rfind('-')));  // what follows the moment
  }
  CHECK(ends.size() == kContainers);
}

}  // namespace
}  // namespace ringside::drain
