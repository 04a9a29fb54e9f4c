# SPDX-License-Identifier: Apache-2.0
"""Cases with nothing but what PyTorch's profiler wrote: a simulated job, whose delays are known."""

import gzip
import json
import random

import hang_inputs

BASE_NS = 1_790_857_026_000_000_000
HOST_CLOCK_US = (0.0, 730.0)  # by which the second host's clock is ahead
TRANSFER_US = {"tp": 180.0, "dp": 2_000.0}
COMPUTE_US = 700.0
LAYERS = 4
FLOATS = {"tp": 1 << 18, "dp": 1 << 22}


def job(ranks=8, steps=6, slow=None, slower=1.0, has_calls=True, has_seq=True, skipped=0, has_pairs=True,
        overlaps=False):
    """Each step: layers that compute and all-reduce in pairs of ranks, or all ranks together, then one
    all-reduce of all. A rank's own computing takes `slower` times as long, and goes on during the all-reduces of
    its layers if these overlap. Events by rank, and the length of the job in us."""
    generator = random.Random(7)
    ready_us = [1_000.0] * ranks
    free_us = ready_us[:]  # by rank: its stream of communication
    events = [[] for _ in range(ranks)]
    number = [0] * ranks
    counts = [{} for _ in range(ranks)]

    def event(rank, **members):
        shift_us = HOST_CLOCK_US[rank * 2 // ranks]
        members["ts"] = round(members["ts"] + shift_us, 3)
        members["dur"] = round(members["dur"], 3)
        events[rank].append({"ph": "X", **members})

    def all_reduce(members, kind, step, called_us):
        start_us = [max(times) for times in zip(ready_us, free_us)]
        end_us = max(start_us[r] for r in members) + TRANSFER_US[kind] / (5 if overlaps else 1)
        for rank in members:
            number[rank] += 1
            group = f"{1 + members[0] // 2}" if kind == "tp" else "0"
            seq = counts[rank][group] = counts[rank].get(group, 0) + 1
            if step >= skipped * (rank % 2):
                described = {"Collective name": "allreduce", "In msg nelems": FLOATS[kind],
                             "Out msg nelems": FLOATS[kind], "Group size": len(members),
                             "dtype": "Float", "Process Group Name": group,
                             "Process Group Description": f"mesh_{kind}",
                             "Process Group Ranks": str(list(members))}
                if has_seq:
                    described["Seq"] = seq
                identity = {"External id": number[rank]}
                correlation = {"correlation": 1000 + number[rank]}
                called_at_us = called_us[rank] = called_us[rank] + 30
                event(rank, cat="cpu_op", name="record_param_comms", pid=100 + rank, tid=100 + rank,
                      ts=called_at_us, dur=20, args={**identity, **(described if has_calls else {})})
                event(rank, cat="cuda_runtime", name="cudaLaunchKernelExC", pid=100 + rank,
                      tid=100 + rank, ts=called_at_us + 5, dur=4, args={**identity, **correlation})
                event(rank, cat="kernel", name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs"
                      "Storage<4096ul>)", pid=rank, tid=20 + int(group), ts=start_us[rank],
                      dur=end_us - start_us[rank],
                      args={**identity, **correlation, "device": rank % 4, "context": 1,
                            "stream": 20 + int(group)})
            free_us[rank] = end_us
            ready_us[rank] = ready_us[rank] if overlaps else end_us

    for step in range(steps):
        step_us = ready_us[:]
        called_us = [at_us + 10 for at_us in step_us]
        for _ in range(LAYERS):
            for rank in range(ranks):
                compute_us = COMPUTE_US * generator.gauss(1, 0.01)
                ready_us[rank] += compute_us * (slower if rank == slow else 1)
            if not has_pairs:
                all_reduce(list(range(ranks)), "dp", step, called_us)
            for first in range(0, ranks if has_pairs else 0, 2):
                all_reduce([first, first + 1], "tp", step, called_us)
        all_reduce(list(range(ranks)), "dp", step, called_us)
        ready_us = [max(times) for times in zip(ready_us, free_us)]
        for rank in range(ranks):
            if step >= skipped * (rank % 2):
                event(rank, cat="user_annotation", name=f"ProfilerStep#{step}", pid=100 + rank,
                      tid=100 + rank, ts=step_us[rank], dur=ready_us[rank] - step_us[rank],
                      args={"External id": 0})
    return events, max(ready_us) - 1_000


def files(ranks=8, named=True, has_groups=True, has_host=False, **of_job):
    made = {}
    for rank, events in enumerate(job(ranks, **of_job)[0]):
        pairs = [{"pg_name": f"{1 + rank // 2}", "pg_desc": "mesh_tp", "pg_size": 2,
                  "ranks": [rank // 2 * 2, rank // 2 * 2 + 1]}]
        info = {"backend": "nccl", "rank": rank, "world_size": ranks}
        if has_groups:
            info["pg_config"] = [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": ranks,
                                  "ranks": list(range(ranks))}, *pairs]
        host = rank * 2 // ranks
        name = f"node{host}_{100 + rank}.{1000 + rank}.pt.trace.json.gz" if named else f"rank{rank}.json.gz"
        described = {}
        if has_host:
            info["nccl_version"] = "2.27.5"
            described = {"host_name": f"node{host}"}
        text = json.dumps({"schemaVersion": 1, "distributedInfo": info, "baseTimeNanoseconds": BASE_NS,
                           **described, "traceEvents": events})
        made[f"profiles/{name}"] = gzip.compress(text.encode(), mtime=0)
    return made


def changed(made, rank, change):
    """The same files, one rank's events as `change` has them."""
    name = next(path for path in made if path.startswith(f"profiles/node{rank * 2 // len(made)}_{100 + rank}."))
    trace = json.loads(gzip.decompress(made[name]))
    trace["traceEvents"] = change(trace["traceEvents"])
    return {**made, name: gzip.compress(json.dumps(trace).encode(), mtime=0)}


def calls_another_function(events):
    """The third call of the group of all is an all-gather."""
    calls = [event["args"] for event in events if event["args"].get("Process Group Name") == "0"]
    calls[2]["Collective name"] = "_allgather_base"
    return events


def sends_without_calls():
    """As profilers before PyTorch 2.2 wrote them: nothing says which ranks a kernel joins."""
    def rename(events):
        for event in events:
            event["name"] = event["name"].replace("AllReduce_Sum_f32_RING_LL", "SendRecv")
        return events

    made = files(ranks=2, has_calls=False)
    for rank in range(2):
        made = changed(made, rank, rename)
    return made


def behind_metadata(made):
    """As TraceLens has some: what a tool says of the run comes first, for more than 4 KiB."""
    def first(text):
        return json.dumps({"metadata": {"command": "python3 " * 1000}, **json.loads(text)})

    return {path: gzip.compress(first(gzip.decompress(text)).encode(), mtime=0) for path, text in made.items()}


def graphs():
    """The pairs' reductions are replayed by CUDA graphs: NCCL's kernels, and no call of theirs. Rank 2 is slow."""
    def without_calls(events):
        return [event for event in events if event["args"].get("Process Group Description") != "mesh_tp"]

    made = files(ranks=4, slow=2, slower=1.3)
    for rank in range(4):
        made = changed(made, rank, without_calls)
    return made


def kernels_of_others():
    """Pairs of ranks reduce by vLLM's kernels. Rank 2 is slow, and rank 3 waits for it within them, where it is
    as slow for all who see NCCL's calls only: so nobody can be named."""
    def without_nccl(events):
        pairs = {event["args"]["External id"] for event in events
                 if event["args"].get("Process Group Description") == "mesh_tp"}
        for event in events:
            if event["args"].get("External id") in pairs:
                if event["name"] == "record_param_comms":
                    event["args"] = {"External id": event["args"]["External id"]}
                elif event["cat"] == "kernel":
                    event["name"] = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)"
        return events

    made = files(ranks=4, slow=2, slower=1.3)
    for rank in range(4):
        made = changed(made, rank, without_nccl)
    return made


def exchanges():
    """Two ranks, three steps: a batch of a send and a receive that one kernel runs, an exchange of all in which
    the ranks give different sizes, and an all-reduce of vLLM's own, which NCCL knows nothing of."""
    made = {}
    for rank in range(2):
        events = []
        number = 0

        def call(at_us, launched, **arguments):
            nonlocal number
            number += 1
            identity = {"External id": number}
            events.append({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 100 + rank,
                           "tid": 100 + rank, "ts": at_us, "dur": 10,
                           "args": {**identity, "Process Group Name": "0", "Group size": 2,
                                    "dtype": "BFloat16", **arguments}})
            return identity if launched else None

        def kernel(name, at_us, dur_us, launched_us, identity):
            correlation = {**identity, "correlation": 500 + number}
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC",
                           "pid": 100 + rank, "tid": 100 + rank, "ts": launched_us, "dur": 3,
                           "args": correlation})
            events.append({"ph": "X", "cat": "kernel", "name": name, "pid": rank, "tid": 20, "ts": at_us,
                           "dur": dur_us, "args": {**correlation, "device": rank, "stream": 20}})

        for step in range(3):
            at_us = 1_000 + 1_000 * step
            both = {"In msg nelems": 4096, "Out msg nelems": 4096}
            call(at_us, False, **{"Collective name": "send", "Dst Rank": 1 - rank, **both})
            call(at_us + 15, False, **{"Collective name": "recv", "Src Rank": 1 - rank, **both})
            kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", at_us + 60, 100,
                   at_us + 40, {})
            identity = call(at_us + 100, True, **{
                "Collective name": "all_to_allv", "In msg nelems": 1000 + 500 * rank + step,
                "Out msg nelems": 1500 - 500 * rank + step, "Seq": step + 1})
            kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", at_us + 300, 200,
                   at_us + 104, identity)
            kernel("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)",
                   at_us + 600, 50, at_us + 550, {})
        info = {"rank": rank, "world_size": 2,
                "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 1]}]}
        made[f"profiles/rank{rank}.json"] = json.dumps(
            {"schemaVersion": 1, "distributedInfo": info, "baseTimeNanoseconds": BASE_NS,
             "traceEvents": events}, indent=0)
    return made


def pipeline():
    """Four ranks, three steps: each hands on to the next, as newer releases of PyTorch say it (the peer is in
    "Rank"), and then a batch whose peers no release says."""
    made = {}
    for rank in range(4):
        events = []

        def call(name, peer, at_us):
            identity = {"External id": len(events) + 1}
            correlation = {**identity, "correlation": 500 + len(events)}
            events.extend([
                {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 100 + rank, "tid": 100 + rank,
                 "ts": at_us, "dur": 10, "args": {
                     **identity, "Collective name": name, "Rank": peer, "In msg nelems": 512,
                     "Out msg nelems": 512, "Group size": 4, "dtype": "Float", "Process Group Name": "0"}},
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 100 + rank,
                 "tid": 100 + rank, "ts": at_us + 4, "dur": 3, "args": correlation},
                {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
                 "pid": rank, "tid": 20, "ts": at_us + 20, "dur": 40,
                 "args": {**correlation, "device": rank, "stream": 20}}])

        for step in range(3):
            at_us = 1_000 + 1_000 * step + 100 * rank
            if rank > 0:
                call("recv", rank - 1, at_us)
            if rank < 3:
                call("send", rank + 1, at_us + 100)
            call("batch_op_issue", rank, 1_700 + 1_000 * step)
        info = {"rank": rank, "world_size": 4,
                "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 1, 2, 3]}]}
        made[f"profiles/rank{rank}.json"] = json.dumps(
            {"schemaVersion": 1, "distributedInfo": info, "baseTimeNanoseconds": BASE_NS,
             "traceEvents": events}, indent=0)
    return made


def with_members(made, change):
    """The same files, their objects as `change` has them."""
    return {path: gzip.compress(json.dumps(change(json.loads(gzip.decompress(text)))).encode(), mtime=0)
            for path, text in made.items()}


def without_sizes():
    """Calls that say neither the size of their group nor its ranks, of a profile without groups."""
    def change(trace):
        trace["distributedInfo"].pop("pg_config")
        for event in trace["traceEvents"]:
            for key in ("Group size", "Process Group Ranks"):
                event["args"].pop(key, None)
        return trace

    return with_members(files(ranks=4, steps=2), change)


def numbers_as_text():
    """Each number that says what something is, is written as a text. Rank 2 calls another function."""
    def change(trace):
        info = trace["distributedInfo"]
        info |= {"rank": str(info["rank"]), "world_size": str(info["world_size"])}
        for group in info["pg_config"]:
            group["ranks"] = [str(rank) for rank in group["ranks"]]
        for event in trace["traceEvents"]:
            event["args"] = {key: str(value) for key, value in event["args"].items()}
        return trace

    return with_members(changed(files(ranks=4, steps=3), 2, calls_another_function), change)


def halves(host="node0"):
    """Ranks 0 and 1 of a run, and ranks 2 and 3 of one an hour later, on one host, or nobody knows where."""
    def change(trace):
        trace["host_name"] = host
        trace["baseTimeNanoseconds"] += 3600 * 10**9 if trace["distributedInfo"]["rank"] >= 2 else 0
        return trace

    return with_members(files(ranks=4, steps=2, named=False, has_pairs=False), change)


def on_host(trace, host):
    """All ranks on one host, and so on one clock, if it has a name."""
    rank = trace["distributedInfo"]["rank"]
    for event in trace["traceEvents"]:
        event["ts"] -= HOST_CLOCK_US[2 * rank // trace["distributedInfo"]["world_size"]] if host else 0
    return trace | {"host_name": host}


def alike(ranks=4, steps=4, **of_job):
    """All ranks reduce together, five times in each step."""
    return files(ranks=ranks, steps=steps, named=False, has_pairs=False, **of_job)


def without_kernels():
    """Rank 2's profile has calls and no kernels; rank 3 computes longer."""
    def change(trace):
        if trace["distributedInfo"]["rank"] == 2:
            trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("cat") != "kernel"]
        return on_host(trace, "node0")

    return with_members(alike(slow=3, slower=1.5), change)


def other_steps():
    """Calls without numbers, counted from other steps of the profiler on each rank, at one time."""
    def change(trace):
        for event in trace["traceEvents"]:
            event["name"] = event["name"].replace("Step#", f"Step#{trace['distributedInfo']['rank']}")
        return on_host(trace, "node0")

    return with_members(alike(has_seq=False), change)


def without_steps(made, host="", first=0):
    """Calls without numbers, of a profile without steps. Rank 1's begins with the calls of the step `first`."""
    def change(trace):
        events = trace["traceEvents"]
        begin_us = next(event["ts"] for event in events if event["name"] == f"ProfilerStep#{first}")
        late = {event["args"]["External id"] for event in events
                if event["name"] == "record_param_comms" and event["ts"] >= begin_us}
        is_late = trace["distributedInfo"]["rank"] == 1
        trace["traceEvents"] = [event for event in events if event["cat"] != "user_annotation"
                                and not (is_late and event["args"]["External id"] not in late)]
        return on_host(trace, host)

    return with_members(made, change)


def kernels_behind():
    """A profile without calls whose GPU runs a step behind the CPU. What the first step runs was launched before."""
    def change(trace):
        events = trace["traceEvents"]
        steps_us = [event["ts"] for event in events if event["cat"] == "user_annotation"]
        trace["traceEvents"] = [event for event in events
                                if event["cat"] == "kernel" or event["ts"] >= steps_us[1]]
        for event in trace["traceEvents"]:
            event["ts"] += steps_us[1] - steps_us[0] if event["cat"] == "kernel" else 0
            event["dur"] -= 1 if event["cat"] == "user_annotation" else 0
        return trace

    return with_members(files(ranks=1, has_calls=False, has_pairs=False), change)


def old_categories():
    """As PyTorch before 1.13 named them."""
    names = {"cpu_op": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel"}

    def change(trace):
        for event in trace["traceEvents"]:
            event["cat"] = names.get(event["cat"], event["cat"])
        return trace

    return with_members(alike(slow=2, slower=1.5), change)


def beside(made, others):
    return {"dumps/" + path.split("/")[-1]: text for path, text in {**made, **others}.items()}


def uneven_exchange():
    """In the second step rank 1 takes 64 elements more than rank 0 gives it."""
    made = exchanges()
    trace = json.loads(made["profiles/rank1.json"])
    calls = [event["args"] for event in trace["traceEvents"] if event["args"].get("Collective name") == "all_to_allv"]
    calls[1]["Out msg nelems"] += 64
    return {**made, "profiles/rank1.json": json.dumps(trace, indent=0)}


def early():
    """An annotation begins three seconds before the first call: in another second of the clock."""
    def later(trace):
        for event in trace["traceEvents"]:
            event["ts"] += 4_000_000
        trace["traceEvents"].insert(0, {"ph": "X", "cat": "user_annotation", "name": "load the data", "pid": 7, "tid": 7,
                                        "ts": 1_000_000, "dur": 2_500_000, "args": {}})
        return trace

    return with_members(files(ranks=2, steps=1, has_pairs=False), later)


def without_distributed_info(says_rank):
    """No profile names its rank. Rank 2 is slow. The calls say the place in the group, or only its ranks, which the
    groups of a mesh have one of in common."""
    def change(trace):
        del trace["distributedInfo"]
        for event in trace["traceEvents"]:
            ranks = event["args"].get("Process Group Ranks")
            if ranks and says_rank:
                event["args"]["Rank"] = json.loads(ranks).index(event["pid"] - 100)
            elif ranks and len(json.loads(ranks)) > 2:
                column = (event["pid"] - 100) % 2
                event["args"] |= {"Process Group Name": f"column{column}", "Group size": 2,
                                  "Process Group Ranks": str([column, column + 2])}
        return trace

    made = with_members(files(ranks=4, slow=2, slower=1.3), change)
    return {f"profiles/{i}.json.gz": text for i, text in enumerate(made.values())}


def groups_of_one():
    """Pairs reduce together, and each rank with itself: kernels that wait for nobody. Rank 1 is slow."""
    def change(trace):
        rank = trace["distributedInfo"]["rank"]
        for event in trace["traceEvents"]:
            if event["args"].get("Process Group Name") == "0":
                event["args"] |= {"Process Group Name": f"dp{rank}", "Group size": 1, "Process Group Ranks": f"[{rank}]"}
        return trace

    return with_members(files(ranks=2, slow=1, slower=1.5), change)


def cut():
    """Rank 1 of two was killed while it wrote its profile."""
    made = files(ranks=2, steps=2)
    name = next(path for path in made if "_101." in path)
    text = gzip.decompress(made.pop(name))
    return {**made, name.removesuffix(".gz"): text[:len(text) * 2 // 3]}


def without_times():
    """Two kernels of rank 1 are not numbers long, as a script has them that divides by zero."""
    def change(events):
        for event in [event for event in events if event["cat"] == "kernel"][3:5]:
            event["dur"] = float("nan")
        return events

    return changed(files(ranks=2, steps=2), 1, change)


def edited():
    """Profiles that a script has written again: with a byte order mark, and a comma behind the last event."""
    made = {}
    for path, text in files(ranks=2, steps=2).items():
        trace = json.loads(gzip.decompress(text))
        events = ",".join(map(json.dumps, trace.pop("traceEvents")))
        made[path.removesuffix(".gz")] = ("\ufeff" + json.dumps(trace)[:-1] + ', "traceEvents": [' + events + ",],}").encode()
    return made


def roots():
    """The last call of each step broadcasts from rank 0. Rank 2 takes rank 1 for the root of the second one."""
    def change(trace):
        rooted = set()
        for event in trace["traceEvents"]:
            if event["args"].get("Seq", 1) % 5 == 0:
                event["args"] |= {"Collective name": "broadcast", "Rank": 0}
                rooted.add(event["args"]["External id"])
            if event["cat"] == "kernel" and event["args"]["External id"] in rooted:
                event["name"] = event["name"].replace("AllReduce_Sum_f32", "Broadcast")
        calls = [event["args"] for event in trace["traceEvents"] if "Rank" in event["args"]]
        calls[1]["Rank"] += 1 if trace["distributedInfo"]["rank"] == 2 else 0
        return trace

    return with_members(alike(steps=3), change)


def name_again():
    """The group of all has the name that the first pair's had, as after init_process_group() once more."""
    def change(trace):
        for one in trace["distributedInfo"]["pg_config"]:
            one["pg_name"] = one["pg_name"].replace("0", "1")
        for event in trace["traceEvents"]:
            if event["args"].get("Process Group Name") == "0":
                event["args"]["Process Group Name"] = "1"
        return trace

    return with_members(files(ranks=4, steps=2), change)


KERNELS = ("ncclAllReduceRingLLKernel_sum_f16(ncclColl)", "ncclReduceScatterRingLL128Kernel_sum_f32(ncclColl)",
           "mscclKernel_Sum_half_Simple_false(ncclDevComm*, mscclAlgo*, mscclWork*)", "ncclSymkDevKernel_AllGather_STMC(int)",
           "void deep_ep::internode_ll::dispatch<false, 7168>(void*)", "void mscclpp::allreduce7<__half>(int)",
           "EpCombineIntraNodeKernel_bf16", "void mori::moe::EpDispatchIntraNodeKernel<__hip_bfloat16>(int)",
           "void flashinfer::trtllm_alltoall::moeAllToAllKernel(int)", "void pplx::dispatchKernel<4>(int)",
           "void hybrid_ep::combine_kernel<2>(int)", "void tensorrt_llm::kernels::moeA2ADispatchKernel<8>(int)",
           "dispatch_gemm_kernel", "void cutlass::device_kernel<flashinfer::gemm::one>(int)")


def kernels_by_name():
    """One of each, 100 us long, without calls: the last two do not communicate."""
    events = [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1000 + 200 * i, "dur": 100,
               "args": {"device": 0, "stream": 7, "correlation": i}} for i, name in enumerate(KERNELS)]
    return {"profiles/rank0.json": json.dumps(
        {"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 2}, "baseTimeNanoseconds": BASE_NS,
         "traceEvents": events}, indent=0)}


def cases():
    slow = "../profiles-slow-rank/profiles"
    return {
        "profiles-slow-rank": ("summary profiles", files(slow=5, slower=1.5)),
        "profiles-slow-rank-json": ("stragglers --format json " + slow, {}),
        "profiles-what-if": ("what-if --balanced " + slow, {}),
        "profiles-overlap": ("overlap " + slow, {}),
        "profiles-hang": ("hang " + slow, {}),
        "profiles-calls": ("calls --top 4 " + slow, {}),
        "profiles-merge": ("merge -o - --top-slowest 2 " + slow, {}),
        "profiles-one-rank": (f"summary --no-findings {slow}/node0_100.1000.pt.trace.json.gz", {}),
        "profiles-no-groups": ("summary --no-findings profiles", files(named=False, has_groups=False)),
        "profiles-host-name": ("summary --no-findings profiles", files(named=False, has_host=True)),
        "profiles-other-function": ("match profiles", changed(files(ranks=4), 2, calls_another_function)),
        "profiles-other-function-json": ("summary --format json ../profiles-other-function/profiles", {}),
        "profiles-begin-later": ("match profiles", files(skipped=2)),
        "profiles-kernels-only": ("summary --no-findings profiles", files(ranks=2, has_calls=False)),
        "profiles-sends-without-calls": ("summary profiles", sends_without_calls()),
        "profiles-behind-metadata": ("stragglers profiles", behind_metadata(files(ranks=2, slow=1, slower=1.5))),
        "profiles-below": ("summary logs", {
            path.replace("profiles/", "logs/run/"): text for path, text in files(ranks=2).items()}),
        "profiles-without-kernels-path": ("critical-path ../profiles-without-kernels/profiles", {}),
        "profiles-below-each": ("stragglers logs", {
            path.replace("profiles/node", "logs/rank").replace("_", "/"): text for path, text in files(ranks=2).items()}),
        "profiles-graphs": ("stragglers profiles", graphs()),
        "profiles-kernels-of-others": ("stragglers profiles", kernels_of_others()),
        "profiles-pipeline": ("summary profiles", pipeline()),
        "profiles-merge-early": ("merge -o - profiles", early()),
        "profiles-rank-of-calls": ("stragglers profiles", without_distributed_info(True)),
        "profiles-rank-of-groups": ("match profiles", without_distributed_info(False)),
        "profiles-cut": ("match profiles", cut()),
        "profiles-cut-calls": ("calls --top 3 ../profiles-cut/profiles", {}),
        "profiles-edited": ("match profiles", edited()),
        "profiles-kernel-names": ("calls profiles", kernels_by_name()),
        "profiles-from-step": (f"calls --top 3 --from 'mark:ProfilerStep#2' --to 'mark:ProfilerStep#3' {slow}", {}),
        "profiles-kernels-only-match": ("match ../profiles-kernels-only/profiles", {}),
        "profiles-kernels-of-others-match": ("match ../profiles-kernels-of-others/profiles", {}),
        "profiles-no-sizes": ("match profiles", without_sizes()),
        "profiles-no-sizes-stragglers": ("stragglers ../profiles-no-sizes/profiles", {}),
        "profiles-no-sizes-summary": ("summary ../profiles-no-sizes/profiles", {}),
        "profiles-numbers-as-text": ("match profiles", numbers_as_text()),
        "profiles-graphs-match": ("match ../profiles-graphs/profiles", {}),
        "profiles-two-runs": ("match profiles", halves()),
        "profiles-two-runs-stragglers": ("stragglers ../profiles-two-runs/profiles", {}),
        "profiles-two-runs-no-host": ("match profiles", halves("")),
        "profiles-no-numbers-late": ("match profiles", without_steps(alike(has_seq=False), "node0", 2)),
        "profiles-no-numbers-late-no-host": ("match profiles", without_steps(alike(has_seq=False), first=2)),
        "profiles-no-numbers": ("match profiles", without_steps(alike(has_seq=False))),
        "profiles-no-numbers-other-steps": ("match profiles", other_steps()),
        "profiles-without-kernels": ("stragglers profiles", without_kernels()),
        "profiles-late-stragglers": ("stragglers profiles", alike(steps=12, skipped=2, slow=3, slower=1.5)),
        "profiles-late-fail-on": ("summary --fail-on mismatch,missing,unfinished,state ../profiles-late-stragglers/profiles", {}),
        "profiles-alike-calls": ("iterations profiles", without_steps(alike(steps=8))),
        "profiles-alike-calls-compare": ("compare ../profiles-alike-calls/profiles profiles", alike(steps=8)),
        "profiles-kernels-behind": ("iterations profiles", kernels_behind()),
        "profiles-old-categories": ("stragglers profiles", old_categories()),
        "profiles-beside-dumps": ("summary --no-findings dumps", beside(alike(), hang_inputs.all_called(3))),
        "profiles-beside-dumps-hang": ("hang ../profiles-beside-dumps/dumps", {}),
        "profiles-uneven-exchange": ("match profiles", uneven_exchange()),
        "profiles-name-again": ("communicators profiles", name_again()),
        "profiles-cut-summary": ("summary ../profiles-cut/profiles", {}),
        "profiles-topology": ("topology ../profiles-cut/profiles", {}),
        "profiles-without-times": ("summary --no-findings profiles", without_times()),
        "profiles-root": ("match profiles", roots()),
        "profiles-groups-of-one": ("stragglers profiles", groups_of_one()),
        "profiles-exchanges": ("summary profiles", exchanges()),
    }
