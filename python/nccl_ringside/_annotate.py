# SPDX-License-Identifier: Apache-2.0
"""Ranges around the calls of torch.distributed, which say what was called, by whom, and for what."""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Optional

from ._around import Around, Library
from ._call_site import CallSites
from ._calls import CALLS, FUNCTIONAL_CALLS, Arguments, Call, size_of
from ._checked import OPTIONAL_TEXT, require
from ._groups import Group, Groups
from ._hooks import GroupHooks
from ._imports import WhenImported
from ._printed import Printer, leads, nvtx_mark
from ._where import ModuleHooks, Where, module_path

LEVELS = ("ALL", "CROSSNODE", "NONE")
_LOG = logging.getLogger("nccl_ringside")
_TRUE = ("true", "1", "t", "y", "yes")


def _nothing(_: Arguments) -> None:
    """Nothing is marked."""


class _Batch:
    """Calls that go to NCCL together."""

    _numbers = itertools.count(1)

    def __init__(self, parts: Optional[Sequence[Any]]) -> None:
        self.number = next(self._numbers)
        self.size = None if parts is None else len(parts)
        self.begun = 0
        self.text = f" batch={self.number}" + (f" parts={self.size}" if self.size else "")

    def next_part(self) -> str:
        self.begun += 1
        return f" batch={self.number} part={self.begun}"


class _State:
    within: Any = None  # a batch, or _CALL
    token: Any = None  # of a call that a hook has marked

    def __init__(self) -> None:
        self.where: list[Where] = []  # parts of the model, the innermost last


class _Thread(threading.local):
    def __init__(self) -> None:
        self.state = _State()  # what changes often is no attribute of the slow class


_CALL = object()  # within a call that is marked, or left out


