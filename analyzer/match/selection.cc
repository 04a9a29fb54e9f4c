// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/selection.h"

#include <algorithm>
#include <limits>

#include "analyzer/match/verdict/describe.h"

namespace ringside::match {
namespace {

template <typename T, typename U>
bool has(const std::vector<T>& chosen, const U& value) {
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), value) != chosen.end();
}

// True if some operation was. Reading a file from start to end is quick.
bool is_any_sampled_out(const model::Traces& traces) {
  return std::any_of(traces.files.begin(), traces.files.end(), [](const model::TraceFile& file) {
    return file.operations.may_have_sampled_out();
  });
}

// True if an operation was sampled out and is in the trace only because it was in flight.
bool is_sampled_out(const model::Traces& traces, const Matches& matches,
                    const MatchedOperation& operation) {
  const auto parts = parts_of(matches, operation);
  return std::any_of(parts.begin(), parts.end(),
                     [&](const Part& part) { return operation_of(traces, part).sampled_out; });
}

std::int64_t called_ns(const model::Traces& traces, const Matches& matches,
                       const CommonClock& clock, const MatchedOperation& operation) {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t i = 0; i < operation.part_count; ++i) {
    const Part& part = matches.parts[operation.first_part + i];
    const std::int64_t time_ns = traces.files[part.file].operations.call_ns(part.operation);
    first_ns = std::min(first_ns, clock.to_common_ns(part.file, time_ns));
  }
  return first_ns;
}

bool is_chosen_function(const Selection& selection, const model::Traces& traces,
                        const MatchedOperation& operation) {
  return has(selection.functions, function_name(traces, operation)) ||
         (operation.way == Way::kPair &&
          (has(selection.functions, "Send") || has(selection.functions, "Recv")));
}

}  // namespace

bool is_chosen(const Selection& selection, const Communicator& communicator) {
  return has(selection.communicators, communicator.name) ||
         has(selection.communicators, distinct_name(communicator)) ||
         has(selection.communicators, communicator.hash);
}

bool chooses_operations(const Selection& selection) {
  return !selection.communicators.empty() || !selection.functions.empty() ||
         !selection.user_tags.empty() || selection.least_bytes > 0 || selection.from_s ||
         selection.to_s || !selection.from_mark.name.empty() || !selection.to_mark.name.empty();
}

std::size_t select_files(const Selection& selection, model::Traces& traces) {
  traces.left_out = std::erase_if(traces.files, [&](const model::TraceFile& file) {
    const bool rank_chosen =
        selection.ranks.empty() ||
        (file.process.launcher_rank && has(selection.ranks, *file.process.launcher_rank));
    return !rank_chosen || !has(selection.hosts, file.process.host);
  });
  return traces.left_out;
}

void select_operations(const Selection& selection, const model::Traces& traces,
                       const CommonClock& clock, Matches& matches) {
  const bool has_times = selection.from_s || selection.to_s || selection.from_ns || selection.to_ns;
  std::vector<std::int64_t> called;
  std::int64_t zero_ns = std::numeric_limits<std::int64_t>::max();
  if (has_times) {
    for (const MatchedOperation& operation : matches.operations) {
      called.push_back(called_ns(traces, matches, clock, operation));
      zero_ns = std::min(zero_ns, called.back());
    }
  }
  const bool has_sampled_out = is_any_sampled_out(traces);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < matches.operations.size(); ++i) {
    const MatchedOperation& operation = matches.operations[i];
    const Communicator& communicator = matches.communicators[operation.communicator];
    const auto bytes = operation_of(traces, matches.parts[operation.first_part]).bytes.value_or(0);
    const double at_s = has_times ? static_cast<double>(called[i] - zero_ns) / 1e9 : 0;
    if ((has_sampled_out && is_sampled_out(traces, matches, operation)) ||
        !is_chosen(selection, communicator) || !is_chosen_function(selection, traces, operation)) {
      continue;
    }
    const bool has_tag =
        selection.user_tags.empty() ||
        has(selection.user_tags, traces.names.text(name_of_first(traces, matches, operation,
                                                                 &model::Operation::user_tag)));
    if (has_tag && bytes >= selection.least_bytes && at_s >= selection.from_s.value_or(0) &&
        at_s <= selection.to_s.value_or(at_s) &&
        (!selection.from_ns || called[i] >= *selection.from_ns) &&
        (!selection.to_ns || called[i] <= *selection.to_ns)) {
      matches.operations[kept++] = operation;
    } else {
      matches.is_part = true;
    }
  }
  matches.operations.resize(kept);
}

std::uint64_t select_transfers(const Matches& matches, model::Traces& traces) {
  std::vector<std::vector<std::uint64_t>> chosen(traces.files.size());  // "op", by file
  for (const MatchedOperation& operation : matches.operations) {
    for (const Part& part : parts_of(matches, operation)) {
      chosen[part.file].push_back(operation_of(traces, part).id);
    }
  }
  std::uint64_t taken_out = 0;
  for (std::size_t i = 0; i < traces.files.size(); ++i) {
    std::sort(chosen[i].begin(), chosen[i].end());
    const auto is_other = [&](const auto& transfer) {
      return !std::binary_search(chosen[i].begin(), chosen[i].end(), transfer.operation);
    };
    taken_out += std::erase_if(traces.files[i].steps, is_other);
    taken_out += std::erase_if(traces.files[i].proxies, is_other);
  }
  return taken_out;
}

}  // namespace ringside::match
