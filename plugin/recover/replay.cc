// SPDX-License-Identifier: Apache-2.0
#include "plugin/recover/replay.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_set>

#include "plugin/assemble/assembler.h"

namespace ringside::recover {
namespace {

constexpr std::int64_t kSettleEvery_ns = 50'000'000;

// Leaves out what is in the trace.
class MissingOnly final : public assemble::Sink {
 public:
  MissingOnly(assemble::Sink& trace, const journal::JournalImage& journal, Replayed& result)
      : trace_(trace), journal_(journal), result_(result) {}

  void row(const assemble::Row& row, const assemble::Tally& tally) override {
    if (is_in_trace(row)) {
      return;
    }
    if (const auto* const of = std::get_if<assemble::OperationRow>(&row)) {
      ++result_.operations;
      result_.in_flight += of->operation->in_flight ? 1 : 0;
    }
    trace_.row(row, tally);
  }
  void stale(const assemble::RecordView& view) override {
    const std::uint64_t key = assemble::row_id(view.id) | assemble::kStaleKey;
    result_.stale[static_cast<std::size_t>(view.type)] += journal_.in_trace.contains(key) ? 0 : 1;
  }
  void thread(std::int32_t tid, std::string_view name) override { trace_.thread(tid, name); }
  void communicator(const assemble::Communicator& communicator) override {
    trace_.communicator(communicator);
  }
  void gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) override {
    trace_.gpu_clock(context, fit);
  }

 private:
  bool is_in_trace(const assemble::Row& row) const {
    if (journal_.in_trace.contains(assemble::row_key(row))) {
      return true;
    }
    // The journal names an enqueue that was sampled out by its operation only.
    const auto* const call = std::get_if<const assemble::Call*>(&row);
    return call != nullptr && (*call)->operation != 0 &&
           journal_.in_trace.contains((*call)->operation | assemble::kOperationKey);
  }

  assemble::Sink& trace_;
  const journal::JournalImage& journal_;
  Replayed& result_;
};

void announce(const journal::JournalImage& journal, assemble::Assembler& assembler) {
  for (const auto& [context, communicator] : journal.communicators) {
    assembler.open_communicator(communicator);
  }
  for (const auto& [number, window] : journal.windows) {
    assembler.open_window(number, window.start_ns);
    assembler.expect(window.types);
  }
  for (const auto& [context, fit] : journal.gpu_clocks) {
    if (journal.communicators.contains(context)) {
      assembler.seed_gpu_clock(context, fit);
    }
  }
  // The records that came after the checkpoint may have brought numbers that it does not know of.
  std::uint64_t next_operation = std::max<std::uint64_t>(journal.checkpoint.next_operation, 1);
  for (const journal::KeptRecord& record : journal.records) {
    next_operation = std::max(next_operation, record.operation + 1);
  }
  assembler.set_next_operation(next_operation);
}

using RecordKey = std::tuple<record::EventId, record::RecordKind, std::string_view>;

RecordKey key_of(const assemble::RecordView& view) {
  // A stop has no payload, and what its slot held before may be there.
  const std::size_t bytes = view.kind == record::RecordKind::kStop ? 0 : sizeof view.payload;
  return {view.id, view.kind, {reinterpret_cast<const char*>(&view.payload), bytes}};
}

// The journal's records, and behind them those of the rings by their time.
std::vector<journal::KeptRecord> all_records(const journal::JournalImage& journal,
                                             const std::vector<journal::RingImage>& rings) {
  std::vector<journal::KeptRecord> all = journal.records;
  std::unordered_set<record::EventId> in_rings;
  for (const journal::RingImage& ring : rings) {
    for (const journal::RawRecord& record : ring.records) {
      in_rings.insert(record.id);
    }
  }
  // A record is in the journal before its slot is given back, so it can be in both. A name may be
  // kept twice, and many rings have names of the same number.
  std::set<RecordKey> in_journal;
  for (const journal::KeptRecord& record : journal.records) {
    if (record.view.kind != record::RecordKind::kName && in_rings.contains(record.view.id)) {
      in_journal.insert(key_of(record.view));
    }
  }
  for (const journal::RingImage& ring : rings) {
    for (const journal::RawRecord& record : ring.records) {
      if (in_journal.contains(key_of(record))) {
        continue;
      }
      all.push_back({record, 0});
      all.back().view.ts_ns = journal.ns(static_cast<std::uint64_t>(record.ts_ns));
    }
  }
  // A name has no time: it belongs before what its ring says next.
  const auto rest = all.begin() + static_cast<std::ptrdiff_t>(journal.records.size());
  std::stable_partition(rest, all.end(), [](const journal::KeptRecord& record) {
    return record.view.kind == record::RecordKind::kName;
  });
  const auto timed = std::find_if(rest, all.end(), [](const journal::KeptRecord& record) {
    return record.view.kind != record::RecordKind::kName;
  });
  std::stable_sort(timed, all.end(),
                   [](const journal::KeptRecord& a, const journal::KeptRecord& b) {
                     return a.view.ts_ns < b.view.ts_ns;
                   });
  return all;
}

}  // namespace

