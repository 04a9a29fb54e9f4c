#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""annotate() in one process, rank 2 of eight whose others are pretended: compiled code, errors,
levels, and that it leaves PyTorch as it was. Needs no NCCL. Ends with an exception, or prints "ok".
"""

import contextlib
import importlib
import inspect
import io
import json
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed import isend as imported_isend

from nccl_ringside import _annotate, _calls, _groups
from nccl_ringside.torch import annotate


def printed(call):
    """The lines that a call prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        call()
    return [json.loads(line) for line in output.getvalue().splitlines()]


def codes():
    return {call.name: inspect.unwrap(getattr(dist, call.name)).__code__ for call in _calls.CALLS}


def compiled(group):
    """Results and number of graphs of functions that torch.compile makes one graph of."""
    def collectives(x):
        dist.all_reduce(x, op=dist.ReduceOp.SUM, group=group)
        out = torch.empty(16, 3)
        dist.all_gather_into_tensor(out, x[:4], group=group)
        part = torch.empty(2, 3)
        dist.reduce_scatter_tensor(part, x, group=group)
        return functional.all_reduce(x + 1, "sum", group) + out.sum() + part.sum()

    def breaking(x):
        dist.barrier()
        return x * 2
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    whole = torch.compile(collectives, backend="aot_eager", fullgraph=True)
    broken = torch.compile(breaking, backend="aot_eager")
    shapes = [whole(torch.ones(8, 3)).shape, broken(torch.ones(3)).shape]
    return shapes, torch._dynamo.utils.counters["stats"]["unique_graphs"]


class Calls(torch.nn.Module):
    def __init__(self, group):
        super().__init__()
        self.group = group

    def forward(self, x):
        dist.all_reduce(x, group=self.group)
        return x


FSDP = "torch.distributed.fsdp._fully_shard._fsdp_param_group"


def imports():
    """Nothing large is imported for annotate(), and FSDP is known that is imported after it."""
    assert FSDP not in sys.modules and "sympy" not in sys.modules
    with annotate("ALL"):
        assert FSDP not in sys.modules and "sympy" not in sys.modules
        unit = importlib.import_module(FSDP).FSDPParamGroup
        methods = [inspect.unwrap(method) for method in (unit.unshard, unit.post_backward)]
        annotated = [method.__code__ for method in methods]
    assert all(method.__code__ is not code for method, code in zip(methods, annotated))
    importlib.import_module("torch._dynamo")


