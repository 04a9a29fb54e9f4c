// SPDX-License-Identifier: Apache-2.0
//
// A partial gives back what was put into it; one that is damaged says so, and what is whole is
// used.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "analyzer/load/partial/partial_sections.h"
#include "analyzer/load/segments.h"
#include "analyzer/load/trace_loader.h"
#include "test/load/difference.h"
#include "test/load/memory_file.h"
#include "test/load/partial_of.h"
#include "test/unit/catch.h"

namespace ringside::plain {
namespace {

using Random = std::mt19937_64;

// Small and absurd ones.
template <typename Number>
Number draw(Random& random) {
  switch (random() % 8) {
    case 0:
      return std::numeric_limits<Number>::max() - 1;
    case 1:
      return static_cast<Number>(random()) / 2;
    default:
      return static_cast<Number>(random() % 100);
  }
}

template <typename T>
void fill(Random& random, T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    value.assign(random() % 20, static_cast<char>('a' + random() % 26));
  } else if constexpr (std::is_same_v<T, bool>) {
    value = random() % 2 == 0;
  } else if constexpr (std::is_integral_v<T>) {
    value = draw<T>(random);
  } else {
    value.reset();
    if (random() % 3 != 0) {
      fill(random, value.emplace());
    }
  }
}

template <typename... T>
void fill_all(Random& random, T&... values) {
  (fill(random, values), ...);
}

model::Operation draw_operation(Random& random, model::TraceFile& file, model::NameTable& names) {
  model::Operation one;
  one.context = static_cast<std::uint32_t>(random() % 3);
  one.kind = static_cast<model::Kind>(random() % 4);
  one.times_from = static_cast<model::TimesFrom>(random() % model::kTimesFromCount);
  one.state = model::State::kEnqueued;
  one.func = names.id("func" + std::to_string(random() % 5));
  for (model::NameId* const name :
       {&one.datatype, &one.algo, &one.proto, &one.stream, &one.user_tag}) {
    *name = names.id(random() % 2 == 0 ? "" : "name" + std::to_string(random() % 9));
  }
  fill_all(random, one.id, one.in_flight, one.seq, one.count, one.bytes, one.root, one.peer,
           one.group, one.window, one.channels, one.graph, one.gpu_polled, one.start_is_latest,
           one.gpu_rejected, one.sample_of, one.sampled_out, one.tid, one.enqueue_start_ns,
           one.enqueue_end_ns);
  if (random() % 3 != 0) {
    one.start_ns = draw<std::int64_t>(random) & std::numeric_limits<std::int64_t>::max();
    one.end_ns = *one.start_ns + static_cast<std::int64_t>(random() % 2);
  }
  ++file.contexts[one.context].operations;
  return one;
}

void draw_rows(Random& random, model::TraceFile& file) {
  for (std::uint64_t i = random() % 50; i > 0; --i) {
    model::ProxyOperation& one = file.proxies.emplace_back();
    fill_all(random, one.operation, one.context, one.peer, one.channel, one.is_send, one.in_flight,
             one.start_ns, one.end_ns, one.bytes, one.steps, one.foreign_pid);
  }
  for (std::uint64_t i = random() % 50; i > 0; --i) {
    model::Step& one = file.steps.emplace_back();
    fill_all(random, one.operation, one.context, one.peer, one.channel, one.is_send, one.in_flight,
             one.start_ns, one.end_ns, one.bytes, one.gpu_wait_ns, one.peer_wait_ns,
             one.transfer_ns, one.flush_ns);
  }
}

void draw_metadata(Random& random, model::TraceFile& file, model::NameTable& names) {
  model::Process& process = file.process;
  fill_all(random, process.run_id, process.dump, process.segment, process.segment_start_ns,
           process.job, process.host, process.boot_id, process.pid, process.launcher_rank,
           process.base_time_s, process.start_ns, process.nccl_version, process.abi,
           process.sampling.coll_of, process.sampling.p2p_of, process.sampling.window_ns,
           process.sampling.period_ns, process.sampling.min_bytes, process.starts_at_load,
           process.has_events);
  for (std::uint32_t number = 0; number < 3; ++number) {
    model::Context& context = file.contexts[number];
    fill_all(random, context.comm, context.name, context.rank, context.nranks, context.created_ns,
             context.finalized_ns);
    model::Window& window = file.windows[draw<std::uint64_t>(random)];
    fill_all(random, window.start_ns, window.end_ns);
    model::Mark& mark = file.marks[draw<std::uint64_t>(random)];
    fill_all(random, mark.tid, mark.is_range, mark.start_ns, mark.end_ns);
    mark.name = names.id("mark" + std::to_string(random() % 2));
    model::ClockReading& clock = file.clocks.emplace_back();
    fill_all(random, clock.ts_ns, clock.realtime_ns, clock.monotonic_ns, clock.uncertainty_ns,
             clock.is_synchronised, clock.estimated_error_ns, clock.maximum_error_ns);
    fill(random, file.account.dropped["reason" + std::to_string(random() % 5)]);
  }
  fill_all(random, file.last_ns, file.account.produced, file.account.sampled_out,
           file.account.in_rings, file.account.rotated, file.account.given_up,
           file.operations_written, file.next_segment, file.closed, file.recovered, file.silent_ns,
           file.marks_lost, file.ranges_lost, file.torn, file.size_bytes, file.lines,
           file.bad_lines);
}

load::LoadedTrace draw_trace(Random& random, const std::string& path, std::size_t operations) {
  load::LoadedTrace drawn;
  model::TraceFile& file = drawn.traces.files.emplace_back();
  file.path = path;
  draw_metadata(random, file, drawn.traces.names);
  draw_rows(random, file);
  for (; operations > 0; --operations) {
    file.operations.push_back(draw_operation(random, file, drawn.traces.names));
  }
  for (std::uint64_t line = random() % 20; line > 0; --line) {
    drawn.problems.add_line(path, random() % 1000, "reason");
  }
  return drawn;
}

// As load_traces puts them together.
load::LoadedTrace together(const std::vector<load::LoadedTrace>& loaded) {
  load::LoadedTrace all;
  for (const load::LoadedTrace& one : loaded) {
    load::append_problems(one.problems, all.problems);
    for (model::TraceFile file : one.traces.files) {
      std::vector<model::NameId> ids;
      for (model::NameId id = 0; id < one.traces.names.size(); ++id) {
        ids.push_back(all.traces.names.id(one.traces.names.text(id)));
      }
      model::Operations operations;
      operations.append(std::exchange(file.operations, {}), ids);
      file.operations = std::move(operations);
      for (auto& [number, mark] : file.marks) {
        mark.name = ids[mark.name];
      }
      all.traces.files.push_back(std::move(file));
    }
  }
  load::join_segments(all.traces);
  return all;
}

TEST_CASE("partial: random traces come out as they were put in") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    std::vector<load::LoadedTrace> drawn;
    for (std::size_t i = 0; i < 1 + seed % 4; ++i) {
      // One of several blocks.
      const std::size_t operations = seed == 1 ? 2 * load::kBlockRows + 5 : random() % 200;
      drawn.push_back(draw_trace(random, "trace" + std::to_string(i), operations));
    }
    drawn.emplace_back().problems.add_file("trace9", "not a trace");
    const load::LoadedTrace wanted = together(drawn);
    const MemoryFile file(partial_of(drawn));
    model::Problems problems;
    const model::Traces traces = load::load_traces({file.path()}, problems, 2);
    CHECK(difference_of(traces, wanted.traces) == "");
    CHECK(difference_of(problems, wanted.problems) == "");
  }
}

