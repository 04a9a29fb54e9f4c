// SPDX-License-Identifier: Apache-2.0
//
// Several NCCLs in one process: whose mask is written, and until when.
#include "plugin/session/activation_masks.h"

#include <sys/mman.h>

#include "test/unit/catch.h"

using namespace ringside::session;
using ringside::config::NcclFacts;

namespace {

constexpr NcclFacts kOlder{2, 22501};
constexpr NcclFacts kNewer{6, 23007};

// An NCCL's data segment: what touches it after the NCCL is unloaded, dies.
struct Segment {
  int* mask = static_cast<int*>(
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  void unload() { REQUIRE(munmap(mask, sizeof(int)) == 0); }
};

void write(ActivationMasks& masks, std::uint32_t types, bool anew = true) {
  masks.choose([types](const NcclFacts&) { return types; }, anew);
  masks.store();
}

}  // namespace

TEST_CASE("each NCCL's mask is written with what it is to be asked for") {
  ActivationMasks masks;
  int older = 0;
  int newer = 0;
  masks.open(1, &older, kOlder);
  masks.open(2, &newer, kNewer);
  masks.choose([](const NcclFacts& nccl) { return nccl.abi_version == 2 ? 0x3FU : 0x7FFFU; },
               false);
  CHECK(newer == 0);  // not before store()
  masks.store();
  CHECK(older == 0x3F);
  CHECK(newer == 0x7FFF);
  CHECK(masks.wanted() == 0x7FFF);
  CHECK(masks.actual() == 0x7FFF);
}

TEST_CASE("a mask is dropped with its own last context, and never written again") {
  ActivationMasks masks;
  Segment first;
  Segment second;
  masks.open(1, first.mask, kNewer);
  masks.open(2, second.mask, kNewer);
  masks.open(3, second.mask, kNewer);
  write(masks, 6);
  CHECK(masks.close(2));
  CHECK(masks.count() == 2);
  CHECK(masks.close(3));
  second.unload();
  CHECK(masks.count() == 1);
  write(masks, 0);
  CHECK(*first.mask == 0);
  CHECK(masks.look().empty());
  CHECK(masks.actual() == 0);
  CHECK(masks.close(1));
  first.unload();
  write(masks, 6);
  CHECK(masks.look().empty());
  CHECK(masks.actual() == -1);
}

TEST_CASE("a context closes once: a doubled finalize drops no other's mask") {
  ActivationMasks masks;
  int mask = 0;
  masks.open(1, &mask, kNewer);
  masks.open(2, &mask, kNewer);
  CHECK(masks.close(1));
  CHECK_FALSE(masks.close(1));
  CHECK_FALSE(masks.close(7));
  CHECK(masks.open_contexts() == 1);
  write(masks, 6);
  CHECK(mask == 6);
}

TEST_CASE("an NCCL without a mask has contexts all the same") {
  ActivationMasks masks;
  masks.open(1, nullptr, kNewer);
  write(masks, 6);
  CHECK(masks.count() == 0);
  CHECK(masks.open_contexts() == 1);
  CHECK(masks.actual() == -1);
  CHECK(masks.close(1));
  CHECK(masks.open_contexts() == 0);
}

TEST_CASE("what others write is found, and of which NCCL; the plugin's own changes are not") {
  ActivationMasks masks;
  int older = 63;  // NCCL's value before the first init means nothing
  int newer = 0;
  masks.open(1, &older, kOlder);
  masks.open(2, &newer, kNewer);
  write(masks, 6);
  CHECK(masks.look().empty());
  write(masks, 7);
  CHECK(masks.look().empty());

  newer = 3;
  const auto changes = masks.look();
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].mask == &newer);
  CHECK(changes[0].nccl_version == 23007);
  CHECK(changes[0].from == 7);
  CHECK(changes[0].to == 3);
  CHECK(masks.missing() == 4);
  CHECK(masks.actual() == 3);
  CHECK(masks.look().empty());  // told once

  newer = 15;  // more than is asked for
  CHECK(masks.look().size() == 1);
  CHECK(masks.missing() == 0);
}

TEST_CASE("a mask that others changed is left alone until it is to be written anew") {
  ActivationMasks masks;
  int mask = 0;
  int other = 0;
  masks.open(1, &mask, kNewer);
  write(masks, 6);
  mask = 0;
  CHECK(masks.look().size() == 1);
  masks.open(2, &mask, kNewer);  // one more communicator
  masks.open(3, &other, kNewer);
  write(masks, 6, false);
  CHECK(mask == 0);
  CHECK(other == 6);
  CHECK(masks.missing() == 6);
  write(masks, 2, false);
  CHECK(mask == 0);
  CHECK(other == 2);
  CHECK(masks.missing() == 2);
  write(masks, 2);
  CHECK(mask == 2);
  CHECK(masks.missing() == 0);
}
