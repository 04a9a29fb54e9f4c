// SPDX-License-Identifier: Apache-2.0
#include "test/generate/trace_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ringside/trace_schema.h"

namespace ringside::generate {
namespace {

constexpr std::int64_t kBase_s = 227 * schema::kBaseTimeUnit_s;
constexpr std::array kGroupNames = {"world", "split", "orthogonal"};
constexpr std::array kTypeNames = {"Coll", "P2p", "CollApi", "KernelCh", "ProxyOp", "ProxyStep"};

std::string name_of_file(int rank, int host) {
  return "ringside.generated.host" + std::to_string(host) + '.' + std::to_string(1000 + rank) +
         ".0.json";
}

}  // namespace

TraceFile::TraceFile(const Options& options, int rank, const HostClock& clock)
    : options_(options),
      rank_(rank),
      clock_(clock),
      name_(name_of_file(rank, rank / options.ranks_per_host)),
      path_(options.directory + '/' + name_),
      out_(path_) {}

void TraceFile::metadata(const char* name) {
  const int pid = 1000 + rank_;
  out_ << R"({"ph":"M","name":")" << name << R"(","pid":)" << pid << R"(,"tid":)" << pid
       << R"(,"ts":0,"args":{)";
}

// A step is noticed by two readings of the clocks, which the plugin makes every ten milliseconds.
void TraceFile::clock_line(std::int64_t true_ns, const ClockStep* step) {
  const std::int64_t ts_ns = clock_.at(true_ns);
  metadata(schema::kLineClock);
  out_ << R"("ts_ns":)" << ts_ns << R"(,"realtime_ns":)";
  out_.hex(static_cast<std::uint64_t>(kBase_s * 1'000'000'000 + ts_ns)) << R"(,"monotonic_ns":)";
  out_.hex(static_cast<std::uint64_t>(ts_ns)) << R"(,"uncertainty_ns":50)";
  if (step != nullptr) {
    constexpr std::int64_t kBefore_ns = 4'000'000;
    out_ << R"(,"step_ns":)" << -step->size_ns << R"(,"step_after_ns":)"
         << clock_.at(step->at_ns - kBefore_ns);
  }
  if (options_.max_error_ns > 0) {
    out_ << R"(,"synchronised":true,"estimated_error_ns":)" << (options_.max_error_ns + 9) / 10
         << R"(,"maximum_error_ns":)" << options_.max_error_ns;
  }
  out_ << "}},\n";
}

bool TraceFile::starts_late() const {
  return std::any_of(options_.faults.begin(), options_.faults.end(), [&](const Fault& fault) {
    return fault.kind == FaultKind::kStartLate && fault.rank == rank_;
  });
}

void TraceFile::window_lines(std::int64_t start_ns) {
  const int pid = 1000 + rank_;
  metadata(schema::kLineWindow);
  out_ << R"("window":1,"start_ns":)" << start_ns << R"(,"events":["Coll","P2p"]}},)" << '\n';
  out_ << R"({"ph":"i","cat":"mark","s":"p","pid":)" << pid << R"(,"tid":)" << pid << R"(,"ts":)";
  out_.microseconds(start_ns) << R"(,"name":"ringside start","args":{}},)" << '\n';
}

void TraceFile::communicator_line(const Communicator& communicator, std::int64_t created_ns) {
  const auto& members = communicator.members;
  const auto place = std::find(members.begin(), members.end(), rank_) - members.begin();
  const auto group = static_cast<std::size_t>(communicator.group);
  hashes_.at(group) = communicator.hash;
  sizes_.at(group) = members.size();
  metadata(schema::kLineCommunicator);
  out_ << R"("context":)" << group + 1;
  if (!options_.no_hash) {
    out_ << R"(,"comm":)";
    out_.hex(communicator.hash) << R"(,"name":")" << kGroupNames.at(group) << '"';
  }
  out_ << R"(,"rank":)" << place;
  if (!options_.no_hash) {
    out_ << R"(,"nranks":)" << members.size() << R"(,"nnodes":)"
         << (members.back() / options_.ranks_per_host - members.front() / options_.ranks_per_host +
             1);
  }
  out_ << R"(,"created_ns":)" << created_ns << "}},\n";
}

void TraceFile::begin(const std::vector<Communicator>& communicators) {
  const std::int64_t start_ns = clock_.at(kJobStart_ns - 2'000'000);
  const int host = rank_ / options_.ranks_per_host;
  out_ << '[';
  metadata(schema::kLineTrace);
  out_ << R"("format_version":)" << schema::kFormatVersion
       << R"(,"plugin_version":"0.1.0","run_id":)";
  out_.hex((options_.seed << 20U) + static_cast<std::uint64_t>(rank_) + 1);
  const bool is_late = starts_late();
  out_ << (options_.end == End::kDump ? R"(,"dump":true)" : "")
       << R"(,"segment":1,"segment_start_ns":)" << start_ns << R"(,"job":"generated","host":"host)"
       << host << R"(","boot_id":"boot)" << host << R"(","pid":)" << 1000 + rank_
       << R"(,"launcher_rank":)" << rank_ << R"(,"launcher_rank_from":"RANK","base_time_s":)"
       << kBase_s << R"(,"start_ns":)" << start_ns << R"(,"nccl_version":")"
       << (options_.seq_from_window ? "2.25.1" : "2.28.9") << R"(","abi":)"
       << (options_.no_hash ? 2 : 5) << R"(,"clock":"tsc","events":)"
       << (is_late ? "[]" : R"(["Coll","P2p"])") << R"(,"config":{"RINGSIDE_START":")"
       << (is_late ? '0' : '1') << R"("},"environment":{}}},)" << '\n';
  metadata("process_name");
  out_ << R"("name":"rank )" << rank_ << " on host" << host << "\"}},\n";
  metadata("process_sort_index");
  out_ << R"("sort_index":)" << rank_ << "}},\n";
  clock_line(kJobStart_ns - 2'000'000);
  if (!is_late) {
    window_lines(start_ns);
  }
  for (const Communicator& communicator : communicators) {
    const auto& members = communicator.members;
    if (std::find(members.begin(), members.end(), rank_) != members.end()) {
      communicator_line(communicator,
                        start_ns + 1000 * (static_cast<std::int64_t>(communicator.group) + 1));
    }
  }
}

