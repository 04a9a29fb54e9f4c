// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/inputs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <simdjson.h>
#include <system_error>
#include <utility>

#include "analyzer/load/dump/flight_recorder.h"
#include "analyzer/load/durations.h"
#include "analyzer/load/foreign_file.h"
#include "analyzer/load/imports/ras.h"
#include "analyzer/load/json/dom_value.h"
#include "analyzer/load/kineto/kineto.h"
#include "analyzer/load/other_processes.h"
#include "analyzer/load/partial/partial_sections.h"
#include "analyzer/load/source/byte_source.h"
#include "analyzer/load/source/line_reader.h"
#include "analyzer/model/joined.h"
#include "ringside/trace_schema.h"

namespace ringside::load {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNamed = 3;  // of a list

// Cheap: the full check of the first line is the loader's.
bool begins_as_trace(const fs::path& path) {
  const std::string begin = first_bytes(path.string());
  return begin.starts_with('[') && begin.find(schema::kLineTrace) != std::string::npos;
}

bool begins_as_partial(const fs::path& path) {
  return first_bytes(path.string()).starts_with(kPartialMagic);
}

// One that is named after a rank.
bool is_dump(const fs::path& path, const DumpChoice& dumps) {
  return (dumps.takes_dumps || dumps.joins_traces) && rank_of_dump(path.string(), dumps.prefix) &&
         is_flight_recorder_dump(path.string());
}

// As Inspector names its files, HOST-pidPID.log (or .jsonl), and NVIDIA's example profiler:
// NAME_HASH_RANK.json, and .txt before NCCL 2.27.
bool is_durations(const fs::path& path) {
  std::string name = path.filename().string();
  if (name.ends_with(".gz")) {
    name.resize(name.size() - 3);
  }
  std::error_code error;
  return (name.ends_with(".log") || name.ends_with(".jsonl") || name.ends_with(".json") ||
          name.ends_with(".txt")) &&
         fs::is_regular_file(path, error) && begins_as_durations(first_bytes(path.string()));
}

bool is_named_as_trace(const std::string& name) {
  return name.ends_with(".json") || name.ends_with(".json.gz");
}

// Both are there if somebody has compressed a file and kept it.
void leave_out_compressed_twins(Inputs& inputs) {
  constexpr std::string_view kEnding = ".gz";
  const std::vector<std::string> all = inputs.paths;
  std::erase_if(inputs.paths, [&](const std::string& path) {
    const std::string twin = path.substr(0, path.rfind(kEnding));
    const bool is_twin =
        path.ends_with(kEnding) && std::binary_search(all.begin(), all.end(), twin);
    if (is_twin) {
      inputs.notes.push_back(path + ": the same as " + twin + ", compressed; left out");
    }
    return is_twin;
  });
}

bool has_dumps(const fs::path& directory) {
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (is_dump(entry->path(), {.takes_dumps = true, .prefix = {}})) {
      return true;
    }
  }
  return false;
}

// The directories in this one that have traces, as `ringside demo` and runs below one directory
// leave them.
std::set<std::string> traces_below(const fs::path& directory) {
  std::set<std::string> found;
  std::error_code error;
  for (const auto& below : fs::directory_iterator(directory, error)) {
    for (const auto& file : fs::directory_iterator(below.path(), error)) {
      const std::string name = file.path().filename().string();
      if (name.starts_with("ringside.") || name.find(".pt.trace.json") != name.npos) {
        found.insert(below.path().string());
      }
    }
  }
  return found;
}