class Annotation:
    """The ranges of annotate() around torch.distributed, until remove() or the end of its block."""

    def __init__(
        self,
        level: str,
        prints: bool,
        source: bool = True,
        skip: Iterable[str] = (),
        hooks: bool = False,
        nvtx: Optional[bool] = None,
        modules: Any = None,
    ) -> None:
        self.level, self.prints = level, prints
        self.unmarked: list[str] = []  # functions of another form, which get no ranges
        self.absent: list[str] = []  # functions that this version of PyTorch lacks
        self.shows_nvtx = False
        self._is_crossnode = level == "CROSSNODE"
        self._around: list[Around] = []
        self._thread = _Thread()
        if level == "NONE":
            return
        torch: Any = importlib.import_module("torch")
        self._nvtx = nvtx_mark(torch, nvtx)
        self.shows_nvtx = self._nvtx is not None
        self._describes = prints or self.shows_nvtx  # as JSON
        self._library = Library(self._describes)
        importlib.import_module("torch.distributed._functional_collectives")
        self._torch = torch
        self._compiler: Any = torch.compiler
        self._groups = Groups(torch)
        self._printer = Printer(torch)
        self._sites = CallSites("torch", *skip) if source or self._describes else None
        self._backwards: list[tuple[Optional[str], Optional[bytes]]] = []  # lines that run it now
        self._hooks = GroupHooks(
            lambda: self._thread.state, lambda: self._library.is_wanted(), self._begin, self._end
        )
        self._modules = (
            None
            if modules is None
            else ModuleHooks(modules, lambda: self._thread.state, torch.compiler.is_compiling)
        )
        self._install(hooks)

    def _install(self, hooks: bool) -> None:
        distributed = self._torch.distributed
        for prefix, module, calls in (
            ("torch.", distributed, CALLS),
            ("torch.functional.", distributed._functional_collectives, FUNCTIONAL_CALLS),
        ):
            for call in calls:
                name = prefix + call.name.lstrip("_")
                self._put_around(module, call.name, functools.partial(self._begin, call, name))
        if self.level == "CROSSNODE":
            if distributed.is_initialized():
                self._groups.publish_host()
            self._put_around(distributed, "init_process_group", _nothing, self._initialized)
        if self._sites is not None:
            self._put_around(
                self._torch.autograd, "backward", self._begin_backward, self._end_backward
            )
        # The calls of a unit of fully_shard have the name of its module as the unit's. FSDP takes
        # seconds to import, so it is not imported for those who do without it.
        self._fsdp = WhenImported(
            "torch.distributed.fsdp._fully_shard._fsdp_param_group", self._add_fsdp
        )
        if hooks:
            self._add_hooks(None)
            module = distributed.distributed_c10d
            self._put_around(module, "_new_process_group_helper", _nothing, self._add_hooks)

    def _put_around(
        self,
        module: Any,
        name: str,
        begin: Callable[[Arguments], Any],
        end: Optional[Callable[[Any], None]] = None,
    ) -> None:
        is_compiling = self._torch.compiler.is_dynamo_compiling
        full_name = f"{module.__name__}.{name}"
        function = getattr(module, name, None)
        if function is None:
            self.absent.append(full_name)
            return
        library = Library(True) if end else self._library
        try:
            self._around.append(Around(function, library, is_compiling, begin, end or self._end))
        except (ValueError, AttributeError, TypeError):
            self.unmarked.append(full_name)
            _LOG.warning(
                "%s is not the plain function that annotate() knows: it gets no ranges", full_name
            )

    def _initialized(self, _: Any) -> None:
        self._groups.publish_host()

    def _add_hooks(self, _: Any) -> None:
        for group in list(self._torch.distributed.distributed_c10d._world.pg_map):
            self._hooks.add(group)

    def _add_fsdp(self, module: Any) -> None:
        for name in ("unshard", "post_backward"):
            self._put_around(module.FSDPParamGroup, name, self._enter_fsdp, self._leave)

    def _enter_fsdp(self, given: Arguments) -> Any:
        name = getattr(given["self"], "_module_fqn", None)
        # PyTorch, too, calls the root so; units have no names before the first forward().
        return None if name is None else self._enter(Where(unit=module_path(name) or "<root>"))

    def _enter(self, where: Where) -> Any:
        stack = self._thread.state.where
        stack.append(where)
        return stack

    def _leave(self, stack: Any) -> None:
        if stack is not None:
            stack.pop()

    @contextlib.contextmanager
    def within(self, where: Where) -> Iterator[None]:
        """The calls of this thread in the block are those of this part of the model."""
        stack = self._enter(where)
        try:
            yield
        finally:
            self._leave(stack)

    def _begin_backward(self, _: Arguments) -> Any:
        line = self._sites.find(2) if self._sites is not None else (None, None)
        self._backwards.append(line)
        return line

    def _end_backward(self, line: Any) -> None:
        self._backwards.remove(line)

    def _line(self, sites: CallSites) -> tuple[Optional[str], Optional[bytes]]:
        """The line of the program that this thread is at, or whose backward() it runs."""
        line = sites.find(3)
        if line[0] is None and len(self._backwards) == 1:
            line = self._backwards[0]
        return line

    def _begin(self, call: Call, text: str, given: Arguments) -> Any:
        """Marks a call. The result is for _end()."""
        state = self._thread.state
        outer = state.within
        # While it compiles or exports, PyTorch follows calls with tensors that are none.
        if outer is _CALL or self._compiler._is_compiling_flag:
            return None
        if outer is not None and call.holds_parts:
            return None
        within: Any = _CALL
        line: Optional[str] = None
        source: Optional[bytes] = None
        is_wanted = True
        try:
            parts = given.get("p2p_op_list") if call.holds_parts else None
            group = self._groups.find(parts[0].group if parts else given.get("group"))
            if group is None:
                return None
            end = self._root_or_peer(call, given, group) if call.end else None
            if self._is_crossnode:
                is_wanted = self._crosses(call, group, end, parts)
            if is_wanted:
                if self._sites is not None:
                    line, source = self._line(self._sites)
                sent = given[call.input] if call.input else None
                received = given[call.output] if call.output else None
                if sent is None:
                    text += group.text
                else:
                    size = size_of(sent)
                    if received is sent:
                        text = f"{text}{group.text} in={size} out={size}"
                        received = None
                    else:
                        text = f"{text}{group.text} in={size}"
                if received is not None:
                    text += f" out={size_of(received)}"
                if end is not None:
                    text += f" {call.end}={end}"
                if call.is_async or given.get(call.asynchronous):
                    text += " async=1"
                if call.holds_parts:
                    within = _Batch(parts)
                    text += within.text
                elif outer is not None:
                    text += outer.next_part()
                number: Optional[int] = None
                if outer is None and group.counts and call.is_one_collective:
                    number = group.next_number()
                    text += f" seq={number}"
                where: Optional[Where] = None
                if state.where:
                    where = state.where[-1]
                    text += where.text
                if self._describes:
                    is_printed = self.prints and leads(call, group, end)
                    if is_printed or self._nvtx is not None:
                        name = text.partition(" ")[0].removeprefix("torch.")
                        said = self._printer.line(
                            name, call, given, group, end, line, outer or within, number, where
                        )
                        if is_printed:
                            self._printer.write(said)
                        if self._nvtx is not None:
                            self._nvtx(said)
        except Exception as error:  # the program's call matters more than its description
            text += f" error={type(error).__name__}"
        if is_wanted and (not self._describes or self._library.is_recording()):
            self._library.push(text.encode(), source)
        else:
            is_wanted = False
        state.within = within
        return state, outer, is_wanted

    def _end(self, token: Any) -> None:
        if token is not None:
            state, state.within, is_pushed = token
            if is_pushed:
                self._library.pop()

    def _root_or_peer(self, call: Call, given: Arguments, group: Group) -> Optional[int]:
        """Its global rank."""
        name = "src" if "src" in given else "dst"
        end, in_group = given[name], given.get(f"group_{name}")
        if call.ends_in_group:
            end, in_group = None, end
        if end is not None:
            return int(end)
        return call.default_end if in_group is None else group.ranks[in_group]

    def _crosses(self, call: Call, group: Group, end: Optional[int], parts: Any) -> bool:
        if parts:
            return any(self._groups.is_on_other_node(group.rank, part.peer) for part in parts)
        if call.end == "peer" and end is not None:
            return self._groups.is_on_other_node(group.rank, end)
        return self._groups.crosses_nodes(group)

    def announce(self) -> None:
        """Rank 0 logs what is on, and prints it if calls are printed, too."""
        if os.environ.get("RANK", "0") != "0":
            return
        text = "Ringside: calls of torch.distributed "
        if self.level == "NONE":
            text += "are not marked."
        else:
            which = "across nodes " if self.level == "CROSSNODE" else ""
            shown = ", shown to NVTX" if self.shows_nvtx else ""
            printed = "and printed" if self.prints else "and not printed"
            text += (
                f"{which}are marked{shown} {printed} "
                f"(GPU_SERIAL {self._printer.gpu_serial()}, VM_ID {self._printer.vm_id})."
            )
        _LOG.info("%s", text)
        if self.prints:
            print(text, flush=True)

    def remove(self) -> None:
        """Leaves torch.distributed as it was; a second time it does nothing."""
        if self.level == "NONE":
            return
        self._fsdp.remove()
        for around in self._around:
            around.restore()
        self._around.clear()
        self._hooks.remove()
        if self._modules is not None:
            self._modules.remove()

    def __enter__(self) -> "Annotation":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


