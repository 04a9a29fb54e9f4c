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

constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

std::size_t index_of(EventType type) {
  return static_cast<std::size_t>(type);
}

// The parent's id is the first field of every start's payload.
EventId parent_of(const RecordView& view) {
  return view.payload.step.parent;
}

}  // namespace

void Assembler::open_communicator(const Communicator& opened) {
  Communicator& communicator = communicators_.open(opened);
  sampler_.open(communicator);
  gpu_clocks_.learn_gpu(communicator.context);
  sink_.communicator(communicator);
}

void Assembler::close_communicator(std::uint32_t context, std::int64_t ts_ns) {
  if (Communicator* const closed = communicators_.find(context)) {
    closed->finalized_ns = ts_ns;
    sink_.communicator(*closed);
  }
}

void Assembler::expect(std::uint32_t types, std::int64_t since_ns) {
  history_.expect(types, since_ns);
  sampler_.record_p2p((types & record::bit(EventType::kP2p)) != 0);
}

void Assembler::lose_places(std::int64_t ts_ns) {
  for (const std::uint32_t context : sampler_.stop_counting(ts_ns)) {
    Communicator& communicator = *communicators_.find(context);
    communicator.p2p_unsampled = true;
    sink_.communicator(communicator);
  }
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
      orphans_.add(view, operation);
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
  const IdSet orphans = orphans_.ids();
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
  if (const Communicator* const changed = communicators_.learn(view, names_)) {
    sink_.communicator(*changed);
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

bool Assembler::retry(const RecordView& view, std::uint64_t operation, bool last_try) {
  given_operation_ = operation;
  const bool is_joined = join(view, last_try);
  counts_.stale[index_of(view.type)] += !is_joined && last_try ? 1 : 0;
  return is_joined || last_try;
}

void Assembler::retry_orphans(std::int64_t now_ns) {
  orphans_.retry_all(now_ns, [this](const RecordView& view, std::uint64_t operation,
                                    bool last_try) { return retry(view, operation, last_try); });
}

void Assembler::settle(std::int64_t now_ns) {
  retry_orphans(now_ns);
  settle_calls(now_ns);
  settle_operations(now_ns);
}

void Assembler::close(std::int64_t now_ns) {
  user_marks_.take(kForEver);
  retry_orphans(kForEver);  // nothing comes any more for which they could wait
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
  slices_.clear();
  user_marks_.clear();
}

}  // namespace ringside::assemble
