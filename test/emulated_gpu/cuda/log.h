// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics of the emulator: a trace for people (EMUGPU_TRACE=1) and a fatal error.
#pragma once

namespace emugpu {

[[gnu::format(printf, 1, 2)]] void trace(const char* format, ...);

// For a request that the emulator cannot honour and that must not pass unnoticed.
[[noreturn, gnu::format(printf, 1, 2)]] void fatal(const char* format, ...);

// An environment variable as a number; `fallback` when unset or empty.
long environment_number(const char* name, long fallback);

}  // namespace emugpu
