// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/trace/callers.h"

#include <string_view>

#include "analyzer/load/trace/part.h"
#include "analyzer/model/call_site.h"
#include "test/unit/catch.h"

namespace ringside::load {
namespace {

class Traced {
 public:
  Traced() { traces.files.emplace_back(); }

  model::TraceFile& file() { return traces.files.front(); }

  void range(std::string_view name, std::int64_t start_ns, std::optional<std::int64_t> end_ns,
             std::uint32_t tid = 1) {
    model::Mark mark;
    mark.tid = tid;
    mark.is_range = true;
    mark.start_ns = start_ns;
    mark.end_ns = end_ns;
    name_mark(name, "/home/me/train.py:17", traces.names, mark);
    file().marks[file().marks.size() + 1] = mark;
  }

  model::Operation called_at(std::optional<std::int64_t> time_ns, std::uint32_t tid = 1) {
    model::Operation operation;
    operation.tid = tid;
    operation.enqueue_start_ns = time_ns;
    file().operations = {};
    file().operations.push_back(operation);
    find_callers(traces);
    return file().operations[0];
  }

  std::string_view site_at(std::optional<std::int64_t> time_ns, std::uint32_t tid = 1) {
    return model::call_site(traces.names.text(called_at(time_ns, tid).called_by));
  }

  model::Traces traces;
};

TEST_CASE("a range of torch.distributed says who called, and PyTorch's number and group") {
  Traced traced;
  traced.range("torch.all_reduce group=3 description=my%20group in=4 module=layers.3.attn seq=7",
               100, 200);
  const model::Operation called = traced.called_at(100);
  CHECK(traced.traces.names.text(called.called_by) ==
        "/home/me/train.py:17 torch.all_reduce (layers.3.attn)");
  CHECK(traced.traces.names.text(called.process_group) == "my group");
  CHECK(called.torch_seq == 7);
  CHECK(traced.traces.names.text(traced.file().marks[1].name) ==
        "/home/me/train.py:17 torch.all_reduce");
  CHECK(traced.site_at(100) == "train.py:17 torch.all_reduce (layers.3.attn)");
  // Before it, behind it, on another thread, without a time.
  CHECK(traced.site_at(99).empty());
  CHECK(traced.site_at(200).empty());
  CHECK(traced.site_at(150, 2).empty());
  CHECK(traced.site_at(std::nullopt).empty());
}

TEST_CASE("DDP's bucket and FSDP's unit are parts of the model that call") {
  Traced traced;
  traced.range("torch.all_reduce in=4 bucket=3 parameters=layers.2.weight,layers.2.bias,+6", 0, 10);
  traced.range("torch.all_reduce in=4 bucket=1 parameters=layers.0.weight,layers.0.bias", 10, 20);
  traced.range("torch.all_reduce in=4 bucket=0 parameters=layers.4.bias", 20, 30);
  traced.range("torch.all_gather_single in=4 unit=%3Croot%3E", 30, 40);
  CHECK(traced.site_at(5) ==
        "train.py:17 torch.all_reduce (DDP bucket 3: layers.2.weight and 7 more)");
  CHECK(traced.site_at(15) ==
        "train.py:17 torch.all_reduce (DDP bucket 1: layers.0.weight and 1 more)");
  CHECK(traced.site_at(25) == "train.py:17 torch.all_reduce (DDP bucket 0: layers.4.bias)");
  CHECK(traced.site_at(35) == "train.py:17 torch.all_gather_single (FSDP unit <root>)");
}

TEST_CASE("fields that cannot be read are left out") {
  Traced traced;
  traced.range("torch.barrier group=a%2fb%zz seq=many module", 0, 10);
  const model::Operation called = traced.called_at(5);
  CHECK(traced.traces.names.text(called.process_group) == "a/b%zz");
  CHECK(!called.torch_seq);
  CHECK(traced.site_at(5) == "train.py:17 torch.barrier");
}

TEST_CASE("the innermost range counts, and a batch where no part does") {
  Traced traced;
  traced.range("step", 0, 1000);
  traced.range("torch.batch_isend_irecv batch=1", 100, 500);
  traced.range("torch.isend batch=1 part=1", 110, 200);
  traced.range("torch.irecv batch=1 part=2", 210, 300);
  CHECK(traced.site_at(150) == "train.py:17 torch.isend");
  CHECK(traced.site_at(250) == "train.py:17 torch.irecv");
  CHECK(traced.site_at(400) == "train.py:17 torch.batch_isend_irecv");
  CHECK(traced.site_at(600).empty());
}

TEST_CASE("a range that has not ended holds what hangs in it, unless ends are lost") {
  Traced traced;
  traced.range("torch.broadcast", 0, 10);
  traced.range("torch.all_reduce", 100, std::nullopt);
  CHECK(traced.site_at(5000) == "train.py:17 torch.all_reduce");
  traced.file().ranges_lost = 1;
  CHECK(traced.site_at(5000).empty());
  CHECK(traced.site_at(5) == "train.py:17 torch.broadcast");
}

TEST_CASE("a doubled line that began a range does not open it again") {
  Traced traced;
  traced.range("torch.all_reduce", 100, 200);
  model::Mark begun = traced.file().marks[1];
  begun.end_ns.reset();
  take_mark(1, begun, traced.file());
  CHECK(traced.site_at(5000).empty());
  CHECK(traced.site_at(150) == "train.py:17 torch.all_reduce");
}

}  // namespace
}  // namespace ringside::load
