// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/session.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <optional>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "plugin/nvtx/markers.h"
#include "plugin/posix/descriptors.h"
#include "plugin/record/recorder.h"
#include "plugin/result/result.h"
#include "plugin/session/announcement.h"
#include "plugin/topology/gpu_identity.h"

namespace ringside::session {
namespace {

using threads::MutexLock;

// Returns the version of the NCCL in which `inside` lies (the activation mask is a variable of
// NCCL's), as ncclGetVersion gives it, e.g. 22907; 0 if it cannot be found. Several NCCLs can be in
// one process. The one that called may be invisible to a plain lookup (Python loads libraries
// RTLD_LOCAL), or linked into the program or another library.
int nccl_version_of(const void* inside) noexcept {
  using GetVersion = int (*)(int* version);
  Dl_info where{};
  void* const library =
      inside != nullptr && dladdr(inside, &where) != 0 && where.dli_fname != nullptr
          ? dlopen(where.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)
          : nullptr;
  void* found = library != nullptr ? dlsym(library, "ncclGetVersion") : nullptr;
  if (found == nullptr) {
    found = dlsym(RTLD_DEFAULT, "ncclGetVersion");
  }
  int version = 0;
  if (found != nullptr && reinterpret_cast<GetVersion>(found)(&version) != 0) {
    version = 0;
  }
  if (library != nullptr) {
    dlclose(library);
  }
  return version;
}

// Without directory and ending.
std::string_view base_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.rfind(".json"));
}

// Each operation's line repeats the communicator's name, which may have any length.
constexpr std::size_t kMostName_bytes = 256;

void set_name(const char* name, assemble::Communicator& communicator) {
  std::size_t bytes = strnlen(name, kMostName_bytes + 1);
  communicator.name_is_cut = bytes > kMostName_bytes;
  if (communicator.name_is_cut) {
    // Not within a character of UTF-8, whose second to fourth bytes are 10xxxxxx.
    const auto is_within = [&] { return (name[bytes] & 0xC0) == 0x80; };
    for (bytes = kMostName_bytes; is_within() && bytes > kMostName_bytes - 3;) {
      --bytes;
    }
  }
  communicator.name.assign(name, bytes);
}

assemble::Communicator describe(const record::CommunicatorInit& init, std::uint32_t context) {
  assemble::Communicator communicator;
  communicator.context = context;
  communicator.abi_version = init.abi_version;
  if (init.has_identity) {
    communicator.has_hash = true;
    communicator.has_size = true;
    communicator.rank_known = true;
    communicator.hash = init.comm_hash;
    set_name(init.name != nullptr ? init.name : "", communicator);
    communicator.rank = init.rank;
    communicator.nranks = init.nranks;
    communicator.nnodes = init.nnodes;
  }
  if (const auto gpu = topology::current_gpu()) {
    communicator.gpu_index = gpu->index;
    communicator.gpu_uuid = gpu->uuid;
    communicator.gpu_pci = gpu->pci;
  }
  return communicator;
}

}  // namespace

Session::Session(const config::Config& config, posix::Log& log, drain::TraceWriter& writer,
                 std::function<bool()> start_thread)
    : config_(config),
      log_(log),
      writer_(writer),
      start_thread_(std::move(start_thread)),
      notes_(log),
      recording_(config, notes_),
      is_started_(recording_.started()) {
  record::g_recorder.rings().set_ring_bytes(config_.ring_bytes);
}

// Before the first event, and before the drain thread. A process that opens no communicator has no
// files in shared memory.
void Session::prepare_rings() {
  std::string left_over;
  if (const std::lock_guard lock(making_rings_); !std::exchange(rings_made_, true)) {
    g_is_used.store(true, std::memory_order_release);
    posix::take_standard_numbers();  // what libraries open for us has none of them either
    left_over = directory_.make(config_, std::string(base_name(writer_.path())));
    if (directory_.journal() != nullptr) {
      const MemoryShare& share = directory_.share();
      writer_.keep_journal(directory_.journal(), share.journal_bytes);
      if (share.has_flight_recorder) {
        writer_.keep_segments_in(directory_.path());
      }
      record::g_recorder.rings().set_directory(directory_.path().c_str(), share.ring_bytes,
                                               share.rings_bytes);
    }
    record::g_recorder.rings().keep_rings();
  }
  if (!left_over.empty()) {
    log_.info(left_over);
  }
}

