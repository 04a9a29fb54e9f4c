// SPDX-License-Identifier: Apache-2.0
#include "test/generate/truth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace ringside::simulate {
namespace {

constexpr std::array kGroupNames = {"world", "split", "orthogonal"};
constexpr std::array kFaultNames = {"straggler", "slow_link", "mismatch",  "missing",
                                    "hang",      "drop",      "start_late"};

bool holds(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

void write_communicator(LineBuffer& out, const Communicator& communicator) {
  out << R"({"name":")" << kGroupNames.at(static_cast<std::size_t>(communicator.group))
      << R"(","comm":)";
  out.hex(communicator.hash) << R"(,"ranks":[)";
  const char* comma = "";
  for (const int rank : communicator.members) {
    out << comma << rank;
    comma = ",";
  }
  out << "]}";
}

void write_fault(LineBuffer& out, const Fault& fault) {
  out << R"({"kind":")" << kFaultNames.at(static_cast<std::size_t>(fault.kind)) << R"(","rank":)"
      << fault.rank;
  switch (fault.kind) {
    case FaultKind::kStraggler:
      out << R"(,"delay_ns":)" << fault.delay_ns << R"(,"iteration":)" << fault.at;
      break;
    case FaultKind::kSlowLink:
      out << R"(,"to_rank":)" << fault.to_rank << R"(,"channel":)" << fault.channel
          << R"(,"factor":)" << static_cast<int>(fault.factor);
      break;
    case FaultKind::kMismatch:
      out << R"(,"what":")" << fault.what << R"(","operation":)" << fault.at;
      break;
    case FaultKind::kMissing:
      out << R"(,"operation":)" << fault.at;
      break;
    case FaultKind::kHang:
    case FaultKind::kStartLate:
      out << R"(,"iteration":)" << fault.at;
      break;
    case FaultKind::kDrop:
      out << R"(,"percent":)" << std::lround(fault.factor * 100);
      break;
  }
  out << '}';
}

}  // namespace

void write_truth(const Options& options, const Simulation& simulation,
                 const std::vector<HostClock>& clocks, const std::vector<TraceFile>& files) {
  LineBuffer out(options.directory + "/truth.txt");
  const char* comma = "\n";
  const auto next = [&] {
    out << comma;
    comma = ",\n";
  };
  out << R"({"job_start_ns":)" << kJobStart_ns << R"(,"seed":)" << options.seed
      << R"(,"iterations":)" << options.iterations << R"(,"operations_per_iteration":)"
      << options.pattern.size() << R"(,"sample":)" << options.sample << R"(,"hosts":[)";
  for (std::size_t host = 0; host < clocks.size(); ++host) {
    next();
    out << R"({"host":"host)" << host << R"(","offset_ns":)" << clocks[host].offset_ns
        << R"(,"drift_ppb":)" << clocks[host].drift_ppb << R"(,"wander_ns":)"
        << clocks[host].wander_ns << R"(,"wander_period_ns":)" << clocks[host].wander_period_ns
        << R"(,"steps":[)";
    const char* between = "";
    for (const ClockStep& step : clocks[host].steps) {
      out << between << R"({"at_ns":)" << step.at_ns << R"(,"size_ns":)" << step.size_ns
          << R"(,"is_reported":)" << (step.is_reported ? "true}" : "false}");
      between = ",";
    }
    out << "]}";
  }
  out << R"(],"communicators":[)";
  comma = "\n";
  for (const Communicator& communicator : simulation.communicators()) {
    next();
    write_communicator(out, communicator);
  }
  out << R"(],"ranks":[)";
  comma = "\n";
  for (int rank = 0; rank < options.ranks(); ++rank) {
    const TraceFile& file = files[static_cast<std::size_t>(rank)];
    next();
    out << R"({"rank":)" << rank << R"(,"host":"host)" << rank / options.ranks_per_host
        << R"(","file":)";
    if (holds(options.lose, rank)) {
      out << "null";
    } else {
      out << '"' << file.name() << '"';
    }
    out << R"(,"operations":)" << file.operations() << R"(,"dropped":)" << file.dropped()
        << R"(,"last_state":")" << file.last_state() << R"(","stuck":)"
        << (simulation.ranks()[static_cast<std::size_t>(rank)].is_stuck ? "true" : "false") << '}';
  }
  out << R"(],"faults":[)";
  comma = "\n";
  for (const Fault& fault : options.faults) {
    next();
    write_fault(out, fault);
  }
  for (const auto& [kind, ranks] :
       {std::pair{"truncate", &options.truncate}, std::pair{"lose", &options.lose}}) {
    for (const int rank : *ranks) {
      next();
      out << R"({"kind":")" << kind << R"(","rank":)" << rank << '}';
    }
  }
  out << "]}\n";
  out.flush();
}

}  // namespace ringside::simulate
