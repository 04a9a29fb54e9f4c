// SPDX-License-Identifier: Apache-2.0
//
// A journal and a ring as a process leaves them, changed in any words, and what the bytes say must
// never crash, hang or fill the memory of whoever recovers them.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "plugin/export/lines/chrome_trace.h"
#include "plugin/journal/journal.h"
#include "plugin/record/names.h"
#include "plugin/record/ring.h"
#include "plugin/recover/replay.h"
#include "test/fuzz/input.h"

namespace {

using namespace ringside;
using record::EventType;
using record::RecordKind;

struct Nowhere final : exporting::LineSink {
  void add(std::string_view line, const assemble::Tally&) override { bytes += line.size(); }
  std::size_t bytes = 0;
};

assemble::RecordView view(EventType type, RecordKind kind, std::uint64_t counter,
                          std::uint64_t parent) {
  assemble::RecordView made{};
  made.kind = kind;
  made.type = type;
  made.id = record::make_event_id(type, false, 0, counter);
  made.tid = 7;
  made.context = 1;
  made.ts_ns = static_cast<std::int64_t>(1'000'000 + counter * 1000);
  made.payload.step.parent = parent;
  if (type == EventType::kColl && kind == RecordKind::kStart) {
    made.has_extra = true;
    made.payload.coll.func = record::known_name(record::read_prefix("AllReduce"));
    made.payload.coll.datatype = record::known_name(record::read_prefix("ncclFloat32"));
    made.extra.channels = 2;
  }
  return made;
}

// An operation with children, some of them not stopped, after each other.
std::vector<assemble::RecordView> records() {
  std::vector<assemble::RecordView> made;
  std::uint64_t counter = 1;
  for (int i = 0; i < 4; ++i) {
    const auto call = view(EventType::kCollApi, RecordKind::kStart, counter++, 0);
    const auto coll = view(EventType::kColl, RecordKind::kStart, counter++, call.id);
    const auto proxy = view(EventType::kProxyOp, RecordKind::kStart, counter++, coll.id);
    const auto step = view(EventType::kProxyStep, RecordKind::kStart, counter++, proxy.id);
    const auto kernel = view(EventType::kKernelCh, RecordKind::kStart, counter++, coll.id);
    made.insert(made.end(), {call, coll, proxy, step, kernel});
    for (const auto& started : {step, proxy, kernel, coll, call}) {
      if (i == 3) {
        break;
      }
      auto stop = started;
      stop.kind = RecordKind::kStop;
      stop.has_extra = false;
      stop.ts_ns += 10'000;
      made.push_back(stop);
    }
  }
  return made;
}

std::vector<std::uint64_t> journal_image() {
  std::vector<std::uint64_t> words(journal::Journal::kLeastBytes / 8);
  journal::Journal journal(words.data(), words.size() * 8, 1, 1);
  journal.note_final_path("/nowhere/ringside.x.json");
  journal.note_first_line("[{}\n");
  assemble::Communicator communicator;
  communicator.context = 1;
  communicator.name = "world";
  communicator.abi_version = 6;
  communicator.has_size = communicator.has_hash = true;
  communicator.nranks = 2;
  journal.note(communicator);
  journal.note_window(1, 0xFFFF, 0);
  journal.note_gpu_clock(1, {1, 2, 0.001, 3});
  for (const assemble::RecordView& record : records()) {
    journal.append(record, 0);
  }
  const std::string text(100, 't');
  assemble::RecordView range = view(EventType{}, RecordKind::kStart, 1000, 0);
  range.type = EventType::kRange;
  range.id = record::mark_id(range.id);
  range.payload.mark = {0, 90, 10, {}};
  range.text = text;
  journal.append(range, 0);
  journal.written(assemble::row_id(records()[3].id));
  journal::Checkpoint made{};
  made.segment = 1;
  made.clock_ticks = {1000, 2'000'000};
  made.clock_ns = {1000, 2'000'000};
  journal.checkpoint(made, [](std::span<assemble::Question> asked) {
    for (assemble::Question& question : asked) {
      question.is_needed = true;
    }
  });
  return words;
}

std::vector<std::uint64_t> ring_image() {
  constexpr std::size_t kSlots = 64;
  std::vector<std::uint64_t> words((sizeof(record::Ring) + kSlots * sizeof(record::Slot)) / 8);
  // Aligned as a ring in a file is.
  const std::unique_ptr<void, decltype(&std::free)> memory(
      std::aligned_alloc(alignof(record::Ring), words.size() * 8), &std::free);
  std::memset(memory.get(), 0, words.size() * 8);
  auto* const ring = new (memory.get()) record::Ring{};
  ring->magic = record::kRingMagic;
  ring->version = record::kRingVersion;
  ring->header_bytes = sizeof(record::Ring);
  ring->slot_bytes = sizeof(record::Slot);
  ring->capacity = kSlots;
  ring->byte_mask = kSlots * sizeof(record::Slot) - 1;
  for (const assemble::RecordView& record : records()) {
    const std::uint64_t count = record.has_extra ? 2 : 1;
    record::Slot* const slot = ring->reserve(count);
    slot->first.ticks = static_cast<std::uint64_t>(record.ts_ns);
    slot->first.id = record.id + 100;
    slot->first.kind = record.kind;
    slot->first.type = record.type;
    slot->first.slots = static_cast<std::uint8_t>(count);
    slot->first.context = record.context;
    slot->first.payload = record.payload;
    if (record.has_extra) {
      ring->slot(ring->position + 1).extra = record.extra;
    }
    ring->commit(count);
  }
  record::append_mark(*ring, "a text that needs more than one slot of sixty-four bytes", 1000);
  std::memcpy(words.data(), memory.get(), words.size() * 8);
  return words;
}

// Changes a word where it matters most: heads, notes, the entries in use. The rest of the room is
// empty.
void change(fuzz::Input& input, std::vector<std::uint64_t>& words, std::size_t log_word) {
  const std::size_t where = input.below(2) == 0 ? 0 : log_word;
  const std::size_t word = where + input.below(1024);
  if (word < words.size()) {
    const std::uint64_t mask =
        input.byte() % 2 == 0 ? ~std::uint64_t{0} : std::uint64_t{0xFF} << input.below(57);
    words[word] = (words[word] & ~mask) | (input.take<std::uint64_t>() & mask);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::uint64_t> kJournal = journal_image();
  static const std::vector<std::uint64_t> kRing = ring_image();
  static const std::size_t kLogWord = [] {
    journal::JournalHeader const* const header =
        reinterpret_cast<const journal::JournalHeader*>(kJournal.data());
    return (header->header_bytes + header->notes_bytes) / 8;
  }();
  fuzz::Input input(data, size);
  std::vector<std::uint64_t> journal_words = kJournal;
  std::vector<std::uint64_t> ring_words = kRing;
  while (!input.is_empty()) {
    if (input.byte() % 2 == 0) {
      change(input, journal_words, kLogWord);
    } else {
      change(input, ring_words, sizeof(record::Ring) / 8);
    }
  }
  journal::JournalImage journal;
  std::vector<journal::RingImage> rings(1);
  if (!journal::read_journal(std::as_bytes(std::span(journal_words)), journal).is_ok() ||
      !journal::read_ring(std::as_bytes(std::span(ring_words)), rings[0]).is_ok()) {
    return 0;
  }
  Nowhere nowhere;
  exporting::ChromeTrace trace(nowhere);
  trace.resume(1, journal.run_id);
  const recover::Replayed replayed = recover::replay(journal, rings, trace);
  recover::Outcome outcome;
  exporting::TraceEnd end{.recovered = true};
  const assemble::Account account = recover::account_of(journal, rings, {}, replayed, outcome);
  trace.account(account, 0, true);
  end.count_lost(account);
  trace.end(0, replayed.operations, end);
  if (nowhere.bytes > std::size_t{1} << 24) {
    std::abort();  // a few records cannot be that many lines
  }
  return 0;
}
