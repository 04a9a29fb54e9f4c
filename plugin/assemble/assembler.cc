// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/assembler.h"

#include <algorithm>
#include <limits>
#include <new>

#include "plugin/assemble/id_set.h"
#include "plugin/record/encode.h"

namespace ringside::assemble {
namespace {

using record::EventId;
using record::EventType;
using record::RecordKind;

constexpr std::int64_t kOrphanWait_ns = 1'000'000'000;

std::size_t index_of(EventType type) {
  return static_cast<std::size_t>(type);
}

// The parent's id is the first field of every start's payload.
EventId parent_of(const RecordView& view) {
  return view.payload.step.parent;
}

}  // namespace

void Assembler::open_communicator(const Communicator& opened) {
  if (communicators_.size() <= opened.context) {
    communicators_.resize(opened.context + 1);
  }
  communicators_[opened.context] = opened;
  begin_sampling(communicators_[opened.context]);
  if (opened.context < gpu_clock_of_.size()) {
    gpu_clock_of_[opened.context] = nullptr;  // its GPU is known now
  }
  sink_.communicator(communicators_[opened.context]);
}

void Assembler::close_communicator(std::uint32_t context, std::int64_t ts_ns) {
  if (context == 0 || context >= communicators_.size()) {
    return;
  }
  communicators_[context].finalized_ns = ts_ns;
  sink_.communicator(communicators_[context]);
}

void Assembler::open_window(std::uint32_t number, std::int64_t start_ns) {
  // Events that began longer ago than so many windows are counted to the oldest that is known.
  constexpr std::size_t kMostWindows = 4096;
  if (windows_.size() == kMostWindows) {
    windows_.erase(windows_.begin(), windows_.begin() + kMostWindows / 2);
  }
  windows_.push_back({number, start_ns});
}

void Assembler::expect(std::uint32_t types, std::int64_t since_ns) {
  constexpr std::size_t kMostChanges = 4096;
  if (expected_.size() == kMostChanges) {
    expected_.erase(expected_.begin(), expected_.begin() + kMostChanges / 2);
  }
  expected_.push_back({types, since_ns});
  expect_p2p_ = (types & record::bit(record::EventType::kP2p)) != 0;
}

const Communicator& Assembler::communicator(std::uint32_t context) const {
  return communicators_[context < communicators_.size() ? context : 0];
}

std::uint64_t Assembler::record(const RecordView& view, std::uint64_t operation) {
  if (view.kind == RecordKind::kName) {
    const char* text = view.payload.name.text;
    names_.announce(
        view.ring, view.id,
        {text, static_cast<std::size_t>(
                   std::find(text, text + sizeof view.payload.name.text, '\0') - text)});
    return 0;
  }
  given_operation_ = operation;
  joined_operation_ = 0;
  std::uint64_t joined = 0;
  try {
    if (join(view, false)) {
      joined = joined_operation_;
    } else {
      joined = operation;
      orphans_.push_back({view, view.ts_ns + kOrphanWait_ns, operation});
    }
    keep_limits(view.ts_ns);  // may join an older record
    ++counts_.consumed[index_of(view.type)];
  } catch (const std::bad_alloc&) {
    ++counts_.consumed[index_of(view.type)];
    ++counts_.dropped_memory[index_of(view.type)];
  }
  return joined;
}

bool Assembler::is_unfinished(std::uint64_t operation) const {
  const OpenOperation* const found = operations_.find(operation);
  return found != nullptr && !found->finished;
}

// Of an event without an operation.
bool Assembler::is_waited_for(const Event& event) const {
  const auto* call = std::get_if<CallEvent>(&event.data);
  return call == nullptr || !call->has_child || call->call.captured ||
         call->call.end_ns == kUnknownTime || is_unfinished(call->child);
}

void Assembler::answer(std::span<Question> questions) const {
  IdSet orphans(orphans_.size());
  for (const Orphan& orphan : orphans_) {
    orphans.insert(orphan.view.id);
  }
  // What is asked for is mostly in no cache. So many look-ups go on at the same time.
  constexpr std::size_t kAtOnce = 32;
  std::array<const Event*, kAtOnce> events{};
  for (; !questions.empty(); questions = questions.subspan(std::min(kAtOnce, questions.size()))) {
    const auto now = questions.first(std::min(kAtOnce, questions.size()));
    for (const Question& question : now) {
      question.operation != 0 ? operations_.fetch(question.operation) : events_.fetch(question.id);
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i].operation != 0) {
        operations_.fetch_value(now[i].operation);
      } else {
        events_.fetch_value(now[i].id);
      }
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
      events[i] = now[i].operation == 0 ? events_.find(now[i].id) : nullptr;
      if (events[i] != nullptr) {
        if (const auto* call = std::get_if<CallEvent>(&events[i]->data)) {
          operations_.fetch_value(call->child);
        }
      }
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
      Question& question = now[i];
      question.is_needed = question.operation != 0 ? is_unfinished(question.operation)
                           : events[i] != nullptr  ? is_waited_for(*events[i])
                                                   : orphans.contains(question.id);
    }
  }
}

