// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/network/foreign_transfers.h"

#include <algorithm>
#include <limits>

namespace ringside::metrics {
namespace {

// Proxy operations of one channel and peer that are looked at for a step: NCCL has few at a time.
constexpr std::size_t kMostOverlapping = 64;

}  // namespace

ForeignTransfers::ForeignTransfers(const model::Traces& traces, const match::Runs& runs,
                                   const std::vector<match::Communicator>& communicators)
    : traces_(traces),
      places_of_file_(traces.files.size()),
      communicators_of_file_(traces.files.size()),
      run_of_file_(runs.of_file) {
  for (std::uint32_t c = 0; c < communicators.size(); ++c) {
    nranks_.push_back(communicators[c].nranks);
    for (std::uint32_t m = 0; m < communicators[c].members.size(); ++m) {
      const std::uint32_t file = communicators[c].members[m].file;
      places_of_file_[file].push_back({c, m});
      auto& of_file = communicators_of_file_[file];
      if (of_file.empty() || of_file.back() != c) {
        of_file.push_back(c);
      }
    }
  }
  for (std::uint32_t f = 0; f < traces.files.size(); ++f) {
    const model::Process& process = traces.files[f].process;
    file_of_process_.try_emplace({run_of_file_[f], process.host, process.pid}, f);
  }
  for (std::uint32_t f = 0; f < traces.files.size(); ++f) {
    for (const model::ProxyOperation& proxy : traces.files[f].proxies) {
      if (proxy.foreign_pid != 0 && proxy.start_ns) {
        spans_[{f, proxy.channel, proxy.peer, proxy.is_send}].push_back(
            {*proxy.start_ns, proxy.end_ns.value_or(std::numeric_limits<std::int64_t>::max()),
             place_of(f, proxy)});
      }
    }
  }
  for (auto& [lane, spans] : spans_) {
    std::sort(spans.begin(), spans.end(),
              [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
  }
}

std::optional<Place> ForeignTransfers::place_of(std::uint32_t file,
                                                const model::ProxyOperation& proxy) const {
  const auto origin = file_of_process_.find(
      {run_of_file_[file], traces_.files[file].process.host, proxy.foreign_pid});
  if (proxy.foreign_pid == 0 || origin == file_of_process_.end()) {
    return std::nullopt;
  }
  std::optional<Place> found;
  for (const Place& place : places_of_file_[origin->second]) {
    const auto& shared = communicators_of_file_[file];
    if (proxy.peer >= nranks_[place.communicator] ||
        !std::binary_search(shared.begin(), shared.end(), place.communicator)) {
      continue;
    }
    if (found) {
      return std::nullopt;
    }
    found = place;
  }
  return found;
}

std::optional<Place> ForeignTransfers::place_of(std::uint32_t file, const model::Step& step) const {
  if (!step.peer) {
    return std::nullopt;
  }
  const auto lane = spans_.find({file, step.channel, *step.peer, step.is_send});
  if (lane == spans_.end()) {
    return std::nullopt;
  }
  const std::vector<Span>& spans = lane->second;
  auto at = std::upper_bound(
      spans.begin(), spans.end(), step.start_ns,
      [](std::int64_t start_ns, const Span& span) { return start_ns < span.start_ns; });
  std::optional<Place> found;
  for (std::size_t looked = 0; at != spans.begin() && looked < kMostOverlapping; ++looked) {
    const Span& span = *--at;
    if (step.start_ns > span.end_ns) {
      continue;
    }
    if (!span.place || (found && *found != *span.place)) {
      return std::nullopt;
    }
    found = span.place;
  }
  return found;
}

}  // namespace ringside::metrics
