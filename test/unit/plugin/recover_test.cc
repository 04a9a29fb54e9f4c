// SPDX-License-Identifier: Apache-2.0
//
// Rings as files, and what can be read of them when their thread is gone.
#include "plugin/recover/recover.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <unistd.h>

#include "plugin/export/gzip.h"
#include "plugin/export/trace_file.h"
#include "plugin/journal/images.h"
#include "plugin/journal/journal_format.h"
#include "plugin/record/recorder.h"
#include "plugin/record/ring_pool.h"
#include "plugin/recover/begun_trace.h"
#include "test/unit/catch.h"

using namespace ringside;
using record::EventType;
using record::RecordKind;

namespace {

struct RingFiles {
  std::filesystem::path path;
  RingFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "ringside-rings-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  RingFiles(const RingFiles&) = delete;
  RingFiles& operator=(const RingFiles&) = delete;
  ~RingFiles() { std::filesystem::remove_all(path); }
  std::vector<std::byte> file(const char* name) const {
    std::ifstream in(path / name, std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(in), {}};
    std::vector<std::byte> bytes(text.size());
    std::transform(text.begin(), text.end(), bytes.begin(),
                   [](char byte) { return static_cast<std::byte>(byte); });
    return bytes;
  }
};

void append(record::Ring& ring, std::uint64_t counter, std::uint64_t slots) {
  record::Slot* slot = ring.reserve(slots);
  REQUIRE(slot != nullptr);
  slot->first.id = record::make_event_id(EventType::kColl, false, ring.index, counter);
  slot->first.ticks = counter;
  slot->first.kind = RecordKind::kStart;
  slot->first.type = EventType::kColl;
  slot->first.slots = static_cast<std::uint8_t>(slots);
  slot->first.payload.coll.count = counter;
  if (slots == 2) {
    ring.slot(ring.position + 1).extra.user_tag = counter;
  }
  ring.commit(slots);
}

// A ring in a file, with records that nobody has taken, three laps on.
std::vector<std::byte> ring_file(const RingFiles& directory, std::uint64_t untaken) {
  record::RingPool pool;
  pool.prepare();
  pool.set_ring_bytes(record::RingPool::kLeastBytes);
  pool.set_directory(directory.path.c_str(), record::RingPool::kLeastBytes, std::uint64_t{1} << 30);
  record::Ring* const ring = pool.current();
  REQUIRE(ring != nullptr);
  CHECK(pool.without_file() == 0);
  for (std::uint64_t i = 1; i <= 3 * ring->capacity; ++i) {
    append(*ring, i, 1);
    ring->tail.store(ring->position);
  }
  for (std::uint64_t i = 0; i < untaken; ++i) {
    append(*ring, 100'000 + i, i % 3 == 0 ? 2 : 1);
  }
  pool.close_in_child();  // forgets the thread's ring, whose memory stays
  return directory.file("ring.0000");
}

}  // namespace

TEST_CASE("A ring's file has what was not taken, and no more") {
  const RingFiles directory;
  const std::vector<std::byte> file = ring_file(directory, 10);
  journal::RingImage image;
  REQUIRE(journal::read_ring(file, image).is_ok());
  REQUIRE(image.records.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(image.records[i].payload.coll.count == 100'000 + i);
    CHECK(image.records[i].has_extra == (i % 3 == 0));
    if (i % 3 == 0) {
      CHECK(image.records[i].extra.user_tag == 100'000 + i);
    }
  }
  CHECK(image.bad_records == 0);
}

TEST_CASE("A ring's file has marks whole, or not at all") {
  const RingFiles directory;
  record::RingPool pool;
  pool.prepare();
  pool.set_directory(directory.path.c_str(), record::RingPool::kLeastBytes, std::uint64_t{1} << 30);
  record::Ring* const ring = pool.current();
  REQUIRE(ring != nullptr);
  const std::string text(record::kMostText_bytes, 't');
  REQUIRE(record::append_mark(*ring, "first", 1));
  REQUIRE(record::open_range(*ring, text, "train.py:17", 2));
  REQUIRE(record::append_mark(*ring, text, 3));
  const std::uint64_t end = ring->position;
  record::close_range(*ring, 4);
  pool.close_in_child();
  std::vector<std::byte> file = directory.file("ring.0000");
  {
    journal::RingImage image;
    REQUIRE(journal::read_ring(file, image).is_ok());
    REQUIRE(image.records.size() == 4);
    CHECK(image.records[0].text == "first");
    CHECK(image.records[1].text == text + "train.py:17");
    CHECK(image.records[2].text == text);
    CHECK(image.records[3].id == image.records[1].id);
    CHECK(image.bad_records == 0);
  }
  // The thread died before it had published the last slot of the second mark.
  std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(sizeof(record::Ring) +
                                                         (end - 1) * sizeof(record::Slot)),
              sizeof(std::uint64_t), std::byte{0});
  journal::RingImage torn;
  REQUIRE(journal::read_ring(file, torn).is_ok());
  CHECK(torn.records.size() == 2);
  // A length that the slots do not have.
  auto* const payload = file.data() + sizeof(record::Ring) + offsetof(record::Slot, first.payload);
  const std::uint16_t wrong_bytes = 900;
  std::memcpy(payload + offsetof(record::MarkPayload, text_bytes), &wrong_bytes,
              sizeof wrong_bytes);
  journal::RingImage wrong;
  REQUIRE(journal::read_ring(file, wrong).is_ok());
  CHECK(wrong.records.size() == 1);
  CHECK(wrong.bad_records == 1);
}

TEST_CASE("A process that died before it had written a word leaves nothing, and nothing stays") {
  const RingFiles directory;
  const std::string rings = (directory.path / "ringside.job.host.1.2.rings").string();
  const auto make = [&](std::size_t bytes, const char* other) {
    std::filesystem::create_directory(rings);
    std::ofstream(rings + "/" + journal::kJournalName) << std::string(bytes, '\0');
    if (other != nullptr) {
      std::ofstream(rings + "/" + other) << std::string(4096, '\0');
    }
  };
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{1} << 20}) {
    make(bytes, nullptr);
    CHECK(recover::final_path(rings) == "");  // not of a process that lives, and of no trace
    const recover::Outcome outcome = recover::recover(rings, {});
    CHECK(outcome.result.is_ok());
    CHECK(outcome.trace.empty());
    CHECK(outcome.removed);
    CHECK_FALSE(std::filesystem::exists(rings));
  }
  make(1U << 20, "not-ours");
  CHECK_FALSE(recover::recover(rings, {}).removed);
  CHECK(std::filesystem::exists(rings + "/not-ours"));
}

