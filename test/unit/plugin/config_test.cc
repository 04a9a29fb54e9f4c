// SPDX-License-Identifier: Apache-2.0
#include "plugin/config/config.h"

#include <algorithm>
#include <map>

#include "plugin/record/event_type.h"
#include "ringside/ringside.h"
#include "test/unit/catch.h"

using namespace ringside::config;
using ringside::record::bit;
using ringside::record::EventType;

namespace {

Config read(const std::map<std::string, std::string>& variables) {
  return read_config([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second.c_str() : nullptr;
  });
}

bool has(std::uint32_t types, EventType type) {
  return (types & bit(type)) != 0;
}

}  // namespace

TEST_CASE("without variables the defaults hold and nothing is said") {
  const Config config = read({});
  CHECK(config.directory == "ringside-traces");
  CHECK(config.start);
  CHECK(config.ring_bytes == 2U << 20);
  CHECK(config.drain_ms == 10);
  CHECK(config.job == "job");
  CHECK(config.warnings.empty());
}

TEST_CASE("values are taken") {
  const Config config = read({{"RINGSIDE_DIR", "/x"},
                              {"RINGSIDE_START", "0"},
                              {"RINGSIDE_RING_BYTES", "4M"},
                              {"RINGSIDE_DRAIN_MS", "50"},
                              {"RINGSIDE_DRAIN_CPU", "0-3,8"},
                              {"SLURM_JOB_ID", "99"}});
  CHECK(config.directory == "/x");
  CHECK_FALSE(config.start);
  CHECK(config.ring_bytes == 4U << 20);
  CHECK(config.drain_ms == 50);
  CHECK(config.drain_cpus == "0-3,8");
  CHECK(config.job == "99");
  CHECK(config.warnings.empty());
}

TEST_CASE("how much is kept: bounds, compression, flight recorder") {
  const Config usual = read({});
  CHECK(usual.max_bytes == std::uint64_t{2} << 30);
  CHECK_FALSE(usual.compress);
  CHECK_FALSE(usual.is_flight_recorder());
  CHECK(usual.ring_directory == "/dev/shm");
  const Config unbounded = read({{"RINGSIDE_MAX_BYTES", "0"}, {"RINGSIDE_COMPRESS", "1"}});
  CHECK(unbounded.max_bytes == 0);
  CHECK(unbounded.compress);
  CHECK(unbounded.warnings.empty());
  const Config bytes = read({{"RINGSIDE_FLIGHT_BYTES", "16M"}, {"RINGSIDE_RING_DIR", "/x"}});
  CHECK(bytes.is_flight_recorder());
  CHECK(bytes.ring_directory == "/x");
  CHECK_FALSE(read({{"RINGSIDE_FLIGHT_BYTES", "0"}}).is_flight_recorder());
}

TEST_CASE("the hang watch is off unless asked for, and takes fractions") {
  CHECK(read({}).record_seconds == 0);
  CHECK(read({{"RINGSIDE_EXIT_SECONDS", "3"}}).exit_seconds == 3);
  CHECK(read({{"RINGSIDE_RECORD_SECONDS", "0.5"}}).record_seconds == 0.5);
  CHECK(read({}).hang_seconds == 0);
  CHECK(read({{"RINGSIDE_HANG_SECONDS", "0"}}).warnings.empty());
  const Config config = read({{"RINGSIDE_HANG_SECONDS", "2.5"}, {"RINGSIDE_ON_HANG", "a b"}});
  CHECK(config.hang_seconds == 2.5);
  CHECK(config.on_hang == "a b");
  CHECK(config.warnings.empty());
  const auto listed = config.listed();
  const std::pair<std::string, std::string> wanted{"RINGSIDE_HANG_SECONDS", "2.5"};
  CHECK(std::find(listed.begin(), listed.end(), wanted) != listed.end());
}

