// SPDX-License-Identifier: Apache-2.0
//
// A program that does what its arguments say, one after the other, so that a test can put together
// what happens to the disk and what NCCL does meanwhile.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <map>
#include <memory>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "test/guarantees/scenarios.h"

namespace ringside::guarantees {
namespace {

class Steps {
 public:
  explicit Steps(const Program& program) : program_(program), loaded_(program.path, program.abi) {}

  /// All steps; the names are those of the arguments.
  const std::map<std::string, std::function<void(const std::string&)>> all = {
      {"communicator",
       [this](const std::string& hash) {
         contexts_[hash] = loaded_.new_communicator(std::strtoull(hash.c_str(), nullptr, 10));
         use(hash);
       }},
      {"init_alone",  // on a thread of this name, which allocates nothing itself
       [this](const std::string& hash) {
         void*& context = contexts_[hash];
         const std::uint64_t value = number(hash);
         std::thread([&] {
           pthread_setname_np(pthread_self(), "init_alone");
           context = loaded_.new_communicator(value);
         }).join();
         use(hash);
       }},
      {"leave_open",  // so many threads each begin a range and end; then there is still room for
                      // one
       [this](const std::string& count) {
         const auto push = [this](const char* text) {
           const auto begin =
               reinterpret_cast<decltype(&ringside_push)>(c_function(loaded_, "ringside_push"));
           require(begin(text, nullptr) == RINGSIDE_OK, "a range is refused");
         };
         for (std::uint64_t i = 0; i < number(count); ++i) {
           std::thread([&] { push("left open"); }).join();
         }
         push("after them");
       }},
      {"named",  // a communicator with a name of so many characters of three bytes each
       [this](const std::string& count) {
         std::string name;
         for (std::uint64_t i = 0; i < number(count); ++i) {
           name += "\u20AC";
         }
         contexts_[count] = loaded_.new_communicator(number(count), name);
         use(count);
       }},
      {"use", [this](const std::string& hash) { use(hash); }},
      {"close", [this](const std::string& hash) { loaded_.plugin().finalize(contexts_.at(hash)); }},
      {"call", [this](const std::string& count) { caller_->operations(number(count), 0); }},
      // With pauses, so that the drain takes what the rings would lose.
      {"pace",
       [this](const std::string& count) {
         for (std::uint64_t i = 0; i < number(count); ++i) {
           caller_->operations(100, 0);
           std::this_thread::sleep_for(std::chrono::milliseconds(20));
         }
       }},
      {"thread",
       [this](const std::string& count) {
         std::thread([&] {
           Caller(loaded_.plugin(), caller_->context(), program_.rows[++row_])
               .operations(number(count), 0);
         }).join();
       }},
      {"wait",
       [](const std::string& milliseconds) {
         std::this_thread::sleep_for(std::chrono::milliseconds(number(milliseconds)));
       }},
      {"trouble", [this](const std::string&) { wait_for_trouble(); }},
      {"stop", [this](const std::string&) { call<decltype(&ringside_stop)>("ringside_stop"); }},
      {"start",
       [this](const std::string&) { call<decltype(&ringside_start)>("ringside_start", nullptr); }},
      {"mark",
       [this](const std::string&) { call<decltype(&ringside_mark)>("ringside_mark", "a mark"); }},
      {"dump", [this](const std::string& path) { dump(path); }},
      {"file_limit",
       [](const std::string& bytes) {
         struct rlimit limit {};
         getrlimit(RLIMIT_FSIZE, &limit);
         limit.rlim_cur = number(bytes);
         setrlimit(RLIMIT_FSIZE, &limit);
       }},
      {"close_descriptor",
       [](const std::string& which) { ::close(static_cast<int>(number(which))); }},
      // Closes all but the standard streams, as daemons do, and opens files of its own instead.
      {"own_files",
       [](const std::string& directory) {
         constexpr int kFrom = STDERR_FILENO + 1;
         constexpr int kTo = 64;
         for (int file = kFrom; file < kTo; ++file) {
           ::close(file);
         }
         for (int file = kFrom; file < kTo; ++file) {
           const std::string path = directory + "/" + std::to_string(file);
           require(open(path.c_str(), O_RDWR | O_CREAT, 0600) >= 0, "a file cannot be opened");
         }
       }},
      {"kill", [](const std::string&) { std::raise(SIGKILL); }},
      {"chdir",
       [](const std::string& path) { require(chdir(path.c_str()) == 0, "no such directory"); }},
      {"leave_descriptors",  // the process can open so many more
       [](const std::string& count) {
         struct rlimit limit {};
         getrlimit(RLIMIT_NOFILE, &limit);
         limit.rlim_cur = 64;
         setrlimit(RLIMIT_NOFILE, &limit);
         int last = -1;
         for (int file = dup(0); file >= 0; file = dup(0)) {
           last = file;
         }
         for (std::uint64_t i = 0; i < number(count); ++i) {
           ::close(last--);
         }
       }},
      // A handler of SIGTERM ends the process with 3, and a signal comes in the middle of a call.
      {"exit_in",
       [this](const std::string& function) {
         std::signal(SIGTERM, [](int) { std::exit(3); });
         in_lock("in_lock_raise")();
         call_any(function);
       }},
      // The process ends while another thread stands still within the call.
      {"exit_beside",
       [this](const std::string& function) {
         std::thread([this, function] {
           in_lock("in_lock_stand_still")();
           call_any(function);
         }).detach();
         const auto stands_still = reinterpret_cast<bool (*)()>(in_lock("in_lock_stands_still"));
         while (!stands_still()) {
           std::this_thread::sleep_for(std::chrono::milliseconds(1));
         }
         std::exit(3);
       }},
      // Goes on meanwhile, until dump_end.
      {"dump_begin",
       [this](const std::string& path) {
         dumps_.emplace_back([this, path] { dump(path); });
         std::this_thread::sleep_for(std::chrono::milliseconds(100));
       }},
      {"dump_end",
       [this](const std::string&) {
         for (std::thread& dump : dumps_) {
           dump.join();
         }
         dumps_.clear();
       }},
      {"fill", [](const std::string& path) { fill(path); }},
      {"shrink",
       [](const std::string& path) {
         struct stat found {};
         constexpr off_t kPage_bytes = 4096;
         if (stat(path.c_str(), &found) != 0 ||
             truncate(path.c_str(), found.st_size - kPage_bytes) != 0) {
           give_up("truncate: " + std::string(std::strerror(errno)));
         }
       }},
      {"remove",
       [](const std::string& path) {
         if (unlink(path.c_str()) != 0) {
           give_up("unlink: " + std::string(std::strerror(errno)));
         }
       }},
  };