std::string nothing_there(const fs::path& directory, const DumpChoice& dumps) {
  if (!dumps.takes_others && !has_dumps(directory)) {
    return "no dump of PyTorch's Flight Recorder in this directory; their names end with the rank, "
           "as nccl_trace_rank_7, and TORCH_FR_DUMP_TEMP_FILE says where PyTorch writes them";
  }
  if (!has_dumps(directory)) {
    const std::set<std::string> below = traces_below(directory);
    return std::string("no Ringside traces (*.json, *.json.gz)") +
           (dumps.takes_dumps ? ", and no dumps of PyTorch's Flight Recorder (nccl_trace_rank_7),"
                              : "") +
           " in this directory; " +
           (below.empty() ? "set RINGSIDE_DIR to it when running the job, or name the directory of "
                            "the traces"
                          : "name " + model::joined(below, kNamed) +
                                (below.size() == 1 ? ", which has some" : ", which have some"));
  }
  return dumps.takes_dumps
             ? std::string(dumps.takes_others ? "no Ringside traces in this directory, and of"
                                              : "of") +
                   " the dumps of PyTorch's Flight Recorder there is none whose name is that of "
                   "--prefix and a rank"
             : "no Ringside traces in this directory, but dumps of PyTorch's Flight Recorder, " +
                   std::string(kDumpsRefused);
}

// A dump's name before the rank, with the directory.
std::string before_rank(const std::string& path) {
  std::string name = path;
  for (const std::string_view ending : {".gz", ".json", ".pickle", ".pkl"}) {
    if (name.ends_with(ending)) {
      name.resize(name.size() - ending.size());
    }
  }
  name.resize(name.find_last_not_of("0123456789") + 1);
  return name;
}

std::string why_not_read(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return fs::is_symlink(fs::symlink_status(path, error)) ? "it is a symbolic link to nothing"
                                                           : "it is there no more";
  }
  if (!fs::is_regular_file(status)) {
    return fs::is_fifo(status) ? "it is a pipe, which is not read" : "it is no regular file";
  }
  const auto size = fs::file_size(path, error);
  return error       ? error.message()
         : size == 0 ? "it is empty"
         : size == 1 ? "it has 1 byte"
                     : "its first bytes are not those of a dump";
}

// Files that are named as dumps and are none were cut off, or never written: the rank is lost, not
// absent. Takes them from `paths`.
void tell_broken_dumps(const std::vector<std::string>& dumps, std::vector<std::string>& paths,
                       model::Problems& problems) {
  std::set<std::string> names;
  for (const std::string& dump : dumps) {
    names.insert(before_rank(dump));
  }
  std::sort(paths.begin(), paths.end());
  std::erase_if(paths, [&](const std::string& path) {
    if (!rank_of_dump(path, {}) || !names.contains(before_rank(path))) {
      return false;
    }
    problems.add_file(path,
                      "no dump of PyTorch's Flight Recorder, although it is named as the others: " +
                          why_not_read(path));
    return true;
  });
}

void add_other(const fs::path& path, std::vector<std::string>& others) {
  std::error_code error;
  others.push_back(path.filename().string() +
                   (fs::file_size(path, error) == 0 && !error ? " (empty)" : ""));
}

// A file beside dumps that is none itself may be one that was cut to nothing, or was renamed.
void note_others(const fs::path& directory, std::vector<std::string> others, Inputs& inputs) {
  if (others.empty()) {
    return;
  }
  std::sort(others.begin(), others.end());
  inputs.notes.push_back(directory.string() +
                         ": left out, since they are no dumps: " + model::joined(others, kNamed));
}

// A pipe with a name may have nobody who writes, and would be waited for. So a command that reads
// dumps opens none, nor does one that joins them with traces if it is named as a dump. The pipes of
// /dev/stdin and /dev/fd/63 may be traces that another program decompresses.
bool is_left_alone(const std::string& path, const fs::file_status& status,
                   const DumpChoice& dumps) {
  return fs::is_fifo(status) && !path.starts_with("/dev/") && !path.starts_with("/proc/") &&
         (dumps.takes_dumps || (dumps.joins_traces && rank_of_dump(path, dumps.prefix)));
}

