// SPDX-License-Identifier: Apache-2.0
//
// The journal as its reader finds it, whenever its writer stops.
#include "plugin/journal/journal.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <set>
#include <vector>

#include "plugin/assemble/clocks/gpu_clock.h"
#include "plugin/drain/trace_writer.h"
#include "plugin/journal/images.h"
#include "test/unit/catch.h"

using namespace ringside;
using journal::Journal;
using record::EventType;
using record::RecordKind;

namespace {

struct Memory {
  std::vector<std::uint64_t> words;
  explicit Memory(std::size_t bytes = Journal::kLeastBytes) : words(bytes / 8) {}
  void* data() { return words.data(); }
  std::size_t size() const { return words.size() * 8; }
  journal::JournalImage read() const {
    journal::JournalImage image;
    REQUIRE(journal::read_journal(std::as_bytes(std::span(words)), image).is_ok());
    return image;
  }
};

assemble::RecordView view(std::uint64_t counter, RecordKind kind, bool has_extra = false) {
  assemble::RecordView made{};
  made.kind = kind;
  made.type = EventType::kColl;
  made.id = record::make_event_id(EventType::kColl, false, 3, counter);
  made.ring = 3;
  made.tid = 4242;
  made.context = 1;
  made.ts_ns = static_cast<std::int64_t>(counter) * 10;
  made.payload.coll.count = counter;
  made.has_extra = has_extra;
  made.extra.user_tag = counter;
  return made;
}

assemble::Answer answering(bool (*is_needed)(std::uint64_t operation)) {
  return [is_needed](std::span<assemble::Question> asked) {
    for (assemble::Question& question : asked) {
      question.is_needed = is_needed(question.operation);
    }
  };
}

const assemble::Answer kAll = answering([](std::uint64_t) { return true; });
const assemble::Answer kNone = answering([](std::uint64_t) { return false; });

std::uint64_t row(std::uint64_t counter) {
  return assemble::row_id(view(counter, RecordKind::kStart).id);
}

}  // namespace

TEST_CASE("A journal gives back its records in order, with operation and thread") {
  Memory memory;
  Journal journal(memory.data(), memory.size(), 77, 0xabc);
  REQUIRE(journal.append(view(1, RecordKind::kStart, true), 9));
  REQUIRE(journal.append(view(1, RecordKind::kStop), 9));
  const journal::JournalImage image = memory.read();
  CHECK(image.pid == 77);
  CHECK(image.run_id == 0xabc);
  CHECK(image.sequence == 0);
  REQUIRE(image.records.size() == 2);
  const journal::KeptRecord& first = image.records[0];
  CHECK(first.operation == 9);
  CHECK(first.view.tid == 4242);
  CHECK(first.view.ring == 3);
  CHECK(first.view.ts_ns == 10);
  CHECK(first.view.has_extra);
  CHECK(first.view.extra.user_tag == 1);
  CHECK(first.view.payload.coll.count == 1);
  CHECK(image.records[1].view.kind == RecordKind::kStop);
}

TEST_CASE("A row counts as written from the checkpoint on that includes it") {
  Memory memory;
  Journal journal(memory.data(), memory.size(), 1, 1);
  REQUIRE(journal.append(view(1, RecordKind::kStart), 1));
  journal.written(row(1));
  CHECK(memory.read().in_trace.empty());
  journal::Checkpoint made{};
  made.trace_bytes = 1234;
  journal.checkpoint(made, kAll);
  journal.written(row(2));
  const journal::JournalImage image = memory.read();
  CHECK(image.sequence == 1);
  CHECK(image.checkpoint.trace_bytes == 1234);
  CHECK(image.in_trace == std::unordered_set<std::uint64_t>{row(1)});
}

TEST_CASE("A full journal keeps what is needed, and what no checkpoint has yet") {
  Memory memory;
  Journal journal(memory.data(), memory.size(), 1, 1);
  std::uint64_t counter = 1;
  for (; journal.append(view(counter, RecordKind::kStart, counter % 2 == 0), counter); ++counter) {
    if (counter == 50) {
      journal.written(row(20));  // its event goes on: the row is in the trace, the record stays
      journal.checkpoint({}, kAll);
    }
  }
  REQUIRE(counter > 400);
  journal.written(row(30));
  journal.written(31 | assemble::kOperationKey);
  journal.make_room(
      answering([](std::uint64_t operation) { return operation == 20 || operation == 21; }));
  const journal::JournalImage image = memory.read();
  std::vector<std::uint64_t> kept;
  for (const journal::KeptRecord& record : image.records) {
    kept.push_back(record.operation);
    CHECK(record.view.payload.coll.count == record.operation);
    CHECK(record.view.has_extra == (record.operation % 2 == 0));
  }
  CHECK(kept == std::vector<std::uint64_t>{20, 21, 30, 31});
  CHECK(image.in_trace == std::unordered_set<std::uint64_t>{row(20)});
  CHECK(image.entries_lost == 0);
  CHECK(journal.append(view(counter, RecordKind::kStart), counter));
}

