// SPDX-License-Identifier: Apache-2.0
//
// ringside_bench_load: one pass over a trace, by simdjson alone or by the analyzer's loader, so
// that each has a process and its peak of memory of its own. compare_load.py puts them beside each
// other.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <malloc.h>
#include <simdjson.h>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <CLI/CLI.hpp>

#include "analyzer/load/trace_loader.h"

namespace {

namespace ondemand = simdjson::ondemand;

struct Pass {
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
  std::uint64_t bad_lines = 0;
  std::uint64_t sum = 0;  // of all values, so that none is left unread
};

void read_value(ondemand::value value, Pass& pass) {
  switch (value.type()) {
    case ondemand::json_type::object:
      for (auto field : value.get_object()) {
        pass.sum += field.unescaped_key().value().size();
        read_value(field.value(), pass);
      }
      return;
    case ondemand::json_type::array:
      for (auto element : value.get_array()) {
        read_value(element.value(), pass);
      }
      return;
    case ondemand::json_type::string:
      pass.sum += value.get_string().value().size();
      return;
    case ondemand::json_type::number: {
      const ondemand::number number = value.get_number();
      pass.sum += number.is_double() ? number.get_double() > 0 : number.is_int64();
      return;
    }
    case ondemand::json_type::boolean:
      pass.sum += value.get_bool().value() ? 1 : 0;
      return;
    default:
      pass.sum += value.is_null() ? 1 : 0;
  }
}

/// `size` bytes of one line, behind which simdjson may read.
void read_line(ondemand::parser& parser, const char* text, std::size_t size, Pass& pass) {
  if (size > 0 && *text == '[') {
    ++text;
    --size;
  }
  if (size > 0 && text[size - 1] == ',') {
    --size;
  }
  if (size == 0 || *text == ']') {
    return;
  }
  ++pass.events;
  try {
    ondemand::document document = parser.iterate(text, size, size + simdjson::SIMDJSON_PADDING);
    for (auto field : document.get_object()) {
      pass.sum += field.unescaped_key().value().size();
      read_value(field.value(), pass);
    }
  } catch (const simdjson::simdjson_error&) {
    ++pass.bad_lines;
  }
}

/// Every key and value of every line, read in blocks that stay in the cache.
Pass read_with_simdjson(const std::string& path) {
  constexpr std::size_t kBlock_bytes = std::size_t{1} << 18;
  Pass pass;
  std::ifstream file(path, std::ios::binary);
  ondemand::parser parser;
  std::vector<char> buffer;
  std::size_t kept = 0;  // the begin of a line, at the start of the buffer
  while (file) {
    buffer.resize(kept + kBlock_bytes + simdjson::SIMDJSON_PADDING);
    file.read(buffer.data() + kept, kBlock_bytes);
    const auto got = static_cast<std::size_t>(file.gcount());
    pass.bytes += got;
    const char* const end = buffer.data() + kept + got;
    const char* line = buffer.data();
    while (const void* const found =
               std::memchr(line, '\n', static_cast<std::size_t>(end - line))) {
      const char* const newline = static_cast<const char*>(found);
      read_line(parser, line, static_cast<std::size_t>(newline - line), pass);
      line = newline + 1;
    }
    kept = static_cast<std::size_t>(end - line);
    std::memmove(buffer.data(), line, kept);
  }
  return pass;
}

Pass read_with_loader(const std::string& path, unsigned threads) {
  ringside::model::Problems problems;
  const ringside::model::Traces traces = ringside::load::load_traces({path}, problems, threads);
  Pass pass;
  for (const auto& file : traces.files) {
    pass.bytes += file.size_bytes;
    pass.events += file.lines - (file.closed ? 1 : 0);  // the "]" is none
    pass.bad_lines += file.bad_lines;
    pass.sum += file.operations.size() + file.proxies.size() + file.steps.size();
  }
  return pass;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

int print(const Pass& pass, double seconds) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"seconds\":%.6f,\"cpu_seconds\":%.6f,\"bytes\":%llu,\"events\":%llu,\"bad_lines\":%llu,"
      "\"sum\":%llu,\"peak_bytes\":%llu}\n",
      seconds, seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
      static_cast<unsigned long long>(pass.bytes), static_cast<unsigned long long>(pass.events),
      static_cast<unsigned long long>(pass.bad_lines), static_cast<unsigned long long>(pass.sum),
      1024ULL * static_cast<unsigned long long>(usage.ru_maxrss));
  return pass.events == 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_ARENA_MAX, 1);  // as the analyzer does
  CLI::App app("One pass over a trace; prints its time and peak memory as JSON.");
  std::string reader;
  std::string path;
  unsigned threads = 1;
  app.add_option("reader", reader, "simdjson or loader")
      ->required()
      ->check(CLI::IsMember({"simdjson", "loader"}));
  app.add_option("file", path, "the trace")->required()->check(CLI::ExistingFile);
  app.add_option("--threads", threads, "of the loader; 0: as many as there are cores");
  CLI11_PARSE(app, argc, argv);
  const auto begin = std::chrono::steady_clock::now();
  const Pass pass =
      reader == "simdjson" ? read_with_simdjson(path) : read_with_loader(path, threads);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return print(pass, taken.count());
}
