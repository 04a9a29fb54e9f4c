// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target without a fuzzer: over the files of a corpus, and over changed copies of them
// for some seconds, on one thread or several. For compilers without libFuzzer, and for
// ThreadSanitizer.
//
//   fuzz_TARGET [--seconds N] [--threads N] FILE_OR_DIRECTORY...
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return {text.begin(), text.end()};
}

Bytes changed(const std::vector<Bytes>& corpus, std::mt19937_64& random) {
  Bytes made = corpus.empty() ? Bytes() : corpus[random() % corpus.size()];
  if (random() % 4 == 0) {
    made.resize(random() % 4096);
  }
  for (std::uint64_t changes = 1 + random() % 32; changes != 0 && !made.empty(); --changes) {
    made[random() % made.size()] = static_cast<std::uint8_t>(random());
  }
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Bytes> corpus;
  double seconds = 0;
  unsigned threads = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--seconds" && i + 1 < argc) {
      seconds = std::strtod(argv[++i], nullptr);
    } else if (argument == "--threads" && i + 1 < argc) {
      threads = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::directory_iterator(argument)) {
        corpus.push_back(read(entry.path()));
      }
    } else {
      corpus.push_back(read(argument));
    }
  }
  for (const Bytes& bytes : corpus) {
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::atomic<std::uint64_t> runs{corpus.size()};
  std::vector<std::thread> workers;
  for (unsigned thread = 0; thread < threads; ++thread) {
    workers.emplace_back([&, thread] {
      std::mt19937_64 random(thread + 1);
      while (std::chrono::steady_clock::now() < end) {
        const Bytes bytes = changed(corpus, random);
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
        ++runs;
      }
    });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  std::printf("%llu inputs on %u threads\n", static_cast<unsigned long long>(runs.load()), threads);
  return corpus.empty() && seconds <= 0 ? 1 : 0;
}
