// SPDX-License-Identifier: Apache-2.0
//
// The numbers that CUPTI has for functions of CUDA.
#pragma once

#include <cstdint>
#include <cupti.h>
#include <optional>
#include <string_view>

// The number of a function that the emulation records; nothing for others.
std::optional<std::uint32_t> callback_id(CUpti_CallbackDomain domain, std::string_view function);

// With the release that brought it, as CUPTI has it; null for others.
const char* callback_name(CUpti_CallbackDomain domain, std::uint32_t id);