TEST_CASE("A journal in which everything is needed gives up, and says how much") {
  Memory memory;
  Journal journal(memory.data(), memory.size(), 1, 1);
  std::uint64_t counter = 1;
  while (journal.append(view(counter, RecordKind::kStart), counter)) {
    ++counter;
  }
  CHECK_FALSE(journal.has_room());
  journal.make_room(kAll);
  const journal::JournalImage image = memory.read();
  CHECK(image.records.empty());
  CHECK(image.entries_lost == counter - 1);
  CHECK(journal.has_room());
  CHECK(journal.append(view(counter, RecordKind::kStart), counter));
}

TEST_CASE("Many rows written between two checkpoints make room for their names") {
  Memory memory;
  Journal journal(memory.data(), memory.size(), 1, 1);
  std::uint64_t counter = 1;
  while (journal.append(view(counter, RecordKind::kStart), counter)) {
    ++counter;
  }
  for (std::uint64_t i = 1; i < counter; ++i) {
    journal.written(row(i));
  }
  journal.checkpoint({}, kNone);
  const journal::JournalImage image = memory.read();
  CHECK(image.sequence == 1);
  // Whatever is left of them, none may be written twice.
  for (const journal::KeptRecord& record : image.records) {
    CHECK(image.in_trace.contains(assemble::row_id(record.view.id)));
  }
}

TEST_CASE("Notes come back, the last of a communicator counts") {
  Memory memory;
  Journal journal(memory.data(), memory.size(), 1, 1);
  journal.note_final_path("/somewhere/ringside.x.json");
  journal.note_first_line("[{}\n");
  assemble::Communicator communicator;
  communicator.context = 5;
  communicator.name = "world before";
  communicator.rank = 3;
  journal.note(communicator);
  communicator.name = "world";
  communicator.finalized_ns = 99;
  communicator.gpu_uuid = "GPU-1";
  journal.note(communicator);
  journal.note_window(2, 5, 1000);
  journal.note_window(2, 7, 1000);
  journal.note_segment(3, {1, 2}, {4});
  journal.note_gpu_clock(5, {1, 2, 0.5, 2});
  journal.note_gpu_clock(5, {1, 2, 0.5, 3});
  const journal::JournalImage image = memory.read();
  CHECK(image.final_path == "/somewhere/ringside.x.json");
  CHECK(image.first_line == "[{}\n");
  REQUIRE(image.communicators.size() == 1);
  CHECK(image.communicators.at(5).name == "world");
  CHECK(image.communicators.at(5).rank == 3);
  CHECK(image.communicators.at(5).finalized_ns == 99);
  CHECK(image.communicators.at(5).gpu_uuid == "GPU-1");
  REQUIRE(image.windows.size() == 1);
  CHECK(image.windows.at(2).start_ns == 1000);
  CHECK(image.windows.at(2).types == 7);
  REQUIRE(image.segment_counts.size() == 1);
  CHECK(image.segment_counts.at(3).written[1] == 2);
  CHECK(image.segment_counts.at(3).merged[0] == 4);
  CHECK(image.gpu_clocks.at(5).samples == 3);
  CHECK(image.bad_entries == 0);
}

TEST_CASE("Notes of weeks find room: those that no longer count are left out") {
  Memory memory;
  Journal journal(memory.data(), memory.size(), 1, 1);
  assemble::Communicator communicator;
  communicator.context = 1;
  journal.note(communicator);
  for (std::uint64_t number = 1; number <= 1000; ++number) {
    journal.note_gpu_clock(1, {number, 2, 0.5, 3});
    journal.note_segment(number, {}, {});
    journal.note_window(static_cast<std::uint32_t>(number), 1, 0);
  }
  const journal::JournalImage image = memory.read();
  CHECK(image.notes_lost == 0);
  CHECK(image.bad_entries == 0);
  CHECK(image.communicators.size() == 1);
  CHECK(image.gpu_clocks.at(1).gpu_ref_ns == 1000);
  CHECK(image.segment_counts.size() == journal::kNotedSegments);
  CHECK(image.segment_counts.contains(1000));
  CHECK(image.windows.size() == journal::kNotedWindows);
  CHECK(image.windows.contains(1000));
}

