// SPDX-License-Identifier: Apache-2.0
//
// Writes JSON, indented, with keys in the order in which they are written.
#ifndef RINGSIDE_ANALYZER_REPORT_DOCUMENT_JSON_WRITER_H
#define RINGSIDE_ANALYZER_REPORT_DOCUMENT_JSON_WRITER_H

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringside::report {

class JsonWriter {
 public:
  /// Opens what a command prints: its version, then what made it.
  void begin_output(std::uint64_t schema_version, std::string_view command);
  /// Opens an object or array; `key` is empty within an array and at the top.
  void begin_object(std::string_view key = {}) { begin(key, '{'); }
  void end_object() { end('}'); }
  void begin_array(std::string_view key = {}) { begin(key, '['); }
  void end_array() { end(']'); }
  /// An array on one line, of values only.
  void begin_row(std::string_view key = {});
  void end_row();

  void text(std::string_view key, std::string_view value);
  template <std::integral Integer>
  void integer(std::string_view key, Integer value) {
    raw(key, std::to_string(value));
  }
  template <std::integral Integer>
  void integer(std::string_view key, const std::optional<Integer>& value) {
    raw(key, value ? std::to_string(*value) : "null");
  }
  void boolean(std::string_view key, bool value) { raw(key, value ? "true" : "false"); }
  void null(std::string_view key) { raw(key, "null"); }
  /// With that many decimals; null where it is not known, or not finite.
  void number(std::string_view key, const std::optional<double>& value, int decimals);
  /// An array of them.
  template <typename Texts>
  void texts(std::string_view key, const Texts& values) {
    begin_array(key);
    for (const auto& value : values) {
      text({}, value);
    }
    end_array();
  }

  /// Returns the JSON, with a newline at the end.
  std::string finish() { return output_ + '\n'; }

 private:
  void begin(std::string_view key, char bracket);
  void end(char bracket);
  void raw(std::string_view key, std::string_view value);
  void append_quoted(std::string_view value);

  std::string output_;
  std::size_t depth_ = 0;
  bool is_first_ = true;
  std::size_t open_rows_ = 0;
};

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_DOCUMENT_JSON_WRITER_H