TEST_CASE("markers are for whatever tool is attached unless something else is asked for") {
  CHECK(read({}).markers == ringside::nvtx::Scope::kAll);
  CHECK(read({}).markers_text.empty());
  CHECK(read({{"RINGSIDE_MARKERS", "off"}}).markers == ringside::nvtx::Scope::kOff);
  const Config config =
      read({{"RINGSIDE_MARKERS", "cross_node"}, {"GPU_SERIAL", "1322"}, {"VM_ID", "vm-7"}});
  CHECK(config.markers == ringside::nvtx::Scope::kCrossNode);
  CHECK(config.markers_text == "cross_node");
  CHECK(config.gpu_serial == "1322");
  CHECK(config.vm_id == "vm-7");
  CHECK(config.warnings.empty());
}

TEST_CASE("the names of events that ringside.h has are those that are read") {
  CHECK(read({{"RINGSIDE_EVENTS", RINGSIDE_EVENT_NAMES}}).warnings.empty());
  const Config wrong = read({{"RINGSIDE_EVENTS", "coll,nothing"}});
  REQUIRE(wrong.warnings.size() == 1);
  CHECK(wrong.warnings[0].find("a list of " RINGSIDE_EVENT_NAMES) != std::string::npos);
}

TEST_CASE("what can be sampled is in the warning") {
  const Config config = read({{"RINGSIDE_SAMPLE", "coll:1/16,window:1s/60s"}});
  CHECK(config.sampled_of == 1);
  REQUIRE(config.warnings.size() == 1);
  CHECK(config.warnings[0] ==
        "RINGSIDE_SAMPLE=coll:1/16,window:1s/60s is not used: it must be coll:1/N with N from 1 to "
        "1000000 (only collectives can be sampled, by their number); taken instead: everything");
}

TEST_CASE("a wrong value gets one warning that names it, and the default") {
  const std::pair<const char*, const char*> wrong[] = {
      {"RINGSIDE_START", "yes"},
      {"RINGSIDE_START", "2"},
      {"RINGSIDE_RING_BYTES", "12"},
      {"RINGSIDE_RING_BYTES", "4MB"},
      {"RINGSIDE_RING_BYTES", "99999999999999999999"},
      {"RINGSIDE_RING_BYTES", "17179869184G"},
      {"RINGSIDE_MAX_BYTES", "1M"},
      {"RINGSIDE_COMPRESS", "2"},
      {"RINGSIDE_FLIGHT_BYTES", "1"},
      {"RINGSIDE_DRAIN_MS", "0"},
      {"RINGSIDE_DRAIN_CPU", "3,"},
      {"RINGSIDE_DRAIN_CPU", "first"},
      {"RINGSIDE_DRAIN_MS", "-1"},
      {"RINGSIDE_RECORD_SECONDS", "0.01"},
      {"RINGSIDE_HANG_SECONDS", "0.01"},
      {"RINGSIDE_HANG_SECONDS", "-1"},
      {"RINGSIDE_HANG_SECONDS", "nan"},
      {"RINGSIDE_HANG_SECONDS", "inf"},
      {"RINGSIDE_HANG_SECONDS", "1e300"},
      {"RINGSIDE_HANG_SECONDS", "2s"},
      {"RINGSIDE_HANG_SECONDS", ""},
      {"RINGSIDE_MARKERS", "crossnode"},
      {"RINGSIDE_EVENTS", "coll,stepz"},
      {"RINGSIDE_EVENTS", ""}};
  for (const auto& [name, value] : wrong) {
    const Config config = read({{name, value}});
    INFO(name << "=" << value);
    REQUIRE(config.warnings.size() == 1);
    CHECK(config.warnings[0].find(std::string(name) + "=" + value) == 0);
    CHECK(config.start);
    CHECK(config.ring_bytes == 2U << 20);
    CHECK(config.drain_ms == 10);
    CHECK(config.drain_cpus.empty());
    CHECK(config.hang_seconds == 0);
    CHECK(config.events.use_default);
  }
}

