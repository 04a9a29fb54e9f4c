// SPDX-License-Identifier: Apache-2.0
//
// What other threads ask of the session: init, finalize, and the C API.
#include "plugin/session/session.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/abi/logger.h"
#include "plugin/config/version.h"
#include "plugin/doors/control_place.h"
#include "plugin/export/process_facts.h"
#include "plugin/record/recorder.h"
#include "plugin/session/nccl_library.h"
#include "plugin/topology/gpu_identity.h"

namespace ringside::control {
namespace {

constexpr std::uint32_t kOperations =
    record::bit(record::EventType::kColl) | record::bit(record::EventType::kCollApi) |
    record::bit(record::EventType::kP2p) | record::bit(record::EventType::kP2pApi) |
    record::bit(record::EventType::kCeColl);

std::atomic<Session*> g_session{nullptr};
// While a session is made. A child of a fork has one of its own: its parent's may be locked.
constinit std::mutex g_first_making;
std::atomic<std::mutex*> g_making{&g_first_making};
// What a child of a fork leaves alone of its parent's, as its locks may be held for ever. It is
// kept here so that a leak checker of the application has nothing to report.
struct LeftAlone {
  Session* session;
  std::mutex* making;
  LeftAlone* before;
};
std::atomic<LeftAlone*> g_left_alone{nullptr};
// This process, or one that it was forked from, has opened a communicator or begun to write.
std::atomic<bool> g_used{false};
// What a process was told to record before that holds for its children, too; 0: nothing.
std::atomic<std::uint64_t> g_order{0};
constexpr std::uint64_t kOrdered = std::uint64_t{1} << 63;
constexpr std::uint64_t kOrderedStart = std::uint64_t{1} << 62;
constexpr std::uint64_t kOrderedDefault = std::uint64_t{1} << 61;

// However it was made: the kernel, or the handler of a fork, has wiped the recorder.
bool begins_anew_in_child() {
  if (g_used.load(std::memory_order_acquire)) {
    return false;
  }
  if (record::g_recorder.is_first_to_prepare()) {
    g_left_alone.store(new (std::nothrow) LeftAlone{g_session.load(std::memory_order_relaxed),
                                                    g_making.load(std::memory_order_relaxed),
                                                    g_left_alone.load(std::memory_order_relaxed)},
                       std::memory_order_relaxed);
    if (auto* const making = new (std::nothrow) std::mutex; making != nullptr) {
      g_making.store(making, std::memory_order_relaxed);
    }
    g_session.store(nullptr, std::memory_order_relaxed);
    record::g_recorder.prepare();
  }
  return true;
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text.append(text.empty() ? "" : ",").append(name);
  }
  return text.empty() ? "none" : text;
}

// Without directory and ending.
std::string_view base_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.rfind(".json"));
}

}  // namespace

Session* Session::get() noexcept {
  if (record::g_recorder.is_wiped() && !begins_anew_in_child()) {
    return nullptr;
  }
  Session* session = existing();
  if (session != nullptr) {
    return session;
  }
  try {
    {
      const std::lock_guard lock(*g_making.load(std::memory_order_relaxed));
      if (session = existing(); session != nullptr) {
        return session;
      }
      session = new Session(read_environment());
      g_session.store(session, std::memory_order_release);
    }
    for (const std::string& warning : session->config_.warnings) {
      session->log_.warn(warning);
    }
    return session;
  } catch (...) {
    return nullptr;
  }
}

Session* Session::existing() noexcept {
  return record::g_recorder.is_wiped() ? nullptr : g_session.load(std::memory_order_acquire);
}

void Session::close_in_child() noexcept {
  if (Session* const session = g_session.load(std::memory_order_acquire); session != nullptr) {
    session->control_.close_in_child();
  }
}

void Session::tell_in_child() {
  static std::atomic<bool> told{false};
  if (record::g_recorder.is_wiped() && !told.exchange(true)) {
    const Config config = read_environment();
    Log(config.log)
        .warn(
            "nothing is recorded in this process: it was forked from one that had opened a "
            "communicator "
            "before, or written a dump. Fork before that, or start processes by other means "
            "(spawn)");
  }
}

