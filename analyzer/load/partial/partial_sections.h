// SPDX-License-Identifier: Apache-2.0
//
// The outside of a partial (docs/dev/partial-format.md): a start that says what it is, and sections
// of bytes, most of them compressed, each with its lengths and checksums.
#ifndef RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_SECTIONS_H
#define RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_SECTIONS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringside::load {

/// Not text, as its first byte says; the line ends show where a transfer has changed them.
inline constexpr std::string_view kPartialMagic = "\x89RSP\r\n\x1a\n";
inline constexpr std::uint32_t kPartialVersion = 5;
inline constexpr std::size_t kPartialStart_bytes = 16;
inline constexpr std::size_t kSectionStart_bytes = 32;
/// Rows of a block at most.
inline constexpr std::size_t kBlockRows = std::size_t{1} << 16;
/// The greatest size of a section before compression.
inline constexpr std::uint64_t kMostSection_bytes = std::uint64_t{1} << 30;

enum class SectionKind : std::uint32_t {
  kTrace = 1,   // what a trace says of itself; the blocks that follow are its own
  kOperations,  // a block of each
  kProxies,
  kSteps,
  kEnd,  // how many traces there are
};

struct SectionStart {
  SectionKind kind = SectionKind::kEnd;
  std::uint32_t checksum = 0;  // of the stored bytes
  std::uint64_t stored_bytes = 0;
  std::uint64_t bytes = 0;
};

std::string partial_start();
/// Why it is none that can be read.
std::optional<std::string> check_partial_start(std::string_view start);

/// Start and stored bytes.
std::string make_section(SectionKind kind, const std::string& bytes);
/// Nothing if it is damaged.
std::optional<SectionStart> read_section_start(std::string_view start);
/// False if the checksum or the length is another. Leaves nothing of use in `stored`.
bool unpack_section(const SectionStart& start, std::string& stored, std::string& bytes);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_SECTIONS_H