TEST_CASE("the default events are those that cannot hurt") {
  const EventChoice choice;
  // Kernel channels where NCCL is known to bear them, else steps.
  const std::uint32_t old = resolve_events(choice, {5, 22809});
  CHECK(has(old, EventType::kKernelCh));
  CHECK_FALSE(has(old, EventType::kProxyStep));
  const std::uint32_t affected = resolve_events(choice, {6, 22907});
  CHECK_FALSE(has(affected, EventType::kKernelCh));
  CHECK(has(affected, EventType::kProxyStep));
  CHECK_FALSE(has(resolve_events(choice, {6, 0}), EventType::kKernelCh));
  // NCCL's own variables make it safe, but not a window that opens later.
  CHECK(has(resolve_events(choice, {6, 22907, true, true}), EventType::kKernelCh));
  CHECK_FALSE(has(resolve_events(choice, {6, 22907, false, true}), EventType::kKernelCh));
  // A window that opens later: NCCL's counters may be out of step by then.
  CHECK_FALSE(has(resolve_events(choice, {5, 22809, false}), EventType::kKernelCh));
  // Interfaces without kernel channels.
  const std::uint32_t v2 = resolve_events(choice, {2, 22501});
  CHECK(v2 < (1U << 6));
  CHECK(has(v2, EventType::kProxyStep));
  CHECK_FALSE(has(v2, EventType::kProxyCtrl));
}

TEST_CASE("kernel channels that would crash NCCL are not recorded, though asked for") {
  std::string unknown;
  const auto asked = parse_events("coll,phase", unknown);
  REQUIRE(asked.has_value());
  CHECK(has(resolve_events(*asked, {6, 22907}), EventType::kKernelCh));
  CHECK(has(resolve_events(*asked, {7, 23203, true, true}), EventType::kKernelPhase));
  for (const NcclFacts& nccl : {NcclFacts{7, 23203}, NcclFacts{7, 23203, false, true}}) {
    CHECK(has(resolve_events(*asked, nccl), EventType::kColl));
    CHECK_FALSE(has(resolve_events(*asked, nccl), EventType::kKernelCh));
    CHECK_FALSE(has(resolve_events(*asked, nccl), EventType::kKernelPhase));
  }
}

TEST_CASE("kernel channels are safe where all of NCCL's variables say so") {
  CHECK_FALSE(read({}).kernels_are_safe);
  CHECK_FALSE(read({{"NCCL_ALLGATHERV_ENABLE", "0"}}).kernels_are_safe);
  CHECK(read({{"NCCL_ALLGATHERV_ENABLE", "0"},
              {"NCCL_COMM_SPLIT_SHARE_RESOURCES", "0"},
              {"NCCL_COMM_SHRINK_SHARE_RESOURCES", "0"}})
            .kernels_are_safe);
}

TEST_CASE("no bit above the interface's own is ever set") {
  std::string unknown;
  const auto all = parse_events("all", unknown);
  REQUIRE(all.has_value());
  CHECK(resolve_events(*all, {1, 22304}) == 0x3F);
  CHECK(resolve_events(*all, {4, 22707}) == 0xFF);
  CHECK(resolve_events(*all, {5, 22809}) == 0xFFF);
  CHECK(resolve_events(*all, {6, 22907}) == 0x7FFF);
  CHECK(resolve_events(*all, {7, 23100, true, true}) == 0xFFFF);
  CHECK(resolve_events(*all, {0, 0}) == 0);
}

TEST_CASE("names that belong to operations bring the operations along") {
  std::string unknown;
  const auto steps = parse_events(" steps ", unknown);
  REQUIRE(steps.has_value());
  CHECK(has(steps->types, EventType::kColl));
  CHECK(has(steps->types, EventType::kP2p));
  CHECK(has(steps->types, EventType::kProxyOp));
  CHECK_FALSE(has(steps->types, EventType::kKernelCh));
  const auto p2p = parse_events("p2p,proxy", unknown);
  REQUIRE(p2p.has_value());
  CHECK_FALSE(has(p2p->types, EventType::kColl));
  const auto none = parse_events("none", unknown);
  REQUIRE(none.has_value());
  CHECK(none->types == 0);
  CHECK_FALSE(parse_events("coll,nonsense", unknown).has_value());
  CHECK(unknown == "nonsense");
}

TEST_CASE("the control socket is on unless it is switched off") {
  CHECK(read({}).control);
  CHECK(read({{"RINGSIDE_CONTROL", "on"}}).control);
  CHECK_FALSE(read({{"RINGSIDE_CONTROL", "off"}}).control);
  const Config config = read({{"RINGSIDE_CONTROL", "0"}});
  CHECK(config.control);
  CHECK(config.warnings.size() == 1);
}