TEST_CASE("What has no room in the notes is counted, and takes none from the others") {
  Memory memory;
  Journal journal(memory.data(), memory.size(), 1, 1);
  journal.note_final_path("/somewhere/ringside.x.json");
  journal.note_first_line(std::string(memory.size(), 'x'));
  CHECK(memory.read().notes_lost == 1);
  CHECK(memory.read().first_line.empty());
  assemble::Communicator communicator;
  for (communicator.context = 1; memory.read().notes_lost == 1; ++communicator.context) {
    journal.note(communicator);
  }
  const std::uint32_t places = communicator.context - 2;  // the last had none
  CHECK(memory.read().communicators.size() == places);
  CHECK(memory.read().communicators_forgotten == 0);
  communicator.context = 3;
  communicator.finalized_ns = 77;
  journal.note(communicator);
  communicator.context = places + 2;
  communicator.finalized_ns = assemble::kUnknownTime;
  journal.note(communicator);
  const journal::JournalImage image = memory.read();
  CHECK(image.final_path == "/somewhere/ringside.x.json");
  CHECK(image.communicators.size() == places);
  CHECK(image.communicators.contains(places + 2));
  CHECK_FALSE(image.communicators.contains(3));
  CHECK(image.communicators_forgotten == 1);
  CHECK(image.bad_entries == 0);
}

TEST_CASE("A journal keeps what a ring's codes of names mean, whenever it makes room") {
  Memory memory;
  Journal journal(memory.data(), memory.size(), 1, 1);
  assemble::RecordView name = view(1, RecordKind::kName);
  name.id = record::kFirstDynamicName;
  name.ring = 9;
  name.payload.name = {"an algorithm"};
  REQUIRE(journal.append(name, 0));
  const auto nothing_is_needed = [](std::span<assemble::Question>) {};
  journal.make_room(nothing_is_needed);
  journal.make_room(nothing_is_needed);
  const journal::JournalImage image = memory.read();
  REQUIRE(image.records.size() == 1);
  CHECK(image.records[0].view.kind == RecordKind::kName);
  CHECK(image.records[0].view.ring == 9);
  CHECK(image.records[0].view.id == record::kFirstDynamicName);
  CHECK(image.records[0].view.payload.name.text == std::string("an algorithm"));
  CHECK(image.bad_entries == 0);
}

TEST_CASE("A journal keeps the texts of marks and ranges, whole, when it makes room") {
  Memory memory;
  Journal journal(memory.data(), memory.size(), 1, 1);
  const std::string text = std::string(record::kMostText_bytes, 't') + "train.py:17";
  for (std::uint64_t counter = 1; counter <= 2; ++counter) {
    assemble::RecordView made = view(counter, RecordKind::kStart);
    made.type = record::EventType::kRange;
    made.id = record::mark_id(record::make_event_id(record::EventType{}, false, 0, counter));
    made.payload.mark = {0, record::kMostText_bytes, 11, {}};
    made.text = text;
    REQUIRE(journal.append(made, 0));
  }
  journal.make_room([](std::span<assemble::Question> asked) {
    REQUIRE(asked.size() == 2);
    asked[1].is_needed = true;
  });
  const journal::JournalImage image = memory.read();
  REQUIRE(image.records.size() == 1);
  CHECK(image.bad_entries == 0);
  CHECK(record::event_counter(image.records[0].view.id) == 2);
  CHECK(image.records[0].view.text == text);
}

TEST_CASE("A journal of another version, or with a head of another size, is not read") {
  Memory memory;
  const Journal journal(memory.data(), memory.size(), 77, 0xabc);
  const auto changed = [&](std::size_t offset, std::uint32_t value) {
    const auto whole = std::as_bytes(std::span(memory.words));
    std::vector<std::byte> file(whole.begin(), whole.end());
    std::memcpy(file.data() + offset, &value, sizeof value);
    journal::JournalImage image;
    return journal::read_journal(file, image).is_ok();
  };
  const std::size_t version = offsetof(journal::JournalHeader, version);
  CHECK(changed(version, journal::kJournalVersion));
  for (const std::uint32_t other :
       {0U, journal::kJournalVersion - 1, journal::kJournalVersion + 1}) {
    CHECK_FALSE(changed(version, other));
  }
  CHECK_FALSE(changed(offsetof(journal::JournalHeader, header_bytes), 2432));
}

