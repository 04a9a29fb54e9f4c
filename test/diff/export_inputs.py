# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases of `ringside export` that need no file: what it says before it writes one."""

from match_inputs import odd_one, ranks


PROFILED = "../../../data/profiled/legacy-2-ddp"


def cases():
    return {
        "help-export": ("export --help", {}),
        "usage-export-nowhere": ("export traces", ranks(4, odd_one)),
        "usage-export-chakra-exists": ("export --chakra there traces", ranks(4, odd_one)),
        "usage-export-chakra-file": ("export --chakra cmd traces", ranks(4, odd_one)),
        "usage-export-chakra-format": ("export --chakra et --chakra-format xml traces", ranks(4, odd_one)),
        "usage-export-chakra-format-alone": ("export --csv tables --chakra-format json traces", ranks(4, odd_one)),
        "usage-export-chakra-not-writable": ("export --chakra /dev/null/et traces", ranks(4, odd_one)),
        "usage-export-et-alone": ("export --csv tables --et et traces", ranks(4, odd_one)),
        "usage-export-et-no-kineto": ("export --chakra out --et et traces", ranks(4, odd_one)),
        "export-et-nothing": (f"export --chakra out --et et --kineto {PROFILED} -- {PROFILED}", {}),
        "export-chakra-dumps": ("export --chakra et ../../../data/flight_recorder/legacy-2-clean", {}),
        "usage-export-not-writable": ("export --force --csv /dev/null/tables traces", ranks(4, odd_one)),
    }