TEST_CASE("Whole lines are copied of a begun trace, plain or compressed, wherever it was cut off") {
  const RingFiles directory;
  const std::string path = (directory.path / "trace").string();
  const std::string copy = (directory.path / "copy").string();
  const std::string first_line = "[{\"first\":1},\n";
  const bool is_compressed = GENERATE(false, true);
  if (is_compressed && !exporting::has_zlib()) {
    return;
  }
  std::string text = first_line;
  {
    exporting::TraceFile file;
    REQUIRE(file.create(path).is_ok());
    if (is_compressed) {
      file.compress();
    }
    file.add(first_line, {});
    for (int i = 0; i < 40; ++i) {
      const std::string line = "{\"line\":" + std::to_string(i * 7919) + "},\n";
      file.add(line, {});
      text += line;
      if (i % 10 == 0) {
        REQUIRE(file.flush().is_ok());
      }
    }
    REQUIRE(file.close().is_ok());
  }
  CHECK_FALSE(recover::BegunTrace(path, "[{\"other\":1},\n", geteuid()).is_there());
  std::uint64_t most = 0;
  for (std::uintmax_t size = std::filesystem::file_size(path); size > 0; --size) {
    std::filesystem::resize_file(path, size);
    const recover::BegunTrace begun(path, first_line, geteuid());
    if (!begun.is_there()) {
      REQUIRE(size < 2);
      continue;
    }
    exporting::TraceFile out;
    std::uint64_t copied = 0;
    REQUIRE(out.create(copy).is_ok());
    REQUIRE(begun.copy_to(out, text.size(), copied).is_ok());
    REQUIRE(out.close().is_ok());
    std::ifstream in(copy);
    const std::string got{std::istreambuf_iterator<char>(in), {}};
    REQUIRE(got.size() == copied);
    REQUIRE(text.starts_with(got));
    REQUIRE((got.empty() || got.ends_with('\n')));
    most = std::max(most, copied);
    std::filesystem::remove(copy);
  }
  CHECK(most == text.size());
}

TEST_CASE("A torn last record is not taken for one") {
  const RingFiles directory;
  std::vector<std::byte> file = ring_file(directory, 4);  // the last takes two slots
  journal::RingImage whole;
  REQUIRE(journal::read_ring(file, whole).is_ok());
  REQUIRE(whole.records.size() == 4);
  // Slots 0 and 1, 2, 3, then 4 and 5 of the lap. As if the first had been stored and the second
  // not, which no order of stores allows, and as if neither commit word had been.
  const std::size_t slots = sizeof(record::Ring);
  for (const std::size_t torn : {std::size_t{5}, std::size_t{4}}) {
    std::memset(file.data() + slots + torn * sizeof(record::Slot), 0, 8);
    journal::RingImage image;
    REQUIRE(journal::read_ring(file, image).is_ok());
    CHECK(image.records.size() == 3);
  }
}

