// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/memory_share.h"

#include "test/unit/catch.h"

namespace ringside::session {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr MemoryWanted kDefault{32 * kMiB, 2 * kMiB, 0};

std::uint64_t taken(const MemoryShare& share) {
  return share.journal_bytes + share.rings_bytes;
}

}  // namespace

TEST_CASE("A process takes nothing of little memory, two MiB of some, a 64th of much") {
  CHECK(share_of_memory(0, kDefault).journal_bytes == 0);
  CHECK(share_of_memory(24 * kMiB - 1, kDefault).journal_bytes == 0);
  for (const std::uint64_t free_mib : {24U, 64U, 512U, 640U}) {
    const MemoryShare share = share_of_memory(free_mib * kMiB, kDefault);
    CHECK(taken(share) == 2 * kMiB);
    CHECK(share.journal_bytes == 1 * kMiB);
    CHECK(share.ring_bytes == 256 * kKiB);
  }
  // Docker's --shm-size=1g: eight processes leave 960 of 1024 MiB.
  CHECK(taken(share_of_memory(1024 * kMiB, kDefault)) == 8 * kMiB);
  // As much as was asked for.
  const MemoryShare much = share_of_memory((512 + 64 * 64) * kMiB, kDefault);
  CHECK(much.journal_bytes == 32 * kMiB);
  CHECK(much.ring_bytes == 2 * kMiB);
  CHECK(taken(much) == 64 * kMiB);
}

TEST_CASE("A process takes no more than was asked for") {
  const MemoryShare share = share_of_memory(64 * kMiB, {128 * kKiB, 64 * kKiB, 0});
  CHECK(share.journal_bytes == 128 * kKiB);
  CHECK(share.ring_bytes == 64 * kKiB);
}

TEST_CASE("A flight recorder has files where eight leave half of what is free beyond 512 MiB") {
  CHECK(share_of_memory(1024 * kMiB, {32 * kMiB, 2 * kMiB, 32 * kMiB}).has_flight_recorder);
  CHECK_FALSE(share_of_memory(1023 * kMiB, {32 * kMiB, 2 * kMiB, 32 * kMiB}).has_flight_recorder);
  CHECK_FALSE(share_of_memory(64 * kMiB, {32 * kMiB, 2 * kMiB, 4 * kMiB}).has_flight_recorder);
}

}  // namespace ringside::session
