#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of scripts/gpu_check say no where they must, and a result is what its rows say."""

import json
import pathlib
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/gpu_check"))
import machine  # noqa: E402
import parts_events  # noqa: E402
import parts_times  # noqa: E402
from results import FAIL, FIGURE, NOT_RUN, PASS, Failure, Results, require  # noqa: E402

GPU = types.SimpleNamespace(emulated=False)


class OfResults(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.out = pathlib.Path(temporary.name)

    def results(self, budget_s=100):
        return Results(self.out, False, budget_s)

    def test_status_follows_the_rows(self):
        results = self.results()
        self.assertEqual(results.exit_status(), 2)
        for outcome, status in ((NOT_RUN, 2), (FIGURE, 2), (PASS, 0), (FAIL, 1), (PASS, 1)):
            results.add("part", "name", outcome, "detail")
            self.assertEqual(results.exit_status(), status, outcome)
        stored = json.loads((self.out / "result.json").read_text())
        self.assertEqual(stored["counts"], {"pass": 2, "fail": 1, "figure": 1, "not run": 1})

    def test_a_failure_keeps_nothing_else_from_running(self):
        results = self.results()
        failed = []
        results.on_failure = failed.append
        self.assertIsNone(results.run("part", "one", lambda: require(False, "no")))
        self.assertIsNone(results.run("part", "two", lambda: 1 // 0))
        self.assertEqual(results.run("part", "three", lambda: 3), 3)
        self.assertEqual([row["outcome"] for row in results.rows], [FAIL, FAIL])
        self.assertEqual(failed, ["one", "two"])

    def test_without_budget_nothing_runs(self):
        results = self.results(budget_s=5)
        self.assertIsNone(results.run("part", "long", lambda: self.fail("ran"), least_s=20))
        self.assertEqual(results.rows[0]["outcome"], NOT_RUN)

    def test_table(self):
        results = self.results()
        results.add("part", "a|b", PASS, "two\nlines")
        text = (self.out / "result.md").read_text()
        self.assertIn("| part | a\\|b | pass | two lines |", text)

    def test_emulated_is_said(self):
        Results(self.out, True, 1).add("part", "name", PASS, "detail")
        self.assertIn("EMULATED", (self.out / "result.md").read_text())


def call(begin_ns, duration_ns=100_000):
    return {"func": "AllReduce", "bytes": 1024, "earliest_begin_ns": begin_ns - 5_000,
            "latest_begin_ns": begin_ns + 5_000, "duration_ns": duration_ns}


def operation(seq, start_ns, end_ns):
    return {"func": "AllReduce", "bytes": 1024, "seq": seq, "start_ns": start_ns, "end_ns": end_ns,
            "times_from": "gpu"}


class OfTimes(unittest.TestCase):
    """Ten calls, one each millisecond, of 80 us within events that are 100 us apart."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.results = Results(pathlib.Path(temporary.name), False, 100)

    def places(self, shift_ns=0, stretch_ns=0, of_calls=range(10)):
        base = 1_000_000_000
        calls, operations = [], []
        for i in range(10):
            begin = base + i * 1_000_000
            calls.append(call(begin))
            wrong = i in of_calls
            start = begin + 10_000 + (shift_ns if wrong else 0)
            operations.append(operation(i, start, start + 80_000 + (stretch_ns if wrong else 0)))
        trace = types.SimpleNamespace(rank=0, clock_offset_ns=0, operations=operations, lines=[])
        parts_times.check_places(GPU, self.results, [trace], [{("AllReduce", 1024): calls}])

    def test_kernels_within_their_events(self):
        self.places()
        self.assertEqual([row["outcome"] for row in self.results.rows], [PASS, PASS])

    def test_clock_that_is_off(self):
        for shift_ns in (-400_000, 400_000):
            with self.assertRaises(Failure):
                self.places(shift_ns)

    def test_one_kernel_that_is_off(self):
        with self.assertRaises(Failure):
            self.places(300_000, of_calls=(4,))

    def test_kernel_longer_than_its_call(self):
        with self.assertRaises(Failure):
            self.places(stretch_ns=150_000)

    def bandwidth(self, ringside_us):
        factor = parts_times.BUS_FACTORS["AllReduce"]
        row = {"function": "AllReduce", "bytes": 1024, "time_median_us": ringside_us,
               "busbw_gb_s": 1024 * factor / ringside_us / 1e3}
        job = types.SimpleNamespace(report=lambda _: {"communicators": [{"rows": [row]}]})
        of_rank = {("AllReduce", 1024): [call(i * 10_000_000, 1_000_000) for i in range(5)]}
        parts_times.check_bandwidth(GPU, self.results, job, [of_rank, of_rank], "gpu")

    def test_bandwidth(self):
        self.bandwidth(1000)
        self.bandwidth(900)
        for ringside_us in (700, 1300):
            with self.assertRaises(Failure):
                self.bandwidth(ringside_us)


class OfEvents(unittest.TestCase):
    def test_expected_operations(self):
        expected = parts_events.expected_operations(2, 2, 3, ("AllReduce", "AlltoAll"), ["default"])
        # 5 calls of 3 sizes, and 2 of each size and function to average times.
        self.assertEqual(expected, {"AllReduce": 15 + 12, "Send": 30, "Recv": 30})
        only = parts_events.expected_operations(2, 2, 3, ("AllReduce", "AlltoAll"), ["p2p"])
        self.assertEqual(only, {"Send": 30, "Recv": 30})
        only = parts_events.expected_operations(2, 2, 3, ("AllReduce", "AlltoAll"), ["coll"])
        self.assertEqual(only, {"AllReduce": 27})


class OfKeptFiles(unittest.TestCase):
    def test_bounds(self):
        # Beside them are result.json, result.md and perhaps build.log: at most 8 of at most 16 MiB.
        self.assertLessEqual(machine.MOST_KEPT_FILES + 3, 8)
        self.assertLessEqual(machine.MOST_KEPT_FILES * machine.MOST_KEPT_BYTES, 56 << 20)


if __name__ == "__main__":
    unittest.main()