Session::Session(Config config)
    : config_(std::move(config)),
      log_(config_.log),
      writer_(config_),
      dump_writer_(writer_.directory()),
      hang_watch_(config_.hang_seconds),
      hang_command_(config_.on_hang),
      started_(config_.start),
      choice_(config_.events) {
  record::g_recorder.rings().set_ring_bytes(config_.ring_bytes);
  if (const std::uint64_t order = g_order.load(std::memory_order_relaxed); order != 0) {
    started_ = (order & kOrderedStart) != 0;
    choice_ = {(order & kOrderedDefault) != 0, static_cast<std::uint32_t>(order)};
  }
}

// Before the first event, and before the drain thread. A process that opens no communicator has no
// files in shared memory.
void Session::prepare_rings() {
  std::string left_over;
  std::call_once(rings_made_, [&] {
    g_used.store(true, std::memory_order_release);
    make_ring_directory(left_over);
  });
  if (!left_over.empty()) {
    log_.info(left_over);
  }
}

void Session::make_ring_directory(std::string& left_over) {
  const std::string& parent = config_.ring_directory;
  const std::string stem(base_name(writer_.path()));
  if (!parent.empty()) {
    std::size_t bytes = 0;
    if (const std::size_t dead = RingDirectory::count_left_over(parent, bytes); dead != 0) {
      left_over = parent + " holds the rings of " + std::to_string(dead) +
                  " processes that have died (" + std::to_string(bytes >> 20) +
                  " MiB): `ringside recover " + parent + "` makes traces of them and removes them";
    }
    if (ring_directory_.create(parent, stem) &&
        ring_directory_.map_journal(
            {config_.journal_bytes, config_.ring_bytes, config_.flight_bytes})) {
      const MemoryShare& share = ring_directory_.share();
      const std::lock_guard lock(mutex_);  // who marks counts in the journal
      writer_.keep_journal(ring_directory_.journal(), share.journal_bytes);
      if (share.has_flight_recorder) {
        writer_.keep_segments_in(ring_directory_.path());
      }
      record::g_recorder.rings().set_directory(ring_directory_.descriptor(), share.ring_bytes,
                                               share.rings_bytes);
    }
  }
  if (!ring_directory_.is_open() && config_.control) {
    control_only_.create(control_parent(), stem);
  }
}

// Under the mutex. Before NCCL is up there is nothing to resolve the default by: init comes back
// here.
void Session::apply_gate(Masks masks) {
  look_at_masks();
  const auto resolve = [this](NcclFacts nccl) {
    nccl.recorded_from_start = nccl_.recorded_from_start;
    return started_ && nccl.abi_version != 0 ? resolve_events(choice_, nccl) : 0;
  };
  if (!g_used.load(std::memory_order_relaxed)) {
    g_order.store(kOrdered | (started_ ? kOrderedStart : 0) |
                      (choice_.use_default ? kOrderedDefault : 0) | choice_.types,
                  std::memory_order_relaxed);
  }
  masks_.choose(resolve, masks == Masks::kWritten);
  // Between the last finalize and the next init there is no mask.
  wanted_ = masks_.count() != 0 ? masks_.wanted() : resolve(nccl_);
  looked_ticks_ = record::g_recorder.ticks();
  set_recorded(looked_ticks_, false);
  masks_.store();
}

// Under the mutex. What NCCL is not asked for, since somebody else has changed its mask, is not
// recorded: from the last look on at which the masks held it.
void Session::look_at_masks() {
  const std::uint64_t ticks = record::g_recorder.ticks();
  const std::uint32_t before = recorded_;
  const std::vector<ActivationMasks::Change> changes = masks_.look();
  if (!changes.empty()) {
    set_recorded(looked_ticks_, true);
    if ((before & ~recorded_) != 0) {
      nccl_.recorded_from_start = false;
    }
    warn_of_masks(changes);
  }
  looked_ticks_ = ticks;
}

// Under the mutex.
void Session::warn_of_masks(const std::vector<ActivationMasks::Change>& changes) {
  constexpr int kMostTold = 20;  // somebody may change it in a loop
  const std::uint32_t missing = wanted_ & ~recorded_;
  const std::string now =
      recorded_ == 0 && missing != 0
          ? "nothing is recorded until it is as it was, or until recording is started again"
      : missing != 0 ? joined(event_names(missing)) +
                           " are not recorded until it is as it was, or until recording is started "
                           "again"
                     : "all is recorded that is asked for";
  for (const ActivationMasks::Change& change : changes) {
    if (++mask_changes_told_ > kMostTold) {
      return;
    }
    char text[160];
    std::snprintf(text, sizeof text, " (at %p) was changed by somebody else, from 0x%x to 0x%x: ",
                  static_cast<const void*>(change.mask), change.from, change.to);
    warn_later("the activation mask of NCCL " +
               (change.nccl_version != 0 ? exporting::nccl_version_text(change.nccl_version)
                                         : std::string("of unknown version")) +
               text + now);
  }
}