void* Session::open_communicator(const record::CommunicatorInit& init) {
  prepare_rings();
  const std::uint32_t context = record::g_recorder.new_context();
  drain::OpenNote opened;
  opened.nccl.abi_version = init.abi_version;
  opened.nccl.version = nccl_version_of(init.activation_mask);
  opened.communicator = describe(init, context);
  add_markers(opened.communicator);

  std::vector<Line> lines;
  {
    const MutexLock lock(mutex_);
    if (init.has_identity && init.nranks > rank_.nranks) {
      rank_ = {init.comm_hash, init.rank, init.nranks};
    } else if (init.has_identity && init.comm_hash == rank_.hash && init.rank != rank_.rank) {
      rank_.rank = -1;
    }
    recording_.open(context, init.activation_mask, opened.nccl);
    // After the window's own ticks: a communicator is recorded from its start if the first window
    // began before it was created.
    opened.ticks = record::g_recorder.ticks();
    writer_.announce(opened.communicator, recording_.nccl(), recording_.windows(),
                     recording_.recorded());
    notes_.tell(std::move(opened));
    if (!is_announced_) {
      is_announced_ = true;
      lines = announcement(config_, recording_, directory_, writer_.path());
    }
    if (!ensure_thread()) {
      lines.push_back({true, "no thread could be started to write the trace: nothing is recorded"});
      recording_.give_up();
    }
    wake_.notify_one();
  }
  say(lines, init.logger, log_);
  return record::g_recorder.context_handle(context);
}

// A thread that inits a communicator meanwhile waits, so that none of its events is missed.
void Session::add_markers(const assemble::Communicator& communicator) {
  if (config_.markers == nvtx::Scope::kOff) {
    return;
  }
  if (const std::lock_guard lock(making_markers_); !std::exchange(markers_made_, true)) {
    const std::string_view lacks =
        nvtx::install(config_.markers, config_.gpu_serial,
                      config_.vm_id.empty() ? writer_.facts().host : config_.vm_id);
    if (!lacks.empty() && !config_.markers_text.empty()) {  // somebody has asked
      log_.warn("RINGSIDE_MARKERS=" + config_.markers_text + ": " + std::string(lacks) +
                ", so there are no ranges");
    }
  }
  nvtx::add_communicator(communicator);
}

void Session::close_communicator(const void* context) {
  if (const std::uint32_t number = record::g_recorder.context_number(context); number != 0) {
    const MutexLock lock(mutex_);
    recording_.close(number);
  }
}

int Session::start(const char* events) {
  std::optional<config::EventChoice> choice;
  if (events != nullptr) {
    std::string unknown;
    choice = config::parse_events(events, unknown);
    if (!choice) {
      return RINGSIDE_ERROR_ARGUMENT;
    }
  }
  const MutexLock lock(mutex_);
  if (!recording_.has_room_to_start(choice.has_value())) {
    return RINGSIDE_ERROR_BUSY;
  }
  recording_.start(choice);
  wake_.notify_one();
  return RINGSIDE_OK;
}

int Session::stop() {
  const MutexLock lock(mutex_);
  recording_.stop();
  return RINGSIDE_OK;
}

int Session::dump(const char* path) {
  constexpr auto kDumpPatience = std::chrono::seconds(10);
  prepare_rings();
  const std::shared_ptr<drain::Dump> dump = order_dump(path != nullptr ? path : "");
  if (dump == nullptr) {
    return RINGSIDE_ERROR_DISABLED;
  }
  std::optional<Result> result = dump->wait_for(kDumpPatience);
  if (!result && !dump->cancel()) {
    result = dump->wait_for(kDumpPatience);  // it is given its name, or has it
  }
  if (!result) {
    return RINGSIDE_ERROR_TIMEOUT;
  }
  errno = result->error();  // as ringside.h promises
  return result->is_ok()             ? RINGSIDE_OK
         : result->error() == EEXIST ? RINGSIDE_ERROR_EXISTS
                                     : RINGSIDE_ERROR_IO;
}

Status Session::status() {
  Status status;
  ringside_status_info& info = status.info;
  info.struct_size = sizeof info;
  const drain::TraceFigures& figures = writer_.figures();
  const assemble::TypeAccount of_threads = drain::TraceAccount::of_threads();
  info.callbacks = of_threads.produced;
  info.dropped = figures.lost + of_threads.dropped();
  info.operations = figures.operations;
  info.bytes_written = figures.bytes_written;
  info.trouble = figures.trouble ? 1 : 0;
  const std::string path = figures.has_file ? writer_.path() : std::string();
  std::memcpy(info.trace_path, path.data(), std::min(path.size(), sizeof info.trace_path - 1));
  info.bytes_kept = figures.bytes_kept;
  info.rotated = figures.rotated;
  info.flight_recorder = config_.is_flight_recorder() ? 1 : 0;
  const MutexLock lock(mutex_);
  info.started = recording_.is_started() ? 1 : 0;
  info.abi_version = recording_.nccl().abi_version;
  info.nccl_version = recording_.nccl().version;
  info.wanted_mask = static_cast<std::int32_t>(recording_.wanted());
  info.actual_mask = recording_.masks().actual();
  info.communicators = static_cast<std::int32_t>(recording_.masks().open_contexts());
  info.windows = recording_.windows();
  status.state = recording_.state();
  status.mask_changed = recording_.masks().missing() != 0;
  const int launcher_rank = writer_.facts().launcher_rank;
  status.rank = launcher_rank >= 0 ? launcher_rank : rank_.rank;
  status.plan = recording_.plan();
  status.now = recording_.plan_time();
  return status;
}

