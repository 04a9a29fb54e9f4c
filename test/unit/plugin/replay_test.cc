// SPDX-License-Identifier: Apache-2.0
//
// Records that a dead process had not written are assembled again.
#include "plugin/recover/replay.h"

#include <algorithm>

#include "test/unit/catch.h"
#include "test/unit/plugin/assembler_script.h"

using namespace ringside;
using record::EventType;
using record::RecordKind;
using test::kSecond;

namespace {

journal::KeptRecord kept(RecordKind kind, record::EventId id, std::int64_t ts_ns,
                         std::uint64_t operation) {
  journal::KeptRecord made{};
  made.view.kind = kind;
  made.view.type = record::event_type(id);
  made.view.id = id;
  made.view.tid = 10;
  made.view.context = 1;
  made.view.ts_ns = ts_ns;
  made.operation = operation;
  return made;
}

journal::JournalImage journal_of_one_communicator() {
  journal::JournalImage journal;
  assemble::Communicator communicator;
  communicator.context = 1;
  communicator.abi_version = 6;
  journal.communicators[1] = communicator;
  return journal;
}

}  // namespace

TEST_CASE("Numbers that the process gave after the checkpoint are not given once more") {
  journal::JournalImage journal = journal_of_one_communicator();
  journal.checkpoint.next_operation = 7;

  // A call of which nothing came: it is given up waiting for, and gets a number, while the records
  // of a collective that has the next one since before are still to come.
  const auto call = record::make_event_id(EventType::kCollApi, false, 0, 1);
  const auto coll = record::make_event_id(EventType::kColl, false, 0, 2);
  journal.records = {kept(RecordKind::kStart, call, 0, 0), kept(RecordKind::kStop, call, 1000, 0)};
  const auto idle = record::make_event_id(EventType::kProxyCtrl, false, 0, 3);
  for (int second = 1; second < 10; ++second) {
    journal.records.push_back(kept(RecordKind::kStart, idle, second * kSecond, 0));
  }
  journal.records.push_back(kept(RecordKind::kStart, coll, 10 * kSecond, 7));
  journal.records.push_back(kept(RecordKind::kStop, coll, 10 * kSecond + 1000, 7));

  test::CollectingSink sink;
  recover::replay(journal, {}, sink);
  REQUIRE(sink.operations.size() == 2);
  CHECK(sink.operations[0].kind == assemble::OperationKind::kApi);
  CHECK(sink.operations[0].number == 8);
  CHECK(sink.operations[1].number == 7);
}

TEST_CASE("A start whose parent was lost keeps its time, among slices that the trace has") {
  journal::JournalImage journal = journal_of_one_communicator();
  const auto lost = record::make_event_id(EventType::kCollApi, false, 0, 1);
  const auto coll = record::make_event_id(EventType::kColl, false, 0, 2);
  journal.records = {kept(RecordKind::kStart, coll, 1000, 7),
                     kept(RecordKind::kStop, coll, 2000, 7)};
  journal.records.front().view.payload.coll.parent = lost;
  for (std::uint64_t number = 3; number < 9; ++number) {
    const auto other = record::make_event_id(EventType::kGroupApi, false, 0, number);
    const auto begin_ns = static_cast<std::int64_t>(number) * kSecond / 2;
    journal.records.push_back(kept(RecordKind::kStart, other, begin_ns, 0));
    journal.records.push_back(kept(RecordKind::kStop, other, begin_ns + 1000, 0));
  }
  test::CollectingSink sink;
  recover::replay(journal, {}, sink);
  const auto call = std::find_if(sink.calls.begin(), sink.calls.end(),
                                 [&](const auto& of) { return of.id == assemble::row_id(coll); });
  REQUIRE(call != sink.calls.end());
  CHECK(call->start_ns == 1000);
  CHECK(call->end_ns == 2000);
}

TEST_CASE("Calls that were open at the death nest, though they have begun at one time") {
  journal::JournalImage journal = journal_of_one_communicator();
  constexpr std::uint64_t kCalls = 100;
  for (std::uint64_t number = 1; number <= kCalls; ++number) {
    const auto call = record::make_event_id(EventType::kGroupApi, false, 0, number);
    journal.records.push_back(kept(RecordKind::kStart, call, 1000, 0));
  }
  test::CollectingSink sink;
  recover::replay(journal, {}, sink);
  REQUIRE(sink.calls.size() == kCalls);
  std::sort(sink.calls.begin(), sink.calls.end(),
            [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  for (std::size_t i = 1; i < kCalls; ++i) {
    CHECK(sink.calls[i - 1].start_ns < sink.calls[i].start_ns);
    CHECK(sink.calls[i - 1].end_ns > sink.calls[i].end_ns);
  }
}

TEST_CASE("The second stop of a call is stale in the recovered account, and counted once") {
  journal::JournalImage journal = journal_of_one_communicator();
  const auto send = record::make_event_id(EventType::kP2p, false, 0, 1);
  journal.records = {kept(RecordKind::kStart, send, 0, 1), kept(RecordKind::kStop, send, 1000, 1),
                     kept(RecordKind::kStop, send, 2000, 0)};
  constexpr auto kType = static_cast<std::size_t>(EventType::kP2p);
  for (const bool is_counted : {false, true}) {
    journal::RingImage ring;
    ring.by_type[kType].produced = 4;  // and one of which nothing is left
    exporting::WriteCounts added;
    added.written[kType] = added.merged[kType] = 1;
    if (is_counted) {
      journal.in_trace.insert(assemble::row_id(send) | assemble::kStaleKey);
      journal.checkpoint.by_type[kType].stale = 1;
    }
    test::CollectingSink sink;
    const recover::Replayed replayed = recover::replay(journal, {}, sink);
    recover::Outcome outcome;
    const auto account = recover::account_of(journal, {ring}, added, replayed, outcome);
    CHECK(account.by_type[kType].stale == 1);
    CHECK(account.by_type[kType].dropped_kill == 1);
    CHECK(outcome.lost == 1);
  }
}

TEST_CASE("A callback for which memory was too short counts once, though the journal has it") {
  constexpr auto kType = static_cast<std::size_t>(EventType::kP2p);
  journal::JournalImage journal = journal_of_one_communicator();
  journal.checkpoint.by_type[kType].dropped_memory = 3;
  journal::RingImage ring;
  ring.by_type[kType].produced = 4;
  exporting::WriteCounts added;
  added.written[kType] = added.merged[kType] = 1;
  recover::Outcome outcome;
  const auto account = recover::account_of(journal, {ring}, added, {}, outcome);
  CHECK(account.by_type[kType].produced == 4);
  CHECK(account.by_type[kType].dropped_memory == 2);
  CHECK(outcome.notes.empty());
}
