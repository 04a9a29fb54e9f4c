// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/clock_pieces.h"

#include <algorithm>
#include <utility>

namespace ringside::align {
namespace {

// From the last of so many steps of a host to its very last, nothing is used: each costs a pass.
constexpr int kMostTold = 64;

}  // namespace

ClockPieces::ClockPieces(const model::Traces& traces, const HostClocks& clocks,
                         std::int64_t zero_ns)
    : began_ns_(clocks.hosts.size(), kNoEnd), extents_ns_(clocks.hosts.size()) {
  for (std::uint32_t host = 0; host < clocks.hosts.size(); ++host) {
    pieces_.emplace_back().host = host;
  }
  for (std::uint32_t file = 0; file < traces.files.size(); ++file) {
    double& began_ns = began_ns_[clocks.host_of_file[file]];
    began_ns = std::min(began_ns,
                        host_time_ns(clocks, zero_ns, file, traces.files[file].process.start_ns));
    if (const auto& own_ns = traces.files[file].operations.extent_ns()) {
      const double from_ns = host_time_ns(clocks, zero_ns, file, own_ns->first);
      const double to_ns = host_time_ns(clocks, zero_ns, file, own_ns->second);
      auto& extent_ns = extents_ns_[clocks.host_of_file[file]];
      extent_ns = extent_ns ? std::pair(std::min(extent_ns->first, from_ns),
                                        std::max(extent_ns->second, to_ns))
                            : std::pair(from_ns, to_ns);
    }
  }
}

std::vector<std::uint32_t> ClockPieces::of_host(std::uint32_t host) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t piece = 0; piece < pieces_.size(); ++piece) {
    if (pieces_[piece].host == host) {
      found.push_back(piece);
    }
  }
  std::sort(found.begin(), found.end(), [&](std::uint32_t a, std::uint32_t b) {
    return pieces_[a].begin_ns < pieces_[b].begin_ns;
  });
  return found;
}

void ClockPieces::cut_at_told(const model::Traces& traces, const HostClocks& clocks,
                              SyncPoints& points) {
  std::vector<std::vector<std::pair<double, double>>> gaps(pieces_.size());
  for (std::uint32_t file = 0; file < traces.files.size(); ++file) {
    for (const model::ClockReading& reading : traces.files[file].clocks) {
      if (reading.step_after_ns) {
        gaps[clocks.host_of_file[file]].emplace_back(
            host_time_ns(clocks, points.zero_ns, file, *reading.step_after_ns),
            host_time_ns(clocks, points.zero_ns, file, reading.ts_ns));
      }
    }
  }
  for (std::uint32_t host = 0; host < gaps.size(); ++host) {
    // The processes of a host saw the same step, each between readings of its own.
    std::sort(gaps[host].begin(), gaps[host].end());
    std::uint32_t piece = host;
    int cuts = 0;
    for (std::size_t i = 0; i < gaps[host].size();) {
      const double begin_ns = gaps[host][i].first;
      double end_ns = begin_ns;
      ++cuts;
      for (; i < gaps[host].size() && (gaps[host][i].first <= end_ns || cuts == kMostTold); ++i) {
        end_ns = std::max(end_ns, gaps[host][i].second);
      }
      cut(piece, {host, begin_ns, end_ns, StepSource::kTrace}, points);
      piece = static_cast<std::uint32_t>(pieces_.size() - 1);
    }
  }
}

void ClockPieces::cut(std::uint32_t piece, const ClockPiece& gap, SyncPoints& points) {
  const auto behind = static_cast<std::uint32_t>(pieces_.size());
  const auto is_within = [&](double ns) { return gap.begin_ns < ns && ns < gap.end_ns; };
  const bool is_gap_used =
      std::any_of(points.touches.begin(), points.touches.end(), [&](const Touch& touch) {
        return touch.host == piece && (is_within(touch.start_ns) || is_within(touch.end_ns));
      });
  pieces_.push_back(
      {pieces_[piece].host, gap.end_ns, pieces_[piece].end_ns, gap.source, is_gap_used});
  pieces_[piece].end_ns = gap.begin_ns;
  const std::size_t size = points.touches.size();
  std::vector<Touch> touches;
  touches.reserve(size);
  for (const Touch& touch : points.touches) {
    if (touch.host != piece) {
      touches.push_back(touch);
      continue;
    }
    Touch before = touch;
    Touch after = touch;
    after.host = behind;
    before.start_ns = touch.start_ns <= gap.begin_ns ? touch.start_ns : kNoStart;
    before.end_ns = touch.end_ns <= gap.begin_ns ? touch.end_ns : kNoEnd;
    after.start_ns = touch.start_ns >= gap.end_ns ? touch.start_ns : kNoStart;
    after.end_ns = touch.end_ns >= gap.end_ns ? touch.end_ns : kNoEnd;
    for (const Touch& part : {before, after}) {
      if (part.start_ns > kNoStart || part.end_ns < kNoEnd) {
        touches.push_back(part);
      }
    }
  }
  points.touches = std::move(touches);
}

std::uint32_t ClockPieces::most_touched(const SyncPoints& points) const {
  std::vector<std::pair<bool, std::uint64_t>> touches(pieces_.size());
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
    touches[piece].first = !is_cut(pieces_[piece].host);
  }
  for (const Touch& touch : points.touches) {
    ++touches[touch.host].second;
  }
  for (auto& [is_whole, count] : touches) {
    is_whole = is_whole && count > 0;
  }
  return static_cast<std::uint32_t>(std::max_element(touches.begin(), touches.end()) -
                                    touches.begin());
}

}  // namespace ringside::align