Replayed replay(const journal::JournalImage& journal, const std::vector<journal::RingImage>& rings,
                assemble::Sink& sink) {
  Replayed result;
  MissingOnly missing(sink, journal, result);
  assemble::Assembler assembler(missing);
  announce(journal, assembler);
  result.death_ns = std::max<std::int64_t>(journal.checkpoint.clock_ns[1], 0);
  std::int64_t next_settle_ns = 0;
  std::vector<journal::KeptRecord> records = all_records(journal, rings);
  std::unordered_set<record::EventId> started;
  for (const journal::KeptRecord& record : records) {
    if (record.view.kind == record::RecordKind::kStart) {
      started.insert(record.view.id);
    }
  }
  for (journal::KeptRecord& record : records) {
    // A context that nobody announced is nobody's; labels are kept by its number.
    if (!journal.communicators.contains(record.view.context)) {
      record.view.context = 0;
    }
    // A start that waited for its parent would get a later time, among slices that the trace has.
    assembler.record(record.view, record.operation,
                     !started.contains(record.view.payload.step.parent));
    ++result.records;
    result.death_ns = std::max(result.death_ns, record.view.ts_ns);
    if (record.view.ts_ns >= next_settle_ns) {
      assembler.settle(record.view.ts_ns);
      next_settle_ns = record.view.ts_ns + kSettleEvery_ns;
    }
  }
  assembler.close(result.death_ns);
  result.given_up = assembler.counts().given_up;
  return result;
}

assemble::Account account_of(const journal::JournalImage& journal,
                             const std::vector<journal::RingImage>& rings,
                             const exporting::WriteCounts& added, const Replayed& replayed,
                             Outcome& outcome) {
  assemble::Account made;
  std::uint64_t missing = 0;
  for (std::size_t type = 0; type < record::kAccountTypes; ++type) {
    assemble::TypeAccount& of = made.by_type[type] = journal.checkpoint.by_type[type];
    for (const journal::RingImage& ring : rings) {
      of += ring.by_type[type];
    }
    of.written += added.written[type];
    of.merged += added.merged[type];
    of.dropped_write += added.dropped[type];
    std::uint64_t known = of.placed();
    // A record for which memory was too short is counted as lost, and may be in the journal.
    of.dropped_memory -= std::min(of.dropped_memory, known - std::min(known, of.produced));
    known = of.placed();
    if (known > of.produced) {
      missing += known - of.produced;
      of.produced = known;
    }
    // A record that was counted as stale long before may still be in the journal.
    const std::uint64_t rest = of.produced - known;
    const std::uint64_t stale = std::min(rest, replayed.stale[type]);
    of.stale += stale;
    // If the process lives, it may still write what is left.
    (outcome.is_running ? of.in_rings : of.dropped_kill) += rest - stale;
    // The replay may evict the same events as the process: not the sum.
    made.given_up[type] = std::max(replayed.given_up[type], journal.checkpoint.given_up[type]);
    outcome.callbacks += of.produced;
    outcome.lost += of.dropped_kill;
  }
  if (missing != 0) {
    outcome.notes.push_back("the trace holds " + std::to_string(missing) +
                            " callbacks more than the rings count: a ring's file is missing");
  }
  return made;
}

}  // namespace ringside::recover
