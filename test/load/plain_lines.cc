// SPDX-License-Identifier: Apache-2.0
#include "test/load/plain_lines.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "test/load/plain_json.h"
#include "test/load/plain_metadata.h"

namespace ringside::plain {
namespace {

// Microseconds with exactly three decimals, below 2^62 ns.
std::optional<std::int64_t> time_ns(std::string_view number) {
  constexpr std::int64_t kMost_us = (std::int64_t{1} << 62) / 1000;
  const std::size_t point = number.find('.');
  if (point == std::string_view::npos || number.size() - point - 1 != 3) {
    return std::nullopt;
  }
  const auto whole_us = digits_of(number.substr(0, point), 10);
  const auto part_ns = digits_of(number.substr(point + 1), 10);
  return whole_us && part_ns && *whole_us <= kMost_us ? std::optional(*whole_us * 1000 + *part_ns)
                                                      : std::nullopt;
}

struct RowName {
  bool is_send = false;
  std::uint16_t channel = 0;
};

// "send channel 0", "rank 2 recv steps channel 3": the last words tell.
std::optional<RowName> row_name(const std::string& name, bool is_step) {
  std::vector<std::string> words;
  std::istringstream text(name);
  for (std::string word; std::getline(text, word, ' ');) {
    words.push_back(word);
  }
  std::reverse(words.begin(), words.end());
  const std::size_t direction = is_step ? 3 : 2;
  if (name.ends_with(' ') || words.size() <= direction || words[1] != "channel" ||
      (is_step && words[2] != "steps") ||
      (words[direction] != "send" && words[direction] != "recv")) {
    return std::nullopt;
  }
  const auto channel = digits_of(words[0], 10);
  if (!channel || !std::in_range<std::uint16_t>(*channel)) {
    return std::nullopt;
  }
  return RowName{words[direction] == "send", static_cast<std::uint16_t>(*channel)};
}

template <typename Word>
bool take_word(const Members& members, const char* key, const std::map<std::string, Word>& words,
               std::optional<Word>& word) {
  for (const Member& member : members) {
    if (member.key == key) {
      const auto text = text_of(member.value);
      const auto found = text ? words.find(*text) : words.end();
      if (found == words.end()) {
        return false;
      }
      word = found->second;
    }
  }
  return true;
}

const std::map<std::string, model::Kind> kKinds = {{"coll", model::Kind::kCollective},
                                                   {"p2p", model::Kind::kPointToPoint},
                                                   {"ce", model::Kind::kCopyEngine},
                                                   {"api", model::Kind::kApi}};
const std::map<std::string, model::TimesFrom> kSources = {
    {"gpu", model::TimesFrom::kGpu},
    {"proxy", model::TimesFrom::kProxy},
    {"proxy_queue", model::TimesFrom::kProxyQueue},
    {"enqueue", model::TimesFrom::kEnqueue}};
const std::map<std::string, model::State> kStates = {{"completed", model::State::kCompleted},
                                                     {"started", model::State::kStarted},
                                                     {"enqueued", model::State::kEnqueued}};

bool has_possible_times(const model::Operation& operation) {
  if (operation.state == model::State::kCompleted &&
      operation.times_from != model::TimesFrom::kEnqueue &&
      (!operation.start_ns || !operation.end_ns)) {
    return false;
  }
  if ((operation.start_ns && *operation.start_ns < 0) ||
      (operation.end_ns && *operation.end_ns < 0)) {
    return false;
  }
  return !operation.start_ns || !operation.end_ns || *operation.start_ns <= *operation.end_ns;
}

}  // namespace

std::optional<Event> event_of(std::string_view text) {
  const auto members = members_of(text);
  Event event;
  if (!members || !take(*members, "ph", event.phase) || !take(*members, "cat", event.category) ||
      !take(*members, "name", event.name)) {
    return std::nullopt;
  }
  for (const Member& member : *members) {
    if (member.key == "ts") {
      event.ts_ns = time_ns(member.value);
    }
    if (member.key == "args") {
      if (event.arguments || !member.value.starts_with('{') || !member.value.ends_with('}')) {
        return std::nullopt;
      }
      event.arguments = member.value;
    }
  }
  if (event.phase.empty()) {
    return std::nullopt;
  }
  return event;
}

bool LineReader::read(const Event& event) {
  has_repeated_ = false;
  const bool is_row = event.category == "proxy" || event.category == "step";
  if (is_row && event.phase == "e") {
    end_row(event);
    return true;
  }
  if (!event.arguments) {
    return true;
  }
  if (is_row && event.phase == "b") {
    return begin_row(event);
  }
  if (event.phase == "M") {
    return read_metadata(event.name, *event.arguments, names_, file_);
  }
  if (event.phase == "b" && event.category == "op") {
    return read_operation(*event.arguments);
  }
  return true;
}

bool LineReader::read_operation(const std::string& arguments) {
  const auto args = members_of(arguments);
  std::optional<std::uint64_t> id;
  std::optional<std::uint32_t> context;
  std::optional<model::Kind> kind;
  std::optional<model::TimesFrom> times_from;
  std::optional<model::State> state;
  std::string func;
  std::string datatype;
  std::string algo;
  std::string proto;
  std::string stream;
  model::Context said;  // of the communicator
  model::Operation operation;
  if (!args || !take(*args, "op", id) || !take(*args, "context", context) ||
      !take_word(*args, "kind", kKinds, kind) ||
      !take_word(*args, "times_from", kSources, times_from) ||
      !take_word(*args, "state", kStates, state) || !take(*args, "func", func) ||
      !take(*args, "datatype", datatype) || !take(*args, "algo", algo) ||
      !take(*args, "proto", proto) || !take(*args, "stream", stream) ||
      !take(*args, "seq", operation.seq) || !take(*args, "count", operation.count) ||
      !take(*args, "bytes", operation.bytes) || !take(*args, "root", operation.root) ||
      !take(*args, "peer", operation.peer) || !take(*args, "group", operation.group) ||
      !take(*args, "window", operation.window) || !take(*args, "tid", operation.tid) ||
      !take(*args, "sample_of", operation.sample_of) ||
      !take(*args, "sampled_out", operation.sampled_out) ||
      !take(*args, "channels", operation.channels) || !take(*args, "graph", operation.graph) ||
      !take(*args, "gpu_polled", operation.gpu_polled) ||
      !take(*args, "start_is_latest", operation.start_is_latest) ||
      !take(*args, "gpu_rejected", operation.gpu_rejected) ||
      !take(*args, "in_flight", operation.in_flight) ||
      !take(*args, "enqueue_start_ns", operation.enqueue_start_ns) ||
      !take(*args, "enqueue_end_ns", operation.enqueue_end_ns) ||
      !take(*args, "start_ns", operation.start_ns) || !take(*args, "end_ns", operation.end_ns) ||
      !take(*args, "comm", said.comm) || !take(*args, "rank", said.rank) ||
      !take(*args, "nranks", said.nranks)) {
    return false;
  }
  if (!id) {
    return true;  // the slice around an operation
  }
  if (!context || !kind || !times_from || !state || func.empty()) {
    return false;
  }
  operation.id = *id;
  operation.context = *context;
  operation.kind = *kind;
  operation.times_from = *times_from;
  operation.state = *state;
  operation.func = names_.id(func);
  operation.datatype = names_.id(datatype);
  operation.algo = names_.id(algo);
  operation.proto = names_.id(proto);
  operation.stream = names_.id(stream);
  if (!has_possible_times(operation)) {
    return false;
  }
  has_repeated_ = !ids_.insert(operation.id).second;
  model::Context& known = file_.contexts[*context];
  if (!has_repeated_) {
    file_.operations.push_back(operation);
    ++known.operations;
  }
  if (!known.comm) known.comm = said.comm;
  if (!known.rank) known.rank = said.rank;
  if (!known.nranks) known.nranks = said.nranks;
  return true;
}

bool LineReader::begin_row(const Event& event) {
  open_row_ = Row::kNone;
  const auto args = members_of(*event.arguments);
  const bool is_step = event.category == "step";
  const auto name = row_name(event.name, is_step);
  std::optional<std::uint32_t> context;
  model::Step row;
  std::uint32_t steps = 0;
  std::int32_t foreign_pid = 0;
  if (!args || !event.ts_ns || !name || !take(*args, "context", context) || !context ||
      !take(*args, "op", row.operation) || !take(*args, "peer", row.peer) ||
      !take(*args, "bytes", row.bytes) || !take(*args, "steps", steps) ||
      !take(*args, "foreign_pid", foreign_pid) || !take(*args, "gpu_wait_ns", row.gpu_wait_ns) ||
      !take(*args, "peer_wait_ns", row.peer_wait_ns) ||
      !take(*args, "transfer_ns", row.transfer_ns) || !take(*args, "flush_ns", row.flush_ns) ||
      !take(*args, "in_flight", row.in_flight)) {
    return false;
  }
  if (!is_step && !row.peer) {
    return false;
  }
  row.context = *context;
  row.channel = name->channel;
  row.is_send = name->is_send;
  row.start_ns = *event.ts_ns;
  if (is_step) {
    file_.steps.push_back(row);
    open_row_ = Row::kStep;
    return true;
  }
  model::ProxyOperation proxy;
  proxy.operation = row.operation;
  proxy.context = row.context;
  proxy.peer = *row.peer;
  proxy.channel = row.channel;
  proxy.is_send = row.is_send;
  proxy.in_flight = row.in_flight;
  proxy.start_ns = row.start_ns;
  proxy.bytes = row.bytes;
  proxy.steps = steps;
  proxy.foreign_pid = foreign_pid;
  file_.proxies.push_back(proxy);
  open_row_ = Row::kProxy;
  return true;
}

void LineReader::end_row(const Event& event) {
  if (open_row_ == Row::kStep) {
    file_.steps.back().end_ns = event.ts_ns;
  } else if (open_row_ == Row::kProxy) {
    file_.proxies.back().end_ns = event.ts_ns;
  }
  open_row_ = Row::kNone;
}

}  // namespace ringside::plain
