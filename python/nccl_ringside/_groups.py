# SPDX-License-Identifier: Apache-2.0
"""The facts of PyTorch's process groups: names, global ranks, and the nodes that they are on."""

from __future__ import annotations

import contextlib
import datetime
import os
import socket
import time
import urllib.parse
import weakref
from collections.abc import Sequence
from typing import Any, Optional

# A mark has a thousand bytes in all.
_MOST_RANKS_BYTES = 350
# Ranks annotate at nearly the same time, or do not at all. So one short wait is enough; whoever
# comes later is asked for without a wait.
_HOSTS_WAIT = datetime.timedelta(seconds=2)
_ASK_AGAIN_S = 1.0


def ranks_text(ranks: Sequence[int]) -> str:
    """Ranks as runs and strides: "0-7", "0-12/4", "0-3,8-11", "1,5,6"."""
    stride = ranks[1] - ranks[0] if len(ranks) > 2 else 1
    if stride > 1 and list(ranks) == list(range(ranks[0], ranks[-1] + 1, stride)):
        return f"{ranks[0]}-{ranks[-1]}/{stride}"
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def quoted(text: str) -> str:
    """A value of a mark: without spaces, "=" or "%"."""
    return urllib.parse.quote(text, safe="/:.,+()[]#@")


def host_identity() -> str:
    """As NCCL knows hosts: by NCCL_HOSTID, else by the name and the boot of the machine."""
    named = os.environ.get("NCCL_HOSTID")
    if named:
        return named
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
    except OSError:
        boot = ""
    return f"{socket.gethostname()}/{boot}"


class Group:
    """A process group that this rank belongs to."""

    def __init__(self, c10d: Any, group: Any) -> None:
        self.group = weakref.ref(group)
        self.rank = int(c10d.get_rank())
        self.ranks = tuple(int(rank) for rank in c10d.get_process_group_ranks(group))
        self.name = str(group.group_name)
        self.description = str(getattr(group, "group_desc", "") or "")
        ranks = ranks_text(self.ranks)
        if len(ranks) > _MOST_RANKS_BYTES:
            ranks = f"{len(self.ranks)}*"
        self.text = f" group={quoted(self.name)[:100]} ranks={ranks}"
        if self.description not in ("", "undefined", self.name):
            self.text += f" description={quoted(self.description)[:150]}"
        self.crosses_nodes: Optional[bool] = None
        self.counts = False  # some backends count nothing
        with contextlib.suppress(AttributeError, RuntimeError):
            group._get_sequence_number_for_group()
            self.counts = True

    def next_number(self) -> int:
        """The number that PyTorch gives the group's next collective."""
        group: Any = self.group()
        return int(group._get_sequence_number_for_group()) + 1


class Groups:
    """The groups that calls name, each looked at once."""

    def __init__(self, torch: Any) -> None:
        self._c10d = torch.distributed.distributed_c10d
        self._world = self._c10d._world
        self._functional = torch.distributed._functional_collectives
        self._process_group = torch.distributed.ProcessGroup
        self._groups: dict[int, Group] = {}
        self._hosts: dict[int, str] = {}
        self._hosts_from: Any = lambda: None  # the group whose store has them
        self._ask_again_s: Optional[float] = None  # None: the ranks were not asked yet

    def find(self, group: Any) -> Optional[Group]:
        """The group that a call's argument means; None if this rank is not in it."""
        if group is None:
            group = self._world.default_pg
        # Groups are never kept alive: to take one apart is to end its communicators.
        found = self._groups.get(id(group))
        if found is not None and found.group() is group:
            return found
        if not isinstance(group, self._process_group):
            if group is None or self._c10d._rank_not_in_group(group):
                return None
            # The functional collectives take ranks, meshes and names, too.
            resolved = self._functional._resolve_group(group)
            if isinstance(resolved, str):
                resolved = self._c10d._resolve_process_group(resolved)
            return self.find(resolved) if isinstance(resolved, self._process_group) else None
        found = self._groups[id(group)] = Group(self._c10d, group)
        return found

    def publish_host(self) -> None:
        """Gives the other ranks this one's host, once a default process group is there."""
        world = self._c10d.GroupMember.WORLD
        if world is None or self._hosts_from() is world:
            return
        self._hosts_from, self._hosts, self._ask_again_s = weakref.ref(world), {}, None
        store = self._c10d._get_default_store()
        store.set(f"ringside/host/{self._c10d.get_rank()}", host_identity())

    def crosses_nodes(self, group: Group) -> bool:
        """Whether ranks of the group are on several hosts. While this is not known, they are."""
        if group.crosses_nodes is None:
            group.crosses_nodes = self._differ(group.ranks)
        return group.crosses_nodes is not False

    def is_on_other_node(self, rank: int, peer: int) -> bool:
        return self._differ((rank, peer)) is not False

    def _differ(self, ranks: Sequence[int]) -> Optional[bool]:
        """None: a rank has not given its host. Perhaps it does not annotate."""
        self.publish_host()
        unknown = [rank for rank in ranks if rank not in self._hosts]
        if unknown:
            self._ask_for_hosts(unknown)
        hosts = {self._hosts.get(rank) for rank in ranks}
        known = len(hosts - {None})
        return True if known > 1 else None if None in hosts else False

    def _ask_for_hosts(self, ranks: Sequence[int]) -> None:
        now_s = time.monotonic()
        if self._ask_again_s is not None and now_s < self._ask_again_s:
            return
        keys = [f"ringside/host/{rank}" for rank in ranks]
        store = self._c10d._get_default_store()
        try:
            if self._ask_again_s is None:
                self._ask_again_s = now_s
                store.wait(keys, _HOSTS_WAIT)
            elif not store.check(keys):
                self._ask_again_s = now_s + _ASK_AGAIN_S
                return
            for rank, key in zip(ranks, keys):
                self._hosts[rank] = store.get(key).decode()
        except RuntimeError:
            self._ask_again_s = time.monotonic() + _ASK_AGAIN_S
