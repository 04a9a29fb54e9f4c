// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/document/json_writer.h"

#include <cmath>

#include "analyzer/model/printable.h"
#include "analyzer/report/document/numbers.h"

#ifndef RINGSIDE_VERSION
#error "RINGSIDE_VERSION is defined by analyzer/CMakeLists.txt"
#endif

namespace ringside::report {

void JsonWriter::append_quoted(std::string_view value) {
  if (!model::is_utf8(value)) {
    return append_quoted(model::printable(value));  // JSON has no other text
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  output_ += '"';
  const auto escape = [&](unsigned char code) {
    output_ += "\\u00";
    output_ += kHex[code >> 4U];
    output_ += kHex[code & 0xFU];
  };
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto byte = static_cast<unsigned char>(value[i]);
    const auto next = static_cast<unsigned char>(i + 1 < value.size() ? value[i + 1] : 0);
    if (byte == '"' || byte == '\\') {
      output_ += '\\';
      output_ += value[i];
    } else if (byte < 0x20 || byte == 0x7F) {
      escape(byte);
    } else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {
      escape(next);  // U+0080 to U+009F, which a terminal obeys too
      ++i;
    } else {
      output_ += value[i];
    }
  }
  output_ += '"';
}

void JsonWriter::raw(std::string_view key, std::string_view value) {
  if (!is_first_) {
    output_ += ',';
  }
  if (open_rows_ > 0) {
    output_ += is_first_ ? "" : " ";
  } else if (depth_ > 0) {
    output_ += '\n';
    output_.append(2 * depth_, ' ');
  }
  if (!key.empty()) {
    append_quoted(key);
    output_ += ": ";
  }
  output_ += value;
  is_first_ = false;
}

void JsonWriter::begin(std::string_view key, char bracket) {
  raw(key, std::string_view(&bracket, 1));
  ++depth_;
  is_first_ = true;
}

void JsonWriter::end(char bracket) {
  --depth_;
  if (!is_first_) {
    output_ += '\n';
    output_.append(2 * depth_, ' ');
  }
  output_ += bracket;
  is_first_ = false;
}

void JsonWriter::begin_row(std::string_view key) {
  raw(key, "[");
  ++open_rows_;
  is_first_ = true;
}

void JsonWriter::end_row() {
  output_ += ']';
  --open_rows_;
  is_first_ = false;
}

void JsonWriter::text(std::string_view key, std::string_view value) {
  raw(key, "");
  append_quoted(value);
}

void JsonWriter::number(std::string_view key, const std::optional<double>& value, int decimals) {
  raw(key, value && std::isfinite(*value) ? fixed(*value, decimals) : "null");
}

void JsonWriter::begin_output(std::uint64_t schema_version, std::string_view command) {
  begin_object();
  integer("schema_version", schema_version);
  begin_object("tool");
  text("name", "ringside");
  text("version", RINGSIDE_VERSION);
  text("command", command);
  end_object();
}

}  // namespace ringside::report