// `lone_dumps`: those of a directory without traces, by its path, for a command that needs some.
void add_directory(const fs::path& directory, const DumpChoice& dump_choice, Inputs& inputs,
                   std::map<std::string, std::vector<std::string>>& lone_dumps,
                   model::Problems& problems) {
  std::error_code error;
  std::size_t traces = 0;
  std::vector<std::string> partials;
  std::vector<std::string> dumps;
  std::vector<std::string> durations;
  std::vector<std::string> profiles;
  std::vector<std::string> unread;  // regular files
  std::vector<std::string> others_than_files;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    std::error_code ignored;
    const bool is_file = entry->is_regular_file(ignored);
    if (is_file && begins_as_ras(first_bytes(path.string()))) {
      continue;  // `ringside hang` shows it beside its verdict
    }
    if (is_dump(path, dump_choice)) {
      dumps.push_back(path.string());
      continue;
    }
    if (dump_choice.takes_dumps && dump_choice.prefix.empty() && !rank_of_dump(path.string(), {}) &&
        is_flight_recorder_dump(path.string())) {
      inputs.notes.push_back(path.string() + ": its name does not end with a rank, left out");
      continue;
    }
    if (!is_file) {  // a pipe is not opened: it could wait for ever
      if (!entry->is_directory(ignored)) {
        others_than_files.push_back(path.string());
      }
      continue;
    }
    if (!dump_choice.takes_others) {
      unread.push_back(path.string());
      continue;
    }
    if (path.extension() == ".part" && begins_as_partial(path)) {
      partials.push_back(path.string());
      continue;
    }
    if (is_durations(path)) {
      durations.push_back(path.string());
      continue;
    }
    if (is_named_as_trace(path.filename().string()) &&
        (path.filename().string().starts_with("ringside.") || begins_as_trace(path))) {
      inputs.paths.push_back(path.string());
      ++traces;
    } else if (dump_choice.takes_profiles && is_named_as_trace(path.filename().string()) &&
               begins_as_kineto(first_bytes(path.string(), kKinetoBegin_bytes))) {
      profiles.push_back(path.string());
    } else {
      unread.push_back(path.string());
    }
  }
  if (dump_choice.takes_dumps) {
    tell_broken_dumps(dumps, unread, problems);
    tell_broken_dumps(dumps, others_than_files, problems);
  }
  if (traces + partials.size() > 0) {
    unread.insert(unread.end(), profiles.begin(), profiles.end());
    profiles.clear();
  } else if (dump_choice.takes_dumps && !dumps.empty()) {
    for (const std::string& path : std::exchange(profiles, {})) {
      inputs.notes.push_back(
          path + ": a trace of PyTorch's profiler next to dumps, left out; name it to use it");
    }
  }
  for (const std::string& path : others_than_files) {
    const std::string name = fs::path(path).filename().string();
    if (is_named_as_trace(name) && name.starts_with("ringside.")) {
      problems.add_file(path, why_not_read(path));
    }
  }
  std::vector<std::string> others;
  for (const std::string& path : unread) {
    if (dump_choice.takes_others && is_named_as_trace(path)) {
      inputs.notes.push_back(path + std::string(kNoTrace));
    } else {
      add_other(path, others);
    }
  }
  if (dump_choice.takes_dumps && dump_choice.prefix.empty() && traces == 0 && partials.empty() &&
      durations.empty()) {
    note_others(directory, std::move(others), inputs);
  }
  inputs.profiles.insert(inputs.profiles.end(), profiles.begin(), profiles.end());
  bool has_better = traces > 0 || !profiles.empty();
  const auto take = [&](const std::vector<std::string>& paths, const char* what) {
    for (const std::string& path : paths) {
      if (has_better) {
        inputs.notes.push_back(path + ": " + what + " next to traces, left out; name it to use it");
      } else {
        inputs.paths.push_back(path);
      }
    }
    has_better = has_better || !paths.empty();
  };
  if (dump_choice.joins_traces && traces > 0) {
    inputs.paths.insert(inputs.paths.end(), dumps.begin(), dumps.end());
    dumps.clear();
  } else if (!dump_choice.takes_dumps && partials.empty() && profiles.empty() && !dumps.empty()) {
    lone_dumps[directory.string()] = std::exchange(dumps, {});
    has_better = true;
  }
  take(partials, "a partial");
  take(dumps, "a dump of PyTorch's Flight Recorder");
  take(durations, "records of durations");
  if (error) {
    problems.add_file(directory.string(), "cannot be listed: " + error.message());
  } else if (!has_better) {
    problems.add_file(directory.string(), nothing_there(directory, dump_choice));
  }
}

}  // namespace