topology::Machine draw_machine(Random& random) {
  topology::Machine machine;
  machine.state = static_cast<topology::State>(random() % topology::kStateNames.size());
  fill_all(random, machine.reason, machine.driver, machine.took_ns, machine.nvml_ns,
           machine.left_out);
  machine.gpus.resize(random() % 4);
  for (topology::Gpu& gpu : machine.gpus) {
    fill_all(random, gpu.index, gpu.pci, gpu.uuid, gpu.name, gpu.pcie_generation, gpu.pcie_width,
             gpu.most_pcie_generation, gpu.most_pcie_width, gpu.numa_node, gpu.pci_path,
             gpu.fabric_cluster, gpu.fabric_clique);
    gpu.links.resize(random() % 3);
    for (topology::NvLink& link : gpu.links) {
      fill_all(random, link.number, link.is_up, link.version, link.speed_mbytes_s, link.remote_pci,
               link.errors[0], link.errors[1], link.errors[2], link.errors[3]);
      link.remote = static_cast<topology::Remote>(random() % topology::kRemoteNames.size());
    }
  }
  machine.ports.resize(random() % 4);
  for (topology::Port& port : machine.ports) {
    fill_all(random, port.device, port.number, port.pci, port.pci_path, port.numa_node,
             port.link_layer, port.state, port.rate_mbit_s);
    for (std::uint64_t i = random() % 3; i > 0; --i) {
      fill(random, port.counters["counter" + std::to_string(i)]);
    }
  }
  return machine;
}

