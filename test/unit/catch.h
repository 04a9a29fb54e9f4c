// SPDX-License-Identifier: Apache-2.0
//
// Catch2 by either name: version 2 is Debian 12's, version 3 is everybody else's.
#ifndef RINGSIDE_TEST_UNIT_CATCH_H
#define RINGSIDE_TEST_UNIT_CATCH_H

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#endif  // RINGSIDE_TEST_UNIT_CATCH_H
