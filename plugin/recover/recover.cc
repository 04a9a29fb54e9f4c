// SPDX-License-Identifier: Apache-2.0
#include "plugin/recover/recover.h"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <functional>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/config/events.h"
#include "plugin/export/lines/chrome_trace.h"
#include "plugin/export/segment_files.h"
#include "plugin/export/trace_file.h"
#include "plugin/journal/journal_format.h"
#include "plugin/record/clock.h"
#include "plugin/recover/begun_trace.h"
#include "plugin/recover/left_over.h"
#include "plugin/recover/replay.h"

namespace ringside::recover {
namespace {

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_compressed(const std::string& name) {
  return name.ends_with(".json.gz");
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

// Where the process has written its trace. The names come from the name of the ring directory; the
// journal only says in which directory they are, where another user may have made it say anything.
class SegmentPlaces {
 public:
  SegmentPlaces(const journal::JournalImage& journal, const LeftOver& left)
      : in_rings_(left.path() + "/"),
        elsewhere_(journal.final_path.starts_with('/') ? directory_of(journal.final_path) + "/"
                                                       : in_rings_) {
    const std::string stem = base_name(left.path());
    first_name_ = stem.substr(0, stem.size() - journal::kRingsSuffix.size()) +
                  (is_compressed(journal.final_path) ? ".json.gz" : ".json");
  }

  std::string name(std::uint64_t segment) const {
    return exporting::segment_path(first_name_, segment);
  }
  /// The flight recorder's segments are in the ring directory.
  bool is_in_rings(std::uint64_t segment) const {
    return access((in_rings_ + name(segment)).c_str(), F_OK) == 0;
  }
  std::string path(std::uint64_t segment) const {
    return (is_in_rings(segment) ? in_rings_ : elsewhere_) + name(segment);
  }

 private:
  std::string in_rings_, elsewhere_, first_name_;
};

bool is_gone(const std::string& path) {
  return access(path.c_str(), F_OK) != 0 && errno == ENOENT;
}

// The checkpoint counts as written what is in files that are gone. The process may have deleted
// segments since then: these count as rotated. If the current segment is gone as well, as that of a
// flight recorder in memory, all of that has ended with the process.
void count_what_is_gone(const SegmentPlaces& places, bool is_running,
                        journal::JournalImage& journal) {
  journal::Checkpoint& known = journal.checkpoint;
  const bool is_current_gone = known.trace_bytes != 0 && is_gone(places.path(known.segment));
  std::uint64_t assemble::TypeAccount::*const fate =
      !is_current_gone ? &assemble::TypeAccount::rotated
      : is_running     ? &assemble::TypeAccount::held
                       : &assemble::TypeAccount::dropped_kill;
  journal::SegmentCounts kept{};
  journal::SegmentCounts gone{};
  std::uint64_t left = known.segment - std::min(known.segment, known.oldest_segment);
  for (const auto& [segment, counts] : journal.segment_counts) {
    if (segment >= known.oldest_segment && segment < known.segment) {
      journal::SegmentCounts& sum = is_gone(places.path(segment)) ? gone : kept;
      for (std::size_t type = 0; type < record::kAccountTypes; ++type) {
        sum.written[type] += counts.written[type];
        sum.merged[type] += counts.merged[type];
      }
      --left;
    }
  }
  // The current segment has the rest, if all others are known.
  const bool takes_rest = is_current_gone && left == 0;
  for (std::size_t type = 0; type < record::kAccountTypes; ++type) {
    assemble::TypeAccount& of = known.by_type[type];
    const auto move = [&](std::uint64_t& from, std::uint64_t of_kept, std::uint64_t of_gone) {
      const std::uint64_t moved =
          takes_rest ? from - std::min(from, of_kept) : std::min(from, of_gone);
      from -= moved;
      of.*fate += moved;
    };
    move(of.written, kept.written[type], gone.written[type]);
    move(of.merged, kept.merged[type], gone.merged[type]);
  }
}

// With this the files of the trace begin, but not its dumps: the run's number is in it.
std::string begin_of_files(const journal::JournalImage& journal) {
  return journal.first_line.substr(0, journal.first_line.find("\"segment\":"));
}

// The first line for a segment whose file is not there any more.
std::string first_line_of(std::uint64_t segment, const journal::JournalImage& journal) {
  constexpr std::string_view kFirst = "\"segment\":1,";
  std::string line = journal.first_line;
  if (const std::size_t at = line.find(kFirst); at != std::string::npos) {
    line.replace(at, kFirst.size(), "\"segment\":" + std::to_string(segment) + ",");
  }
  return line;
}

// The segment after the checkpoint's was made just before the process died. No checkpoint includes
// its lines, so their records are all in the log.
void remove_unfinished_segment(const LeftOver& left, const SegmentPlaces& places,
                               const journal::JournalImage& journal) {
  const std::uint64_t next = journal.checkpoint.segment + 1;
  const std::string path = places.path(next);
  struct stat about {};
  const bool is_empty = lstat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
                        about.st_size == 0 && about.st_uid == left.owner();
  if (is_empty || BegunTrace(path, begin_of_files(journal), left.owner()).is_there()) {
    unlink(path.c_str());
  }
}

// Returns the name of the recovered file for a segment.
std::string name_of(std::uint64_t segment, const SegmentPlaces& places, const Options& options) {
  std::string name = places.name(segment);
  if (options.also_running) {
    name.insert(name.rfind(".json"), ".recovered");
  }
  return name;
}

// Returns the directory for the trace, with a slash; empty for the current directory.
std::string directory_for(const journal::JournalImage& journal, const LeftOver& left,
                          const Options& options, Outcome& outcome) {
  if (!options.output_directory.empty()) {
    return options.output_directory + "/";
  }
  const std::string directory = directory_of(journal.final_path);
  if (left.is_own() && directory.starts_with('/') &&
      exporting::make_directories(directory).is_ok() && access(directory.c_str(), W_OK) == 0) {
    return directory + "/";
  }
  outcome.notes.push_back("the trace's directory " + directory +
                          " cannot be written: the trace is made here");
  return {};
}

// The lines of windows that the process had not written. It wrote a window's line before the
// checkpoint that came next, or wrote nothing at all.
void tell_windows(const journal::JournalImage& journal, bool wrote_nothing,
                  exporting::ChromeTrace& trace) {
  for (const auto& [number, window] : journal.windows) {
    if (wrote_nothing || window.start_ns > journal.checkpoint.clock_ns[1]) {
      trace.window({.number = number,
                    .start_ns = window.start_ns,
                    .events = config::event_names(window.types)});
    }
  }
}

Result write_trace(const journal::JournalImage& journal,
                   const std::vector<journal::RingImage>& rings, const BegunTrace& begun,
                   exporting::TraceFile& file, Outcome& outcome) {
  exporting::ChromeTrace trace(file);
  trace.resume(static_cast<int>(journal.pid), journal.run_id);
  const std::uint64_t written = journal.checkpoint.trace_bytes;
  std::uint64_t copied = 0;
  if (begun.is_there()) {
    if (Result read = begun.copy_to(file, written, copied); !read.is_ok()) {
      return read;
    }
  }
  if (copied == 0) {
    file.add(first_line_of(journal.checkpoint.segment, journal), {});
  }
  const bool lacks_lines = copied < written;
  if (lacks_lines) {
    outcome.notes.push_back(
        begun.is_there()
            ? "the trace file is " + std::to_string(written - copied) +
                  " bytes shorter than the process had written: operations are missing from it"
            : "the trace that the process had written is not there: only what it had not written "
              "is recovered");
  }
  tell_windows(journal, journal.checkpoint.segment <= 1 && copied == 0, trace);
  const Replayed replayed = replay(journal, rings, trace);
  if (Result written_whole = file.flush_whole(); !written_whole.is_ok()) {
    return written_whole;
  }
  outcome.operations_before = journal.checkpoint.operations;
  outcome.operations = replayed.operations;
  outcome.in_flight = replayed.in_flight;
  outcome.records = replayed.records;
  trace.mark_process(replayed.death_ns, outcome.is_running ? "ringside recover: the process lives"
                                                           : "the process died (ringside recover)");
  const assemble::Account account = account_of(journal, rings, file.counts(), replayed, outcome);
  trace.account(account, replayed.death_ns, !outcome.is_running);
  exporting::TraceEnd end{.recovered = true};
  if (!lacks_lines) {
    end.count_lost(account);
  }
  if (outcome.is_running) {
    end.silent_ns =
        std::max<std::int64_t>(journal.ns(journal.read_at_ticks) - replayed.death_ns, 0);
  }
  trace.end(replayed.death_ns, outcome.operations_before + outcome.operations, end);
  return {};
}

// Writes a file under a temporary name, stores it (fsync), and gives it its name. An existing file
// is replaced only with `replaces`, as for the trace itself.
Result make_file(const std::string& target, bool replaces,
                 const std::function<Result(exporting::TraceFile&)>& write) {
  const std::string temporary = target + ".recovering";
  unlink(temporary.c_str());  // left by a killed recovery: we have the lock
  exporting::TraceFile file;
  Result made = file.create(temporary);
  if (is_compressed(target)) {
    file.compress();
  }
  made = std::move(made).then([&] { return write(file); }).then([&] { return file.store(); });
  if (!made.is_ok()) {
    unlink(temporary.c_str());
    return made.about(temporary);
  }
  const Result moved =
      Result::of_call((replaces ? rename : link)(temporary.c_str(), target.c_str()) == 0);
  if (!replaces || !moved.is_ok()) {
    unlink(temporary.c_str());
  }
  return moved.is_ok() ? moved : moved.about(target);
}

// Only in the place of the unfinished trace, or of what an earlier recovery has made of it, may
// there be a file already. Of another user's process no file is known to be that.
bool may_replace(const LeftOver& left, const std::string& target, const std::string& begin) {
  return left.is_own() && BegunTrace(target, begin, geteuid()).is_there();
}

Result make_trace(const journal::JournalImage& journal,
                  const std::vector<journal::RingImage>& rings, const LeftOver& left,
                  const std::string& recorded, const std::string& target, Outcome& outcome) {
  const std::string begin = begin_of_files(journal);
  const BegunTrace begun(recorded, begin, left.owner());
  const bool replaces = outcome.is_running ? begun.is_there() && target == recorded
                                           : may_replace(left, target, begin);
  return make_file(target, replaces, [&](exporting::TraceFile& file) {
    return write_trace(journal, rings, begun, file, outcome);
  });
}

// A copy that an earlier, failed recovery has made is kept.
Result copy_segment(const BegunTrace& segment, const std::string& begin,
                    const std::string& target) {
  const BegunTrace made(target, begin, geteuid());
  if (made.is_there() && made.bytes() == segment.bytes()) {
    return {};
  }
  return make_file(target, false, [&](exporting::TraceFile& file) {
    std::uint64_t copied = 0;
    return segment.copy_to(file, segment.bytes(), copied);
  });
}

Result copy_segments(const journal::JournalImage& journal, const LeftOver& left,
                     const SegmentPlaces& places, const Options& options,
                     const std::string& directory) {
  const std::string begin = begin_of_files(journal);
  for (std::uint64_t segment = journal.checkpoint.segment - 1;
       segment > 0 && places.is_in_rings(segment); --segment) {
    const BegunTrace begun(places.path(segment), begin, left.owner());
    if (!begun.is_there()) {
      continue;  // it is of another run or user
    }
    Result copied = copy_segment(begun, begin, directory + name_of(segment, places, options));
    if (!copied.is_ok()) {
      return copied;
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> find_directories(const std::string& path) {
  std::string plain = path;
  while (plain.size() > 1 && plain.ends_with('/')) {
    plain.pop_back();
  }
  std::vector<std::string> found;
  if (plain.ends_with(journal::kRingsSuffix)) {
    found.push_back(plain);
    return found;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir(plain.c_str()), closedir);
  while (const dirent* entry = all != nullptr ? readdir(all.get()) : nullptr) {
    const std::string_view name(entry->d_name);
    if (name.starts_with("ringside.") && name.ends_with(journal::kRingsSuffix)) {
      found.push_back(plain + "/" + std::string(name));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<std::string> final_path(const std::string& directory) {
  LeftOver left(directory);
  journal::JournalImage journal;
  std::vector<journal::RingImage> rings;
  std::vector<std::string> notes;
  const bool is_read = left.open().is_ok() && !left.is_in_use() &&
                       (left.is_remains() || left.read(journal, rings, notes).is_ok());
  const bool is_known = is_read && (left.is_own() || !journal.final_path.empty());
  return is_known ? std::optional(journal.final_path) : std::nullopt;
}

Outcome recover(const std::string& directory, const Options& options) {
  Outcome outcome;
  LeftOver left(directory);
  if (outcome.result = left.open(); !outcome.result.is_ok()) {
    return outcome;
  }
  outcome.is_running = left.is_in_use();
  if (left.is_in_use() && !options.also_running) {
    outcome.result = {EBUSY, "its process is running (--running takes it all the same)"};
    return outcome;
  }
  if (!left.is_own() && options.output_directory.empty()) {
    outcome.result = {EPERM, "it is another user's: --output DIR says where the trace is to go"};
    return outcome;
  }
  bool keep = options.keep || left.is_in_use() || !left.is_own();
  if (left.is_remains()) {
    outcome.notes.emplace_back(
        "these are remains of what was recovered, or of a process that ended");
    outcome.removed = !keep && left.remove().is_ok();
    return outcome;
  }
  journal::JournalImage journal;
  std::vector<journal::RingImage> rings;
  journal.read_at_ticks = record::read_ticks(record::find_clock_source());
  if (outcome.result = left.read(journal, rings, outcome.notes); !outcome.result.is_ok()) {
    return outcome;
  }
  outcome.pid = journal.pid;
  outcome.unread_rings = left.unread_rings();
  keep = keep || outcome.unread_rings != 0;
  if (journal.entries_lost != 0) {
    outcome.notes.push_back(std::to_string(journal.entries_lost) +
                            " records had no room in the journal (RINGSIDE_JOURNAL_BYTES): what "
                            "the process had not written of their operations is lost");
  }
  if (journal.notes_lost != 0) {
    outcome.notes.push_back(std::to_string(journal.notes_lost) +
                            " communicators had no room in the journal "
                            "(RINGSIDE_JOURNAL_BYTES)");
  }
  std::uint64_t bad = journal.bad_entries;
  std::size_t only_heads = 0;
  for (const journal::RingImage& ring : rings) {
    bad += ring.bad_records;
    only_heads += ring.is_only_head ? 1 : 0;
  }
  if (only_heads != 0) {
    outcome.notes.push_back(std::to_string(only_heads) +
                            " rings had no room for their records (RINGSIDE_RING_DIR): what the "
                            "process had not written of them is lost, and counted");
  }
  if (bad != 0) {
    outcome.notes.push_back(std::to_string(bad) + " records are damaged and are left out");
  }
  if (journal.first_line.empty() && journal.notes_lost != 0) {
    outcome.result = {EBADMSG, "the first line of its trace had no room in the journal"};
    return outcome;
  }
  if (journal.first_line.empty()) {
    // NCCL was not used in this process.
    outcome.removed = !keep && left.remove().is_ok();
    return outcome;
  }
  // Before the first checkpoint there is one segment, and no file has lines of it.
  if (journal.sequence == 0) {
    journal.checkpoint.segment = 1;
  }
  const SegmentPlaces places(journal, left);
  count_what_is_gone(places, outcome.is_running, journal);
  const std::uint64_t segment = journal.checkpoint.segment;
  const std::string into = directory_for(journal, left, options, outcome);
  outcome.trace = into + name_of(segment, places, options);
  outcome.result = copy_segments(journal, left, places, options, into);
  if (outcome.result.is_ok()) {
    outcome.result = make_trace(journal, rings, left, places.path(segment), outcome.trace, outcome);
  }
  if (outcome.result.is_ok() && !keep) {
    remove_unfinished_segment(left, places, journal);
    const Result removed = left.remove();
    outcome.removed = removed.is_ok();
    if (!outcome.removed) {
      outcome.notes.push_back(directory + " cannot be removed: " + removed.text());
    }
  }
  return outcome;
}

}  // namespace ringside::recover
