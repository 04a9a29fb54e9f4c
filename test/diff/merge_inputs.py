# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases of `ringside merge`. test/merge tests the contents of merged files."""

from marked_inputs import annotated
from match_inputs import odd_one, ranks
from summary_inputs import segments

MERGED = ('[{"ph":"M","pid":1,"tid":1,"ts":0,"name":"ringside_merged","args":{"format_version":1,'
          '"base_time_s":0,"processes":1,"part":false}},\n'
          '{"ph":"M","pid":1,"tid":1,"ts":0,"name":"ringside_merged_end","args":{"lines":0,"lines_left_out":0}}\n]\n')


def late(trace, rank):
    trace.operation("AllReduce", 8, seq=0, times_from="gpu", dur_us=100.0 + 50.0 * (1 - rank))


def cases():
    return {
        "help-merge": ("merge --help", {}),
        "merge": ("merge -o - traces", ranks(2, late)),
        "merge-annotated": ("merge -o - --rank 0 .", annotated()),
        "merge-segments": ("merge -o - traces", segments(0)),
        "merge-mismatch": ("merge -o - --comm world --func Broadcast traces", ranks(4, odd_one)),
        "merge-nowhere": ("merge traces", ranks(2, late)),
        "merge-exists": ("merge -o all.json traces", {**ranks(2, late), "all.json": "mine\n"}),
        "merge-around-nothing": ("merge -o - --around world:AllReduce:7 traces", ranks(2, late)),
        "merge-analysed": ("summary merged.json", {"merged.json": MERGED}),
        "lint-merged": ("lint merged.json", {"merged.json": MERGED}),
        "lint-merged-not-ended": ("lint merged.json",
                                  {"merged.json": MERGED.replace("merged_end", "end")}),
    }