  const Loaded& loaded() const { return loaded_; }

 private:
  static std::uint64_t number(const std::string& text) {
    return std::strtoull(text.c_str(), nullptr, 10);
  }

  void use(const std::string& hash) {
    caller_ = std::make_unique<Caller>(loaded_.plugin(), contexts_.at(hash), program_.rows[0]);
  }

  /// A function of the library in_lock, which was loaded before this program.
  static void (*in_lock(const char* name))() {
    void* const function = dlsym(RTLD_DEFAULT, name);
    if (function == nullptr) {
      give_up(std::string("no ") + name);
    }
    return reinterpret_cast<void (*)()>(function);
  }

  void call_any(const std::string& function) {
    if (function == "status") {
      status_of(loaded_);
    } else {
      all.at(function)(function == "dump" ? "/nonexistent/dump.json" : "");
    }
  }

  template <typename Function, typename... Arguments>
  void call(const char* name, Arguments... arguments) {
    if (reinterpret_cast<Function>(c_function(loaded_, name))(arguments...) != RINGSIDE_OK) {
      give_up(std::string(name) + " failed");
    }
  }

  /// Says what it returned, how long it took, and whether there is a file then.
  void dump(const std::string& path) {
    const auto dump =
        reinterpret_cast<decltype(&ringside_dump)>(c_function(loaded_, "ringside_dump"));
    const auto begin = std::chrono::steady_clock::now();
    const int result = dump(path.c_str());
    const bool is_there = access(path.c_str(), F_OK) == 0;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("dump %d %d %.3f %s\n", result, is_there ? 1 : 0, took.count(), path.c_str());
    std::fflush(stdout);
  }

  void wait_for_trouble() {
    for (int waited = 0; status_of(loaded_).trouble == 0; ++waited) {
      constexpr int kMost = 5000;
      if (waited == kMost) {
        give_up("no trouble");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  /// A file takes what room there is, to the last page.
  static void fill(const std::string& path) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (std::size_t size = std::size_t{1} << 20; size >= 4096; size /= 2) {
      const std::string block(size, 'x');
      while (file >= 0 && write(file, block.data(), block.size()) > 0) {
      }
    }
    if (file < 0 || errno != ENOSPC) {
      give_up("fill: " + std::string(std::strerror(errno)));
    }
    ::close(file);
  }

  const Program& program_;
  Loaded loaded_;
  std::map<std::string, void*> contexts_;
  std::unique_ptr<Caller> caller_;
  std::vector<std::thread> dumps_;
  std::size_t row_ = 0;
};

}  // namespace

int steps(const Program& program) {
  Steps steps(program);
  for (const std::string& argument : program.arguments) {
    const std::size_t mark = argument.find(':');
    const auto found = steps.all.find(argument.substr(0, mark));
    if (found == steps.all.end()) {
      give_up("no step " + argument);
    }
    found->second(mark != std::string::npos ? argument.substr(mark + 1) : "");
  }
  print_status(status_of(steps.loaded()));
  return 0;
}

}  // namespace ringside::guarantees