// Under the mutex. Standard error may be a pipe that is full: the drain thread writes to it.
void Session::warn_later(std::string line) {
  notes_.push_back([this, line = std::move(line)](TraceWriter&) { log_.warn(line); });
}

// Under the mutex. Operations that are all recorded, before and after, stay in one window.
void Session::set_recorded(std::uint64_t end_ticks, bool mask_changed) {
  std::uint32_t types = wanted_ & ~masks_.missing();
  if ((types & kOperations) == 0 && (wanted_ & kOperations) != 0) {
    types = 0;
  }
  if (types == recorded_) {
    return;
  }
  const std::uint32_t before = recorded_;
  const std::uint64_t ticks = mask_changed ? record::g_recorder.ticks() : end_ticks;
  recorded_ = types;
  if (before != 0 && types != 0 && !mask_changed && ((before ^ types) & kOperations) == 0) {
    note_window(TypesNote{ticks, types});
  } else {
    if (before != 0) {
      note_window(WindowNote{windows_, end_ticks, false, before, mask_changed});
    }
    if (types != 0) {
      note_window(WindowNote{++windows_, ticks, true, types});
    }
  }
  // What NCCL is not asked for does not come; but it gives an event's ancestors unasked.
  const std::uint32_t let_through = types != 0 ? wanted_ : 0;
  if (before != 0 && types != 0) {
    record::g_recorder.change_gate(let_through);
  } else {
    record::g_recorder.set_gate(let_through);
  }
}

void* Session::open_communicator(const record::CommunicatorInit& init) {
  prepare_rings();
  const std::uint32_t context = record::g_recorder.new_context();
  NcclFacts nccl;
  nccl.abi_version = init.abi_version;
  nccl.version = nccl_version_of(init.activation_mask);

  OpenNote opened;
  opened.nccl = nccl;
  assemble::Communicator& communicator = opened.communicator;
  communicator.context = context;
  communicator.abi_version = init.abi_version;
  if (init.has_identity) {
    communicator.has_hash = true;
    communicator.has_size = true;
    communicator.rank_known = true;
    communicator.hash = init.comm_hash;
    communicator.name = init.name != nullptr ? init.name : "";
    communicator.rank = init.rank;
    communicator.nranks = init.nranks;
    communicator.nnodes = init.nnodes;
  }
  if (const auto gpu = topology::current_gpu()) {
    communicator.gpu_index = gpu->index;
    communicator.gpu_uuid = gpu->uuid;
    communicator.gpu_pci = gpu->pci;
  }
  begin_markers(opened.communicator);

  std::vector<Line> lines;  // said without the mutex: who takes them may take long, or call us
  std::unique_lock lock(mutex_);
  nccl.recorded_from_start = nccl_.recorded_from_start && started_;
  nccl_ = nccl;
  masks_.open(context, init.activation_mask, nccl);
  if (init.has_identity && init.nranks > rank_.nranks) {
    rank_ = {init.comm_hash, init.rank, init.nranks};
  } else if (init.has_identity && init.comm_hash == rank_.hash && init.rank != rank_.rank) {
    rank_.rank = -1;
  }
  order_first_window();
  apply_gate(Masks::kKept);
  // After the window's own ticks: a communicator is recorded from its start if the first window
  // began before it was created.
  opened.ticks = record::g_recorder.ticks();
  writer_.announce(opened.communicator, nccl_, windows_, recorded_);
  note(std::move(opened));
  if (!announced_) {
    announced_ = true;
    lines = announcement();
  }
  if (!ensure_thread()) {
    lines.push_back({true, "no thread could be started to write the trace: nothing is recorded"});
    started_ = false;
    apply_gate(Masks::kWritten);
  }
  wake_.notify_one();
  lock.unlock();
  say(lines, init.logger);
  return record::g_recorder.context_handle(context);
}

