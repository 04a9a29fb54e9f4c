// SPDX-License-Identifier: Apache-2.0
//
// Records that a dead process had not written are assembled again.
#include "plugin/recover/replay.h"

#include "test/unit/catch.h"
#include "test/unit/plugin/assembler_script.h"

using namespace ringside;
using record::EventType;
using record::RecordKind;
using test::kSecond;

namespace {

recover::KeptRecord kept(RecordKind kind, record::EventId id, std::int64_t ts_ns,
                         std::uint64_t operation) {
  recover::KeptRecord made{};
  made.view.kind = kind;
  made.view.type = record::event_type(id);
  made.view.id = id;
  made.view.tid = 10;
  made.view.context = 1;
  made.view.ts_ns = ts_ns;
  made.operation = operation;
  return made;
}

}  // namespace

TEST_CASE("Numbers that the process gave after the checkpoint are not given once more") {
  recover::JournalImage journal;
  assemble::Communicator communicator;
  communicator.context = 1;
  communicator.abi_version = 6;
  journal.communicators[1] = communicator;
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
  const recover::Replayed result = recover::replay(journal, {}, sink);
  REQUIRE(sink.operations.size() == 2);
  CHECK(sink.operations[0].kind == assemble::OperationKind::kApi);
  CHECK(sink.operations[0].number == 8);
  CHECK(sink.operations[1].number == 7);
  CHECK(result.next_operation == 9);
}