bool Session::order_start(const PlannedStart& start) {
  const MutexLock lock(mutex_);
  if (!recording_.has_room_to_start(start.events.has_value())) {
    return false;
  }
  recording_.order_start(start);
  wake_.notify_one();
  return true;
}

bool Session::has_start_at_once() {
  const MutexLock lock(mutex_);
  const auto& start = recording_.plan().start();
  return start && start->at_realtime_ns == 0;
}

void Session::order_stop(std::int64_t at_realtime_ns) {
  const MutexLock lock(mutex_);
  recording_.order_stop(at_realtime_ns);
  wake_.notify_one();
}

std::shared_ptr<drain::Dump> Session::order_dump(const std::string& path) {
  const MutexLock lock(mutex_);
  if (!ensure_thread()) {
    return nullptr;
  }
  auto dump = std::make_shared<drain::Dump>(path.empty() ? next_dump_path() : path);
  if (dumps_.size() == kMostOrders) {
    dump->finish({EBUSY, "too many dumps wait to be written"});
    return dump;
  }
  dumps_.push_back(dump);
  wake_.notify_one();
  return dump;
}

bool Session::tell_drain_thread(Note note) {
  const MutexLock lock(mutex_);
  if (orders_ == kMostOrders) {
    return false;
  }
  ++orders_;
  notes_.add(std::move(note));
  wake_.notify_one();
  return true;
}

bool Session::ensure_thread() {
  if (!thread_is_running_ && !thread_has_ended_) {
    thread_is_running_ = start_thread_();
  }
  return thread_is_running_;
}

bool Session::wait_for_work(std::chrono::milliseconds wait, std::chrono::milliseconds idle_wait) {
  MutexLock lock(mutex_);
  std::chrono::nanoseconds left = recording_.recorded() == 0 ? idle_wait : wait;
  if (const auto planned_ns = recording_.plan().wait_ns(recording_.plan_time())) {
    left = std::min<std::chrono::nanoseconds>(
        left, std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(*planned_ns)));
  }
  const auto until = std::chrono::steady_clock::now() + left;
  while (thread_is_wanted_ && dumps_.empty() && notes_.is_empty() && !recording_.has_new_plan() &&
         lock.wait_until(wake_, until)) {
  }
  return thread_is_wanted_;
}

void Session::look_at_masks() {
  const MutexLock lock(mutex_);
  recording_.look_at_masks();
}

std::size_t Session::take_notes(std::vector<Note>& notes) {
  const MutexLock lock(mutex_);
  orders_ = 0;
  return notes_.take(notes);
}

void Session::notes_applied(std::size_t windows) {
  const MutexLock lock(mutex_);
  notes_.windows_applied(windows);
}

void Session::carry_out_plan() {
  const std::uint64_t begun = writer_.begun();
  const MutexLock lock(mutex_);
  recording_.carry_out_plan(begun);
}

std::size_t Session::due_dumps() {
  const MutexLock lock(mutex_);
  return dumps_.size();
}

std::shared_ptr<drain::Dump> Session::take_dump() {
  const MutexLock lock(mutex_);
  std::shared_ptr<drain::Dump> dump = std::move(dumps_.front());
  dumps_.pop_front();
  return dump;
}

std::string Session::next_dump_path() {
  const std::string& trace = writer_.path();
  return trace.substr(0, trace.rfind(".json")) + ".dump" + std::to_string(++default_dumps_) +
         ".json";
}

void Session::thread_ends() noexcept {
  const MutexLock lock(mutex_);
  thread_is_running_ = false;
  thread_has_ended_ = true;
  ended_.notify_all();
}

void Session::end_recording() noexcept {
  record::g_recorder.set_gate(0);
  record::g_recorder.set_range_hooks(nullptr);  // the tool may be ending, too
}

bool Session::end_thread(threads::Clock::time_point until) noexcept {
  MutexLock lock(mutex_, until);
  if (!lock.is_held()) {
    return false;
  }
  thread_is_wanted_ = false;
  wake_.notify_one();
  while (thread_is_running_ && lock.wait_until(ended_, until)) {
  }
  return !thread_is_running_;
}

}  // namespace ringside::session