std::string Session::kept_where() const {
  if (!config_.is_flight_recorder()) {
    return "trace " + writer_.path();
  }
  const std::string seconds = config_.flight_seconds != 0
                                  ? std::to_string(config_.flight_seconds) + " seconds, "
                                  : std::string();
  return "flight recorder: the last " + seconds + std::to_string(config_.flight_bytes) +
         " bytes are kept in memory and written by ringside_dump; nothing remains at exit";
}

std::string Session::rings_where() {
  const auto kib = [](std::uint64_t bytes) { return std::to_string(bytes >> 10) + " KiB"; };
  if (ring_directory_.journal() != nullptr) {
    const MemoryShare& share = ring_directory_.share();
    const bool is_less =
        share.journal_bytes < config_.journal_bytes || share.ring_bytes < config_.ring_bytes;
    return ", rings " + ring_directory_.path() + " (if the process dies: ringside recover" +
           (is_less ? "; a journal of " + kib(share.journal_bytes) + " and rings of " +
                          kib(share.ring_bytes) + ", since " +
                          std::to_string(ring_directory_.free_bytes() >> 20) + " MiB were free"
                    : std::string()) +
           ")";
  }
  const RingDirectory& control = control_directory();
  return " (rings in memory, " +
         (config_.ring_directory.empty() ? "as asked" : ring_directory_.why()) +
         ": a process that is killed loses about the last second" +
         (!config_.control    ? std::string()
          : control.is_open() ? "; control socket in " + control.path()
                              : "; no control socket, " + control.why()) +
         ")";
}

// Through NCCL's logger; where the interface has none, and warnings, through our own.
void Session::say(const std::vector<Line>& lines, record::NcclLogger logger) {
  for (const Line& line : lines) {
    if (line.is_warning) {
      log_.warn(line.text);
    } else if (logger != nullptr) {
      logger(abi::kLogInfo, abi::kLogSubsystemInit | abi::kLogSubsystemProfile, "ringside", 0,
             "PROFILER/Ringside: %s", line.text.c_str());
    } else {
      log_.info(line.text);
    }
  }
}

// Under the mutex. The one line at load, and what must be known of kernel channels.
std::vector<Session::Line> Session::announcement() {
  std::vector<Line> lines;
  const std::string nccl =
      nccl_.version != 0 ? exporting::nccl_version_text(nccl_.version) : "of unknown version";
  lines.push_back(
      {false, "Ringside " + std::string(kVersion) + ", NCCL " + nccl + ", profiler interface v" +
                  std::to_string(nccl_.abi_version) + ", events " + joined(event_names(wanted_)) +
                  (started_ ? "" : " (not started)") +
                  (config_.sampling.is_on() ? ", sampled " + config_.sample_text : std::string()) +
                  ", " + kept_where() + rings_where()});
  const bool kernels = (wanted_ & record::bit(record::EventType::kKernelCh)) != 0;
  constexpr int kFirstWithKernels = 3;
  if (nccl_.abi_version >= kFirstWithKernels && kernels_can_hurt(nccl_)) {
    if (kernels) {
      lines.push_back(
          {true,
           "kernel channels are recorded as asked, but NCCL " + nccl +
               " can hang in ncclCommDestroy with them, after grouped broadcasts (prevented by "
               "NCCL_ALLGATHERV_ENABLE=0)"});
    } else if (started_ && choice_.use_default) {
      lines.push_back(
          {false,
           "kernel channels (GPU times) are off: NCCL " + nccl +
               " can hang with them. RINGSIDE_EVENTS=default,kernel records them all the same"});
    }
  }
  return lines;
}

void Session::close_communicator(const void* handle) {
  const std::uint32_t context = record::g_recorder.context_number(handle);
  if (context == 0) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (!masks_.close(context)) {
    return;  // it has been finalized before
  }
  note(CloseNote{context, record::g_recorder.ticks()});
  apply_gate(Masks::kKept);
}

int Session::start(const char* events) {
  EventChoice choice;
  if (events != nullptr) {
    std::string unknown;
    const auto chosen = parse_events(events, unknown);
    if (!chosen) {
      return RINGSIDE_ERROR_ARGUMENT;
    }
    choice = *chosen;
  }
  const std::lock_guard lock(mutex_);
  if (!has_room_to_start(events != nullptr)) {
    return RINGSIDE_ERROR_BUSY;
  }
  plan_.forget_window();
  start_with(events != nullptr ? choice : started_ ? choice_ : config_.events);
  wake_.notify_one();
  return RINGSIDE_OK;
}