void TraceFile::count(Type type, const Operation& operation, std::int64_t events) {
  counts_.at(type).by_fate.at(static_cast<std::size_t>(operation.fate)) += events;
}

void TraceFile::account_line(std::int64_t true_ns) {
  metadata(schema::kLineAccount);
  out_ << R"("ts_ns":)" << clock_.at(true_ns) << R"(,"final":)"
       << (options_.end == End::kClosed ? "true" : "false") << R"(,"by_type":{)";
  const char* comma = "";
  std::int64_t all = 0;
  std::int64_t lost = 0;
  for (std::size_t type = 0; type < kTypes; ++type) {
    const auto& [written, sampled_out, filtered, dropped] = counts_.at(type).by_fate;
    const std::int64_t produced = 2 * (written + sampled_out + filtered + dropped);
    if (produced == 0) {
      continue;
    }
    all += produced;
    lost += 2 * dropped;
    out_ << comma << '"' << kTypeNames.at(type) << R"(":{"produced":)" << produced;
    comma = ",";
    const auto entry = [&](const char* name, std::int64_t value) {
      if (value != 0) {
        out_ << ",\"" << name << "\":" << value;
      }
    };
    entry("written", written);
    entry("merged", written);
    entry("filtered", 2 * filtered);
    entry("sampled_out", 2 * sampled_out);
    // The start of an operation is lost in the ring, so all its events have no parent.
    const bool is_operation = type == kColl || type == kP2p;
    entry("dropped_ring_full", is_operation ? dropped : 0);
    entry("dropped_parent", is_operation ? dropped : 2 * dropped);
    out_ << '}';
  }
  out_ << R"(},"by_thread":[{"tid":)" << 1000 + rank_ << R"(,"produced":)" << all
       << R"(,"dropped":)" << lost << "}]}},\n";
}

void TraceFile::end(std::int64_t window_start_ns, std::int64_t end_ns) {
  if (starts_late()) {
    window_lines(clock_.at(window_start_ns));
  }
  for (const ClockStep& step : clock_.steps) {
    if (step.is_told) {
      constexpr std::int64_t kBehind_ns = 3'000'000;
      clock_line(step.over_ns() + kBehind_ns, &step);
    }
  }
  clock_line(end_ns);
  account_line(end_ns);
  if (options_.end != End::kKilled) {
    metadata(schema::kLineEnd);
    out_ << R"("ts_ns":)" << clock_.at(end_ns) << R"(,"operations":)" << operations_ << "}}\n]\n";
  }
  out_.flush();
  if (std::find(options_.truncate.begin(), options_.truncate.end(), rank_) !=
      options_.truncate.end()) {
    cut();
  }
}

void TraceFile::cut() const {
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path_));
  std::int64_t length = size * 3 / 5;
  std::ifstream file(path_, std::ios::binary);
  char before[2] = {'\n', '\n'};
  // The middle of a line: neither the last byte that stays nor the first that goes ends one.
  while (length > 2 && (before[0] == '\n' || before[1] == '\n')) {
    --length;
    file.seekg(length - 1);
    file.read(before, 2);
  }
  file.close();
  std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(length));
}

}  // namespace ringside::generate