TEST_CASE("No field of a ring's head is trusted") {
  const RingFiles directory;
  const std::vector<std::byte> file = ring_file(directory, 10);
  for (std::size_t at = 0; at < sizeof(record::Ring); at += 4) {
    for (const int fill : {0x00, 0x7F, 0xFF}) {
      std::vector<std::byte> changed = file;
      std::memset(changed.data() + at, fill, 4);
      journal::RingImage image;
      static_cast<void>(journal::read_ring(changed, image));
      CHECK(image.records.size() <= file.size() / sizeof(record::Slot));
    }
  }
  for (const std::size_t size :
       {std::size_t{0}, sizeof(record::Ring) - 1, sizeof(record::Ring), file.size() - 1}) {
    journal::RingImage image;
    CHECK_FALSE(journal::read_ring(std::span(file).first(size), image).is_ok());
  }
}

TEST_CASE(
    "Rings are files as long as they have room together, and then memory whose counts are kept") {
  const RingFiles directory;
  record::RingPool pool;
  pool.prepare();
  constexpr std::uint64_t kFile_bytes = record::RingPool::kLeastBytes;
  constexpr std::uint64_t kMemory_bytes = 4 * record::RingPool::kLeastBytes;
  pool.set_ring_bytes(kMemory_bytes);
  pool.set_directory(directory.path.c_str(), kFile_bytes, 2 * kFile_bytes);  // without the heads
  std::array<std::uint64_t, 2> capacities{};
  for (std::uint64_t& capacity : capacities) {
    std::thread([&] {
      record::Ring* const ring = pool.current();
      capacity = ring->capacity;
      for (std::uint64_t i = 1; i <= capacity; ++i) {
        append(*ring, i, 1);
        record::ProducerCounts::add(
            ring->counts.produced[static_cast<std::size_t>(EventType::kColl)]);
      }
    }).join();
  }
  CHECK(capacities ==
        std::array{kFile_bytes / sizeof(record::Slot), kMemory_bytes / sizeof(record::Slot)});
  CHECK(pool.without_file() == 1);
  CHECK(pool.without_file_error() == ENOSPC);

  const std::vector<std::byte> heads = directory.file(record::RingPool::kHeadsName);
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  REQUIRE(heads.size() == record::kMaxRings * page_bytes);
  journal::RingImage image;
  REQUIRE(journal::read_ring(std::span(heads).subspan(page_bytes, page_bytes), image).is_ok());
  CHECK(image.index == 1);
  CHECK(image.is_only_head);
  CHECK(image.records.empty());
  CHECK(image.by_type[static_cast<std::size_t>(EventType::kColl)].produced == capacities[1]);
  pool.close_in_child();
}

TEST_CASE("A ring that could not be a file leaves its room to the next one") {
  const RingFiles directory;
  std::ofstream(directory.path / "ring.0000") << "taken";
  record::RingPool pool;
  pool.prepare();
  constexpr std::uint64_t kBytes = record::RingPool::kLeastBytes;
  pool.set_directory(directory.path.c_str(), kBytes, kBytes + sizeof(record::Ring));
  std::array<record::Ring*, 2> rings{};
  for (record::Ring*& ring : rings) {
    std::thread([&] { ring = pool.current(); }).join();
  }
  REQUIRE(rings[1] != nullptr);
  CHECK(pool.without_file() == 1);
  CHECK(pool.without_file_error() == EEXIST);
  CHECK(directory.file("ring.0001").size() == kBytes + sizeof(record::Ring));
  pool.close_in_child();
}

TEST_CASE("A process that ends leaves no file of a ring, also of threads that begin meanwhile") {
  const RingFiles directory;
  record::RingPool pool;
  pool.prepare();
  pool.set_directory(directory.path.c_str(), record::RingPool::kLeastBytes, 1U << 30);
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads(4);
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      while (!ends) {
        std::thread([&] { pool.current(); }).join();
      }
    });
  }
  while (pool.count() < 100) {
    std::this_thread::yield();
  }
  pool.remove_files(directory.path.c_str());
  for (const std::uint32_t before = pool.count(); pool.count() < before + threads.size();) {
    std::this_thread::yield();
  }
  ends = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(std::filesystem::is_empty(directory.path));
  pool.close_in_child();
}

TEST_CASE("A ring that cannot be a file is memory, and that is counted") {
  record::RingPool pool;
  pool.prepare();
  pool.set_directory("/proc/no/such/place", record::RingPool::kLeastBytes, 1U << 30);
  REQUIRE(pool.current() != nullptr);
  CHECK(pool.without_file() == 1);
  CHECK(pool.without_file_error() == ENOENT);
  pool.close_in_child();
}
