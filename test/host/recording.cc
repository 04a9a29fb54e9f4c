// SPDX-License-Identifier: Apache-2.0
#include "test/host/recording.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <simdjson.h>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <zlib.h>

#include "test/abi/event_types.h"
#include "test/host/enum_names.h"

namespace ringside::host {
namespace {

using simdjson::dom::element;

const char* intern(std::string_view text) {
  static std::set<std::string, std::less<>>& strings = *new std::set<std::string, std::less<>>;
  return strings.emplace(text).first->c_str();
}

// A number, a flag, or a number as a hexadecimal string; null is 0.
std::uint64_t number(const element& value) {
  if (value.is_uint64()) return value.get_uint64().value();
  if (value.is_int64()) return static_cast<std::uint64_t>(value.get_int64().value());
  if (value.is_bool()) return value.get_bool().value() ? 1 : 0;
  if (value.is_null()) return 0;
  std::string_view text = value.get_string().value();
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t result = 0;
  const auto end = text.data() + text.size();
  if (std::from_chars(text.data(), end, result, 16).ptr != end) {
    throw std::runtime_error("not a number: " + std::string(text));
  }
  return result;
}

const char* text(const element& value) {
  return value.is_null() ? nullptr : intern(value.get_string().value());
}

// Version 1 of the interface has NCCL's enum values where the later ones have names.
const char* name_or_number(const element& value, const EnumNames& names) {
  return value.is_string() || value.is_null() ? text(value) : intern(names.name(number(value)));
}

Kind kind_of(std::string_view name) {
  static const std::unordered_map<std::string_view, Kind> kinds = {
      {"dlopen", Kind::kDlopen},          {"init", Kind::kInit},
      {"startEvent", Kind::kStart},       {"stopEvent", Kind::kStop},
      {"recordEventState", Kind::kState}, {"finalize", Kind::kFinalize},
      {"dlclose_or_exit", Kind::kExit},   {"flip", Kind::kFlip}};
  const auto found = kinds.find(name);
  if (found == kinds.end()) throw std::runtime_error("unknown callback " + std::string(name));
  return found->second;
}

std::uint32_t type_of(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "Group",    "Coll",      "P2p",      "ProxyOp",    "ProxyStep", "ProxyCtrl",
      "KernelCh", "NetPlugin", "GroupApi", "CollApi",    "P2pApi",    "KernelLaunch",
      "CeColl",   "CeSync",    "CeBatch",  "KernelPhase"};
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) throw std::runtime_error("unknown type " + std::string(name));
  return 1U << (found - std::begin(kNames));
}

using Setter = std::function<void(Callback&, const element&)>;

template <class T>
Setter set_number(T Callback::*member) {
  return [member](Callback& callback, const element& value) {
    callback.*member = static_cast<T>(number(value));
  };
}

Setter set_text(const char* Callback::*member) {
  return [member](Callback& callback, const element& value) { callback.*member = text(value); };
}

Setter set_name(const char* Callback::*member, const EnumNames& names) {
  return [member, &names](Callback& callback, const element& value) {
    callback.*member = name_or_number(value, names);
  };
}