TEST_CASE("The note of one more communicator costs the same, however many are open") {
  Memory memory(std::size_t{32} << 20);  // the default
  Journal journal(memory.data(), memory.size(), 1, 1);
  assemble::Communicator communicator;
  // The least processor time for a hundred notes, up to this context.
  const auto least_ns = [&](std::uint32_t until) {
    constexpr std::uint32_t kNotes = 100;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    while (communicator.context < until) {
      timespec begin{};
      timespec end{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
      for (std::uint32_t i = 0; i < kNotes; ++i) {
        ++communicator.context;
        journal.note(communicator);
      }
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
      least = std::min(least,
                       (end.tv_sec - begin.tv_sec) * 1'000'000'000 + end.tv_nsec - begin.tv_nsec);
    }
    return least;
  };
  const std::int64_t of_few_ns = least_ns(1000);
  CHECK(memory.read().notes_lost == 0);
  least_ns(11'000);
  CHECK(memory.read().communicators.size() == 11'000);
  CHECK(memory.read().notes_lost == 0);
  CHECK(least_ns(20'000) < 20 * of_few_ns);
  CHECK(memory.read().notes_lost > 0);
}

TEST_CASE("Communicators that come and go for weeks find room, and their numbers are believed") {
  Memory memory;
  Journal journal(memory.data(), memory.size(), 1, 1);
  constexpr std::uint32_t kCreated = 20'000;
  assemble::Communicator communicator;
  communicator.context = 1;
  communicator.name = "from the beginning";
  journal.note(communicator);
  journal.note_gpu_clock(1, {5, 2, 0.5, 3});
  communicator.name = "for a while";
  for (communicator.context = 2; communicator.context <= kCreated; ++communicator.context) {
    communicator.finalized_ns = assemble::kUnknownTime;
    journal.note(communicator);
    journal.note_gpu_clock(communicator.context, {1, 2, 0.5, 3});
    communicator.finalized_ns = communicator.context;
    journal.note(communicator);
    journal.note(communicator);  // more was learnt of it
  }
  const journal::JournalImage image = memory.read();
  CHECK(image.notes_lost == 0);
  CHECK(image.bad_entries == 0);
  REQUIRE(image.communicators.contains(1));
  CHECK(image.communicators.at(1).name == "from the beginning");
  CHECK(image.gpu_clocks.at(1).gpu_ref_ns == 5);
  for (std::uint32_t context = kCreated - 10; context <= kCreated; ++context) {
    REQUIRE(image.communicators.contains(context));
    CHECK(image.communicators.at(context).finalized_ns == context);
    CHECK(image.gpu_clocks.contains(context));
  }
  CHECK(image.communicators.size() < 100);
  CHECK(image.communicators.size() + image.communicators_forgotten >= kCreated);
  // A late note of a communicator that is not known any more harms nothing.
  journal.note_gpu_clock(2, {1, 2, 0.5, 3});
  CHECK_FALSE(memory.read().gpu_clocks.contains(2));
}

TEST_CASE("A journal with any word changed is refused or read without harm") {
  Memory memory;
  Journal journal(memory.data(), memory.size(), 1, 1);
  journal.note_first_line("[{}\n");
  for (std::uint64_t i = 1; i < 20; ++i) {
    REQUIRE(journal.append(view(i, RecordKind::kStart, i % 2 == 0), i));
    journal.written(row(i));
    journal.checkpoint({}, kAll);
  }
  for (std::size_t word = 0; word < memory.words.size(); ++word) {
    for (const std::uint64_t value :
         {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 31}) {
      Memory changed = memory;
      if (changed.words[word] == value) {
        continue;
      }
      changed.words[word] = value;
      journal::JournalImage image;
      static_cast<void>(journal::read_journal(std::as_bytes(std::span(changed.words)), image));
      CHECK(image.records.size() <= memory.words.size() / 8);
    }
    if (word > 1000) {
      word += 97;
    }
  }
}

TEST_CASE("Before the trace's file is made, the journal speaks of its first segment") {
  config::Config config;
  drain::TraceWriter writer(config);
  Memory memory;
  writer.keep_journal(memory.data(), memory.size());
  const journal::JournalImage image = memory.read();
  REQUIRE(image.sequence != 0);
  CHECK(image.checkpoint.segment == 1);
  CHECK(image.final_path == writer.path());
}
