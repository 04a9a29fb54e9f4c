// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/relay_line.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <zlib.h>

namespace ringside::live {
namespace {

constexpr std::string_view kBegin = "ringside-relay-1 ";
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kMostTexts = std::size_t{1} << 20;

// Base64 without padding (RFC 4648, section 3.2).
std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  std::uint32_t word = 0;
  unsigned bits = 0;
  for (const char byte : bytes) {
    word = word << 8 | static_cast<unsigned char>(byte);
    for (bits += 8; bits >= 6; bits -= 6) {
      text += kDigits[word >> (bits - 6) & 63U];
    }
  }
  if (bits > 0) {
    text += kDigits[word << (6 - bits) & 63U];
  }
  return text;
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
  static const auto digit_values = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(64);
    for (std::size_t i = 0; i < kDigits.size(); ++i) {
      values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
    }
    return values;
  }();
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t word = 0;
  unsigned bits = 0;
  for (const char digit : text) {
    const std::uint32_t value = digit_values[static_cast<unsigned char>(digit)];
    if (value > 63) {
      return std::nullopt;
    }
    word = word << 6 | value;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(word >> bits & 255U);
    }
  }
  if (bits >= 6 || (word & ((1U << bits) - 1U)) != 0) {
    return std::nullopt;  // nobody writes it so
  }
  return bytes;
}

std::string compressed(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string made(size, '\0');
  compress(reinterpret_cast<Bytef*>(made.data()), &size,
           reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  made.resize(size);
  return made;
}

std::optional<std::string> decompressed(std::string_view bytes, std::size_t most_bytes) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) {
    return std::nullopt;
  }
  std::string made;
  std::array<char, 65536> part;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  int status = Z_OK;
  while (status == Z_OK && made.size() <= most_bytes) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = part.size();
    status = inflate(&stream, Z_NO_FLUSH);
    made.append(part.data(), part.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  const bool is_whole = status == Z_STREAM_END && stream.avail_in == 0;
  return is_whole && made.size() <= most_bytes ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace

std::string relay_line(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) {
    const auto size = static_cast<std::uint32_t>(text.size());
    for (const unsigned shift : {0U, 8U, 16U, 24U}) {
      bytes += static_cast<char>(size >> shift & 255U);
    }
    bytes += text;
  }
  return std::string(kBegin) + base64(compressed(bytes)) + '\n';
}

std::optional<std::vector<std::string>> read_relay_line(std::string_view output,
                                                        std::size_t most_bytes) {
  std::size_t begin = output.find(kBegin);
  while (begin != std::string_view::npos && begin != 0 && output[begin - 1] != '\n') {
    begin = output.find(kBegin, begin + 1);
  }
  const std::size_t end = output.find('\n', begin);
  if (begin == std::string_view::npos || end == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view line = output.substr(begin + kBegin.size(), end - begin - kBegin.size());
  if (line.ends_with('\r')) {
    line.remove_suffix(1);  // it has passed a terminal
  }
  const auto packed = bytes_of_base64(line);
  const auto bytes = packed ? decompressed(*packed, most_bytes) : std::nullopt;
  if (!bytes) {
    return std::nullopt;
  }
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < bytes->size();) {
    std::uint32_t size = 0;
    if (bytes->size() - at < 4 || texts.size() == kMostTexts) {
      return std::nullopt;
    }
    for (const unsigned shift : {0U, 8U, 16U, 24U}) {
      size |= std::uint32_t{static_cast<unsigned char>((*bytes)[at++])} << shift;
    }
    if (bytes->size() - at < size) {
      return std::nullopt;
    }
    texts.push_back(bytes->substr(at, size));
    at += size;
  }
  return texts;
}

}  // namespace ringside::live
