#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads one trace with simdjson alone, with the analyzer's loader, and with Python, in turns.

Each pass is a process of its own and reads the file from the page cache. Python and pandas read the
first --python-lines lines only. Prints, for each, the least time and the least processor time of the
rounds, bytes of the file by both, and the peak of memory by events; of Python's without what the
interpreter and its libraries take before they read. A core's rate is by processor time: that is the
one to compare on a machine that is shared, and "of simdjson" compares it. The trace is FILE, or one that
ringside_generate makes and that is deleted again:

  compare_load.py --bench build/test/bench/ringside_bench_load FILE
  compare_load.py --bench ... --generate build/test/generate/ringside_generate \\
      --options "--full --hosts 2 --ranks-per-host 1 --iterations 210000 --lose 1"
"""
import argparse
import importlib
import itertools
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time


def peak_bytes():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def events_of(path, most):
    """The lines that hold events, without what makes them an array."""
    with open(path, "rb") as file:
        for line in itertools.islice(file, most):
            text = line.strip().rstrip(b",").lstrip(b"[")
            if text and text != b"]":
                yield text


def read_with_json(path, most):
    """All events stay in memory, as they do for the tools that begin with json.load()."""
    return [json.loads(text) for text in events_of(path, most)]


def read_with_pandas(path, most):
    import io  # pylint: disable=import-outside-toplevel
    import pandas  # pylint: disable=import-outside-toplevel,import-error
    return pandas.read_json(io.BytesIO(b"\n".join(events_of(path, most))), lines=True)


def read_here(reader, path, most):
    """Runs in the process that is measured. Libraries are loaded before the clock starts."""
    if reader == "pandas":
        importlib.import_module("pandas")
    size = sum(len(line) for line in itertools.islice(open(path, "rb"), most))
    before = peak_bytes()
    begin = time.perf_counter()
    cpu = time.process_time()
    events = (read_with_pandas if reader == "pandas" else read_with_json)(path, most)
    result = {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - cpu,
              "bytes": size, "events": len(events), "bad_lines": 0,
              "peak_bytes": peak_bytes() - before}
    print(json.dumps(result))


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def commands(options, path):
    here = [options.python, os.path.abspath(__file__), "--most", str(options.python_lines), str(path)]
    yield "simdjson, every field", [options.bench, "simdjson", path]
    yield "loader, 1 thread", [options.bench, "loader", "--threads", "1", path]
    yield f"loader, {os.cpu_count()} threads", [options.bench, "loader", "--threads", "0", path]
    if options.python_lines > 0:
        yield "Python json.loads", here + ["--read-here", "json"]
        if subprocess.run([options.python, "-c", "import pandas"], capture_output=True,
                          check=False).returncode == 0:
            yield "pandas.read_json", here + ["--read-here", "pandas"]
        else:
            print(f"pandas left out: {options.python} does not have it", file=sys.stderr)


def measure(options, path):
    with open(path, "rb") as file:  # into the page cache
        while file.read(1 << 24):
            pass
    passes = dict(commands(options, path))
    best = {}
    for number in range(options.rounds):
        for name, command in passes.items():
            result = run(command)
            least = best.setdefault(name, result)
            for key in ("seconds", "cpu_seconds", "peak_bytes"):
                least[key] = min(least[key], result[key])
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    loaded = best["loader, 1 thread"]
    print(f"{path.stat().st_size:,} bytes, {loaded['events']:,} events, "
          f"{loaded['bad_lines']:,} bad lines")
    print(f"{'reader':24}{'seconds':>9}{'CPU s':>9}{'GB/s':>8}{'a core':>8}{'of simdjson':>13}"
          f"{'peak bytes':>15}{'bytes/event':>13}")
    base = best["simdjson, every field"]
    base_rate = base["bytes"] / base["cpu_seconds"]
    for name, result in best.items():
        rate = result["bytes"] / result["cpu_seconds"]
        print(f"{name:24}{result['seconds']:9.2f}{result['cpu_seconds']:9.2f}"
              f"{result['bytes'] / result['seconds'] / 1e9:8.3f}{rate / 1e9:8.3f}"
              f"{rate / base_rate:13.3f}{result['peak_bytes']:15,}"
              f"{result['peak_bytes'] / max(1, result['events']):13.1f}")
    different = [name for name, result in best.items()
                 if name.startswith("loader") and result["events"] != base["events"]]
    if different:
        sys.exit(f"{different} did not see the {base['events']} events that simdjson saw")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=pathlib.Path)
    parser.add_argument("--bench", help="ringside_bench_load")
    parser.add_argument("--generate", help="ringside_generate; the largest file that it makes is read")
    parser.add_argument("--options", default="--full --iterations 20", help="of ringside_generate")
    parser.add_argument("--directory", help="where to generate (default: the temporary one)")
    parser.add_argument("--python", default=sys.executable, help="one that has pandas")
    parser.add_argument("--python-lines", type=int, default=1_000_000, help="0: neither of the two")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--read-here", choices=("json", "pandas"), help=argparse.SUPPRESS)
    parser.add_argument("--most", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read_here:
        read_here(options.read_here, options.file, options.most)
    elif options.generate:
        with tempfile.TemporaryDirectory(prefix="ringside-load-", dir=options.directory) as directory:
            traces = os.path.join(directory, "traces")
            subprocess.run([options.generate, traces, *options.options.split()], check=True,
                           timeout=3600)
            measure(options, max(pathlib.Path(traces).glob("*.json"),
                                 key=lambda path: path.stat().st_size))
    elif options.file:
        measure(options, options.file)
    else:
        parser.error("name a FILE, or --generate")
    return 0


if __name__ == "__main__":
    sys.exit(main())
