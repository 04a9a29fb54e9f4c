#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces as tables: who is late, which sizes are slow, which link is.

    python3 load_traces.py traces/

Editors and Jupyter (jupytext) open it as a notebook. Needs pyarrow; tables go on to pandas with
`.to_pandas()`, and to polars with `polars.from_arrow()`.
"""

# %%
import sys

import nccl_ringside

traces = nccl_ringside.load(*sys.argv[1:] or ["traces"])
print(f"{traces.operations.num_rows} operations, {traces.facts.num_rows} calls of ranks")

# %% What is wrong.
for finding in traces.findings.to_pylist():
    print(f"{finding['severity']}: {finding['text']}")

# %% Whom the others waited for: the rank that came last, where the clocks decide it.
late = traces.operations.filter(traces.operations["last_is_decided"].cast("bool"))
late = late.group_by("last_global_rank").aggregate([([], "count_all"), ("waited_ns", "sum")])
for row in late.sort_by([("waited_ns_sum", "descending")]).slice(0, 3).to_pylist():
    print(f"rank {row['last_global_rank']} came last in {row['count_all']} operations; "
          f"the others waited {row['waited_ns_sum'] / 1e6:.1f} ms")

# %% How fast each size was, in GB/s of the algorithm.
for row in traces.sql("""
        SELECT function, bytes, count(*) AS n, avg(1.0 * bytes / busy_ns) AS algbw
        FROM operations WHERE verdict = 'matched' AND busy_ns > 0
        GROUP BY function, bytes ORDER BY function, bytes""").to_pylist():
    print(f"{row['function']} of {row['bytes']} bytes: {row['n']} times, {row['algbw']:.2f} GB/s")

# %% The slowest link, if the traces have steps (RINGSIDE_EVENTS=default,step).
links = [row for row in traces.links.to_pylist() if row["transfer_ns"]]
for row in sorted(links, key=lambda row: row["bytes"] / row["transfer_ns"])[:1]:
    print(f"slowest link: rank {row['from_rank']} to rank {row['to_rank']}, channel {row['channel']}: "
          f"{row['bytes'] / row['transfer_ns']:.2f} GB/s")
