// SPDX-License-Identifier: Apache-2.0
#include "plugin/doors/operation_printer.h"

#include <climits>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include "test/unit/catch.h"

namespace ringside::control {
namespace {

using assemble::OperationKind;

/// A pipe as the application's standard output, and what comes out of it.
class Pipe {
 public:
  Pipe() { REQUIRE(pipe2(ends_, O_CLOEXEC) == 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_writer();
    close(ends_[0]);
  }
  int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) {
      close(ends_[1]);
      ends_[1] = -1;
    }
  }
  /// As much as it takes.
  void fill() const {
    const int flags = fcntl(ends_[1], F_GETFL);
    fcntl(ends_[1], F_SETFL, flags | O_NONBLOCK);
    const std::string some(PIPE_BUF, 'x');
    while (write(ends_[1], some.data(), some.size()) > 0) {
    }
    fcntl(ends_[1], F_SETFL, flags);
  }
  std::string take() const {
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    std::string all;
    char some[PIPE_BUF];
    for (ssize_t size = 0; (size = read(ends_[0], some, sizeof some)) > 0;) {
      all.append(some, static_cast<std::size_t>(size));
    }
    return all;
  }

 private:
  int ends_[2];
};

Config printing() {
  Config config;
  config.markers_print = true;
  return config;
}

assemble::Communicator world(int rank) {
  assemble::Communicator communicator;
  communicator.context = 1;
  communicator.has_hash = communicator.has_size = communicator.rank_known = true;
  communicator.hash = 0xABC;
  communicator.name = "world";
  communicator.rank = rank;
  communicator.nranks = 8;
  communicator.nnodes = 2;
  communicator.gpu_index = 3;
  communicator.gpu_uuid = "GPU-1";
  return communicator;
}

assemble::Operation operation(OperationKind kind, std::string_view func, int rank, int other) {
  assemble::Operation made;
  made.kind = kind;
  made.context = 1;
  made.func = func;
  made.datatype = "ncclFloat32";
  made.algo = "RING";
  made.proto = "LL";
  made.has_bytes = true;
  made.bytes = 400;
  made.count = 100;
  made.rank = rank;
  made.root_or_peer = other;
  made.has_root = func == "Broadcast";
  made.has_seq = kind == OperationKind::kColl;
  made.seq = 9;
  made.enqueue_start_ns = 7;
  return made;
}

std::string printed(const Config& config, const assemble::Operation& of) {
  const Pipe out;
  OperationPrinter printer(out.writer(), config, "host-a", 2);
  printer.add(of, world(of.rank));
  CHECK(printer.lost() == 0);
  return out.take();
}

TEST_CASE("a line has what is known of an operation, by names of the trace and the payload") {
  CHECK(printed(printing(), operation(OperationKind::kColl, "AllReduce", 0, 0)) ==
        R"({"ringside":"operation","func":"AllReduce","message_bytes":400,"count":100,)"
        R"("datatype":"ncclFloat32","rank":0,"nranks":8,"nnodes":2,"comm":"0xabc",)"
        R"("comm_name":"world","seq":9,"algo":"RING","proto":"LL","device":3,)"
        R"("gpu_serial":"GPU-1","vm_id":"host-a","realtime_ns":2000000007})"
        "\n");
  Config named = printing();
  named.gpu_serial = "1322";
  named.vm_id = "vm \"7\"";
  const std::string sent = printed(named, operation(OperationKind::kP2p, "Send", 5, 6));
  CHECK(sent.find(R"("rank":5,"peer":6,)") != std::string::npos);
  CHECK(sent.find(R"("gpu_serial":"1322","vm_id":"vm \"7\"",)") != std::string::npos);
  CHECK(sent.find("seq") == std::string::npos);
}

TEST_CASE("one rank prints a collective: the root, else the first; each its sends and receives") {
  const Config config = printing();
  CHECK_FALSE(printed(config, operation(OperationKind::kColl, "AllReduce", 0, 0)).empty());
  CHECK(printed(config, operation(OperationKind::kColl, "AllReduce", 1, 1)).empty());
  CHECK(printed(config, operation(OperationKind::kColl, "Broadcast", 0, 1)).empty());
  CHECK_FALSE(printed(config, operation(OperationKind::kColl, "Broadcast", 1, 1)).empty());
  CHECK_FALSE(printed(config, operation(OperationKind::kP2p, "Recv", 3, 4)).empty());
  CHECK_FALSE(printed(config, operation(OperationKind::kApi, "Send", 3, -1)).empty());
  CHECK(printed(config, operation(OperationKind::kApi, "AllGather", 3, -1)).empty());
}

TEST_CASE("what is printed follows RINGSIDE_MARKERS") {
  Config config = printing();
  config.markers = nvtx::Scope::kCrossNode;
  CHECK_FALSE(printed(config, operation(OperationKind::kP2p, "Send", 3, 4)).empty());
  CHECK(printed(config, operation(OperationKind::kP2p, "Send", 3, 3)).empty());
  config.markers = nvtx::Scope::kOff;
  CHECK(printed(config, operation(OperationKind::kP2p, "Send", 3, 4)).empty());
}

TEST_CASE("a line is never longer than a pipe takes at once") {
  Config config = printing();
  config.gpu_serial = config.vm_id = std::string(5000, '\x01');
  assemble::Operation of = operation(OperationKind::kColl, "Broadcast", 1, 1);
  const std::string name(5000, '"');
  of.func = of.datatype = of.algo = of.proto = name;
  of.count = of.bytes = of.seq = ~std::uint64_t{0};
  const std::string line = printed(config, of);
  CHECK(line.size() > 500);
  CHECK(line.size() <= PIPE_BUF);
}

TEST_CASE("a reader that does not read holds nobody up, and lines stay whole") {
  const Config config = printing();
  Pipe out;
  OperationPrinter printer(out.writer(), config, "host-a", 2);
  const int flags = fcntl(out.writer(), F_GETFL);
  const assemble::Operation of = operation(OperationKind::kColl, "AllReduce", 0, 0);
  out.fill();
  printer.add(of, world(0));
  printer.add(of, world(0));
  CHECK(printer.lost() == 2);
  CHECK(out.take().find("ringside") == std::string::npos);
  printer.add(of, world(0));
  CHECK(printer.lost() == 2);
  const std::string line = out.take();
  CHECK(line.starts_with("{\"ringside\""));
  CHECK(line.ends_with("}\n"));
  // The application's own is as it was, and may be closed.
  CHECK(fcntl(out.writer(), F_GETFL) == flags);
  out.close_writer();
  printer.add(of, world(0));
  CHECK(out.take() == line);
}

TEST_CASE("without standard output lines are counted") {
  const Config config = printing();
  OperationPrinter printer(-1, config, "host-a", 2);
  printer.add(operation(OperationKind::kColl, "AllReduce", 0, 0), world(0));
  CHECK(printer.lost() == 1);
}

}  // namespace
}  // namespace ringside::control
