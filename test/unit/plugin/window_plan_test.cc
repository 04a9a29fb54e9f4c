// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/window_plan.h"

#include "test/unit/catch.h"

using namespace ringside::session;
using Due = WindowPlan::Due;

namespace {

PlannedStart start_at(std::int64_t at_realtime_ns, std::uint64_t operations = 0,
                      std::int64_t duration_ns = 0) {
  return {at_realtime_ns, operations, duration_ns, std::nullopt};
}

}  // namespace

TEST_CASE("a start is due at its moment, once") {
  WindowPlan plan;
  CHECK_FALSE(plan.wait_ns({}));
  plan.order_start(start_at(100));
  CHECK(plan.take_due({99, 0, 0}) == Due::kNothing);
  CHECK(plan.wait_ns({60, 0, 0}) == 40);
  CHECK(plan.take_due({100, 0, 0}) == Due::kStart);
  CHECK(plan.take_due({101, 0, 0}) == Due::kNothing);
  CHECK_FALSE(plan.wait_ns({101, 0, 0}));
}

TEST_CASE("a window ends after its time by the clock that is never set, or after its operations") {
  WindowPlan plan;
  plan.order_start(start_at(0, 10, 500));
  CHECK(plan.take_due({1000, 7000, 40}) == Due::kStart);
  CHECK(plan.left_ns({5, 7100, 42}) == 400);
  CHECK(plan.left_operations({5, 7100, 42}) == 8);
  CHECK(plan.take_due({9'000'000, 7499, 49}) == Due::kNothing);
  WindowPlan other = plan;
  CHECK(plan.take_due({0, 7500, 49}) == Due::kStop);
  CHECK(other.take_due({0, 7001, 50}) == Due::kStop);
  CHECK(plan.take_due({0, 9999, 99}) == Due::kNothing);
}

TEST_CASE("what was ordered late is done in the order of its moments") {
  WindowPlan plan;
  plan.order_start(start_at(100));
  plan.order_stop(200);
  CHECK(plan.take_due({300, 0, 0}) == Due::kStart);
  CHECK(plan.take_due({300, 0, 0}) == Due::kStop);
  CHECK(plan.take_due({300, 0, 0}) == Due::kNothing);
  plan.order_start(start_at(200));
  plan.order_stop(100);
  CHECK(plan.take_due({300, 0, 0}) == Due::kStop);
  CHECK(plan.take_due({300, 0, 0}) == Due::kStart);
}

TEST_CASE("a start replaces what was ordered; another's stop ends bounds, not a start to come") {
  WindowPlan plan;
  plan.order_start(start_at(0, 5));
  REQUIRE(plan.take_due({1, 1, 0}) == Due::kStart);
  plan.order_stop(50);
  plan.order_start(start_at(100));
  CHECK(plan.stop_at_realtime_ns() == 0);
  CHECK_FALSE(plan.left_operations({1, 1, 1}));
  plan.forget_window();
  CHECK(plan.take_due({100, 1, 99}) == Due::kStart);
  plan.order_start(start_at(100, ~std::uint64_t{0}, 10));
  REQUIRE(plan.take_due({100, 1, 99}) == Due::kStart);
  CHECK(plan.left_operations({100, 1, 99}) == ~std::uint64_t{0} - 99);
  plan.forget_window();
  CHECK(plan.take_due({100, 1000, ~std::uint64_t{0}}) == Due::kNothing);
  plan.order_start(start_at(7));
  plan.clear();
  CHECK(plan.take_due({100, 1000, 0}) == Due::kNothing);
}