const std::unordered_map<std::string_view, Setter>& setters() {
  static const std::unordered_map<std::string_view, Setter> table = {
      {"cb", [](Callback& c, const element& v) { c.kind = kind_of(v.get_string().value()); }},
      {"type", [](Callback& c, const element& v) { c.type = type_of(v.get_string().value()); }},
      {"ctx",
       [](Callback& c, const element& v) { c.context = static_cast<std::int64_t>(number(v)); }},
      {"t", set_number(&Callback::time_ns)},
      {"tid", set_number(&Callback::thread)},
      {"threadName", set_text(&Callback::thread_name)},
      {"mainThread", set_number(&Callback::main_thread)},
      {"pid", set_number(&Callback::pid)},
      {"abi", set_number(&Callback::abi)},
      {"realtime_ns", set_number(&Callback::realtime_ns)},
      {"h", set_number(&Callback::handle)},
      {"h_foreign", set_number(&Callback::handle_is_foreign)},
      {"parent", set_number(&Callback::parent)},
      {"parentGroup", set_number(&Callback::parent_group)},
      {"eHandleBefore", set_number(&Callback::handle_before)},
      {"state", set_number(&Callback::state)},
      {"argsNull", set_number(&Callback::arguments_null)},
      {"mask", set_number(&Callback::mask)},
      {"commName", set_text(&Callback::comm_name)},
      {"name", set_text(&Callback::comm_name)},
      {"commId", set_number(&Callback::comm_hash)},
      {"commHash", set_number(&Callback::comm_hash)},
      {"nNodes", set_number(&Callback::n_nodes)},
      {"nranks", set_number(&Callback::n_ranks)},
      {"rank", set_number(&Callback::rank)},
      {"logfn", set_number(&Callback::has_logger)},
      {"seqNumber", set_number(&Callback::seq_number)},
      {"func", set_name(&Callback::func, kFunctions)},
      {"datatype", set_name(&Callback::datatype, kDatatypes)},
      {"algo", set_name(&Callback::algo, kAlgorithms)},
      {"proto", set_name(&Callback::proto, kProtocols)},
      {"sendBuff", set_number(&Callback::send_buff)},
      {"recvBuff", set_number(&Callback::recv_buff)},
      {"buff", set_number(&Callback::buff)},
      {"count", set_number(&Callback::count)},
      {"root", set_number(&Callback::root)},
      {"trafficBytes", set_number(&Callback::traffic_bytes)},
      {"nMaxChannels", set_number(&Callback::n_channels)},
      {"nChannels", set_number(&Callback::n_channels)},
      {"nWarps", set_number(&Callback::n_warps)},
      {"peer", set_number(&Callback::peer)},
      {"pidIsMine", set_number(&Callback::pid_is_mine)},
      {"channelId", set_number(&Callback::channel)},
      {"nSteps", set_number(&Callback::n_steps)},
      {"chunkSize", set_number(&Callback::chunk_size)},
      {"isSend", set_number(&Callback::is_send)},
      {"step", set_number(&Callback::step)},
      {"pTimer", set_number(&Callback::gpu_timer)},
      {"id", set_number(&Callback::net_id)},
      {"sock.fd", set_number(&Callback::socket_fd)},
      {"sock.op", set_number(&Callback::socket_op)},
      {"sock.length", set_number(&Callback::socket_length)},
      {"graphCaptured", set_number(&Callback::graph_captured)},
      {"groupDepth", set_number(&Callback::group_depth)},
      {"stream", set_number(&Callback::stream)},
      {"transSize", set_number(&Callback::trans_size)},
      {"raw.transSize", set_number(&Callback::trans_size)},
      {"steps", set_number(&Callback::steps)},
      {"appendedProxyOps", set_number(&Callback::appended)},
      {"userTag", set_number(&Callback::user_tag)},
      {"kernelVariant", set_text(&Callback::kernel_variant)},
      {"isSymColl", set_number(&Callback::symmetric)},
      {"syncStrategy", set_text(&Callback::sync_strategy)},
      {"intraBatchSync", set_number(&Callback::intra_batch_sync)},
      {"batchSize", set_number(&Callback::batch_size)},
      {"numBatches", set_number(&Callback::n_batches)},
      {"ceSeqNum", set_number(&Callback::ce_seq_num)},
      {"isComplete", set_number(&Callback::is_complete)},
      {"nRanks", set_number(&Callback::n_ranks)},
      {"numOps", set_number(&Callback::n_ops)},
      {"totalBytes", set_number(&Callback::total_bytes)},
      {"phaseId", set_number(&Callback::phase)},
      {"phaseName", set_text(&Callback::phase_name)},
  };
  return table;
}

std::string read_gzip(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  std::string content;
  char buffer[1 << 16];
  int got = 0;
  while ((got = gzread(file.get(), buffer, sizeof buffer)) > 0) {
    content.append(buffer, static_cast<std::size_t>(got));
  }
  if (got < 0) throw std::runtime_error(path + ": cannot be unpacked");
  return content;
}

Callback read_line(simdjson::dom::parser& parser, std::string_view line) {
  Callback callback;
  const simdjson::dom::object fields = parser.parse(line.data(), line.size()).get_object();
  for (const auto& field : fields) {
    const auto setter = setters().find(field.key);
    if (setter != setters().end()) setter->second(callback, field.value);
  }
  return callback;
}

}  // namespace

bool Callback::is_call() const {
  return kind == Kind::kInit || kind == Kind::kStart || kind == Kind::kStop ||
         kind == Kind::kState || kind == Kind::kFinalize;
}

int version_of_folder(const std::string& name) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  if (std::sscanf(name.c_str(), "%d.%d.%d", &major, &minor, &patch) != 3) return 0;
  return major * 10000 + minor * 100 + patch;
}

Recording read_recording(const std::string& path) {
  Recording recording;
  recording.path = path;
  const auto folder = std::filesystem::absolute(path).parent_path().filename();
  recording.nccl_version = version_of_folder(folder.string());
  const std::string content = read_gzip(path);
  simdjson::dom::parser parser;
  std::size_t begin = 0;
  for (int line_number = 1; begin < content.size(); line_number++) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    try {
      if (end > begin) {
        const auto line = std::string_view(content).substr(begin, end - begin);
        recording.callbacks.push_back(read_line(parser, line));
      }
    } catch (const std::exception& error) {
      throw std::runtime_error(path + ":" + std::to_string(line_number) + ": " + error.what());
    }
    begin = end + 1;
  }
  if (recording.callbacks.empty()) throw std::runtime_error(path + ": empty");
  // Threads wrote into the file at their own pace; each one's own lines are in order.
  std::stable_sort(recording.callbacks.begin(), recording.callbacks.end(),
                   [](const Callback& a, const Callback& b) { return a.time_ns < b.time_ns; });
  const auto load = std::find_if(recording.callbacks.begin(), recording.callbacks.end(),
                                 [](const Callback& c) { return c.kind == Kind::kDlopen; });
  if (load == recording.callbacks.end()) throw std::runtime_error(path + ": no dlopen line");
  recording.abi = load->abi;
  recording.pid = load->pid;
  return recording;
}

}  // namespace ringside::host