bool Assembler::join(const RecordView& view, bool last_try) {
  switch (view.kind) {
    case RecordKind::kStart:
      return start(view, last_try);
    case RecordKind::kState:
      return state(view);
    case RecordKind::kStop:
      return stop(view);
    default:
      return true;
  }
}

bool Assembler::start(const RecordView& view, bool last_try) {
  const EventId parent = parent_of(view);
  if (parent != 0 && !last_try && !events_.contains(parent)) {
    return false;
  }
  if (view.context != 0) {
    learn(view);
  }
  if (record::is_coll_like(view.type)) {
    start_operation(view);
  } else if (record::is_api(view.type) || view.type == EventType::kGroup) {
    start_call(view);
  } else {
    start_child(view);
  }
  return true;
}

bool Assembler::state(const RecordView& view) {
  Event* const found = events_.find(view.id);
  if (found == nullptr) {
    return false;
  }
  ++found->joined;
  joined_operation_ = found->operation;
  state_of_child(view, *found);
  return true;
}

bool Assembler::stop(const RecordView& view) {
  Event* const found = events_.find(view.id);
  if (found == nullptr) {
    return false;
  }
  Event& event = *found;
  if (const auto* call = std::get_if<CallEvent>(&event.data);
      call != nullptr && call->call.end_ns != kUnknownTime) {
    return false;  // NCCL stops some calls again: stale
  }
  ++event.joined;
  joined_operation_ = event.operation;
  if (std::holds_alternative<CallEvent>(event.data)) {
    stop_call(view, event);
  } else {
    stop_child(view, event);
    events_.erase(view.id);
  }
  return true;
}

void Assembler::retry_orphans(std::int64_t now_ns) {
  // Once through: what finds no event goes to the back of the queue again, in the same order.
  for (std::size_t left = orphans_.size(); left != 0; --left) {
    retry_oldest_orphan(now_ns);
  }
}

void Assembler::retry_oldest_orphan(std::int64_t now_ns) {
  const Orphan orphan = orphans_.front();
  orphans_.pop_front();
  const bool late = now_ns >= orphan.deadline_ns;
  given_operation_ = orphan.operation;
  if (join(orphan.view, late)) {
    return;
  }
  if (late) {
    ++counts_.stale[index_of(orphan.view.type)];
  } else {
    orphans_.push_back(orphan);
  }
}

// Versions 1 to 3 tell who a communicator is with its operations only.
void Assembler::learn(const RecordView& view) {
  if (view.context >= communicators_.size() || !view.has_extra ||
      (view.type != EventType::kColl && view.type != EventType::kP2p)) {
    return;
  }
  Communicator& known = communicators_[view.context];
  bool changed = false;
  if (!known.rank_known && known.abi_version != 0) {
    known.rank = view.extra.rank_or_qp;
    known.rank_known = true;
    changed = true;
  }
  if (!known.has_hash && view.extra.comm_hash != 0) {
    known.hash = view.extra.comm_hash;
    known.has_hash = true;
    changed = true;
  }
  if (known.name.empty() && (view.extra.flags & record::kExtraCommName) != 0) {
    known.name = names_.text(view.ring, view.extra.variant);
    changed = !known.name.empty() || changed;
  }
  if (changed) {
    sink_.communicator(known);
  }
}

void Assembler::settle(std::int64_t now_ns) {
  retry_orphans(now_ns);
  settle_calls(now_ns);
  settle_operations(now_ns);
}

void Assembler::close(std::int64_t now_ns) {
  take_marks(std::numeric_limits<std::int64_t>::max());
  // No event comes any more for whom the orphans could wait.
  for (Orphan& orphan : orphans_) {
    orphan.deadline_ns = now_ns;
  }
  retry_orphans(now_ns);
  settle_calls(now_ns);
  settle_operations(now_ns);
  operations_written_ += write_in_flight(sink_, now_ns);
  events_.clear();
  operations_.clear();
  unfinished_.clear();
  finished_.clear();
  captured_.clear();
  kernels_held_ = 0;
  childless_calls_.clear();
  calls_.clear();
  last_calls_ = {};
}

}  // namespace ringside::assemble