def main():
    dist.init_process_group("fake", store=None, rank=2, world_size=8)
    imports()
    group = dist.new_group([0, 2, 4, 6], group_desc="a group = 50%")
    before, without, x = codes(), compiled(group), torch.ones(8, 3)
    signatures = {name: inspect.signature(getattr(dist, name)) for name in before}

    with annotate("ALL", print=True) as annotation:
        missing = {call.name for call in _calls.CALLS} - {
            name for name, code in codes().items() if code is not before[name]}
        assert not missing, missing
        assert {name: inspect.signature(getattr(dist, name)) for name in before} == signatures
        assert compiled(group) == without, (compiled(group), without)

        # PyTorch's type checks; the name that was imported before is the same function.
        batch = [dist.P2POp(dist.isend, x, 3), dist.P2POp(imported_isend, x, 4)]
        lines = printed(lambda: dist.batch_isend_irecv(batch))
        assert [(line["name"], line["peer_rank"]) for line in lines] == [("isend", 3), ("isend", 4)]
        assert len({line["correlation_id"] for line in lines}) == 1
        assert [line["batch_size"] for line in lines] == [2, 2]

        # Arguments by name, and ranks of the group.
        (line,) = printed(lambda: dist.broadcast(tensor=x, group=group, group_src=1))
        assert (line["root_rank"], line["message_size"]) == (2, 96), line
        # PyTorch's own errors come through, and nothing stays open.
        for wrong in (lambda: dist.all_reduce("no tensor"), lambda: dist.all_reduce()):
            with contextlib.suppress(TypeError, ValueError):
                wrong()
                raise AssertionError("no error")
        assert annotation._thread.state.within is None
        # Names of the machine and the GPU, for whoever has given them some.
        with_names = {"GPU_SERIAL": "a serial", "VM_ID": "a machine"}
        os.environ.update(with_names)
        annotate("ALL", print=True)
        (line,) = printed(lambda: dist.broadcast(x, 2))
        assert (line["gpu_serial"], line["vm_id"]) == tuple(with_names.values()), line
        for name in with_names:
            del os.environ[name]
        # A rank outside the group leaves nothing, and PyTorch says so itself.
        other = dist.new_group([0, 1])
        assert not printed(lambda: dist.broadcast(x, 0, group=other))
        # Another annotate() takes the place of the first.
        annotate("ALL", print=True)
        (line,) = printed(lambda: dist.broadcast(x, 2))
        assert line["source_line"].startswith(f"{__file__}:"), line
        annotate("NONE")
    assert codes() == before

    # Printed, in NVTX, in both, or only in the trace; and modules under torch.compile.
    marks, led = [], dist.new_group([2, 4, 6, 7])
    model = torch.nn.Sequential(torch.nn.Sequential(Calls(led)))
    torch.cuda.nvtx.mark = lambda text: marks.append(json.loads(text))
    for prints in (True, False):
        for nvtx in (True, False):
            with annotate("ALL", print=prints, nvtx=nvtx, modules=model) as annotation:
                marks.clear()
                lines = printed(lambda: dist.broadcast(x, 2))
                assert [len(lines), len(marks)] == [prints, nvtx], (lines, marks)
                lines = printed(lambda: model(x))
                assert [line["module"] for line in lines] == ["0.0"] * prints, lines
                assert [mark["module"] for mark in marks[1:]] == ["0.0"] * nvtx, marks
                whole = torch.compile(model, backend="aot_eager", fullgraph=True)
                assert whole(x).shape == x.shape
                assert not annotation._thread.state.where
    assert not model[0][0]._forward_hooks and not model[0][0]._forward_pre_hooks

    # Compiled code calls C++: hooks see these calls, also in groups that are made later.
    with annotate("ALL", print=True, hooks=True):
        led = dist.new_group([2, 4, 6, 7])  # made later than the hooks
        lines = printed(lambda: compiled(led))
        assert {line["name"] for line in lines} == {
            "ProcessGroup.allreduce", "ProcessGroup.allgather_into_tensor_coalesced",
            "ProcessGroup.reduce_scatter_tensor_coalesced"}, lines
        assert all(line["source_line"].startswith(f"{__file__}:") for line in lines), lines
        (line,) = printed(lambda: dist.all_reduce(x, group=led))
        assert line["name"] == "all_reduce", line
    assert not printed(lambda: compiled(led)) and codes() == before

    os.environ["TORCH_DISTRIBUTED_TRACING"] = "all"
    os.environ["TORCH_DISTRIBUTED_TRACING_PRINT"] = "Yes"
    assert (annotate().level, annotate().prints) == ("ALL", True)
    os.environ["TORCH_DISTRIBUTED_TRACING"] = "none"
    assert annotate().level == "NONE" and codes() == before
    assert not printed(lambda: dist.broadcast(x, 2))
    del os.environ["TORCH_DISTRIBUTED_TRACING"], os.environ["TORCH_DISTRIBUTED_TRACING_PRINT"]
    with annotate() as annotation:
        assert (annotation.level, annotation.prints) == ("CROSSNODE", False)
    with contextlib.suppress(ValueError):
        annotate("SOME")
        raise AssertionError("an unknown level")

    texts = {(0, 1, 2): "0-2", (0, 4, 8): "0-8/4", (0, 1, 2, 8, 9): "0-2,8-9", (5,): "5",
             (3, 1): "3,1", (0, 2): "0,2"}
    assert {ranks: _groups.ranks_text(ranks) for ranks in texts} == texts
    assert _annotate._current is annotation
    print("ok")


if __name__ == "__main__":
    main()
