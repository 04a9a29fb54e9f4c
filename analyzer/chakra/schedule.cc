// SPDX-License-Identifier: Apache-2.0
#include "analyzer/chakra/schedule.h"

#include <algorithm>
#include <utility>

namespace ringside::chakra {

Schedule::Schedule(std::int64_t first_us) {
  Piece& lead = pieces_.emplace_back();
  lead.source = Piece::Source::kLead;
  lead.is_cpu = true;
  lead.start_us = lead.planned_end_us = first_us;
}

namespace {

void sort_unique(std::vector<PieceIndex>& pieces) {
  std::sort(pieces.begin(), pieces.end());
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
}

}  // namespace

PieceIndex Schedule::add(Piece piece, std::int64_t end_us) {
  if (piece.data.empty()) {
    piece.data.push_back(0);
  }
  sort_unique(piece.data);
  std::vector<PieceIndex> anchors;
  std::vector<PieceIndex> kept = piece.syncs;
  PieceIndex last = pieces_[piece.data.front()].anchor;
  for (const PieceIndex before : piece.data) {
    const PieceIndex anchor = pieces_[before].anchor;
    anchors.push_back(anchor);
    if (anchor != before) {
      kept.push_back(before);
    }
    if (pieces_[anchor].planned_end_us > pieces_[last].planned_end_us) {
      last = anchor;
    }
  }
  std::int64_t ready_us = pieces_[last].planned_end_us;
  if (piece.start_us > ready_us) {
    Piece gap;
    gap.is_cpu = piece.is_cpu;
    if (piece.is_cpu) {
      gap.control = piece.control;  // the rest of its own time
    }
    gap.start_us = ready_us;
    gap.duration_us = piece.start_us - ready_us;
    gap.planned_end_us = ready_us = piece.start_us;
    gap.anchor = last = static_cast<PieceIndex>(pieces_.size());
    sort_unique(anchors);
    gap.data = std::move(anchors);
    kept.push_back(gap.anchor);
    sort_unique(kept);
    piece.data = std::move(kept);
    pieces_.push_back(std::move(gap));
  }
  const auto index = static_cast<PieceIndex>(pieces_.size());
  piece.planned_end_us = std::max(ready_us + piece.duration_us, end_us);
  piece.anchor = piece.is_timed ? index : last;
  pieces_.push_back(std::move(piece));
  return index;
}

PieceIndex Schedule::join(std::vector<PieceIndex> pieces) {
  Piece joint;
  joint.data = std::move(pieces);
  for (const PieceIndex before : joint.data) {
    joint.is_timed = joint.is_timed && pieces_[before].is_timed;
  }
  return add(std::move(joint), 0);
}

}  // namespace ringside::chakra
