// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/analysis/fail_on.h"

#include <string>

#include "test/unit/catch.h"

namespace ringside::cli {
namespace {

TEST_CASE("conditions are read as they are meant") {
  std::string error;
  const auto found = parse_conditions("busbw<200, straggler>5%,mismatch ,wait>12.5", error);
  REQUIRE(found);
  REQUIRE(found->size() == 4);
  CHECK(found->at(0).what == FailOn::kBusbw);
  CHECK(found->at(0).limit == 200);
  CHECK(found->at(1).what == FailOn::kStraggler);
  CHECK(found->at(1).limit == 5);
  CHECK_FALSE(found->at(1).is_at_least);
  CHECK(found->at(2).what == FailOn::kMismatch);
  CHECK(found->at(3).limit == 12.5);
  const auto lower_end = parse_conditions("straggler>5% surely", error);
  REQUIRE(lower_end);
  CHECK(lower_end->front().limit == 5);
  CHECK(lower_end->front().is_at_least);
}

TEST_CASE("a condition that is not understood is no condition") {
  for (const char* const text : {"", "busbw", "busbw>200", "busbw<", "busbw<x", "busbw<200GB",
                                 "busbw<-1", "busbw<nan", "mismatch>1", "speed<1", "mismatch,"}) {
    std::string error;
    INFO(text);
    CHECK_FALSE(parse_conditions(text, error));
    CHECK(error.find("conditions are busbw<GB/s") != std::string::npos);
  }
}

}  // namespace
}  // namespace ringside::cli
