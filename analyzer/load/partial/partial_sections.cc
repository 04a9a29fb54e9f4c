// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/partial/partial_sections.h"

#include <utility>
#include <zlib.h>

namespace ringside::load {
namespace {

// Bytes are in the order of little-endian machines on all of them.
template <typename Integer>
void append_fixed(Integer number, std::string& bytes) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    bytes += static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i));
  }
}

template <typename Integer>
Integer take_fixed(std::string_view& bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  bytes.remove_prefix(sizeof(Integer));
  return static_cast<Integer>(number);
}

// Packed operations become little smaller, and most of the time to read them would be that of
// unpacking.
bool is_compressed(SectionKind kind) {
  return kind != SectionKind::kOperations;
}

std::uint32_t checksum_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

std::string partial_start() {
  std::string start(kPartialMagic);
  append_fixed(kPartialVersion, start);
  append_fixed(checksum_of(start), start);
  return start;
}

std::optional<std::string> check_partial_start(std::string_view start) {
  if (start.size() < kPartialStart_bytes) {
    return "it is cut off at its beginning";
  }
  std::string_view rest = start.substr(kPartialMagic.size());
  const auto version = take_fixed<std::uint32_t>(rest);
  if (take_fixed<std::uint32_t>(rest) !=
      checksum_of(start.substr(0, kPartialStart_bytes - sizeof(std::uint32_t)))) {
    return "its first 16 bytes are damaged";
  }
  if (version != kPartialVersion) {
    return "a partial of version " + std::to_string(version) +
           ", but this ringside reads version " + std::to_string(kPartialVersion) +
           "; take the ringside that made it, or make it again from the traces";
  }
  return std::nullopt;
}

std::string make_section(SectionKind kind, const std::string& bytes) {
  std::string compressed;
  if (is_compressed(kind)) {
    uLongf size = compressBound(bytes.size());
    compressed.resize(size);
    compress2(reinterpret_cast<Bytef*>(compressed.data()), &size,
              reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_DEFAULT_COMPRESSION);
    compressed.resize(size);
  }
  const std::string& stored = is_compressed(kind) ? compressed : bytes;
  std::string section;
  append_fixed(static_cast<std::uint32_t>(kind), section);
  append_fixed(checksum_of(stored), section);
  append_fixed(std::uint64_t{stored.size()}, section);
  append_fixed(std::uint64_t{bytes.size()}, section);
  append_fixed(std::uint32_t{0}, section);
  append_fixed(checksum_of(section), section);
  return section + stored;
}

std::optional<SectionStart> read_section_start(std::string_view start) {
  if (start.size() < kSectionStart_bytes) {
    return std::nullopt;
  }
  std::string_view rest = start;
  SectionStart section;
  section.kind = static_cast<SectionKind>(take_fixed<std::uint32_t>(rest));
  section.checksum = take_fixed<std::uint32_t>(rest);
  section.stored_bytes = take_fixed<std::uint64_t>(rest);
  section.bytes = take_fixed<std::uint64_t>(rest);
  const auto zero = take_fixed<std::uint32_t>(rest);
  const bool is_known = section.kind >= SectionKind::kTrace && section.kind <= SectionKind::kEnd;
  // Deflate makes no text smaller than about a thousandth.
  const std::uint64_t most = is_compressed(section.kind) ? 1032 : 1;
  const bool is_possible =
      section.bytes <= kMostSection_bytes && section.bytes / most <= section.stored_bytes;
  const bool is_whole = take_fixed<std::uint32_t>(rest) ==
                        checksum_of(start.substr(0, kSectionStart_bytes - sizeof(std::uint32_t)));
  return is_whole && is_known && is_possible && zero == 0 ? std::optional(section) : std::nullopt;
}

bool unpack_section(const SectionStart& start, std::string& stored, std::string& bytes) {
  if (checksum_of(stored) != start.checksum) {
    return false;
  }
  if (!is_compressed(start.kind)) {
    bytes = std::move(stored);
    return bytes.size() == start.bytes;
  }
  bytes.resize(static_cast<std::size_t>(start.bytes));
  uLongf size = bytes.size();
  return uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size,
                    reinterpret_cast<const Bytef*>(stored.data()), stored.size()) == Z_OK &&
         size == start.bytes;
}

}  // namespace ringside::load
