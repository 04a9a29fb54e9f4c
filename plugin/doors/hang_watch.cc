// SPDX-License-Identifier: Apache-2.0
#include "plugin/doors/hang_watch.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <utility>

#include "plugin/assemble/operation_name.h"
#include "plugin/drain/trace_account.h"

namespace ringside::doors {
namespace {

using assemble::InFlight;
using assemble::OperationKind;

constexpr std::int64_t kLookEvery_ns = 1'000'000'000;

std::string communicator_text(const assemble::Communicator* communicator, int rank) {
  if (communicator == nullptr) {
    return "rank " + std::to_string(rank) + " of an unknown communicator";
  }
  std::string text = "rank " + (communicator->rank_known ? std::to_string(communicator->rank)
                                                         : std::to_string(rank));
  if (communicator->has_size) {
    text += " of " + std::to_string(communicator->nranks);
  }
  text += " in communicator " + communicator->name;
  if (communicator->has_hash) {
    std::array<char, 32> hash{};
    std::snprintf(hash.data(), hash.size(), "%s0x%016" PRIx64 "%s",
                  communicator->name.empty() ? "" : " (", communicator->hash,
                  communicator->name.empty() ? "" : ")");
    text += hash.data();
  }
  return text;
}

std::string operation_text(const assemble::Operation& operation) {
  std::string text(operation.has_seq ? assemble::numbered(operation.func, operation.seq)
                                     : operation.func);
  if (operation.kind == OperationKind::kP2p) {
    text += (operation.func == "Recv" ? " from peer " : " to peer ") +
            std::to_string(operation.root_or_peer);
  }
  if (!operation.has_seq) {
    text += " (operation " + std::to_string(operation.number) + " of the trace)";
  }
  return text + ", " +
         (operation.has_bytes ? std::to_string(operation.bytes) + " bytes" : "bytes not known");
}

// Names come from the application.
std::string on_one_line(std::string text) {
  for (char& letter : text) {
    if (static_cast<unsigned char>(letter) < ' ' || letter == '\x7f') {
      letter = '?';
    }
  }
  return text;
}

}  // namespace

std::vector<InFlight> take_unreported(std::vector<InFlight> stalled, Stalls& reported) {
  std::erase_if(stalled, [&](const InFlight& stuck) {
    std::uint64_t& last = reported[stuck.operation.context];
    const bool is_old = stuck.operation.number == last;
    last = stuck.operation.number;
    return is_old;
  });
  return stalled;
}

HangWatch::HangWatch(const config::Config& config, posix::Log& log, session::Session& session)
    : config_(config), log_(log), session_(session), command_(config.on_hang) {}

std::shared_ptr<drain::Dump> HangWatch::look(drain::TraceWriter& writer) {
  const auto limit_ns = static_cast<std::int64_t>(config_.hang_seconds * 1e9);
  if (limit_ns == 0 || writer.now_ns() < next_look_ns_) {
    return nullptr;
  }
  next_look_ns_ = writer.now_ns() + kLookEvery_ns;
  command_.reap();
  const std::vector<InFlight> stuck = take_unreported(writer.in_flight_for(limit_ns), reported_);
  if (stuck.empty()) {
    return nullptr;
  }
  // One at a time: a dump that is being written shows the stall, too.
  const bool wants_dump = dumps_ < kMostDumps && dump_ == nullptr;
  std::string path;
  if (wants_dump) {
    ++dumps_;
    path = session_.next_dump_path();
  }
  const HangFacts facts{config_.hang_seconds, writer.now_ns(),
                        drain::TraceAccount::of_threads().dropped(), path};
  for (const InFlight& operation : stuck) {
    log_.warn(hang_line(operation, writer.find_communicator(operation.operation.context), facts));
  }
  if (wants_dump) {
    dump_ = std::make_shared<drain::Dump>(path);
  }
  return wants_dump ? dump_ : nullptr;
}

void HangWatch::follow() {
  const std::optional<Result> result = dump_ != nullptr ? dump_->result() : std::nullopt;
  if (!result) {
    return;
  }
  std::string path = std::exchange(dump_, nullptr)->path();
  if (!result->is_ok()) {
    log_.warn("cannot write " + path + " (" + result->text() + ")");
    path.clear();
  }
  if (const Result started = command_.run(path); !started.is_ok()) {
    log_.warn(std::string("RINGSIDE_ON_HANG: /bin/sh cannot be started (") + started.text() + ")");
  }
}

std::string hang_line(const InFlight& stuck, const assemble::Communicator* communicator,
                      const HangFacts& facts) {
  constexpr double kSecond_ns = 1e9;
  const double in_flight_s = static_cast<double>(facts.now_ns - stuck.since_ns) / kSecond_ns;
  std::array<char, 96> times{};
  std::snprintf(times.data(), times.size(), ", in flight for %.1f s (limit %.7g s)", in_flight_s,
                facts.limit_s);
  std::string line = "stalled: " + communicator_text(communicator, stuck.operation.rank) + ": " +
                     operation_text(stuck.operation) + times.data();
  if (!stuck.call_returned) {
    line += ", its call has not returned";
  }
  if (facts.dropped != 0) {
    line += "; " + std::to_string(facts.dropped) + " records were lost, its end may be among them";
  }
  line += facts.dump_path.empty()
              ? "; no dump: " + std::to_string(HangWatch::kMostDumps) + " have been written"
              : "; dump: " + facts.dump_path;
  return on_one_line(std::move(line));
}

}  // namespace ringside::doors
