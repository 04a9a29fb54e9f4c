#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What profiles of PyTorch alone say of a slow rank; the truth is the same simulated job without the delay.

    check_profiles.py RINGSIDE
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import profile_inputs

NEAR = 0.15  # of the true saving, relative
FORMS = {"numbered": {}, "without numbers": {"has_seq": False},
         "without names and groups": {"named": False, "has_groups": False},
         "beside computing, four steps": {"steps": 4, "has_pairs": False, "overlaps": True},
         # The calls do not show what a step is; the profiler says it.
         "two steps of calls that are alike": {"steps": 2, "has_pairs": False}}


def stragglers(ringside, files):
    with tempfile.TemporaryDirectory() as directory:
        for name, content in files.items():
            path = pathlib.Path(directory, name)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        run = subprocess.run([ringside, "stragglers", "--format", "json", directory + "/profiles"],
                             capture_output=True, text=True, check=False)
    assert run.stdout, run.stderr
    return json.loads(run.stdout)


def main():
    ringside = sys.argv[1]
    troubles = 0
    for form, options in FORMS.items():
        shape = {key: options[key] for key in ("steps", "has_pairs", "overlaps") if key in options}
        usual_us = profile_inputs.job(**shape)[1]
        # Computing that takes twice as long keeps the others' streams busy, and hides what they computed.
        slowed = ((None, 1.0), (5, 1.15), (2, 1.5), (7, 2.0))[:3 if "overlaps" in options else 4]
        for slow, slower in slowed:
            answer = stragglers(ringside, profile_inputs.files(slow=slow, slower=slower, **options))
            said = {row["who"].split(" (")[0]: row["cost_percent"]
                    for row in answer["tables"].get("slow", {"rows": []})["rows"]}
            true = 100 * (1 - usual_us / profile_inputs.job(slow=slow, slower=slower, **shape)[1])
            is_right = not said if slow is None else (
                list(said) == [f"rank {slow}"] and abs(said[f"rank {slow}"] - true) <= NEAR * true)
            troubles += not is_right
            print(f"{form}: rank {slow} computes {slower} times as long, which costs {true:.1f} %: {said}"
                  f"{'' if is_right else '   WRONG'}")
    print(f"{troubles} troubles")
    return troubles > 0


if __name__ == "__main__":
    sys.exit(main())
