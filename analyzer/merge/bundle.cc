// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/bundle.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <set>
#include <simdjson.h>
#include <vector>

#include "analyzer/report/document/json_writer.h"

namespace ringside::merge {
namespace {

// POSIX.1-1988 ustar; names and sizes as Perfetto's reader limits them.
constexpr std::size_t kBlock_bytes = 512;
constexpr std::size_t kMostName_bytes = 99;
constexpr std::uint64_t kMostMember_bytes = (std::uint64_t{1} << 33) - 1;

struct Member {
  std::string path;
  std::string name;  // in the archive
  std::uint32_t process = 0;
  std::uint64_t bytes = 0;
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

void put(std::string& block, std::size_t at, std::string_view text) {
  block.replace(at, text.size(), text);
}

std::string octal(std::uint64_t value, int digits) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%0*llo", digits, static_cast<unsigned long long>(value));
  return text.data();
}

// The file's own, where a reader takes it and no other member has it. Perfetto skips dot files.
std::string member_name(const std::string& path, std::set<std::string>& taken) {
  std::string name = path.substr(path.rfind('/') + 1);
  const bool is_fit = !name.empty() && name.size() <= kMostName_bytes && name.front() != '.' &&
                      simdjson::validate_utf8(name.data(), name.size());
  if (!is_fit || taken.contains(name)) {
    name = "trace" + std::to_string(taken.size() + 1) + ".json";
  }
  for (int i = 2; !taken.insert(name).second; ++i) {
    name = "trace" + std::to_string(taken.size() + 1) + '.' + std::to_string(i) + ".json";
  }
  return name;
}

std::vector<Member> members_of(const model::Traces& traces, const Plan& plan,
                               model::Problems& problems) {
  std::vector<Member> members;
  std::set<std::string> taken{"manifest.json"};
  for (std::uint32_t i = 0; i < plan.processes.size(); ++i) {
    const model::TraceFile& file = traces.files[plan.processes[i].file];
    std::vector<std::string> paths{file.path};
    paths.insert(paths.end(), file.later_paths.begin(), file.later_paths.end());
    for (const std::string& path : paths) {
      const File opened(std::fopen(path.c_str(), "rbe"));
      const bool is_at_end = opened && ::fseeko(opened.get(), 0, SEEK_END) == 0;
      const auto bytes = is_at_end ? ::ftello(opened.get()) : -1;
      if (bytes < 0 || static_cast<std::uint64_t>(bytes) > kMostMember_bytes) {
        problems.add_file(path, bytes < 0 ? "cannot be read" : "too large for a bundle: 8 GiB");
        continue;
      }
      members.push_back({path, member_name(path, taken), i, static_cast<std::uint64_t>(bytes)});
    }
  }
  return members;
}

// How far the process's `ts` is moved, in the middle of what its host has in common with others.
__int128 shift_ns(const model::Traces& traces, const align::Alignment& alignment,
                  const ProcessPlan& process) {
  const model::Process& facts = traces.files[process.file].process;
  const align::HostOffset& host = alignment.hosts()[alignment.host_of(process.file)];
  __int128 at_ns = static_cast<__int128>(host.at_ns) - facts.base_time_s * __int128{1'000'000'000};
  if (!host.is_bounded || host.at_ns == 0 || at_ns < 0 || at_ns > (__int128{1} << 60)) {
    at_ns = facts.start_ns;
  }
  const auto time_ns = static_cast<std::int64_t>(at_ns);
  return static_cast<__int128>(alignment.to_common_ns(process.file, time_ns)) - time_ns;
}

std::string manifest(const model::Traces& traces, const align::Alignment& alignment,
                     const Plan& plan, const std::vector<Member>& members) {
  report::JsonWriter json;
  const __int128 first_ns = shift_ns(traces, alignment, plan.processes[members.front().process]);
  json.begin_object();
  json.begin_object("perfetto_manifest");
  json.integer("version", 1);
  json.begin_object("attributes");
  json.text("tool", "ringside " RINGSIDE_VERSION);
  json.integer("processes", plan.processes.size());
  json.end_object();
  json.begin_array("files");
  for (std::size_t i = 0; i < members.size(); ++i) {
    const ProcessPlan& process = plan.processes[members[i].process];
    json.begin_object();
    json.text("path", members[i].name);
    json.begin_object("machine");
    json.text("name", traces.files[process.file].process.host);
    json.end_object();
    if (i > 0) {
      const __int128 offset_ns = std::clamp<__int128>(
          shift_ns(traces, alignment, process) - first_ns, INT64_MIN, INT64_MAX);
      json.begin_object("clocks");
      json.begin_object("sync_to");
      json.text("file", members.front().name);
      json.end_object();
      json.integer("offset_ns", static_cast<std::int64_t>(offset_ns));
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  json.end_object();
  // Perfetto knows the manifest by its first bytes: {"perfetto_manifest"
  std::string text = json.finish();
  text.erase(1, text.find('"') - 1);
  return text;
}

void pad(std::uint64_t bytes, OutputFile& output) {
  output.write(std::string((kBlock_bytes - bytes % kBlock_bytes) % kBlock_bytes, '\0'));
}

// Exactly as much as its header says: a process that runs may write on.
bool copy(const Member& member, OutputFile& output) {
  const File file(std::fopen(member.path.c_str(), "rbe"));
  std::vector<char> buffer(std::size_t{1} << 18);
  std::uint64_t left = member.bytes;
  while (file && left > 0 && output.error().empty()) {
    const std::size_t size =
        std::fread(buffer.data(), 1, std::min<std::uint64_t>(buffer.size(), left), file.get());
    if (size == 0) {
      break;
    }
    output.write({buffer.data(), size});
    left -= size;
  }
  pad(member.bytes, output);
  return left == 0;
}

}  // namespace

std::string tar_header(std::string_view name, std::uint64_t bytes) {
  constexpr std::size_t kChecksumAt = 148;
  std::string block(kBlock_bytes, '\0');
  put(block, 0, name);
  put(block, 100, "0000600");           // mode
  put(block, 108, "0000000");           // uid
  put(block, 116, "0000000");           // gid
  put(block, 124, octal(bytes, 11));    // size
  put(block, 136, "00000000000");       // mtime
  put(block, kChecksumAt, "        ");  // counts as blanks in the sum
  put(block, 156, "0");                 // a plain file
  put(block, 257,
      std::string_view("ustar\0"
                       "00",
                       8));
  std::uint64_t sum = 0;
  for (const char c : block) {
    sum += static_cast<unsigned char>(c);
  }
  put(block, kChecksumAt, octal(sum, 6));
  block[kChecksumAt + 6] = '\0';
  return block;
}

bool write_bundle(const model::Traces& traces, const align::Alignment& alignment, const Plan& plan,
                  OutputFile& output, model::Problems& problems) {
  const std::vector<Member> members = members_of(traces, plan, problems);
  if (!problems.files().empty() || members.empty()) {
    return false;
  }
  const std::string text = manifest(traces, alignment, plan, members);
  output.write(tar_header("manifest.json", text.size()));
  output.write(text);
  pad(text.size(), output);
  for (const Member& member : members) {
    output.write(tar_header(member.name, member.bytes));
    if (!copy(member, output)) {
      problems.add_file(member.path, "became shorter while it was copied, or cannot be read");
      return false;
    }
  }
  output.write(std::string(2 * kBlock_bytes, '\0'));
  return true;
}

}  // namespace ringside::merge
