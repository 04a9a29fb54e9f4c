// SPDX-License-Identifier: Apache-2.0
//
// A request of the control socket (docs/dev/control-socket.md): one JSON object whose values are no
// objects or arrays.
#ifndef RINGSIDE_PLUGIN_DOORS_CONTROL_REQUEST_H
#define RINGSIDE_PLUGIN_DOORS_CONTROL_REQUEST_H

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ringside::doors {

class ControlRequest {
 public:
  /// For parse(), which makes requests. Not noexcept, since a value of the library may allocate.
  ControlRequest() {}

  /// NULL for what is not such an object alone in UTF-8, for a name that is there twice, for a NUL,
  /// and for a number that no double holds.
  static std::unique_ptr<ControlRequest> parse(std::string_view line);

  bool has_version(int version) const;
  /// Empty if there is none, or no text.
  std::string verb() const;

  // The members beside version and verb. error() keeps the first thing that is wrong.
  /// There are no others than these. A member that is not known is not passed over: it may be a
  /// bound that somebody relies on.
  void allow(std::initializer_list<std::string_view> names);
  /// Empty if it is left out.
  std::string text(const char* name);
  /// From 1 on; 0 if it is left out.
  std::int64_t integer(const char* name);
  /// `seconds`, in nanoseconds; 0 if it is left out.
  std::int64_t duration_ns();
  /// `at_realtime_ns`; 0 if it is left out. A moment that has passed is wrong: windows would differ
  /// from host to host.
  std::int64_t moment_ns();
  void refuse(std::string error);

  /// For people; empty: nothing is wrong so far.
  const std::string& error() const { return error_; }
  const nlohmann::ordered_json& object() const { return object_; }

 private:
  const nlohmann::ordered_json* find(const char* name) const;

  nlohmann::ordered_json object_;
  std::string error_;
};

}  // namespace ringside::doors

#endif  // RINGSIDE_PLUGIN_DOORS_CONTROL_REQUEST_H
