// SPDX-License-Identifier: Apache-2.0
//
// Catch2 by either name: version 2 is Debian 12's, version 3 is everybody else's.
#ifndef RINGSIDE_TEST_UNIT_CATCH_H
#define RINGSIDE_TEST_UNIT_CATCH_H

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

// Version 3 moved Approx into a namespace.
#if __has_include(<catch2/catch_all.hpp>)
inline Catch::Approx approx(double value) {
  return Catch::Approx(value);
}
#else
inline Approx approx(double value) {
  return Approx(value);
}
#endif

#endif  // RINGSIDE_TEST_UNIT_CATCH_H