_current: Optional[Annotation] = None


def annotate(
    level: Optional[str] = None,
    *,
    print: Optional[bool] = None,
    source: bool = True,
    skip: Iterable[str] = (),
    hooks: bool = False,
    nvtx: Optional[bool] = None,
    modules: Any = None,
) -> Annotation:
    """Puts a range around each call of torch.distributed, and takes away what it did before.

    docs/trace-format.md has the text of the ranges. `level` is "ALL", "CROSSNODE" (calls whose
    ranks are on several hosts) or "NONE", else what TORCH_DISTRIBUTED_TRACING says, else CROSSNODE.
    `print` has one rank of each call write a line of JSON to stdout before it; else
    TORCH_DISTRIBUTED_TRACING_PRINT says whether. Without `source` a range does not have the line of
    the program, and costs less. The line is the innermost one outside PyTorch, and outside the
    modules and packages that `skip` names ("lightning"). With `hooks` the calls of process groups
    in C++ are marked, too (DDP, compiled code; from PyTorch 2.15 on); each call costs more then.
    With `nvtx` each call is also a mark in NVTX, with the JSON of a printed line, before it; without
    this argument it is where a tool is attached (NVTX_INJECTION64_PATH). `modules` is a model: what
    its modules call in forward() has the name of the innermost one.
    The result's remove(), or the end of its `with` block, undoes it. `unmarked` of the result names
    the functions of torch.distributed that could not be changed, and `absent` those that this
    PyTorch lacks. What is on, and each unmarked function, goes to the logger `nccl_ringside`.
    """
    global _current
    require("level", level, OPTIONAL_TEXT, f"one of {', '.join(LEVELS)}, or None")
    require("print", print, (bool, type(None)), "True, False or None")
    require("source", source, bool, "True or False")
    require("hooks", hooks, bool, "True or False")
    require("nvtx", nvtx, (bool, type(None)), "True, False or None")
    if modules is not None and not hasattr(modules, "named_modules"):
        raise TypeError(f"modules is a torch.nn.Module or None, not {modules!r}")
    # The letters of a text would be taken as names.
    if isinstance(skip, str) or not isinstance(skip, Iterable):
        raise TypeError(f"skip is a list of names of modules, not {skip!r}")
    skip = list(skip)
    for module in skip:
        require("a name in skip", module, str, "text")
    chosen = (level or os.environ.get("TORCH_DISTRIBUTED_TRACING") or "CROSSNODE").upper()
    if chosen not in LEVELS:
        raise ValueError(f"level is {chosen!r} instead of one of {', '.join(LEVELS)}")
    if print is None:
        print = os.environ.get("TORCH_DISTRIBUTED_TRACING_PRINT", "").lower() in _TRUE
    if _current is not None:
        _current.remove()
    _current = Annotation(chosen, print, source, skip, hooks, nvtx, modules)
    _current.announce()
    return _current