Inputs find_inputs(const std::vector<std::string>& arguments, model::Problems& problems,
                   const DumpChoice& dumps) {
  return other_processes() != nullptr ? other_processes()->find_inputs(arguments, problems, dumps)
                                      : find_own_inputs(arguments, problems, dumps);
}

Inputs find_own_inputs(const std::vector<std::string>& arguments, model::Problems& problems,
                       const DumpChoice& dumps) {
  Inputs inputs;
  std::map<std::string, std::vector<std::string>> lone_dumps;
  for (const std::string& argument : arguments) {
    std::error_code error;
    const fs::file_status status = fs::status(argument, error);
    if (fs::is_directory(status)) {
      add_directory(argument, dumps, inputs, lone_dumps, problems);
    } else if (fs::is_block_file(status) || fs::is_character_file(status)) {
      problems.add_file(argument, "is a device; name a trace, or a directory of traces");
    } else if (is_left_alone(argument, status, dumps)) {
      problems.add_file(argument,
                        "it is a pipe, which is not read; one without a name, as /dev/stdin, is");
    } else if (dumps.takes_profiles && fs::is_regular_file(status) &&
               begins_as_kineto(first_bytes(argument, kKinetoBegin_bytes))) {
      inputs.profiles.push_back(argument);
    } else if (fs::exists(status)) {
      const std::string foreign =
          fs::is_regular_file(status)
              ? foreign_file_text(first_bytes(argument, kForeignBegin_bytes))
              : std::string();
      if (foreign.empty()) {
        inputs.paths.push_back(argument);
      } else {
        problems.add_file(argument, foreign);
      }
    } else {
      problems.add_file(argument, error ? error.message() : "No such file or directory");
    }
  }
  if (!inputs.paths.empty()) {  // of another argument
    for (const std::string& path : std::exchange(inputs.profiles, {})) {
      problems.add_file(path, foreign_file_text(first_bytes(path)));
    }
  }
  const bool has_traces = !inputs.paths.empty();
  for (const auto& [directory, paths] : lone_dumps) {
    if (has_traces) {
      inputs.paths.insert(inputs.paths.end(), paths.begin(), paths.end());
    } else {
      problems.add_file(directory, nothing_there(directory, dumps));
    }
  }
  std::sort(inputs.paths.begin(), inputs.paths.end());
  inputs.paths.erase(std::unique(inputs.paths.begin(), inputs.paths.end()), inputs.paths.end());
  leave_out_compressed_twins(inputs);
  std::sort(inputs.notes.begin(), inputs.notes.end());
  return inputs;
}

bool is_flight_recorder_dump(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && begins_as_dump(first_bytes(path));
}

bool are_several_runs(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) {
    return false;
  }
  using Runs = std::map<std::int64_t, std::set<std::string>>;  // by rank
  std::vector<Runs> all;
  for (const std::string& argument : arguments) {
    model::Problems ignored;
    Runs& runs = all.emplace_back();
    for (const std::string& path : find_inputs({argument}, ignored).paths) {
      LineReader reader;
      Line line;
      simdjson::dom::parser parser;
      simdjson::dom::object facts;
      if (reader.open(path) || !reader.next(line) ||
          parser.parse(simdjson::padded_string(event_of_line(line)))["args"].get(facts) !=
              simdjson::SUCCESS) {
        continue;
      }
      if (const auto rank = integer_at(facts, "launcher_rank")) {
        runs[*rank].insert(std::string(text_at(facts, "run_id")));
      }
    }
  }
  return all.size() > 1 && std::all_of(all.begin() + 1, all.end(), [&](const Runs& runs) {
           return std::any_of(runs.begin(), runs.end(), [&](const auto& one) {
             const auto first = all.front().find(one.first);
             return first != all.front().end() &&
                    std::none_of(one.second.begin(), one.second.end(), [&](const std::string& run) {
                      return first->second.contains(run);
                    });
           });
         });
}

std::string first_partial(const std::vector<std::string>& paths) {
  const auto found = std::find_if(paths.begin(), paths.end(), [](const std::string& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && begins_as_partial(path);
  });
  return found == paths.end() ? std::string() : *found;
}

}  // namespace ringside::load