// Under the mutex.
void Session::start_with(const EventChoice& choice) {
  choice_ = choice;
  started_ = true;
  apply_gate(Masks::kWritten);
  if ((wanted_ & record::bit(record::EventType::kKernelCh)) != 0 && !nccl_.recorded_from_start &&
      !kernel_risk_told_) {
    kernel_risk_told_ = true;
    warn_later(
        "kernel channels are recorded as asked, but not since the first communicator: NCCL can "
        "hang in ncclCommDestroy if ranks have sent to themselves before (AlltoAll)");
  }
}

int Session::stop() {
  const std::lock_guard lock(mutex_);
  plan_.forget_window();
  end_window();
  return RINGSIDE_OK;
}

// Under the mutex.
std::string Session::next_dump_path() {
  const std::string& trace = writer_.path();
  return trace.substr(0, trace.size() - std::strlen(".json")) + ".dump" +
         std::to_string(++default_dumps_) + ".json";
}

// Under the mutex. NULL if there is no thread to write it.
std::shared_ptr<Dump> Session::order_dump(const std::string& path) {
  if (!ensure_thread()) {
    return nullptr;
  }
  auto dump = std::make_shared<Dump>(path.empty() ? next_dump_path() : path);
  dumps_.push_back(dump);
  wake_.notify_one();
  return dump;
}

int Session::dump(const char* path) {
  constexpr auto kPatience = std::chrono::seconds(10);
  prepare_rings();
  std::shared_ptr<Dump> dump;
  {
    const std::lock_guard lock(mutex_);
    dump = order_dump(path != nullptr ? path : "");
  }
  if (dump == nullptr) {
    return RINGSIDE_ERROR_DISABLED;
  }
  std::optional<int> error = dump->wait_for(kPatience);
  if (!error && !dump->cancel()) {
    error = dump->wait_for(kPatience);  // it is given its name, or has it
  }
  if (!error) {
    return RINGSIDE_ERROR_TIMEOUT;
  }
  errno = *error;
  return *error == 0 ? RINGSIDE_OK : *error == EEXIST ? RINGSIDE_ERROR_EXISTS : RINGSIDE_ERROR_IO;
}

void Session::status(ringside_status_info& info) {
  record::RingPool& pool = record::g_recorder.rings();
  std::uint64_t callbacks = 0;
  std::uint64_t dropped = writer_.lost();
  for (std::size_t type = 0; type < record::kAccountTypes; ++type) {
    const std::uint64_t no_ring =
        record::g_recorder.dropped_no_ring(static_cast<record::EventType>(type));
    callbacks += no_ring;
    dropped += no_ring;
    for (std::uint32_t i = 0; i < pool.count(); ++i) {
      if (record::Ring* ring = pool.ring(i); ring != nullptr) {
        callbacks += ring->counts.produced[type].load(std::memory_order_relaxed);
        dropped += ring->counts.dropped_ring_full[type].load(std::memory_order_relaxed) +
                   ring->counts.dropped_parent[type].load(std::memory_order_relaxed);
      }
    }
  }
  const std::lock_guard lock(mutex_);
  info.started = started_ ? 1 : 0;
  info.abi_version = nccl_.abi_version;
  info.nccl_version = nccl_.version;
  info.wanted_mask = static_cast<std::int32_t>(wanted_);
  info.actual_mask = masks_.actual();
  info.communicators = static_cast<std::int32_t>(masks_.open_contexts());
  info.windows = windows_;
  info.callbacks = callbacks;
  info.operations = writer_.operations();
  info.dropped = dropped;
  info.bytes_written = writer_.bytes_written();
  info.trouble = writer_.trouble() ? 1 : 0;
  const std::string path = writer_.has_file() ? writer_.path() : std::string();
  const std::size_t size = std::min(path.size(), sizeof info.trace_path - 1);
  std::memcpy(info.trace_path, path.data(), size);
  info.trace_path[size] = '\0';
  info.bytes_kept = writer_.bytes_kept();
  info.rotated = writer_.rotated();
  info.flight_recorder = config_.is_flight_recorder() ? 1 : 0;
}

}  // namespace ringside::control
