// SPDX-License-Identifier: Apache-2.0
#include "analyzer/chakra/operation_node.h"

#include <algorithm>
#include <array>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/model/call_site.h"
#include "analyzer/report/document/json_writer.h"

namespace ringside::chakra {
namespace {

using model::Operation;

constexpr std::array<std::string_view, model::kTimesFromCount> kTimesFrom = {
    "gpu", "proxy", "proxy_queue", "enqueue", "kineto"};
constexpr std::string_view kStates[] = {"completed", "started", "enqueued"};
constexpr std::string_view kKinds[] = {"collective", "point_to_point", "copy_engine", "api"};

std::optional<std::uint64_t> times(std::optional<std::uint64_t> bytes, std::uint64_t ranks) {
  std::uint64_t all = 0;
  return bytes && !__builtin_mul_overflow(*bytes, ranks, &all) ? std::optional(all) : std::nullopt;
}

template <typename Integer>
void add_if_known(Node& node, const char* name, const std::optional<Integer>& value) {
  if (value) {
    node.add_number(name, *value);
  }
}

void add_times(Node& node, const RankOperation& one, const Operation& operation) {
  node.add_text("times_from", kTimesFrom[static_cast<std::size_t>(operation.times_from)]);
  node.add_text("state", kStates[static_cast<std::size_t>(operation.state)]);
  if (operation.in_flight) {
    node.add("in_flight", true);
  }
  if (!one.has_execution) {
    node.add_number("call_start_ns", one.start_ns);
    return;
  }
  node.add_number("start_ns", one.start_ns);
  node.add_number("wall_ns", one.end_ns - one.start_ns);
  if (one.has_wait) {
    node.add_number("duration_ns", one.end_ns - one.start_ns - one.wait_ns);
    node.add_number("wait_ns", one.wait_ns);
    node.add_number("wait_least_ns", one.wait.least_ns);
    node.add_number("wait_most_ns", one.wait.most_ns);
  }
}

}  // namespace

Bytes bytes_of(std::string_view function, std::optional<std::uint64_t> bytes, std::uint64_t nranks,
               std::optional<bool> is_root) {
  using Count = std::optional<std::uint64_t>;
  const Count all = times(bytes, nranks);
  const auto only_root = [&](const Count& count) {
    return !is_root ? Count() : *is_root ? count : Count(0);
  };
  if (function == "AllReduce") return {bytes, bytes, bytes};
  if (function == "AllGather") return {bytes, all, bytes};
  if (function == "ReduceScatter") return {all, bytes, all};
  if (function == "AlltoAll") return {all, all, all};
  if (function == "Broadcast") return {only_root(bytes), bytes, bytes};
  if (function == "Reduce") return {bytes, only_root(bytes), bytes};
  if (function == "Gather") return {bytes, only_root(all), bytes};
  if (function == "Scatter") return {only_root(all), bytes, all};
  if (function == "Send") return {bytes, Count(0), bytes};
  if (function == "Recv") return {Count(0), bytes, bytes};
  return {std::nullopt, std::nullopt, bytes};
}

Node operation_node(const facts::Facts& facts, const RankOperations& ranks,
                    const RankOperation& one) {
  const model::Traces& traces = facts.traces();
  const match::Matches& matches = facts.matches();
  const match::Part part = matches.parts[one.part];
  const Operation operation = match::operation_of(traces, part);
  const std::uint32_t index = matches.operations[one.matched].communicator;
  const match::Communicator& communicator = matches.communicators[index];
  const auto text = [&](model::NameId id) { return traces.names.text(id); };
  const std::string_view function = text(operation.func);
  const bool is_send = function == "Send";
  const auto own = communicator.members[part.member].rank;

  Node node;
  node.name = function.empty() ? std::string("unknown") : std::string(function);
  node.type = is_send              ? NodeType::kSend
              : function == "Recv" ? NodeType::kReceive
                                   : NodeType::kCollective;
  node.add("is_cpu_op", false);
  if (node.type == NodeType::kCollective) {
    if (const auto type = collective_type(function)) {
      node.add_number("comm_type", *type);
    }
  } else {
    const auto self = ranks.job_ranks[index][part.member];
    const auto& from = is_send ? self : one.peer;
    const auto& to = is_send ? one.peer : self;
    if (from) node.add("comm_src", static_cast<std::int32_t>(*from));
    if (to) node.add("comm_dst", static_cast<std::int32_t>(*to));
    if (one.tag) node.add("comm_tag", *one.tag);
  }
  const std::optional<bool> is_root =
      own && operation.root ? std::optional(*own == *operation.root) : std::nullopt;
  const Bytes bytes = bytes_of(function, operation.bytes, communicator.nranks, is_root);
  add_if_known(node, "comm_size", bytes.size);
  node.add_text("pg_name", std::to_string(ranks.group_numbers[index]));
  node.add_text("pg_desc", match::distinct_name(communicator));
  node.add_text("comm_hash", communicator.hash);
  node.add_number("comm_nranks", communicator.nranks);
  add_if_known(node, "comm_rank", own);
  node.add_text("function", function);
  node.add_text("kind", kKinds[static_cast<std::size_t>(operation.kind)]);
  add_if_known(node, "bytes_in", bytes.in);
  add_if_known(node, "bytes_out", bytes.out);
  add_if_known(node, "count", operation.count);
  node.add_text("datatype", match::datatype_name(text(operation.datatype)));
  add_if_known(node, "root", operation.root);
  add_if_known(node, "peer", operation.peer);
  add_if_known(node, "seq", operation.seq);
  add_if_known(node, "group", operation.group);
  node.add_number("operation_id", one.matched + std::uint64_t{1});  // as of the database
  add_times(node, one, operation);
  node.add_text("algorithm", text(operation.algo));
  node.add_text("protocol", text(operation.proto));
  if (operation.channels > 0) {
    node.add_number("channels", operation.channels);
  }
  node.add_text("cuda_stream", text(operation.stream));
  if (operation.graph) {
    node.add("cuda_graph", true);
  }
  node.add_text("called_by", model::calling_frame(text(operation.called_by)));
  node.add_text("process_group", text(operation.process_group));
  add_if_known(node, "torch_seq", operation.torch_seq);
  node.add_text("user_tag", text(operation.user_tag));
  return node;
}

Node groups_node(const facts::Facts& facts, const RankOperations& ranks, std::uint32_t run) {
  const match::Matches& matches = facts.matches();
  report::JsonWriter json;
  json.begin_array();
  for (std::uint32_t c = 0; c < matches.communicators.size(); ++c) {
    const match::Communicator& communicator = matches.communicators[c];
    const auto& known = ranks.job_ranks[c];
    const bool is_whole = known.size() == communicator.nranks &&
                          std::all_of(known.begin(), known.end(), [](auto one) { return one; });
    if (communicator.run != run || !is_whole) {
      continue;
    }
    json.begin_object();
    json.text("pg_name", std::to_string(ranks.group_numbers[c]));
    json.text("pg_desc", match::distinct_name(communicator));
    json.text("backend_config", "cuda:nccl");
    json.integer("pg_size", communicator.nranks);
    json.begin_row("ranks");
    for (const auto rank : known) {
      json.integer({}, *rank);
    }
    json.end_row();
    json.end_object();
  }
  json.end_array();
  std::string text;
  bool is_indent = false;  // a line break within a name is escaped
  for (const char byte : json.finish()) {
    is_indent = byte == '\n' || (is_indent && byte == ' ');
    if (!is_indent) {
      text += byte;
    }
  }
  Node node;
  node.name = "## process_group:init ##";
  node.type = NodeType::kMetadata;
  node.inputs = {"['" + text + "']", "[[]]", "['String']"};
  node.add("is_cpu_op", true);
  return node;
}

}  // namespace ringside::chakra