TEST_CASE("partial: the machine, its variables and GPUs come out as they were put in") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    std::vector<load::LoadedTrace> drawn;
    drawn.push_back(draw_trace(random, "trace", 1));
    model::TraceFile& file = drawn.front().traces.files.front();
    for (std::uint64_t i = random() % 4; i > 0; --i) {
      file.machines[draw<std::int64_t>(random)] = draw_machine(random);
    }
    file.process.nccl_environment = {{"NCCL_ALGO", "Ring"},
                                     {"NCCL_HOSTID", "host" + std::to_string(seed)}};
    fill_all(random, file.contexts[0].gpu_pci, file.contexts[0].gpu_uuid);
    const MemoryFile partial(partial_of(drawn));
    model::Problems problems;
    const model::Traces traces = load::load_traces({partial.path()}, problems, 1);
    REQUIRE(traces.files.size() == 1);
    const model::TraceFile& found = traces.files.front();
    CHECK((found.machines == file.machines));
    CHECK(found.process.nccl_environment == file.process.nccl_environment);
    CHECK(found.contexts.at(0).gpu_pci == file.contexts[0].gpu_pci);
    CHECK(found.contexts.at(0).gpu_uuid == file.contexts[0].gpu_uuid);
  }
}

TEST_CASE("partial: it gives what the traces of this repository give") {
  std::size_t checked = 0;
  const std::filesystem::path root(RINGSIDE_TEST_SOURCE);
  for (const char* const part : {"diff/cases", "fuzz/corpus/trace"}) {
    std::map<std::string, std::vector<std::string>> directories;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / part)) {
      if (entry.is_regular_file()) {
        directories[entry.path().parent_path()].push_back(entry.path());
      }
    }
    for (auto& [directory, paths] : directories) {
      if (directory.ends_with("/dumps") || directory.ends_with("/logs")) {
        continue;  // no traces
      }
      INFO(directory);
      std::sort(paths.begin(), paths.end());
      model::Problems wanted;
      const model::Traces traces = load::load_traces(paths, wanted, 1);
      const MemoryFile file(partial_of(load::load_each(paths, 1)));
      model::Problems problems;
      CHECK(difference_of(load::load_traces({file.path()}, problems, 1), traces) == "");
      CHECK(difference_of(problems, wanted) == "");
      checked += traces.files.size();
    }
  }
  CHECK(checked > 500);
}

TEST_CASE("partial: whatever byte is changed or cut off is told, and the other traces are used") {
  Random random(7);
  std::vector<load::LoadedTrace> drawn;
  for (const char* const path : {"one", "three", "two"}) {
    drawn.push_back(draw_trace(random, path, 30));
  }
  const std::string whole = partial_of(drawn);
  for (std::size_t at = 0; at < whole.size(); at += 1 + at / 400) {
    for (const bool is_cut : {true, false}) {
      INFO("byte " << at << (is_cut ? " cut off" : " changed"));
      std::string damaged = is_cut ? whole.substr(0, at) : whole;
      if (!is_cut) {
        damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
      }
      const MemoryFile file(damaged);
      model::Problems problems;
      const model::Traces traces = load::load_traces({file.path()}, problems, 1);
      REQUIRE_FALSE(problems.files().empty());
      CHECK(problems.files().back().path == file.path());
      for (const model::TraceFile& trace : traces.files) {
        const auto same = std::find_if(drawn.begin(), drawn.end(), [&](const auto& one) {
          return one.traces.files.front().path == trace.path;
        });
        REQUIRE(same != drawn.end());
        CHECK(trace.operations.size() == same->traces.files.front().operations.size());
        CHECK(trace.steps.size() == same->traces.files.front().steps.size());
      }
      // One section is damaged: one trace is lost, unless what follows cannot be found.
      const auto is_told = [&](const char* words) {
        return std::any_of(problems.files().begin(), problems.files().end(), [&](const auto& one) {
          return one.reason.find(words) != std::string::npos;
        });
      };
      if (is_told("checksum")) {
        CHECK(traces.files.size() == 2);
      } else if (!is_cut && at >= load::kPartialMagic.size() && !is_told("behind") &&
                 !is_told("first 16 bytes")) {
        CHECK(traces.files.size() == 3);
      }
    }
  }
}

TEST_CASE("partial: a newer version is refused, and what to do is said") {
  std::string start = load::partial_start();
  start[8] = 9;
  const MemoryFile damaged(start +
                           load::make_section(load::SectionKind::kEnd, std::string(1, '\0')));
  model::Problems problems;
  CHECK(load::load_traces({damaged.path()}, problems, 1).files.empty());
  REQUIRE(problems.files().size() == 1);
  CHECK(problems.files()[0].reason == "its first 16 bytes are damaged");
  CHECK(load::check_partial_start(start_of_version(9))
            .value_or("")
            .starts_with("a partial of version 9, but this ringside reads version " +
                         std::to_string(load::kPartialVersion)));
}

}  // namespace
}  // namespace ringside::plain
