// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lint/operation_rules.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "plugin/assemble/message_bytes.h"

namespace ringside::lint {
namespace {

using Words = std::initializer_list<std::string_view>;

class OperationCheck {
 public:
  OperationCheck(const Event& event, Findings& findings)
      : arguments_(*event.arguments), line_(event.line), findings_(findings) {}

  void run() {
    check_keys();
    check_values();
    check_times();
    check_bytes();
  }

 private:
  void add(Rule rule, std::string text) { findings_.add(line_, rule, std::move(text)); }
  std::string_view text(std::string_view key) const { return text_at(arguments_, key); }
  bool there(std::string_view key) const { return has(arguments_, key); }

  void require(Words keys) {
    for (const std::string_view key : keys) {
      if (!there(key)) {
        add(Rule::kOperationKeys, "no args." + std::string(key));
      }
    }
  }

  void check_keys() {
    require({"op", "context", "kind", "func", "window", "enqueue_start_ns", "times_from", "state"});
    const std::string_view kind = text("kind");
    const std::string_view func = text("func");
    if (kind == "coll" || kind == "ce") {
      require({"seq", "count", "datatype"});
    }
    if (kind == "p2p") {
      require({"peer"});
    }
    if (func == "Broadcast" || func == "Reduce") {
      require({"root"});
    }
  }

  void check_word(std::string_view key, Words words) {
    if (there(key) && std::find(words.begin(), words.end(), text(key)) == words.end()) {
      add(Rule::kOperationValues,
          "args." + std::string(key) + " is \"" + std::string(text(key)) + '"');
    }
  }

  void check_values() {
    check_word("kind", {"coll", "p2p", "ce", "api"});
    check_word("times_from", {"gpu", "proxy", "proxy_queue", "enqueue"});
    check_word("state", {"completed", "started", "enqueued"});
    for (const std::string_view key :
         {"op", "context", "rank", "nranks", "seq", "count", "bytes", "root", "peer", "channels",
          "window", "enqueue_start_ns", "enqueue_end_ns", "start_ns", "end_ns"}) {
      if (there(key) && integer_at(arguments_, key).value_or(-1) < 0) {
        add(Rule::kOperationValues, "args." + std::string(key) + " is not an integer of 0 or more");
      }
    }
    const auto rank = integer_at(arguments_, "rank");
    const auto nranks = integer_at(arguments_, "nranks");
    if (rank && nranks && *rank >= *nranks) {
      add(Rule::kOperationValues, "args.rank is not below args.nranks");
    }
  }

  void check_times() {
    const bool has_start = there("start_ns");
    const bool has_end = there("end_ns");
    const std::string_view state = text("state");
    check_order("start_ns", "end_ns");
    check_order("enqueue_start_ns", "enqueue_end_ns");
    if (text("times_from") == "enqueue") {
      // Also of an execution that was seen, but at times that cannot be true.
      if (has_start || has_end) {
        add(Rule::kOperationTimes, "times_from is enqueue, but there are start_ns or end_ns");
      }
    } else if (state == "completed" && !(has_start && has_end)) {
      add(Rule::kOperationTimes, "state is completed, but start_ns or end_ns is absent");
    } else if (state == "started" && (!has_start || has_end)) {
      add(Rule::kOperationTimes, "state is started, but start_ns is absent or end_ns is there");
    } else if (state == "enqueued") {
      add(Rule::kOperationTimes, "state is enqueued, but times_from says that more was seen");
    }
  }

  void check_order(std::string_view first, std::string_view second) {
    const auto before = integer_at(arguments_, first);
    const auto after = integer_at(arguments_, second);
    if (before && after && *after < *before) {
      add(Rule::kOperationTimes, std::string(second) + " is before " + std::string(first));
    }
  }

  void check_bytes() {
    const auto count = integer_at(arguments_, "count");
    const auto bytes = integer_at(arguments_, "bytes");
    if (!count || !assemble::datatype_bytes(text("datatype"))) {
      return;
    }
    const auto made = assemble::message_bytes(static_cast<std::uint64_t>(*count), text("datatype"));
    const std::string elements = std::to_string(*count) + " of " + std::string(text("datatype"));
    if (made && !bytes) {
      add(Rule::kOperationKeys, "no args.bytes, though count and datatype are known");
    } else if (made && *made != static_cast<std::uint64_t>(*bytes)) {
      add(Rule::kOperationBytes, "bytes are " + std::to_string(*bytes) + ", but " + elements +
                                     " have " + std::to_string(*made));
    } else if (!made && bytes) {
      add(Rule::kOperationBytes, "bytes are " + std::to_string(*bytes) + ", but " + elements +
                                     " are more than any message");
    }
  }

  const simdjson::dom::object& arguments_;
  std::uint64_t line_;
  Findings& findings_;
};

}  // namespace

void check_operation(const Event& event, Findings& findings) {
  OperationCheck(event, findings).run();
}

}  // namespace ringside::lint
