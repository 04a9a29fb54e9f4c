// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict/state_mismatch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/match/verdict/verdict.h"

namespace ringside::match {
namespace {

// A moment of one file, on the common clock.
struct Moment {
  std::uint32_t file = 0;
  std::int64_t time_ns = 0;
};

}  // namespace

StateMismatch::StateMismatch(const model::Traces& traces, CommonClock clock)
    : traces_(traces), clock_(std::move(clock)), overtaken_(traces) {}

bool StateMismatch::is_there(const Parts::Range& parts) {
  std::vector<Moment> in_flight;
  for (const Part& part : parts) {
    if (!execution_of(traces_, part).in_flight) {
      continue;  // nearly all: the others are not read as a whole
    }
    const model::TraceFile& file = traces_.files[part.file];
    const model::Operation operation = operation_of(traces_, part);
    if (is_cut_off_in_flight(file, operation) && file.last_ns &&
        !overtaken_.is_overtaken(part.file, operation)) {
      in_flight.push_back({part.file, clock_.to_common_ns(part.file, *file.last_ns)});
    }
  }
  if (in_flight.empty()) {
    return false;
  }
  return std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
    const model::Operation operation = operation_of(traces_, part);
    if (!is_finished(operation) || !operation.end_ns) {
      return false;
    }
    const std::int64_t end_ns = clock_.to_common_ns(part.file, *operation.end_ns);
    return std::any_of(in_flight.begin(), in_flight.end(), [&](const Moment& last) {
      std::int64_t later_ns = 0;
      return !__builtin_sub_overflow(last.time_ns, end_ns, &later_ns) &&
             later_ns > clock_.uncertainty_ns(part.file, last.file);
    });
  });
}

}  // namespace ringside::match
